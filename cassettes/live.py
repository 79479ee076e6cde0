"""The live end of the tape for model, judge and search: an httpx2 transport that lets aiohttp do the work.

Knows: one request out, one response in, with our deadlines and limits. Must not know: the tape, retries, pages (those
go through the guard of tools/).

Why not httpx2's own pool: it looks at every idle connection on each request, which at 256 connections costs more than
the rest of a call together. Why not the transport that openai ships: it re-encodes URLs, reads proxies from the
environment and keeps cookies.
"""

from __future__ import annotations

import io
from collections.abc import AsyncGenerator, AsyncIterator
from functools import lru_cache
from typing import cast

import aiohttp
import httpx2
from multidict import CIMultiDict
from yarl import URL

from cassettes.exchange import TapeResponse

MAX_HEADER_BYTES = 16_384
"""Of one line or one header field; aiohttp counts both with it."""

IDLE_CONNECTION_S = 4.0
"""Servers on uvicorn close an idle connection after 5 s; going first avoids a request into a closing one."""

ONE_WRITE_BYTES = 2**20
"""Longer bodies go out in pieces, so that no write holds up the loop."""


class AiohttpTransport(httpx2.AsyncBaseTransport):
    """Sends a request exactly as given (URL not re-encoded, no cookies, no proxies, no redirects followed).

    A body comes whole and decoded, without its `content-encoding`; a `text/event-stream` comes as it arrives. The
    aiohttp session is made at the first request and belongs to the event loop of that moment: one transport, one loop.
    `max_body_bytes` counts decoded bytes and holds for streams too. The read timeout that a request carries bounds the
    silence between two bytes, `total_timeout_s` the whole exchange. Raises httpx2's transport errors and no others.
    """

    def __init__(
        self,
        *,
        connections: int,
        connect_timeout_s: float = 10.0,
        total_timeout_s: float = 1_800.0,
        max_body_bytes: int = 64 * 2**20,
    ) -> None:
        self._connections = connections
        self._connect_timeout_s = connect_timeout_s
        self._total_timeout_s = total_timeout_s
        self._max_body_bytes = max_body_bytes
        self._session: aiohttp.ClientSession | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response to `request`; see the class for what holds of its body."""
        answer = await self.ask(request)
        headers = list(answer.headers)
        if answer.stream is not None:
            return httpx2.Response(answer.status, headers=headers, stream=_EventStream(answer.stream))
        return httpx2.Response(answer.status, headers=headers, content=answer.body)

    async def ask(self, request: httpx2.Request) -> TapeResponse:
        """The same as a value: a tape between client and network needs no response object of the client's."""
        body = await request.aread()
        session = self._session or self._open()
        try:
            response = await session.request(
                request.method,
                _url(str(request.url)),
                data=io.BytesIO(body) if len(body) > ONE_WRITE_BYTES else body or None,
                headers=_headers(tuple(request.headers.raw)),
                allow_redirects=False,
                timeout=_timeout(self._connect_timeout_s, self._total_timeout_s, _read_timeout_s(request)),
            )
        except _FOREIGN as error:
            raise _translated(error) from error
        if response.content_type == "text/event-stream":
            return TapeResponse(
                response.status, tuple(response.raw_headers), stream=_chunks(response, self._max_body_bytes)
            )
        return await self._whole(response)

    async def aclose(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open(self) -> aiohttp.ClientSession:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._connections, keepalive_timeout=IDLE_CONNECTION_S),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            skip_auto_headers=_NOTHING_ADDED,
            trust_env=False,
            max_line_size=MAX_HEADER_BYTES,
            max_field_size=MAX_HEADER_BYTES,
        )
        return self._session

    async def _whole(self, response: aiohttp.ClientResponse) -> TapeResponse:
        headers = list(response.raw_headers)
        body = await _read(response, self._max_body_bytes)
        if body and "content-encoding" in response.headers:
            body = await _decoded(response.status, headers, body, self._max_body_bytes)
            headers = [(name, value) for name, value in headers if name.lower() not in _ENCODING_HEADERS]
        return TapeResponse(response.status, tuple(headers), body)


async def _chunks(response: aiohttp.ClientResponse, max_bytes: int) -> AsyncGenerator[bytes]:
    """The stream as it comes; at its end the connection is given back, else closed."""
    n_bytes = 0
    try:
        while chunk := await response.content.readany():
            n_bytes += len(chunk)
            if n_bytes > max_bytes:
                raise _too_large(max_bytes)
            yield chunk
    except _FOREIGN as error:
        raise _translated(error) from error
    finally:
        if response.content.at_eof():
            response.release()
        else:
            response.close()


class _EventStream(httpx2.AsyncByteStream):
    def __init__(self, chunks: AsyncGenerator[bytes]) -> None:
        self._chunks = chunks

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._chunks

    async def aclose(self) -> None:
        await self._chunks.aclose()


_FOREIGN = (aiohttp.ClientError, TimeoutError, OSError)
_NOTHING_ADDED = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
_ENCODING_HEADERS = (b"content-encoding", b"content-length")


async def _read(response: aiohttp.ClientResponse, max_bytes: int) -> bytes:
    chunks: list[bytes] = []
    n_bytes = response.content_length or 0  # what is announced may already be too much
    try:
        if n_bytes > max_bytes:
            raise _too_large(max_bytes)
        n_bytes = 0
        while chunk := await response.content.readany():
            n_bytes += len(chunk)
            if n_bytes > max_bytes:
                raise _too_large(max_bytes)
            chunks.append(chunk)
    except _FOREIGN as error:
        response.close()
        raise _translated(error) from error
    except BaseException:
        response.close()
        raise
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


async def _decoded(status: int, headers: list[tuple[bytes, bytes]], body: bytes, max_bytes: int) -> bytes:
    """`body` decoded by httpx2, which yields pieces of bounded size, so that a bomb is stopped at the limit."""
    encoded = httpx2.Response(status, headers=headers, stream=_OneChunk(body))
    decoded = bytearray()
    async for piece in encoded.aiter_bytes():
        decoded += piece
        if len(decoded) > max_bytes:
            raise _too_large(max_bytes)
    return bytes(decoded)


class _OneChunk(httpx2.AsyncByteStream):
    def __init__(self, body: bytes) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._body


def _too_large(max_bytes: int) -> httpx2.ReadError:
    return httpx2.ReadError(f"the response is larger than {max_bytes} bytes")


@lru_cache(maxsize=256)
def _headers(raw: tuple[tuple[bytes, bytes], ...]) -> CIMultiDict[str]:
    """Remembered, because a client sends the same headers with every call; aiohttp copies them."""
    return CIMultiDict((name.decode("ascii"), value.decode("latin-1")) for name, value in raw)


@lru_cache(maxsize=256)
def _url(url: str) -> URL:
    # `encoded` keeps yarl from quoting again what httpx2 has quoted (%2F, +, %20 are the server's business).
    return URL(url, encoded=True)


@lru_cache(maxsize=64)
def _timeout(connect_s: float, total_s: float, read_s: float | None) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=total_s, sock_connect=connect_s, sock_read=read_s)


def _read_timeout_s(request: httpx2.Request) -> float | None:
    timeouts = cast("dict[str, float | None]", request.extensions.get("timeout") or {})
    return timeouts.get("read")


def _translated(error: Exception) -> httpx2.TransportError:
    """aiohttp's exception as httpx2's: the only place where one becomes the other. The most telling class wins."""
    text = str(error) or type(error).__name__
    match error:
        case aiohttp.ConnectionTimeoutError():
            return httpx2.ConnectTimeout(text)
        case TimeoutError():
            return httpx2.ReadTimeout(text)
        case aiohttp.ClientConnectorError():
            return httpx2.ConnectError(text)
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientPayloadError() | aiohttp.ClientResponseError():
            return httpx2.RemoteProtocolError(text)
        case aiohttp.InvalidURL():
            return httpx2.UnsupportedProtocol(text)
        case _:
            return httpx2.ReadError(text)
