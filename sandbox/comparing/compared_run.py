"""One side of a comparison: a run's questions, what its judge said, what it was made of.

Knows: stored runs, and what two of them both measure. Must not know: how a difference is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sandbox.benchmarks.table import measures_of
from sandbox.comparing.comparison import Side
from sandbox.comparing.judge_agreement import Judged
from sandbox.comparing.pairing import Questions, gather
from sandbox.folder.provenance import Provenance
from sandbox.folder.sample_file import count_sessions
from sandbox.folder.store import read_provenance
from sandbox.folder.stored_run import StoredRun
from sandbox.measuring.measures import Measures
from sandbox.record import Record
from tools.tool import SetupError


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A run with all that a comparison needs of it; without a finished session `questions` is empty."""

    run: StoredRun
    capsule: Provenance | None
    judged: Judged
    questions: Questions
    side: Side


@dataclass(frozen=True, slots=True)
class SharedMeasures:
    """What two runs both measure, and the titles of what only one of them does."""

    measures: Measures
    titles_apart: tuple[str, ...]


def shared_measures(a: StoredRun, b: StoredRun) -> SharedMeasures:
    """The measures that both runs have. pass@3 of one run and pass@1 of another are not one figure: where the numbers of
    attempts differ, what is left is what a single attempt is measured by.

    Raises SetupError where nothing is left.
    """
    in_a, in_b = ({one.name: one for one in run.measures} for run in (a, b))
    apart = tuple(one.title for one in (*a.measures, *b.measures) if (one.name in in_a) != (one.name in in_b))
    settings = a.settings.model_copy(update={"repeats": 1}) if apart else a.settings
    both = tuple(one for one in measures_of(settings) if one.name in in_a and one.name in in_b)
    if not both:
        raise SetupError(
            f"{a.path} is a run of {a.settings.benchmark} and {b.path} one of {b.settings.benchmark}: they measure nothing "
            "in common; compare runs of one benchmark"
        )
    return SharedMeasures(both, apart)


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
