"""Export to WARC 1.1 (ISO 28500), the format of web archives: what the sessions saw of the web, for any archive's tools.

Knows: the record types and headers of WARC. Must not know: journals, packs, vcrpy.

Written here and not by a library: five record types are fewer lines than the wrapping of an untyped writer, and the same
tape gives the same bytes (the libraries put in a clock and random ids). Sections named below are those of the
specification, iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit

import httpx2

from cassettes.exchange import Channel, Headers
from cassettes.reading import Exchange, Session, chosen, refuse_secrets
from cassettes.redact import Redactor
from cassettes.replacing import replacing

CONFORMS_TO: Final = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
SAME_PAYLOAD: Final = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
REQUEST, RESPONSE = "application/http; msgtype=request", "application/http; msgtype=response"
FRAMING: Final = (b"content-length", b"content-encoding", b"transfer-encoding", b"connection", b"host")
"""Headers about how bytes travelled; the length and the form of a block are stated anew."""
NAMESPACE: Final = uuid.UUID("5f0c7d5e-6c0c-5d4e-9a57-7a6f3c1d2b10")
"""Of our record ids, which are made from what they name: session, position in it, kind of record."""


@dataclass(slots=True)
class WarcSummary:
    """What an export holds. `n_left_out` exchanges brought no response, so that there is nothing to archive."""

    n_responses: int = 0
    n_revisits: int = 0
    n_resources: int = 0
    n_left_out: int = 0
    n_bytes: int = 0


def export_warc(
    sessions: Iterable[Session], out: Path, channels: frozenset[Channel], redactor: Redactor
) -> WarcSummary:
    """Write the exchanges on `channels` to `out`, each record compressed for itself where the name ends in `.gz`.

    A response and its request are a pair of records; a body seen before at the same URL is a `revisit` that names the
    first; what did not come over HTTP (a page of a local corpus) is a `resource`. Bodies are as on the tape: decoded, so
    that no `Content-Encoding` is claimed, and `Content-Length` is ours. The tape keeps no time of an exchange: the date of
    a record is that of the last write to its session, as far as the file system knows. Raises TapeSecret, and leaves no
    file, where a record would hold a secret.
    """
    archive = _Archive(channels, redactor, WarcSummary())
    compress = out.name.endswith(".gz")
    with replacing(out) as file:
        for record in archive.records(sessions):
            data = record.as_bytes()
            # mtime=0: the same tape gives the same bytes.
            archive.summary.n_bytes += file.write(gzip.compress(data, mtime=0) if compress else data)
    return archive.summary


@dataclass(frozen=True, slots=True)
class _Record:
    kind: str
    id: str
    date: str
    content_type: str
    block: bytes
    url: str = ""
    payload: bytes | None = None
    """The part of the block that is the body; None where a payload digest makes no sense (5.9)."""
    more: tuple[tuple[str, str], ...] = ()

    def as_bytes(self) -> bytes:
        """The record as it stands in the file."""
        named = [
            ("WARC-Type", self.kind),
            ("WARC-Record-ID", self.id),
            ("WARC-Date", self.date),
            ("WARC-Target-URI", self.url),
            *self.more,
            ("WARC-Payload-Digest", _digest(self.payload) if self.payload is not None else ""),
            ("WARC-Block-Digest", _digest(self.block)),
            ("Content-Type", self.content_type),
            ("Content-Length", str(len(self.block))),
        ]
        head = "".join(f"{name}: {_one_line(value)}\r\n" for name, value in named if value)
        return b"WARC/1.1\r\n" + head.encode("utf-8") + b"\r\n" + self.block + b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class _First:
    """Where a body was seen first."""

    id: str
    date: str


@dataclass(slots=True)
class _Archive:
    channels: frozenset[Channel]
    redactor: Redactor
    summary: WarcSummary
    first: dict[str, _First] = field(default_factory=dict[str, _First])

    def records(self, sessions: Iterable[Session]) -> Iterator[_Record]:
        """All records of the file, in the order of the sessions."""
        for n, session in enumerate(sessions):
            date = _date(session.written_at)
            if n == 0:
                yield _warcinfo(date)
            for exchange in chosen(session.exchanges(), self.channels):
                refuse_secrets(exchange, self.redactor)
                yield from self._of(exchange, date)

    def _of(self, exchange: Exchange, date: str) -> Iterator[_Record]:
        if exchange.exception is not None:
            self.summary.n_left_out += 1
            return
        name, url = f"{exchange.session}/{exchange.position}", _uri(exchange.request.url)
        truncated = (("WARC-Truncated", "disconnect"),) if exchange.response.broken is not None else ()
        body = exchange.response.body
        if urlsplit(url).scheme not in ("http", "https"):
            self.summary.n_resources += 1
            media_type = exchange.media_type or "application/octet-stream"
            yield _Record("resource", _id("resource", name), date, media_type, body, url, body, truncated)
            return
        response = self._response(exchange, name, date, truncated)
        yield response
        asked = exchange.request.body
        concurrent = (("WARC-Concurrent-To", response.id),)
        block = _request_head(exchange, url) + asked
        yield _Record("request", _id("request", name), date, REQUEST, block, url, asked or None, concurrent)

    def _response(self, exchange: Exchange, name: str, date: str, truncated: tuple[tuple[str, str], ...]) -> _Record:
        url, head, body = _uri(exchange.request.url), _response_head(exchange), exchange.response.body
        first = self.first.get(f"{_digest(body)} {url}")
        if first is not None and not truncated:
            self.summary.n_revisits += 1
            refers = (
                ("WARC-Profile", SAME_PAYLOAD),
                ("WARC-Refers-To", first.id),
                ("WARC-Refers-To-Target-URI", url),
                ("WARC-Refers-To-Date", first.date),
            )
            return _Record("revisit", _id("revisit", name), date, RESPONSE, head, url, body, refers)
        self.summary.n_responses += 1
        record = _Record("response", _id("response", name), date, RESPONSE, head + body, url, body, truncated)
        if not truncated:
            self.first[f"{_digest(body)} {url}"] = _First(record.id, date)
        return record


def _warcinfo(date: str) -> _Record:
    fields = {
        "software": "pincite",
        "format": "WARC File Format 1.1",
        "conformsTo": CONFORMS_TO,
        "description": "Bodies are stored decoded; dates are those of the files of the sessions.",
    }
    block = "".join(f"{name}: {value}\r\n" for name, value in fields.items()).encode("utf-8")
    return _Record("warcinfo", _id("warcinfo", date), date, "application/warc-fields", block)


def _response_head(exchange: Exchange) -> bytes:
    response = exchange.response
    length = (b"content-length", b"%d" % len(response.body))
    return _head(
        f"HTTP/1.1 {response.status} {httpx2.codes.get_reason_phrase(response.status)}".rstrip(),
        (*_kept(response.headers), length),
    )


def _request_head(exchange: Exchange, url: str) -> bytes:
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    headers: Headers = ((b"host", parts.netloc.rpartition("@")[2].encode("utf-8")), *_kept(exchange.request.headers))
    if exchange.request.body:
        headers = (*headers, (b"content-length", b"%d" % len(exchange.request.body)))
    return _head(f"{exchange.request.method} {target} HTTP/1.1", headers)


def _kept(headers: Headers) -> Headers:
    return tuple(pair for pair in headers if pair[0].lower() not in FRAMING)


def _head(start: str, headers: Headers) -> bytes:
    lines = [
        start.encode("utf-8"),
        *(name + b": " + re.sub(rb"[\x00-\x1f\x7f]+", b" ", value) for name, value in headers),
    ]
    return b"\r\n".join([*lines, b"", b""])


def _digest(data: bytes) -> str:
    # In hexadecimal, as on the tape, so that a page can be found there.
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _id(kind: str, name: str) -> str:
    return f"<urn:uuid:{uuid.uuid5(NAMESPACE, f'{kind} {name}')}>"


def _date(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _uri(url: str) -> str:
    """`url` with what may not stand in a URI percent-encoded: imported tapes can hold Japanese as typed."""
    return quote(url, safe="%:/?#[]@!$&'()*+,;=-._~")


def _one_line(text: str) -> str:
    return re.sub(r"[\x00-\x1f\x7f]+", " ", text).strip()
