"""The words of the page that Python writes: headline, filter, offsets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.record import PageRow, PieceRow, Record, ScoreRow, VerdictRow
from sandbox.reports.page_filter import Context, Word, flips, matches, only, words
from sandbox.reports.page_format import CodePoints, Headline, Row
from sandbox.reports.page_headline import NO_FACT, headline
from sandbox.reports.utf16 import Utf16
from sandbox.summary import RunFacts, summarise
from tools.tool import SetupError

ROW = Row(
    id="tmg-0137",
    repeat=0,
    question="児童手当の所得制限は、いつから撤廃されましたか。",
    task_type="制度の変更",
    outcome="answered",
    flags=("no_citation",),
    answer="consistent",
    f1=22.22,
    recall=20.0,
    precision=25.0,
    recovered=68.3,
    codes=(CodePoints("P05", 17.8), CodePoints("R01", None)),
    rounds=12,
    tokens=41_800,
    seconds=38.0,
    contradiction=1,
    urls=(0,),
    decided=None,
    name="A-0001",
)
CONTEXT = Context(urls=("https://www.City.example.lg.jp/teate",), flips=frozenset({"tmg-0137"}))


@pytest.mark.parametrize(
    ("query", "holds"),
    [
        ("", True),
        ("児童手当 所得", True),
        ("児童手当 住宅", False),
        ("ＴＭＧ-0137", True),
        ("-児童", False),
        ("code:P05", True),
        ("code:p", True),
        ("-code:S01 code:r01", True),
        ("code:05", False),
        ("outcome:ans", True),
        ("type:制度", True),
        ('type:"制度の変更"', True),
        ("url:city.EXAMPLE", True),
        ("answer:consistent", True),
        ("answer:none", False),
        ("flag:no_citation", True),
        ("is:unparsable", True),
        ("is:readable", False),
        ("flip contradiction", True),
        ("f1<50 f1>22 f1=22.22", True),
        ("f1<=22.21", False),
        ("loss>77 loss<78", True),
        ("recovered>=68.3 recall<21 precision<26", True),
        ("rounds>11 tokens>41000 seconds<40", True),
        ("f1<x", False),
        ("unknown:thing", False),
    ],
)
def test_a_filter_holds_where_all_its_words_do(query: str, holds: bool) -> None:
    assert matches(ROW, words(query), CONTEXT) is holds


def test_what_has_no_figure_fits_no_comparison_and_every_denied_one() -> None:
    left_out = ROW._replace(f1=None)
    assert [matches(left_out, words(query), CONTEXT) for query in ("f1<50", "f1>=50", "-f1<50")] == [False, False, True]


def test_questions_whose_repeats_disagree_are_flips() -> None:
    rows = [ROW, ROW._replace(repeat=1, answer="insufficient"), ROW._replace(id="x"), ROW._replace(id="x", repeat=1)]
    assert flips(rows) == {"tmg-0137"}


def test_only_takes_no_word_that_needs_the_page() -> None:
    assert only("-code:P05") == (Word("code", "", "p05", negated=True),)
    with pytest.raises(SetupError, match="--only: text: works in the page's search field only"):
        only("text:東京")


@given(st.text(max_size=40))
def test_any_text_is_a_filter(query: str) -> None:
    matches(ROW, words(query), CONTEXT)


@given(st.text(max_size=60), st.data())
def test_utf16_offsets_cut_where_characters_do(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    units = text.encode("utf-16-le", "surrogatepass")
    assert units[: 2 * Utf16(text).at(at)].decode("utf-16-le", "surrogatepass") == text[:at]
    assert 2 * Utf16(text).length == len(units)


GOOD = "<sentence>撤廃された。<cite>1</cite></sentence>"


def answered(number: int, answer: str = GOOD, f1: str = "1", label: str = "consistent", **more: object) -> Record:
    values: dict[str, object] = {
        "sample_id": f"q{number}",
        "question": "いつか。",
        "reference": "令和6年。",
        "outcome": "answered",
        "answer": answer,
        "finish_reason": "stop",
        "consistency": VerdictRow(label=label),
        "score": ScoreRow(recall=f1, precision=f1, f1=f1),
    }
    return Record.model_validate({**values, **more})


def failed(number: int) -> Record:
    return answered(number, outcome="generation_failed", answer=None, consistency=None, score=None)


def said(*records: Record) -> list[str]:
    found: Headline = headline(summarise(records, RunFacts(benchmark="b", run="r", model="m", judge="j")))
    first = "".join(f"[{part.text}]" if part.strong else part.text for part in found.first)
    return [first, found.second]


def test_the_headline_names_the_largest_loss_first() -> None:
    page = PageRow(number=1, url="https://a.jp/", title="a", evidence=(PieceRow(kind="search", text="撤廃された。"),))
    unread = [answered(n, "撤廃された[1]。", "0", flags=("no_sentence",), pages=(page,)) for n in (1, 2, 3)]
    assert said(answered(0), *unread) == [
        "All 4 answers agree with the reference, but [3 of 4 cannot be read as written], so citation F1 is 25.0.",
        NO_FACT,
    ]
    assert said(answered(0), failed(1), failed(2), answered(3)) == [
        "2 of 4 answers agree with the reference, and [2 of 4 generations failed], so citation F1 is 50.0.",
        "2 of 4 questions have no answer that agrees with the reference.",
    ]
    assert said(*(answered(n, label="contradictory") for n in (1, 2)), answered(3)) == [
        "[2 of 3 questions have no answer that agrees with the reference]; citation F1 is 100.0.",
        NO_FACT,
    ]


def test_a_headline_without_loss_or_sessions_is_a_sentence_too() -> None:
    assert said(answered(1), answered(2)) == ["All 2 answers agree with the reference; citation F1 is 100.0.", NO_FACT]
    assert said() == ["No session of this run is finished yet.", ""]
