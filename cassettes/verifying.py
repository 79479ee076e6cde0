"""Whether a set of tapes is what was written: every line, every hash, every reference.

Knows: all that can be wrong with the files of a set. Must not know: what a body says, other formats.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from cassettes.blobs import Blobs
from cassettes.errors import TapeDamaged
from cassettes.interaction import references
from cassettes.journal import Entry, Journal, read_journal
from cassettes.naming import journal_path
from cassettes.reading import Tape
from cassettes.recording import BLOBS

ProblemKind = Literal[
    "damaged_journal", "damaged_exchange", "repeated_exchange", "misnamed_journal", "torn_journal",
    "damaged_pack", "damaged_blob", "missing_blob", "wrong_length", "torn_pack",
]  # fmt: skip

_LENGTH: Final = re.compile(rb'"blob":"[0-9a-f]{64}","bytes":(\d+)\}\}$')


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is not as it was written. `where` = the file, and the exchange if it is about one."""

    kind: ProblemKind
    where: str
    message: str


@dataclass(slots=True)
class VerifyReport:
    """What was looked at, and what is wrong with it. `n_unnamed` bodies are named by no journal: `pack` drops them."""

    n_sessions: int = 0
    n_exchanges: int = 0
    n_blobs: int = 0
    n_blob_bytes: int = 0
    """Of the bodies, unpacked."""
    n_unnamed: int = 0
    problems: list[Problem] = field(default_factory=list[Problem])


def verify(path: Path) -> VerifyReport:
    """Read all that belongs to a run, a tape folder or a journal, and change nothing. Raises TapeError for no tape."""
    with Tape(path) as tape:
        blobs = Blobs(tape.folder / BLOBS, writable=False)
        try:
            check = _Check(blobs)
            check.packs()
            for journal in tape.journals:
                check.journal(journal)
        finally:
            blobs.close()
    check.report.n_unnamed = sum(sha256 not in check.named for sha256 in check.lengths) if path.is_dir() else 0
    return check.report


class _Check:
    def __init__(self, blobs: Blobs) -> None:
        self.report = VerifyReport()
        self.named: set[str] = set()
        self.lengths: dict[str, int] = {}
        """Of each body in the packs; -1 for one that is damaged."""
        self._blobs = blobs

    def packs(self) -> None:
        """Every record of every pack."""
        for sentence in self._blobs.damaged:
            self._add("damaged_pack", sentence.partition(": ")[0], sentence)
        for torn in self._blobs.torn:
            self._add("torn_pack", str(torn.path), f"the last {torn.n_bytes} bytes are a write that was never finished")
        for sha256 in self._blobs:
            try:
                self.lengths[sha256] = len(self._blobs.get(sha256))
            except TapeDamaged as error:
                self.lengths[sha256] = -1
                self._add("damaged_blob", sha256, str(error))
        self.report.n_blobs = len(self.lengths)
        self.report.n_blob_bytes = sum(length for length in self.lengths.values() if length > 0)

    def journal(self, path: Path) -> None:
        """Every line of one journal."""
        try:
            journal = read_journal(path, writable=False)
        except TapeDamaged as error:
            self._add("damaged_journal", str(path), str(error))
            return
        if journal is None:
            return
        if journal.torn is not None:
            lost = f"the last {journal.torn.n_bytes} bytes are an exchange that was never finished"
            self._add("torn_journal", str(path), f"{lost}; a run that goes on cuts them")
        if journal.entries and journal_path(path.parent, journal.header.session).name != path.name:
            self._add("misnamed_journal", str(path), f"it is the tape of session {journal.header.session}")
        self.report.n_sessions += bool(journal.entries)
        self.report.n_exchanges += len(journal.entries)
        for position, entry in enumerate(journal.entries):
            self._exchange(journal, position, entry)
        numbers = Counter((entry.key.channel, entry.key.id, entry.key.n) for entry in journal.entries)
        for (channel, identity, n), count in numbers.items():
            if count > 1:
                self._add("repeated_exchange", str(path), f"{count} exchanges are number {n} of {channel} {identity}")

    def _exchange(self, journal: Journal, position: int, entry: Entry) -> None:
        where = f"{journal.path} exchange {position}"
        try:
            lines = journal.lines(entry)
        except TapeDamaged as error:
            self._add("damaged_exchange", where, str(error))
            return
        named = references(lines.request, lines.response)
        self.named.update(named)
        for sha256 in named:
            if sha256 not in self.lengths:
                self._add("missing_blob", where, f"it names the body {sha256}, which is in no pack of this set")
        length = _LENGTH.search(lines.response)
        known = self.lengths.get(named[-1], -1) if length is not None else -1
        if length is not None and known >= 0 and known != int(length[1]):
            self._add("wrong_length", where, f"its body has {known} bytes, the line says {int(length[1])}")

    def _add(self, kind: ProblemKind, where: str, message: str) -> None:
        self.report.problems.append(Problem(kind, where, message))
