"""A tape with everything that is hard to carry from one format to another, and what was put on it."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import brotli
import httpx2

from cassettes.context import on_channel, taping
from cassettes.exchange import Channel, Outgoing, TapeRequest, TapeResponse
from cassettes.modes import Modes
from cassettes.tape import TapeSet
from cassettes.transport import TapeTransport

SESSION = "問1/子育て.r0"
OTHER = "q0002.r0"
CHAT = "https://llm.example.jp/v1/chat/completions"

NASTY = (
    "改行\u2028と\u2029と\x85（NEL）、\ufeff、\ufffe、絵文字👨‍👩‍👧、\x7f、\t、\\、\"'、# - : {}、ｶﾅ、０１８\r\n終わり"
)
LONG = "０１８サポートは、令和６年度から月額５，０００円を支給する制度です。🎌\u2028" * 40
SHIFT_JIS = f"<html><head><title>子育て支援①㈱～</title></head><body>{'東京都' * 500}</body></html>".encode("cp932")
PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n" + hashlib.sha512(b"page").digest() * 40 + b"\n%%EOF\r\n"
HTML = f"<!doctype html><title>条例</title><p>第五条　公園は無料とする。{NASTY}</p>".encode()
SAID = ("都は", "撤廃した。")
EVENTS = "".join(f'data: {{"choices":[{{"delta":{{"content":"{said}"}}}}]}}\n\n' for said in SAID).encode()
MISTAKEN = ('{"$blob":"' + "a" * 64 + '"}').encode()
"""Text that looks like a reference of ours and is none."""

TYPE = b"content-type"
JSON, STREAM = (TYPE, b"application/json"), (TYPE, b"text/event-stream; charset=utf-8")


@dataclass(frozen=True, slots=True)
class Recorded:
    """A request, and what was answered: a response, or the exception that came instead."""

    request: TapeRequest
    answer: TapeResponse | httpx2.RequestError


def chat(text: str, round_: int, said: str) -> Recorded:
    """A conversation that grows by two messages a round, sent in its parts."""
    system = {"role": "system", "content": f"あなたは調べる人です。{LONG}"}
    turns = [{"role": "user", "content": f"{text}{turn}"} for turn in range(round_)]
    messages = tuple(json.dumps(message, ensure_ascii=False).encode() for message in (system, *turns))
    head = b'{"model":"m","temperature":0.6,"messages":['
    body = head + b",".join(messages) + b"]}"
    answer = {"id": f"x{round_}", "choices": [{"message": {"role": "assistant", "content": said}}]}
    return Recorded(
        TapeRequest("model", "POST", CHAT, body, (JSON,), f"r{round_:02}", Outgoing(head, messages)),
        TapeResponse(200, (JSON,), json.dumps(answer, ensure_ascii=False).encode()),
    )


def page(url: str, body: bytes, media_type: str, place: str = "") -> Recorded:
    """A page of the web."""
    return Recorded(
        TapeRequest("page", "GET", url, place=place), TapeResponse(200, ((TYPE, media_type.encode()),), body)
    )


def scene() -> list[Recorded]:
    """One of each kind."""
    hits = {"web": {"results": [{"title": "子育て支援のご案内", "url": "https://example.jp/", "description": LONG}]}}
    search = TapeRequest("search", "GET", "https://api.search.example/res/v1/web/search?q=%E6%9D%B1%E4%BA%AC%E9%83%BD")
    return [
        chat("所得制限はどうなったか。", 1, "まず検索します。"),
        Recorded(search, TapeResponse(200, (JSON,), json.dumps(hits, ensure_ascii=False).encode())),
        page("https://example.jp/sjis.html", SHIFT_JIS, "text/html; charset=Shift_JIS", "r01.c1"),
        page("https://example.jp/a.pdf", PDF, "application/pdf", "r01.c2"),
        page("https://example.jp/nasty.txt", NASTY.encode(), "text/plain; charset=utf-8", "r01.c3"),
        page("https://example.jp/mistaken.txt", MISTAKEN, "text/plain", "r01.c4"),
        page("https://example.jp/empty", b"", "text/plain", "r01.c5"),
        Recorded(
            TapeRequest("page", "GET", "https://example.jp/slow", place="r01.c6"),
            httpx2.ReadTimeout("60秒以内に応答がありません"),
        ),
        page("https://example.jp/a.pdf", PDF, "application/pdf", "r01.c7"),
        page(
            "local:page?url=%E6%9D%A1%E4%BE%8B",
            json.dumps({"title": "条例", "text": LONG}).encode(),
            "application/json",
        ),
        chat("所得制限はどうなったか。", 2, f"都は撤廃した。{NASTY}{LONG}"),
        Recorded(
            TapeRequest("judge", "POST", CHAT, MISTAKEN, (JSON,), "u01"),
            TapeResponse(200, (STREAM,), EVENTS, "ReadError: 切れた"),
        ),
    ]


def record(folder: Path, recorded: list[Recorded], session: str = SESSION) -> None:
    """Put exchanges on the tape in `folder` as a session."""

    async def go() -> None:
        with TapeSet(folder, Modes.resume()) as tapes, tapes.session(session) as tape:
            for one in recorded:
                try:
                    answer = await tape.exchange(one.request, _live(one.answer))
                    if answer.stream is not None:
                        async for _ in answer.stream:
                            pass
                except httpx2.RequestError:
                    continue

    asyncio.run(go())


def record_encoded(folder: Path, session: str = "encoded.r0") -> None:
    """Two pages that travelled as gzip and as br, through the transport."""

    def serve(request: httpx2.Request) -> httpx2.Response:
        coding = request.url.path.strip("/")
        body = gzip.compress(HTML) if coding == "gzip" else brotli.compress(HTML)
        headers = {"content-type": "text/html; charset=utf-8", "content-encoding": coding, "set-cookie": "a=b"}
        return httpx2.Response(200, headers=headers, stream=httpx2.ByteStream(body))

    async def go() -> None:
        live = httpx2.MockTransport(serve)
        with TapeSet(folder, Modes.resume()) as tapes, tapes.session(session) as tape, taping(tape):
            async with httpx2.AsyncClient(transport=TapeTransport(live)) as client:
                for coding in ("gzip", "br"):
                    with on_channel("page"):
                        assert (await client.get(f"https://example.jp/{coding}")).content == HTML

    asyncio.run(go())


def replayed(folder: Path, session: str, requests: list[TapeRequest]) -> list[TapeResponse]:
    """What a sealed replay answers to `requests`."""

    async def go() -> list[TapeResponse]:
        with TapeSet(folder, Modes.sealed()) as tapes, tapes.session(session) as tape:
            return [await tape.exchange(request, None) for request in requests]

    return asyncio.run(go())


def asked(channel: Channel, url: str, body: bytes = b"", method: str = "GET") -> TapeRequest:
    """A request on a channel."""
    return TapeRequest(channel, method, url, body)


def _live(answer: TapeResponse | httpx2.RequestError) -> Callable[[], Awaitable[TapeResponse]]:
    async def live() -> TapeResponse:
        if isinstance(answer, httpx2.RequestError):
            raise answer
        if answer.broken is not None:
            return TapeResponse(answer.status, answer.headers, stream=_broken(answer.body))
        return answer

    return live


async def _broken(body: bytes) -> AsyncIterator[bytes]:
    yield body
    raise httpx2.ReadError("切れた")
