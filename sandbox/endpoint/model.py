"""The model client: one chat completion over the OpenAI protocol, with every failure classified.

Knows: the request body, the reply's fields, retries. Must not know: tools, citations, judging, where bytes are recorded.

The SDK's typed `create` costs 3 ms of CPU per call and grows with the conversation, its low-level `post` still 0.18 where a
whole call has less than 1. Its headers and its address are all that a completion needs of it: requests go to the HTTP
client that it stands on. Messages arrive serialised (`Conversation`), so a request is a join.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import httpx2
from openai import APIConnectionError, APIStatusError, AsyncOpenAI

from cassettes.context import outgoing, pause
from sandbox.endpoint.chat import Conversation, ModelFailure, Reply, ToolCall, encode
from sandbox.endpoint.count import TokenCounter
from sandbox.endpoint.faults import classify
from sandbox.endpoint.lenient import Json, items, mapping, parsed, text
from sandbox.record import Usage
from sandbox.settings import JudgeSettings, ModelSettings
from tools.tool import SetupError

REASONING_FIELDS = ("reasoning_content", "reasoning")
"""vLLM before 0.12, llama.cpp and DeepSeek say the first, newer vLLM and OpenRouter the second."""

MAX_HEADS = 64


@dataclass(frozen=True, slots=True)
class Endpoint:
    """How one model is asked: everything of a request but messages and tools."""

    name: str
    fixed: Json
    max_output_field: str
    max_output_tokens: int
    context_tokens: int | None
    shrink: bool
    retries: int
    timeout_s: float
    formats: bool = True
    """Whether a response format is sent where one is asked for."""


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What `/v1/models` told; None where it does not say."""

    models: tuple[str, ...] = ()
    max_model_len: int | None = None
    owned_by: str | None = None


@dataclass(frozen=True, slots=True)
class _Head:
    start: bytes
    tools: Sequence[Json]
    response_format: Json | None


@dataclass(slots=True)
class ModelClient:
    """A `ChatModel` over HTTP. `sleep` is passed in so that tests need not wait."""

    client: AsyncOpenAI
    http: httpx2.AsyncClient
    """What `client` itself sends with."""
    endpoint: Endpoint
    sleep: Callable[[float], Awaitable[None]] = pause
    """Waits before a retry, but not where the answer that asks for it was played from a tape."""
    redact: Callable[[str], str] = str
    """Passed over every text of the server that is kept or shown: some servers repeat the key that they refuse."""
    counter: TokenCounter | None = None
    """Counts a prompt without tools before it is sent, where the server does that exactly."""
    _url: httpx2.URL = field(init=False)
    _headers: httpx2.Headers = field(init=False)
    _extensions: dict[str, object] = field(init=False)
    _heads: dict[tuple[int, int, int], _Head] = field(default_factory=dict[tuple[int, int, int], _Head])

    def __post_init__(self) -> None:
        # Made once: a request then parses no address and joins no headers.
        self._url = httpx2.URL(f"{str(self.client.base_url).rstrip('/')}/chat/completions")
        headers = {**self.client.default_headers, **self.client.auth_headers, "Content-Type": "application/json"}
        self._headers = httpx2.Headers({name: value for name, value in headers.items() if isinstance(value, str)})
        self._extensions = {"timeout": httpx2.Timeout(self.endpoint.timeout_s).as_dict()}

    async def chat(
        self,
        messages: Conversation,
        *,
        tools: Sequence[Json] = (),
        response_format: Json | None = None,
    ) -> Reply:
        """One finished completion; see `ChatModel.chat`."""
        max_output = self.endpoint.max_output_tokens
        if self.counter is not None and not tools:
            max_output = await self._fitting(messages, self.counter)
        failed = Usage()
        delay_s = 1.0
        tries = 0
        while True:
            asked_format = response_format if self.endpoint.formats else None
            head = self._head(tools, asked_format, max_output)
            with outgoing(head, messages.parts()):
                response = await self._post(head + messages.encoded() + b"]}")
            if response is not None and response.status_code < 300:
                return self._check_room(parse(response.content, failed))
            failed += Usage(calls=1)
            if response is None:
                action, message, wait_s = "retry", "no answer (connection lost or timed out)", None
            else:
                fault = classify(
                    response.status_code,
                    self._redacted(response.content),
                    response.headers.get("retry-after"),
                    asked_format=asked_format is not None,
                )
                action, message, wait_s = fault.action, fault.message, fault.retry_after_s
                if action == "overflow":
                    room = _room(fault.context_tokens or self.endpoint.context_tokens, fault.prompt_tokens)
                    if self.endpoint.shrink and room is not None and 0 < room < max_output:
                        max_output = room
                        continue
                    raise ModelFailure("context_overflow", message, failed)
            if action == "stop":
                raise SetupError(f"{self.endpoint.name}: {message}")
            if action == "refused":
                raise ModelFailure("api_refusal", message, failed)
            if action == "fail":
                raise ModelFailure("api_error", message, failed)
            tries += 1
            if tries > self.endpoint.retries:
                await self._stop_if_unreachable(message)
                raise ModelFailure("api_error", f"{message} (after {tries} tries)", failed)
            # Full jitter keeps 256 sessions from coming back in the same instant.
            await self.sleep(wait_s if wait_s is not None else random.uniform(0.5, 1.0) * delay_s)
            delay_s = min(delay_s * 2, 60.0)

    async def _fitting(self, messages: Conversation, counter: TokenCounter) -> int:
        """The output limit that is left beside the prompt as the server counts it, before anything is generated.

        Raises ModelFailure("context_overflow") where the output limit does not fit and may not be lowered.
        """
        limit = self.endpoint.max_output_tokens
        counted = await counter.count(messages)
        if counted is None:
            return limit
        context = min((n for n in (self.endpoint.context_tokens, counted.context_tokens) if n), default=None)
        room = _room(context, counted.n_tokens)
        if room is None or room >= limit:
            return limit
        if self.endpoint.shrink and room > 0:
            return room
        raise ModelFailure(
            "context_overflow",
            f"prompt {counted.n_tokens} + output limit {limit} > context {context} (counted by the server; not sent)",
        )

    async def facts(self) -> ServerFacts:
        """What the server says of itself. Raises SetupError where nobody answers or the key is refused."""
        try:
            response = await self.client.get("/models", cast_to=httpx2.Response, options={"timeout": 30.0})
        except APIStatusError as error:
            if error.status_code in (401, 403):
                fault = classify(error.status_code, self._redacted(error.response.content), None, asked_format=False)
                raise SetupError(f"{self.endpoint.name}: {fault.message}") from error
            return ServerFacts()
        except APIConnectionError as error:
            raise SetupError(
                f"cannot reach the server of {self.endpoint.name} at {self.client.base_url}: "
                f"{_cause(error)}. Is it running, and is --base-url right?"
            ) from error
        return read_facts(self._redacted(response.content), self.endpoint.name)

    async def _post(self, body: bytes) -> httpx2.Response | None:
        """The response whatever its status; None where there was none."""
        request = httpx2.Request("POST", self._url, headers=self._headers, content=body, extensions=self._extensions)
        try:
            return await self.http.send(request)
        except httpx2.RequestError:
            return None

    def _redacted(self, body: bytes) -> bytes:
        """A body as the tape keeps that of an error: a text that is cut first may end in half a key."""
        return self.redact(body.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    async def _stop_if_unreachable(self, message: str) -> None:
        """A server that no longer answers at all is no fault of the sample: the run stops and can be continued."""
        try:
            await self.client.get("/models", cast_to=httpx2.Response, options={"timeout": 30.0})
        except APIStatusError:
            return
        except APIConnectionError as error:
            raise SetupError(
                f"the server of {self.endpoint.name} at {self.client.base_url} stopped answering ({message}). "
                "Start it again and repeat the same command: finished samples are kept."
            ) from error

    def _head(self, tools: Sequence[Json], response_format: Json | None, limit: int) -> bytes:
        """The request up to its messages."""
        extra: dict[str, object] = {self.endpoint.max_output_field: limit}
        if tools:
            extra["tools"] = list(tools)
        if response_format is not None:
            extra["response_format"] = response_format
        # Tools and formats are the same objects in every call of a run; their bytes are made once. The entry keeps
        # them alive, so that an id cannot come to mean another object.
        key = (id(tools), id(response_format), limit)
        head = self._heads.get(key)
        if head is None:
            if len(self._heads) >= MAX_HEADS:
                self._heads.clear()
            start = encode({"model": self.endpoint.name, **self.endpoint.fixed, **extra})[:-1] + b',"messages":['
            head = self._heads[key] = _Head(start, tools, response_format)
        return head.start

    def _check_room(self, reply: Reply) -> Reply:
        """The published rule needs prompt + output limit within the context; some servers do not check it themselves."""
        context = self.endpoint.context_tokens
        needed = reply.usage.prompt_tokens + self.endpoint.max_output_tokens
        if context is not None and needed > context and not self.endpoint.shrink:
            raise ModelFailure(
                "context_overflow",
                f"prompt {reply.usage.prompt_tokens} + output limit {self.endpoint.max_output_tokens} > context {context}",
                reply.usage,
            )
        return reply


def model_endpoint(settings: ModelSettings, *, context_tokens: int | None, shrink: bool) -> Endpoint:
    """How the model under test is asked. `context_tokens` None = nobody knows the server's maximum."""
    fixed: dict[str, object] = settings.decode.model_dump(exclude={"omit", *settings.decode.omit})
    kwargs: dict[str, object] = {"preserve_thinking": True} if settings.sends_preserve_thinking else {}
    return Endpoint(
        name=settings.name,
        fixed=_with_extra(fixed, kwargs, settings.extra_body),
        max_output_field=settings.max_output_field,
        max_output_tokens=settings.max_output_tokens,
        context_tokens=context_tokens,
        shrink=shrink,
        retries=settings.retries,
        timeout_s=settings.timeout_s,
    )


def judge_endpoint(settings: JudgeSettings) -> Endpoint:
    """How the judge is asked: temperature 0, thinking off unless wanted. Its own overflow comes from the server."""
    kwargs: dict[str, object] = {} if settings.thinking == "unsaid" else {"enable_thinking": settings.thinking}
    return Endpoint(
        name=settings.name,
        fixed=_with_extra({"temperature": 0.0}, kwargs, settings.extra_body),
        max_output_field=settings.max_output_field,
        max_output_tokens=settings.max_output_tokens,
        context_tokens=None,
        shrink=False,
        retries=settings.retries,
        timeout_s=settings.timeout_s,
        formats=settings.response_format,
    )


def parse(body: bytes, failed: Usage | None = None) -> Reply:
    """The first choice of a completion as a Reply. `failed` = exchanges before it, added to its usage.

    Raises ModelFailure("bad_reply") for a body that is no completion (an HTML page, cut JSON, no choices).
    """
    before = failed or Usage()
    data = parsed(body)
    if data is None:
        raise ModelFailure("bad_reply", f"the reply is not JSON: {body[:120]!r}", before + Usage(calls=1))
    top = mapping(data)
    usage = before + _usage(mapping(top.get("usage")))
    first = mapping(next(iter(items(top.get("choices"))), None))
    message = mapping(first.get("message"))
    if not message:
        raise ModelFailure("bad_reply", "the reply holds no message", usage)
    name = next((name for name in REASONING_FIELDS if isinstance(message.get(name), str)), None)
    finish_reason = text(first.get("finish_reason"))
    return Reply(
        content=_content(message.get("content")),
        finish_reason=finish_reason,
        refused=finish_reason == "content_filter" or bool(text(message.get("refusal"))),
        usage=usage,
        tool_calls=tuple(_tool_calls(message.get("tool_calls"))),
        reasoning=_whole(str(message[name])) if name else None,
        reasoning_field=name,
    )


def read_facts(body: bytes, model: str) -> ServerFacts:
    """`/v1/models` of vLLM and SGLang (`max_model_len`) and llama.cpp (`meta.n_ctx`), read leniently."""
    rows = [mapping(row) for row in items(mapping(parsed(body)).get("data"))]
    mine = next((row for row in rows if row.get("id") == model or len(rows) == 1), mapping(None))
    length = mine.get("max_model_len") or mapping(mine.get("meta")).get("n_ctx")
    return ServerFacts(
        models=tuple(str(row["id"]) for row in rows if "id" in row),
        max_model_len=length if isinstance(length, int) and length > 0 else None,
        owned_by=text(mine.get("owned_by")),
    )


def _with_extra(fixed: dict[str, object], kwargs: dict[str, object], extra: Json) -> Json:
    """The user's extra body wins; chat-template arguments are merged, so that one does not push out the other."""
    merged = {**fixed, **extra}
    template = {**kwargs, **mapping(extra.get("chat_template_kwargs"))}
    return {**merged, "chat_template_kwargs": template} if template else merged


def _tool_calls(value: object) -> list[ToolCall]:
    calls: list[ToolCall] = []
    for call in map(mapping, items(value)):
        function = mapping(call.get("function"))
        arguments = function.get("arguments")
        # Some servers send the arguments as an object although the protocol says string.
        written = text(arguments)
        said = encode(arguments).decode() if written is None else written
        calls.append(ToolCall(_whole(str(call.get("id") or "")), _whole(str(function.get("name") or "")), _whole(said)))
    return calls


def _content(value: object) -> str | None:
    """The text; a list of content parts is joined, as the protocol allows for it."""
    parts = [text(mapping(part).get("text")) for part in items(value)]
    said = "".join(part for part in parts if part) if parts else text(value)
    return None if said is None else _whole(said)


def _whole(said: str) -> str:
    """The text with each lone surrogate, which no file and no request can hold, as U+FFFD; offsets stay."""
    try:
        said.encode()
    except UnicodeEncodeError:
        return said.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return said


def _usage(value: Json) -> Usage:
    def count(source: Json, name: str) -> int:
        number = source.get(name)
        return number if isinstance(number, int) and number > 0 else 0

    return Usage(
        calls=1,
        prompt_tokens=count(value, "prompt_tokens"),
        completion_tokens=count(value, "completion_tokens"),
        reasoning_tokens=count(mapping(value.get("completion_tokens_details")), "reasoning_tokens"),
        cached_tokens=count(mapping(value.get("prompt_tokens_details")), "cached_tokens"),
    )


def _room(context: int | None, prompt: int | None) -> int | None:
    return None if context is None or prompt is None else context - prompt


def _cause(error: APIConnectionError) -> str:
    return str(error.__cause__ or error) or type(error.__cause__ or error).__name__
