"""What the debugger finds, where, and how it words it: worked cases, and the rules that they leave out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest

from citations.findings import CODES
from citations.lint import Finding, LintReport, lint
from citations.markup import LONGCITE, TAGS, Dialect, dialect_named, plamo
from citations.model import Answer

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "tests" / "conformance" / "format_cases.jsonl"
SHARED = ROOT / ".." / "shared" / "data"
EVIDENCE: Mapping[int, str | None] = {1: "本文1", 2: "本文2", 3: "本文3", 4: "本文4", 5: None, 6: "　"}

Case = Mapping[str, object]


def cases() -> list[Case]:
    return [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]


def report_of(case: Case) -> LintReport:
    evidence = cast("dict[str, str | None]", case["evidence"])
    return lint(
        cast(str, case["raw"]),
        dialect_named(cast(str, case["dialect"])),
        finish_reason=cast(str, case["finish_reason"]),
        evidence={int(number): text for number, text in evidence.items()},
    )


def read(answer: Answer) -> list[dict[str, object]]:
    return [
        {"text": sentence.text, "citations": [citation.number for citation in sentence.citations]}
        for sentence in answer.sentences
    ]


def found(raw: str | None, dialect: Dialect = TAGS, *, finish_reason: str = "stop") -> list[tuple[str, int]]:
    """Code and offset of everything found, with evidence for 1 to 6."""
    report = lint(raw, dialect, finish_reason=finish_reason, evidence=EVIDENCE)
    return [(finding.code, finding.start) for finding in report.findings]


def recovered(raw: str, dialect: Dialect = TAGS, *, finish_reason: str = "stop") -> list[tuple[str, list[int | None]]]:
    report = lint(raw, dialect, finish_reason=finish_reason, evidence=EVIDENCE)
    return [(s.text, [citation.number for citation in s.citations]) for s in report.recovered.sentences]


@pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case['id']} {case['name']}")
def test_worked_cases(case: Case) -> None:
    expected = cast("dict[str, list[dict[str, object]]]", case["expected"])
    report = report_of(case)
    assert read(report.strict) == expected["strict"]
    assert read(report.recovered) == expected["recovered"]
    codes = [finding.code for finding in report.findings]
    assert sorted(codes) == sorted(str(diagnostic["code"]) for diagnostic in expected["diagnostics"])
    places = [(finding.code, finding.start) for finding in report.findings]
    for diagnostic in expected["diagnostics"]:
        if "at" in diagnostic:
            assert (diagnostic["code"], diagnostic["at"]) in places


def test_a_finding_says_what_where_and_what_to_write() -> None:
    raw = "前置き。\n<sentence>両調査は一致した。<cite>1、3</cite></sentence>"
    assert lint(raw, finish_reason="stop", evidence=EVIDENCE).findings == (
        Finding(
            code="C02",
            severity="error",
            start=24,
            end=40,
            line=2,
            column=20,
            message="several numbers in one cite: 1、3",
            fix="write <cite>1</cite><cite>3</cite>",
        ),
    )


def test_without_evidence_and_finish_reason_the_report_says_what_was_not_checked() -> None:
    raw = "<sentence>一文目です。<cite>9</cite></sentence>"
    assert lint(raw).findings == ()
    assert lint(raw).not_checked == ("R01", "R02", "R03", "R04", "R05", "R06", "S15")
    assert lint(raw, finish_reason="stop", evidence={}).not_checked == ("R06",)
    assert lint(raw, finish_reason="stop", evidence={9: "文"}, cut_evidence=[9]).not_checked == ()


@pytest.mark.parametrize("raw", [None, "", " \n\t", "　"])
def test_no_answer_is_one_finding(raw: str | None) -> None:
    assert found(raw) == [("W01", 0)]


def test_an_empty_answer_that_was_cut_says_so() -> None:
    (finding,) = lint("", finish_reason="length").findings
    assert finding.message == "empty answer: the output limit was reached"


# Tags, codes S…


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        # All of these say <sentence>文。<cite>2</cite></sentence>; what is found is where it is said badly.
        ("<sentence>文。<CITE>2</CITE></sentence>", [("W03", 0), ("S07", 12), ("S07", 19)]),
        ("<sentence >文。<cite>2</cite></sentence\n>", [("S07", 0), ("W02", 0), ("S07", 27)]),
        ("<sentence>文。<cite id='2'></cite></sentence>", [("W03", 0), ("S07", 12)]),
        ("<sentence>文。<cite=2></sentence>", [("W03", 0), ("S06", 12), ("S07", 12)]),
        ("<sentence>文。<ref>2</ref></sentence>", [("W03", 0), ("S07", 12), ("S07", 18)]),
        ("<sentence>文。<source id=2 /></sentence>", [("W03", 0), ("S07", 12)]),
        ("<sentence>文。<cite>2<\\cite></sentence>", [("W03", 0), ("S07", 19)]),
        ("<sentense>文。<cite>2</cite></sentense>", [("S07", 0), ("W02", 0), ("S07", 26)]),
        ("<sentence1>文。<cite>2</cite></sentence1>", [("S07", 0), ("W02", 0), ("S07", 27)]),
        ("<sentence>文。<cite>2<cite/></sentence>", [("W03", 0), ("S07", 19)]),
        ("〈sentence〉文。<cite>2</cite>〈/sentence〉", [("S08", 0), ("W02", 0), ("S08", 26)]),
        ("＜ｓｅｎｔｅｎｃｅ＞文。<cite>2</cite>＜／sentence＞", [("S08", 0), ("W02", 0), ("S08", 26)]),
        ("&#60;sentence&#62;文。<cite>2</cite>&lt;/sentence&gt;", [("S09", 0), ("W02", 0)]),
    ],
)
def test_misspelt_tags_are_named_and_read_as_meant(raw: str, expected: list[tuple[str, int]]) -> None:
    assert found(raw) == expected
    assert recovered(raw) == [("文。", [2])]


@pytest.mark.parametrize(
    "raw", ["太字の<b>語</b>。", "10<sup>2</sup>。", "x<y>z", "<ref>文献</ref>を見る。", "<cited>。"]
)
def test_other_markup_is_no_misspelt_tag(raw: str) -> None:
    assert found(f"<sentence>{raw}<cite>1</cite></sentence>") == []


def test_a_tag_that_breaks_off_at_the_end_is_no_text() -> None:
    raw = "<sentence>文。<cite>2</cite></sent"
    assert found(raw) == [("S01", 0), ("W02", 0)]
    assert recovered(raw) == [("文。", [2])]


def test_the_marker_of_the_next_list_item_is_no_text_of_a_sentence_left_open() -> None:
    raw = "1. <sentence>一つ目。<cite>1</cite>\n2. <sentence>二つ目。<cite>2</cite></sentence>"
    assert recovered(raw) == [("一つ目。", [1]), ("二つ目。", [2])]


def test_a_cite_left_open_ends_at_the_next_sentence() -> None:
    raw = "<sentence>一つ目。<cite>1\n<sentence>二つ目。<cite>2</cite></sentence>"
    assert found(raw) == [("S06", 14), ("S03", 22)]
    assert recovered(raw) == [("一つ目。", [1]), ("二つ目。", [2])]


def test_a_whole_answer_in_a_fence_is_noted_and_fence_lines_are_no_prose() -> None:
    raw = "```html\n<sentence>文。<cite>1</cite></sentence>\n```"
    assert found(raw) == [("S10", 0)]
    assert found(f"説明。\n{raw}") == []


def test_names_of_special_tokens_are_listed_so_that_they_can_be_set() -> None:
    raw = "<|plamo:begin_span:plamo|>文。<|plamo:begin_src:plamo|>1<|plamo:end_src:plamo|><|plamo:end_span:plamo|>"
    first = lint(raw, plamo(), finish_reason="stop", evidence=EVIDENCE).findings[0]
    assert (first.code, first.fix) == ("S11", "set the dialect; names seen: span, src")
    assert found(raw, dialect_named("plamo(span,src)")) == []


def test_a_special_token_with_its_name_whole_is_mended() -> None:
    raw = "<|plamo:begin_sentence:plamo|>文。<|plamo:begin_cite|>1<|plamo:end_cite:plamo<|plamo:end_sentence:plamo|>"
    assert found(raw, plamo()) == [("W03", 0), ("S12", 32)]
    assert recovered(raw, plamo()) == [("文。", [1])]


def test_code_fifteen_stands_where_the_answer_broke_off() -> None:
    whole = "<sentence>文。<cite>1</cite></sentence>"
    assert found(whole, finish_reason="length") == [("S15", len(whole))]
    assert found(whole + "<sentence>次の", finish_reason="length") == [("S15", len(whole))]
    assert found(whole + "<cite>1", finish_reason="length") == [("S15", len(whole))]
    assert recovered(whole + "<cite>1", finish_reason="length") == [("文。", [1])]


def test_a_sentence_is_nested_only_if_the_outer_one_is_closed_too() -> None:
    raw = "<sentence>外<sentence>内<sentence>奥</sentence></sentence>"
    assert found(raw) == [("W03", 0), ("S03", 11), ("S04", 22), ("S02", 44)]
    assert recovered(raw) == [("外", []), ("内", []), ("奥", [])]


# Places, codes P…


def test_a_cite_goes_to_the_sentence_before_it_over_at_most_five_characters() -> None:
    near = "<sentence>文。</sentence>（出典：<cite>1</cite>）"
    far = "<sentence>文。</sentence>詳しい出典は<cite>1</cite>"
    assert recovered(near) == [("文。", [1])]
    assert recovered(far) == [("文。", [])]
    assert found(far) == [("W03", 0), ("P01", 29)]


def test_a_cite_before_every_sentence_belongs_to_none() -> None:
    raw = "<cite>1</cite><sentence>文。</sentence>"
    assert found(raw) == [("P01", 0), ("W03", 0)]
    assert recovered(raw) == [("文。", [])]


def test_a_mark_right_behind_a_sentence_belongs_to_it() -> None:
    raw = "<sentence>文。</sentence>[1]【2†L3】 ここからは地の文です。"
    assert found(raw) == [("W03", 0), ("P05", 23), ("P05", 26), ("P03", 33)]
    assert recovered(raw) == [("文。", [1, 2])]


@pytest.mark.parametrize("mark", ["[2024]", "[要出典]", "[Fe/H]", "【重要】", "[9]", "[表示](https://example.jp/1)"])
def test_a_mark_counts_only_if_the_ledger_knows_a_number_in_it(mark: str) -> None:
    assert found(f"<sentence>文{mark}。<cite>1</cite></sentence>") == []


@pytest.mark.parametrize(
    ("mark", "numbers"),
    [
        ("[1]", [1]),
        ("[1, 9]", [1, 9]),
        ("[1-3]", [1, 2, 3]),
        ("［２］", [2]),
        ("[^3]", [3]),
        ("[資料4]", [4]),
        ("【1†source】", [1]),
        (" [2](https://example.jp/a?b=1)", [2]),
        ("[1][2]", [1, 2]),
    ],
)
def test_marks_of_other_styles_are_read(mark: str, numbers: list[int]) -> None:
    assert recovered(f"<sentence>文{mark}。</sentence>") == [("文。", numbers)]


def test_without_a_ledger_a_mark_counts_unless_its_number_is_a_year() -> None:
    report = lint("<sentence>文[12]と文[2024]。</sentence>")
    assert [(finding.code, finding.start) for finding in report.findings] == [("W03", 0), ("P05", 11)]


@pytest.mark.parametrize(
    ("text", "several"),
    [
        ("一文目です。二文目です。", True),
        ("本当か？そうである。", True),
        ("Is it? It is the case", True),
        ("一文目です。", False),
        ("「始める。」と述べた。", False),
        ("割合は３．５％である。", False),
        ("住所は https://example.jp/?q=1 である。", False),
        ("一文目です。1", False),
        ("すごい！！", False),
    ],
)
def test_several_sentences_in_one_tag(text: str, several: bool) -> None:
    assert found(f"<sentence>{text}<cite>1</cite></sentence>") == ([("P04", 0)] if several else [])


# Answers without sentence tags


def test_prose_is_cut_at_sentence_and_line_ends_with_its_cites_and_marks() -> None:
    raw = (
        "# 概要\n\n上限は48万円<cite>1</cite>で対象は都民である。<cite>2</cite>申請は四月から。[3]\n"
        "[4]\n- 締切は七月[1](https://example.jp)、延長なし\n```\n"
    )
    assert recovered(raw) == [
        ("# 概要", []),
        ("上限は48万円で対象は都民である。", [1, 2]),
        ("申請は四月から。", [3, 4]),
        ("- 締切は七月、延長なし", [1]),
    ]


def test_prose_is_reported_once_and_its_marks_are_not() -> None:
    assert found("\n 所得制限は撤廃された[1]。対象は都民である[2]。") == [("W02", 0), ("P03", 2)]


def test_a_cite_ends_a_run_of_prose_and_suppresses_it() -> None:
    assert found("所得制限は撤廃された。<cite>1</cite>対象は都民である。") == [("W02", 0), ("P01", 11), ("P03", 25)]


# The longcite dialect


def test_spans_are_the_right_body_in_the_longcite_dialect() -> None:
    raw = "<statement>文。<cite>[2-4][7-7]</cite></statement><statement>次。<cite>2</cite></statement>"
    assert found(raw, LONGCITE) == [("C08", 61)]
    assert recovered(raw, LONGCITE) == [("文。", [None]), ("次。", [])]


# Codes R…: numbers against the evidence


def test_numbers_are_held_against_the_evidence() -> None:
    raw = "<sentence>文。<cite>9</cite><cite>5</cite><cite>6</cite><cite>3</cite></sentence>"
    report = lint(raw, finish_reason="stop", evidence=EVIDENCE, cut_evidence={3})
    assert [(finding.code, finding.message) for finding in report.findings] == [
        ("R01", "number that no page has: 9"),
        ("R02", "number of a page of which nothing was seen: 5"),
        ("R03", "what was seen of the page is blank: 6"),
        ("R05", "more than three citations in one sentence: 4"),
        ("R06", "evidence was cut for the judge: 3"),
    ]


def test_an_empty_text_is_no_evidence() -> None:
    report = lint("<sentence>文。<cite>1</cite></sentence>", finish_reason="stop", evidence={1: ""})
    assert [finding.code for finding in report.findings] == ["R02"]


def test_a_title_is_recovered_as_its_page() -> None:
    raw = "<sentence>文。<cite>授業料　軽減ＡＢＣ</cite></sentence>"
    report = lint(raw, evidence=EVIDENCE, titles={3: "授業料 軽減abc"})
    assert [finding.code for finding in report.findings] == ["C06"]
    assert read(report.recovered) == [{"text": "文。", "citations": [3]}]


def test_a_title_that_several_pages_bear_is_recovered_as_none_of_them() -> None:
    raw = "<sentence>文。<cite>東京都</cite></sentence>"
    report = lint(raw, evidence=EVIDENCE, titles={1: "東京都", 2: "お知らせ", 3: " 東京都"})
    assert [finding.code for finding in report.findings] == ["C06"]
    assert read(report.recovered) == [{"text": "文。", "citations": []}]


# Places in the text


def test_lines_and_columns_are_counted_in_characters() -> None:
    raw = "😀\r\n\n<sentence>評判は上々😀です。<cite>9</cite></sentence>"
    (finding,) = lint(raw, finish_reason="stop", evidence=EVIDENCE).findings
    assert (finding.code, finding.start, finding.line, finding.column) == ("R01", 23, 3, 20)
    assert raw[finding.start : finding.end] == "<cite>9</cite>"


def test_long_texts_are_quoted_short() -> None:
    (finding,) = lint(f"<sentence>文。<cite>{'あ' * 5000}</cite></sentence>").findings
    assert finding.code == "C08"
    assert len(finding.message) < 100


# Hostile and real texts

HOSTILE = (
    "<sentence>",
    "</sentence>",
    "<cite>",
    "</cite>",
    "<cite/>",
    "<Sentence>",
    "<",
    "<a ",
    "&lt;",
    "＜",
    "<ref>1",
    "[",
    "[1](",
    "[1](a",
    "。",
    "! ",
    "\n",
    "```\n",
    "<|plamo:",
    "\x00",
    "<sentence>文<cite>1</cite></sentence>",
    "</sentence>[1]",
    "<cite>1,",
)


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.parametrize("before", ["", "<sentence>", "<sentence><cite>"])
def test_no_text_raises_and_every_finding_lies_in_it(piece: str, before: str) -> None:
    raw = before + piece * (20_000 // len(piece))
    report = lint(raw, finish_reason="length", evidence=EVIDENCE)
    assert report.recovered.raw == raw
    assert report.findings
    for finding in report.findings:
        assert 0 <= finding.start <= finding.end <= len(raw)
        assert finding.severity == CODES[finding.code].severity
    assert list(report.findings) == sorted(report.findings, key=lambda finding: (finding.start, finding.code))


def test_real_answers_have_a_finding_or_a_clean_strict_reading() -> None:
    file = SHARED / "answers" / "answers.jsonl"
    if not file.exists():
        pytest.skip("the real answers are not here")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        dialect = LONGCITE if "<statement>" in row["text"] else TAGS
        report = lint(row["text"], dialect)
        assert report.recovered.sentences, row["id"]
        assert report.findings or report.recovered == report.strict, row["id"]


def test_real_final_messages_of_small_models_have_a_finding_or_a_clean_strict_reading() -> None:
    folder = SHARED / "tool_calls"
    if not folder.exists():
        pytest.skip("the real tool calls are not here")
    finals = [
        step["final"]
        for file in sorted(folder.glob("local_agent_*.json"))
        for session in json.loads(file.read_text(encoding="utf-8"))
        for step in session["trace"]
        if "final" in step
    ]
    assert finals
    for final in finals:
        report = lint(final)
        assert report.findings or report.recovered == report.strict
