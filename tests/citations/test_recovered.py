"""The recovered reading against the strict one: with nothing mended it is the strict one."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from citations.lint import lint, source_of
from citations.markup import LONGCITE, TAGS, Dialect, parse, plamo, tags
from citations.mending import read
from citations.reading import MENDABLE
from citations.tag_spelling import scan

PIECES = (
    "<sentence>",
    "</sentence>",
    "<cite>",
    "</cite>",
    "<cite id='2'/>",
    "<cite/>",
    "<Sentence>",
    "</Cite>",
    "&lt;cite&gt;",
    "＜/cite＞",
    "<statement>",
    "</statement>",
    "<|plamo:begin_sentence:plamo|>",
    "<|plamo:end_sentence:plamo|>",
    "<|plamo:begin_cite:plamo|>",
    "<|plamo:end_sent",
    "<ref>",
    "</ref>",
    "[1]",
    "[2-4]",
    "2、3",
    "1",
    "文。",
    "ここは地の文です",
    "```\n",
    "\n",
    "　",
    "</sen",
)
ANSWERS = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
DIALECTS = st.sampled_from((TAGS, LONGCITE, plamo()))
REASONS = st.sampled_from(("stop", "length", None))


@given(ANSWERS, DIALECTS, REASONS)
def test_with_nothing_mended_the_reading_is_the_strict_one(raw: str, dialect: Dialect, reason: str | None) -> None:
    source = source_of(raw, dialect, finish_reason=reason, evidence={1: "本文"})
    assert read(source, frozenset()).answer == parse(raw, dialect)


@given(ANSWERS, DIALECTS)
def test_the_exact_tags_are_those_of_the_strict_reading(raw: str, dialect: Dialect) -> None:
    exact = [(token.kind, token.start, token.end) for token in scan(raw, dialect) if token.fault is None]
    assert exact == [(tag.kind, tag.start, tag.end) for tag in tags(raw, dialect)]


@given(ANSWERS, DIALECTS, REASONS)
def test_an_answer_without_findings_reads_the_same_either_way(raw: str, dialect: Dialect, reason: str | None) -> None:
    report = lint(raw, dialect, finish_reason=reason)
    if not report.findings:
        assert report.recovered == report.strict


@example("<cite><cite id='2'/>", TAGS, "stop")
@example("<|plamo:begin_cite:plamo|><cite id='2'/>", plamo(), "stop")
@given(ANSWERS, DIALECTS, REASONS)
def test_what_is_recovered_and_written_anew_keeps_its_citations(raw: str, dialect: Dialect, reason: str | None) -> None:
    source = source_of(raw, dialect, finish_reason=reason)
    meant = read(source).answer
    numbers = [[c.number for c in sentence.citations if c.number is not None] for sentence in meant.sentences]
    anew = "".join(
        f"{dialect.sentence_open}{sentence.text}"
        + "".join(f"{dialect.cite_open}{number}{dialect.cite_close}" for number in cited)
        + dialect.sentence_close
        for sentence, cited in zip(meant.sentences, numbers, strict=True)
    )
    again = parse(anew, dialect)
    if dialect.cite_body == "number":
        assert [[c.number for c in sentence.citations] for sentence in again.sentences] == numbers


def test_a_dialect_of_other_tags_is_read_too() -> None:
    dialect = Dialect("own", "[[s]]", "[[/s]]", "{{", "}}")
    raw = "[[s]]文。{{1}}[[/s]][[s]]次。{{2、3}}[[/s]]"
    report = lint(raw, dialect, evidence={1: "a", 2: "b", 3: "c"})
    assert [(finding.code, finding.start) for finding in report.findings] == [("C02", 25)]
    assert [[c.number for c in s.citations] for s in report.recovered.sentences] == [[1], [2, 3]]


@pytest.mark.parametrize("code", MENDABLE)
def test_each_code_can_be_mended_alone(code: str) -> None:
    raw = "<sentence>文。<cite>１</cite><sentence>次[1]。<cite>2、3</cite></sentence><cite>4</cite>"
    alone = read(source_of(raw, TAGS), frozenset({code})).answer
    strict = parse(raw)
    changed = {
        "S03": [("文。", [None]), ("次[1]。", [None])],
        "C02": [("文。<sentence>次[1]。", [None, 2, 3])],
        "C04": [("文。<sentence>次[1]。", [1, None])],
        "P01": [("文。<sentence>次[1]。", [None, None, 4])],
        "P05": [("文。<sentence>次。", [None, 1, None])],
    }
    expected = changed.get(code, [(s.text, [c.number for c in s.citations]) for s in strict.sentences])
    assert [(s.text, [c.number for c in s.citations]) for s in alone.sentences] == expected


@given(ANSWERS, DIALECTS, REASONS)
def test_the_strict_reading_of_a_report_is_the_one_that_is_scored(
    raw: str, dialect: Dialect, reason: str | None
) -> None:
    assert lint(raw, dialect, finish_reason=reason).strict == parse(raw, dialect)
