"""One page off the live web, politely and within limits: what stands below the tape.

Knows: robots.txt, one request a second and host, sizes, times, packed bodies. Must not know: redirects, extraction, the
model, the tape above it.

Everything that only a live run does is here and not in tools/web.py, so that a replay, whose tape answers instead, does
not wait, resolve names or ask for robots.txt. For the same reason pages already fetched are remembered here: each
session's tape then holds each of its own requests, whatever other sessions asked before.

A failure is an httpx2 error whose text is `KIND: line`, KIND being a tools.tool.FailureKind: class and text are what a
tape can keep of an error.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx2

from tools.content_coding import CodingError, Unpacker
from tools.guard import Guard, GuardRules, PinnedTransport, Resolver, system_resolver
from tools.pace import Clock, Pace, Sleep
from tools.robots import Robots, parse_robots
from tools.tool import ToolFailure

AGENT = "pincite"
USER_AGENT = "Mozilla/5.0 (compatible; pincite/0.1; evaluation of language models)"


@dataclass(frozen=True, slots=True)
class WebRules:
    """How pages may be fetched. Sizes in bytes, times in seconds; `max_body_bytes` holds for the body as sent and for
    the body unpacked. `host_interval_s` 0 = as fast as asked. `cache_bytes` bounds what is remembered of the run.
    """

    guard: GuardRules = field(default_factory=GuardRules)
    connect_timeout_s: float = 10.0
    idle_timeout_s: float = 20.0
    total_timeout_s: float = 60.0
    max_body_bytes: int = 50_000_000
    max_redirects: int = 5
    robots: bool = True
    host_interval_s: float = 1.0
    cache_bytes: int = 128 * 2**20


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a download takes from outside: name server, certificates, time."""

    resolver: Resolver = system_resolver
    ssl_context: ssl.SSLContext | None = None
    clock: Clock = time.monotonic
    sleep: Sleep = asyncio.sleep


@dataclass(frozen=True, slots=True)
class _Kept:
    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes

    def response(self) -> httpx2.Response:
        return httpx2.Response(self.status, headers=list(self.headers), content=self.body)


class PageTransport(httpx2.AsyncBaseTransport):
    """Answers a GET with the whole body, unpacked, without its Content-Encoding; only bodies of status 2xx are read.

    Redirects are answered, not followed. Raises httpx2.ConnectError, ConnectTimeout, ReadTimeout, ReadError and
    DecodingError, each with a text as the module says, and RemoteProtocolError for what is no HTTP.
    """

    def __init__(self, rules: WebRules, surroundings: Surroundings | None = None) -> None:
        around = surroundings or Surroundings()
        self._rules = rules
        self._guard = Guard(rules.guard, around.resolver)
        self._pinned = PinnedTransport(self._guard, ssl_context=around.ssl_context)
        interval_s = rules.host_interval_s
        self._pace = Pace(1 / interval_s, clock=around.clock, sleep=around.sleep) if interval_s > 0 else None
        self._clock = around.clock
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._kept_bytes = 0
        self._robots: OrderedDict[str, _RobotsOfHost] = OrderedDict()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response to `request`, from memory where the run has it already."""
        url = str(request.url)
        kept = self._kept.get(url)
        if kept is None:
            if self._rules.robots:
                await self._ask_robots(request)
            kept = await self._download(request)
            self._keep(url, kept)
        return kept.response()

    async def aclose(self) -> None:
        """Close connections and forget everything."""
        self._kept.clear()
        await self._pinned.aclose()

    async def _download(self, request: httpx2.Request) -> _Kept:
        host = request.url.host
        if self._pace is not None:
            await self._pace.acquire(host)
        try:
            async with asyncio.timeout(self._rules.total_timeout_s):
                kept = await self._exchange(request)
        except TimeoutError as error:
            line = f"{host} did not send the page within {self._rules.total_timeout_s:g} s"
            raise httpx2.ReadTimeout(f"timeout: {line}") from error
        except httpx2.ReadTimeout as error:
            raise httpx2.ReadTimeout(f"timeout: {host} went silent") from error
        if kept.status in (429, 503) and self._pace is not None:
            self._pace.penalise(host, self._clock() + _retry_after_s(kept.headers))
        return kept

    async def _exchange(self, request: httpx2.Request) -> _Kept:
        rules = self._rules
        timeout = httpx2.Timeout(rules.idle_timeout_s, connect=rules.connect_timeout_s, pool=None)
        extensions = {**request.extensions, "timeout": timeout.as_dict()}
        asked = httpx2.Request(request.method, request.url, headers=request.headers, extensions=extensions)
        try:
            response = await self._pinned.handle_async_request(asked)
            try:
                body = await _body(response, rules.max_body_bytes) if response.is_success else b""
            finally:
                await response.aclose()
        except httpx2.RemoteProtocolError as error:
            line = f"{request.url.host} broke off or does not speak HTTP as it should"
            raise httpx2.RemoteProtocolError(f"network_error: {line}") from error
        except (httpx2.ReadError, httpx2.WriteError) as error:
            if str(error).startswith("too_large:"):
                raise
            raise httpx2.ReadError(f"network_error: the connection to {request.url.host} was lost") from error
        headers = [(name, value) for name, value in response.headers.raw if name.lower() not in _ABOUT_THE_WIRE]
        return _Kept(response.status_code, tuple(headers), body)

    def _keep(self, url: str, kept: _Kept) -> None:
        if kept.status >= 400 and kept.status not in (404, 410):
            return  # perhaps better next time
        known = self._kept.pop(url, None)
        self._kept[url] = kept
        self._kept_bytes += len(kept.body) - (len(known.body) if known is not None else 0)
        while self._kept_bytes > self._rules.cache_bytes and len(self._kept) > 1:
            self._kept_bytes -= len(self._kept.popitem(last=False)[1].body)

    async def _ask_robots(self, request: httpx2.Request) -> None:
        origin = f"{request.url.scheme}://{request.url.netloc.decode('ascii')}"
        of_host = self._robots.get(origin)
        if of_host is None:
            if len(self._robots) >= MAX_ROBOTS:
                self._robots.popitem(last=False)
            of_host = self._robots[origin] = _RobotsOfHost()
        async with of_host.lock:
            if of_host.robots is None:
                of_host.robots = await self._fetch_robots(origin, request.headers)
        target = request.url.raw_path.decode("ascii")
        if not of_host.robots.allow(target):
            raise httpx2.ConnectError(f"refused: robots.txt of {request.url.host} does not allow this page")

    async def _fetch_robots(self, origin: str, headers: httpx2.Headers) -> Robots:
        """RFC 9309: no such file = everything allowed; a server that cannot say = nothing allowed."""
        url = f"{origin}/robots.txt"
        kind_of_page = {"user-agent": headers.get("user-agent", USER_AGENT), "accept-encoding": "gzip"}
        for _ in range(self._rules.max_redirects + 1):
            kept = await self._download(httpx2.Request("GET", url, headers=kind_of_page))
            location = kept.response().headers.get("location")
            if 300 <= kept.status < 400 and location:
                try:
                    url = self._guard.check_url(str(httpx2.URL(url).join(location))).url
                except (httpx2.InvalidURL, ValueError, ToolFailure):
                    return Robots()
                continue
            if kept.status >= 500 or kept.status == 429:
                host = urlsplit(origin).hostname
                raise httpx2.ConnectError(f"refused: {host} does not say what its robots.txt allows ({kept.status})")
            return parse_robots(kept.body.decode("utf-8", "replace"), AGENT) if kept.status < 300 else Robots()
        return Robots()


@dataclass(slots=True)
class _RobotsOfHost:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    robots: Robots | None = None


MAX_ROBOTS = 1_024
MAX_PENALTY_S = 30.0
_ABOUT_THE_WIRE = (b"content-encoding", b"content-length", b"transfer-encoding", b"connection", b"keep-alive")


async def _body(response: httpx2.Response, max_bytes: int) -> bytes:
    """The unpacked body; stops reading as soon as it is too long, packed or unpacked."""
    announced = response.headers.get("content-length", "")
    if announced.isascii() and announced.isdigit() and int(announced) > max_bytes:
        raise _too_large(max_bytes)
    n_sent = 0
    body = bytearray()
    try:
        unpacker = Unpacker(response.headers.get("content-encoding", ""))
        async for chunk in response.aiter_raw():
            n_sent += len(chunk)
            for piece in unpacker.feed(chunk):
                body += piece
                if len(body) > max_bytes:
                    raise _too_large(max_bytes)
            if n_sent > max_bytes:
                raise _too_large(max_bytes)
        unpacker.finish()
    except CodingError as error:
        raise httpx2.DecodingError(f"undecodable: {error}") from error
    return bytes(body)


def _too_large(max_bytes: int) -> httpx2.ReadError:
    return httpx2.ReadError(f"too_large: the page is larger than {max_bytes / 1e6:g} MB")


def _retry_after_s(headers: tuple[tuple[bytes, bytes], ...]) -> float:
    value = next((value.strip() for name, value in headers if name.lower() == b"retry-after"), b"")
    return min(float(value), MAX_PENALTY_S) if value.isdigit() else 5.0
