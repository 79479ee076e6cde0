"""The first words of what a recorded exchange brought."""

from __future__ import annotations

import json

import pytest
from servers.tape_scene import EVENTS, PDF, SHIFT_JIS

from sandbox.reports.exchange_words import first_words


def said(message: dict[str, object]) -> bytes:
    return json.dumps({"choices": [{"message": message}]}, ensure_ascii=False).encode()


CALL = {"id": "c", "function": {"name": "search", "arguments": '{"query": "東京都"}'}}
PIECES = ({"name": "find", "arguments": ""}, {"arguments": '{"a": "都"}'})
CALL_EVENTS = b"".join(
    b"data: " + json.dumps({"choices": [{"delta": {"tool_calls": [{"function": piece}]}}]}).encode() + b"\n\n"
    for piece in PIECES
)


@pytest.mark.parametrize(
    ("body", "media_type", "words"),
    [
        (said({"content": "都は撤廃した。"}), "application/json", "都は撤廃した。"),
        (said({"content": "", "tool_calls": [CALL]}), "application/json", '→ search {"query": "東京都"}'),
        (said({"content": None, "reasoning_content": "まず"}), "application/json", "(reasoning) まず"),
        (said({"content": ""}), "application/json", "(empty)"),
        (b'{"error": {"message": "context_length_exceeded"}}', "application/json", "context_length_exceeded"),
        (EVENTS, "text/event-stream", "都は撤廃した。"),
        (CALL_EVENTS, "text/event-stream", '→ find {"a": "都"}'),
        (b"data: [DONE]\n\n", "text/event-stream", "(stream)"),
        ('{"web": {"results": [{"title": "甲"}, {"title": "乙"}]}}'.encode(), "application/json", "2 hits: 甲 / 乙"),
        ('{"hits": [{"title": "甲", "url": "u"}]}'.encode(), "application/json", "1 hits: 甲"),
        ('[{"title": "甲", "url": "u"}]'.encode(), "application/json", "1 hits: 甲"),
        ('{"title": "条例", "text": "第五条"}'.encode(), "application/json", "条例"),
        (SHIFT_JIS, "text/html; charset=Shift_JIS", "子育て支援①㈱～"),
        ("<html><script>x()</script><p>第五条&amp;附則</p>".encode("euc-jp"), "text/html", "第五条&附則"),
        (PDF, "application/pdf", "(PDF)"),
        (b"\x89PNG\r\n\x1a\n\0\0", "image/png", "(image/png)"),
        (b"", "text/html", "(no body)"),
        (b"{broken", "application/json", "{broken"),
    ],
)
def test_what_an_exchange_brought_is_told_in_its_own_words(body: bytes, media_type: str, words: str) -> None:
    assert " ".join(first_words(body, media_type).split()) == words
