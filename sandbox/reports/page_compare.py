"""The differences between the first run of a page and each other one, or why there are none.

Knows: when two runs may be compared, paired comparisons. Must not know: HTML, how a difference is tested.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sandbox.comparing.comparable import Differences, differences, expected_sessions, refusal
from sandbox.comparing.comparison import Occasion, Side, compare
from sandbox.comparing.judge_agreement import Judged, same_answers
from sandbox.comparing.pairing import Questions, gather
from sandbox.folder.provenance import Provenance
from sandbox.folder.store import read_provenance
from sandbox.folder.stored_run import StoredRun
from sandbox.record import Record
from sandbox.reports.page_format import ChangeShown, ComparedShown
from sandbox.reports.terminal import LETTERS


def compared_with_first(runs: Sequence[StoredRun]) -> tuple[ComparedShown, ...]:
    """One comparison for each run after the first, which is run A; a refused one has its reason and no figures."""
    if len(runs) < 2:
        return ()
    first = _Side(runs[0])
    return tuple(_compared(letter, first, _Side(other)) for letter, other in zip(LETTERS[1:], runs[1:], strict=False))


class _Side:
    """A run with what is known of it."""

    def __init__(self, run: StoredRun) -> None:
        self.capsule: Provenance | None = read_provenance(run.path)
        self.judged = Judged()
        self.questions: Questions = gather(self._noted(run.records()))
        capsule, questions = self.capsule, self.questions
        settings = run.settings
        self.shown = Side(
            run=str(run.path),
            benchmark=settings.benchmark,
            model=settings.model.name,
            judge=settings.judge.name,
            started=capsule.starts[0].started if capsule and capsule.starts else None,
            questions=len(questions.by_id),
            sessions=questions.n_sessions,
            expected_sessions=expected_sessions(capsule, settings.limit, settings.repeats),
            contradictions=questions.judging.contradictions,
            checked_pairs=questions.judging.checked_pairs,
        )

    def _noted(self, records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            self.judged.add(record)
            yield record


def _compared(letter: str, a: _Side, b: _Side) -> ComparedShown:
    # Another judge on the same answers is what such a page is made for.
    found: Differences = differences(a.capsule, b.capsule, same_answers=same_answers(a.judged, b.judged))
    reason = refusal(found)
    if reason is not None:
        return ComparedShown(letter=letter, refused=reason)
    if not a.questions.by_id or not b.questions.by_id:
        return ComparedShown(letter=letter, refused="a run without a finished session compares with nothing")
    made = compare(a.questions, b.questions, Occasion(a.shown, b.shown, found.model, found.spoiling), n_moved=0)
    if not made.questions.compared:
        return ComparedShown(letter=letter, refused="no question is finished in both runs in the same words")
    return ComparedShown(
        letter=letter,
        questions=made.questions.compared,
        only_a=made.questions.only_a,
        only_b=made.questions.only_b,
        unfinished=made.unfinished,
        metrics={
            name: ChangeShown(
                difference=change.difference,
                interval=change.interval,
                p=change.p,
                p_holm=change.p_holm,
                test=change.test,
                pairs=change.pairs,
            )
            for name, change in made.metrics.items()
        },
    )
