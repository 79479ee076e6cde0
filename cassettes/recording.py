"""Recorded sessions to play from: one of this set, one of another set, or all of several sets.

Knows: how an entry of a journal becomes a response. Must not know: modes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from cassettes.blobs import Blobs
from cassettes.errors import TapeDamaged
from cassettes.exchange import Channel, TapeRequest, TapeResponse
from cassettes.interaction import EMPTY_HEADER, StoredRequest, read_request, read_response
from cassettes.journal import Entry, Journal, read_header, read_journal, read_lines
from cassettes.naming import SUFFIX, journal_path
from cassettes.playlist import Playlist

BLOBS: Final = "blobs"


class Recording:
    """One recorded session, each answer handed out once."""

    def __init__(self, journal: Journal | None, blobs: Blobs) -> None:
        self.journal = journal
        self.playlist = Playlist(journal.entries if journal is not None else ())
        self._blobs = blobs

    def answer(self, entry: Entry) -> TapeResponse:
        """The recorded response. Raises TapeDamaged."""
        assert self.journal is not None
        try:
            return read_response(self.journal.lines(entry).response, self._blobs)
        except TapeDamaged as error:
            key = entry.key
            where = f"{key.channel} {key.place or f'round {key.round}'} (number {key.n} of {key.id[:12]})"
            raise TapeDamaged(f"session {self.journal.header.session}, {where}: {error}") from error

    def request(self, entry: Entry) -> StoredRequest:
        """The recorded request. Raises TapeDamaged."""
        assert self.journal is not None
        return read_request(self.journal.lines(entry).request, self._blobs)


class RecordedSet:
    """A folder of tapes that is only read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.blobs = Blobs(folder / BLOBS, writable=False)

    def recording(self, session: str) -> Recording:
        """The session's recording, empty if it has none."""
        return Recording(read_journal(journal_path(self.folder, session), writable=False), self.blobs)

    def journals(self) -> Iterator[Path]:
        """All journals, in the order of their names."""
        return iter(sorted(self.folder.glob(f"*{SUFFIX}")))

    def sessions(self) -> list[str]:
        """The names of all sessions."""
        return session_names(self.folder)

    def close(self) -> None:
        """Close the packs."""
        self.blobs.close()


def session_names(folder: Path) -> list[str]:
    """The names of all sessions of a folder, in the order of their files. Raises TapeDamaged for a foreign file."""
    headers = (read_header(path) for path in sorted(folder.glob(f"*{SUFFIX}")))
    return [header.session for header in headers if header is not None]


@dataclass(frozen=True, slots=True)
class _Pooled:
    path: Path
    entry: Entry
    blobs: Blobs


class Pool:
    """The searches and pages of all sessions of some sets, by identity.

    Indexed at the first look-up: of each identity the first good answer is remembered, in the order of sets, sessions
    and recording; where none is good, the first.
    """

    def __init__(self, sets: tuple[RecordedSet, ...]) -> None:
        self._sets = sets
        self._index: dict[tuple[Channel, str], _Pooled] | None = None

    def answer(self, channel: Channel, identity: str) -> TapeResponse | None:
        """The pooled response; None if no session has one. Raises TapeDamaged."""
        index = self._index if self._index is not None else self._read()
        found = index.get((channel, identity))
        if found is None:
            return None
        lines = read_lines(found.path, found.entry)
        return replace(read_response(lines.response, found.blobs), origin="pool")

    def __len__(self) -> int:
        return len(self._index if self._index is not None else self._read())

    def _read(self) -> dict[tuple[Channel, str], _Pooled]:
        index: dict[tuple[Channel, str], _Pooled] = {}
        for recorded in self._sets:
            for path in recorded.journals():
                journal = read_journal(path, writable=False)
                for entry in journal.entries if journal is not None else ():
                    name = (entry.key.channel, entry.key.id)
                    if entry.key.channel not in ("search", "page"):
                        continue
                    known = index.get(name)
                    if known is None or (known.entry.key.failed and not entry.key.failed):
                        index[name] = _Pooled(path, entry, recorded.blobs)
        self._index = index
        return index


def empty_answer(request: TapeRequest) -> TapeResponse:
    """What stands for an answer that no tape has: a search without results, a page that is not there; marked."""
    mark = (EMPTY_HEADER.encode(), b"not on any given tape")
    if request.channel == "page":
        return TapeResponse(404, (mark,), origin="empty")
    return TapeResponse(200, ((b"content-type", b"application/json"), mark), b"{}", origin="empty")


@dataclass(frozen=True, slots=True)
class Others:
    """Other folders that answers may come from. `source`: where the same session is played from; `pool`: sets whose
    searches and pages answer for all sessions (`source` is one of them without being named); `verdicts`: sets whose judge
    answers do.
    """

    source: Path | None = None
    pool: tuple[Path, ...] = ()
    verdicts: tuple[Path, ...] = ()


@dataclass(slots=True)
class OpenSets:
    """`Others`, opened. `sets`: the source and those of the pool."""

    source: RecordedSet | None
    sets: tuple[RecordedSet, ...]
    verdicts: tuple[RecordedSet, ...] = ()
    pool: Pool = field(init=False)

    def __post_init__(self) -> None:
        self.pool = Pool(self.sets)

    @classmethod
    def of(cls, others: Others) -> OpenSets:
        """Open each folder once."""
        source = [] if others.source is None else [others.source]
        opened = tuple(RecordedSet(folder) for folder in dict.fromkeys((*source, *others.pool)))
        verdicts = tuple(RecordedSet(folder) for folder in dict.fromkeys(others.verdicts))
        return cls(opened[0] if source else None, opened, verdicts)

    def recordings(self, session: str) -> list[Recording]:
        """The recordings of the session of that name, in the order of sets."""
        return [recorded.recording(session) for recorded in self.sets]

    def close(self) -> None:
        """Close all folders."""
        for recorded in (*self.sets, *self.verdicts):
            recorded.close()
