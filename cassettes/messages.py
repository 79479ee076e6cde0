"""Where the messages stand in the body of a chat request that we did not write ourselves.

Knows: JSON at the top level of such a body. Must not know: what a message holds.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Split:
    """`head`, the messages joined by single commas, and `tail` are the body, byte for byte."""

    head: bytes
    messages: list[bytes]
    tail: bytes


def split_messages(body: bytes) -> Split | None:
    """The body split at its messages; None if it has none or they are set apart by more than commas."""
    try:
        text = body.decode()
        spans = _spans(text)
    except (ValueError, IndexError, RecursionError):
        return None
    if not spans:
        return None
    messages = [text[start:end].encode() for start, end in spans]
    split = Split(text[: spans[0][0]].encode(), messages, text[spans[-1][1] :].encode())
    return split if split.head + b",".join(messages) + split.tail == body else None


def _spans(text: str) -> list[tuple[int, int]]:
    at = _after_space(text, 0)
    if text[at] != "{":
        return []
    while text[at] in "{,":
        start = _after_space(text, at + 1)
        name, at = _DECODER.raw_decode(text, start)
        at = _after_space(text, _after_space(text, at) + 1)
        if name == "messages":
            return _elements(text, at) if text[at] == "[" else []
        _, at = _DECODER.raw_decode(text, at)
        at = _after_space(text, at)
    return []


def _elements(text: str, at: int) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    while text[at] in "[,":
        start = _after_space(text, at + 1)
        _, end = _DECODER.raw_decode(text, start)
        spans.append((start, end))
        at = _after_space(text, end)
    return spans


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
