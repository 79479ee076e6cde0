"""What judges said in other runs: answers to the same request, so that none is paid for twice.

Knows: judge entries of recorded sets, by identity and place. Must not know: prompts, labels, modes.

A request's identity holds the judge's model, settings and whole prompt, so a changed prompt is another request. What is
handed out does not depend on which request arrives first: a place of this session follows one place of one recorded
session, its n-th request gets the n-th answer there, and where that has no more, nobody answers. A place's mark (what
stands behind the dot: "k2" in "u003.k2") must be the same, so that a second opinion is never the first one again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

from cassettes.blobs import Blobs
from cassettes.exchange import TapeResponse
from cassettes.interaction import read_response
from cassettes.journal import Entry, read_journal, read_lines
from cassettes.recording import RecordedSet


@dataclass(slots=True)
class _Session:
    """The answers to one identity in one recorded session, by place, in the order of recording."""

    path: Path
    blobs: Blobs
    places: dict[str, list[Entry]] = field(default_factory=dict[str, list[Entry]])


class VerdictPool:
    """The judge's successful answers in all sessions of some sets; indexed at the first look-up."""

    def __init__(self, sets: tuple[RecordedSet, ...]) -> None:
        self._sets = sets
        self._index: dict[str, list[_Session]] | None = None

    def answer(self, identity: str, place: str, n: int, file: str) -> TapeResponse | None:
        """The `n`-th (from 1) answer for `place`; a recorded session with the same `file` name goes before the others.

        None if nobody has one. Raises TapeDamaged.
        """
        if not self._sets:
            return None
        index = self._index if self._index is not None else self._read()
        sessions = index.get(identity, [])
        for session in sorted(sessions, key=lambda session: session.path.name != file):
            entries = _entries(session, place)
            if entries:
                if n > len(entries):
                    return None
                lines = read_lines(session.path, entries[n - 1])
                return replace(read_response(lines.response, session.blobs), origin="pool")
        return None

    def _read(self) -> dict[str, list[_Session]]:
        index: dict[str, list[_Session]] = {}
        for recorded in self._sets:
            for path in recorded.journals():
                journal = read_journal(path, writable=False)
                for entry in journal.entries if journal is not None else ():
                    key = entry.key
                    if key.channel != "judge" or key.failed:
                        continue
                    sessions = index.setdefault(key.id, [])
                    if not sessions or sessions[-1].path != path:
                        sessions.append(_Session(path, recorded.blobs))
                    sessions[-1].places.setdefault(key.place, []).append(entry)
        self._index = index
        return index


@dataclass(slots=True)
class SessionVerdicts:
    """The pool as one session sees it. `file` is the name of its journal."""

    pool: VerdictPool
    file: str
    _n_asked: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])

    def count(self, identity: str, place: str) -> None:
        """The session asks; to be told of every request, whoever answers it."""
        self._n_asked[identity, place] += 1

    def answer(self, identity: str, place: str) -> TapeResponse | None:
        """The answer to the request that was counted last."""
        return self.pool.answer(identity, place, self._n_asked[identity, place], self.file)


def _entries(session: _Session, place: str) -> list[Entry]:
    """The answers at the same place, else at the first one with the same mark."""
    if place in session.places:
        return session.places[place]
    mark = place.partition(".")[2]
    places = (known for known in session.places if known.partition(".")[2] == mark)
    first = next(places, None)
    return [] if first is None else session.places[first]
