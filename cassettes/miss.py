"""Why a request is not on the tape: the nearest recorded one, the first difference, the likely cause.

Knows: what a request of each channel consists of. Must not know: modes, files.
"""

from __future__ import annotations

import difflib
import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast
from urllib.parse import parse_qsl, urlsplit

from cassettes.exchange import Channel
from cassettes.keys import NOT_IN_IDENTITY, is_key_parameter, page_url

BEFORE_CHARS: Final = 20
AFTER_CHARS: Final = 60
_SAMPLING: Final = frozenset(
    {"temperature", "top_p", "top_k", "min_p", "seed", "stop", "n", "logit_bias", "chat_template_kwargs"}
    | {"presence_penalty", "frequency_penalty", "repetition_penalty", "max_tokens", "max_completion_tokens"}
)


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two requests first differ. `n_equal` = leading messages that are equal."""

    path: str
    text: str
    cause: str
    n_equal: int = 0


def difference(channel: Channel, recorded: Mapping[str, object], asked: Mapping[str, object]) -> Difference | None:
    """The first difference between two requests as `readable` gives them; None where there is none."""
    if channel in ("model", "judge"):
        return _chat_difference(recorded, asked)
    found = _first("", recorded, asked)
    if found is None:
        return None
    return Difference(found.path, found.text, _web_cause(channel, found))


def readable(channel: Channel, method: str, url: str, body: bytes) -> Mapping[str, object]:
    """What has meaning in a request, as JSON values."""
    match channel:
        case "model" | "judge":
            value = _parsed(body)
            if not isinstance(value, dict):
                return {"method": method, "endpoint": urlsplit(url).path.rpartition("/")[2], "body": value}
            chat = cast("dict[str, object]", value)
            return _with_numbered_calls({name: inner for name, inner in chat.items() if name not in NOT_IN_IDENTITY})
        case "search":
            parts = urlsplit(url)
            sent = parse_qsl(parts.query, keep_blank_values=True, errors="surrogateescape")
            parameters = {
                name: unicodedata.normalize("NFC", value) for name, value in sorted(sent) if not is_key_parameter(name)
            }
            where = {"method": method, "engine": parts.hostname or parts.scheme, "endpoint": parts.path}
            return {**where, "parameters": parameters, "body": _parsed(body)}
        case "page":
            return {"method": method, "url": page_url(url)}


@dataclass(frozen=True, slots=True)
class _Found:
    path: str
    text: str
    then: object
    now: object


_ABSENT: Final = object()


def _chat_difference(recorded: Mapping[str, object], asked: Mapping[str, object]) -> Difference | None:
    then, now = _messages(recorded), _messages(asked)
    n_equal = next((i for i, (a, b) in enumerate(zip(then, now, strict=False)) if a != b), min(len(then), len(now)))
    rest = _first("", _without_messages(recorded), _without_messages(asked))
    if n_equal == len(then) == len(now):
        return None if rest is None else Difference(rest.path, rest.text, _field_cause(rest.path), n_equal)
    name = f"messages[{n_equal}]"
    if n_equal >= len(then) or n_equal >= len(now):
        more = "asked" if n_equal >= len(then) else "recorded"
        return Difference(name, "", f"the {more} conversation has more messages ({len(then)} → {len(now)})", n_equal)
    found = _first(name, then[n_equal], now[n_equal])
    cause = _message_cause(now[n_equal])
    return Difference(found.path if found else name, found.text if found else "", cause, n_equal)


def _first(path: str, then: object, now: object) -> _Found | None:
    """The first difference in reading order; keys of objects by their name."""
    if then == now and type(then) is type(now):
        return None
    old, new = _fields(then), _fields(now)
    if old is not None and new is not None:
        pairs = [(f"{path}.{name}" if path else name, name) for name in sorted({*old, *new})]
        return _first_of((where, old.get(name, _ABSENT), new.get(name, _ABSENT)) for where, name in pairs)
    before, after = _items(then), _items(now)
    if before is not None and after is not None:
        n_items = max(len(before), len(after))
        return _first_of((f"{path}[{i}]", _at(before, i), _at(after, i)) for i in range(n_items))
    if isinstance(then, str) and isinstance(now, str):
        at = next((i for i, (a, b) in enumerate(zip(then, now, strict=False)) if a != b), min(len(then), len(now)))
        return _Found(f"{path}, character {at}", character_diff(then, now, at), then, now)
    return _Found(path, f"[-{_short(then)}-][+{_short(now)}+]", then, now)


def _first_of(parts: Iterable[tuple[str, object, object]]) -> _Found | None:
    return next((found for path, then, now in parts if (found := _first(path, then, now)) is not None), None)


def character_diff(then: str, now: str, at: int) -> str:
    """The two texts around character `at`, sign by sign: Japanese has no spaces to set words apart."""
    start = max(at - BEFORE_CHARS, 0)
    # What stands before is equal and stays out of the matching, which would else find its like further on.
    pieces = ["…" if start else "", then[start:at]]
    old, new = then[at : at + AFTER_CHARS], now[at : at + AFTER_CHARS]
    for step, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if step == "equal":
            pieces.append(old[i:j])
            continue
        pieces += [f"[-{old[i:j]}-]"] if j > i else []
        pieces += [f"[+{new[k:m]}+]"] if m > k else []
    if at + AFTER_CHARS < max(len(then), len(now)):
        pieces.append("…")
    return "".join(pieces).replace("\n", "⏎")


def _message_cause(message: object) -> str:
    role = cast("Mapping[str, object]", message).get("role") if isinstance(message, dict) else None
    match role:
        case "system" | "developer":
            return "the system prompt was changed"
        case "tool":
            return "the result of a tool is another one: its page, its search or its wording was changed"
        case "assistant":
            return "an earlier reply is not the recorded one"
        case _:
            return "the text of the question or prompt was changed"


def _field_cause(path: str) -> str:
    name = path.partition(",")[0].partition(".")[0].partition("[")[0]
    if name == "model":
        return "the name of the model was changed"
    if name in ("tools", "tool_choice", "response_format"):
        return f"{name} was changed (schema or wording of a tool, or the form that is asked for)"
    if name in _SAMPLING:
        return f"the sampling was changed ({name})"
    return f"the setting {name} was changed"


def _web_cause(channel: Channel, found: _Found) -> str:
    if channel == "page":
        return "another page is asked for: the model, a link or a redirect is not the recorded one"
    if isinstance(found.then, str) and isinstance(found.now, str) and _folded(found.then) == _folded(found.now):
        return "only the form of the query differs (width, case, spaces): its normalisation was changed"
    if found.path.startswith("parameters.q,"):
        return "another query: the model's words are not the recorded ones"
    return f"the search is set up in another way ({found.path.partition(',')[0]})"


def _folded(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def _messages(chat: Mapping[str, object]) -> Sequence[object]:
    messages = chat.get("messages")
    return cast("list[object]", messages) if isinstance(messages, list) else []


def _without_messages(chat: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in chat.items() if name != "messages"}


def _with_numbered_calls(chat: dict[str, object]) -> dict[str, object]:
    """Ids of tool calls by order of first appearance, as in the identity."""
    order: dict[str, str] = {}

    def numbered(call_id: object) -> object:
        return order.setdefault(call_id, f"call {len(order)}") if isinstance(call_id, str) else call_id

    messages: list[object] = []
    for message in _messages(chat):
        if isinstance(message, dict):
            fields = dict(cast("dict[str, object]", message))
            calls = fields.get("tool_calls")
            if isinstance(calls, list):
                fields["tool_calls"] = [
                    {**cast("dict[str, object]", call), "id": numbered(cast("dict[str, object]", call).get("id"))}
                    if isinstance(call, dict)
                    else call
                    for call in cast("list[object]", calls)
                ]
            if "tool_call_id" in fields:
                fields["tool_call_id"] = numbered(fields["tool_call_id"])
            messages.append(fields)
        else:
            messages.append(message)
    return {**chat, "messages": messages}


def _parsed(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return body.decode("utf-8", "backslashreplace")


def _fields(value: object) -> Mapping[str, object] | None:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else None


def _items(value: object) -> Sequence[object] | None:
    return cast("list[object]", value) if isinstance(value, list) else None


def _at(values: Sequence[object], i: int) -> object:
    return values[i] if i < len(values) else _ABSENT


def _short(value: object) -> str:
    if value is _ABSENT:
        return "absent"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= AFTER_CHARS else f"{text[:AFTER_CHARS]}…"
