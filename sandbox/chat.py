"""What a chat model is to the rest of the sandbox: messages in, one classified reply out.

Knows: the values that pass between loop, judging and the model client. Must not know: HTTP.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from sandbox.record import Usage

Message = Mapping[str, object]
"""A chat-completions message as it is sent."""

ModelFailureKind = Literal["context_overflow", "api_error", "empty_reply", "bad_reply"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call as the model wrote it; `arguments` may be any string."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Reply:
    """One assistant message. `reasoning_field` names the field it came in, because it must go back in the same one."""

    content: str | None
    finish_reason: str | None
    usage: Usage
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str | None = None
    reasoning_field: str | None = None


class ModelFailure(Exception):
    """A call that brought no reply, after bounded retries. `kind` decides the outcome; the message holds no secret."""

    def __init__(self, kind: ModelFailureKind, message: str, usage: Usage | None = None) -> None:
        super().__init__(message)
        self.kind: ModelFailureKind = kind
        self.message = message
        self.usage = usage or Usage()


class ChatModel(Protocol):
    """A model or a judge behind any transport. Decode settings belong to the object, not to the call."""

    async def chat(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, object]] = (),
        response_format: Mapping[str, object] | None = None,
    ) -> Reply:
        """One call. Raises ModelFailure, or tools.tool.SetupError where the run must stop."""
        ...
