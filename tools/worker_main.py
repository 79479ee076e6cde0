"""What runs inside an extraction worker: one request after the other from standard input, answers to standard output.

Knows: the framing of requests and answers, the limits of its own process. Must not know: who asks, what for.

Frames are a four-byte big-endian length and that many bytes. A request is two frames, a JSON object and the page's
bytes; an answer is one, JSON. Nothing is unpickled: a worker that a page has taken over can only answer with text.
"""

from __future__ import annotations

import signal
import sys
from typing import IO, Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter

from tools.document import Document
from tools.extract import extract
from tools.tool import FailureKind, ToolFailure

READY = b"\x06"
_LENGTH_BYTES = 4


class Request(BaseModel):
    """What to extract; the bytes follow in a frame of their own."""

    model_config = ConfigDict(frozen=True)

    url: str
    header_type: str | None


class Done(BaseModel):
    """A document."""

    model_config = ConfigDict(frozen=True)

    outcome: Literal["done"] = "done"
    document: Document


class Failed(BaseModel):
    """A ToolFailure. After `exhausted` the worker is not used again: it ran out of memory on the way."""

    model_config = ConfigDict(frozen=True)

    outcome: Literal["failed"] = "failed"
    kind: FailureKind
    message: str
    exhausted: bool = False


ANSWER: TypeAdapter[Done | Failed] = TypeAdapter(Done | Failed)


def write_frame(stream: IO[bytes], data: bytes) -> None:
    """Raises OSError where the other side is gone."""
    stream.write(len(data).to_bytes(_LENGTH_BYTES, "big"))
    stream.write(data)
    stream.flush()


def read_frame(stream: IO[bytes]) -> bytes | None:
    """The next frame, or None where the other side has closed."""
    length = stream.read(_LENGTH_BYTES)
    if len(length) < _LENGTH_BYTES:
        return None
    data = stream.read(int.from_bytes(length, "big"))
    return data if len(data) == int.from_bytes(length, "big") else None


def main(memory_bytes: int, alarm_s: int) -> None:
    """Answer until standard input ends. Dies by itself `alarm_s` after a request, should the asker be dead."""
    _limit(memory_bytes)
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    answers.write(READY)
    answers.flush()
    while (head := read_frame(requests)) is not None and (body := read_frame(requests)) is not None:
        _alarm(alarm_s)
        answer = _answer(Request.model_validate_json(head), body)
        write_frame(answers, answer.model_dump_json().encode("utf-8"))
        _alarm(0)
        if isinstance(answer, Failed) and answer.exhausted:
            return


def _answer(request: Request, body: bytes) -> Done | Failed:
    try:
        return Done(document=extract(body, url=request.url, header_type=request.header_type))
    except ToolFailure as failure:
        return Failed(kind=failure.kind, message=failure.message)
    except RecursionError:
        return Failed(kind="too_complex", message="ページの構造が複雑すぎます。")
    except MemoryError:
        return Failed(kind="too_large", message="ページの処理に使うメモリが上限を超えました。", exhausted=True)


def _limit(memory_bytes: int) -> None:
    # Ctrl-C is for the run: it ends its workers itself, after it has saved what it has.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        import resource  # noqa: PLC0415  (absent on Windows)
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _alarm(seconds: int) -> None:
    if sys.platform != "win32":
        signal.alarm(seconds)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
