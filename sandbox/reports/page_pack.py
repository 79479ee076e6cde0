"""The sessions of a run, packed for the report page and kept on the disk until the page is put together.

Knows: one pass over the records, which rows a filter keeps, zlib and base64. Must not know: HTML.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

from sandbox.folder.sample_file import count_sessions
from sandbox.folder.store import read_provenance
from sandbox.folder.stored_run import StoredRun
from sandbox.reports.page_data import PagesKept, session_shown
from sandbox.reports.page_filter import Context, Word, flips, matches
from sandbox.reports.page_format import Decisions, Row, RunShown
from sandbox.reports.page_headline import headline
from sandbox.reports.page_index import RunIndex
from sandbox.reports.page_lint import NO_DIAGNOSIS, diagnose
from sandbox.reports.page_verdict import VerdictTally
from sandbox.reports.page_verdict_headline import verdict_headline
from sandbox.reports.session_history import Turn, histories_of
from sandbox.summary import RunFacts, summarise

ZLIB_LEVEL = 6
"""Level 9 gains 0.7 % and takes several times as long."""
_NUMBERS = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class Selection:
    """Which sessions go into the page, and how much of their pages."""

    query: Sequence[Word] = ()
    pages: PagesKept = "all"


@dataclass(frozen=True, slots=True)
class PackedSession:
    """A session's row, and where its packed text stands in the scratch file."""

    row: Row
    offset: int
    n_bytes: int


@dataclass(frozen=True, slots=True)
class PackedRun:
    """A run's part of the index, and its sessions in the same order."""

    shown: RunShown
    sessions: tuple[PackedSession, ...]


def pack_run(run: StoredRun, letter: str, selection: Selection, scratch: BinaryIO) -> PackedRun:
    """Append the run's sessions to the scratch file, each as base64(zlib(JSON)). Rows are in natural order of ids."""
    index = RunIndex()
    facts = run.facts()
    found: list[PackedSession] = []
    flipping = _flips(run) if any(word.value == "flip" for word in selection.query) else frozenset[str]()
    counted = VerdictTally(facts.measures)
    histories = histories_of(run) if counted.alone else dict[str, tuple[Turn, ...]]()
    for record in run.records():
        decided = counted.add(record)
        diagnosis = diagnose(record, facts) if decided is None else NO_DIAGNOSIS
        row = index.row(record, diagnosis, decided)
        if not matches(row, selection.query, Context(index.urls, flipping)):
            continue
        index.count(record)
        session = session_shown(record, diagnosis, selection.pages, histories.get(record.sample_id, ()))
        packed = base64.b64encode(zlib.compress(session.model_dump_json(exclude_defaults=True).encode(), ZLIB_LEVEL))
        found.append(PackedSession(row, scratch.tell(), len(packed)))
        scratch.write(packed)
    found.sort(key=lambda session: (_natural(session.row.id), session.row.id, session.row.repeat))
    named = tuple(
        PackedSession(session.row._replace(name=f"{letter}-{place:04d}"), session.offset, session.n_bytes)
        for place, session in enumerate(found, 1)
    )
    shown = _run_shown(run, letter, facts, counted.decisions())
    rows = tuple(session.row for session in named)
    return PackedRun(shown.model_copy(update={"hosts": index.hosts(), "urls": index.urls, "rows": rows}), named)


def _run_shown(run: StoredRun, letter: str, facts: RunFacts, decisions: Decisions | None) -> RunShown:
    """The run's part of the index, without what is known of its single sessions."""
    summary = summarise(run.records(), facts)
    capsule = read_provenance(run.path)
    return RunShown(
        letter=letter,
        name=run.path.name,
        summary=summary,
        headline=headline(summary) if decisions is None else verdict_headline(summary, decisions),
        expected_sessions=count_sessions(run.path, run.settings.limit, run.settings.repeats),
        compared=capsule.compared if capsule else {},
        starts=tuple(start.model_dump(mode="json") for start in capsule.starts) if capsule else (),
        decisions=decisions,
    )


def _flips(run: StoredRun) -> frozenset[str]:
    index, counted = RunIndex(), VerdictTally(run.measures)
    return flips(index.row(record, NO_DIAGNOSIS, counted.add(record)) for record in run.records())


def _natural(name: str) -> list[str]:
    """A sort key that puts tmg-9 before tmg-10: digits are padded."""
    return [part.zfill(12) if part.isdigit() else part for part in _NUMBERS.split(name)]
