"""A chat-completions server on loopback whose replies a test decides, one function of the request body."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from servers.threaded import threaded


@dataclass
class Answer:
    """What the server sends: `body` bytes, or a JSON value; `drop` closes the connection instead."""

    body: object = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    drop: bool = False


def message(content: str | None, finish_reason: str = "stop", **more: object) -> Answer:
    """A completion with this assistant message."""
    row = {"role": "assistant", "content": content, **more}
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    return Answer({"choices": [{"index": 0, "message": row, "finish_reason": finish_reason}], "usage": usage})


def calls(*pairs: tuple[str, object], **more: object) -> Answer:
    """A completion that calls tools: (name, arguments), arguments given as a value or as the very string."""
    rows = [
        {
            "id": f"c{i}",
            "type": "function",
            "function": {"name": name, "arguments": a if isinstance(a, str) else json.dumps(a, ensure_ascii=False)},
        }
        for i, (name, a) in enumerate(pairs)
    ]
    return message(None, "tool_calls", tool_calls=rows, **more)


Counting = Callable[[str, dict[str, Any]], Answer]
"""Answers `/tokenize` and `/apply-template`, given the path and the body."""


def uncounted(path: str, _body: dict[str, Any]) -> Answer:
    """A server that counts no tokens."""
    return Answer({"detail": f"no {path} here"}, 404)


class ChatServer:
    """`async with ChatServer(decide) as server`: requests in `server.requests`, address in `server.base_url`.

    What asks for a count is in `server.counted` instead, as (path, body), and answered by `counting`.
    """

    def __init__(
        self, decide: Callable[[dict[str, Any]], Answer], models: object = None, counting: Counting = uncounted
    ) -> None:
        self._decide = decide
        self._counting = counting
        self.counted: list[tuple[str, dict[str, Any]]] = []
        self._models = models or {"object": "list", "data": [{"id": "m", "object": "model", "max_model_len": 262_144}]}
        self.requests: list[dict[str, Any]] = []
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []

    async def __aenter__(self) -> ChatServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.base_url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                headers = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                answer = self._answer(head[0].split(" ")[1], headers, body)
                if answer.drop:
                    break
                content = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
                extra = "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
                kind = "" if "content-type" in answer.headers else "content-type: application/json\r\n"
                start = f"HTTP/1.1 {answer.status} X\r\n{kind}content-length: {len(content)}\r\n{extra}\r\n"
                writer.write(start.encode() + content)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _answer(self, path: str, headers: dict[str, str], body: bytes) -> Answer:
        if path.endswith("/models"):
            return self._models if isinstance(self._models, Answer) else Answer(self._models)
        if path.endswith(("/tokenize", "/apply-template")):
            self.counted.append((path, json.loads(body)))
            return self._counting(path, self.counted[-1][1])
        self.headers.append(headers)
        self.bodies.append(body)
        self.requests.append(json.loads(body))
        return self._decide(self.requests[-1])


@contextlib.contextmanager
def serving(
    decide: Callable[[dict[str, Any]], Answer], models: object = None, counting: Counting = uncounted
) -> Iterator[ChatServer]:
    """The same server in a thread of its own, for commands that bring their own event loop."""
    with threaded(ChatServer(decide, models, counting)) as server:
        yield server
