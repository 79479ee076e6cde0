"""The agent loop: a script is played, tools are called, a rollout comes out.

Knows: rounds, parallel calls, the forced final answer, what counts as an answer. Must not know: benchmarks, scores, HTTP.

tmg_cqa, “生成”: at most 30 tool rounds; when they are used up, the final answer is asked for with tools off. A round is
one assistant message with at least one tool call (R). Citation numbers follow the order of the calls, whatever finishes
first (R).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cassettes.context import on_channel
from citations.ledger import Ledger
from sandbox.endpoint.chat import ChatModel, Conversation, Message, ModelFailure, Reply, ToolCall
from sandbox.endpoint.error_text import is_error_text
from sandbox.endpoint.leak import leaked_call, leaked_reasoning
from sandbox.record import Flag, Outcome, RoundRow, ToolCallRow, Usage
from sandbox.sample import Script
from sandbox.settings import Limits
from sandbox.tasks import all_of
from sandbox.toolbox import ReadCall, Toolbox, as_sent
from tools.shield import neutralise, wrap
from tools.tool import Language, ToolFailure, ToolResult

FINAL_REQUEST: dict[Language, str] = {
    "ja": "ツールを使える回数の上限に達しました。これ以上ツールは使えません。"
    "ここまでに得た情報だけを使い、指定された形式で最終回答を書いてください。",
    "en": "You have reached the limit of tool rounds; no more tools can be used. "
    "Write your final answer now, in the requested form, from what you have found so far.",
}
FAILED_CALL: dict[Language, str] = {"ja": "エラー（{kind}）: {message}", "en": "Error ({kind}): {message}"}


@dataclass(frozen=True, slots=True)
class Rollout:
    """What a model did with a script. `answer` is the last final content, None unless `outcome` is `answered`."""

    outcome: Outcome
    reason: str
    answer: str | None
    finish_reason: str | None
    flags: tuple[Flag, ...]
    rounds: tuple[RoundRow, ...]
    usage: Usage


@dataclass(frozen=True, slots=True)
class Table:
    """What a session is played with. `nonce` delimits tool results, so that page text cannot pretend to be the user."""

    model: ChatModel
    toolbox: Toolbox
    ledger: Ledger
    limits: Limits
    language: Language
    nonce: str


@dataclass(frozen=True, slots=True)
class _Final:
    reply: Reply
    forced: bool


class _Session:
    """One playing of a script; it gathers rounds and usage as they come, so that a failure loses none."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.rounds: list[RoundRow] = []
        self.usage = Usage()

    @property
    def n_round(self) -> int:
        """The number of the message that is being asked for or worked on, from 1."""
        return len(self.rounds) + 1

    async def turn(self, conversation: Conversation, tools: bool) -> _Final:
        """The model's final message for the conversation as it stands, after as many tool rounds as it wants."""
        schemas = self.table.toolbox.schemas if tools else ()
        for _ in range(self.table.limits.rounds if tools else 0):
            reply = await self._ask(conversation, schemas)
            if not reply.tool_calls:
                self.rounds.append(_round(reply))
                return _Final(reply, forced=False)
            calls = _with_ids(reply.tool_calls, len(self.rounds))
            conversation.append(_assistant(reply, calls))
            rows = await self._call_all(calls)
            for call, row in zip(calls, rows, strict=True):
                wrapped = wrap(row.text, self.table.nonce, self.table.language)
                conversation.append({"role": "tool", "tool_call_id": call.id, "content": wrapped})
            self.rounds.append(_round(reply, rows))
        if tools:
            conversation.append({"role": "user", "content": FINAL_REQUEST[self.table.language]})
        reply = await self._ask(conversation, ())
        self.rounds.append(_round(reply, forced=tools))
        return _Final(reply, forced=tools)

    async def _ask(self, conversation: Conversation, schemas: Sequence[Message]) -> Reply:
        try:
            with on_channel("model", f"r{self.n_round:02}"):
                reply = await self.table.model.chat(conversation, tools=schemas)
        except ModelFailure as failure:
            self.usage += failure.usage
            raise
        self.usage += reply.usage
        return reply

    async def _call_all(self, calls: Sequence[ToolCall]) -> list[ToolCallRow]:
        """All calls at once; pages are numbered afterwards, in the order of the calls."""
        limit = self.table.limits.calls_per_round
        read = [self.table.toolbox.read(call) for call in calls[:limit]]
        results = await all_of([self._call(item, f"r{self.n_round:02}.c{i:02}") for i, item in enumerate(read)])
        excess = ToolFailure("refused", f"more than {limit} tool calls in one message; this one was not made")
        results += [excess] * (len(calls) - len(read))
        return [self._settle(call, result) for call, result in zip(calls, results, strict=True)]

    async def _call(self, item: ReadCall | ToolFailure, place: str) -> ToolResult | ToolFailure:
        if isinstance(item, ToolFailure):
            return item
        try:
            with on_channel(item.tool.traffic, place):
                return await item.tool.call(item.arguments, self.table.ledger)
        except ToolFailure as failure:
            return failure

    def _settle(self, call: ToolCall, result: ToolResult | ToolFailure) -> ToolCallRow:
        """Number what was seen and make the text that the model reads."""
        if isinstance(result, ToolFailure):
            if result.url is not None:
                self.table.ledger.failed(result.url)
            text = FAILED_CALL[self.table.language].format(kind=result.kind, message=result.message)
            shown = neutralise(text)
            return ToolCallRow(
                name=call.name, arguments=call.arguments, text=shown.text, failure=result.kind, neutralised=shown.n
            )
        numbers = [self.table.ledger.record(view) for view in result.seen]
        shown = neutralise(result.text(numbers))
        pages = tuple(dict.fromkeys(number for number in numbers if number is not None))
        return ToolCallRow(name=call.name, arguments=call.arguments, text=shown.text, pages=pages, neutralised=shown.n)


async def play(script: Script, table: Table) -> Rollout:
    """Play the script to its last answer; the first turn without one ends it. Every model failure becomes an outcome;
    SetupError passes. A script has at least one turn.
    """
    session = _Session(table)
    conversation = Conversation(script.history)
    made = Rollout("answered", "", None, None, (), (), Usage())
    for number, turn in enumerate(script.turns, 1):
        made = await _turn(session, conversation, turn, script)
        if made.outcome != "answered":
            # What would follow is no answer to a dialogue that was never had.
            place = f"in turn {number} of {len(script.turns)}" if len(script.turns) > 1 else ""
            made = replace(made, reason=_placed(made.reason, place))
            break
    return replace(made, rounds=tuple(session.rounds), usage=session.usage)


def recorded(script: Script, session: int) -> Rollout:
    """What a script with `responses` has for this session (from 0), as if a model had just said it; nothing is asked.

    A missing or blank response is a failed generation; so is the text of an HTTP error that was recorded as an answer.
    """
    responses = script.responses or ()
    answer = responses[session] if session < len(responses) else None
    if answer is None or not answer.strip():
        return Rollout("generation_failed", "no_response: the file holds no response", None, None, (), (), Usage())
    if is_error_text(answer):
        reason = f"error_text: the response is the text of an error: {' '.join(answer.split())[:200]}"
        return Rollout("generation_failed", reason, None, None, (), (RoundRow(content=answer),), Usage())
    return Rollout("answered", "", answer, None, (), (RoundRow(content=answer),), Usage())


async def _turn(session: _Session, conversation: Conversation, turn: str, script: Script) -> Rollout:
    """One user turn and what the model made of it; the reply goes into the conversation."""
    first = len(session.rounds)
    conversation.append({"role": "user", "content": turn})
    try:
        final = await session.turn(conversation, script.tools)
    except ModelFailure as failure:
        overflow = failure.kind == "context_overflow"
        outcome: Outcome = "context_overflow" if overflow else "generation_failed"
        reason = failure.message if overflow else f"{failure.kind}: {failure.message}"
        if len(script.turns) > 1 and len(session.rounds) == first:
            # What was asked and never answered: else nobody could see on which turn the dialogue broke off.
            session.rounds.append(RoundRow(user=turn))
        return Rollout(outcome, reason, None, None, (), (), Usage())
    if len(script.turns) > 1:
        session.rounds[first] = session.rounds[first].model_copy(update={"user": turn})
    conversation.append(_assistant(final.reply, ()))
    return _judge_final(final)


def _placed(reason: str, place: str) -> str:
    """The reason with the turn named behind its cause, which stays the first word."""
    cause, colon, rest = reason.partition(": ")
    if not place:
        return reason
    return f"{cause}: {place}: {rest}" if colon else f"{place}: {reason}"


def _judge_final(final: _Final) -> Rollout:
    """Whether the final message is an answer: non-empty content, and no tool call where tools were off."""
    reply, forced = final.reply, final.forced
    flags: list[Flag] = ["forced_final"] if forced else []
    if reply.finish_reason == "length":
        flags.append("cut_by_limit")
    content = reply.content or ""
    reason = ""
    if reply.refused:
        reason = f"api_refusal: the API refused (finish_reason {reply.finish_reason})"
    elif reply.tool_calls:
        reason = (
            "tool_call_after_limit: a tool call where the final answer was asked for"
            if forced
            else "tool_call_without_tools: a tool call where no tools are offered"
        )
    elif not content.strip():
        cause = (
            "output_limit"
            if reply.finish_reason == "length"
            else "only_reasoning"
            if reply.reasoning
            else "empty_final"
        )
        reason = f"{cause}: the final message has no content (finish_reason {reply.finish_reason})"
    elif leaked_call(content):
        flags.append("call_in_content")
    if not reason and leaked_reasoning(content):
        flags.append("reasoning_in_content")
    outcome: Outcome = "generation_failed" if reason else "answered"
    answer = None if reason else content
    return Rollout(outcome, reason, answer, reply.finish_reason, tuple(flags), (), Usage())


def _assistant(reply: Reply, calls: Sequence[ToolCall]) -> Message:
    """The reply as it goes back: reasoning in the field it came in, calls always well-formed."""
    message: dict[str, object] = {"role": "assistant", "content": reply.content or ""}
    if reply.reasoning_field:
        message[reply.reasoning_field] = reply.reasoning
    if calls:
        message["tool_calls"] = [as_sent(call) for call in calls]
    return message


def _with_ids(calls: Sequence[ToolCall], n_round: int) -> list[ToolCall]:
    """Calls with an id each; a missing or repeated id is replaced by one that is the same in every replay."""
    taken: set[str] = set()
    named: list[ToolCall] = []
    for index, call in enumerate(calls):
        fresh = call if call.id and call.id not in taken else replace(call, id=f"call_{n_round}_{index}")
        taken.add(fresh.id)
        named.append(fresh)
    return named


def _round(reply: Reply, calls: Sequence[ToolCallRow] = (), *, forced: bool = False) -> RoundRow:
    return RoundRow(
        reasoning=reply.reasoning,
        content=reply.content,
        finish_reason=reply.finish_reason,
        calls=tuple(calls),
        forced=forced,
    )
