"""Journals as plain vcrpy sees them, without any hook of ours."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx2
import vcr  # type: ignore[import-untyped]

from cassettes.context import on_channel, outgoing, taping
from cassettes.modes import Modes
from cassettes.tape import TapeSet
from cassettes.transport import TapeTransport

HARD = "令和６年\u0085\u2028\ufeff😀\x7f「改正」"


class Outside(httpx2.AsyncBaseTransport):
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        match request.url.path:
            case "/short":
                return httpx2.Response(
                    200, headers={"content-type": "text/plain; charset=utf-8"}, content=HARD.encode()
                )
            case "/long":
                return httpx2.Response(200, content=HARD.encode() * 500)
            case "/sjis":
                return httpx2.Response(404, content="無い".encode("cp932"))
            case "/dead":
                raise httpx2.ConnectError("network_error: なし")
            case _:
                return httpx2.Response(200, json={"choices": [{"message": {"content": HARD}}]})


def recorded(folder: Path) -> Path:
    async def scene() -> None:
        messages = (b'{"role":"user","content":"x"}', b'{"role":"tool","content":"' + b"y" * 900 + b'"}')
        head = '{"model":"模","messages":['.encode()
        async with (
            TapeSet(folder, Modes.record()) as tapes,
            httpx2.AsyncClient(transport=TapeTransport(Outside())) as http,
        ):
            with tapes.session("問1/a.r0") as tape, taping(tape):
                with on_channel("model", "r01"), outgoing(head, messages):
                    await http.post("http://m.example/v1/chat", content=head + b",".join(messages) + b"]}")
                for name in ("short", "long", "sjis", "dead", "short"):
                    with on_channel("page", "r01.c1"):
                        try:
                            await http.get(f"https://a.example/{name}?q=頁")
                        except httpx2.ConnectError:
                            continue

    asyncio.run(scene())
    (path,) = folder.glob("*.yaml")
    return path


def test_plain_vcrpy_loads_a_journal_and_plays_what_stands_in_it(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    before = path.read_bytes()

    async def played() -> tuple[int, str, int]:
        async with httpx2.AsyncClient(transport=httpx2.MockTransport(lambda _: httpx2.Response(500))) as http:
            with vcr.VCR(record_mode="none").use_cassette(str(path)) as cassette:
                short = await http.get("https://a.example/short?q=頁")
                missing = await http.get("https://a.example/sjis?q=頁")
                return len(cassette), short.text, missing.status_code

    assert asyncio.run(played()) == (6, HARD, 404)
    assert path.read_bytes() == before


def test_plain_vcrpy_loads_a_journal_cut_after_any_interaction(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    ends = [i + 1 for i, line in enumerate(lines) if line.startswith(b"  response: ")]
    for n, end in enumerate(ends, 1):
        cut = tmp_path / f"cut{n}.yaml"
        cut.write_bytes(b"".join(lines[:end]))
        with vcr.VCR(record_mode="none").use_cassette(str(cut)) as cassette:
            assert len(cassette) == n
    assert len(ends) == 6
