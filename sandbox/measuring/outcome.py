"""The counting table: what each outcome and flag does to each denominator.

Knows: outcomes, flags, one record's verdict and score. Must not know: sums, intervals, how an outcome came about.

Read `COUNTING` first. The rules are those of the tmg_cqa publication; (R) marks our reading where it is silent:
a failed generation counts as inconsistent and as citation F1 0 (R for the F1: the publication only says that it is
not left out), an answer that overflowed the context is left out of the citation scores, an answer without a readable
sentence or citation counts with F1 0, a verdict that is missing counts as 0 (R), with bounds.

A benchmark of one verdict counts every question it asks (R): who gave no answer did not pass.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from sandbox.record import Outcome, Record, ScoreRow

Counting = Literal["as judged", "0 where missing", "0", "left out"]
"""`as judged`: the verdict's or score's own value. `0 where missing`: the same, but a missing verdict counts as 0, with
bounds for what it could have been. `0`: counted, as a failure. `left out`: not in the denominator."""


@dataclass(frozen=True, slots=True)
class CountingRule:
    """One row of the table."""

    consistency: Counting
    citation: Counting
    criterion: Counting


COUNTING: Mapping[Outcome, CountingRule] = {
    # outcome                          consistency rate          citation recall, precision, F1    one verdict
    "answered": CountingRule(consistency="as judged", citation="as judged", criterion="as judged"),
    "generation_failed": CountingRule(consistency="0", citation="0", criterion="0"),
    "context_overflow": CountingRule(consistency="0", citation="left out", criterion="0"),
    # Each metric zeroes only its own: a missing citation verdict leaves the consistency verdict standing.
    "judge_error": CountingRule(consistency="0 where missing", citation="0 where missing", criterion="0 where missing"),
}

UNPARSABLE = frozenset({"no_sentence", "no_citation"})
"""Flags of a non-empty final answer with nothing to score: precision and F1 are 0, whatever the verdicts."""

CONSISTENT = "consistent"
NOT_ASKED = "not_asked"
"""Why recall or precision of an answer is left out where the run asked only for what can change F1."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What one record gives to one metric, in 0–1. `low < high` where a missing verdict left it undecided.

    `low` and `high` are the least and the most that the missing verdicts could have made of it; `value` is what it
    counts as meanwhile: a failure.
    """

    value: Fraction
    low: Fraction
    high: Fraction

    @property
    def undecided(self) -> bool:
        """Whether a verdict that is missing could have changed the value."""
        return self.low != self.high


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The record is not in this metric's denominator, and why. No reason = the metric is not about such records."""

    reason: str = ""


Value = Counted | LeftOut


@dataclass(frozen=True, slots=True)
class CitationValues:
    """What one record gives to the three citation metrics."""

    recall: Value
    precision: Value
    f1: Value


ZERO = Counted(Fraction(0), Fraction(0), Fraction(0))
ONE = Counted(Fraction(1), Fraction(1), Fraction(1))
UNDECIDED = Counted(Fraction(0), Fraction(0), Fraction(1))


def unparsable(record: Record) -> bool:
    """Whether the final answer is there but its markup gives no sentence or no citation."""
    return not UNPARSABLE.isdisjoint(record.flags)


def consistency_value(record: Record) -> Value:
    """1 if the answer was judged consistent with the reference, else 0; undecided where the verdict is missing.

    Left out (`no_reference`) only where the data set gives no reference answer to hold it against.
    """
    if record.reference is None and record.consistency is None:
        return LeftOut("no_reference")
    label = record.consistency.label if record.consistency else None
    return verdict_value(COUNTING[record.outcome].consistency, record.outcome, label, (CONSISTENT,))


def verdict_value(counting: Counting, outcome: Outcome, label: str | None, passing: Collection[str]) -> Value:
    """1 for a label that passes, else 0, as `counting` says of the outcome; undecided where there is no label."""
    match counting:
        case "0":
            return ZERO
        case "left out":
            return LeftOut(outcome)
        case "as judged" | "0 where missing":
            if label is None:
                return UNDECIDED
            return ONE if label in passing else ZERO


def citation_values(record: Record) -> CitationValues:
    """Citation recall, precision and F1 of one answer as they enter the means, or left out with the outcome."""
    match COUNTING[record.outcome].citation:
        case "0":
            return CitationValues(ZERO, ZERO, ZERO)
        case "left out":
            out = LeftOut(record.outcome)
            return CitationValues(out, out, out)
        case "as judged" | "0 where missing":
            return _as_scored(record, record.score or ScoreRow(recall=None, precision=None, f1=None))


def _as_scored(record: Record, score: ScoreRow) -> CitationValues:
    # A judged answer lacks a verdict only where none was asked for: that is no judge's failure.
    gaps = record.outcome == "answered" and record.score is not None
    recall = _recall_or_precision(score.recall, score.recall_bounds, gaps=gaps)
    precision = _recall_or_precision(score.precision, score.precision_bounds, gaps=gaps)
    if "no_sentence" in record.flags:
        return CitationValues(ZERO, ZERO, ZERO)
    if "no_citation" in record.flags:
        # Sentences that need no citation still count in recall; precision and F1 have nothing to count.
        return CitationValues(recall, ZERO, ZERO)
    return CitationValues(recall, precision, _value(score.f1, score.f1_bounds))


def _recall_or_precision(exact: str | None, bounds: tuple[str, str] | None, *, gaps: bool) -> Value:
    value = _value(exact, bounds)
    return LeftOut(NOT_ASKED) if gaps and value.undecided else value


def _value(exact: str | None, bounds: tuple[str, str] | None) -> Counted:
    low, high = (Fraction(end) for end in bounds or (exact or "0", exact or "1"))
    if low == high:
        # Decided, also where the score says nothing of it because a verdict of another metric is missing.
        return Counted(low, low, low)
    counted = Fraction(exact or 0)
    return Counted(counted, counted, high)
