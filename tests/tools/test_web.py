from __future__ import annotations

import asyncio
import contextlib
import gzip
import hashlib
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import httpx2
import pytest
from backports import zstd

from tests.servers.web_server import CERTIFICATE, Page, WebServer
from tools.document import Document
from tools.download import PageTransport, Surroundings, WebRules
from tools.guard import GuardRules
from tools.tool import ToolFailure
from tools.web import WebPages

TEXT = "東京都の子育て支援制度は、令和6年に改正された。ｶﾀｶﾅ"
PAGE = Page(TEXT.encode())


async def plain_text(body: bytes, *, url: str, header_type: str) -> Document:
    """The smallest extractor there is: the body is the text."""
    sha256 = hashlib.sha256(body).hexdigest()
    return Document(url, url, body.decode()[:5], header_type, body.decode(), sha256, "plain 1")


async def loopback(host: str) -> Sequence[str]:
    if host.endswith(".localhost"):
        return ["127.0.0.1"]
    if host == "private.example.jp":
        return ["10.0.0.1"]
    raise OSError("no such name")


@dataclass(frozen=True)
class Scene:
    """What a test asks for, and what it saw."""

    documents: tuple[Document, ...]
    targets: tuple[str, ...]
    headers: tuple[Mapping[str, str], ...]
    port: int
    n_sent_bytes: int


RULES = WebRules(robots=False, host_interval_s=0, total_timeout_s=3, idle_timeout_s=3)


def _get(
    pages: Mapping[str, Page], *targets: str, rules: WebRules = RULES, tls: bool = False, trust: bool = False
) -> Scene:
    """Fetch `targets` one after the other; a target without a scheme is a path on a.localhost."""

    async def scene() -> Scene:
        async with WebServer(pages, tls=tls) as server:
            rules_here = replace(rules, guard=GuardRules(allow_ports=(80, 443, server.port), allow_loopback=True))
            context = ssl.create_default_context(cafile=str(CERTIFICATE)) if trust else None
            transport = PageTransport(rules_here, Surroundings(resolver=loopback, ssl_context=context))
            async with WebPages(rules_here, plain_text, transport) as web:
                urls = [server.url(target) if target.startswith("/") else target for target in targets]
                documents = [await web.get(url.replace("PORT", str(server.port))) for url in urls]
            return Scene(
                tuple(documents),
                tuple(server.targets()),
                tuple(seen.headers for seen in server.seen),
                server.port,
                server.n_sent_bytes,
            )

    return asyncio.run(scene())


def _fail(pages: Mapping[str, Page], target: str = "/", rules: WebRules = RULES, tls: bool = False) -> tuple[str, str]:
    """Kind and line of the failure."""
    with pytest.raises(ToolFailure) as raised:
        _get(pages, target, rules=rules, tls=tls)
    assert "\n" not in raised.value.message
    return raised.value.kind, raised.value.message


def test_a_page_becomes_a_document_with_the_hash_of_its_bytes() -> None:
    scene = _get({"/a": PAGE}, "/a")
    url = f"http://a.localhost:{scene.port}/a"
    sha256 = hashlib.sha256(TEXT.encode()).hexdigest()
    assert scene.documents == (Document(url, url, TEXT[:5], "text/html; charset=utf-8", TEXT, sha256, "plain 1"),)


def test_what_we_send_is_fixed_and_honest() -> None:
    headers = _get({"/": PAGE}, "/").headers[0]
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
    scene = _get(pages, "/old", "/utf8#section")
    host = f"http://a.localhost:{scene.port}"
    assert [(document.url, document.final_url) for document in scene.documents] == [
        (f"{host}/old", f"{host}/%E6%96%B0?q=1"),
        (f"{host}/utf8#section", f"{host}/%E6%96%B0?q=1"),
    ]


def test_a_redirect_in_shift_jis_arrives_as_the_bytes_it_was() -> None:
    raw = b"HTTP/1.1 302 X\r\nLocation: /\x93\x8c\r\nContent-Length: 0\r\n\r\n"
    assert _get({"/": Page(raw=raw), "/%93%8C": PAGE}, "/").targets == ("/", "/%93%8C")


def test_a_url_in_full_width_letters_gets_the_identity_that_it_stands_for() -> None:
    scene = _get({"/a": PAGE}, "ｈｔｔｐ：／／ａ．ｌｏｃａｌｈｏｓｔ：PORT／ａ")
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
        ("http://exa mple.jp/", "http_error", ELSEWHERE + "the URL has no valid host name"),
        ("/", "http_error", "more than 5 redirects; the page cannot be reached"),
    ],
)
def test_every_hop_of_a_redirect_is_guarded(location: str, kind: str, line: str) -> None:
    assert _fail({"/": Page(status=302, headers=(f"Location: {location}",))}) == (kind, line)


def test_five_redirects_are_followed_and_six_are_not() -> None:
    pages = {f"/{i}": Page(status=307, headers=(f"Location: /{i + 1}",)) for i in range(6)} | {"/6": PAGE}
    assert _get(pages, "/1").documents[0].text == TEXT
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
    rules = replace(RULES, max_body_bytes=1_000_000, total_timeout_s=0.4)
    assert _fail({"/": page}, rules=rules) == (kind, line)


def test_a_body_longer_than_announced_ends_where_it_was_said_to_end() -> None:
    raw = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\n" + "東京都".encode()
    assert _get({"/": Page(raw=raw)}, "/").documents[0].text == "東京"


def test_a_silent_server_is_left_after_the_idle_time() -> None:
    with pytest.raises(ToolFailure) as raised:
        _get({"/": Page(b"x", silent_s=3)}, "/", rules=replace(RULES, idle_timeout_s=0.2))
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
        _get({}, url)
    assert (raised.value.kind, raised.value.message) == kinds[url]


def test_a_refused_connection_and_a_bad_certificate_are_told_apart() -> None:
    assert _fail({"/": PAGE}, tls=True) == (
        "network_error",
        "the certificate of a.localhost cannot be trusted (self-signed certificate)",
    )
    assert _get({"/": PAGE}, "/", tls=True, trust=True).documents[0].text == TEXT
    with pytest.raises(ToolFailure, match=r"^a\.localhost refuses the connection$"):
        _get({}, "http://a.localhost:80/")


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", gzip.compress(TEXT.encode())),
        ("gzip, zstd", zstd.compress(gzip.compress(TEXT.encode()))),
        ("utf-8", TEXT.encode()),
    ],
)
def test_a_packed_page_is_unpacked_before_its_hash_is_taken(coding: str, body: bytes) -> None:
    document = _get({"/": _packed(coding, body)}, "/").documents[0]
    assert (document.text, document.body_sha256) == (TEXT, hashlib.sha256(TEXT.encode()).hexdigest())


def test_a_page_is_downloaded_once_a_run_and_a_failure_is_tried_again() -> None:
    async def scene() -> list[str]:
        pages = {"/a": PAGE, "/old": Page(status=301, headers=("Location: /a",)), "/busy": Page(b"x", 503)}
        async with WebServer(pages) as server:
            rules = replace(RULES, guard=GuardRules(allow_ports=(server.port,), allow_loopback=True))
            async with WebPages(rules, plain_text, PageTransport(rules, Surroundings(loopback))) as web:
                for target in ("/a", "/a", "/old", "/old"):
                    assert (await web.get(server.url(target))).text == TEXT
                for target in ("/busy", "/busy", "/gone", "/gone"):
                    with pytest.raises(ToolFailure):
                        await web.get(server.url(target))
            return server.targets()

    assert asyncio.run(scene()) == ["/a", "/old", "/busy", "/busy", "/gone"]


def test_what_the_run_remembers_is_bounded() -> None:
    scene = _get(
        {"/a": Page(b"a" * 600), "/b": Page(b"b" * 600)},
        "/a",
        "/b",
        "/a",
        "/a",
        rules=replace(RULES, cache_bytes=1_000),
    )
    assert scene.targets == ("/a", "/b", "/a")


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


ROBOTS = Page(b"User-agent: *\nDisallow: /secret\n", headers=("Content-Type: text/plain",))
WITH_ROBOTS = replace(RULES, robots=True)


def test_robots_txt_is_asked_once_a_host_and_obeyed() -> None:
    pages = {"/robots.txt": ROBOTS, "/a": PAGE, "/b": PAGE, "/secret/c": PAGE}
    assert _get(pages, "/a", "/b", rules=WITH_ROBOTS).targets == ("/robots.txt", "/a", "/b")
    with pytest.raises(ToolFailure) as raised:
        _get(pages, "/secret/c", rules=WITH_ROBOTS)
    assert (raised.value.kind, raised.value.message) == (
        "refused",
        "robots.txt of a.localhost does not allow this page",
    )
    assert _get(pages, "/secret/c").targets == ("/secret/c",)


def _outcome(pages: Mapping[str, Page], target: str) -> str:
    try:
        _get(pages, target, rules=WITH_ROBOTS)
    except ToolFailure as failure:
        return failure.kind
    return "fetched"


@pytest.mark.parametrize(
    ("robots", "outcome"),
    [
        (Page(status=404), "fetched"),
        (Page(status=403), "fetched"),
        (Page(status=301, headers=("Location: /other.txt",)), "refused"),
        (Page(status=301, headers=("Location: /robots.txt",)), "fetched"),
        (Page(status=301, headers=("Location: http://[",)), "fetched"),
        (Page(status=301, headers=("Location: http://10.0.0.1/",)), "fetched"),
        (Page(status=500), "refused"),
        (Page(status=429), "refused"),
        (Page(raw=b""), "network_error"),
        (Page("\ufeffUser-agent: *\nDisallow: /secret".encode()), "refused"),
        (Page(gzip.compress(b"User-agent: *\nDisallow: /"), headers=("Content-Encoding: gzip",)), "refused"),
        (Page(b"\xff\xfe\x00<html>"), "fetched"),
    ],
)
def test_a_robots_txt_that_is_missing_allows_and_one_that_fails_forbids(robots: Page, outcome: str) -> None:
    pages = {"/robots.txt": robots, "/secret": PAGE, "/other.txt": ROBOTS}
    assert _outcome(pages, "/secret") == outcome


def test_a_host_is_asked_once_a_second_and_left_alone_when_it_says_so() -> None:
    class Time:
        now_s = 0.0

        async def sleep(self, seconds: float) -> None:
            self.now_s += seconds
            await asyncio.sleep(0)

    async def scene() -> list[str]:
        time, log = Time(), list[str]()
        busy, long = (Page(status=429, headers=(f"Retry-After: {seconds}",)) for seconds in (20, 9_999))
        async with WebServer({"/": PAGE, "/b": PAGE, "/busy": busy, "/long": long}) as server:
            guard = GuardRules(allow_ports=(server.port,), allow_loopback=True)
            rules = replace(RULES, host_interval_s=1.5, guard=guard, cache_bytes=0)
            around = Surroundings(loopback, None, lambda: time.now_s, time.sleep)
            async with WebPages(rules, plain_text, PageTransport(rules, around)) as web:
                for where in ("a/", "b/", "a/b", "a/busy", "b/b", "a/long", "a/"):
                    host, _, target = where.partition("/")
                    with contextlib.suppress(ToolFailure):
                        await web.get(server.url(f"/{target}", host=f"{host}.localhost"))
                    log.append(f"{where} {time.now_s:g}")
        return log

    assert asyncio.run(scene()) == ["a/ 0", "b/ 0", "a/b 1.5", "a/busy 3", "b/b 3", "a/long 23", "a/ 53"]
