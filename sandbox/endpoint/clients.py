"""The clients of model and judge: which server, which key, which context, over the tape.

Knows: settings of endpoints, the embedded baseline, what a server says of itself. Must not know: search, pages, sessions.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

import httpx2
from openai import AsyncOpenAI

from cassettes.context import pause
from cassettes.live import AiohttpTransport
from cassettes.transport import TapeTransport
from sandbox.baseline.judge import judge_reply
from sandbox.baseline.model import model_reply
from sandbox.baseline.transport import BASE_URL, BaselineTransport, Reply
from sandbox.baseline.untidy import untidy_reply
from sandbox.endpoint.count import Abridged, CounterKind, TokenCounter, find_counter
from sandbox.endpoint.model import Endpoint, ModelClient, ServerFacts, judge_endpoint, model_endpoint
from sandbox.settings import BASELINE, EMBEDDED, UNTIDY, JudgeSettings, ModelSettings, RunSettings
from tools.tool import SetupError


@dataclass(frozen=True, slots=True)
class Client:
    """A client, and what its server said of itself (nothing where it was not asked)."""

    model: ModelClient
    server: ServerFacts


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a run settled with its server: the context, and how prompts are counted (None = they are not, or
    `settled_count` is False and nobody has found out).
    """

    context_tokens: int | None = None
    counter: CounterKind | None = None
    settled_count: bool = False


@dataclass(frozen=True, slots=True)
class Access:
    """What reaching a server takes: keys by name of variable, what may not be shown, and how a retry is waited for."""

    environ: Mapping[str, str]
    redact: Callable[[str], str]
    sleep: Callable[[float], Awaitable[None]] = pause


async def model_client(
    stack: AsyncExitStack, settings: RunSettings, access: Access | None, recorded: Recorded
) -> Client:
    """The model under test. `access` None = the tape alone answers, and what was `recorded` holds; a live one only
    counts prompts as `recorded` says, where a run that goes on has settled that.

    Raises SetupError for a server that cannot be reached, and for an output limit that leaves no room for a prompt.
    """
    model, shrink = settings.model, settings.limits.on_tight_context == "shrink"
    reply = untidy_reply if model.name == UNTIDY else model_reply
    transport = _transport(model, access, reply, settings.concurrency)
    # Answers that exist already need no server: nothing is ever sent.
    embedded = (*EMBEDDED, model.name) if settings.responses is not None else EMBEDDED
    sdk = await _sdk(stack, model, access, transport, embedded)
    if access is None:
        endpoint = model_endpoint(model, context_tokens=recorded.context_tokens, shrink=shrink)
        return Client(_client(sdk, endpoint, access, recorded.counter), ServerFacts())
    server = await _client(sdk, model_endpoint(model, context_tokens=None, shrink=shrink), access).facts()
    context = min(model.context_tokens, server.max_model_len or model.context_tokens)
    if model.max_output_tokens >= context and not shrink:
        raise SetupError(
            f"the output limit of {model.max_output_tokens} tokens leaves no room in a context of {context}: every "
            "sample would overflow. Set --max-output-tokens lower, or --on-tight-context shrink"
        )
    endpoint = model_endpoint(model, context_tokens=context, shrink=shrink)
    # One run counts in one way, also where the server is too busy to be asked again at a later start.
    counter = recorded.counter if recorded.settled_count else await _counter(sdk.client, model, endpoint)
    return Client(_client(sdk, endpoint, access, counter), server)


async def judge_client(stack: AsyncExitStack, settings: RunSettings, access: Access | None) -> Client:
    """The judge; `access` None = the tape alone answers. Raises SetupError for a server that cannot be reached."""
    judge = settings.judge
    sdk = await _sdk(stack, judge, access, _transport(judge, access, judge_reply, judge.concurrency))
    made = _client(sdk, judge_endpoint(judge), access)
    return Client(made, ServerFacts() if access is None else await made.facts())


async def _counter(client: AsyncOpenAI, model: ModelSettings, endpoint: Endpoint) -> CounterKind | None:
    if model.count_tokens == "never" or model.base_url is None:
        return None
    return await find_counter(client, endpoint.name, endpoint.fixed, endpoint.max_output_field)


@dataclass(frozen=True, slots=True)
class _Sdk:
    """The SDK's client, and the HTTP client under it."""

    client: AsyncOpenAI
    http: httpx2.AsyncClient


def _client(sdk: _Sdk, endpoint: Endpoint, access: Access | None, kind: CounterKind | None = None) -> ModelClient:
    counter = TokenCounter(sdk.client, kind, endpoint.name, endpoint.fixed) if kind is not None else None
    if access is None:
        return ModelClient(sdk.client, sdk.http, endpoint, counter=counter)
    return ModelClient(sdk.client, sdk.http, endpoint, redact=access.redact, counter=counter, sleep=access.sleep)


def _transport(
    settings: ModelSettings | JudgeSettings, access: Access | None, reply: Reply, connections: int
) -> httpx2.AsyncBaseTransport:
    if access is None:
        return TapeTransport(None)
    if settings.base_url is None:
        return TapeTransport(BaselineTransport(reply, settings.name))
    live = AiohttpTransport(connections=connections, total_timeout_s=settings.timeout_s)
    counts = isinstance(settings, ModelSettings) and settings.count_tokens != "never"
    return TapeTransport(Abridged(live) if counts else live)


async def _sdk(
    stack: AsyncExitStack,
    settings: ModelSettings | JudgeSettings,
    access: Access | None,
    transport: httpx2.AsyncBaseTransport,
    embedded: Sequence[str] = (BASELINE,),
) -> _Sdk:
    """The SDK's client on our transport; its own retries are off, because ours are classified and counted."""
    role = "model" if isinstance(settings, ModelSettings) else "judge"
    if settings.base_url is None and settings.name not in embedded:
        option = "--base-url" if role == "model" else "--judge-base-url"
        raise SetupError(f"{role} {settings.name} needs {option} URL (embedded: {', '.join(embedded)})")
    # A key is always sent: vLLM without --api-key takes any, and the SDK refuses to start without one.
    key = (access.environ.get(settings.api_key_env) if access is not None else None) or "none"
    http = httpx2.AsyncClient(transport=transport, trust_env=False, timeout=None)
    base_url = settings.base_url or BASE_URL
    client = AsyncOpenAI(base_url=base_url, api_key=key, http_client=http, max_retries=0)
    return _Sdk(await stack.enter_async_context(client), http)
