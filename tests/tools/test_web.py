from __future__ import annotations

import asyncio
import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import replace

import httpx2
import pytest
from backports import zstd

from tests.servers.web_scene import PAGE, RULES, TEXT, get, loopback, plain_text
from tests.servers.web_server import Page, WebServer
from tools.document import Document
from tools.download import PageTransport, Surroundings, WebRules
from tools.fetch import FetchArguments, FetchTool
from tools.find import FindArguments, FindTool
from tools.guard import GuardRules
from tools.tool import ToolFailure
from tools.web import WebPages
from tools.workers import ExtractionPool


def _fail(pages: Mapping[str, Page], target: str = "/", rules: WebRules = RULES, tls: bool = False) -> tuple[str, str]:
    """Kind and line of the failure."""
    with pytest.raises(ToolFailure) as raised:
        get(pages, target, rules=rules, tls=tls)
    assert "\n" not in raised.value.message
    return raised.value.kind, raised.value.message


def test_a_page_becomes_a_document_with_the_hash_of_its_bytes() -> None:
    scene = get({"/a": PAGE}, "/a")
    url = f"http://a.localhost:{scene.port}/a"
    sha256 = hashlib.sha256(TEXT.encode()).hexdigest()
    assert scene.documents == (Document(url, url, TEXT[:5], "text/html; charset=utf-8", TEXT, sha256, "plain 1"),)


def test_what_we_send_is_fixed_and_honest() -> None:
    headers = get({"/": PAGE}, "/").headers[0]
    assert {name: value for name, value in headers.items() if name != "host"} == {
        "user-agent": "Mozilla/5.0 (compatible; pincite/0.1; evaluation of language models)",
        "accept": "text/html,application/xhtml+xml,application/pdf,text/plain;q=0.9,*/*;q=0.5",
        "accept-language": "ja,en;q=0.7",
        "accept-encoding": "gzip, deflate, br, zstd",
    }


def test_a_redirect_leads_to_the_page_and_is_remembered_as_its_final_url() -> None:
    pages = {
        "/old": Page(status=301, headers=("Location: /%E6%96%B0?q=1#x",)),
        "/utf8": Page(status=302, headers=("Location: /新?q=1",)),
        "/%E6%96%B0?q=1": PAGE,
    }
    scene = get(pages, "/old", "/utf8#section")
    host = f"http://a.localhost:{scene.port}"
    assert [(document.url, document.final_url) for document in scene.documents] == [
        (f"{host}/old", f"{host}/%E6%96%B0?q=1"),
        (f"{host}/utf8#section", f"{host}/%E6%96%B0?q=1"),
    ]


def test_a_redirect_in_shift_jis_arrives_as_the_bytes_it_was() -> None:
    raw = b"HTTP/1.1 302 X\r\nLocation: /\x93\x8c\r\nContent-Length: 0\r\n\r\n"
    assert get({"/": Page(raw=raw), "/%93%8C": PAGE}, "/").targets == ("/", "/%93%8C")


def test_a_url_in_full_width_letters_gets_the_identity_that_it_stands_for() -> None:
    scene = get({"/a": PAGE}, "ｈｔｔｐ：／／ａ．ｌｏｃａｌｈｏｓｔ：PORT／ａ")
    assert scene.documents[0].url == scene.documents[0].final_url == f"http://a.localhost:{scene.port}/a"


ELSEWHERE = "the page redirects elsewhere, and "


@pytest.mark.parametrize(
    ("location", "kind", "line"),
    [
        ("http://10.0.0.1/", "blocked", ELSEWHERE + "10.0.0.1 is not a public address"),
        ("http://169.254.169.254/latest/", "blocked", ELSEWHERE + "169.254.169.254 is not a public address"),
        ("http://private.example.jp/", "blocked", "private.example.jp (10.0.0.1) is not a public address"),
        ("http://0x7f.1/", "blocked", ELSEWHERE + "0x7f.1 is an address in an unusual notation"),
        ("http://a.localhost:22/", "refused", ELSEWHERE + "port 22 is not allowed"),
        (
            "file:///etc/passwd",
            "refused",
            ELSEWHERE + "the scheme file: is not allowed; only http:// and https:// pages can be opened",
        ),
        (
            "http://u:p@a.localhost/",
            "refused",
            ELSEWHERE + "a URL with a user name or password is not allowed",
        ),
        ("http://[::1", "http_error", "the page redirects to something that is no URL"),
        ("http:////]", "http_error", "the page redirects to something that is no URL"),
        ("http://exa mple.jp/", "http_error", ELSEWHERE + "the URL has no valid host name"),
        ("/", "http_error", "more than 5 redirects; the page cannot be reached"),
    ],
)
def test_every_hop_of_a_redirect_is_guarded(location: str, kind: str, line: str) -> None:
    assert _fail({"/": Page(status=302, headers=(f"Location: {location}",))}) == (kind, line)


def test_five_redirects_are_followed_and_six_are_not() -> None:
    pages = {f"/{i}": Page(status=307, headers=(f"Location: /{i + 1}",)) for i in range(6)} | {"/6": PAGE}
    assert get(pages, "/1").documents[0].text == TEXT
    assert _fail(pages, "/0")[0] == "http_error"


@pytest.mark.parametrize(
    ("status", "kind", "line"),
    [
        (404, "not_found", "a.localhost says that there is no such page (HTTP 404)"),
        (410, "not_found", "a.localhost says that there is no such page (HTTP 410)"),
        (403, "http_error", "a.localhost does not let us read this page (HTTP 403)"),
        (401, "http_error", "a.localhost does not let us read this page (HTTP 401)"),
        (429, "rate_limited", "a.localhost asks for fewer requests (HTTP 429); try another page"),
        (500, "http_error", "a.localhost has a fault of its own (HTTP 500)"),
        (503, "http_error", "a.localhost has a fault of its own (HTTP 503)"),
        (304, "http_error", "a.localhost answers with HTTP 304 and no page"),
    ],
)
def test_a_status_is_said_in_one_line(status: int, kind: str, line: str) -> None:
    assert _fail({"/": Page(b"x" * 99, status)}) == (kind, line)


NO_HTTP = "a.localhost broke off or does not speak HTTP as it should"
LARGE = "the page is larger than 1 MB"
LATE = "a.localhost did not send the page within 0.4 s"


def _packed(coding: str, body: bytes) -> Page:
    return Page(body, headers=(f"Content-Encoding: {coding}",))


@pytest.mark.parametrize(
    ("page", "kind", "line"),
    [
        (Page(b""), "empty", "the page is empty (0 bytes)"),
        (Page(b"x", reset=True), "network_error", "the connection to a.localhost was lost"),
        (Page(raw=b""), "network_error", NO_HTTP),
        (Page(raw=b"220 ftp ready\r\n\r\n"), "network_error", NO_HTTP),
        (Page(b"short", length="500"), "network_error", NO_HTTP),
        (Page(headers=("X: " + "a" * 200_000,)), "network_error", NO_HTTP),
        (_packed("gzip", b"<html>"), "undecodable", "the page is not gzip, although its header says so"),
        (_packed("gzip", gzip.compress(b"x" * 99)[:-9]), "undecodable", "the gzip data of the page ends too early"),
        (_packed("br, gzip, br", b"x"), "undecodable", "the page is packed more than twice"),
        (Page(b"x" * 2_000_001), "too_large", LARGE),
        (Page(b"x", length="99999999999"), "too_large", LARGE),
        (Page(b"x" * 1_000, endless=True), "too_large", LARGE),
        (Page(b"x" * 1_000, endless=True, chunked=True), "too_large", LARGE),
        (_packed("gzip", gzip.compress(b"\0" * 50_000_000)), "too_large", LARGE),
        (_packed("zstd", zstd.compress(b"\0" * 50_000_000)), "too_large", LARGE),
        (Page(b"drip" * 100, drip_s=0.05), "timeout", LATE),
        (Page(b"late", silent_s=3), "timeout", LATE),
    ],
)
def test_what_a_server_may_do_wrong_is_one_plain_line(page: Page, kind: str, line: str) -> None:
    rules = replace(RULES, max_body_bytes=1_000_000, total_timeout_s=0.4 if kind == "timeout" else 20)
    assert _fail({"/": page}, rules=rules) == (kind, line)


def test_a_body_longer_than_announced_ends_where_it_was_said_to_end() -> None:
    raw = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\n" + "東京都".encode()
    assert get({"/": Page(raw=raw)}, "/").documents[0].text == "東京"


def test_a_silent_server_is_left_after_the_idle_time() -> None:
    with pytest.raises(ToolFailure) as raised:
        get({"/": Page(b"x", silent_s=3)}, "/", rules=replace(RULES, idle_timeout_s=0.2))
    assert (raised.value.kind, raised.value.message) == ("timeout", "a.localhost went silent")


def test_an_endless_body_is_not_read_beyond_the_cap() -> None:
    async def scene() -> int:
        async with WebServer({"/": Page(b"x" * 100_000, endless=True)}) as server:
            guard = GuardRules(allow_ports=(server.port,), allow_loopback=True)
            rules = replace(RULES, max_body_bytes=1_000_000, guard=guard)
            async with WebPages(rules, plain_text, PageTransport(rules, Surroundings(loopback))) as web:
                with pytest.raises(ToolFailure):
                    await web.get(server.url("/"))
            await asyncio.sleep(0.1)
            return server.n_sent_bytes

    assert asyncio.run(scene()) < 20_000_000  # what socket buffers hold, not more


@pytest.mark.parametrize("url", ["http://nowhere.example.jp/", "http://private.example.jp/", "http://a.localhost:1/"])
def test_names_and_addresses_fail_in_one_line(url: str) -> None:
    kinds = {
        "http://nowhere.example.jp/": ("network_error", "no address is known for the host nowhere.example.jp"),
        "http://private.example.jp/": ("blocked", "private.example.jp (10.0.0.1) is not a public address"),
        "http://a.localhost:1/": ("refused", "port 1 is not allowed"),
    }
    with pytest.raises(ToolFailure) as raised:
        get({}, url)
    assert (raised.value.kind, raised.value.message) == kinds[url]


def test_a_refused_connection_and_a_bad_certificate_are_told_apart() -> None:
    assert _fail({"/": PAGE}, tls=True) == (
        "network_error",
        "the certificate of a.localhost cannot be trusted (self-signed certificate)",
    )
    assert get({"/": PAGE}, "/", tls=True, trust=True).documents[0].text == TEXT
    with pytest.raises(ToolFailure, match=r"^a\.localhost refuses the connection$"):
        get({}, "http://a.localhost:80/")


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", gzip.compress(TEXT.encode())),
        ("gzip, zstd", zstd.compress(gzip.compress(TEXT.encode()))),
        ("utf-8", TEXT.encode()),
    ],
)
def test_a_packed_page_is_unpacked_before_its_hash_is_taken(coding: str, body: bytes) -> None:
    document = get({"/": _packed(coding, body)}, "/").documents[0]
    assert (document.text, document.body_sha256) == (TEXT, hashlib.sha256(TEXT.encode()).hexdigest())


def test_every_get_makes_its_own_request_so_that_a_tape_is_complete() -> None:
    asked: list[str] = []

    class Tape(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            asked.append(str(request.url))
            return httpx2.Response(200, headers={"content-type": "text/plain"}, content=TEXT.encode())

    async def scene() -> int:
        n_extracted = 0

        async def counted(body: bytes, *, url: str, header_type: str) -> Document:
            nonlocal n_extracted
            n_extracted += 1
            return await plain_text(body, url=url, header_type=header_type)

        async with WebPages(WebRules(), counted, Tape()) as web:
            for _ in range(3):
                await web.get("https://example.jp/a")
        return n_extracted

    # Public name, robots on, no name server: nothing but the tape is asked.
    assert asyncio.run(scene()) == 1
    assert asked == ["https://example.jp/a"] * 3


@pytest.mark.parametrize(
    ("error", "kind", "line"),
    [
        (httpx2.ConnectError("blocked: a.jp (10.0.0.1) is not public"), "blocked", "a.jp (10.0.0.1) is not public"),
        (httpx2.ReadTimeout("something foreign: else"), "timeout", "the page did not come in time"),
        (httpx2.ReadError(""), "network_error", "the page cannot be reached"),
        (httpx2.DecodingError("x"), "undecodable", "the page is not packed as its header says"),
    ],
)
def test_an_error_from_a_tape_says_the_same_as_it_did_live(error: httpx2.HTTPError, kind: str, line: str) -> None:
    class Tape(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            raise error

    with pytest.raises(ToolFailure) as raised:
        asyncio.run(WebPages(WebRules(), plain_text, Tape()).get("https://example.jp/"))
    assert (raised.value.kind, raised.value.message) == (kind, line)


HTML = """<html><head><meta charset="utf-8"><title>子育て支援</title></head><body><h1>子育て支援</h1>
<p>東京都は令和6年4月に子育て支援制度を改めた。</p><p>対象は０〜２歳児である。<b>&lt;cite&gt;1&lt;/cite&gt;</b></p></body></html>"""


def test_from_bytes_in_shift_jis_to_what_the_model_reads() -> None:
    class Numbers:
        def url_of(self, number: int) -> str | None:
            return url if number == 1 else None

        def may_open(self, url: str) -> bool:
            return True

    url = ""

    async def scene() -> tuple[str, str, list[str]]:
        nonlocal url
        old = Page(status=301, headers=("Location: /new",))
        async with WebServer({"/old": old, "/new": _packed("gzip", gzip.compress(HTML.encode("cp932")))}) as server:
            rules = replace(RULES, guard=GuardRules(allow_ports=(server.port,), allow_loopback=True))
            url = server.url("/old")
            async with (
                ExtractionPool(processes=1) as pool,
                WebPages(rules, pool.extract, PageTransport(rules, Surroundings(loopback))) as web,
            ):
                fetched = await FetchTool(web, "ja").call(FetchArguments(url_or_number=1), Numbers())
                found = await FindTool(web, "ja").call(
                    FindArguments(url_or_number=1, keywords=["2024年4月"]), Numbers()
                )
                assert fetched.seen[0].final_url == server.url("/new")
                return fetched.text([1]), found.text([1]), server.targets()

    fetched, found, targets = asyncio.run(scene())
    assert targets == ["/old", "/new"]
    assert fetched.startswith(f"[1] 子育て支援\nURL: {url}\n範囲: 0–")
    assert "東京都は令和6年4月に子育て支援制度を改めた。" in fetched
    assert "「2024年4月」: 1件" in found
