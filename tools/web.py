"""The guarded web as a source of documents: redirects, statuses, and every failure as one line for the model.

Knows: how a URL becomes a document. Must not know: how bytes come (tools/download.py or a tape), how text is extracted
(passed in).
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import replace
from types import TracebackType
from typing import Final, Protocol, Self, TypeGuard, get_args

import httpx2

from tools.document import Document
from tools.download import USER_AGENT, PageTransport
from tools.download import WebRules as WebRules
from tools.guard import Guard
from tools.tool import FailureKind, ToolFailure

MAX_DOCUMENTS: Final = 256

_HEADERS: Final = {
    "User-Agent": USER_AGENT,
    "Accept": "text/html,application/xhtml+xml,application/pdf,text/plain;q=0.9,*/*;q=0.5",
    "Accept-Language": "ja,en;q=0.7",
    "Accept-Encoding": "gzip, deflate, br, zstd",
}


class Extract(Protocol):
    """Bytes to a document; `url` is where they came from, `header_type` the Content-Type as sent ("" if none)."""

    async def __call__(self, body: bytes, *, url: str, header_type: str) -> Document:
        """Raises ToolFailure for what cannot be read."""
        ...


class WebPages:
    """A `PageSource` over HTTP. Without a transport of the caller's (a tape), it goes live by `rules`.

    A document is remembered by what it was extracted from, never by its URL alone: each `get` makes its own requests,
    so that each session's tape is complete, and only a live transport knows which of them need the network.
    """

    def __init__(self, rules: WebRules, extract: Extract, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        self._rules = rules
        self._guard = Guard(rules.guard)
        self._extract = extract
        self._transport = transport or PageTransport(rules)
        self._documents: OrderedDict[str, Document] = OrderedDict()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the transport."""
        await self._transport.aclose()

    async def get(self, url: str) -> Document:
        """The document at `url`; `final_url` is where redirects led. Every failure is a ToolFailure.

        The document's `url` is `url` as given (stripped), so that a page keeps the identity under which it was named;
        only a URL in full-width letters is replaced by the one that it stands for.
        """
        first = self._guard.check_url(url)
        asked = url.strip() if url.strip()[:4].isascii() else first.url
        at = first.url
        for _ in range(self._rules.max_redirects + 1):
            response = await self._request(at)
            location = _location(response)
            if response.status_code not in (301, 302, 303, 307, 308) or not location:
                document = await self._document(response, at)
                return replace(document, url=asked, final_url=asked if at == first.url else at)
            at = self._next(at, location)
        raise ToolFailure("http_error", f"more than {self._rules.max_redirects} redirects; the page cannot be reached")

    async def _request(self, url: str) -> httpx2.Response:
        try:
            response = await self._transport.handle_async_request(httpx2.Request("GET", url, headers=_HEADERS))
            await response.aread()
        except httpx2.HTTPError as error:
            raise _failure(error) from error
        return response

    def _next(self, at: str, location: str) -> str:
        try:
            target = httpx2.URL(at).join(location)
        except (httpx2.InvalidURL, ValueError) as error:  # joining raises plain ones, too
            raise ToolFailure("http_error", "the page redirects to something that is no URL") from error
        try:
            return self._guard.check_url(str(target)).url
        except ToolFailure as failure:
            kind: FailureKind = "http_error" if failure.kind == "bad_arguments" else failure.kind
            raise ToolFailure(kind, f"the page redirects elsewhere, and {failure.message}") from failure

    async def _document(self, response: httpx2.Response, at: str) -> Document:
        _check_status(response.status_code, httpx2.URL(at).host)
        body = response.content
        if not body:
            raise ToolFailure("empty", "the page is empty (0 bytes)")
        header_type = response.headers.get("content-type", "")
        key = f"{hashlib.sha256(body).hexdigest()} {header_type} {at}"
        known = self._documents.get(key)
        if known is None:
            known = self._documents[key] = await self._extract(body, url=at, header_type=header_type)
            while len(self._documents) > MAX_DOCUMENTS:
                self._documents.popitem(last=False)
        else:
            self._documents.move_to_end(key)
        return known


def _check_status(status: int, host: str) -> None:
    if 200 <= status < 300:
        return
    if status in (404, 410):
        raise ToolFailure("not_found", f"{host} says that there is no such page (HTTP {status})")
    if status == 429:
        raise ToolFailure("rate_limited", f"{host} asks for fewer requests (HTTP 429); try another page")
    if status in (401, 403, 407, 451):
        raise ToolFailure("http_error", f"{host} does not let us read this page (HTTP {status})")
    if status >= 500:
        raise ToolFailure("http_error", f"{host} has a fault of its own (HTTP {status})")
    raise ToolFailure("http_error", f"{host} answers with HTTP {status} and no page")


def _failure(error: httpx2.HTTPError) -> ToolFailure:
    """The failure that an error's text names, else the one that its class stands for."""
    kind, colon, line = str(error).partition(": ")
    if colon and _is_kind(kind):
        return ToolFailure(kind, " ".join(line.split()))
    match error:
        case httpx2.TimeoutException():
            return ToolFailure("timeout", "the page did not come in time")
        case httpx2.DecodingError():
            return ToolFailure("undecodable", "the page is not packed as its header says")
        case _:
            return ToolFailure("network_error", "the page cannot be reached")


def _is_kind(text: str) -> TypeGuard[FailureKind]:
    return text in get_args(FailureKind)


def _location(response: httpx2.Response) -> str:
    """Where a redirect leads, as its author meant it: UTF-8, or else bytes that must arrive as they are (Shift_JIS)."""
    raw = next((value for name, value in response.headers.raw if name.lower() == b"location"), b"").strip()
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return "".join(chr(byte) if byte < 0x80 else f"%{byte:02X}" for byte in raw)
