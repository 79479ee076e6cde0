"""The baseline model with documents in its prompt: it answers from them, and cites the numbers that they have."""

from __future__ import annotations

import json
import re

from sandbox.baseline.given import states, unwrapped
from sandbox.baseline.model import model_reply
from sandbox.benchmarks.documents_prompt import ShownDocument, ShownPage, documents_prompt, load_words

PARK = "# 公園\n\n更新日：2025年4月1日\n\n凪原中央公園の開園時間は午前9時から午後5時までです。\n\n電話：000-555-0101"
BUS = "# なぎさ号\n\n| 大人（中学生以上） | 230円 |\n| 小児（小学生） | 120円 |\n\nなぎさ号の大人の運賃は230円です。"


def reply(question: str) -> str:
    documents = (
        ShownDocument(4, "https://a.example/koen", "公園", None, (ShownPage(None, PARK),)),
        ShownDocument(9, "https://a.example/bus", "バス", None, (ShownPage(None, BUS),)),
    )
    turn = documents_prompt(documents, "一文ごとに <sentence> で囲む。", question, load_words("ja")).turn
    made = model_reply({"model": "baseline", "messages": [{"role": "user", "content": turn}]})
    content = json.loads(json.dumps(made))["choices"][0]["message"]["content"]
    assert isinstance(content, str)
    return content


def test_it_copies_sentences_of_the_documents_and_cites_their_numbers() -> None:
    said = reply("凪原中央公園は午前何時に開きますか。なぎさ号の大人の運賃はいくらですか。")
    assert "<sentence>凪原中央公園の開園時間は午前9時から午後5時までです。<cite>4</cite></sentence>" in said
    assert "<sentence>なぎさ号の大人の運賃は230円です。<cite>9</cite></sentence>" in said
    assert set(re.findall(r"<cite>(\d+)</cite>", said)) == {"4", "9"}
    assert "電話" not in said
    assert reply("開園時間は。") == reply("開園時間は。")


def test_lines_that_a_pdf_broke_are_joined_and_rows_are_not() -> None:
    text = (
        "　市が力を入れるべきこととして最も多かったのは「経済的な負担の軽減」であり、次いで保育\n所等の整備でした。\n"
        "保育所等の利用定員（4月1日） 14,602人 14,900人 15,240人 15,300人\n放課後児童クラブ 9,870人"
    )
    assert unwrapped(text).split("\n") == [
        "　市が力を入れるべきこととして最も多かったのは「経済的な負担の軽減」であり、次いで保育所等の整備でした。",
        "保育所等の利用定員（4月1日） 14,602人 14,900人 15,240人 15,300人",
        "放課後児童クラブ 9,870人",
    ]


def test_headings_and_addresses_are_nothing_to_cite() -> None:
    assert [states(text) for text in ("手続きの流れ", "霧坂区、0人", "無料です。", "電話：000-555-0101")] == [
        False, True, True, False,
    ]  # fmt: skip
