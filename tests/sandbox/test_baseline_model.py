"""The extractive baseline reads what any model is sent, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from citations.lint import lint
from citations.markup import parse
from sandbox.baseline.model import best_pages, model_reply, queries
from sandbox.baseline.reading import question_of, read, sentences
from sandbox.baseline.untidy import FAULTS

QUESTION = "青葉野市の児童手当と保育料について、令和6年度の月額を比べてください。"
INSTRUCTION = "各文を<sentence>…</sentence>で囲み、末尾に<cite>番号</cite>を付けてください。"
SEARCH = """検索結果 1–2件目（検索語: 児童手当）
[1] 児童手当のご案内
URL: https://www.city.example/jido.html
・令和6年度の児童手当は月額１５，０００円です。

[2] 保育料
URL: https://www.city.example/hoiku.html
・保育料の一覧"""
FETCH = """[2] 保育料
URL: https://www.city.example/hoiku.html
範囲: 0–40 / 全40文字（物理ページ 1–1 / 全1ページ）
----
【物理ページ 1】
令和6年度の保育料は月額22,000円を上限とします。
| 区分 | 月額 |
| --- | --- |
| 第2子 | 11,000円 |
----"""
FIND = """[1] 児童手当のご案内
URL: https://www.city.example/jido.html
「児童手当」: 1件
- 3文字目: 児童手当の申請は出生の翌日から15日以内です。
「無い語」: 一致なし（近い行・一致ではない: 手当）"""


def tool(name: str, content: str, i: int) -> list[dict[str, Any]]:
    call = {"id": f"c{i}", "type": "function", "function": {"name": name, "arguments": "{}"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{i}", "content": content},
    ]


def messages(*results: tuple[str, str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{"role": "user", "content": f"{QUESTION}\n\n{INSTRUCTION}"}]
    for i, (name, content) in enumerate(results):
        rows += tool(name, content, i)
    return rows


def reply(*results: tuple[str, str], tools: bool = True) -> dict[str, Any]:
    body: dict[str, object] = {"model": "baseline", "messages": messages(*results)}
    return model_reply(body | ({"tools": [{}]} if tools else {}))["choices"][0]["message"]  # type: ignore[index, no-any-return]


def called(message: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(c["function"]["name"], json.loads(c["function"]["arguments"])) for c in message["tool_calls"]]


def test_the_question_is_what_is_left_without_the_citation_instruction() -> None:
    assert question_of(f"{QUESTION}\n\n{INSTRUCTION}") == QUESTION


def test_rounds_are_search_then_fetch_then_find_then_answer() -> None:
    first = called(reply())
    assert first[0] == ("search", {"query": QUESTION})
    assert {name for name, _ in first} == {"search"}
    assert called(reply(("search", SEARCH))) == [("fetch", {"url_or_number": 1}), ("fetch", {"url_or_number": 2})]
    third = called(reply(("search", SEARCH), ("fetch", FETCH)))
    assert [(name, row["url_or_number"]) for name, row in third] == [("find", 2)]
    assert reply(("search", SEARCH), ("fetch", FETCH), ("find", FIND)).get("tool_calls") is None


def test_what_each_tool_showed_is_read_as_passages_of_its_page() -> None:
    reading = read(messages(("search", SEARCH), ("fetch", FETCH), ("find", FIND)))
    assert reading.rankings == [[1, 2]]
    assert [(passage.number, passage.text) for passage in reading.passages] == [
        (1, "令和6年度の児童手当は月額１５，０００円です。"),
        (2, "令和6年度の保育料は月額22,000円を上限とします。"),
        (2, "第2子、11,000円"),
        (1, "児童手当の申請は出生の翌日から15日以内です。"),
    ]


def test_the_answer_is_well_formed_and_cites_the_page_each_sentence_was_read_on() -> None:
    answer = parse(reply(("search", SEARCH), ("fetch", FETCH), ("find", FIND), tools=False)["content"])
    cited = {sentence.text: [c.number for c in sentence.citations] for sentence in answer.sentences}
    assert cited["令和6年度の児童手当は月額１５，０００円です。"] == [1]
    assert cited["令和6年度の保育料は月額22,000円を上限とします。"] == [2]


def test_nothing_found_is_said_in_one_uncited_sentence() -> None:
    answer = parse(reply(("search", "検索結果はありません（検索語: 手当）。"), tools=False)["content"])
    assert [(len(s.citations), "見つかりません" in s.text) for s in answer.sentences] == [(0, True)]


def test_choices_are_searched_each() -> None:
    question = "正しいものはどれですか。\na 有価証券報告書を提出する必要がある\nb 提出する必要がない場合がある"
    assert queries(question)[1:] == [
        "正しいものはどれですか。",
        "有価証券報告書を提出する必要がある",
        "提出する必要がない場合がある",
    ]


def test_pages_high_in_several_rankings_come_first() -> None:
    assert best_pages([[1, 2, 3], [3, 2], [2]]) == [2, 3, 1]


@pytest.mark.parametrize("messages", [None, "x", [], [{"role": "system"}], [3]])
def test_a_body_without_a_question_is_refused(messages: object) -> None:
    with pytest.raises(ValueError, match="message"):
        model_reply({"messages": messages})


def test_sentences_are_cut_at_japanese_full_stops_and_line_ends() -> None:
    assert sentences("一つ目の文です。二つ目の文です！\n- 箇条書きの項目です\n短い") == [
        "一つ目の文です。",
        "二つ目の文です！",
        "箇条書きの項目です",
    ]


def test_the_untidy_baseline_says_the_same_in_forms_that_cannot_be_read() -> None:
    cited = "<sentence>甲です。<cite>1</cite></sentence>\n<sentence>乙です。<cite>12</cite></sentence>"
    tidy = f"<sentence>はじめに。</sentence>\n{cited}"
    broken = {fault.__name__: fault(tidy) for fault in FAULTS}
    assert broken["_cites_outside"].endswith("乙です。</sentence><cite>12</cite>")
    assert broken["_brackets"] == "はじめに。\n甲です。[1]\n乙です。[12]"
    assert broken["_full_width"].endswith("<cite>１２</cite></sentence>")
    assert [len(parse(text).sentences) for text in broken.values()] == [3, 3, 0, 3, 3, 1, 0]
    for text in broken.values():
        recovered = lint(text, evidence={1: "甲", 12: "乙"}).recovered.sentences
        assert [[c.number for c in sentence.citations] for sentence in recovered] == [[], [1], [12]], text
