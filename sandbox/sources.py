"""Where searches and pages come from: a local corpus or the guarded web, over the tape.

Knows: which setting chooses which engine and page source. Must not know: models, sessions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx2

from cassettes.live import AiohttpTransport
from cassettes.transport import TapeTransport
from sandbox.benchmarks.sample import MANIFEST
from sandbox.folder.provenance import Facts
from sandbox.folder.text_store import TEXT, TextStore
from sandbox.settings import FetchSettings, RunSettings
from sandbox.taped import TapedEngine, TapedPages
from tools.corpus import FILE, Corpus, CorpusPages, build, open_corpus
from tools.document import PageSource
from tools.download import PageTransport
from tools.engines.brave import KEY_MARK, BraveEngine, BraveSettings, Unpaced
from tools.engines.brave_sdk import BraveSdkEngine
from tools.engines.local import LocalEngine
from tools.extract import extract, rules
from tools.guard import GuardRules
from tools.pace import Sleep, TokenBucket
from tools.search import SearchEngine
from tools.tool import SetupError
from tools.web import WebPages, WebRules
from tools.workers import ExtractionPool

SAMPLE_CORPUS = "corpus"
"""Where a run of the bundled sample keeps its corpus, inside its own folder."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Search engine and page source. `facts` go into the provenance; `corpus` is there where one is searched live."""

    engine: SearchEngine
    pages: PageSource
    facts: Facts
    corpus: Corpus | None = None


def local_sources(settings: RunSettings, out: Path) -> Sources:
    """A local corpus, searched live and recorded. Raises SetupError where there is none."""
    if settings.search.corpus:
        corpus = open_corpus(Path(settings.search.corpus))
    else:
        folder = out / SAMPLE_CORPUS
        if not (folder / FILE).exists():  # the folder alone may be what a start left that was stopped while it built
            build(MANIFEST, folder, extract=extract)
        corpus = open_corpus(folder)
    fragment = "keep" if corpus.keeps_fragments else "drop"
    facts: Facts = {"engine": "local", "corpus": corpus.digest, "count": settings.search.count, "fragment": fragment}
    return Sources(
        TapedEngine("local", LocalEngine(corpus)), TapedPages(CorpusPages(corpus, settings.language)), facts, corpus
    )


@dataclass(frozen=True, slots=True)
class Web:
    """How the web is there: `environ` None = the tape alone answers (`reextract`: page text is made anew then). Without
    `keeps_text` no text is written to the run folder; `texts`: those of the runs that are played. `sleep`: how the search
    engine's limits are waited for.
    """

    environ: Mapping[str, str] | None
    reextract: bool = False
    keeps_text: bool = True
    texts: tuple[Path, ...] = ()
    sleep: Sleep = asyncio.sleep


async def web_sources(stack: AsyncExitStack, settings: RunSettings, out: Path, web: Web) -> Sources:
    """Brave and the guarded web. Raises SetupError where a live search has no key."""
    search, environ = settings.search, web.environ
    live = environ is not None
    key = environ.get(search.brave_key_env, "") if environ is not None else KEY_MARK
    if not key:
        raise SetupError(
            f"--search {search.engine} needs a Brave key in {search.brave_key_env}; "
            "or search your own documents: --search local --corpus DIR"
        )
    brave = _brave_settings(settings)
    # One bucket for all sessions: the limit is the account's.
    pace = TokenBucket(1 / search.brave_interval_s, sleep=web.sleep) if live and search.brave_interval_s else Unpaced()
    transport = TapeTransport(AiohttpTransport(connections=4, total_timeout_s=30.0) if live else None)
    client = await stack.enter_async_context(httpx2.AsyncClient(transport=transport, trust_env=False))
    kind = BraveSdkEngine if search.engine == "brave-sdk" else BraveEngine
    pool = await stack.enter_async_context(ExtractionPool())
    texts = TextStore(out / TEXT, pool.extract, rules, web.reextract, web.keeps_text, web.texts)
    web_rules = page_rules(settings.fetch)
    pages = WebPages(web_rules, texts, TapeTransport(PageTransport(web_rules) if live else None))
    return Sources(kind(client, brave, key, pace), await stack.enter_async_context(pages), brave.facts(search.engine))


def taped_local_sources(facts: Facts) -> Sources:
    """A recorded local corpus: the tape alone answers."""
    return Sources(TapedEngine("local", None), TapedPages(None), facts)


def no_sources() -> Sources:
    """Nothing to search: for benchmarks without tools, whose model is offered none."""
    return Sources(TapedEngine("none", None), TapedPages(None), {"engine": "none"})


def _brave_settings(settings: RunSettings) -> BraveSettings:
    search = settings.search
    return BraveSettings(
        base_url=search.brave_base_url,
        country=search.brave_country,
        search_lang=search.brave_search_lang,
        ui_lang=search.brave_ui_lang,
        safesearch=search.brave_safesearch,
        language=settings.language,
    )


def page_rules(fetch: FetchSettings) -> WebRules:
    """How pages of the web may be fetched."""
    return WebRules(
        guard=GuardRules(allow_loopback=fetch.allow_loopback, domain_suffixes=fetch.domains, allow_ports=fetch.ports),
        total_timeout_s=fetch.timeout_s,
        max_body_bytes=fetch.max_body_bytes,
        robots=fetch.robots,
        host_interval_s=fetch.host_interval_s,
    )
