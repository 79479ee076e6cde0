"""The agent loop: rounds, numbering, forced final answers, and every way in which a model can misbehave."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from pydantic import Field

from citations.ledger import Ledger
from citations.model import PageView, Piece
from sandbox.endpoint.chat import Conversation, Message, ModelFailure, Reply, ToolCall
from sandbox.endpoint.leak import leaked_call
from sandbox.loop import FINAL_REQUEST, Rollout, Table, play, recorded
from sandbox.record import Usage
from sandbox.sample import Script
from sandbox.settings import Limits
from sandbox.toolbox import Toolbox
from tools.tool import Arguments, PageNumbers, ToolFailure, Traffic

FINAL = "<sentence>人口は1,400万人である。<cite>1</cite></sentence>"


class LookArguments(Arguments):
    page: str = Field(min_length=1)
    delay: float = 0.0


@dataclass(frozen=True)
class Looked:
    seen: tuple[PageView, ...]

    def text(self, numbers: Sequence[int | None]) -> str:
        return "\n".join(f"[{n}] {view.url}" for n, view in zip(numbers, self.seen, strict=True))


class Look:
    """A search-like tool whose answers come in any order; the page called `lost` cannot be had."""

    name = "look"
    traffic: Traffic = "search"
    description = "Look at a page."
    arguments = LookArguments

    async def call(self, arguments: Arguments, pages: PageNumbers) -> Looked:
        assert isinstance(arguments, LookArguments)
        await asyncio.sleep(arguments.delay)
        if arguments.page == "lost":
            raise ToolFailure("not_found", "no such page", "https://a.example/known")
        url = f"https://a.example/{arguments.page}"
        return Looked((PageView("search", url, arguments.page, (Piece(f"{arguments.page}の本文"),)),))


@dataclass
class Scripted:
    """A ChatModel that gives its replies in order and keeps what it was sent."""

    replies: list[Reply | ModelFailure]
    sent: list[list[Message]] = field(default_factory=list)
    offered: list[int] = field(default_factory=list)

    async def chat(
        self, messages: Conversation, *, tools: Sequence[Message] = (), response_format: Message | None = None
    ) -> Reply:
        self.sent.append(list(messages))
        self.offered.append(len(tools))
        reply = self.replies[min(len(self.sent), len(self.replies)) - 1]
        if isinstance(reply, ModelFailure):
            raise reply
        return reply


ONE = Usage(calls=1, prompt_tokens=10, completion_tokens=2)


def says(content: str | None, finish: str = "stop", reasoning: str | None = None) -> Reply:
    return Reply(content, finish, ONE, (), reasoning, "reasoning_content" if reasoning else None)


def looks(*pages: str, ids: Sequence[str] = (), **more: str) -> Reply:
    made = tuple(
        ToolCall(
            ids[i] if ids else f"c{i}", more.get("name", "look"), page if page[:1] in '{"[' else f'{{"page":"{page}"}}'
        )
        for i, page in enumerate(pages)
    )
    return Reply(None, "tool_calls", ONE, made, more.get("reasoning"), "reasoning" if "reasoning" in more else None)


def play_with(
    *replies: Reply | ModelFailure, rounds: int = 30, turns: tuple[str, ...] = ("質問",)
) -> tuple[Rollout, Scripted, Ledger]:
    model, ledger = Scripted(list(replies)), Ledger()
    table = Table(model, Toolbox([Look()]), ledger, Limits(rounds=rounds), "ja", "abc123")
    return asyncio.run(play(Script(turns=turns), table)), model, ledger


def test_a_plain_answer_is_answered_and_all_usage_is_summed() -> None:
    rollout, model, _ = play_with(looks("a"), says(FINAL))
    assert (rollout.outcome, rollout.answer, rollout.flags) == ("answered", FINAL, ())
    assert rollout.usage == Usage(calls=2, prompt_tokens=20, completion_tokens=4)
    assert model.offered == [1, 1]


def test_parallel_calls_are_numbered_in_call_order_whatever_finishes_first() -> None:
    slow_first = looks('{"page":"a","delay":0.03}', '{"page":"b","delay":0.01}', '{"page":"c"}')
    rollout, _, ledger = play_with(slow_first, says(FINAL))
    assert [call.pages for call in rollout.rounds[0].calls] == [(1,), (2,), (3,)]
    assert [page.url[-1] for page in ledger.pages()] == ["a", "b", "c"]


def test_failed_call_adds_no_number_and_is_told_in_one_line() -> None:
    rollout, model, ledger = play_with(looks("lost", "a"), says(FINAL))
    failed, good = rollout.rounds[0].calls
    assert (failed.failure, failed.pages, failed.text) == ("not_found", (), "エラー（not_found）: no such page")
    assert good.pages == (1,)
    assert [page.n_failed for page in ledger.pages()] == [0]
    assert "エラー（not_found）: no such page" in str(model.sent[1][2]["content"])


def test_tool_results_stand_between_delimiters_with_the_run_s_nonce() -> None:
    _, model, _ = play_with(looks("a"), says(FINAL))
    assert str(model.sent[1][2]["content"]).count("abc123") == 2


def test_after_the_last_round_the_answer_is_asked_for_with_tools_off() -> None:
    rollout, model, _ = play_with(looks("a"), looks("b"), says(FINAL), rounds=2)
    assert (rollout.outcome, rollout.flags, model.offered) == ("answered", ("forced_final",), [1, 1, 0])
    assert model.sent[2][-1] == {"role": "user", "content": FINAL_REQUEST["ja"]}
    assert [row.forced for row in rollout.rounds] == [False, False, True]


@pytest.mark.parametrize(
    ("final", "cause"),
    [
        (looks("b"), "tool_call_after_limit"),
        (says(None), "empty_final"),
        (says(" \n　"), "empty_final"),
        (says(None, "length"), "output_limit"),
        (says("", "stop", "考えた"), "only_reasoning"),
    ],
)
def test_no_answer_where_one_was_asked_for_is_a_named_failure(final: Reply, cause: str) -> None:
    rollout, _, _ = play_with(looks("a"), final, rounds=1)
    assert (rollout.outcome, rollout.answer) == ("generation_failed", None)
    assert rollout.reason.split(":")[0] == cause


def test_a_non_empty_answer_cut_by_the_limit_is_answered_with_its_flag() -> None:
    rollout, _, _ = play_with(says("<sentence>途中", "length"))
    assert (rollout.outcome, rollout.flags) == ("answered", ("cut_by_limit",))


def test_context_overflow_and_api_failure_keep_rounds_and_usage() -> None:
    overflow, _, _ = play_with(looks("a"), ModelFailure("context_overflow", "too long", Usage(calls=1)))
    assert (overflow.outcome, len(overflow.rounds), overflow.usage.calls) == ("context_overflow", 1, 2)
    failed, _, _ = play_with(ModelFailure("api_error", "HTTP 500: x (after 5 tries)", Usage(calls=5)))
    assert (failed.outcome, failed.reason) == ("generation_failed", "api_error: HTTP 500: x (after 5 tries)")


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ('{"page": "東京', "bad_arguments"),
        ("", "bad_arguments"),
        ('["a"]', "bad_arguments"),
        ('{"page": "a", "nope": 1}', "bad_arguments"),
        ('{"page": ""}', "bad_arguments"),
        ('{"page": 3}', "bad_arguments"),
        ('{"page": NaN}', "bad_arguments"),
        ('{"page": "a", "nope": 1e999}', "bad_arguments"),
        ('{"page": "\\ud83d"}', "bad_arguments"),
    ],
)
def test_malformed_arguments_are_answered_and_never_fed_back_malformed(arguments: str, kind: str) -> None:
    call = Reply(None, "tool_calls", ONE, (ToolCall("c0", "look", arguments),))
    rollout, model, ledger = play_with(call, says(FINAL))
    row = rollout.rounds[0].calls[0]
    assert (row.failure, row.arguments, ledger.pages()) == (kind, arguments, ())
    sent = model.sent[1][1]["tool_calls"]
    # Python's reader takes NaN, 1e999 and half a character; that of llama.cpp does not.
    readable = arguments.startswith("{") and arguments.endswith("}")
    kept = arguments if readable and not any(sign in arguments for sign in ("NaN", "1e999", "ud83d")) else "{}"
    assert sent == [{"id": "c0", "type": "function", "function": {"name": "look", "arguments": kept}}]


def test_unknown_tool_is_answered_with_the_tools_there_are() -> None:
    rollout, model, _ = play_with(looks("a", name="検索 tool<|x|>"), says(FINAL))
    assert rollout.rounds[0].calls[0].failure == "unknown_tool"
    assert "the tools are: look" in rollout.rounds[0].calls[0].text
    assert "unknown_tool" in str(model.sent[1][1]["tool_calls"])


def test_missing_and_repeated_call_ids_are_replaced_the_same_way_every_time() -> None:
    _, model, _ = play_with(looks("a", "b", "c", ids=("x", "x", "")), says(FINAL))
    assert [row["id"] for row in model.sent[1][1]["tool_calls"]] == ["x", "call_0_1", "call_0_2"]  # type: ignore[attr-defined]
    assert [row.get("tool_call_id") for row in model.sent[1][2:]] == ["x", "call_0_1", "call_0_2"]


def test_reasoning_goes_back_in_the_field_it_came_in() -> None:
    _, model, _ = play_with(looks("a", reasoning="まず調べる"), says(FINAL))
    assert model.sent[1][1]["reasoning"] == "まず調べる"
    assert "reasoning_content" not in model.sent[1][1]


def test_calls_beyond_the_limit_of_a_round_are_answered_with_an_error() -> None:
    rollout, _, _ = play_with(looks(*[f"p{i}" for i in range(40)]), says(FINAL))
    assert [call.failure for call in rollout.rounds[0].calls] == [None] * 32 + ["refused"] * 8


def test_scripted_user_turns_get_the_model_s_own_replies_between_them() -> None:
    rollout, model, _ = play_with(says("一"), says("二"), turns=("最初", "次"))
    assert rollout.answer == "二"
    assert [row["content"] for row in model.sent[1]] == ["最初", "一", "次"]


@pytest.mark.parametrize(
    ("content", "leaked"),
    [
        ('```json\n{\n  "name": "search",\n  "arguments": {"query": "東京都の018サポート"}\n}\n```', True),
        ('{"name": "fetch", "parameters": {}}', True),
        ('<|tool_call>call:lookup{query:<|"|>東京<|"|>}<tool_call|>', True),
        ("<tool_call>\n{}\n</tool_call>", True),
        ('<|start|>assistant<|channel|>commentary to=functions.search<|message|>{"query":"a"}', True),
        ('```json\n{"name": "my-app", "version": "1.0.0"}\n```', False),
        (FINAL, False),
        ("{" * 5000, False),
    ],
)
def test_calls_left_in_the_content_are_named_and_code_is_not_taken_for_one(content: str, leaked: bool) -> None:
    assert leaked_call(content) is leaked
    rollout, _, _ = play_with(says(content))
    assert rollout.outcome == "answered"
    assert ("call_in_content" in rollout.flags) is leaked


@pytest.mark.parametrize(
    ("content", "leaked"),
    [
        ("<think>まず確認する。</think>\n\n答えです。", True),
        ("まず確認する。\n</think>\n\n答えです。", True),
        ("<|channel|>analysis<|message|>確認<|end|><|channel|>final<|message|>答え", True),
        ("HTML の <think> という要素はありません。", False),
        ("答えです。", False),
    ],
)
def test_reasoning_left_in_the_content_is_named_and_nothing_is_cut(content: str, leaked: bool) -> None:
    rollout, _, _ = play_with(says(content))
    assert rollout.answer == content
    assert ("reasoning_in_content" in rollout.flags) is leaked


def test_scripted_user_turns_have_the_model_s_own_replies_between_them() -> None:
    model = Scripted([says("一", reasoning="考え"), says("二")])
    table = Table(model, Toolbox([]), Ledger(), Limits(), "ja", "n0nce")
    rollout = asyncio.run(
        play(Script(("最初の問い", "次の問い"), ({"role": "system", "content": "短く"},), False), table)
    )
    assert model.sent[1] == [
        {"role": "system", "content": "短く"},
        {"role": "user", "content": "最初の問い"},
        {"role": "assistant", "content": "一", "reasoning_content": "考え"},
        {"role": "user", "content": "次の問い"},
    ]
    assert (rollout.outcome, rollout.answer) == ("answered", "二")
    assert [(one.user, one.content) for one in rollout.rounds] == [("最初の問い", "一"), ("次の問い", "二")]
    assert rollout.usage.calls == 2


@pytest.mark.parametrize(
    ("first", "outcome", "reason"),
    [
        (says("", "length"), "generation_failed", "output_limit: in turn 1 of 2: the final message has no content"),
        (Reply("途中", "content_filter", ONE, refused=True), "generation_failed",
         "api_refusal: in turn 1 of 2: the API refused (finish_reason content_filter)"),
        (ModelFailure("api_refusal", "HTTP 400: content_filter"), "generation_failed",
         "api_refusal: in turn 1 of 2: HTTP 400: content_filter"),
        (ModelFailure("api_error", "HTTP 500"), "generation_failed", "api_error: in turn 1 of 2: HTTP 500"),
        (ModelFailure("context_overflow", "8000 > 4096"), "context_overflow", "in turn 1 of 2: 8000 > 4096"),
    ],
)  # fmt: skip
def test_a_turn_without_an_answer_ends_the_dialogue_and_is_named(
    first: Reply | ModelFailure, outcome: str, reason: str
) -> None:
    model = Scripted([first, says("続き")])
    table = Table(model, Toolbox([]), Ledger(), Limits(), "ja", "n0nce")
    rollout = asyncio.run(play(Script(("一", "二"), tools=False), table))
    assert len(model.sent) == 1
    assert (rollout.outcome, rollout.answer) == (outcome, None)
    assert rollout.reason.startswith(reason)
    assert [one.user for one in rollout.rounds] == ["一"]


@pytest.mark.parametrize(
    ("responses", "session", "outcome", "answer", "cause"),
    [
        (("No",), 0, "answered", "No", ""),
        (("一", " 二\n"), 1, "answered", " 二\n", ""),
        ((None,), 0, "generation_failed", None, "no_response"),
        (("　\n",), 0, "generation_failed", None, "no_response"),
        ((), 0, "generation_failed", None, "no_response"),
        (("Error: 400 Client Error: Bad Request for url: http://localhost:6767/v1/chat/completions",), 0,
         "generation_failed", None, "error_text"),
        (("The API said: Error: 400 Client Error: Bad Request for url: http://localhost/v1. Try again.",), 0,
         "answered", "The API said: Error: 400 Client Error: Bad Request for url: http://localhost/v1. Try again.", ""),
    ],
)  # fmt: skip
def test_a_response_that_exists_already_is_taken_as_it_stands(
    responses: tuple[str | None, ...], session: int, outcome: str, answer: str | None, cause: str
) -> None:
    rollout = recorded(Script(("問い",), responses=responses), session)
    assert (rollout.outcome, rollout.answer) == (outcome, answer)
    assert rollout.reason.partition(":")[0] == cause
    assert rollout.usage == Usage()


def test_a_tool_call_where_no_tools_are_offered_is_named_so() -> None:
    table = Table(Scripted([looks("a")]), Toolbox([]), Ledger(), Limits(), "ja", "n0nce")
    rollout = asyncio.run(play(Script(("一",), tools=False), table))
    assert (rollout.outcome, rollout.reason) == (
        "generation_failed",
        "tool_call_without_tools: a tool call where no tools are offered",
    )
