"""The baseline in plain conversation repeats what was said; it needs no tools, no documents and no key."""

from __future__ import annotations

from typing import cast

import pytest

from sandbox.baseline.chat import NOTHING, OPENING, chat_answer
from sandbox.baseline.model import model_reply
from sandbox.endpoint.lenient import items, mapping


def conversation(*texts: str) -> list[object]:
    """User and assistant in turns, the user first."""
    return [{"role": "assistant" if i % 2 else "user", "content": text} for i, text in enumerate(texts)]


def test_what_the_user_said_of_the_matter_comes_back_in_the_order_it_was_said() -> None:
    messages = conversation(
        "猫の名前はミケです。私は青葉野市に住んでいます。犬は飼っていません。",
        "かしこまりました。",
        "猫は魚が好きです。ところで天気はどうですか？",
        "晴れです。",
        "猫の名前と、猫の好きなものを教えてください。",
    )
    assert chat_answer(messages) == f"{OPENING['ja']}\n猫の名前はミケです。\n猫は魚が好きです。"


def test_a_sentence_is_not_cut_at_the_full_stop_that_ends_a_quotation() -> None:
    messages = conversation("合言葉は「ひらけ、みかん。」です。", "はい。", "合言葉は？")
    assert chat_answer(messages) == f"{OPENING['ja']}\n合言葉は「ひらけ、みかん。」です。"


def test_lines_of_the_last_reply_come_back_too_but_never_its_own_opening() -> None:
    messages = conversation(
        "青い花が好きです。", f"{OPENING['ja']}\n青い花はネモフィラです。\n白い犬はシロです。", "青い花は何でしたか？"
    )
    assert chat_answer(messages) == f"{OPENING['ja']}\n青い花が好きです。\n青い花はネモフィラです。"


def test_questions_and_requests_are_not_repeated() -> None:
    messages = conversation(
        "旅行の予定を立ててください。旅行の予定のヒントをください。旅行の予算はいくらですか？",
        "はい。",
        "旅行の予定は？",
    )
    assert chat_answer(messages) == NOTHING["ja"]


def test_an_english_turn_gets_an_english_reply() -> None:
    messages = conversation("My dog is called Pochi. I live in Kyoto.", "Nice.", "What is my dog called?")
    assert chat_answer(messages) == f"{OPENING['en']}\nMy dog is called Pochi."
    assert chat_answer(conversation("What is my dog called?")) == NOTHING["en"]


def test_history_before_the_first_scripted_turn_counts_and_a_system_message_does_not() -> None:
    system = {"role": "system", "content": "猫の名前はタマです。"}
    messages = [system, *conversation("猫の名前はミケです。", "はい。", "猫の名前は？")]
    assert chat_answer(messages) == f"{OPENING['ja']}\n猫の名前はミケです。"


def content_of(*turns: str) -> object:
    body = model_reply({"model": "baseline", "messages": conversation(*turns)})
    return mapping(mapping(items(body["choices"])[0])["message"])["content"]


def test_the_model_chats_where_there_is_nothing_to_read_and_no_citation_to_make() -> None:
    turns = ("猫の名前はミケです。", "はい。", "猫の名前は？")
    assert content_of(*turns) == chat_answer(conversation(*turns))
    assert "<sentence>" in cast(str, content_of("猫の名前は？\n\n各文を<sentence>…</sentence>で囲んでください。"))


@pytest.mark.parametrize("content", ["", "。", "？", "😀"])
def test_a_turn_without_words_gets_a_reply(content: str) -> None:
    assert chat_answer(conversation(content)) in NOTHING.values()
