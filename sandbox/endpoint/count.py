"""How many tokens a prompt has, asked of the server that will read it: exactly, or not at all.

Knows: the two ways in which servers count a chat. Must not know: output limits, what follows from a count.

vLLM: `/tokenize` at the server's root takes the messages as a chat request does and tells `count` and `max_model_len`.
llama.cpp: `/apply-template` makes the prompt of the messages, `/tokenize` cuts it (`add_special` and `parse_special` as
for a chat). Whether a server counts is settled once, at the start of a run, by a probe whose count must be the
`prompt_tokens` that a chat completion of the same message reports: a server that renders chats in another way than it
counts them (vLLM's harmony models) is not asked. What was settled stands in the provenance, so that a replay asks the
same; each count of a session goes through its tape.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

import httpx2
from openai import APIConnectionError, APIStatusError, AsyncOpenAI

from cassettes.context import current_channel, on_channel
from sandbox.endpoint.chat import Conversation, encode
from sandbox.endpoint.lenient import Json, items, mapping, parsed, text

CounterKind = Literal["vllm", "llama.cpp"]
KINDS: Final[tuple[CounterKind, ...]] = ("vllm", "llama.cpp")

_PROBE: Final = {"role": "user", "content": "資料１の要点を一文で答えてください。\n1,234人（令和６年）"}
_TEMPLATE_FIELDS: Final = ("chat_template", "chat_template_kwargs", "add_special_tokens")
"""Fields of a chat request that change what its prompt is."""
_TIMEOUT_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class Counted:
    """`n_tokens` of the prompt; `context_tokens` as the server told it along with it, else None."""

    n_tokens: int
    context_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """Counts for one model of one server. `fixed`: what its chat requests hold beside messages."""

    client: AsyncOpenAI
    kind: CounterKind
    model: str
    fixed: Json

    async def count(self, messages: Conversation) -> Counted | None:
        """The tokens of `messages` as a chat; None where the server does not say, this time."""
        on = current_channel()
        if on is None:
            return await self._count(messages)
        # A place of its own: a count can then never be taken for the chat that it goes before.
        with on_channel(on.channel, f"{on.place}.count"):
            return await self._count(messages)

    async def _count(self, messages: Conversation) -> Counted | None:
        template = {name: self.fixed[name] for name in _TEMPLATE_FIELDS if name in self.fixed}
        if self.kind == "vllm":
            head = encode({"model": self.model, "add_generation_prompt": True, **template})
            told = await self._ask("/tokenize", head[:-1] + b',"messages":[' + messages.encoded() + b"]}")
            return _counted(told.get("count"), told.get("max_model_len"))
        head = encode({"model": self.model, **template})
        made = await self._ask("/apply-template", head[:-1] + b',"messages":[' + messages.encoded() + b"]}")
        prompt = text(made.get("prompt"))
        if not prompt:
            return None
        told = await self._ask("/tokenize", encode({"content": prompt, "add_special": True, "parse_special": True}))
        return _counted(told.get("n_tokens"), None)

    async def _ask(self, path: str, body: bytes) -> Json:
        """The server's answer as an object; empty for every failure."""
        root = str(self.client.base_url).rstrip("/").removesuffix("/v1")
        try:
            response = await self.client.post(
                root + path,
                cast_to=httpx2.Response,
                content=body,
                options={"headers": {"content-type": "application/json"}, "timeout": _TIMEOUT_S},
            )
        except (APIStatusError, APIConnectionError):
            return mapping(None)
        return mapping(parsed(response.content))


async def find_counter(client: AsyncOpenAI, model: str, fixed: Json, output_field: str) -> CounterKind | None:
    """How the server counts, if it does so exactly; None where it does not, or cannot be asked. Sends one token's chat."""
    for kind in KINDS:
        counted = await TokenCounter(client, kind, model, fixed).count(Conversation([_PROBE]))
        if counted is not None:
            told = await _prompt_tokens(client, encode({"model": model, **fixed, output_field: 1}))
            return kind if told == counted.n_tokens else None
    return None


class Abridged(httpx2.AsyncBaseTransport):
    """A live transport whose counts come without the tokens themselves: 100,000 numbers a question for one that is used.

    Stands below the tape, which keeps what is left: `n_tokens` in the place of the list.
    """

    def __init__(self, live: httpx2.AsyncBaseTransport) -> None:
        self._live = live

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response of the live transport."""
        response = await self._live.handle_async_request(request)
        if not request.url.path.endswith("/tokenize") or response.status_code != 200:
            return response
        told = mapping(parsed(await response.aread()))
        if not isinstance(told.get("tokens"), list):
            return response
        kept = {name: value for name, value in told.items() if name not in ("tokens", "token_strs")}
        body = json.dumps({**kept, "n_tokens": len(items(told["tokens"]))}).encode()
        return httpx2.Response(200, headers={"content-type": "application/json"}, content=body)

    async def aclose(self) -> None:
        """Close the live transport."""
        await self._live.aclose()


def recorded_counter(model_facts: Mapping[str, object]) -> CounterKind | None:
    """How a recorded run counted, from what its provenance says of the model."""
    name = model_facts.get("token_count")
    return name if name in KINDS else None


async def _prompt_tokens(client: AsyncOpenAI, head: bytes) -> int | None:
    url = f"{str(client.base_url).rstrip('/')}/chat/completions"
    try:
        response = await client.post(
            url,
            cast_to=httpx2.Response,
            content=head[:-1] + b',"messages":[' + encode(_PROBE) + b"]}",
            options={"headers": {"content-type": "application/json"}, "timeout": _TIMEOUT_S},
        )
    except (APIStatusError, APIConnectionError):
        return None
    told = mapping(mapping(parsed(response.content)).get("usage")).get("prompt_tokens")
    return told if isinstance(told, int) else None


def _counted(n_tokens: object, context: object) -> Counted | None:
    if not isinstance(n_tokens, int) or isinstance(n_tokens, bool) or n_tokens <= 0:
        return None
    return Counted(n_tokens, context if isinstance(context, int) and context > 0 else None)
