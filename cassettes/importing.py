"""Foreign vcrpy cassettes as journals of ours, which replay in order.

Knows: the shapes that vcrpy's own serializers write, now and before. Must not know: how a journal is written, terminals.

An import records: each foreign exchange goes through the tape as if its answer had just come from outside, so that
identities, numbers, allowed headers and the search for secrets are those of any recording.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import parse_qsl, unquote, urlsplit

import httpx2
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from cassettes.blobs import MAX_BODY_BYTES
from cassettes.errors import TapeError
from cassettes.exchange import CHANNELS, Channel, Headers, TapeRequest, TapeResponse
from cassettes.modes import Modes
from cassettes.naming import journal_path
from cassettes.redact import Redactor
from cassettes.tape import TapeSet
from cassettes.vcr import OURS, parsed_cassette

SEARCH_HOSTS: Final = ("api.search.brave.com", "api.tavily.com", "google.serper.dev", "api.exa.ai", "serpapi.com")
STOCK_REQUEST: Final = frozenset({"method", "uri", "body", "headers"})
STOCK_RESPONSE: Final = frozenset({"status", "headers", "body"})
EARLY_HTTPX_RESPONSE: Final = frozenset({"status_code", "http_version", "headers", "content"})
"""What vcrpy before version 6 wrote for httpx."""
OF_THE_WIRE: Final = frozenset({b"content-encoding", b"content-length", b"transfer-encoding"})


@dataclass(frozen=True, slots=True)
class ForeignExchange:
    """An exchange of a foreign cassette; the response's body is decoded."""

    method: str
    url: str
    headers: Headers
    body: bytes
    response: TapeResponse


@dataclass(frozen=True, slots=True)
class Imported:
    """A cassette that is a session now: its journal, and how many exchanges went to which channel."""

    source: Path
    session: str
    journal: Path
    n_exchanges: dict[Channel, int]


async def import_cassette(
    source: Path, folder: Path, session: str, *, channel: Channel | None, redactor: Redactor
) -> Imported:
    """Record the cassette `source` as `session` of the tape in `folder`; all of it or nothing.

    `channel` None: guessed for each exchange (`guessed_channel`). Raises TapeError for a file that vcrpy's own
    serializers did not write, TapeExists for a session that is there, TapeSecret.
    """
    foreign = read_cassette(source)
    counts: dict[Channel, int] = dict.fromkeys(CHANNELS, 0)
    journal = journal_path(folder, session)
    whole = False
    with TapeSet(folder, Modes.record(), redactor=redactor) as tapes, tapes.session(session) as tape:
        try:
            for exchange in foreign:
                on = channel or guessed_channel(exchange)
                asked = TapeRequest(on, exchange.method, exchange.url, exchange.body, exchange.headers)
                await tape.exchange(asked, _Answer(exchange.response))
                counts[on] += 1
            whole = True
        finally:
            if not whole:
                journal.unlink(missing_ok=True)
    return Imported(source, session, journal, counts)


def read_cassette(path: Path) -> tuple[ForeignExchange, ...]:
    """The exchanges of a cassette that vcrpy wrote (YAML or JSON), in their order.

    Raises TapeError for any other file, saying what it seems to be.
    """
    value = parsed_cassette(path)
    _check_shape(path, value)
    try:
        cassette = _Cassette.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise TapeError(f"{path} is no cassette of vcrpy: {where}: {first['msg']}") from error
    if not cassette.interactions:
        raise TapeError(f"{path} holds no interaction")
    return tuple(_exchange(interaction) for interaction in cassette.interactions)


def guessed_channel(exchange: ForeignExchange) -> Channel:
    """`model` for what is asked of a chat or responses endpoint, `search` for known engines and addresses that end in
    `/search`, `page` for the rest. A judge cannot be told from a model.
    """
    url = urlsplit(exchange.url)
    asked = _object(exchange.body)
    if "model" in asked and not {"messages", "input", "prompt"}.isdisjoint(asked):
        return "model"
    ends_in_search = url.path.rstrip("/").rpartition("/")[2] in ("search", "_search")
    if url.hostname in SEARCH_HOSTS or (ends_in_search and (asked or "q" in dict(parse_qsl(url.query)))):
        return "search"
    return "page"


class _Answer:
    """What the tape asks in place of the outside."""

    def __init__(self, response: TapeResponse) -> None:
        self._response = response

    async def __call__(self) -> TapeResponse:
        return self._response


def _as_bytes(value: object) -> object:
    """Bodies as vcrpy's serializers give them: text, bytes, nothing, or a file or pieces that were sent."""
    match value:
        case None:
            return b""
        case str():
            return value.encode("utf-8", "surrogateescape")
        case BytesIO():
            return value.getvalue()
        case bytes():
            return value
        case _:
            raise ValueError("the body is neither text nor bytes")


def _as_values(value: object) -> object:
    return [value] if isinstance(value, str) else value


Body = Annotated[bytes, BeforeValidator(_as_bytes)]
HeaderValues = Annotated[Sequence[str], BeforeValidator(_as_values)]


class _Edge(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Request(_Edge):
    method: str
    uri: str
    body: Body = b""
    headers: dict[str, HeaderValues] = Field(default_factory=dict)


class _Status(_Edge):
    code: int


class _Body(_Edge):
    string: Body = b""


class _Response(_Edge):
    status: _Status | None = None
    status_code: int = 0
    headers: dict[str, HeaderValues] = Field(default_factory=dict)
    body: _Body = _Body()
    content: Body = b""


class _Interaction(_Edge):
    request: _Request
    response: _Response


class _Cassette(_Edge):
    interactions: Sequence[_Interaction]


class _Sides(_Edge):
    request: dict[str, object]
    response: dict[str, object]


class _Shape(_Edge):
    interactions: Sequence[_Sides]
    pincite: dict[str, object] | None = None


def _check_shape(path: Path, value: object) -> None:
    """Raises TapeError where another program than vcrpy wrote the file, for there the bodies are elsewhere."""
    if isinstance(value, list):
        raise TapeError(
            f"{path} is a cassette of vcrpy before 1.0; vcrpy's `python3 -m vcr.migration` brings it up to date"
        )
    try:
        shape = _Shape.model_validate(value)
    except ValidationError as error:
        raise TapeError(
            f"{path} is no cassette of vcrpy: it has no list of interactions, each request and response"
        ) from error
    if shape.pincite is not None:
        raise TapeError(f"{path} is a journal of pincite already; copy its tape folder instead")
    for sides in shape.interactions:
        _check_names(path, "request", sides.request.keys() - STOCK_REQUEST)
        if not sides.response.keys() <= EARLY_HTTPX_RESPONSE:
            _check_names(path, "response", sides.response.keys() - STOCK_RESPONSE)


def _check_names(path: Path, side: str, foreign: set[str]) -> None:
    if foreign:
        named = ", ".join(f"`{name}`" for name in sorted(foreign))
        raise TapeError(
            f"{path} was not written by a serializer of vcrpy's own: a {side} in it has {named}. The project that recorded "
            "it brings its own serializer; load the cassette with that, and save it with vcrpy's `yaml`."
        )


def _object(body: bytes) -> dict[str, object]:
    """The JSON object in `body`, empty if there is none."""
    try:
        return _OBJECT.validate_json(body)
    except ValidationError:
        return {}


_OBJECT: Final = TypeAdapter(dict[str, object])


def _exchange(interaction: _Interaction) -> ForeignExchange:
    asked, answered = interaction.request, interaction.response
    headers = _headers(answered.headers)
    status = answered.status.code if answered.status is not None else answered.status_code
    body = _decoded(headers, answered.body.string or answered.content)
    kept = tuple(pair for pair in headers if pair[0].lower() not in OF_THE_WIRE)
    response = TapeResponse(status, kept, body)
    return ForeignExchange(asked.method, asked.uri, _headers(asked.headers), asked.body, response)


def _headers(headers: dict[str, HeaderValues]) -> Headers:
    return tuple(
        (name.encode("latin-1", "replace"), _value(name, value)) for name, values in headers.items() for value in values
    )


def _value(name: str, value: str) -> bytes:
    if name.lower().startswith(OURS.decode()):
        return unquote(value).encode()  # what we exported ourselves
    return value.encode("latin-1", "replace")


def _decoded(headers: Headers, body: bytes) -> bytes:
    """`body` without its content coding. What does not decode was decoded before it was saved: vcrpy's own rule.

    Raises TapeError for a body that unpacks to more than a tape takes: a few kilobytes can hold terabytes.
    """
    encoded = httpx2.Response(200, headers=list(headers), stream=httpx2.ByteStream(body))
    decoded = bytearray()
    try:
        for piece in encoded.iter_bytes():
            decoded += piece
            if len(decoded) > MAX_BODY_BYTES:
                raise TapeError(
                    f"a body of {len(body)} bytes unpacks to more than {MAX_BODY_BYTES}: nothing is imported"
                )
    except httpx2.DecodingError:
        return body
    return bytes(decoded)
