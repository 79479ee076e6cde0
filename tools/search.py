"""The search tool: a query in, a numbered page list out.

Knows: the engine protocol and how hits are shown. Must not know: any engine.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Final, Protocol

from pydantic import Field, field_validator

from citations.ledger import page_identity
from citations.model import PageView, Piece
from citations.policy import Policy
from tools.tool import Arguments, Language, PageNumbers, ToolResult, Traffic


@dataclass(frozen=True, slots=True)
class Hit:
    """One search result. `snippets` are page text as the engine gave it, cleaned of markup, without joints."""

    url: str
    title: str
    snippets: tuple[str, ...]
    age: str | None = None


class SearchEngine(Protocol):
    """Anything that ranks pages for a query. The same query must give the same ranking (ties by URL)."""

    @property
    def name(self) -> str:
        """The engine's name as recorded in the provenance."""
        ...

    async def search(self, query: str, count: int, page: int) -> list[Hit]:
        """`count` hits of result page `page` (from 1), best first; empty where there are none.

        Raises ToolFailure for a passing fault and SetupError where the run must stop (bad key, quota gone).
        """
        ...


MAX_QUERY_CHARS: Final = 400
"""What search engines take (Brave's own limit)."""
MAX_RESULT_PAGE: Final = 10


class SearchArguments(Arguments):
    """Arguments of search."""

    query: str = Field(min_length=1, max_length=MAX_QUERY_CHARS)
    result_page: int = Field(default=1, ge=1, le=MAX_RESULT_PAGE)

    @field_validator("query")
    @classmethod
    def _not_blank(cls, query: str) -> str:
        if not query.strip():
            raise ValueError("the query is blank / 検索語が空です")
        return query


_DESCRIPTION: Final[dict[Language, str]] = {
    "ja": (
        "ウェブページを検索し、番号・題名・URL・抜粋の一覧を返します。番号は引用に使い、同じページなら変わりません。"
        f"query は{MAX_QUERY_CHARS}文字までの検索語です。続きは result_page=2 のように指定します（{MAX_RESULT_PAGE}まで）。"
        "抜粋で足りないときは、番号を指定して fetch で本文を読むか、find でページ内を探してください。"
    ),
    "en": (
        "Searches the web and returns a list of pages: number, title, URL and snippets. The number is the one to cite; "
        f"a page keeps it. query has up to {MAX_QUERY_CHARS} characters. Further results: result_page=2 and so on, up "
        f"to {MAX_RESULT_PAGE}. Where snippets are not enough, read the page with fetch or search in it with find."
    ),
}


class SearchTool:
    """search(query, result_page) over an engine. `policy` says when two hits are one page; it is the ledger's.

    Without one, fragments separate pages: a page listed twice does less harm than two that are taken for one.
    """

    name = "search"
    traffic: Traffic = "search"
    arguments = SearchArguments

    def __init__(self, engine: SearchEngine, language: Language, count: int = 10, policy: Policy | None = None) -> None:
        self._engine = engine
        self._language: Language = language
        self._count = count
        # The same pages come up in question after question, and normalising a URL costs more than the rest of a call.
        chosen = policy or Policy(fragment="keep")
        self._identity = lru_cache(maxsize=4096)(partial(page_identity, policy=chosen))
        self.description = _DESCRIPTION[language]

    async def call(self, arguments: Arguments, pages: PageNumbers) -> ToolResult:  # noqa: ARG002
        """The hits, each page once. Raises ToolFailure for a passing fault of the engine, SetupError for a lasting."""
        assert isinstance(arguments, SearchArguments)
        query, page = arguments.query.strip(), arguments.result_page
        hits = await self._engine.search(query, self._count, page)
        by_page: dict[str, PageView] = {}
        for hit in hits:
            identity = self._identity(hit.url)
            pieces = tuple(Piece(_one_line(snippet)) for snippet in hit.snippets if snippet.strip())
            if identity in by_page:  # the same page again: what it shows more goes to the first
                first = by_page[identity]
                pieces = tuple(dict.fromkeys((*first.pieces, *pieces)))
                by_page[identity] = PageView("search", first.url, first.title, pieces)
            else:
                by_page[identity] = PageView("search", hit.url, _one_line(hit.title), pieces)
        first_rank = (page - 1) * self._count + 1
        return SearchResult(tuple(by_page.values()), _one_line(query), first_rank, self._language)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A finished search: every hit is a view with its snippets as evidence. `first_rank` counts from 1."""

    seen: tuple[PageView, ...]
    query: str
    first_rank: int
    language: Language

    def text(self, numbers: Sequence[int | None]) -> str:
        """The result list with the pages' numbers."""
        japanese = self.language == "ja"
        if not self.seen:
            return (
                f"検索結果はありません（検索語: {self.query}）。" if japanese else f"No results (query: {self.query})."
            )
        last = self.first_rank + len(self.seen) - 1
        span = f"{self.first_rank}–{last}"
        parts = [
            f"検索結果 {span}件目（検索語: {self.query}）" if japanese else f"Results {span} (query: {self.query})"
        ]
        gap = ""
        for number, view in zip(numbers, self.seen, strict=True):
            parts.append(f"{gap}[{'-' if number is None else number}] {view.title}")
            parts.append(f"URL: {_one_line(view.url)}")  # names of files and hostile results may hold line ends
            parts.extend([f"・{piece.text}" for piece in view.pieces])
            gap = "\n"
        return "\n".join(parts)


_LINE_END = re.compile(r"(?<!\s)\s*?[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]\s*")


@lru_cache(maxsize=4_096)
def _one_line(text: str) -> str:
    """`text` with line ends as spaces; a hit is one line a snippet. Remembered, because sessions share hits."""
    return _LINE_END.sub(" ", text.strip())
