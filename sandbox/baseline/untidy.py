"""The extractive baseline with bad manners: the same answers, most of them in a form that cannot be read strictly.

Knows: the faults that real models make. Must not know: how they are found. It lets the citation debugger be tried without
a model: what it loses, it loses to format alone.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping

from sandbox.baseline.model import model_reply
from sandbox.endpoint.lenient import items, mapping

CITE = re.compile(r"<cite>(\d+)</cite>")

Fault = Callable[[str], str]


def untidy_reply(body: Mapping[str, object]) -> dict[str, object]:
    """The baseline's reply; a final answer in the form that its question's first words choose. Raises ValueError."""
    reply = model_reply(body)
    choice = mapping(items(reply["choices"])[0])
    message = mapping(choice["message"])
    content = message.get("content")
    if not isinstance(content, str):
        return reply
    first = mapping(items(body.get("messages"))[0]).get("content")
    fault = FAULTS[zlib.crc32(str(first)[:40].encode()) % len(FAULTS)]
    return {**reply, "choices": [{**choice, "message": {**message, "content": fault(content)}}]}


def _tidy(answer: str) -> str:
    return answer


def _cites_outside(answer: str) -> str:
    """gpt-oss: the cite stands behind the sentence tag."""
    return re.sub(r"(<cite>\d+</cite>)</sentence>", r"</sentence>\1", answer)


def _brackets(answer: str) -> str:
    """No tags, bracket marks instead."""
    return re.sub(r"</?sentence>", "", CITE.sub(r"[\1]", answer))


def _full_width(answer: str) -> str:
    return CITE.sub(lambda match: f"<cite>{match[1].translate(_WIDE)}</cite>", answer)


def _decorated(answer: str) -> str:
    return CITE.sub(r"<cite>資料\1</cite>", answer)


def _never_closed(answer: str) -> str:
    """Only the last sentence has its closing tag."""
    head, close, tail = answer.rpartition("</sentence>")
    return head.replace("</sentence>", "") + close + tail


def _no_tags(answer: str) -> str:
    """Gemma: sentence tags left out, cites kept."""
    return re.sub(r"</?sentence>", "", answer)


_WIDE = str.maketrans("0123456789", "０１２３４５６７８９")

FAULTS: tuple[Fault, ...] = (
    _tidy, _cites_outside, _brackets, _full_width, _decorated, _never_closed, _no_tags, _cites_outside,
)  # fmt: skip
