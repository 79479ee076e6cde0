"""Running coroutines side by side so that none outlives the caller.

Knows: tasks. Must not know: what they do.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Coroutine, Generator, Sequence
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")


async def all_of(coroutines: Sequence[Coroutine[object, None, T]]) -> list[T]:
    """The results in the order given, each coroutine a task of its own: what it sets in its context stays its own.

    The first error cancels the others, waits for their end and is raised as it is (no exception group).
    """
    tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
    try:
        return await asyncio.gather(*tasks)
    finally:
        await _end(tasks)


async def both(first: Coroutine[object, None, T], second: Coroutine[object, None, U]) -> tuple[T, U]:
    """Like `all_of`, for two coroutines of different kinds."""
    one, other = asyncio.create_task(first), asyncio.create_task(second)
    try:
        return await asyncio.gather(one, other)
    finally:
        await _end([one])
        await _end([other])


@contextmanager
def rare_collections() -> Generator[None]:
    """Look for reference cycles less often: a run makes many short-lived objects and few cycles, and Python's default of
    one look per 700 new objects takes a tenth of its time.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


async def _end(tasks: Sequence[asyncio.Future[T]]) -> None:
    open_tasks = [task for task in tasks if not task.done()]
    for task in open_tasks:
        task.cancel()
    if open_tasks:
        await asyncio.gather(*open_tasks, return_exceptions=True)
