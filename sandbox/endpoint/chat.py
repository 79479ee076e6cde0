"""What a chat model is to the rest of the sandbox: messages in, one classified reply out.

Knows: the values that pass between loop, judging and the model client. Must not know: HTTP.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from sandbox.record import Usage

Message = Mapping[str, object]
"""A chat-completions message as it is sent."""


_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Conversation:
    """A growing list of messages, each serialised once, when it is added.

    The request of round 30 repeats the 60 messages before it; serialising them anew makes a session quadratic.
    """

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._messages: list[Message] = []
        self._encoded: list[bytes] = []
        for message in messages:
            self.append(message)

    def append(self, message: Message) -> None:
        """Add a message at the end."""
        self._messages.append(message)
        self._encoded.append(encode(message))

    def encoded(self) -> bytes:
        """The messages as they stand in a request: JSON objects joined by commas."""
        return b",".join(self._encoded)

    def parts(self) -> tuple[bytes, ...]:
        """The messages as JSON, one by one: the same objects from call to call, so that a tape reads each once."""
        return tuple(self._encoded)

    def __iter__(self) -> Iterator[Message]:
        return iter(self._messages)

    def __len__(self) -> int:
        return len(self._messages)


def encode(value: object) -> bytes:
    """JSON in UTF-8 with readable Japanese; lone surrogates, which UTF-8 cannot hold, are escaped."""
    try:
        return _COMPACT(value).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


ModelFailureKind = Literal["context_overflow", "api_error", "api_refusal", "empty_reply", "bad_reply"]


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
    refused: bool = False
    """True where the API, not the model, refused: a content filter, or a refusal apart from the content."""


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
        messages: Conversation,
        *,
        tools: Sequence[Mapping[str, object]] = (),
        response_format: Mapping[str, object] | None = None,
    ) -> Reply:
        """One call. Raises ModelFailure, or tools.tool.SetupError where the run must stop."""
        ...
