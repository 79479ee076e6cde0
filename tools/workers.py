"""Extraction in worker processes with time and memory limits: one page can never stall or kill a run.

Knows: processes, and when one must be killed. Must not know: what extraction does.

Workers are plain child processes with pipes, started at the first page that needs one, in a session of their own (Ctrl-C
in the terminal does not reach them), with the run's import path and nothing else of its environment: no key is there to
be read. Threads wait on the pipes; whoever gives up on a page kills the worker, and the thread ends with it.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import IO, Self, assert_never, cast

from pydantic import ValidationError

from tools.document import Document
from tools.extract import extract, is_text, sniff
from tools.tool import SetupError, ToolFailure
from tools.worker_main import ANSWER, READY, Done, Failed, Request, read_frame, write_frame

_INLINE_BYTES = 65_536
_START_S = 60.0
"""What the start of a worker may take on top of the page's time: imports, on a machine that is busy."""

_PAGES_PER_WORKER = 500
"""A worker is replaced after so many pages: extractors cache what they saw, and memory grows."""


class _WorkerDiedError(Exception):
    """The worker's pipe closed before an answer came; `started` is False where it never began to work."""

    def __init__(self, *, started: bool) -> None:
        super().__init__()
        self.started = started


class ExtractionPool:
    """Up to `processes` workers, each with `memory_bytes` of address space; `timeout_s` for one page.

    An async context manager; leaving it ends all workers. A page that stalls, dies or eats memory ends only its own
    worker, and the next page gets a new one.
    """

    def __init__(self, *, processes: int = 2, timeout_s: float = 60.0, memory_bytes: int = 2_000_000_000) -> None:
        self._timeout_s = timeout_s
        self._memory_bytes = memory_bytes
        self._slots = asyncio.Semaphore(processes)
        self._threads = ThreadPoolExecutor(processes, thread_name_prefix="extract")
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all workers and wait until they are gone; pages under way fail. May be called twice."""
        self._closed = True
        for worker in [*self._busy, *self._idle]:
            worker.kill()
        self._threads.shutdown(wait=True)
        for worker in [*self._busy, *self._idle]:
            worker.bury()
        self._idle.clear()
        self._busy.clear()

    async def extract(self, body: bytes, *, url: str, header_type: str | None) -> Document:
        """As tools.extract.extract; raises ToolFailure also for timeout, too_large (memory), too_complex (it died).

        Short plain text is read at once, without a worker.
        """
        if len(body) <= _INLINE_BYTES and is_text(kind := sniff(body, header_type)) and kind != "text/html":
            return extract(body, url=url, header_type=header_type)
        async with self._slots:
            return await self._in_worker(Request(url=url, header_type=header_type), body)

    async def _in_worker(self, request: Request, body: bytes) -> Document:
        if self._closed:
            raise RuntimeError("the extraction pool is closed")
        worker = self._next_worker()
        limit_s = self._timeout_s + (0.0 if worker.n_pages else _START_S)
        exchange = asyncio.get_running_loop().run_in_executor(self._threads, worker.exchange, request, body)
        # Looked at even if nobody waits any more, or asyncio complains of an error that nobody took.
        exchange.add_done_callback(lambda future: future.cancelled() or future.exception())
        done: set[asyncio.Future[Done | Failed]] = set()
        try:
            done, _ = await asyncio.wait({exchange}, timeout=limit_s)
        finally:
            self._busy.discard(worker)
            if not done:  # too slow, or cancelled
                worker.kill()
        if not done:
            await asyncio.wait({exchange})
            raise ToolFailure("timeout", f"ページの処理が{self._timeout_s:g}秒以内に終わりませんでした。")
        return self._document(worker, exchange)

    def _next_worker(self) -> _Worker:
        worker = self._idle.pop() if self._idle else None
        if worker is not None and not worker.alive():
            worker.bury()
            worker = None
        worker = worker or _Worker(self._memory_bytes, self._timeout_s)
        self._busy.add(worker)
        return worker

    def _document(self, worker: _Worker, exchange: asyncio.Future[Done | Failed]) -> Document:
        try:
            answer = exchange.result()
        except _WorkerDiedError as error:
            if self._closed or error.started:
                raise ToolFailure("too_complex", "ページの処理中に抽出プロセスが異常終了しました。") from error
            raise SetupError(
                "the extraction worker does not start; `python -m tools.worker_main 2000000000 60` shows why"
                f" (its memory limit here is {self._memory_bytes} bytes)"
            ) from error
        if worker.usable and not self._closed:
            self._idle.append(worker)
        match answer:
            case Done():
                return answer.document
            case Failed():
                raise ToolFailure(answer.kind, answer.message)
            case _:
                assert_never(answer)


class _Worker:
    """One child process. `exchange` runs in a thread; `kill` may be called from any other."""

    def __init__(self, memory_bytes: int, timeout_s: float) -> None:
        self.n_pages = 0
        self.usable = True
        alarm_s = int(2 * timeout_s + _START_S) + 1
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tools.worker_main", str(memory_bytes), str(alarm_s)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            # A fixed hash seed: no text may hang on the order of a set.
            env={"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONSAFEPATH": "1", "PYTHONHASHSEED": "0"},
        )
        self._requests = cast("IO[bytes]", self._process.stdin)
        self._answers = cast("IO[bytes]", self._process.stdout)

    def exchange(self, request: Request, body: bytes) -> Done | Failed:
        """Send a page and wait for its answer. Raises _WorkerDiedError, and then the process is gone and buried."""
        try:
            if self.n_pages == 0 and self._answers.read(len(READY)) != READY:
                raise _WorkerDiedError(started=False)
            self.n_pages += 1
            write_frame(self._requests, request.model_dump_json().encode("utf-8"))
            write_frame(self._requests, body)
            frame = read_frame(self._answers)
            if frame is None:
                raise _WorkerDiedError(started=True)
            answer = ANSWER.validate_json(frame)
        except _WorkerDiedError:
            self.bury()
            raise
        except (OSError, ValidationError) as error:
            self.bury()
            raise _WorkerDiedError(started=True) from error
        if self.n_pages >= _PAGES_PER_WORKER or (isinstance(answer, Failed) and answer.exhausted):
            self.bury()
        return answer

    def alive(self) -> bool:
        """False where the process ended by itself or by the system's hand."""
        return self._process.poll() is None

    def kill(self) -> None:
        """End the process at once; a thread that waits for its answer sees the pipe close."""
        self.usable = False
        self._process.kill()

    def bury(self) -> None:
        """Kill, collect the exit code (no zombie stays), close the pipes. May be called twice."""
        self.kill()
        self._process.wait()
        self._answers.close()
        try:
            self._requests.close()
        except OSError:
            return  # what was not yet written has no reader any more; the pipe is closed all the same
