"""An exchange as the two JSON values of the journal, its large bodies among the blobs, and back.

Knows: what of a request and a response is written, and how a body is referred to. Must not know: files, modes.

A body over 1 KB or not UTF-8 is a blob. A chat request keeps its readable frame: messages over 300 bytes are replaced by
`{"$blob":"<sha256>"}`, and the header `x-pincite-body` says that the body holds references. Text that could be mistaken
for a reference is put among the blobs itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from typing import Final, cast
from urllib.parse import quote, unquote_plus

from cassettes.blobs import Blobs
from cassettes.errors import TapeDamaged, TapeSecret
from cassettes.exchange import Headers, TapeRequest, TapeResponse
from cassettes.journal import line, quoted, yaml_safe
from cassettes.keys import is_key_parameter
from cassettes.messages import split_messages
from cassettes.redact import MARK, Redactor

MAX_INLINE_BYTES: Final = 1_024
MAX_MESSAGE_BYTES: Final = 300
BODY_HEADER: Final = "x-pincite-body"
"""On a request: its body holds references to blobs."""
BROKEN_HEADER: Final = "x-pincite-broken"
"""On a response: the stream broke off after the body; the value says how."""
EXCEPTION_HEADER: Final = "x-pincite-exception"
"""On a response with status 599: there was none, but an exception of httpx2 (`ReadTimeout: …`)."""
NO_RESPONSE: Final = 599
EMPTY_HEADER: Final = "x-pincite-empty"
"""On a response that was made up: no given tape has an answer to the request."""

REQUEST_HEADERS: Final = frozenset({"accept", "accept-language", "content-type"})
RESPONSE_HEADERS: Final = frozenset(
    {
        "cache-control",
        "content-disposition",
        "content-language",
        "content-location",
        "content-type",
        "etag",
        "expires",
        "last-modified",
        "link",
        "location",
        "refresh",
        "retry-after",
        "retry-after-ms",
        "x-ratelimit-limit",
        "x-ratelimit-policy",
        "x-ratelimit-remaining",
        "x-ratelimit-reset",
        "x-robots-tag",
        "x-should-retry",
        EMPTY_HEADER,
        BROKEN_HEADER,
        EXCEPTION_HEADER,
    }
)
"""The only headers that are written. Cookies, dates, keys and the coding of the body as sent are not among them."""

_REFERENCE: Final = '{"$blob":"'
_REFERENCES: Final = re.compile(r'\{"\$blob":"([0-9a-f]{64})"\}')


class Writer:
    """Turns the exchanges of one session into journal values; each message is stored and escaped once."""

    def __init__(self, blobs: Blobs, redactor: Redactor) -> None:
        self._blobs = blobs
        self._redactor = redactor
        self._pieces: dict[bytes, bytes] = {}

    def request(self, request: TapeRequest) -> bytes:
        """The request's value. Raises TapeSecret, TapeDiskError."""
        body, is_reference = self._request_body(request)
        headers = _written(request.headers, REQUEST_HEADERS)
        if is_reference:
            headers[BODY_HEADER] = ["references"]
        address = b'{"method":' + line(request.method) + b',"uri":' + line(without_keys(request.url))
        said = b"".join((address, b',"body":"', body, b'","headers":', line(headers), b"}"))
        return self._clean(said, request)

    def response(self, response: TapeResponse, request: TapeRequest) -> bytes:
        """The response's value; texts of errors are redacted. Raises TapeSecret, TapeDiskError."""
        failed = response.status >= HTTPStatus.BAD_REQUEST
        headers = _written(response.headers, RESPONSE_HEADERS)
        if response.broken is not None:
            headers[BROKEN_HEADER] = [response.broken]
        if failed or response.broken is not None:
            headers = {name: [self._redactor.redact(value) for value in values] for name, values in headers.items()}
        status = {"code": response.status, "message": _phrase(response.status)}
        body = self._response_body(response.body, request, redacted=failed)
        said = b"".join((b'{"status":', line(status), b',"headers":', line(headers), b',"body":', body, b"}"))
        return self._clean(said, request)

    def _request_body(self, request: TapeRequest) -> tuple[bytes, bool]:
        """The inside of a JSON string, and whether it holds references."""
        if request.channel in ("model", "judge"):
            parts = request.outgoing
            if parts is not None and len(request.body) > MAX_MESSAGE_BYTES and _REFERENCE.encode() not in parts.head:
                return self._frame(parts.head, [*parts.messages], b"]}", request), True
            split = split_messages(request.body) if parts is None and len(request.body) > MAX_MESSAGE_BYTES else None
            if split is not None and _REFERENCE.encode() not in split.head + split.tail:
                return self._frame(split.head, split.messages, split.tail, request), True
        text = _inline(self._clean(request.body, request))
        if text is not None and _REFERENCE not in text:
            return quoted(text), False
        return self._reference(request.body, request), True

    def _frame(self, head: bytes, messages: list[bytes], tail: bytes, request: TapeRequest) -> bytes:
        pieces = [self._piece(message, request) for message in messages]
        return self._text(head, request) + b",".join(pieces) + self._text(tail, request)

    def _piece(self, message: bytes, request: TapeRequest) -> bytes:
        piece = self._pieces.get(message)
        if piece is None:
            if len(message) > MAX_MESSAGE_BYTES or _REFERENCE.encode() in message:
                piece = self._reference(message, request)
            else:
                piece = self._text(message, request)
            self._pieces[message] = piece
        return piece

    def _text(self, text: bytes, request: TapeRequest) -> bytes:
        known = self._pieces.get(text)
        if known is None:
            try:
                known = self._pieces[text] = quoted(self._clean(text, request).decode())
            except UnicodeDecodeError as error:
                raise TapeDamaged(f"{request.method} {without_keys(request.url)}: the body is not UTF-8") from error
        return known

    def _reference(self, body: bytes, request: TapeRequest) -> bytes:
        return rb"{\"$blob\":\"" + self._put(body, request).encode() + rb"\"}"

    def _response_body(self, body: bytes, request: TapeRequest, *, redacted: bool) -> bytes:
        if redacted and self._redactor.holds_secret(body):
            body = self._redactor.redact(body.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        text = _inline(self._clean(body, request))
        if text is not None:
            return yaml_safe(json.dumps({"string": text}, ensure_ascii=False))
        return line({"string": "", "blob": self._put(body, request), "bytes": len(body)})

    def _put(self, body: bytes, request: TapeRequest) -> str:
        return self._blobs.put(self._clean(body, request))

    def _clean(self, data: bytes, request: TapeRequest) -> bytes:
        if self._redactor.holds_secret(data):
            place = f" at {request.place}" if request.place else ""
            raise TapeSecret(
                f"nothing was written: the exchange {request.method} "
                f"{self._redactor.redact(without_keys(request.url))}{place} holds the value of a key. "
                "Keys belong into headers; a page or a model that repeats one must not be recorded."
            )
        return data


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """A recorded request; `headers` are those that are written."""

    method: str
    url: str
    body: bytes
    headers: Headers


def read_request(said: bytes, blobs: Blobs) -> StoredRequest:
    """The request of a journal line, its body whole again. Raises TapeDamaged."""
    fields = _fields(said)
    headers = cast("dict[str, list[str]]", fields.get("headers") or {})
    body = str(fields.get("body") or "")
    is_reference = headers.pop(BODY_HEADER, None) is not None
    whole = inflate(body, blobs) if is_reference else body.encode()
    return StoredRequest(str(fields["method"]), str(fields["uri"]), whole, _raw(headers))


def read_response(said: bytes, blobs: Blobs) -> TapeResponse:
    """The response of a journal line. Raises TapeDamaged."""
    fields = _fields(said)
    status = cast("dict[str, object]", fields["status"])
    headers = cast("dict[str, list[str]]", fields["headers"])
    body = cast("dict[str, object]", fields["body"])
    blob = body.get("blob")
    broken = headers.pop(BROKEN_HEADER, None)
    return TapeResponse(
        status=cast("int", status["code"]),
        headers=_raw(headers),
        body=stored(str(blob), blobs) if blob else str(body["string"]).encode(),
        broken=broken[0] if broken else None,
        origin="tape",
    )


def inflate(body: str, blobs: Blobs) -> bytes:
    """`body` with each reference replaced by what it refers to. Raises TapeDamaged."""
    pieces = _REFERENCES.split(body)
    return b"".join(stored(piece, blobs) if i % 2 else piece.encode() for i, piece in enumerate(pieces))


def stored(sha256: str, blobs: Blobs) -> bytes:
    """The blob of that hash. Raises TapeDamaged."""
    try:
        return blobs.get(sha256)
    except KeyError as error:
        why = f" ({'; '.join(blobs.damaged)})" if blobs.damaged else ""
        raise TapeDamaged(f"the blob {sha256} is in no pack of this set{why}") from error


def references(request: bytes, response: bytes) -> list[str]:
    """The hashes that the two values of an interaction refer to."""
    found = [match.decode() for match in re.findall(rb'\{\\"\$blob\\":\\"([0-9a-f]{64})\\"\}', request)]
    blob = re.search(rb'"blob":"([0-9a-f]{64})","bytes":\d+\}\}$', response)
    return [*found, blob[1].decode()] if blob else found


def _fields(said: bytes) -> dict[str, object]:
    return cast("dict[str, object]", json.loads(said))


def _inline(body: bytes) -> str | None:
    """The body as text, if it may stand in the journal."""
    if len(body) > MAX_INLINE_BYTES:
        return None
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def _written(headers: Headers, allowed: frozenset[str]) -> dict[str, list[str]]:
    kept: dict[str, list[str]] = {}
    for said, value in _allowed(headers, allowed):
        kept.setdefault(said, []).append(value)
    return kept


@lru_cache(maxsize=256)
def _allowed(headers: Headers, allowed: frozenset[str]) -> tuple[tuple[str, str], ...]:
    """Remembered, because a client sends the same headers with every call."""
    named = ((name.decode("latin-1").lower(), value) for name, value in headers)
    return tuple((said, value.decode(_coding(said), "replace")) for said, value in named if said in allowed)


def _raw(headers: Mapping[str, list[str]]) -> Headers:
    return tuple(
        (name.encode("latin-1"), value.encode(_coding(name), "replace"))
        for name, values in headers.items()
        for value in values
    )


def _coding(name: str) -> str:
    """Latin-1 keeps any bytes of a server; what we say ourselves is readable."""
    return "utf-8" if name.startswith("x-pincite-") else "latin-1"


def without_keys(url: str) -> str:
    """`url` with the value of each parameter that carries a key struck out; else exactly as sent."""
    start, mark, query = url.partition("?")
    if not mark:
        return url
    query, hash_mark, fragment = query.partition("#")
    kept = [
        f"{name}={quote(MARK, safe='*')}" if is_key_parameter(unquote_plus(name)) else pair
        for pair in query.split("&")
        for name in (pair.partition("=")[0],)
    ]
    return f"{start}?{'&'.join(kept)}{hash_mark}{fragment}"


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
