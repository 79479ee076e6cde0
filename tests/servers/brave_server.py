"""A loopback imitation of the Brave web-search API: what it answers, how it limits, and how it refuses.

Standard library only, because `tests/brave_sdk.py` runs it beside packages that conflict with the project's own.
Shapes follow the API's documentation and recorded replies: rate-limit headers are lists with one entry a window, a bad
key is a 422, an unlimited quota is 0, and a query without results has no `web`.
"""

from __future__ import annotations

import gzip
import html
import json
import re
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

MONTH_S = 2_592_000
OVERLAP = 2
_LANGS = """
ar eu bn bg ca zh-hans zh-hant hr cs da nl en en-gb et fi fr gl de el gu he hi hu is it jp kn ko lv lt ms ml mr nb
pl pt-br pt-pt pa ro ru sr sk sl es sv ta te th tr uk vi
"""
SEARCH_LANGS = frozenset(_LANGS.split())


@dataclass(frozen=True)
class Entry:
    """A page of the imitation's index; text as it stands in the page, joints already in it where Brave puts them."""

    url: str
    title: str
    description: str
    extra_snippets: tuple[str, ...] = ()
    age: str | None = None
    page_age: str | None = None


@dataclass(frozen=True)
class Canned:
    """A reply sent as it is."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    content_type: str = "application/json"
    hang_s: float = 0.0
    drop: bool = False


@dataclass(frozen=True)
class Seen:
    """A request as it came in."""

    params: dict[str, str]
    headers: dict[str, str]


@dataclass
class BraveServer:
    """The state of one imitation. `script` is played first, a reply a request; `canned` answers its query always."""

    index: tuple[Entry, ...] = ()
    key: str = "BSA-loopback-key"
    per_second: int = 0
    """Requests in a sliding second, counted on arrival; 0 = no limit, and no waiting in tests."""
    per_month: int = 0
    used_this_month: int = 0
    month_reset_s: int = 389_223
    canned: dict[str, Canned] = field(default_factory=dict[str, Canned])
    script: list[Canned] = field(default_factory=list[Canned])
    seen: list[Seen] = field(default_factory=list[Seen])
    base_url: str = ""
    _arrivals: list[float] = field(default_factory=list[float])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, params: dict[str, str], headers: dict[str, str]) -> Canned:
        """The reply to one request; the request is remembered in `seen`."""
        with self._lock:
            self.seen.append(Seen(params, headers))
            if self.script:
                return self.script.pop(0)
            refusal = self._refuse_token(headers) or self._refuse_parameters(params) or self._refuse_rate()
            if refusal:
                return refusal
            self.used_this_month += 1
            return self.canned.get(params["q"]) or Canned(200, _json(self._results(params)), self.limit_headers())

    def limit_headers(self) -> tuple[tuple[str, str], ...]:
        """The four headers as lists: the second's window, then the month's."""
        left_second = max(0, self.per_second - len(self._arrivals))
        left_month = max(0, self.per_month - self.used_this_month)
        return rate_headers(
            (1, self.per_second, left_second, 1), (MONTH_S, self.per_month, left_month, self.month_reset_s)
        )

    def _refuse_token(self, headers: dict[str, str]) -> Canned | None:
        if "x-subscription-token" not in headers:
            return refusal(422, "VALIDATION", _UNABLE, {"errors": [_bad("header", "x-subscription-token")]})
        if headers["x-subscription-token"] != self.key:
            detail = "The provided subscription token is invalid."
            return refusal(422, "SUBSCRIPTION_TOKEN_INVALID", detail, {"component": "authentication"})
        return None

    def _refuse_parameters(self, params: dict[str, str]) -> Canned | None:
        query = params.get("q", "")
        fits = {
            "q": 0 < len(query) <= 400 and len(query.split()) <= 50,
            "count": _in_range(params.get("count", "20"), 1, 20),
            "offset": _in_range(params.get("offset", "0"), 0, 9),
            "search_lang": params.get("search_lang", "en") in SEARCH_LANGS,
            "country": bool(re.fullmatch(r"[A-Z]{2}|ALL", params.get("country", "US"))),
            "ui_lang": bool(re.fullmatch(r"[a-z]{2}-[A-Z]{2}", params.get("ui_lang", "en-US"))),
            "safesearch": params.get("safesearch", "moderate") in ("off", "moderate", "strict"),
        }
        fits |= {
            flag: params.get(flag, "true").lower() in ("true", "false", "1", "0")
            for flag in ("spellcheck", "text_decorations", "extra_snippets")
        }
        errors = [_bad("query", name) for name, is_fit in fits.items() if not is_fit]
        return refusal(422, "VALIDATION", _UNABLE, {"errors": errors}) if errors else None

    def _refuse_rate(self) -> Canned | None:
        now = time.monotonic()
        self._arrivals = [arrival for arrival in self._arrivals if now - arrival < 1.0]
        is_month_gone = self.per_month > 0 and self.used_this_month >= self.per_month
        if not is_month_gone and (self.per_second == 0 or len(self._arrivals) < self.per_second):
            self._arrivals.append(now)
            return None
        meta = {
            "plan": "Free", "rate_limit": self.per_second, "rate_current": len(self._arrivals),
            "quota_limit": self.per_month, "quota_current": self.used_this_month, "component": "rate_limiter",
        }  # fmt: skip
        detail = "Request rate limit exceeded for plan"
        return refusal(429, "RATE_LIMITED", detail, meta, self.limit_headers())

    def _results(self, params: dict[str, str]) -> dict[str, object]:
        count, offset = int(params.get("count", "20")), int(params.get("offset", "0"))
        ranked = self._ranked(params["q"])
        first = offset * (count - OVERLAP) if count > OVERLAP else offset * count
        shown = [_result(entry, params) for entry in ranked[first : first + count]]
        query: dict[str, object] = {
            "original": params["q"], "show_strict_warning": False, "is_navigational": False, "is_news_breaking": False,
            "spellcheck_off": not _is_on(params.get("spellcheck", "true")),
            "country": params.get("country", "us").lower(),
            "bad_results": not shown, "should_fallback": not shown, "postal_code": "", "city": "", "header_country": "",
            "more_results_available": first + count < len(ranked), "state": "",
        }  # fmt: skip
        body: dict[str, object] = {"query": query, "mixed": {"type": "mixed", "main": [], "top": [], "side": []}}
        body["type"] = "search"
        if shown:
            body["web"] = {"type": "search", "results": shown, "family_friendly": True}
        if "web" not in params.get("result_filter", ""):
            body["videos"] = {"type": "videos", "results": []}
        return body

    def _ranked(self, query: str) -> list[Entry]:
        wanted = _bigrams(query)
        scored = [(len(wanted & _bigrams(entry.title + entry.description)), entry) for entry in self.index]
        hits = sorted((pair for pair in scored if pair[0]), key=lambda pair: (-pair[0], pair[1].url))
        return [entry for _, entry in hits]


@contextmanager
def serving(server: BraveServer) -> Generator[BraveServer]:
    """`server` at a free port of the loopback address, `base_url` set, until the block ends."""
    http_server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(server))
    http_server.daemon_threads = True
    thread = threading.Thread(target=http_server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    server.base_url = f"http://127.0.0.1:{http_server.server_address[1]}"
    try:
        yield server
    finally:
        http_server.shutdown()
        thread.join()
        http_server.server_close()


def rate_headers(*windows: tuple[int, int, int, int]) -> tuple[tuple[str, str], ...]:
    """The four `X-RateLimit-*` headers of (window seconds, limit, remaining, reset seconds), in that order."""
    return (
        ("X-RateLimit-Limit", ", ".join(str(limit) for _, limit, _, _ in windows)),
        ("X-RateLimit-Policy", ", ".join(f"{limit};w={window}" for window, limit, _, _ in windows)),
        ("X-RateLimit-Remaining", ", ".join(str(left) for _, _, left, _ in windows)),
        ("X-RateLimit-Reset", ", ".join(str(reset) for _, _, _, reset in windows)),
    )


def refusal(
    status: int, code: str, detail: str, meta: Mapping[str, object], headers: tuple[tuple[str, str], ...] = ()
) -> Canned:
    """An ErrorResponse."""
    error = {"id": "0", "status": status, "code": code, "detail": detail, "meta": meta}
    return Canned(status, _json({"type": "ErrorResponse", "error": error, "time": 1773685964}), headers)


_UNABLE = "Unable to validate request parameter(s)"


def _handler(server: BraveServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path != "/res/v1/web/search":
                self._send(Canned(404, b"<html>Not Found</html>", content_type="text/html"))
                return
            params = {name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
            self._send(server.answer(params, {name.lower(): value for name, value in self.headers.items()}))

        def _send(self, reply: Canned) -> None:
            time.sleep(reply.hang_s)
            if reply.drop:
                self.close_connection = True
                return
            is_zipped = "gzip" in self.headers.get("Accept-Encoding", "") and reply.status == 200
            body = gzip.compress(reply.body, mtime=0) if is_zipped else reply.body
            self.send_response(reply.status)
            for name, value in reply.headers:
                self.send_header(name, value)
            if is_zipped:
                self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Type", reply.content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing: the output of the tests is for the tests."""

    return Handler


def _result(entry: Entry, params: dict[str, str]) -> dict[str, object]:
    description = html.escape(entry.description)
    if _is_on(params.get("text_decorations", "true")):
        for word in params["q"].split():
            description = description.replace(html.escape(word), f"<strong>{html.escape(word)}</strong>")
    parts = urlsplit(entry.url)
    result: dict[str, object] = {
        "title": entry.title, "url": entry.url, "is_source_local": False, "is_source_both": False,
        "description": description, "language": "ja", "family_friendly": True, "type": "search_result",
        "subtype": "generic", "is_live": False,
        "meta_url": {
            "scheme": parts.scheme, "netloc": parts.netloc, "hostname": parts.hostname,
            "favicon": "https://imgs.search.brave.com/x", "path": "",
        },
    }  # fmt: skip
    if entry.extra_snippets and _is_on(params.get("extra_snippets", "false")):
        result["extra_snippets"] = list(entry.extra_snippets)
    optional = {"age": entry.age, "page_age": entry.page_age}
    return result | {name: value for name, value in optional.items() if value is not None}


def _bad(*loc: str) -> dict[str, object]:
    return {"type": "value_error", "loc": list(loc), "msg": "Input should be valid", "input": None}


def _bigrams(text: str) -> set[str]:
    folded = re.sub(r"\s+", " ", text.casefold())
    return {pair for pair in (folded[at : at + 2] for at in range(len(folded) - 1)) if " " not in pair}


def _is_on(flag: str) -> bool:
    """In any case: `requests`, which brave-search's sync client uses, writes `True`."""
    return flag.lower() in ("true", "1")


def _in_range(value: str, lowest: int, highest: int) -> bool:
    return value.isascii() and value.isdigit() and lowest <= int(value) <= highest


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8")
