"""What identifies a request, per channel.

Knows: which parts of a request have meaning. Must not know: the tape, modes, how often a request came before.

A chat request is canonical JSON of everything but who asks and how it is carried; ids of tool calls are replaced by
their order of first appearance. Each message is read once: the identity of round 30 costs its new messages and a
look-up for each old one.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast
from urllib.parse import parse_qsl, urlsplit

from cassettes.exchange import Outgoing, TapeRequest

NOT_IN_IDENTITY: Final = ("user", "metadata", "stream", "stream_options")
"""Fields of a chat request that say who asks and how the answer travels."""

KEY_PARAMETERS: Final = frozenset(
    {"key", "api_key", "apikey", "api-key", "token", "access_token", "subscription-token", "subscription_token", "auth"}
)
"""Query parameters that carry a key: never part of an identity, never written."""

COUNTING: Final = ("tokenize", "apply-template")
"""Ends of the paths of requests that count a chat: the same messages, but never to be taken for the chat itself."""

ID_CHARS: Final = 32


# One encoder for all: `json.dumps` with arguments makes one for every value.
_CANONICAL: Final = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Identity:
    """`id` names the request; `messages` its messages alone ("" on other channels). Both are hex."""

    id: str
    messages: str = ""


@dataclass(frozen=True, slots=True)
class _Message:
    digest: bytes
    call_ids: tuple[str, ...]


class Identities:
    """Identities of the requests of one session; remembers the messages that it has read."""

    def __init__(self) -> None:
        self._heads: dict[bytes, bytes] = {}
        self._messages: dict[bytes, _Message] = {}

    def of(self, request: TapeRequest) -> Identity:
        """The identity of `request`."""
        match request.channel:
            case "model" | "judge":
                return self._chat(request)
            case "search":
                return Identity(_hex(_search(request)))
            case "page":
                return Identity(
                    _hex(f"{request.method.upper()} {page_url(request.url)}".encode("utf-8", "surrogatepass"))
                )

    def _chat(self, request: TapeRequest) -> Identity:
        if request.outgoing is not None:
            return self._of_parts(request.outgoing)
        name = urlsplit(request.url).path.rpartition("/")[2]
        body = _object(request.body)
        if body is None or name in COUNTING:
            return Identity(_hex(f"{request.method.upper()} {name}\n".encode() + request.body))
        messages = body.pop("messages", [])
        entries = cast("list[object]", messages) if isinstance(messages, list) else [messages]
        return _chat_identity(_head_digest(body), [_read_message(entry) for entry in entries])

    def _of_parts(self, parts: Outgoing) -> Identity:
        head = self._heads.get(parts.head)
        if head is None:
            head = self._heads[parts.head] = _head_digest(_object(parts.head + b"]}") or {})
        known = self._messages
        read: list[_Message] = []
        for encoded in parts.messages:
            message = known.get(encoded)
            if message is None:
                message = known[encoded] = _read_message(json.loads(encoded))
            read.append(message)
        return _chat_identity(head, read)


def page_url(url: str) -> str:
    """`url` without fragment, scheme and host in lower case: what names a page on the tape."""
    bare = url.partition("#")[0]
    scheme, separator, rest = bare.partition("://")
    if not separator:
        return bare
    authority = re.match(r"[^/?]*", rest)
    end = authority.end() if authority else 0
    user, at, host = rest[:end].rpartition("@")
    return f"{scheme.lower()}://{user}{at}{host.lower()}{rest[end:]}"


def canonical(value: object) -> bytes:
    """JSON with sorted keys and no spaces, as UTF-8; lone surrogates pass."""
    return _CANONICAL(value).encode("utf-8", "surrogatepass")


def _chat_identity(head: bytes, messages: list[_Message]) -> Identity:
    order: dict[str, int] = {}
    total = hashlib.sha256()
    for message in messages:
        total.update(message.digest)
        for call_id in message.call_ids:
            total.update(b"%d;" % order.setdefault(call_id, len(order)))
    of_messages = total.digest()
    return Identity(_hex(head + of_messages), of_messages.hex()[:ID_CHARS])


def _head_digest(body: Mapping[str, object]) -> bytes:
    meant = {name: value for name, value in body.items() if name not in NOT_IN_IDENTITY and name != "messages"}
    return hashlib.sha256(canonical(meant)).digest()


def _read_message(message: object) -> _Message:
    """The digest of a message without the ids of its tool calls, and these ids in order."""
    if not isinstance(message, dict):
        return _Message(hashlib.sha256(canonical(message)).digest(), ())
    fields = cast("dict[str, object]", message)
    call_ids: list[str] = []
    calls = fields.get("tool_calls")
    if isinstance(calls, list):
        fields = {**fields, "tool_calls": [_without_id(call, call_ids) for call in cast("list[object]", calls)]}
    answered = fields.get("tool_call_id")
    if isinstance(answered, str):
        call_ids.append(answered)
        fields = {**fields, "tool_call_id": ""}
    return _Message(hashlib.sha256(canonical(fields)).digest(), tuple(call_ids))


def _without_id(call: object, call_ids: list[str]) -> object:
    if not isinstance(call, dict):
        return call
    fields = cast("dict[str, object]", call)
    call_id = fields.get("id")
    if not isinstance(call_id, str):
        return fields
    call_ids.append(call_id)
    return {**fields, "id": ""}


def _search(request: TapeRequest) -> bytes:
    """Engine (host), endpoint (path) and parameters; their order and the form of their characters do not count."""
    url = urlsplit(request.url)
    sent = parse_qsl(url.query, keep_blank_values=True, errors="surrogateescape")
    parameters = sorted(
        [name, unicodedata.normalize("NFC", value)] for name, value in sent if not is_key_parameter(name)
    )
    body: object = _object(request.body)
    if body is None:
        body = unicodedata.normalize("NFC", request.body.decode("utf-8", "surrogateescape"))
    return canonical([request.method.upper(), (url.hostname or url.scheme), url.path, parameters, body])


def is_key_parameter(name: str) -> bool:
    """True for a query parameter that carries a key."""
    return name.lower() in KEY_PARAMETERS


def _object(body: bytes) -> dict[str, object] | None:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def _hex(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:ID_CHARS]
