"""The tape of a run: every exchange of a session goes through here, to be recorded, played, or both.

Knows: how each rule of modes.py gets its answer. Must not know: HTTP clients, what a request is for, who asks.

One `TapeSet` is one folder; one `SessionTape` is one session, and nothing of it can get into another's file.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import httpx2

from cassettes.blobs import Blobs, Torn
from cassettes.configuration import Configuration
from cassettes.drift import drift
from cassettes.errors import MissReport, TapeError, TapeExists, TapeMiss
from cassettes.exchange import CHANNELS, Channel, TapeRequest, TapeResponse
from cassettes.explain import Mending, explain
from cassettes.failures import exception_response, given_up, recorded_exception
from cassettes.interaction import Writer
from cassettes.journal import Header, Journal, JournalWriter, read_journal, rewrite
from cassettes.keys import Identities
from cassettes.modes import Modes
from cassettes.naming import journal_path
from cassettes.player import Player
from cassettes.playlist import unfinished
from cassettes.recorder import Asked, Recorder
from cassettes.recording import BLOBS, OpenSets, Others, Recording, session_names
from cassettes.redact import Redactor
from cassettes.report import ChannelReport, Drift, SessionReport
from cassettes.verdict_pool import SessionVerdicts, VerdictPool

Live = Callable[[], Awaitable[TapeResponse]]
_ROUND: Final = re.compile(r"r(\d+)")


class TapeSet:
    """The tapes of all sessions of a run, in `folder`. Plain or async context manager.

    `configuration` is compared with what each tape says of itself. Raises TapeError where the mode needs a source that
    is not given.
    """

    def __init__(
        self,
        folder: Path,
        modes: Modes,
        *,
        redactor: Redactor | None = None,
        configuration: Configuration | None = None,
        others: Others | None = None,
        fsync: bool = False,
    ) -> None:
        others = others or Others()
        if modes.needs_source and (others.source is None or others.source == folder):
            raise TapeError(f"{modes.name} plays from one folder and writes to another: name both")
        self.folder = folder
        self.modes = modes
        self.redactor = redactor or Redactor(())
        self.configuration = configuration or Configuration()
        self.fsync = fsync
        self.others = OpenSets.of(others)
        self.blobs = Blobs(folder / BLOBS, writable=self.writes, fsync=fsync)
        self.verdicts = VerdictPool(self.others.verdicts)

    @property
    def writes(self) -> bool:
        """True if sessions may be appended to. Without a source, `refresh` compares with `folder` and writes nothing."""
        return self.modes.writes and (self.modes.name != "refresh" or self.others.source is not None)

    @property
    def torn(self) -> list[Torn]:
        """Torn tails of the packs."""
        return self.blobs.torn

    @property
    def damaged(self) -> list[str]:
        """A sentence for each pack that cannot be read to its end."""
        return self.blobs.damaged

    def session(self, name: str) -> SessionTape:
        """The tape of one session, opened. Raises TapeChanged, TapeDamaged, TapeExists, TapeBusy."""
        return SessionTape(self, name)

    def sessions(self) -> list[str]:
        """The names of all sessions that have a journal, in the order of their file names."""
        return session_names(self.folder)

    def close(self) -> None:
        """Close all files."""
        self.blobs.close()
        self.others.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class SessionTape:
    """The tape of one session. Plain or async context manager; closing it gives its file free.

    Belongs to one event loop; any number of its tasks may be in `exchange` at once.
    """

    def __init__(self, tapes: TapeSet, name: str) -> None:
        self.name = name
        self._tapes = tapes
        self._modes = tapes.modes
        path = journal_path(tapes.folder, name)
        self._torn: Torn | None = None
        self._n_dropped = 0
        own = Recording(self._opened(path), tapes.blobs)
        self._identities = Identities()
        header = Header(name, tapes.configuration.sha256, tapes.configuration.fields)
        self._recorder = Recorder(
            JournalWriter(path, header, fsync=tapes.fsync),
            Writer(tapes.blobs, tapes.redactor),
            own.playlist,
            dict.fromkeys(CHANNELS, 0),
        )
        if own.playlist.entries and tapes.writes:
            self._recorder.writer.open()
        self._counts: dict[Channel, ChannelReport] = {channel: ChannelReport() for channel in CHANNELS}
        namesakes = tapes.others.recordings(name)
        source = namesakes[0] if tapes.others.source is not None else None
        verdicts = SessionVerdicts(tapes.verdicts, path.name)
        self._player = Player(
            tapes.modes, own, source, namesakes, tapes.others.pool, verdicts, self._recorder, self._counts
        )
        self._drifts: list[Drift] = []
        self._round = 0
        self._last_chat = ""
        self._played_last: dict[tuple[Channel, str], bool] = {}

    async def exchange(self, request: TapeRequest, live: Live | None) -> TapeResponse:
        """The answer to `request`, from the tape or from `live`, as the mode says; `live` None = there is no outside.

        A recorded exception of httpx2 is raised again. Raises TapeMiss where nothing may or can answer, TapeSecret,
        TapeDiskError and TapeBusy where the answer cannot be recorded, TapeDamaged where a recording cannot be read.
        """
        asked = self._asked(request)
        played = self._player.played(asked)
        self._played_last[asked.channel, request.place] = played is not None
        if played is not None:
            error = recorded_exception(played)
            if error is not None:
                raise error
            return played
        if live is None or not self._player.may_go_live(asked):
            self._counts[asked.channel].misses += 1
            raise TapeMiss(self._explain(asked))
        if self._modes.rule(asked.channel) == "compare":
            return await self._compare(asked, live)
        return await self._ask(asked, live)

    def played_last(self, channel: Channel, place: str) -> bool:
        """True if the last answer on that channel at that place came from a recording: nothing is to be waited for."""
        return self._played_last.get((channel, place), False)

    @property
    def recording(self) -> Recording:
        """What the session's own tape held when it was opened."""
        return self._player.own

    def report(self) -> SessionReport:
        """What the tape did until now."""
        channels: dict[Channel, ChannelReport] = {}
        for channel, counts in self._counts.items():
            unplayed = self._player.n_unplayed(channel)
            appended = self._recorder.n_appended[channel]
            channels[channel] = replace(counts, unplayed=unplayed, appended=appended)
        return SessionReport(self.name, channels, self._torn, self._n_dropped, tuple(self._drifts))

    def close(self) -> None:
        """Give the file free."""
        self._recorder.writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _opened(self, path: Path) -> Journal | None:
        """The own journal as this mode uses it: compared, and without calls that are to be made again."""
        # What only plays leaves a torn tail where it is: to cut it is for the run that goes on.
        journal = read_journal(path, writable=self._tapes.writes)
        self._torn = journal.torn if journal is not None else None
        if journal is None or not journal.entries:
            return journal
        if journal.header.session != self.name:
            raise TapeError(f"{path} is the tape of {journal.header.session}, not of {self.name}")
        if self._modes.checks_config:
            self._tapes.configuration.check(journal.header, f"session {self.name}")
        if self._modes.name == "record":
            raise TapeExists(
                f"session {self.name} is on the tape already ({path}): continue the run or remove the file"
            )
        dropped = unfinished(journal.entries) if self._tapes.writes else frozenset[int]()
        if not dropped:
            return journal
        self._n_dropped = len(dropped)
        rewrite(journal, tuple(entry for entry in journal.entries if entry.start not in dropped))
        return read_journal(path)

    def _asked(self, request: TapeRequest) -> Asked:
        """The request with its identity and its round: the one that its place names, else the number of different
        requests to the model up to now.
        """
        identity = self._identities.of(request)
        named = _ROUND.match(request.place)
        if named is not None:
            self._round = int(named[1])
        elif request.channel == "model" and identity.id != self._last_chat:
            self._round += 1
        if request.channel == "model":
            self._last_chat = identity.id
        return Asked(request, identity, self._round)

    async def _compare(self, asked: Asked, live: Live) -> TapeResponse:
        recording = self._player.source or self._player.own
        entry = recording.playlist.take(asked.channel, asked.identity.id, asked.request.place)
        then = recording.answer(entry) if entry is not None else None
        url = self._tapes.redactor.redact(asked.request.url)
        try:
            now = await (self._ask(asked, live) if self._tapes.writes else live())
        except httpx2.RequestError as error:
            self._drifts.append(drift(asked.channel, url, then, exception_response(error)))
            raise
        if now.stream is None:
            self._drifts.append(drift(asked.channel, url, then, now))
        return now

    async def _ask(self, asked: Asked, live: Live) -> TapeResponse:
        recorder = self._recorder
        with recorder.number(asked) as n:
            self._counts[asked.channel].live += 1
            try:
                response = await live()
            except httpx2.RequestError as error:
                recorder.append(asked, n, exception_response(error))
                raise
            except asyncio.CancelledError:
                # A deadline of the caller: without a trace, the next answer would be played in this one's place.
                recorder.append(asked, n, exception_response(given_up()))
                raise
            if response.stream is not None:
                return replace(response, stream=recorder.tee(asked, n, response, response.stream))
            recorder.append(asked, n, response)
            return response

    def _explain(self, asked: Asked) -> MissReport:
        tapes = self._tapes
        benchmark = tapes.configuration.fields.get("benchmark.name", "BENCHMARK").strip('"')
        return explain(
            asked, self.name, self._player.source or self._player.own, Mending(benchmark, tapes.folder), tapes.redactor
        )
