"""Puts a run's parts together from its settings: clients, search engine, page source, tools, rubrics.

Knows: which setting chooses which part. Must not know: how a sample goes. Everything that talks to the outside is made
here, once, and closed when the run ends.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
from openai import AsyncOpenAI

from cassettes.live import AiohttpTransport
from cassettes.redact import Redactor
from citations.policy import Policy
from sandbox.assess import Judging
from sandbox.baseline.judge import judge_reply
from sandbox.baseline.model import model_reply
from sandbox.baseline.transport import BASE_URL, BaselineTransport
from sandbox.benchmarks.sample import MANIFEST
from sandbox.judging.citation import load_citation_judging
from sandbox.judging.rubric import load_rubric
from sandbox.model import ModelClient, ServerFacts, judge_endpoint, model_endpoint
from sandbox.provenance import Facts
from sandbox.settings import BASELINE, RunSettings, SearchSettings
from sandbox.toolbox import Toolbox
from tools.corpus import Corpus, CorpusPages, build, open_corpus
from tools.document import PageSource
from tools.engines.brave import BraveEngine, BraveSettings, Unpaced
from tools.engines.brave_sdk import BraveSdkEngine
from tools.engines.local import LocalEngine
from tools.extract import extract
from tools.fetch import FetchTool
from tools.find import FindTool
from tools.guard import GuardRules
from tools.pace import TokenBucket
from tools.search import SearchEngine, SearchTool
from tools.tool import SetupError
from tools.web import WebPages, WebRules
from tools.workers import ExtractionPool

SAMPLE_CORPUS = "corpus"
"""Where a run of the bundled sample keeps its corpus, inside its own folder."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything a session needs that is shared by all sessions."""

    model: ModelClient
    judge: ModelClient
    toolbox: Toolbox
    judging: Judging
    policy: Policy
    corpus: Corpus | None
    engine: SearchEngine
    search_facts: Facts
    model_server: ServerFacts
    judge_server: ServerFacts
    redact: Callable[[str], str]


@asynccontextmanager
async def assemble(settings: RunSettings, out: Path, environ: Mapping[str, str]) -> AsyncGenerator[Parts]:
    """The parts of a run, closed at the end. Raises SetupError for whatever cannot be had: key, server, corpus."""
    async with AsyncExitStack() as stack:
        corpus = _corpus(settings, out)
        engine, pages, search_facts = await _web(stack, settings, corpus, environ)
        policy = Policy(
            fragment="keep" if corpus is not None and corpus.keeps_fragments else "drop",
            unseen_fetch=settings.citations.unseen_fetch,
        )
        toolbox = Toolbox(
            [
                SearchTool(engine, settings.language, settings.search.count, policy),
                FetchTool(pages, settings.language, settings.fetch.window_chars),
                FindTool(pages, settings.language),
            ]
        )
        redact = Redactor(secrets_of(settings, environ)).redact
        model, model_server = await _model(stack, settings, environ, redact)
        judge, judge_server = await _judge(stack, settings, environ, redact)
        yield Parts(
            model=model,
            judge=judge,
            toolbox=toolbox,
            judging=judging_of(settings),
            policy=policy,
            corpus=corpus,
            engine=engine,
            search_facts=search_facts,
            model_server=model_server,
            judge_server=judge_server,
            redact=redact,
        )


def secrets_of(settings: RunSettings, environ: Mapping[str, str]) -> list[str]:
    """The keys that this run uses; no text that is shown or kept may hold one."""
    names = (settings.model.api_key_env, settings.judge.api_key_env, settings.search.brave_key_env)
    return [environ[name] for name in names if environ.get(name)]


def judging_of(settings: RunSettings) -> Judging:
    """The judge's prompts, ours or those in the user's own folder, and how the judge is asked."""
    judge = settings.judge
    folder = Path(judge.prompts) if judge.prompts else None
    return Judging(
        consistency=load_rubric("consistency", judge.language, folder),
        citations=load_citation_judging(
            judge.language, folder, attempts=judge.attempts, max_evidence_chars=judge.max_evidence_chars
        ),
        f1_only=settings.citations.f1_only,
    )


def _corpus(settings: RunSettings, out: Path) -> Corpus | None:
    if settings.search.engine != "local":
        return None
    if settings.search.corpus:
        return open_corpus(Path(settings.search.corpus))
    folder = out / SAMPLE_CORPUS
    if not folder.exists():
        build(MANIFEST, folder, extract=extract)
    return open_corpus(folder)


async def _web(
    stack: AsyncExitStack, settings: RunSettings, corpus: Corpus | None, environ: Mapping[str, str]
) -> tuple[SearchEngine, PageSource, Facts]:
    """Search engine, page source and what the provenance says of them."""
    search = settings.search
    if corpus is not None:
        facts: Facts = {"engine": "local", "corpus": corpus.digest, "count": search.count}
        return LocalEngine(corpus), CorpusPages(corpus), facts
    key = environ.get(search.brave_key_env, "")
    if not key:
        raise SetupError(
            f"--search {search.engine} needs a Brave key in {search.brave_key_env}; "
            "or search your own documents: --search local --corpus DIR"
        )
    brave = _brave_settings(search)
    # One bucket for all sessions: the limit is the account's.
    pace = TokenBucket(1 / search.brave_interval_s) if search.brave_interval_s else Unpaced()
    if search.engine == "brave-sdk":
        engine: SearchEngine = BraveSdkEngine(await _client(stack), brave, key, pace)
    else:
        engine = BraveEngine(await _client(stack), brave, key, pace)
    pool = await stack.enter_async_context(ExtractionPool())
    rules = WebRules(
        guard=GuardRules(allow_loopback=settings.fetch.allow_loopback, domain_suffixes=settings.fetch.domains),
        total_timeout_s=settings.fetch.timeout_s,
        max_body_bytes=settings.fetch.max_body_bytes,
        robots=settings.fetch.robots,
        host_interval_s=settings.fetch.host_interval_s,
    )
    pages = await stack.enter_async_context(WebPages(rules, pool.extract))
    return engine, pages, brave.facts(search.engine)


async def _model(
    stack: AsyncExitStack, settings: RunSettings, environ: Mapping[str, str], redact: Callable[[str], str]
) -> tuple[ModelClient, ServerFacts]:
    model = settings.model
    shrink = settings.limits.on_tight_context == "shrink"
    if model.base_url is None and model.name != BASELINE:
        raise SetupError(f"model {model.name} needs --base-url URL (the embedded model is called {BASELINE!r})")
    if model.base_url is None:
        client = await _openai(stack, BASE_URL, "none", BaselineTransport(model_reply, model.name))
    else:
        transport = AiohttpTransport(connections=settings.concurrency, total_timeout_s=model.timeout_s)
        client = await _openai(stack, model.base_url, environ.get(model.api_key_env, ""), transport)
    probe = ModelClient(client, model_endpoint(model, context_tokens=None, shrink=shrink), redact=redact)
    server = await probe.facts()
    context = min(model.context_tokens, server.max_model_len or model.context_tokens)
    if model.max_output_tokens >= context and not shrink:
        raise SetupError(
            f"the output limit of {model.max_output_tokens} tokens leaves no room in a context of {context}: every "
            "sample would overflow. Set --max-output-tokens lower, or --on-tight-context shrink"
        )
    endpoint = model_endpoint(model, context_tokens=context, shrink=shrink)
    return ModelClient(client, endpoint, redact=redact), server


async def _judge(
    stack: AsyncExitStack, settings: RunSettings, environ: Mapping[str, str], redact: Callable[[str], str]
) -> tuple[ModelClient, ServerFacts]:
    judge = settings.judge
    if judge.base_url is None and judge.name != BASELINE:
        raise SetupError(f"judge {judge.name} needs --judge-base-url URL (the embedded judge is called {BASELINE!r})")
    if judge.base_url is None:
        client = await _openai(stack, BASE_URL, "none", BaselineTransport(judge_reply, judge.name))
    else:
        transport = AiohttpTransport(connections=judge.concurrency, total_timeout_s=judge.timeout_s)
        client = await _openai(stack, judge.base_url, environ.get(judge.api_key_env, ""), transport)
    made = ModelClient(client, judge_endpoint(judge), redact=redact)
    return made, await made.facts()


async def _openai(stack: AsyncExitStack, base_url: str, key: str, transport: httpx2.AsyncBaseTransport) -> AsyncOpenAI:
    """The SDK's client on our transport; its own retries are off, because ours are classified and counted."""
    # A key is always sent: vLLM without --api-key takes any, and the SDK refuses to start without one.
    http = httpx2.AsyncClient(transport=transport, trust_env=False, timeout=None)
    client = AsyncOpenAI(base_url=base_url, api_key=key or "none", http_client=http, max_retries=0)
    return await stack.enter_async_context(client)


async def _client(stack: AsyncExitStack) -> httpx2.AsyncClient:
    transport = AiohttpTransport(connections=4, total_timeout_s=30.0)
    return await stack.enter_async_context(httpx2.AsyncClient(transport=transport, trust_env=False))


def _brave_settings(search: SearchSettings) -> BraveSettings:
    return BraveSettings(
        base_url=search.brave_base_url,
        country=search.brave_country,
        search_lang=search.brave_search_lang,
        ui_lang=search.brave_ui_lang,
        safesearch=search.brave_safesearch,
    )
