"""The first words of what a recorded exchange brought, for a list that a person runs an eye over.

Knows: what the answers of model servers, search engines and web servers look like. Must not know: tapes, terminals.
"""

from __future__ import annotations

import html
import re

from sandbox.endpoint.lenient import items, mapping, parsed, text
from tools.decode import decode

HEAD_BYTES = 16_384
"""As much of a page is looked at: the title stands there, or there is none."""

_TITLE = re.compile(r"<title[^>]{0,200}>(.{0,500}?)</title>", re.IGNORECASE | re.DOTALL)
_SILENT = re.compile(r"<(script|style)\b.{0,16384}?</\1\s*>|<!--.{0,16384}?-->", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^<>]{0,2000}>")


def first_words(body: bytes, media_type: str) -> str:
    """Text of unknown length, possibly with line breaks and control characters; for bytes that are no text, what they are.

    A model's answer gives its text, else its tool calls, else its reasoning; search results their titles; an HTML page
    its title. `media_type` may carry parameters and be empty.
    """
    kind = media_type.partition(";")[0].strip().lower()
    if not body:
        return "(no body)"
    if body.startswith(b"%PDF-"):
        return "(PDF)"
    if b"\0" in body[:1024]:
        return f"({kind or 'binary'})"
    if kind == "text/event-stream" or body.startswith((b"data:", b"event:")):
        return _stream(body)
    if kind.endswith("json") or body[:1] in b"{[":
        value = parsed(body)
        said = _model(value) or _hits(value)
        if said:
            return said
    charset = re.search(r"charset=[\"']?([\w.:-]+)", media_type, re.IGNORECASE)
    readable = decode(body[:HEAD_BYTES], charset[1] if charset else None).text
    if "html" in kind or "<html" in readable[:1024].lower():
        title = _TITLE.search(readable)
        readable = title[1] if title and title[1].strip() else _TAG.sub(" ", _SILENT.sub(" ", readable))
        return html.unescape(readable)
    return readable


def _model(value: object) -> str:
    """The answer of a chat completion or of the Responses API; empty where `value` is neither."""
    reply = mapping(value)
    for choice in items(reply.get("choices")):
        message = mapping(mapping(choice).get("message"))
        calls = [mapping(mapping(call).get("function")) for call in items(message.get("tool_calls"))]
        called = ", ".join(_call(call.get("name"), call.get("arguments")) for call in calls)
        thought = text(message.get("reasoning_content")) or text(message.get("reasoning")) or ""
        return text(message.get("content")) or called or (f"(reasoning) {thought}" if thought else "(empty)")
    if reply.get("object") == "response":
        return _output(reply)
    error = mapping(reply.get("error"))
    return text(error.get("message")) or text(error.get("detail")) or text(reply.get("error")) or ""


def _output(reply: object) -> str:
    said: list[str] = []
    for item in map(mapping, items(mapping(reply).get("output"))):
        if item.get("type") == "function_call":
            said.append(_call(item.get("name"), item.get("arguments")))
        said += [text(mapping(part).get("text")) or "" for part in items(item.get("content"))]
    return " ".join(part for part in said if part)


def _call(name: object, arguments: object) -> str:
    return f"→ {text(name) or '?'} {text(arguments) or ''}".rstrip()


def _hits(value: object) -> str:
    """The titles of search results, an engine's or a local corpus's (then a list), or that of a document of a corpus."""
    reply = mapping(value)
    web = items(mapping(reply.get("web")).get("results"))
    results = web or items(reply.get("results")) or items(reply.get("hits")) or items(value)
    titles = [text(mapping(result).get("title")) or "" for result in results]
    if titles:
        return f"{len(titles)} hits: {' / '.join(filter(None, titles))}"
    return text(reply.get("title")) or text(reply.get("message")) or ""


def _stream(body: bytes) -> str:
    """What the events of a streamed answer say together."""
    content, reasoning, called, output = "", "", "", ""
    for line in body.splitlines():
        if not line.startswith(b"data:"):
            continue
        event = mapping(parsed(line[5:]))
        if text(event.get("type")) == "response.completed":
            output = _output(event.get("response"))
        for choice in items(event.get("choices")):
            delta = mapping(mapping(choice).get("delta"))
            content += text(delta.get("content")) or ""
            reasoning += text(delta.get("reasoning_content")) or text(delta.get("reasoning")) or ""
            for call in items(delta.get("tool_calls")):
                function = mapping(mapping(call).get("function"))
                name, arguments = text(function.get("name")), text(function.get("arguments")) or ""
                called += f" → {name} {arguments}" if name else arguments
    return content or called.strip() or output or (f"(reasoning) {reasoning}" if reasoning else "(stream)")
