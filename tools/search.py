"""The search tool: a query in, a numbered page list out.

Knows: the engine protocol and how hits are shown. Must not know: any engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


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
