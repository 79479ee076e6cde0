"""A test server in a thread of its own, for commands that bring their own event loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Generator
from typing import Any, TypeVar

S = TypeVar("S", bound=contextlib.AbstractAsyncContextManager[Any])


@contextlib.contextmanager
def threaded(server: S) -> Generator[S]:
    """The server, up while the block runs; what it still does at the end is cancelled."""
    loop = asyncio.new_event_loop()
    ready, done = threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with server:
            ready.set()
            await done.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    ready.wait()
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0.01))
        loop.close()
