"""Profile longbench-cite: equal to the reference, its traps included."""

import math
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from citations.longbench import (
    JudgeCall,
    JudgeReply,
    LongbenchScore,
    SetAnswer,
    judge_calls,
    label_score,
    score_statements,
    set_means,
)
from citations.longbench_reading import Span, Statement, normalised_answer, plain_answer, read_statements
from citations.model import UnitKind
from citations.verdict_rows import LongbenchRow

CONFORMANCE = Path(__file__).parents[1] / "conformance"


class Usage(BaseModel):
    prompt_tokens: int
    completion_tokens: int


class Requests(BaseModel):
    total: int
    units: int
    by_kind: dict[str, int]


class ExpectedAnswer(BaseModel):
    dropped: str | None
    recall: float | None = None
    precision: float | None = None
    f1: float | None = None
    statement_scores: list[float | None] = []
    citation_scores: list[list[float | None]] = []
    usage: Usage = Usage(prompt_tokens=0, completion_tokens=0)
    judge_requests: Requests


class AnswerRow(LongbenchRow):
    expected: ExpectedAnswer


ROWS = [
    AnswerRow.model_validate_json(line)
    for line in (CONFORMANCE / "conformance.jsonl").read_text(encoding="utf-8").splitlines()
]


def recorded(row: LongbenchRow, call: JudgeCall) -> JudgeReply:
    statement = row.statements[call.statement]
    if call.citation is not None:
        replies = statement.citations[call.citation].judge
    else:
        replies = statement.judge.support if call.kind == "support" else statement.judge.need
    assert replies is not None
    return JudgeReply(replies[min(call.attempt, len(replies) - 1)], 100, 7)


def figure_equals(found: Fraction | None, expected: float | None) -> bool:
    if found is None or expected is None:
        return found is None and expected is None
    return abs(found - Fraction(expected)) < Fraction(1, 10**12)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_answers_score_as_the_reference_scores_them(row: AnswerRow) -> None:
    calls: list[JudgeCall] = []

    def ask(call: JudgeCall) -> JudgeReply:
        calls.append(call)
        return recorded(row, call)

    statements = [Statement(s.text, tuple(Span(0, 0, c.snippet) for c in s.citations)) for s in row.statements]
    result = score_statements(statements, ask, max_statements=row.max_statements)
    expected = row.expected
    assert Counter(call.kind for call in calls) == expected.judge_requests.by_kind
    assert len({(call.kind, call.statement, call.citation) for call in calls}) == expected.judge_requests.units
    assert result.dropped == expected.dropped
    assert figure_equals(result.recall, expected.recall)
    assert figure_equals(result.precision, expected.precision)
    assert figure_equals(result.f1, expected.f1)
    assert list(result.statement_scores) == expected.statement_scores
    assert [list(values) for values in result.citation_scores] == expected.citation_scores
    assert (result.prompt_tokens, result.completion_tokens) == (
        expected.usage.prompt_tokens,
        expected.usage.completion_tokens,
    )


class ExpectedStatement(BaseModel):
    statement: str
    spans: list[tuple[int, int]]
    snippets: list[str]


class ExpectedReadings(BaseModel):
    one_shot: list[ExpectedStatement]
    sft: list[ExpectedStatement]
    sft_normalised_answer: str


class ParserRow(BaseModel):
    id: str
    chunks: list[str]
    raw: str
    expected: ExpectedReadings


PARSER_ROWS = [
    ParserRow.model_validate_json(line)
    for line in (CONFORMANCE / "conformance_parser.jsonl").read_text(encoding="utf-8").splitlines()
]


def as_expected(statements: tuple[Statement, ...]) -> list[ExpectedStatement]:
    return [
        ExpectedStatement(
            statement=statement.text,
            spans=[(span.first, span.last) for span in statement.citations],
            snippets=[span.snippet for span in statement.citations],
        )
        for statement in statements
    ]


@pytest.mark.parametrize("row", PARSER_ROWS, ids=lambda row: row.id)
def test_answers_are_read_as_the_reference_reads_them(row: ParserRow) -> None:
    assert as_expected(read_statements(row.raw, row.chunks)) == row.expected.one_shot
    assert as_expected(read_statements(row.raw, row.chunks, "sft")) == row.expected.sft
    assert normalised_answer(row.raw, row.chunks) == row.expected.sft_normalised_answer


class Means(BaseModel):
    recall: float | None
    precision: float | None
    f1: float | None
    finish: bool | None = None


class SetRowAnswer(BaseModel):
    dataset: str
    dropped: bool
    recall: float | None = None
    precision: float | None = None
    f1: float | None = None


class ExpectedSet(BaseModel):
    per_dataset: dict[str, Means]
    average: Means
    finish: bool


class SetRow(BaseModel):
    id: str
    answers: list[SetRowAnswer]
    expected: ExpectedSet


SET_ROWS = [
    SetRow.model_validate_json(line)
    for line in (CONFORMANCE / "conformance_dataset.jsonl").read_text(encoding="utf-8").splitlines()
]


def mean_equals(found: float, expected: float | None) -> bool:
    return math.isnan(found) if expected is None else abs(found - expected) < 1e-12


@pytest.mark.parametrize("row", SET_ROWS, ids=lambda row: row.id)
def test_sets_are_averaged_as_the_reference_averages_them(row: SetRow) -> None:
    result = set_means(SetAnswer(a.dataset, a.recall, a.precision, a.f1) for a in row.answers)
    assert [group.name for group in result.groups] == list(row.expected.per_dataset)
    for group in (*result.groups, result.average):
        expected = row.expected.per_dataset.get(group.name, row.expected.average)
        assert mean_equals(group.recall, expected.recall)
        assert mean_equals(group.precision, expected.precision)
        assert mean_equals(group.f1, expected.f1)
        assert group.finish == (row.expected.finish if expected.finish is None else expected.finish)


def test_answers_of_other_data_sets_are_ignored() -> None:
    result = set_means([SetAnswer("hotpotqa", 1, 1, 1), SetAnswer("hotpotqa-ja", 0, 0, 0)])
    assert {group.name: group.f1 for group in result.groups if group.f1 == group.f1} == {"hotpotqa": 1.0}
    assert math.isnan(result.average.f1)


CITED = Statement("甲。", (Span(0, 0, "本文"),))
BLANK = Statement("乙。", (Span(0, 0, " \n"), Span(1, 1, "")))
UNCITED = Statement("丙。", ())


def replies(*texts: str | None) -> list[JudgeReply]:
    return [JudgeReply(text, 100, 7) for text in texts]


def played(statements: list[Statement], answers: list[JudgeReply]) -> tuple[LongbenchScore, list[tuple[str, int, int]]]:
    asked: list[tuple[str, int, int]] = []
    remaining = iter(answers)

    def ask(call: JudgeCall) -> JudgeReply:
        asked.append((call.kind, call.statement, call.attempt))
        return next(remaining)

    return score_statements(statements, ask), asked


def test_recall_of_all_statements_is_asked_before_any_relevance() -> None:
    result, asked = played(
        [CITED, UNCITED, CITED], replies("[[Fully]]", "[[no]]", "[[none]]", "[[x]]", "[[Unrelevant]]")
    )
    assert asked == [("support", 0, 0), ("need", 1, 0), ("support", 2, 0), ("relevance", 0, 0), ("relevance", 2, 0)]
    assert (str(result.recall), str(result.precision), str(result.f1)) == ("2/3", "1/2", "4/7")


def test_a_lost_reply_drops_the_answer_at_any_attempt() -> None:
    assert played([CITED, UNCITED], replies("?", None)) == (
        LongbenchScore("TypeError"),
        [("support", 0, 0), ("support", 0, 1)],
    )


def test_a_refusal_ends_the_attempts() -> None:
    assert played([UNCITED], replies("?", "Trigger …")) == (
        LongbenchScore("NotImplementedError"),
        [("need", 0, 0), ("need", 0, 1)],
    )


def test_a_label_beside_the_trigger_counts() -> None:
    assert played([UNCITED], replies("[[No]] Trigger"))[0].recall == 1


def test_blank_evidence_drops_the_answer_only_after_relevance_was_asked() -> None:
    assert played([BLANK], replies("[[Relevant]]", "[[Relevant]]")) == (
        LongbenchScore("TypeError"),
        [("relevance", 0, 0), ("relevance", 0, 0)],
    )
    assert played([BLANK], replies(*["?"] * 5))[0] == LongbenchScore("NotImplementedError")


def test_support_reads_all_snippets_and_relevance_its_own() -> None:
    calls = judge_calls([Statement("甲。", (Span(0, 0, "\n一"), Span(2, 2, "二 ")))])
    support = next(calls)
    first, second = calls.send(JudgeReply("[[Fully]]")), calls.send(JudgeReply("[[Relevant]]"))
    assert [call.evidence for call in (support, first, second)] == ["一\n\n二", "\n一", "二 "]


def test_statements_beyond_the_cap_have_no_scores() -> None:
    result, asked = played([CITED] * 41, replies(*["[[Fully]]"] * 40, *["[[Relevant]]"] * 40))
    assert (len(asked), result.statement_scores[40:], result.citation_scores[40:]) == (80, (None,), ((None,),))


@pytest.mark.parametrize(
    ("kind", "reply", "value"),
    [
        ("support", "[[Not fully supported]]", 1),
        ("support", "[[Partially supported]] [[Fully supported]]", 0.5),
        ("support", "[[完全]] [[fully]]", 1),
        ("support", "[[Supported]]", 0),
        ("need", "[[Yes/No]]", 0),
        ("need", "[[maybe]]", 1),
        ("relevance", "[[Irrelevant]]", 1),
        ("relevance", "[[UNRELEVANT]]", 0),
        ("relevance", "[Relevant]", None),
        ("support", "[[]]", None),
        ("support", "[[fully-supported]]", None),
    ],
)
def test_the_first_bracketed_label_decides(kind: UnitKind, reply: str, value: float | None) -> None:
    assert label_score(kind, reply) == value


CHUNKS = ["第一文。", "第二文。", "第三文。"]


def test_numbers_too_long_for_python_are_read_all_the_same() -> None:
    raw = f"<statement>文<cite>[{'0' * 5000}1-{'9' * 5000}][{'9' * 5000}-1]</cite></statement>"
    assert read_statements(raw, CHUNKS) == (Statement("文", (Span(1, 2, "第二文。第三文。"),)),)


def test_a_document_without_chunks_has_no_spans() -> None:
    assert read_statements("<statement>文<cite>[0-0]</cite></statement>", []) == (Statement("文", ()),)


def test_plain_answer_loses_cites_and_statement_tags() -> None:
    raw = "前<statement>甲<cite>[0-0]</cite>乙</statement><cite>[1</statement>-1]</cite>後<cite>[2-2]"
    assert plain_answer(raw) == "前甲乙後<cite>[2-2]"


TEXTS = st.lists(
    st.sampled_from(
        ["<statement>", "</statement>", "<cite>", "</cite>", "[0-1]", "[1-1]", "[2-0]", "文", "六文字の文章", " ", "\n"]
    ),
    max_size=25,
).map("".join)


@given(TEXTS)
def test_the_two_readings_differ_by_trimming_alone(raw: str) -> None:
    sft = read_statements(raw, CHUNKS, "sft")
    assert read_statements(raw, CHUNKS) == tuple(Statement(s.text.strip(), s.citations) for s in sft)


@given(TEXTS)
def test_spans_stay_in_the_document_and_are_at_most_three(raw: str) -> None:
    for statement in read_statements(raw, CHUNKS):
        assert len(statement.citations) <= 3
        for span in statement.citations:
            assert span.snippet == "".join(CHUNKS[span.first : span.last + 1]) != ""


JUDGE_TEXTS = st.sampled_from(
    ["[[Fully]]", "[[partially]]", "[[No]]", "[[Yes]]", "[[Unrelevant]]", "?", "Trigger", None]
)


@given(
    st.lists(st.sampled_from([CITED, BLANK, UNCITED]), max_size=5),
    st.lists(JUDGE_TEXTS, min_size=60, max_size=60),
)
def test_an_answer_is_scored_whole_or_dropped(statements: list[Statement], texts: list[str | None]) -> None:
    result, asked = played(statements, replies(*texts))
    if result.dropped:
        assert result == LongbenchScore(result.dropped)
    else:
        assert (len(result.statement_scores), len(result.citation_scores)) == (len(statements), len(statements))
        assert None not in result.statement_scores
        assert BLANK not in statements
        assert result.prompt_tokens == 100 * len({(kind, index) for kind, index, _ in asked})
