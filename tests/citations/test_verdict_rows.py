"""Verdicts made elsewhere: one line in, one result out, or a sentence that says what is wrong with the row."""

import json
from pathlib import Path

import pytest
from pydantic import BaseModel

from citations.policy import Policy
from citations.verdict_rows import Profile, RowError, score_line

CONFORMANCE = Path(__file__).parents[1] / "conformance"


class Expected(BaseModel):
    counted: bool | None = None
    dropped: str | None = None
    recall: float | None = None
    precision: float | None = None
    f1: float | None = None
    exact: dict[str, str | tuple[str, str] | None] | None = None


class Row(BaseModel):
    id: str
    line: str
    profile: Profile
    expected: Expected


def rows(name: str, profile: Profile) -> list[Row]:
    return [
        Row(id=(parsed := json.loads(line))["id"], line=line, profile=profile, expected=parsed["expected"])
        for line in (CONFORMANCE / name).read_text(encoding="utf-8").splitlines()
    ]


ROWS = [*rows("tmg_conformance.jsonl", "tmg"), *rows("conformance.jsonl", "longbench-cite")]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_every_conformance_row_scores_what_it_expects(row: Row) -> None:
    result = Expected.model_validate(score_line(row.line, row.profile, 1).model_dump())
    assert (result.counted, result.dropped) == (row.expected.counted, row.expected.dropped)
    for found, expected in (
        (result.recall, row.expected.recall),
        (result.precision, row.expected.precision),
        (result.f1, row.expected.f1),
    ):
        assert found is expected if found is None or expected is None else abs(found - expected) < 1e-12
    if row.expected.exact:
        assert result.exact == row.expected.exact


def scored(line: str, profile: Profile = "tmg", policy: Policy | None = None) -> str:
    return score_line(line, profile, 1, policy=policy).model_dump_json()


ROW = '{"id": "問1", "evidence": {"1": "本文", "5": null}, "sentences": [{"citations": [1, 5, null], "verdict": %s}]}'


def test_both_spellings_of_labels_are_read() -> None:
    expected = (
        '{"id":"問1","counted":true,"recall":0.5,"precision":0.3333333333333333,"f1":0.4,'
        '"exact":{"recall":"1/2","precision":"1/3","f1":"2/5"}}'
    )
    for label in ("relevant", "yes"):
        assert scored(ROW % f'{{"support": "partial", "relevance": ["{label}", null, null]}}') == expected


def test_a_missing_verdict_shows_the_bounds() -> None:
    assert scored(ROW % '{"support": "full"}') == (
        '{"id":"問1","counted":true,"recall":null,"precision":null,"f1":0.0,"exact":{"recall":null,"precision":null,'
        '"f1":"0","recall_bounds":["1","1"],"precision_bounds":["0","1/3"],"f1_bounds":["0","1/2"]}}'
    )


STATUS_ROW = '{"id": 7, "status": "STATUS", "evidence": {}, "sentences": []}'


@pytest.mark.parametrize(
    ("status", "counted", "figure"),
    [("format_unparsable", True, 0.0), ("generation_failed", True, 0.0), ("context_overflow", False, None)],
)
def test_status_decides_where_there_is_nothing_to_judge(status: str, counted: bool, figure: float | None) -> None:
    result = json.loads(scored(STATUS_ROW.replace("STATUS", status)))
    assert (result["id"], result["counted"], result["recall"], result["f1"]) == (7, counted, figure, figure)


def test_policy_can_leave_out_what_failed() -> None:
    drop = Policy(generation_failed="drop", missing_verdict="drop")
    failed = STATUS_ROW.replace("STATUS", "generation_failed")
    assert [json.loads(scored(line, policy=drop))["counted"] for line in (failed, ROW % "{}")] == [False, False]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "row 3: not JSON: EOF while parsing a value at line 1 column 0"),
        ("[" * 100_000, "row 3: not JSON: recursion limit exceeded at line 1 column 202"),
        ("[]", "row 3: the line: input should be an object"),
        ('{"id": "問1"}', "row 3: the object has no key 'evidence'"),
        (
            '{"id": "問1", "evidence": {}, "sentences": [{"citations": []}]}',
            "row 3: sentences → no. 1 has no key 'verdict'",
        ),
        (ROW % '{"suport": "full"}', "row 3: sentences → no. 1 → verdict has a key 'suport', which means nothing here"),
        (
            ROW % '{"support": "ほぼ"}',
            "row 3: sentences → no. 1 → verdict → support: input should be 'full', 'partial' or 'none'",
        ),
        (ROW % '{"relevance": ["yes"]}', "row 3: sentence 1 has 3 citations and 1 relevance verdicts"),
        (
            '{"id": 1, "evidence": {"資料1": "本文"}, "sentences": []}',
            "row 3: evidence: the key '資料1' is no citation number",
        ),
        (
            '{"id": 1, "evidence": {"1_0": "本文"}, "sentences": []}',
            "row 3: evidence: the key '1_0' is no citation number",
        ),
        (
            '{"id": 1, "evidence": {"１": "本文"}, "sentences": []}',
            "row 3: evidence: the key '１' is no citation number",
        ),
        (
            '{"id": 1, "evidence": {"1": "文", "01": null}, "sentences": []}',
            "row 3: evidence: number 1 stands there twice",
        ),
        (ROW % '{"need": "relevant"}', "row 3: sentences → no. 1 → verdict → need: input should be 'yes' or 'no'"),
        ('{"id": true, "evidence": {}, "sentences": []}', "row 3: id → str: input should be a valid string"),
    ],
)
def test_a_row_that_cannot_be_scored_says_why(line: str, message: str) -> None:
    with pytest.raises(RowError) as caught:
        score_line(line, "tmg", 3)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ('{"citations": []}', "row 3: statement 1 has no judge reply for need"),
        (
            '{"citations": [{"snippet": "本文"}], "judge": {"support": ["[[Fully supported]]"]}}',
            "row 3: citation 1 of statement 1 has no judge reply for relevance",
        ),
        (
            '{"citations": [], "judge": {"need": []}}',
            "row 3: statements → no. 1 → judge → need: tuple should have at least 1 item after validation, not 0",
        ),
    ],
)
def test_a_reply_that_is_needed_must_stand_in_the_row(statement: str, message: str) -> None:
    with pytest.raises(RowError) as caught:
        score_line('{"id": 1, "statements": [' + statement + "]}", "longbench-cite", 3)
    assert str(caught.value) == message


def test_a_reply_that_is_never_asked_for_may_be_absent() -> None:
    line = (
        '{"id": 1, "statements": [{"citations": [], "judge": {"need": ["[[No]]"]}}, {"citations": []}],'
        ' "max_statements": 1}'
    )
    assert json.loads(scored(line, "longbench-cite")) == {
        "id": 1,
        "dropped": None,
        "recall": 1.0,
        "precision": 0.0,
        "f1": 0.0,
        "exact": {"recall": "1", "precision": "0", "f1": "0"},
    }
