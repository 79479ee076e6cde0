from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from cassettes.exchange import TapeRequest, TapeResponse
from cassettes.modes import Modes
from cassettes.tape import TapeSet


def search(query: str, place: str = "") -> TapeRequest:
    return TapeRequest("search", "GET", f"https://api.search.example/res/v1/web/search?q={query}", place=place)


def answering(*bodies: str) -> Callable[[], Awaitable[TapeResponse]]:
    left = list(bodies)

    async def live() -> TapeResponse:
        await asyncio.sleep(0)
        return TapeResponse(200, ((b"content-type", b"application/json"),), left.pop(0).encode())

    return live


def test_identical_requests_get_their_answers_in_order(tmp_path: Path) -> None:
    async def record() -> None:
        live = answering("一つ目", "二つ目")
        with TapeSet(tmp_path, Modes.record()) as tapes, tapes.session("問1/子育て.r0") as tape:
            await tape.exchange(search("東京"), live)
            await tape.exchange(search("東京"), live)

    async def replay() -> list[str]:
        with TapeSet(tmp_path, Modes.sealed()) as tapes, tapes.session("問1/子育て.r0") as tape:
            return [(await tape.exchange(search("東京"), None)).body.decode() for _ in range(2)]

    asyncio.run(record())
    assert asyncio.run(replay()) == ["一つ目", "二つ目"]
