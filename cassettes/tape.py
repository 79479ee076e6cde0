"""The tape of a run: every exchange of a session goes through here, to be recorded, played, or both.

Knows: the modes of modes.py and how each gets its answer. Must not know: HTTP clients, what a request is for, who asks.

One `TapeSet` is one folder; one `SessionTape` is one session, and nothing of it can get into another's file.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import httpx2

from cassettes.blobs import Blobs
from cassettes.configuration import Configuration
from cassettes.errors import TapeError, TapeExists, TapeMiss
from cassettes.exchange import CHANNELS, Channel, TapeRequest, TapeResponse
from cassettes.failures import exception_response, recorded_exception, said
from cassettes.interaction import Writer, read_response
from cassettes.journal import (
    Entry,
    Header,
    Journal,
    JournalWriter,
    Key,
    encode_interaction,
    read_header,
    read_journal,
    rewrite,
)
from cassettes.keys import Identities, Identity
from cassettes.modes import Modes
from cassettes.naming import SUFFIX, journal_path
from cassettes.playlist import Playlist, unfinished
from cassettes.redact import Redactor
from cassettes.report import ChannelReport, SessionReport

BLOBS: Final = "blobs"
Live = Callable[[], Awaitable[TapeResponse]]
_ROUND = re.compile(r"r(\d+)")
_DONE = re.compile(rb"(?:^|\n)data: ?\[DONE\]")
_DONE_BYTES: Final = 16


class TapeSet:
    """The tapes of all sessions of a run, in `folder`. Plain or async context manager.

    `configuration` is compared with what each tape says of itself. Raises TapeDamaged for a pack that cannot be read.
    """

    def __init__(
        self,
        folder: Path,
        modes: Modes,
        *,
        redactor: Redactor | None = None,
        configuration: Configuration | None = None,
        fsync: bool = False,
    ) -> None:
        self.folder = folder
        self.modes = modes
        self.redactor = redactor or Redactor(())
        self.configuration = configuration or Configuration()
        self.fsync = fsync
        self.blobs = Blobs(folder / BLOBS, fsync=fsync)

    def session(self, name: str) -> SessionTape:
        """The tape of one session, opened. Raises TapeChanged, TapeDamaged, TapeExists, TapeBusy."""
        return SessionTape(self, name)

    def sessions(self) -> list[str]:
        """The names of all sessions that have a journal, in the order of their file names."""
        return [read_header(path).session for path in sorted(self.folder.glob(f"*{SUFFIX}"))]

    def close(self) -> None:
        """Close all files."""
        self.blobs.close()

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


@dataclass(frozen=True, slots=True)
class _Asked:
    request: TapeRequest
    identity: Identity
    round: int

    @property
    def channel(self) -> Channel:
        return self.request.channel


@dataclass(slots=True)
class _Counts:
    channels: dict[Channel, ChannelReport] = field(
        default_factory=lambda: {channel: ChannelReport() for channel in CHANNELS}
    )


class SessionTape:
    """The tape of one session. Plain or async context manager; closing it gives its file free.

    Belongs to one event loop; any number of its tasks may be in `exchange` at once.
    """

    def __init__(self, tapes: TapeSet, name: str) -> None:
        self.name = name
        self._tapes = tapes
        self._modes = tapes.modes
        self._path = journal_path(tapes.folder, name)
        self._journal = self._open(read_journal(self._path))
        self._playlist = Playlist(self._journal.entries if self._journal is not None else ())
        self._identities = Identities()
        self._encode = Writer(tapes.blobs, tapes.redactor)
        header = Header(name, tapes.configuration.sha256, tapes.configuration.fields)
        self._writer = JournalWriter(self._path, header, fsync=tapes.fsync)
        self._counts = _Counts().channels
        self._round = 0
        self._last_chat = ""
        self._played_last: dict[tuple[Channel, str], bool] = {}

    async def exchange(self, request: TapeRequest, live: Live | None) -> TapeResponse:
        """The answer to `request`, from the tape or from `live`, as the mode says.

        A recorded exception of httpx2 is raised again. Raises TapeMiss where neither may or can answer, TapeSecret and
        TapeDiskError where the answer cannot be recorded, TapeDamaged where a recording cannot be read.
        """
        asked = self._asked(request)
        entry = self._entry(asked)
        if entry is not None and self._journal is not None:
            self._counts[asked.channel].played += 1
            self._played_last[asked.channel, request.place] = True
            return self._answer(self._journal, entry)
        if self._modes.rule(asked.channel) in ("tape", "lenient") or live is None:
            self._counts[asked.channel].misses += 1
            raise TapeMiss(f"session {self.name}: the tape has no answer to {request.method} {request.url}")
        self._played_last[asked.channel, request.place] = False
        return await self._ask(asked, live)

    def played_last(self, channel: Channel, place: str) -> bool:
        """True if the last answer on that channel at that place came from a recording: nothing is to be waited for."""
        return self._played_last.get((channel, place), False)

    def report(self) -> SessionReport:
        """What the tape did until now."""
        channels = {
            channel: replace(counts, unplayed=len(self._playlist.unplayed(channel)))
            for channel, counts in self._counts.items()
        }
        torn = self._journal.torn if self._journal is not None else None
        return SessionReport(self.name, channels, torn, self._n_dropped)

    def close(self) -> None:
        """Give the file free."""
        self._writer.close()

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

    def _open(self, journal: Journal | None) -> Journal | None:
        """The journal as this mode uses it: compared, and without calls that are to be made again."""
        self._n_dropped = 0
        if journal is None or not journal.entries:
            return journal
        if journal.header.session != self.name:
            raise TapeError(f"{journal.path} is the tape of {journal.header.session}, not of {self.name}")
        if self._modes.checks_config:
            self._tapes.configuration.check(journal.header, f"session {self.name}")
        if self._modes.name == "record":
            raise TapeExists(
                f"session {self.name} is on the tape already: {journal.path}. Continue the run, or remove it."
            )
        if not self._modes.writes:
            return journal
        dropped = unfinished(journal.entries)
        if not dropped:
            return journal
        self._n_dropped = len(dropped)
        rewrite(journal, tuple(entry for entry in journal.entries if entry.start not in dropped))
        return read_journal(self._path)

    def _asked(self, request: TapeRequest) -> _Asked:
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
        return _Asked(request, identity, self._round)

    def _entry(self, asked: _Asked) -> Entry | None:
        if self._modes.rule(asked.channel) in ("live", "compare"):
            return None
        return self._playlist.take(asked.channel, asked.identity.id, asked.request.place)

    def _answer(self, journal: Journal, entry: Entry) -> TapeResponse:
        response = read_response(journal.response_line(entry), self._tapes.blobs)
        error = recorded_exception(response)
        if error is not None:
            raise error
        return response

    async def _ask(self, asked: _Asked, live: Live) -> TapeResponse:
        with self._number(asked) as n:
            self._counts[asked.channel].live += 1
            try:
                response = await live()
            except httpx2.RequestError as error:
                self._append(asked, n, exception_response(error))
                raise
            if response.stream is not None:
                return replace(response, stream=self._tee(asked, n, response, response.stream))
            self._append(asked, n, response)
            return response

    @contextmanager
    def _number(self, asked: _Asked) -> Iterator[int]:
        """The number of a request of that identity, taken back if it cannot be recorded."""
        n = self._playlist.next_n(asked.channel, asked.identity.id)
        try:
            yield n
        except httpx2.RequestError:
            raise
        except BaseException:
            self._playlist.give_back(asked.channel, asked.identity.id, n)
            raise

    async def _tee(
        self, asked: _Asked, n: int, response: TapeResponse, stream: AsyncIterator[bytes]
    ) -> AsyncIterator[bytes]:
        """The stream as it comes; the tape gets the whole at its end, or at `[DONE]`, after which nobody may read on."""
        body = bytearray()
        recorded = False
        try:
            async for chunk in stream:
                seen = max(len(body) - _DONE_BYTES, 0)
                body += chunk
                if not recorded and _DONE.search(body, seen):
                    recorded = True
                    self._append(asked, n, replace(response, body=bytes(body), stream=None))
                yield chunk
        except httpx2.RequestError as error:
            if not recorded:
                recorded = True
                self._append(asked, n, replace(response, body=bytes(body), stream=None, broken=said(error)))
            raise
        if not recorded:
            self._append(asked, n, replace(response, body=bytes(body), stream=None))

    def _append(self, asked: _Asked, n: int, response: TapeResponse) -> None:
        """Blobs first, then the line that names them."""
        request = self._encode.request(asked.request)
        answer = self._encode.response(response, asked.request)
        failed = response.broken is not None or response.status == 429 or response.status >= 500
        key = Key(
            asked.channel,
            asked.identity.id,
            asked.identity.messages,
            n,
            asked.round,
            asked.request.place,
            failed,
        )
        remark = f"r{asked.round:02} {asked.channel} {response.status} {len(response.body)} bytes"
        self._writer.append(encode_interaction(request, key, answer, remark))
        self._counts[asked.channel].appended += 1
