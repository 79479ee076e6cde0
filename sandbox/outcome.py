"""The counting table: what each outcome and flag does to each denominator of the tmg_cqa metrics.

Knows: outcomes, flags, one record's verdict and score. Must not know: sums, intervals, how an outcome came about.

Read `COUNTING` first. The rules are those of the tmg_cqa publication; (R) marks our reading where it is silent:
a failed generation counts as inconsistent and as citation F1 0 (R for the F1: the publication only says that it is
not left out), an answer that overflowed the context is left out of the citation scores, an answer without a readable
sentence or citation counts with F1 0, a verdict that is missing counts as 0 (R), with bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from sandbox.record import Outcome, Record, ScoreRow

Counting = Literal["as judged", "0", "left out"]
"""`as judged`: the verdict's or score's own value, 0 with bounds where it is missing. `0`: counted, as a failure."""


@dataclass(frozen=True, slots=True)
class CountingRule:
    """One row of the table."""

    consistency: Counting
    citation: Counting


COUNTING: Mapping[Outcome, CountingRule] = {
    # outcome                          consistency rate          citation recall, precision, F1
    "answered": CountingRule(consistency="as judged", citation="as judged"),
    "generation_failed": CountingRule(consistency="0", citation="0"),
    "context_overflow": CountingRule(consistency="0", citation="left out"),
    # Each metric zeroes only its own: a missing citation verdict leaves the consistency verdict standing.
    "judge_error": CountingRule(consistency="as judged", citation="as judged"),
}

UNPARSABLE = frozenset({"no_sentence", "no_citation"})
"""Flags of a non-empty final answer with nothing to score: precision and F1 are 0, whatever the verdicts."""

CONSISTENT = "consistent"


@dataclass(frozen=True, slots=True)
class Counted:
    """What one record gives to one metric, in 0–1. `low < high` where a missing verdict left it undecided."""

    value: Fraction
    low: Fraction
    high: Fraction

    @property
    def undecided(self) -> bool:
        """Whether a verdict that is missing could have changed the value."""
        return self.low != self.high


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The record is not in this metric's denominator, and why."""

    reason: str


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
    match COUNTING[record.outcome].consistency:
        case "0":
            return ZERO
        case "left out":
            return LeftOut(record.outcome)
        case "as judged":
            label = record.consistency.label if record.consistency else None
            if label is None:
                return UNDECIDED
            return ONE if label == CONSISTENT else ZERO


def citation_values(record: Record) -> CitationValues:
    """Citation recall, precision and F1 of one answer as they enter the means, or left out with the outcome."""
    match COUNTING[record.outcome].citation:
        case "0":
            return CitationValues(ZERO, ZERO, ZERO)
        case "left out":
            out = LeftOut(record.outcome)
            return CitationValues(out, out, out)
        case "as judged":
            return _as_scored(record, record.score or ScoreRow(recall=None, precision=None, f1=None))


def _as_scored(record: Record, score: ScoreRow) -> CitationValues:
    recall = _value(score.recall, score.recall_bounds)
    if "no_sentence" in record.flags:
        return CitationValues(ZERO, ZERO, ZERO)
    if "no_citation" in record.flags:
        # Sentences that need no citation still count in recall; precision and F1 have nothing to count.
        return CitationValues(recall, ZERO, ZERO)
    # A score of 0 that a missing verdict could have raised says so by its bounds.
    return CitationValues(recall, _value(score.precision, score.precision_bounds), _value(score.f1, score.f1_bounds))


def _value(exact: str | None, bounds: tuple[str, str] | None) -> Counted:
    if bounds is not None:
        return Counted(Fraction(exact or 0), Fraction(bounds[0]), Fraction(bounds[1]))
    if exact is None:
        return UNDECIDED
    return Counted(Fraction(exact), Fraction(exact), Fraction(exact))
