"""Search in a local corpus: BM25 over whole pages, snippets cut from the best ones.

Knows: which terms of a query are worth asking for, and the query cache. Must not know: the corpus file's shape.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from tools.corpus import Corpus, Ranked
from tools.search import Hit
from tools.text import bigrams
from tools.windows import snippets

MAX_SHARE: Final = 0.10
"""A term that stands in more than this share of the pages is not asked for: it costs most and says least."""
FEW_PAGES: Final = 20
"""… unless it stands in no more pages than this, so that small corpora keep their terms."""
LEAST_TERMS: Final = 3
"""Where fewer terms are left, the rarest of the dropped ones come back."""
MAX_TERMS: Final = 120
"""The rarest terms of a long question; more change nothing but the time."""
TITLE_WEIGHT: Final = 2.0

N_SNIPPETS: Final = 2
SNIPPET_CHARS: Final = 180


@dataclass(frozen=True, slots=True)
class EngineStats:
    """Counters since the engine was made. `cpu_s` is CPU time of the searches that the cache did not answer."""

    n_searches: int
    n_cached: int
    cpu_s: float


class LocalEngine:
    """A corpus as a search engine. The same query gives the same hits, ties by URL."""

    name = "local"

    def __init__(self, corpus: Corpus, *, cache_size: int = 512) -> None:
        self._corpus = corpus
        self._cache_size = cache_size
        self._cache: OrderedDict[tuple[str, int, int], tuple[Hit, ...]] = OrderedDict()
        self._lock = threading.Lock()
        self._n_searches = self._n_cached = 0
        self._cpu_s = 0.0

    async def search(self, query: str, count: int, page: int) -> list[Hit]:
        """The hits of one result page; searched in a thread, so that other questions go on meanwhile."""
        key = (query, count, page)
        self._n_searches += 1
        hits = self._cache.get(key)
        if hits is not None:
            self._cache.move_to_end(key)
            self._n_cached += 1
            return list(hits)
        hits = await asyncio.to_thread(self._timed, query, count, page)
        self._cache[key] = hits
        if len(self._cache) > self._cache_size:
            self._cache.popitem(last=False)
        return list(hits)

    def stats(self) -> EngineStats:
        """How much was searched, how much of it the cache answered, and the CPU time of the rest."""
        with self._lock:
            return EngineStats(self._n_searches, self._n_cached, self._cpu_s)

    def _timed(self, query: str, count: int, page: int) -> tuple[Hit, ...]:
        begun = time.thread_time()
        hits = tuple(self.find(query, count, page))
        with self._lock:
            self._cpu_s += time.thread_time() - begun
        return hits

    def find(self, query: str, count: int, page: int) -> list[Hit]:
        """The hits of one result page (from 1), best first, without cache or thread."""
        terms = self._terms(query)
        ranked = self.rank(query, count, page)
        return [self._hit(place, terms) for place in ranked]

    def rank(self, query: str, count: int, page: int) -> list[Ranked]:
        """The pages of one result page (from 1), best first."""
        terms = self._terms(query)
        if not terms:
            return []
        return self._corpus.ranked(tuple(terms), title_weight=TITLE_WEIGHT, count=count, offset=(page - 1) * count)

    def _terms(self, query: str) -> dict[str, float]:
        """The terms of the query worth asking for, in its order, each with its weight (inverse page frequency)."""
        n_documents = self._corpus.n_documents
        n_pages = self._corpus.n_pages_with(tuple(dict.fromkeys(bigrams(query))))
        rarest = sorted(n_pages, key=lambda term: n_pages[term])
        limit = max(MAX_SHARE * n_documents, FEW_PAGES)
        n_kept = sum(n_pages[term] <= limit for term in rarest)
        kept = set(rarest[: min(MAX_TERMS, max(LEAST_TERMS, n_kept))])
        return {term: math.log((n_documents + 1) / (n + 0.5)) for term, n in n_pages.items() if term in kept}

    def _hit(self, place: Ranked, terms: dict[str, float]) -> Hit:
        document = self._corpus.page(place.page)
        return Hit(document.url, document.title, tuple(snippets(document.text, terms, N_SNIPPETS, SNIPPET_CHARS)))
