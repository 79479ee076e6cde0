"""An httpx2 transport over the tape of the current session, and the network block.

Knows: httpx2's requests and responses, the context. Must not know: modes, files.

Redirects are not followed here: each hop is an exchange of its own. Bodies reach the tape decoded.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from dataclasses import replace
from typing import Final

import httpx2

from cassettes.context import current_channel, current_outgoing, current_session
from cassettes.errors import TapeError
from cassettes.exchange import Headers, TapeRequest, TapeResponse
from cassettes.failures import exception
from cassettes.live import AiohttpTransport

_OF_THE_WIRE: Final = (b"content-encoding", b"content-length", b"transfer-encoding")
_OURS: Final = b"x-pincite-"
"""What the tape itself says of an answer. A server that sends such a header would be believed when it is played."""


class TapeTransport(httpx2.AsyncBaseTransport):
    """Answers from the tape of the current session, and from `live` where its mode lets it.

    `live` None = the network block: there is nothing behind the tape. Outside of any session a request goes straight to
    `live`, and is refused where there is none. Raises what `SessionTape.exchange` and `live` raise.
    """

    def __init__(self, live: httpx2.AsyncBaseTransport | None) -> None:
        self._live = live

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response to `request`."""
        session, live = current_session(), self._live
        if session is None:
            if live is None:
                raise TapeError(
                    f"the network is blocked, and {request.method} {request.url.host} belongs to no session"
                )
            return await live.handle_async_request(request)
        asked = _asked(request, await request.aread())

        async def go() -> TapeResponse:
            if live is None:
                raise TapeError("the network is blocked")
            return await _live_response(live, request)

        return _response(await session.exchange(asked, go if live is not None else None))

    async def aclose(self) -> None:
        """Close the live transport."""
        if self._live is not None:
            await self._live.aclose()


def _asked(request: httpx2.Request, body: bytes) -> TapeRequest:
    on = current_channel()
    if on is None:
        raise TapeError(f"no channel is set for {request.method} {request.url.host}: wrap the call in on_channel()")
    parts = current_outgoing()
    if parts is not None and not parts.is_body(body):
        parts = None
    return TapeRequest(on.channel, request.method, str(request.url), body, tuple(request.headers.raw), on.place, parts)


async def _live_response(live: httpx2.AsyncBaseTransport, request: httpx2.Request) -> TapeResponse:
    if isinstance(live, AiohttpTransport):
        answer = await live.ask(request)
        return replace(answer, headers=_without(answer.headers))
    response = await live.handle_async_request(request)
    headers = _without(response.headers.raw)
    if response.headers.get("content-type", "").lower().startswith("text/event-stream"):
        return TapeResponse(response.status_code, headers, stream=_chunks(response))
    try:
        body = await response.aread()
    finally:
        await response.aclose()
    return TapeResponse(response.status_code, headers, body)


async def _chunks(response: httpx2.Response) -> AsyncGenerator[bytes]:
    try:
        async for chunk in response.aiter_bytes():
            yield chunk
    finally:
        await response.aclose()


def _response(answer: TapeResponse) -> httpx2.Response:
    headers = list(answer.headers)
    if answer.stream is not None:
        return httpx2.Response(answer.status, headers=headers, stream=_Live(answer.stream))
    if answer.broken is not None:
        return httpx2.Response(answer.status, headers=headers, stream=_Broken(answer.body, answer.broken))
    return httpx2.Response(answer.status, headers=headers, content=answer.body)


def _without(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    return tuple(
        (name, value)
        for name, value in headers
        if name.lower() not in _OF_THE_WIRE and not name.lower().startswith(_OURS)
    )


class _Live(httpx2.AsyncByteStream):
    def __init__(self, chunks: AsyncGenerator[bytes]) -> None:
        self._chunks = chunks

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._chunks

    async def aclose(self) -> None:
        await self._chunks.aclose()


class _Broken(httpx2.AsyncByteStream):
    """A recorded stream that broke off: it breaks again at the same byte."""

    def __init__(self, body: bytes, reason: str) -> None:
        self._body = body
        self._reason = reason

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._body:
            yield self._body
        raise exception(self._reason)
