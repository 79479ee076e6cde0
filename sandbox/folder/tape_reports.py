"""What the tape did in each session, kept beside the records: `tape.jsonl`.

Knows: the counts of a session's tape as a row. Must not know: records, scores.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import Field, ValidationError

from cassettes.report import SessionReport
from sandbox.record import Row
from sandbox.summary import TapeCounts

REPORTS = "tape.jsonl"


class TapeRow(Row):
    """The counts of one session. `interactions` = every exchange that it made, whoever answered it.

    `pool_hits`, `pool_misses`: searches and pages on the recorded web; `judge_hits`: verdicts that other runs had;
    `fork_recorded`, `fork_live`: exchanges with the model of a fork up to its round, from the source, and after it.
    """

    sample_id: str
    repeat: int
    interactions: int
    played: int
    live: int
    misses: int
    lenient: int
    pool_hits: int
    pool_misses: int
    judge_hits: int = 0
    fork_recorded: int = Field(default=0, exclude_if=lambda n: n == 0)
    fork_live: int = Field(default=0, exclude_if=lambda n: n == 0)


def tape_row(sample_id: str, repeat: int, report: SessionReport) -> TapeRow:
    """The row of a finished session."""
    played, live = report.total("played"), report.total("live")
    pool_hits, pool_empty = report.total("pool_hits"), report.total("pool_empty")
    judge, model = report.channels["judge"], report.channels["model"]
    return TapeRow(
        sample_id=sample_id,
        repeat=repeat,
        interactions=played + live + pool_hits + pool_empty,
        played=played,
        live=live,
        misses=report.total("misses"),
        lenient=report.total("lenient"),
        pool_hits=pool_hits - judge.pool_hits,
        pool_misses=report.total("pool_misses") - judge.pool_misses,
        judge_hits=judge.pool_hits,
        fork_recorded=model.forked,
        fork_live=model.played + model.live - model.forked if model.forked else 0,
    )


def read_rows(folder: Path) -> list[TapeRow]:
    """The rows of a run folder, the last one of each session; none where there is no file. A torn line is passed over."""
    try:
        lines = (folder / REPORTS).read_bytes().splitlines()
    except FileNotFoundError:
        return []
    rows: dict[tuple[str, int], TapeRow] = {}
    for line in lines:
        try:
            row = TapeRow.model_validate_json(line)
        except ValidationError:
            continue
        rows[row.sample_id, row.repeat] = row
    return list(rows.values())


def counts(rows: Iterable[TapeRow]) -> TapeCounts:
    """The sums over the sessions of a run."""
    rows = list(rows)
    return TapeCounts(
        interactions=sum(row.interactions for row in rows),
        misses=sum(row.misses for row in rows),
        lenient=sum(row.lenient for row in rows),
        pool_hits=sum(row.pool_hits for row in rows),
        pool_misses=sum(row.pool_misses for row in rows),
        judge_hits=sum(row.judge_hits for row in rows),
        fork_recorded=sum(row.fork_recorded for row in rows),
        fork_live=sum(row.fork_live for row in rows),
    )
