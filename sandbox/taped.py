"""A local corpus on the tape: its searches and documents are recorded like anything else from outside.

Knows: how a hit and a document are written down. Must not know: the corpus. A replay therefore needs no corpus, and a
corpus that was rebuilt or moved cannot change what a recorded run saw.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import urlencode

from pydantic import TypeAdapter

from cassettes.context import current_channel, current_session
from cassettes.errors import TapeError
from cassettes.exchange import TapeRequest, TapeResponse
from sandbox.record import Row
from tools.document import Document, PageSource
from tools.search import Hit, SearchEngine
from tools.tool import FailureKind, ToolFailure

JSON = ((b"content-type", b"application/json"),)


class FailureRow(Row):
    """A ToolFailure as it is recorded."""

    kind: FailureKind
    message: str


class HitsRow(Row):
    """A result list as it is recorded; what stands for a search that no tape has is `{}`."""

    hits: tuple[Hit, ...] = ()


_DOCUMENT = TypeAdapter(Document)
_FAILED = 404


class TapedEngine:
    """A `SearchEngine` behind the tape; `engine` None = nothing but the tape."""

    def __init__(self, name: str, engine: SearchEngine | None) -> None:
        self.name = name
        self._engine = engine

    async def search(self, query: str, count: int, page: int) -> list[Hit]:
        """The hits, recorded or fresh. Raises what the engine raises, and TapeError."""
        engine = self._engine
        url = f"local:search?{urlencode({'q': query, 'count': count, 'page': page}, errors='surrogatepass')}"

        fresh: list[HitsRow] = []

        async def live(engine: SearchEngine) -> TapeResponse:
            row = HitsRow.model_construct(hits=tuple(await engine.search(query, count, page)))
            fresh.append(row)
            return TapeResponse(200, JSON, row.model_dump_json().encode())

        answer = await _exchange(url, None if engine is None else lambda: live(engine))
        # What was asked for just now need not be read back.
        row = fresh[0] if fresh else HitsRow.model_validate_json(answer.body)
        return list(row.hits)


class TapedPages:
    """A `PageSource` behind the tape; `pages` None = nothing but the tape."""

    def __init__(self, pages: PageSource | None) -> None:
        self._pages = pages

    async def get(self, url: str) -> Document:
        """The document, recorded or fresh. Raises ToolFailure, also a recorded one, and TapeError."""
        pages = self._pages

        async def live(pages: PageSource) -> TapeResponse:
            try:
                return TapeResponse(200, JSON, _DOCUMENT.dump_json(await pages.get(url)))
            except ToolFailure as failure:
                row = FailureRow(kind=failure.kind, message=failure.message)
                return TapeResponse(_FAILED, JSON, row.model_dump_json().encode())

        answer = await _exchange(
            f"local:page?{urlencode({'url': url}, errors='surrogatepass')}",
            None if pages is None else lambda: live(pages),
        )
        if answer.status == _FAILED and not answer.body:
            raise ToolFailure("not_found", f"{url} is on none of the recorded runs")
        if answer.status == _FAILED:
            row = FailureRow.model_validate_json(answer.body)
            raise ToolFailure(row.kind, row.message)
        return _DOCUMENT.validate_json(answer.body)


async def _exchange(url: str, live: Callable[[], Awaitable[TapeResponse]] | None) -> TapeResponse:
    session, on = current_session(), current_channel()
    if session is None or on is None:
        raise TapeError(f"{url} was asked outside of any session")
    return await session.exchange(TapeRequest(on.channel, "GET", url, place=on.place), live)
