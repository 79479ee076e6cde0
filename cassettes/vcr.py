"""The bridge to vcrpy: our journals in plain vcrpy, stock cassettes out of them, foreign cassettes into them.

Knows: vcrpy's cassettes and its public hook. Must not know: modes, terminals. The only module that imports vcrpy (0.4 s).

A journal is a vcrpy cassette but for its large bodies, which lie among the blobs. In plain vcrpy:
```
with Inflating(RUN / "tape") as inflating:
    recorded = vcr.VCR(record_mode="none", after_load_interaction=inflating)
    with recorded.use_cassette(RUN / "tape" / "q0001.r0.yaml"):
        …
```
vcrpy patches classes for the whole process: never more than one cassette open at a time. A call that brought no response
is a response with status 599 there, and a stream that broke off simply ends.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Mapping, MutableMapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Protocol, Self, cast
from urllib.parse import quote

import httpx2
import vcr
import yaml
from vcr import serialize as serializing
from vcr.record_mode import RecordMode
from vcr.request import Request as PlainRequest
from vcr.serializers import jsonserializer, yamlserializer

from cassettes.blobs import Blobs
from cassettes.errors import TapeDamaged, TapeError
from cassettes.exchange import Headers
from cassettes.interaction import BODY_HEADER, BROKEN_HEADER, inflate, stored
from cassettes.journal import read_journal
from cassettes.reading import Exchange, Session, refuse_secrets
from cassettes.recording import BLOBS
from cassettes.redact import Redactor
from cassettes.replacing import replacing

MATCH_ON: Final = ("method", "scheme", "host", "port", "path", "query", "body")
"""vcrpy's own default leaves the body out, so that chat requests, which differ by nothing else, get swapped answers.
With it, a client that sends no body at all (urllib) is not matched by an empty one (httpx2).
"""

OURS: Final = b"x-pincite-"
PRINTABLE: Final = "".join(map(chr, range(0x20, 0x7F)))

Response = dict[str, object]
"""vcrpy's form of a response: `status`, `headers`, `body`."""


class Request(Protocol):
    """vcrpy's form of a request, as far as it is used here."""

    method: str
    uri: str
    body: bytes | None
    headers: MutableMapping[str, str]


class Inflating:
    """A hook for vcrpy's `after_load_interaction` that puts the bodies of one tape folder back in place.

    A context manager; the packs stay open until it is closed. Raises TapeDamaged for a blob that is missing or damaged.
    """

    def __init__(self, folder: Path) -> None:
        self._blobs = Blobs(folder / BLOBS, writable=False)

    def __call__(self, request: Request, response: Response) -> tuple[Request, Response]:
        """Both with whole bodies, byte for byte; called by vcrpy."""
        if request.headers.pop(BODY_HEADER, None) is not None:
            request.body = inflate((request.body or b"").decode(), self._blobs)
        body = cast("dict[str, object]", response["body"])
        blob = body.get("blob")
        whole = stored(str(blob), self._blobs) if blob else body["string"]
        said = cast("dict[str, list[str]]", response["headers"])
        headers = {name: [plain_header(value) for value in values] for name, values in said.items()}
        return request, {**response, "headers": headers, "body": {"string": whole}}

    def close(self) -> None:
        """Close the packs."""
        self._blobs.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@contextmanager
def playing(journal: Path, match_on: tuple[str, ...] = MATCH_ON) -> Generator[None]:
    """Plain vcrpy plays the journal inside; what is not on it is refused, and nothing is written.

    A torn tail is cut first: vcrpy would stop at it, or take the file for an empty one and write over it. Raises
    TapeError where there is nothing to play or the tail cannot be cut.
    """
    read = read_journal(journal)
    if read is None or not read.entries:
        raise TapeError(f"{journal}: there is no whole interaction to play")
    if read.torn is not None and not read.torn.cut:
        raise TapeDamaged(f"{journal}: its last {read.torn.n_bytes} bytes are torn and cannot be cut; play a copy")
    with Inflating(journal.parent) as inflating:
        plain = vcr.VCR(record_mode=RecordMode.NONE, match_on=match_on, after_load_interaction=inflating)
        with cast("_Vcr", plain).use_cassette(str(journal)):
            yield


@dataclass(frozen=True, slots=True)
class VcrSummary:
    """The files that an export has written, and how many exchanges are in them."""

    files: tuple[Path, ...]
    n_exchanges: int


def export_vcr(sessions: Iterable[Session], out: Path, redactor: Redactor) -> VcrSummary:
    """Write each session as a stock vcrpy cassette (YAML, whole bodies) of the name of its journal into folder `out`.

    Raises TapeSecret for a session that holds a secret (those before it are written), TapeError where `out` is the
    folder of the tape itself.
    """
    files: list[Path] = []
    n_exchanges = 0
    for session in sessions:
        source = session.journal.path
        if out.resolve() == source.parent.resolve():
            raise TapeError(f"the export would write over the tape {source}; choose another folder")
        requests: list[Request] = []
        responses: list[Response] = []
        for exchange in session.exchanges():
            refuse_secrets(exchange, redactor)
            requests.append(_vcr_request(exchange))
            responses.append(_vcr_response(exchange))
        recorded = {"requests": requests, "responses": responses}
        stock = cast("_Serializing", serializing).serialize(recorded, yamlserializer)
        target = out / source.name
        with replacing(target) as file:
            file.write(stock.encode())
        files.append(target)
        n_exchanges += len(requests)
    return VcrSummary(tuple(files), n_exchanges)


def parsed_cassette(path: Path) -> object:
    """The values in a foreign cassette (YAML or JSON), of any shape. Raises TapeError for what vcrpy cannot read."""
    try:
        text = path.read_text(encoding="utf-8")
        value = cast("_Serializer", jsonserializer if path.suffix == ".json" else yamlserializer).deserialize(text)
    except OSError as error:
        raise TapeError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, yaml.YAMLError) as error:
        raise TapeError(f"{path} is no cassette that vcrpy can read: {' '.join(str(error).split())}") from error
    if _is_larger(value, 16 * len(text) + 2**26):
        raise TapeError(f"{path} says the same thing over and over by YAML aliases, far beyond its own size")
    return value


def _is_larger(value: object, limit: int) -> bool:
    """Whether `value`, written out without aliases, takes more than `limit` characters, 64 for every part of it."""
    n_chars, parts = 0, [value]
    while parts and n_chars <= limit:
        part = parts.pop()
        if isinstance(part, (str, bytes)):
            n_chars += len(part)
        elif isinstance(part, (list, tuple, dict)):
            inner = cast("Collection[object]", part)
            n_chars += 64 * len(inner)
            parts.extend(cast("dict[object, object]", part).values() if isinstance(part, dict) else inner)
    return n_chars > limit


def _vcr_request(exchange: Exchange) -> Request:
    request = exchange.request
    return _new_request(request.method, request.url, request.body, _grouped(request.headers))


def _vcr_response(exchange: Exchange) -> Response:
    response = exchange.response
    headers = _grouped(response.headers)
    if response.broken is not None:
        headers[BROKEN_HEADER] = [plain_header(response.broken)]
    return {
        "status": {"code": response.status, "message": httpx2.codes.get_reason_phrase(response.status)},
        "headers": headers,
        "body": {"string": response.body},
    }


def _grouped(headers: Headers) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for name, value in headers:
        coding = "utf-8" if name.startswith(OURS) else "latin-1"
        grouped.setdefault(name.decode("latin-1"), []).append(plain_header(value.decode(coding, "replace")))
    return grouped


def plain_header(value: str) -> str:
    """`value` with what is not ASCII percent-encoded as UTF-8: clients that vcrpy answers take no other headers."""
    return value if value.isascii() else quote(value, safe=PRINTABLE)


_new_request = cast("Callable[[str, str, bytes, dict[str, list[str]]], Request]", PlainRequest)


# vcrpy has no types: what is used of it gets them here.
class _Vcr(Protocol):
    def use_cassette(self, path: str) -> AbstractContextManager[object]: ...


class _Serializer(Protocol):
    def deserialize(self, cassette_string: str) -> object: ...


class _Serializing(Protocol):
    def serialize(self, cassette_dict: Mapping[str, object], serializer: object) -> str: ...
