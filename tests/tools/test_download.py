from __future__ import annotations

import asyncio
import contextlib
import gzip
from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.servers.web_scene import PAGE, RULES, TEXT, get, loopback, plain_text
from tests.servers.web_server import Page, WebServer
from tools.download import PageTransport, Surroundings
from tools.guard import GuardRules
from tools.tool import ToolFailure
from tools.web import WebPages


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
    scene = get(
        {"/a": Page(b"a" * 600), "/b": Page(b"b" * 600)},
        "/a",
        "/b",
        "/a",
        "/a",
        rules=replace(RULES, cache_bytes=1_000),
    )
    assert scene.targets == ("/a", "/b", "/a")


ROBOTS = Page(b"User-agent: *\nDisallow: /secret\n", headers=("Content-Type: text/plain",))
WITH_ROBOTS = replace(RULES, robots=True)


def test_robots_txt_is_asked_once_a_host_and_obeyed() -> None:
    pages = {"/robots.txt": ROBOTS, "/a": PAGE, "/b": PAGE, "/secret/c": PAGE}
    assert get(pages, "/a", "/b", rules=WITH_ROBOTS).targets == ("/robots.txt", "/a", "/b")
    with pytest.raises(ToolFailure) as raised:
        get(pages, "/secret/c", rules=WITH_ROBOTS)
    assert (raised.value.kind, raised.value.message) == (
        "refused",
        "robots.txt of a.localhost does not allow this page",
    )
    assert get(pages, "/secret/c").targets == ("/secret/c",)


def _outcome(pages: Mapping[str, Page], target: str) -> str:
    try:
        get(pages, target, rules=WITH_ROBOTS)
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
        (Page(status=301, headers=("Location: http:////]",)), "fetched"),
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
