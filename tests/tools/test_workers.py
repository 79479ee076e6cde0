"""A page can lose its own worker, never the run."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tools.document import Document
from tools.extract import extract
from tools.tool import SetupError, ToolFailure
from tools.workers import ExtractionPool

URL = "https://www.example.jp/a.html"
PAGE = "<html><body><h1>児童手当</h1><p>月額１０，０００円です。</p></body></html>".encode("cp932")
# Some ten seconds of work: far beyond any limit used here, and none of it is waited for.
HEAVY = ("<table>" + "<tr><td>東京都</td><td>1</td></tr>" * 250_000 + "</table>").encode()

linux_only = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="children are counted in /proc")


def children() -> set[int]:
    return {int(pid) for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


def run(pool: ExtractionPool, act: Callable[[ExtractionPool], Awaitable[None]]) -> None:
    async def session() -> None:
        async with pool:
            await act(pool)

    before = children()
    asyncio.run(session())
    assert children() == before  # neither a worker nor a zombie is left


async def read(pool: ExtractionPool, body: bytes = PAGE) -> Document:
    return await pool.extract(body, url=URL, header_type="text/html")


async def failure(pool: ExtractionPool, body: bytes) -> str:
    with pytest.raises(ToolFailure) as caught:
        await read(pool, body)
    return caught.value.kind


async def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


@linux_only
def test_worker_gives_what_extract_gives() -> None:
    async def act(pool: ExtractionPool) -> None:
        documents = await asyncio.gather(*(read(pool) for _ in range(5)))
        assert documents == [extract(PAGE, url=URL, header_type="text/html")] * 5

    run(ExtractionPool(processes=2), act)


@linux_only
def test_no_worker_before_the_first_page_that_needs_one() -> None:
    async def act(pool: ExtractionPool) -> None:
        before = children()
        text = await pool.extract("人口,１，２３４人".encode("cp932"), url=URL, header_type="text/csv")
        assert text.text == "人口,１，２３４人"
        assert children() == before
        await read(pool)
        assert len(children() - before) == 1
        await read(pool)
        assert len(children() - before) == 1

    run(ExtractionPool(processes=2), act)


@linux_only
def test_failures_keep_their_kind_and_the_worker() -> None:
    async def act(pool: ExtractionPool) -> None:
        await read(pool)
        workers = children()
        assert await failure(pool, b"\x89PNG\r\n\x1a\n\x00") == "unsupported_type"
        assert await failure(pool, b"<div>" * 20_000 + b"x") == "too_complex"
        assert await failure(pool, b"<html><body></body></html>") == "empty"
        assert children() == workers

    run(ExtractionPool(processes=1), act)


@linux_only
def test_page_that_stalls_is_cut_and_the_next_one_is_read() -> None:
    async def act(pool: ExtractionPool) -> None:
        await read(pool)
        assert await failure(pool, HEAVY) == "timeout"
        assert (await read(pool)).title == "児童手当"

    run(ExtractionPool(processes=1, timeout_s=0.2), act)


@linux_only
def test_page_that_eats_memory_is_too_large() -> None:
    async def act(pool: ExtractionPool) -> None:
        assert await failure(pool, HEAVY) == "too_large"
        assert (await read(pool)).title == "児童手当"

    run(ExtractionPool(processes=1, memory_bytes=300_000_000), act)


@linux_only
def test_worker_that_dies_under_a_page_fails_that_page_alone() -> None:
    async def act(pool: ExtractionPool) -> None:
        before = children()
        await read(pool)
        (worker,) = children() - before
        under_way = asyncio.create_task(failure(pool, HEAVY))
        await asyncio.sleep(0.2)
        os.kill(worker, signal.SIGKILL)
        assert await under_way == "too_complex"
        assert (await read(pool)).title == "児童手当"

    run(ExtractionPool(processes=1), act)


@linux_only
def test_worker_that_died_while_idle_costs_no_page() -> None:
    async def act(pool: ExtractionPool) -> None:
        before = children()
        await read(pool)
        (worker,) = children() - before
        os.kill(worker, signal.SIGKILL)
        await until(lambda: Path(f"/proc/{worker}/stat").read_text().split(") ")[1][0] == "Z")
        assert (await read(pool)).title == "児童手当"

    run(ExtractionPool(processes=1), act)


@linux_only
def test_interrupt_does_not_reach_a_worker() -> None:
    async def act(pool: ExtractionPool) -> None:
        before = children()
        await read(pool)
        (worker,) = children() - before
        assert os.getsid(worker) == worker
        os.kill(worker, signal.SIGINT)
        assert (await read(pool)).title == "児童手当"
        assert children() - before == {worker}

    run(ExtractionPool(processes=1), act)


@linux_only
@pytest.mark.parametrize("after_s", [0.0, 0.3])
def test_cancelled_page_ends_its_worker_and_frees_the_place(after_s: float) -> None:
    async def act(pool: ExtractionPool) -> None:
        before = children()
        await read(pool)
        under_way = asyncio.create_task(read(pool, HEAVY))
        await asyncio.sleep(after_s)
        under_way.cancel()
        with pytest.raises(asyncio.CancelledError):
            await under_way
        assert (await read(pool)).title == "児童手当"
        await until(lambda: len(children() - before) == 1)

    run(ExtractionPool(processes=1), act)


@linux_only
def test_leaving_the_pool_ends_pages_under_way() -> None:
    async def session() -> None:
        async with ExtractionPool(processes=1) as pool:
            await read(pool)
            under_way = asyncio.create_task(read(pool, HEAVY))
            await asyncio.sleep(0.1)
        with pytest.raises(ToolFailure):
            await under_way
        with pytest.raises(RuntimeError):
            await read(pool)

    before = children()
    asyncio.run(session())
    assert children() == before


@linux_only
def test_key_in_the_environment_is_not_handed_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRAVE_API_KEY", "secret")

    async def act(pool: ExtractionPool) -> None:
        before = children()
        await read(pool)
        (worker,) = children() - before
        assert b"secret" not in Path(f"/proc/{worker}/environ").read_bytes()

    run(ExtractionPool(processes=1), act)


@linux_only
def test_worker_that_cannot_start_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")

    async def act(pool: ExtractionPool) -> None:
        with pytest.raises(SetupError, match="does not start"):
            await read(pool)

    run(ExtractionPool(processes=1), act)
