"""One side of a comparison: a run's questions, what its judge said, what it was made of.

Knows: a stored run. Must not know: the other side, how a difference is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sandbox.comparing.comparison import Side
from sandbox.comparing.judge_agreement import Judged
from sandbox.comparing.pairing import Questions, gather
from sandbox.folder.provenance import Provenance
from sandbox.folder.sample_file import count_sessions
from sandbox.folder.store import read_provenance
from sandbox.folder.stored_run import StoredRun
from sandbox.record import Record


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A run with all that a comparison needs of it; without a finished session `questions` is empty."""

    run: StoredRun
    capsule: Provenance | None
    judged: Judged
    questions: Questions
    side: Side


def compared_run(run: StoredRun) -> ComparedRun:
    """The run, read in one pass over its records."""
    judged = Judged()

    def noted() -> Iterator[Record]:
        for record in run.records():
            judged.add(record)
            yield record

    questions = gather(noted(), run.measures)
    settings, capsule = run.settings, read_provenance(run.path)
    side = Side(
        run=str(run.path),
        benchmark=settings.benchmark,
        model=settings.model.name,
        judge=settings.judge.name,
        started=capsule.starts[0].started if capsule and capsule.starts else None,
        questions=len(questions.by_id),
        sessions=questions.n_sessions,
        expected_sessions=count_sessions(run.path, settings.limit, settings.repeats),
        contradictions=questions.judging.contradictions,
        checked_pairs=questions.judging.checked_pairs,
    )
    return ComparedRun(run, capsule, judged, questions, side)
