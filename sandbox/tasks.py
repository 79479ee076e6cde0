"""Running coroutines side by side so that none outlives the caller.

Knows: tasks. Must not know: what they do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
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


async def _end(tasks: Sequence[asyncio.Future[T]]) -> None:
    open_tasks = [task for task in tasks if not task.done()]
    for task in open_tasks:
        task.cancel()
    if open_tasks:
        await asyncio.gather(*open_tasks, return_exceptions=True)
