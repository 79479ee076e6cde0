"""Scores worked out again from what a record holds: the raw answer, the evidence, the verdicts. No calls.

Knows: which parts of a record follow from which. Must not know: files, judges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

from citations.ledger import EVIDENCE_JOINT
from citations.markup import dialect_named, flags, parse
from citations.model import FormatFlag
from citations.policy import Policy
from sandbox.assess import rescore, score_row
from sandbox.record import CriterionRow, Flag, Outcome, Record
from tools.tool import SetupError

FROM_THE_ANSWER: frozenset[Flag] = frozenset({*get_args(FormatFlag), "no_citation_needed"})
"""Flags that follow from the answer and its verdicts; all others are facts of the session and stay."""
NO_VERDICT = "a verdict that the answer needs is not stored"


def rescored(record: Record, *, f1_only: bool = False, policy: Policy | None = None) -> Record:
    """The record with its answer parsed again and its stored verdicts scored again.

    Equal to the stored one where nothing about reading or scoring has changed since. A verdict that is needed now and
    was never asked for makes a judge error (not with `f1_only`, where gaps are meant). Raises SetupError where the
    verdicts speak of sentences that the answer, as it is read now, does not have.
    """
    if record.criterion is not None:
        return _rescored_criterion(record, record.criterion)
    if record.answer is None or record.score is None:
        return record
    answer = parse(record.answer, dialect_named(record.dialect))
    try:
        scored = rescore(answer, evidence_of(record), record.units, policy or Policy())
    except ValueError as error:
        raise SetupError(
            f"sample {record.sample_id}, repeat {record.repeat}: the stored verdicts do not fit its answer ({error}); "
            "it must be judged again"
        ) from error
    found: list[Flag] = [flag for flag in record.flags if flag not in FROM_THE_ANSWER]
    found += flags(answer)
    if scored.no_citation_needed:
        found.append("no_citation_needed")
    gap = scored.judge_error and not f1_only
    return record.model_copy(
        update={
            "outcome": _outcome(record, gap=gap),
            "outcome_reason": record.outcome_reason or (NO_VERDICT if gap else ""),
            "flags": _in_stored_order(record.flags, found),
            "score": score_row(scored),
        }
    )


def evidence_of(record: Record) -> Mapping[int, str | None]:
    """What the judge read, per number: each text once, as `citations.ledger.Ledger.evidence` joins them."""
    return {
        page.number: EVIDENCE_JOINT.join(dict.fromkeys(piece.text for piece in page.evidence)) or None
        for page in record.pages
    }


def _rescored_criterion(record: Record, criterion: CriterionRow) -> Record:
    """One verdict has no arithmetic: that an answer without one is a judge error is all that follows from it."""
    lacking = criterion.verdict is None or criterion.verdict.label is None
    if record.answer is None or lacking == (record.outcome == "judge_error"):
        return record
    outcome: Outcome = "judge_error" if lacking else "answered"
    return record.model_copy(update={"outcome": outcome, "outcome_reason": NO_VERDICT if lacking else ""})


def _outcome(record: Record, *, gap: bool) -> Outcome:
    return "judge_error" if gap and record.outcome == "answered" else record.outcome


def _in_stored_order(stored: Sequence[Flag], found: Sequence[Flag]) -> tuple[Flag, ...]:
    """`found` in the order in which they were stored, new ones last: an equal record must stay equal."""
    return (*(flag for flag in stored if flag in found), *(flag for flag in found if flag not in stored))
