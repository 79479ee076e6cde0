from __future__ import annotations

import asyncio
import gzip
import socket
import zlib
from collections.abc import Mapping
from typing import cast

import brotli  # type: ignore[import-untyped]
import httpx2
import pytest
from backports import zstd
from openai import APIConnectionError, AsyncOpenAI

from cassettes.live import AiohttpTransport
from tests.servers.web_server import Page, WebServer

JSON = ("Content-Type: application/json",)
TEXT = "東京都の子育て支援制度は、令和6年に改正された。ｶﾀｶﾅ"


def _transport(**limits: float) -> AiohttpTransport:
    return AiohttpTransport(
        connections=4,
        connect_timeout_s=limits.get("connect_timeout_s", 5.0),
        total_timeout_s=limits.get("total_timeout_s", 5.0),
        max_body_bytes=int(limits.get("max_body_bytes", 100_000)),
    )


def _ask(pages: Mapping[str, Page], target: str, **limits: float) -> httpx2.Response:
    async def scene() -> httpx2.Response:
        async with WebServer(pages) as server, httpx2.AsyncClient(transport=_transport(**limits)) as client:
            return await client.get(server.url(target, host="127.0.0.1"))

    return asyncio.run(scene())


def test_the_request_arrives_exactly_as_given() -> None:
    target = "/v1/a%2Fb;c?q=%E6%9D%B1+x&y=%20&z=1,2'"

    async def scene() -> tuple[str, str, bytes, dict[str, str]]:
        async with WebServer({target: Page()}) as server, httpx2.AsyncClient(transport=_transport()) as client:
            await client.post(
                server.url(target, host="127.0.0.1"), content=TEXT.encode(), headers={"X-Key": "abc", "Accept": "x/y"}
            )
            seen = server.seen[0]
            return seen.method, seen.target, seen.body, dict(seen.headers)

    method, arrived, body, headers = asyncio.run(scene())
    assert (method, arrived, body) == ("POST", target, TEXT.encode())
    assert {name: headers[name] for name in ("x-key", "accept", "content-length", "user-agent")} == {
        "x-key": "abc",
        "accept": "x/y",
        "content-length": str(len(TEXT.encode())),
        "user-agent": f"python-httpx2/{httpx2.__version__}",
    }
    assert "content-type" not in headers
    assert "cookie" not in headers


def test_a_body_over_a_mebibyte_goes_out_whole() -> None:
    body = ("質問" * 300_000).encode()

    async def scene() -> tuple[bytes, str]:
        async with WebServer({"/": Page()}) as server, httpx2.AsyncClient(transport=_transport()) as client:
            await client.post(server.url("/", host="127.0.0.1"), content=body)
            return server.seen[0].body, server.seen[0].headers["content-length"]

    assert asyncio.run(scene()) == (body, str(len(body)))


def test_cookies_are_never_sent_back_and_redirects_never_followed() -> None:
    pages = {
        "/": Page(status=302, headers=("Location: /next", "Set-Cookie: id=1; Path=/")),
        "/next": Page(b"next"),
    }

    async def scene() -> tuple[int, list[str], list[str]]:
        transport = _transport()
        async with WebServer(pages) as server:
            statuses = [
                (await transport.handle_async_request(httpx2.Request("GET", server.url("/", host="127.0.0.1"))))
                for _ in range(2)
            ]
            await transport.aclose()
            return statuses[1].status_code, server.targets(), [str("cookie" in seen.headers) for seen in server.seen]

    assert asyncio.run(scene()) == (302, ["/", "/"], ["False", "False"])


def test_proxies_of_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    assert _ask({"/": Page(b"direct")}, "/").text == "direct"


def test_one_connection_serves_many_calls() -> None:
    async def scene() -> tuple[int, int]:
        async with WebServer({"/": Page(b"{}", headers=JSON)}) as server:
            async with httpx2.AsyncClient(transport=_transport()) as client:
                for _ in range(5):
                    await client.get(server.url("/", host="127.0.0.1"))
            return server.n_connections, len(server.seen)

    assert asyncio.run(scene()) == (1, 5)


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", gzip.compress(TEXT.encode())),
        ("deflate", zlib.compress(TEXT.encode())),
        ("br", cast(bytes, brotli.compress(TEXT.encode()))),  # pyright: ignore[reportUnknownMemberType]
        ("zstd", zstd.compress(TEXT.encode())),
        ("identity", TEXT.encode()),
    ],
)
@pytest.mark.parametrize("chunked", [False, True])
def test_an_encoded_body_comes_decoded_once_and_without_its_encoding_header(
    coding: str, body: bytes, chunked: bool
) -> None:
    page = Page(
        body, headers=("Content-Type: text/plain; charset=utf-8", f"Content-Encoding: {coding}"), chunked=chunked
    )
    response = _ask({"/": page}, "/")
    assert response.text == TEXT
    assert "content-encoding" not in response.headers


@pytest.mark.parametrize(
    ("page", "limits", "error"),
    [
        (Page(b"x" * 2_000), {"max_body_bytes": 1_000}, httpx2.ReadError),
        (Page(b"x" * 600, chunked=True, endless=True), {"max_body_bytes": 1_000}, httpx2.ReadError),
        (
            Page(gzip.compress(b"\0" * 10_000_000), headers=("Content-Encoding: gzip",)),
            {"max_body_bytes": 20_000},
            httpx2.ReadError,
        ),
        (Page(TEXT.encode(), headers=("Content-Encoding: gzip",)), {}, httpx2.DecodingError),
        (Page(b"late", silent_s=5.0), {"total_timeout_s": 0.2}, httpx2.ReadTimeout),
        (Page(b"drip" * 100, drip_s=0.05), {"total_timeout_s": 0.3}, httpx2.ReadTimeout),
        (Page(b"half", reset=True), {}, httpx2.RemoteProtocolError),
        (Page(b"short", length="50"), {}, httpx2.RemoteProtocolError),
        (Page(raw=b""), {}, httpx2.RemoteProtocolError),
        (Page(raw=b"SSH-2.0-OpenSSH_9.6\r\n\r\n"), {}, httpx2.RemoteProtocolError),
        (Page(headers=(f"X-Long: {'a' * 40_000}",)), {}, httpx2.RemoteProtocolError),
    ],
    ids=[
        "too large",
        "endless",
        "bomb",
        "lying encoding",
        "silent",
        "drip",
        "reset",
        "short",
        "closed",
        "no http",
        "header",
    ],
)
def test_what_goes_wrong_is_an_error_of_httpx2(page: Page, limits: dict[str, float], error: type[Exception]) -> None:
    with pytest.raises(error) as raised:
        _ask({"/": page}, "/", **limits)
    assert type(raised.value) is error
    assert str(raised.value)


def test_a_refused_connection_is_a_connect_error() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]

    async def scene() -> None:
        async with httpx2.AsyncClient(transport=_transport()) as client:
            await client.get(f"http://127.0.0.1:{port}/")

    with pytest.raises(httpx2.ConnectError):
        asyncio.run(scene())


def test_the_read_timeout_of_a_request_bounds_the_silence() -> None:
    async def scene() -> None:
        client = httpx2.AsyncClient(transport=_transport(), timeout=httpx2.Timeout(5, read=0.2))
        async with WebServer({"/": Page(b"late", silent_s=5.0)}) as server, client:
            await client.get(server.url("/", host="127.0.0.1"))

    with pytest.raises(httpx2.ReadTimeout):
        asyncio.run(scene())


EVENTS = [b'data: {"n": 1}\n\n', "data: 東京\n\n".encode(), b"data: [DONE]\n\n"]
SSE = ("Content-Type: text/event-stream; charset=utf-8",)


def test_an_event_stream_arrives_while_the_server_still_writes() -> None:
    async def scene() -> tuple[bytes, bool, bytes]:
        page = Page(b"".join(EVENTS), headers=SSE, chunked=True, drip_s=0.005)
        async with WebServer({"/": page}) as server, httpx2.AsyncClient(transport=_transport()) as client:
            async with client.stream("GET", server.url("/", host="127.0.0.1")) as response:
                chunks = response.aiter_bytes()
                first = await anext(chunks)
                early = server.n_sent_bytes < len(page.body)
                rest = b"".join([chunk async for chunk in chunks])
            return first, early, first + rest

    first, early, whole = asyncio.run(scene())
    assert b"".join(EVENTS).startswith(first)
    assert early
    assert whole == b"".join(EVENTS)


def test_a_stream_left_early_closes_its_connection_and_the_next_call_works() -> None:
    async def scene() -> tuple[str, int]:
        pages = {"/": Page(EVENTS[0], headers=SSE, chunked=True, endless=True, drip_s=0.001), "/next": Page(b"next")}
        async with WebServer(pages) as server, httpx2.AsyncClient(transport=_transport()) as client:
            async with client.stream("GET", server.url("/", host="127.0.0.1")) as response:
                await anext(response.aiter_bytes())
            text = (await client.get(server.url("/next", host="127.0.0.1"))).text
            return text, server.n_connections

    assert asyncio.run(scene()) == ("next", 2)


@pytest.mark.parametrize(
    ("page", "total_s", "error"),
    [
        (Page(EVENTS[0] * 1_000, headers=SSE, chunked=True, endless=True), 60.0, httpx2.ReadError),
        (Page(EVENTS[0], headers=SSE, reset=True), 60.0, httpx2.RemoteProtocolError),
        (Page(EVENTS[0] * 50, headers=SSE, chunked=True, drip_s=0.05), 1.0, httpx2.ReadTimeout),
    ],
    ids=["endless", "reset", "drip"],
)
def test_a_broken_stream_is_an_error_of_httpx2(page: Page, total_s: float, error: type[Exception]) -> None:
    async def scene() -> None:
        client = httpx2.AsyncClient(transport=_transport(total_timeout_s=total_s))
        async with (
            WebServer({"/": page}) as server,
            client,
            client.stream("GET", server.url("/", host="127.0.0.1")) as response,
        ):
            async for _ in response.aiter_bytes():
                pass

    with pytest.raises(error) as raised:
        asyncio.run(scene())
    assert type(raised.value) is error


async def _chat(server: WebServer) -> object:
    async with httpx2.AsyncClient(transport=_transport()) as http:
        client = AsyncOpenAI(base_url=server.url("/v1", host="127.0.0.1"), api_key="k", max_retries=0, http_client=http)
        return await client.post("/chat/completions", cast_to=object, content=b"{}")


def test_the_openai_client_runs_on_it() -> None:
    reply = {"choices": [{"message": {"content": TEXT, "reasoning_content": "考え"}}]}
    body = httpx2.Response(200, json=reply).content

    async def scene() -> tuple[object, str]:
        async with WebServer({"/v1/chat/completions": Page(body, headers=JSON)}) as server:
            return await _chat(server), server.seen[0].headers["authorization"]

    assert asyncio.run(scene()) == (reply, "Bearer k")


def test_the_openai_client_sees_a_lost_connection_as_its_own_error() -> None:
    async def scene() -> None:
        async with WebServer({"/v1/chat/completions": Page(raw=b"")}) as server:
            await _chat(server)

    with pytest.raises(APIConnectionError):
        asyncio.run(scene())
