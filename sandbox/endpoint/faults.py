"""What a failed HTTP exchange with a model server means: stop the run, try again, or a named failure of this sample.

Knows: the error forms of the servers that people run. Must not know: how requests are made.

Forms seen in: vLLM `entrypoints/openai` (maximum context length …), llama.cpp `tools/server` (exceed_context_size_error),
SGLang `tokenizer_manager` (longer than the model's context length), OpenAI (code context_length_exceeded),
text-generation-inference (`inputs` tokens + `max_new_tokens`). Content filters: Azure OpenAI (code content_filter),
OpenAI (content_policy_violation), Gemini (PROHIBITED_CONTENT).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from sandbox.endpoint.lenient import mapping, parsed

Action = Literal["stop", "retry", "overflow", "refused", "fail"]

OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size_error"
    r"|maximum context length|max(?:imum)? model len|context size"
    r"|longer than the (?:model's context length|maximum model length)"
    r"|exceeds? the (?:model's )?(?:maximum |available )?context"
    r"|input(?:s)?`? tokens \+ `?max_new_tokens|prompt is too long|too many tokens",
    re.IGNORECASE,
)
TOOLS_OFF = re.compile(
    r"enable-auto-tool-choice|tool-call-parser|requires --jinja|does not support tools", re.IGNORECASE
)
FORMAT_OFF = re.compile(r"response_format|json_schema|guided|structured output|grammar", re.IGNORECASE)
REFUSED = re.compile(
    r"content[_ ]filter|content[_ ]management[_ ]policy|content_policy_violation|prompt was flagged|PROHIBITED_CONTENT",
    re.IGNORECASE,
)
UNKNOWN_FIELD = re.compile(
    r"unrecognized request argument|unknown (?:parameter|field|name)|unsupported (?:parameter|value)"
    r"|extra inputs are not permitted|extra_forbidden",
    re.IGNORECASE,
)
QUOTA = re.compile(r"insufficient_quota|exceeded your current quota|billing", re.IGNORECASE)
INPUT_TOKENS = re.compile(
    r"request has (\d+) input tokens|\((\d+) in the messages|prompt contains at least (\d+) input tokens"
    r"|\"n_prompt_tokens\":\s*(\d+)|requested (?:\d+) output tokens and your prompt contains (?:at least )?(\d+)",
    re.IGNORECASE,
)
CONTEXT_TOKENS = re.compile(
    r"maximum context length (?:is|of) (\d+)|\"n_ctx\":\s*(\d+)|context length \((\d+)|maximum model length of (\d+)",
    re.IGNORECASE,
)
MESSAGE_CHARS = 400
GIST_CHARS = 200


@dataclass(frozen=True, slots=True)
class Fault:
    """What to do about a status: `message` is one line, `retry_after_s` what the server asked for (None = nothing)."""

    action: Action
    message: str
    retry_after_s: float | None = None
    prompt_tokens: int | None = None
    context_tokens: int | None = None


def classify(status: int, body: bytes, retry_after: str | None, *, asked_format: bool) -> Fault:
    """The fault behind a status ≥ 300. Only passing faults (408, 409, 425, 429, 5xx) are worth another try."""
    text = body[:20_000].decode("utf-8", "replace")
    if status < 400:
        # Following it could send the key to another host; as a reply it would fail every sample in the same way.
        return Fault(
            "stop", f"HTTP {status}: a redirect, which is not followed — give the address itself as the base URL"
        )
    said = f"HTTP {status}: {_message(text)}"
    if OVERFLOW.search(text) and status in (400, 413, 422, 500):
        return Fault("overflow", said, None, _number(INPUT_TOKENS, text), _number(CONTEXT_TOKENS, text))
    if status in (400, 403, 422) and REFUSED.search(_gist(text)):
        return Fault("refused", said)
    if status in (401, 403):
        return Fault("stop", f"{said} — check the API key (the variable named by api_key_env)")
    if status == 404:
        return Fault("stop", f"{said} — check --base-url (it usually ends in /v1) and the model's name")
    if TOOLS_OFF.search(text):
        return Fault("stop", f"{said} — start the server with tool calling on")
    if status == 429:
        if QUOTA.search(text):
            return Fault("stop", f"{said} — the account's quota is used up")
        return Fault("retry", said, _seconds(retry_after))
    if status in (408, 409, 425) or status >= 500:
        return Fault("retry", said, _seconds(retry_after))
    if asked_format and status in (400, 422) and FORMAT_OFF.search(text):
        # Going on without it would depend on which call was refused first, and could not be replayed.
        return Fault("stop", f"{said} — ask without a response format: --set judge.response_format=false")
    if status in (400, 422) and UNKNOWN_FIELD.search(_gist(text)):
        # Every request holds the same fields: each would fail like this one, and none of them for its sample.
        return Fault(
            "stop",
            f"{said} — leave out what this server does not know: --set 'model.decode.omit=[\"top_k\", …]', "
            "--set judge.thinking=unsaid, --set model.preserve_thinking=false, "
            "--set model.max_output_field=max_completion_tokens (judge.max_output_field for the judge)",
        )
    return Fault("fail", said)


def _message(text: str) -> str:
    """The server's own sentence, on one line and short."""
    found = parsed(text)
    inner = mapping(found)
    error = inner.get("error", inner)
    said = mapping(error).get("message", mapping(error).get("detail", error)) if inner else text
    return " ".join(str(said).split())[:MESSAGE_CHARS] or "(empty body)"


def _gist(text: str) -> str:
    """What the server says of its own: code, type, the beginning of its sentence. Further on it may repeat the prompt,
    whose words must not decide what a failure counts as.
    """
    inner = mapping(parsed(text))
    error = mapping(inner.get("error", inner))
    return f"{error.get('code')} {error.get('type')} {_message(text)[:GIST_CHARS]}"


def _number(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    return next((int(group) for group in found.groups() if group), None) if found else None


def _seconds(retry_after: str | None) -> float | None:
    """`Retry-After` in seconds; a date is ignored (clocks differ), and nobody is obeyed for more than two minutes."""
    try:
        return min(max(float(retry_after or ""), 0.0), 120.0)
    except ValueError:
        return None
