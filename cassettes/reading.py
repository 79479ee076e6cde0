"""A stored tape to look at: its sessions, and each recorded exchange with its bodies back in place.

Knows: where tapes lie, how an entry becomes a whole exchange. Must not know: modes, other formats, terminals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from cassettes.blobs import Torn
from cassettes.errors import TapeError, TapeSecret
from cassettes.exchange import Channel, Headers, TapeResponse
from cassettes.failures import said_by
from cassettes.interaction import StoredRequest
from cassettes.journal import Journal, Key, read_journal
from cassettes.naming import SUFFIX, journal_path
from cassettes.recording import BLOBS, RecordedSet, Recording
from cassettes.redact import Redactor

TAPE: Final = "tape"


@dataclass(frozen=True, slots=True)
class Exchange:
    """A recorded exchange, whole: bodies as they were, decoded. `position` counts from 0 in its session's file."""

    session: str
    position: int
    key: Key
    request: StoredRequest
    response: TapeResponse

    @property
    def exception(self) -> str | None:
        """Class and text of the exception that came instead of a response; None where there was a response."""
        return said_by(self.response)

    @property
    def media_type(self) -> str:
        """The response's `Content-Type` with its parameters; empty where it said none."""
        return header(self.response.headers, "content-type")


@dataclass(frozen=True, slots=True)
class Session:
    """A session's journal, open for reading. `written_at` is the time of its last write as the file system knows it."""

    name: str
    journal: Journal
    written_at: datetime
    recording: Recording

    def exchanges(self) -> Iterator[Exchange]:
        """All exchanges in the order of recording. Raises TapeDamaged."""
        for position, entry in enumerate(self.journal.entries):
            yield Exchange(self.name, position, entry.key, self.recording.request(entry), self.recording.answer(entry))


class Tape:
    """The tape of a run, only read: nothing on disk is changed, not even a torn tail. A context manager.

    `path` is a run folder, its `tape` folder, or one journal (then that session alone). Raises TapeError where none of
    these is there.
    """

    def __init__(self, path: Path) -> None:
        self.folder = tape_folder(path)
        self._only = path if path.is_file() else None
        self._set = RecordedSet(self.folder)

    @property
    def journals(self) -> list[Path]:
        """The journals' files, in the order of their names."""
        return [self._only] if self._only is not None else sorted(self._set.journals())

    @property
    def torn(self) -> list[Torn]:
        """Torn tails of packs."""
        return self._set.blobs.torn

    def sessions(self, names: Iterable[str] = ()) -> Iterator[Session]:
        """The sessions of these names in this order; without names all, in the order of their files.

        A session of which nothing is whole is passed over. Raises TapeError for a name that is not there, and
        TapeDamaged for a journal that cannot be read.
        """
        for path in self._paths(names):
            journal = read_journal(path, writable=False)
            if journal is None or not journal.entries:
                continue
            when = datetime.fromtimestamp(path.stat().st_mtime, UTC)
            yield Session(journal.header.session, journal, when, Recording(journal, self._set.blobs))

    def close(self) -> None:
        """Close the packs."""
        self._set.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _paths(self, names: Iterable[str]) -> list[Path]:
        wanted = list(names)
        if not wanted:
            return self.journals
        paths = [journal_path(self.folder, name) for name in wanted]
        for name, path in zip(wanted, paths, strict=True):
            if path not in self.journals:
                there = ", ".join(read.header.session for read in _read(self.journals[:5]))
                raise TapeError(f"there is no session {name!r} on the tape {self.folder}; there are: {there or 'none'}")
        return paths


def tape_folder(path: Path) -> Path:
    """The folder that holds the journals of what `path` names: a run, a tape, a journal. Raises TapeError."""
    if path.is_file() and path.suffix == SUFFIX:
        return path.parent
    for folder in (path / TAPE, path):
        if (folder / BLOBS).is_dir() or any(folder.glob(f"*{SUFFIX}")):
            return folder
    raise TapeError(f"{path} is no tape: neither a run folder with {TAPE}/, nor a folder of journals, nor a journal")


def header(headers: Headers, name: str) -> str:
    """The first value of the header of that name (in lower case); empty where there is none."""
    found = (value for known, value in headers if known.lower() == name.encode("ascii"))
    return next(found, b"").decode("latin-1")


def chosen(exchanges: Iterable[Exchange], channels: frozenset[Channel]) -> Iterator[Exchange]:
    """Those on one of `channels`."""
    return (exchange for exchange in exchanges if exchange.key.channel in channels)


def _read(paths: Iterable[Path]) -> list[Journal]:
    journals = (read_journal(path, writable=False) for path in paths)
    return [journal for journal in journals if journal is not None]


def refuse_secrets(exchange: Exchange, redactor: Redactor) -> None:
    """Raises TapeSecret, without naming it, if any part of the exchange holds a secret.

    The tape was searched when it was written; an export is searched again, for a key may have become known since. It is
    the parts that are searched: other formats fold lines and escape characters, and would hide one.
    """
    request, response = exchange.request, exchange.response
    headers = b"\n".join(name + b": " + value for name, value in (*request.headers, *response.headers))
    for part in (exchange.session, request.url, headers, request.body, response.body):
        if redactor.holds_secret(part):
            raise TapeSecret(
                f"nothing was exported: exchange {exchange.position} of session {exchange.session} "
                f"({exchange.key.channel}, round {exchange.key.round}) holds the value of a key"
            )
