"""Hashes without bodies: what may be passed on of pages that may not, so that another lab can tell whether it fetched the
same ones.

Knows: which exchanges name a page, the lines of a manifest, how two manifests differ. Must not know: how tapes are stored.

A manifest is JSON Lines, sorted, so that the same pages give the same bytes whoever fetched them and in which order:
```
{"pincite_manifest": 1, "pages": 2, "sha256": "<of the lines below>"}
{"bytes": 48211, "channel": "page", "media_type": "text/html", "method": "GET", "sha256": "…", "status": 200, "url": "…"}
```
A hash is of the body as decoded (no gzip), before any text is taken from it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cassettes.errors import TapeError
from cassettes.exchange import Channel
from cassettes.keys import page_url
from cassettes.reading import Session, chosen, refuse_secrets
from cassettes.redact import Redactor
from cassettes.replacing import replacing

VERSION: Final = 1
PASSING: Final = frozenset({408, 425, 429})
"""With 5xx: statuses that say something of a moment and nothing of a page."""

ChangeKind = Literal["changed", "missing", "added"]


class Fetched(BaseModel):
    """What was fetched once: an address, and the hash of what came."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    channel: Channel
    method: str
    url: str
    request_sha256: str | None = None
    """Of the request's body; None where it had none."""
    status: int
    sha256: str
    n_bytes: int = Field(validation_alias="bytes", serialization_alias="bytes")
    media_type: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything fetched, each version of each page once, sorted. `n_left_out` exchanges brought no whole page."""

    fetched: tuple[Fetched, ...]
    n_left_out: int = 0


@dataclass(frozen=True, slots=True)
class Change:
    """A page that is not the same in two manifests. `before`, `after`: its versions, `status sha256`, sorted."""

    kind: ChangeKind
    channel: Channel
    method: str
    url: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """`missing` = only in the first manifest, `added` = only in the second. Equal where there are no changes."""

    n_same: int
    changes: tuple[Change, ...]

    def count(self, kind: ChangeKind) -> int:
        """How many pages changed in that way."""
        return sum(change.kind == kind for change in self.changes)


def manifest_of(sessions: Iterable[Session], channels: frozenset[Channel], redactor: Redactor) -> Manifest:
    """What the sessions fetched over `channels`. Left out: calls without a response, broken streams, 408, 425, 429, 5xx.

    Raises TapeSecret where an exchange holds a secret: a hash may not be a way to guess it.
    """
    fetched: set[Fetched] = set()
    n_left_out = 0
    for session in sessions:
        for exchange in chosen(session.exchanges(), channels):
            refuse_secrets(exchange, redactor)
            request, response = exchange.request, exchange.response
            if exchange.response.broken is not None or response.status in PASSING or response.status >= 500:
                n_left_out += 1
                continue
            fetched.add(
                Fetched(
                    channel=exchange.key.channel,
                    method=request.method,
                    url=page_url(request.url),
                    request_sha256=_sha256(request.body) if request.body else None,
                    status=response.status,
                    sha256=_sha256(response.body),
                    n_bytes=len(response.body),
                    media_type=exchange.media_type.partition(";")[0].strip().lower(),
                )
            )
    return Manifest(tuple(sorted(fetched, key=_line)), n_left_out)


def write_manifest(manifest: Manifest, out: Path) -> None:
    """Write the manifest to `out`. Raises TapeDiskError."""
    lines = b"".join(_line(fetched) for fetched in manifest.fetched)
    head = {"pincite_manifest": VERSION, "pages": len(manifest.fetched), "sha256": _sha256(lines)}
    with replacing(out) as file:
        file.write(json.dumps(head).encode() + b"\n" + lines)


def read_manifest(path: Path) -> Manifest:
    """The manifest in a file. Raises TapeError for a file that is none, or not as it was written."""
    try:
        head, _, lines = path.read_bytes().partition(b"\n")
        said = _Head.model_validate_json(head)
        fetched = tuple(Fetched.model_validate_json(line) for line in lines.splitlines())
    except OSError as error:
        raise TapeError(f"cannot read {path}: {error.strerror or error}") from error
    except ValidationError as error:
        raise TapeError(f"{path} is no manifest of pincite: {error.errors()[0]['msg']}") from error
    if said.sha256 != _sha256(lines):
        raise TapeError(f"{path} is not as it was written: the hash of its lines is another one")
    return Manifest(fetched)


def compare(first: Manifest, second: Manifest) -> Comparison:
    """Page by page: the same versions (status and hash) in both, or a change. Media types are not compared."""
    before, after = _versions(first), _versions(second)
    changes: list[Change] = []
    for page in sorted({*before, *after}, key=_page_order):
        old, new = before.get(page, ()), after.get(page, ())
        if old != new:
            kind: ChangeKind = "changed" if old and new else "missing" if old else "added"
            changes.append(Change(kind, page.channel, page.method, page.url, old, new))
    return Comparison(len({*before, *after}) - len(changes), tuple(changes))


class _Head(BaseModel):
    pincite_manifest: Literal[1]
    pages: int
    sha256: str


@dataclass(frozen=True, slots=True)
class _Page:
    channel: Channel
    method: str
    url: str
    request_sha256: str


def _page_order(page: _Page) -> list[str]:
    return [page.channel, page.url, page.method, page.request_sha256]


def _versions(manifest: Manifest) -> dict[_Page, tuple[str, ...]]:
    versions: dict[_Page, set[str]] = {}
    for fetched in manifest.fetched:
        page = _Page(fetched.channel, fetched.method, fetched.url, fetched.request_sha256 or "")
        versions.setdefault(page, set()).add(f"{fetched.status} {fetched.sha256}")
    return {page: tuple(sorted(found)) for page, found in versions.items()}


def _line(fetched: Fetched) -> bytes:
    said = fetched.model_dump(mode="json", by_alias=True, exclude_none=True)
    return json.dumps(said, ensure_ascii=False, sort_keys=True).encode("utf-8", "backslashreplace") + b"\n"


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
