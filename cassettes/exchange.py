"""One exchange with the outside as the tape sees it: values, no behaviour of their own.

Knows: request and response. Must not know: HTTP clients, files, modes.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Final, Literal

Channel = Literal["model", "judge", "search", "page"]
CHANNELS: Final[tuple[Channel, ...]] = ("model", "judge", "search", "page")

Origin = Literal["live", "tape", "pool", "empty"]
"""Where an answer came from; `empty` = made up because the pool has none."""

Headers = tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A chat request in its parts: its body is exactly `head`, the messages joined by commas, and `]}`.

    The message objects are the same ones from round to round, so that each is read, hashed and stored once.
    """

    head: bytes
    messages: tuple[bytes, ...]

    def is_body(self, body: bytes) -> bool:
        """True if `body` is what these parts make (by length and ends; comparing all would cost a copy)."""
        n_bytes = len(self.head) + sum(map(len, self.messages)) + max(len(self.messages) - 1, 0) + 2
        last = self.messages[-1] if self.messages else b""
        return len(body) == n_bytes and body.startswith(self.head) and body.endswith(last + b"]}")


@dataclass(frozen=True, slots=True)
class TapeRequest:
    """A request as sent. `place` tells parallel calls of a session apart ("r02.c1", "u07"); `url` may be `local:…`."""

    channel: Channel
    method: str
    url: str
    body: bytes = b""
    headers: Headers = ()
    place: str = ""
    outgoing: Outgoing | None = None


@dataclass(frozen=True, slots=True)
class TapeResponse:
    """A response with its body decoded. `broken` = how the stream broke off after `body` ("ReadError: …").

    `stream` instead of `body`: an answer that arrives bit by bit, to be read once; only a live answer has one.
    """

    status: int
    headers: Headers = ()
    body: bytes = b""
    broken: str | None = None
    stream: AsyncGenerator[bytes] | None = None
    origin: Origin = "live"
