"""The differences between the first run of a page and each other one, or why there are none.

Knows: when two runs may be compared, paired comparisons. Must not know: HTML, how a difference is tested.
"""

from __future__ import annotations

from collections.abc import Sequence

from sandbox.comparing.comparable import Differences, differences, refusal
from sandbox.comparing.compared_run import ComparedRun, compared_run, shared_measures
from sandbox.comparing.comparison import Occasion, compare
from sandbox.comparing.judge_agreement import same_answers
from sandbox.folder.stored_run import StoredRun
from sandbox.reports.page_format import ChangeShown, ComparedShown
from sandbox.reports.run_tables import LETTERS


def compared_with_first(runs: Sequence[StoredRun]) -> tuple[ComparedShown, ...]:
    """One comparison for each run after the first, which is run A; a refused one has its reason and no figures."""
    if len(runs) < 2:
        return ()
    first = compared_run(runs[0])
    return tuple(
        _compared(letter, first, compared_run(other)) for letter, other in zip(LETTERS[1:], runs[1:], strict=False)
    )


def _compared(letter: str, a: ComparedRun, b: ComparedRun) -> ComparedShown:
    # Another judge on the same answers is what such a page is made for.
    found: Differences = differences(a.capsule, b.capsule, same_answers=same_answers(a.judged, b.judged))
    reason = refusal(found)
    if reason is not None:
        return ComparedShown(letter=letter, refused=reason)
    if not a.questions.by_id or not b.questions.by_id:
        return ComparedShown(letter=letter, refused="a run without a finished session compares with nothing")
    measures = shared_measures(a.run, b.run).measures
    occasion = Occasion(a.side, b.side, found.model, found.spoiling, measures=measures, type_name=a.run.type_name)
    made = compare(a.questions, b.questions, occasion, n_moved=0)
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
