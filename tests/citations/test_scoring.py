"""The arithmetic of profile tmg: exact, and with exact bounds where a verdict is missing."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from citations.markup import parse
from citations.model import Answer, Bounds, Citation, JudgedSentence, Sentence, Verdict
from citations.policy import Policy
from citations.scoring import (
    LABEL_VALUES,
    Contradictions,
    SetF1,
    contradictions,
    harmonic_mean,
    judged,
    score,
    score_sentences,
    set_f1,
)
from citations.units import units
from citations.verdict_rows import TmgRow

CONFORMANCE = Path(__file__).parents[1] / "conformance"
HALF, ONE, ZERO = Fraction(1, 2), Fraction(1), Fraction(0)
VALID = {1, 2, 3}


class ExpectedExact(BaseModel):
    recall: Fraction
    precision: Fraction
    f1: Fraction


class ExpectedUnits(BaseModel):
    support: int
    need: int
    relevance: int


class ExpectedScore(BaseModel):
    counted: bool
    recall: float | None
    precision: float | None
    f1: float | None
    exact: ExpectedExact | None = None
    sentence_scores: list[float | None]
    citation_scores: list[list[float | None]]
    judge_units: ExpectedUnits
    judge_units_distinct_relevance: int = 0
    judge_error: bool = False


class ScoredRow(TmgRow):
    expected: ExpectedScore


ROWS = [
    row
    for line in (CONFORMANCE / "tmg_conformance.jsonl").read_text(encoding="utf-8").splitlines()
    if (row := ScoredRow.model_validate_json(line)).status == "ok"
]


def sentences_of(row: ScoredRow) -> list[JudgedSentence]:
    return [JudgedSentence(s.citations, s.verdict.support, s.verdict.need, s.verdict.relevance) for s in row.sentences]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_scores_by_position_of_the_conformance_rows(row: ScoredRow) -> None:
    valid = {number for number, text in row.evidence.items() if text}
    result = score_sentences(sentences_of(row), valid)
    expected = row.expected
    assert list(result.sentence_scores) == expected.sentence_scores
    assert [list(values) for values in result.citation_scores] == expected.citation_scores
    assert result.judge_error == expected.judge_error
    if expected.exact:
        assert (result.recall, result.precision, result.f1) == (
            expected.exact.recall,
            expected.exact.precision,
            expected.exact.f1,
        )
        assert result.f1_bounds == Bounds(expected.exact.f1, expected.exact.f1)
    else:
        assert (result.recall, result.precision, result.f1) == (None, None, ZERO)


def as_answer(row: ScoredRow) -> Answer:
    return Answer(
        "",
        "tags",
        tuple(
            Sentence(s.text, tuple(Citation(number, str(number), 0, 0) for number in s.citations), 0, 0)
            for s in row.sentences
        ),
    )


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_units_of_the_conformance_rows_cover_what_is_to_be_judged(row: ScoredRow) -> None:
    found = units(as_answer(row), row.evidence)
    n_positions = {kind: sum(len(unit.sentences) for unit in found if unit.kind == kind) for kind in LABEL_VALUES}
    assert (n_positions["support"], n_positions["need"]) == (
        row.expected.judge_units.support,
        row.expected.judge_units.need,
    )
    assert [unit.kind for unit in found].count("relevance") == row.expected.judge_units_distinct_relevance


class SetRowAnswer(BaseModel):
    f1: float | None
    counted: bool


class ExpectedSet(BaseModel):
    f1: float
    denominator: int
    total: int


class SetRow(BaseModel):
    id: str
    answers: list[SetRowAnswer]
    expected: ExpectedSet


SET_ROWS = [
    SetRow.model_validate_json(line)
    for line in (CONFORMANCE / "tmg_conformance_dataset.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("row", SET_ROWS, ids=lambda row: row.id)
def test_set_f1_is_the_flat_mean_without_context_overflow(row: SetRow) -> None:
    result = set_f1([Fraction(a.f1) if a.counted and a.f1 is not None else None for a in row.answers])
    assert result.value is not None
    assert abs(result.value - Fraction(row.expected.f1)) < Fraction(1, 10**12)
    assert (result.n, result.n_total) == (row.expected.denominator, row.expected.total)


def test_a_set_in_which_nothing_counts_has_no_f1() -> None:
    assert set_f1([None]) == SetF1(None, 0, 1)


RAW = (
    "<sentence>以下にまとめる。</sentence>"
    "<sentence>甲。<cite>1</cite><cite>2</cite></sentence>"
    "<sentence>甲。<cite>2</cite><cite>1</cite><cite>9</cite></sentence>"
)
EVIDENCE = {1: "本文1", 2: "本文2"}
VERDICTS = [
    Verdict("need", (0,), None, "no"),
    Verdict("support", (1, 2), None, "partial"),
    Verdict("relevance", (1, 2), 1, "yes"),
    Verdict("relevance", (1, 2), 2, "no"),
]


def test_a_shared_verdict_counts_for_every_sentence() -> None:
    result = score(parse(RAW), EVIDENCE, VERDICTS)
    assert result.sentence_scores == (ONE, HALF, HALF)
    assert result.citation_scores == ((), (ONE, ZERO), (ZERO, ONE, ZERO))
    assert (result.recall, result.precision, result.f1) == (Fraction(2, 3), Fraction(2, 5), HALF)


def test_missing_verdicts_leave_bounds() -> None:
    result = score(parse(RAW), EVIDENCE, [verdict for verdict in VERDICTS if verdict.number != 2])
    assert (result.recall, result.precision, result.f1, result.n_missing) == (None, None, ZERO, 2)
    assert result.recall_bounds == Bounds(Fraction(2, 3), Fraction(2, 3))
    assert result.precision_bounds == Bounds(Fraction(2, 5), Fraction(4, 5))
    assert result.f1_bounds == Bounds(HALF, Fraction(8, 11))
    assert (result.judge_error, result.f1_decided) == (True, False)


def test_a_verdict_without_label_is_a_missing_one() -> None:
    unlabelled = [Verdict(v.kind, v.sentences, v.number, None if v.number == 2 else v.label) for v in VERDICTS]
    assert score(parse(RAW), EVIDENCE, unlabelled) == score(
        parse(RAW), EVIDENCE, [verdict for verdict in VERDICTS if verdict.number != 2]
    )


def test_an_uncited_answer_has_f1_zero_and_says_if_rightly_uncited() -> None:
    answer = parse("<sentence>以下にまとめる。</sentence><sentence>以上。</sentence>")
    right = score(answer, {}, [Verdict("need", (0, 1), None, "no")])
    wrong = score(answer, {}, [Verdict("need", (0,), None, "no"), Verdict("need", (1,), None, "yes")])
    unknown = score(answer, {}, [])
    assert [(s.recall, s.precision, s.f1, s.no_citation_needed) for s in (right, wrong, unknown)] == [
        (ONE, ZERO, ZERO, True),
        (HALF, ZERO, ZERO, False),
        (None, None, ZERO, False),
    ]
    assert (unknown.f1_decided, unknown.recall_bounds) == (True, Bounds(ZERO, ONE))


def test_no_sentence_scores_zero() -> None:
    result = score(parse("本文"), {}, [])
    assert (result.recall, result.precision, result.f1, result.no_citation_needed) == (ZERO, ZERO, ZERO, False)


@pytest.mark.parametrize(
    ("verdict", "message"),
    [
        (Verdict("support", (3,), None, "full"), "speaks of sentence 3"),
        (Verdict("support", (-1,), None, "full"), "speaks of sentence -1"),
        (Verdict("need", (0,), None, "yes"), "two need verdicts for sentence 0"),
        (Verdict("relevance", (2,), 1, "yes"), "two relevance verdicts for sentence 2"),
    ],
)
def test_impossible_verdicts_are_refused(verdict: Verdict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        score(parse(RAW), EVIDENCE, [*VERDICTS, verdict])


@pytest.mark.parametrize("label", ["Full", "", "supported", "yes"])
def test_an_unknown_label_is_never_a_default(label: str) -> None:
    with pytest.raises(ValueError, match="is no support label"):
        score_sentences([JudgedSentence((1,), support=label, relevance=("yes",))], VALID)


def test_policies_that_the_original_evaluator_may_have() -> None:
    sentences = [
        JudgedSentence((9,), need="no", relevance=(None,)),
        JudgedSentence((1, 1, 9, None, None), support="full", relevance=("yes", "yes", None, None, None)),
    ]

    def figures(policy: Policy) -> tuple[Fraction | None, Fraction | None]:
        result = score_sentences(sentences, VALID, policy=policy)
        return result.recall, result.precision

    assert figures(Policy()) == (HALF, Fraction(2, 6))
    assert figures(Policy(all_unknown_recall="need")) == (ONE, Fraction(2, 6))
    assert figures(Policy(partly_unknown_support="zero")) == (ZERO, Fraction(2, 6))
    assert figures(Policy(repeated_number="once")) == (HALF, Fraction(1, 5))


def test_an_answer_with_a_missing_verdict_can_be_dropped() -> None:
    missing = score_sentences([JudgedSentence((1,), support="full")], VALID, policy=Policy(missing_verdict="drop"))
    assert (missing.f1, missing.f1_bounds) == (None, Bounds(ZERO, ONE))


def test_contradictions_measure_judge_noise() -> None:
    sentences = [
        JudgedSentence((1,), support="full", relevance=("no",)),
        JudgedSentence((1,), support="partial", relevance=("yes",)),
        JudgedSentence((1,), support="none", relevance=("no",)),
        JudgedSentence((1, 2), support="full", relevance=("no", "no")),
        JudgedSentence((1,), support="full", relevance=(None,)),
        JudgedSentence((9,)),
    ]
    assert contradictions(sentences) == Contradictions(1, 2)


def labels(kind: str) -> st.SearchStrategy[str | None]:
    return st.sampled_from({"support": ["full", "partial", "none"]}.get(kind, ["yes", "no"])) | st.none()


@st.composite
def judged_answers(draw: st.DrawFn) -> tuple[Answer, list[Verdict]]:
    """An answer of few sentences, so that equal ones are likely, with its units judged; few verdicts are missing."""
    sentences = draw(
        st.lists(st.tuples(st.sampled_from("甲乙"), st.lists(st.sampled_from([1, 2, 9]), max_size=3)), max_size=4)
    )
    answer = parse(
        "".join(f"<sentence>{t}{''.join(f'<cite>{n}</cite>' for n in numbers)}</sentence>" for t, numbers in sentences)
    )
    verdicts = [
        Verdict(unit.kind, unit.sentences, unit.number, draw(labels(unit.kind))) for unit in units(answer, EVIDENCE)
    ]
    return answer, verdicts


def completions(verdicts: list[Verdict]) -> Iterator[list[Verdict]]:
    choices = [[v.label] if v.label else list(LABEL_VALUES[v.kind]) for v in verdicts]
    for chosen in product(*choices):
        yield [Verdict(v.kind, v.sentences, v.number, label) for v, label in zip(verdicts, chosen, strict=True)]


@given(judged_answers().filter(lambda drawn: sum(v.label is None for v in drawn[1]) <= 6))
def test_bounds_are_exact_over_all_ways_the_missing_verdicts_could_come_out(
    drawn: tuple[Answer, list[Verdict]],
) -> None:
    answer, verdicts = drawn
    result = score(answer, EVIDENCE, verdicts)
    all_ways = [score(answer, EVIDENCE, way) for way in completions(verdicts)]
    recalls = [way.recall for way in all_ways if way.recall is not None]
    precisions = [way.precision for way in all_ways if way.precision is not None]
    f1s = [way.f1 for way in all_ways if way.f1 is not None]
    assert result.recall_bounds == Bounds(min(recalls), max(recalls))
    assert result.precision_bounds == Bounds(min(precisions), max(precisions))
    assert result.f1_bounds == Bounds(min(f1s), max(f1s))
    assert len(all_ways) == len(recalls) == len(precisions) == len(f1s)


@given(judged_answers())
def test_the_verdicts_on_the_units_are_all_that_is_needed(drawn: tuple[Answer, list[Verdict]]) -> None:
    answer, verdicts = drawn
    result = score(answer, EVIDENCE, verdicts)
    assert result.judge_error == any(verdict.label is None for verdict in verdicts)
    assert result == score_sentences(judged(answer, verdicts), EVIDENCE.keys())


@given(judged_answers())
def test_what_f1_only_skips_cannot_change_f1(drawn: tuple[Answer, list[Verdict]]) -> None:
    answer, verdicts = drawn
    if units(answer, EVIDENCE, f1_only=True) == ():
        assert (
            score(answer, EVIDENCE, []).f1_bounds == score(answer, EVIDENCE, verdicts).f1_bounds == Bounds(ZERO, ZERO)
        )


def test_sixty_missing_verdicts_are_bounded_without_trying_the_combinations() -> None:
    result = score_sentences([JudgedSentence((1,))] * 60 + [JudgedSentence((2,), "full", None, ("no",))], VALID)
    assert result.f1_bounds == Bounds(ZERO, harmonic_mean(ONE, Fraction(60, 61)))
    assert result.n_missing == 120
