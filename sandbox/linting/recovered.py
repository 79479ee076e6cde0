"""Verdicts on what only the recovered reading of an answer says: asked once, kept beside the records, never scored.

Knows: which units are new, the file that holds their verdicts. Must not know: what a loss is, how a judge is reached.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Self

from pydantic import ValidationError, model_validator

from cassettes.context import taping
from cassettes.naming import session_name
from cassettes.replacing import TO_APPEND
from cassettes.tape import SessionTape, TapeSet
from citations.losses import Labels, UnitKey, new_units
from citations.markup import dialect_named, parse, untagged
from citations.model import Unit, UnitKind
from citations.scoring import label_value
from sandbox.endpoint.chat import ChatModel
from sandbox.folder.store import disk_error
from sandbox.judging.citation import CitationJudging, judge_units
from sandbox.linting.lint_run import RecoveredLabels, lint_record, record_labels
from sandbox.record import Record, Row, Usage, VerdictRow
from sandbox.rescore import evidence_of
from sandbox.tasks import all_of
from tools.tool import SetupError

RECOVERED = "recovered.jsonl"
RECOVERED_TAPE = "recovered-tape"
SESSIONS_AT_ONCE = 32
Session = tuple[str, int]
"""Sample id and repeat."""


class AskedUnit(Row):
    """One unit with its verdict, told by what it is about: sentence text, and page or pages.

    A label that no rule knows is an error.
    """

    kind: UnitKind
    text: str
    number: int | None = None
    evidence_numbers: tuple[int, ...] = ()
    verdict: VerdictRow

    @model_validator(mode="after")
    def _known_label(self) -> Self:
        label_value(self.kind, self.verdict.label)
        return self


class RecoveredRow(Row):
    """One line of recovered.jsonl: what was asked of one session at one time. Later lines add to earlier ones."""

    sample_id: str
    repeat: int
    units: tuple[AskedUnit, ...]
    usage: Usage


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked now: sessions with new units, the units, those that the judge left without a verdict, the tokens."""

    n_sessions: int = 0
    n_units: int = 0
    n_missing: int = 0
    usage: Usage = field(default_factory=Usage)


def recovered_labels(folder: Path) -> RecoveredLabels:
    """The verdicts asked so far; empty where nothing was. A torn last line is passed over.

    A verdict that the judge failed to give stands as None. Raises SetupError for any other line that cannot be read.
    """
    labels: dict[Session, dict[UnitKey, str | None]] = {}
    for row in _rows(folder / RECOVERED):
        of_session = labels.setdefault((row.sample_id, row.repeat), {})
        for unit in row.units:
            key = UnitKey(unit.kind, unit.text, unit.number, unit.evidence_numbers)
            of_session[key] = unit.verdict.label
    return labels


def _rows(path: Path) -> Iterator[RecoveredRow]:
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    break
                yield _row(line, f"{path} line {number}")
    except FileNotFoundError:
        return
    except OSError as error:
        raise SetupError(f"cannot read {path}: {error.strerror or error}") from error


@dataclass(frozen=True, slots=True)
class Recording:
    """Where the judge's replies are recorded: tapes of their own, since the sessions' tapes are finished.

    One tape for each asking of a session, `n_before` askings behind it. An asking that was cut off wrote no line, so that
    the next start opens its tape again and pays for no reply twice; what a judge failed to answer is asked on a new tape.
    """

    tapes: TapeSet
    n_before: Mapping[Session, int]

    @classmethod
    def on(cls, tapes: TapeSet, folder: Path) -> Recording:
        """The recording that goes on where the lines of recovered.jsonl end."""
        return cls(tapes, Counter((row.sample_id, row.repeat) for row in _rows(folder / RECOVERED)))

    def tape(self, record: Record) -> SessionTape:
        """The tape of what is asked now about one record."""
        return self.tapes.session(
            f"{session_name(record.sample_id, record.repeat)}.{self.n_before.get(_key(record), 0)}"
        )


async def ask_recovered(
    folder: Path, records: Iterable[Record], judge: ChatModel, judging: CitationJudging, recording: Recording
) -> Asked:
    """Ask the judge what the recovered readings need and nobody has asked yet; the verdicts go to recovered.jsonl.

    Only units that can change F1 are asked. What the judge failed to answer is asked again by the next call. Lines come in
    the order of the records, some sessions at a time. Raises SetupError.
    """
    known = recovered_labels(folder)
    judging = replace(judging, repeats=1)
    total = Asked()
    todo = ((record, units) for record in records if (units := _new(record, known.get(_key(record), {}))))
    while some := list(islice(todo, SESSIONS_AT_ONCE)):
        rows = await all_of([_ask(record, units, judge, judging, recording) for record, units in some])
        _append(folder / RECOVERED, rows)
        verdicts = [unit.verdict for row in rows for unit in row.units]
        total = Asked(
            total.n_sessions + len(rows),
            total.n_units + len(verdicts),
            total.n_missing + sum(verdict.label is None for verdict in verdicts),
            sum((row.usage for row in rows), total.usage),
        )
    return total


def _key(record: Record) -> Session:
    return record.sample_id, record.repeat


def _new(record: Record, known: Labels) -> tuple[Unit, ...]:
    report = lint_record(record) if record.score is not None else None
    if report is None:
        return ()
    answered = {key: label for key, label in known.items() if label is not None}
    return new_units(report, evidence_of(record), record_labels(record, report, answered))


async def _ask(
    record: Record, units: Sequence[Unit], judge: ChatModel, judging: CitationJudging, recording: Recording
) -> RecoveredRow:
    prose = untagged(parse(record.answer or "", dialect_named(record.dialect)))
    with recording.tape(record) as tape, taping(tape):
        judged = await judge_units(judge, record.question, prose, evidence_of(record), units, judging)
    return RecoveredRow(
        sample_id=record.sample_id,
        repeat=record.repeat,
        units=tuple(
            AskedUnit(
                kind=unit.kind,
                text=unit.text,
                number=unit.number,
                evidence_numbers=unit.evidence_numbers,
                verdict=row.verdict,
            )
            for unit, row in zip(units, judged.rows, strict=True)
        ),
        usage=judged.usage,
    )


def _append(path: Path, rows: Iterable[RecoveredRow]) -> None:
    """Add lines, over a torn last one if an earlier writer was cut off."""
    lines = b"".join(_lines(rows))
    try:
        with os.fdopen(os.open(path, TO_APPEND, 0o644), "ab+") as file:
            file.seek(0)
            whole = file.read().rfind(b"\n") + 1
            file.truncate(whole)
            file.write(lines)
    except OSError as error:
        raise disk_error(error, path) from error


def _lines(rows: Iterable[RecoveredRow]) -> Iterator[bytes]:
    for row in rows:
        yield row.model_dump_json().encode("utf-8") + b"\n"


def _row(line: bytes, where: str) -> RecoveredRow:
    try:
        return RecoveredRow.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise SetupError(f"{where} cannot be read: {place} {first['msg']}; delete the file to ask again") from error
