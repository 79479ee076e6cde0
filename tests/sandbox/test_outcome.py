"""The counting table, row by row, and the published counts of tmg_cqa that pin it."""

from __future__ import annotations

from fractions import Fraction
from typing import get_args

import pytest

from sandbox.measuring.outcome import (
    COUNTING,
    ONE,
    UNDECIDED,
    ZERO,
    CitationValues,
    Counted,
    LeftOut,
    citation_values,
    consistency_value,
)
from sandbox.record import Flag, Outcome, Record, ScoreRow, VerdictRow

FULL = ScoreRow(recall="1", precision="1", f1="1")


def record(
    outcome: Outcome = "answered",
    flags: tuple[Flag, ...] = (),
    verdict: VerdictRow | None = None,
    score: ScoreRow | None = FULL,
    reference: str | None = "所得制限は令和６年度に撤廃された。",
) -> Record:
    return Record(
        sample_id="tmg-0001",
        question="私立高校の授業料支援の所得制限はどうなったか。",
        reference=reference,
        outcome=outcome,
        flags=flags,
        consistency=verdict,
        score=score,
    )


def test_every_outcome_has_a_row() -> None:
    assert tuple(COUNTING) == get_args(Outcome)


@pytest.mark.parametrize(
    ("label", "value"),
    [("consistent", ONE), ("contradictory", ZERO), ("insufficient", ZERO), (None, UNDECIDED)],
)
def test_consistency_of_an_answer_is_its_verdict(label: str | None, value: Counted) -> None:
    assert consistency_value(record(verdict=VerdictRow(label=label))) == value


@pytest.mark.parametrize("outcome", ["generation_failed", "context_overflow"])
def test_what_gave_no_answer_counts_as_not_consistent(outcome: Outcome) -> None:
    assert consistency_value(record(outcome, score=None)) == ZERO


def test_a_question_without_reference_is_left_out_of_consistency() -> None:
    assert consistency_value(record(reference=None)) == LeftOut("no_reference")


def test_failed_generation_counts_with_zero_in_all_citation_metrics() -> None:
    assert citation_values(record("generation_failed", score=None)) == CitationValues(ZERO, ZERO, ZERO)


def test_context_overflow_is_left_out_of_all_citation_metrics() -> None:
    out = LeftOut("context_overflow")
    assert citation_values(record("context_overflow", score=None)) == CitationValues(out, out, out)


def test_unparsable_markup_counts_with_zero_and_leaves_consistency_alone() -> None:
    bad = record(flags=("no_sentence",), verdict=VerdictRow(label="consistent"))
    assert (consistency_value(bad), citation_values(bad)) == (ONE, CitationValues(ZERO, ZERO, ZERO))


def test_without_citation_f1_is_zero_but_rightly_uncited_sentences_count_in_recall() -> None:
    score = ScoreRow(recall="1/2", precision="0", f1="0")
    half = Counted(Fraction(1, 2), Fraction(1, 2), Fraction(1, 2))
    assert citation_values(record(flags=("no_citation",), score=score)) == CitationValues(half, ZERO, ZERO)


def test_missing_need_verdict_cannot_raise_the_f1_of_an_answer_without_citation() -> None:
    score = ScoreRow(recall=None, precision="0", f1="0", recall_bounds=("1/3", "2/3"))
    undecided = Counted(Fraction(0), Fraction(0), Fraction(2, 3))
    values = citation_values(record("judge_error", flags=("no_citation",), score=score))
    assert values == CitationValues(undecided, ZERO, ZERO)


def test_judge_error_zeroes_only_the_metric_whose_verdict_is_missing() -> None:
    no_consistency = record("judge_error", verdict=VerdictRow(label=None, failure="parse"))
    assert consistency_value(no_consistency) == UNDECIDED
    assert citation_values(no_consistency) == CitationValues(ONE, ONE, ONE)
    score = ScoreRow(
        recall=None,
        precision=None,
        f1="0",
        recall_bounds=("1/4", "1/2"),
        precision_bounds=("1", "1"),
        f1_bounds=("2/5", "2/3"),
    )
    no_support = record("judge_error", verdict=VerdictRow(label="consistent"), score=score)
    assert consistency_value(no_support) == ONE
    assert citation_values(no_support) == CitationValues(
        recall=Counted(Fraction(0), Fraction(0), Fraction(1, 2)),
        precision=ONE,
        f1=Counted(Fraction(0), Fraction(0), Fraction(2, 3)),
    )


def test_recall_that_nobody_asked_for_is_left_out_and_its_f1_of_zero_counts() -> None:
    score = ScoreRow(
        recall=None, precision=None, f1="0", recall_bounds=("0", "1"), precision_bounds=("0", "0"), f1_bounds=("0", "0")
    )
    assert citation_values(record(score=score)) == CitationValues(LeftOut("not_asked"), ZERO, ZERO)


def test_an_answer_without_any_score_is_undecided_and_not_silently_zero() -> None:
    assert citation_values(record(score=None)) == CitationValues(UNDECIDED, UNDECIDED, UNDECIDED)
