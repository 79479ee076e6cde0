"""Puts a run's parts together from its settings.

Knows: which parts a session needs, and which of them may reach the outside. Must not know: how a sample goes. Everything
that talks to the outside is made here, once, behind the tape, and closed when the run ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from cassettes.context import pause
from cassettes.redact import Redactor
from citations.policy import Policy
from sandbox.assess import Judging
from sandbox.benchmarks.table import asks_consistency
from sandbox.endpoint.clients import Access, Recorded, judge_client, model_client
from sandbox.endpoint.count import recorded_counter
from sandbox.endpoint.lenient import mapping
from sandbox.endpoint.model import ModelClient, ServerFacts
from sandbox.folder.provenance import Facts, Provenance
from sandbox.folder.text_store import TEXT
from sandbox.judging.citation import load_citation_judging
from sandbox.judging.rubric import load_rubric
from sandbox.settings import RunSettings
from sandbox.sources import Sources, Web, local_sources, no_sources, taped_local_sources, web_sources
from sandbox.toolbox import Toolbox
from tools.fetch import FetchTool
from tools.find import FindTool
from tools.pace import Sleep
from tools.search import SearchTool
from tools.tool import Tool

Reach = Literal["model", "judge", "web"]
EVERYTHING: frozenset[Reach] = frozenset({"model", "judge", "web"})


@dataclass(frozen=True, slots=True)
class Outside:
    """What of the outside may be reached. What may not is answered by the tape alone, and `recorded` says what it was.

    `reextract`: page text is made anew from the recorded bytes instead of being read from the run folder. `earlier`: the
    run that this start goes on with. `played`: the folders of the runs that this one plays. `watched`: what a long wait for
    a server passes through, to be told of.
    """

    environ: Mapping[str, str]
    reach: frozenset[Reach] = EVERYTHING
    recorded: Provenance | None = None
    reextract: bool = False
    earlier: Provenance | None = None
    played: tuple[Path, ...] = ()
    watched: Callable[[Sleep], Sleep] = lambda sleep: sleep


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything a session needs that is shared by all sessions."""

    model: ModelClient
    judge: ModelClient
    toolbox: Toolbox
    judging: Judging
    policy: Policy
    sources: Sources
    model_server: ServerFacts
    judge_server: ServerFacts
    redactor: Redactor


@asynccontextmanager
async def assemble(settings: RunSettings, out: Path, outside: Outside) -> AsyncGenerator[Parts]:
    """The parts of a run, closed at the end. Raises SetupError for whatever cannot be had: key, server, corpus."""
    redactor = Redactor(secrets_of(settings, outside.environ))
    access = Access(outside.environ, redactor.redact, outside.watched(pause))
    async with AsyncExitStack() as stack:
        sources = await _sources(stack, settings, out, outside)
        policy = Policy(
            fragment="keep" if sources.facts.get("fragment") == "keep" else "drop",
            unseen_fetch=settings.citations.unseen_fetch,
        )
        toolbox = Toolbox(_tools(settings, sources, policy) if settings.search.engine != "none" else [])
        recorded = _recorded_model(outside.earlier if "model" in outside.reach else outside.recorded)
        model = await model_client(stack, settings, access if "model" in outside.reach else None, recorded)
        judge = await judge_client(stack, settings, access if "judge" in outside.reach else None)
        yield Parts(
            model=model.model,
            judge=judge.model,
            toolbox=toolbox,
            judging=judging_of(settings),
            policy=policy,
            sources=sources,
            model_server=model.server,
            judge_server=judge.server,
            redactor=redactor,
        )


def secrets_of(settings: RunSettings, environ: Mapping[str, str]) -> list[str]:
    """The keys that this run uses; no text that is shown or kept may hold one."""
    names = (settings.model.api_key_env, settings.judge.api_key_env, settings.search.brave_key_env)
    return [environ[name] for name in names if environ.get(name)]


def _tools(settings: RunSettings, sources: Sources, policy: Policy) -> list[Tool]:
    return [
        SearchTool(sources.engine, settings.language, settings.search.count, policy),
        FetchTool(sources.pages, settings.language, settings.fetch.window_chars),
        FindTool(sources.pages, settings.language),
    ]


def judging_of(settings: RunSettings) -> Judging:
    """The judge's prompts, ours or those in the user's own folder, and how the judge is asked."""
    judge = settings.judge
    folder = Path(judge.prompts) if judge.prompts else None
    return Judging(
        consistency=load_rubric("consistency", judge.language, folder) if asks_consistency(settings) else None,
        citations=replace(
            load_citation_judging(
                judge.language, folder, attempts=judge.attempts, max_evidence_chars=judge.max_evidence_chars
            ),
            repeats=judge.repeats,
        ),
        criterion={
            "criterion": load_rubric("criterion", judge.language, folder, judge.criterion_prompt),
            "safety": load_rubric("safety", judge.language, folder),
        },
        f1_only=settings.citations.f1_only,
    )


async def _sources(stack: AsyncExitStack, settings: RunSettings, out: Path, outside: Outside) -> Sources:
    live = "web" in outside.reach
    if settings.search.engine == "none":
        return no_sources()
    if settings.search.engine != "local":
        web = Web(
            outside.environ if live else None,
            reextract=outside.reextract,
            # Whoever reaches nothing at all replays a finished run; any other start makes a run of its own.
            keeps_text=bool(outside.reach),
            texts=tuple(run / TEXT for run in outside.played),
            sleep=outside.watched(asyncio.sleep),
        )
        return await web_sources(stack, settings, out, web)
    if live:
        return local_sources(settings, out)
    return taped_local_sources(_recorded_search(outside.recorded))


def _recorded_search(recorded: Provenance | None) -> Facts:
    search = recorded.compared.get("search") if recorded is not None else None
    return search if isinstance(search, dict) else {}


def _recorded_model(recorded: Provenance | None) -> Recorded:
    model = mapping(recorded.compared.get("model")) if recorded is not None else mapping(None)
    context = model.get("context_tokens")
    settled = "token_count" in model
    return Recorded(context if isinstance(context, int) else None, recorded_counter(model), settled)
