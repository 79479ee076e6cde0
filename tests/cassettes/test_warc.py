"""The export to WARC 1.1, read back by warcio."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import pytest
from servers.tape_scene import (
    CHAT,
    HTML,
    MISTAKEN,
    NASTY,
    OTHER,
    PDF,
    SHIFT_JIS,
    Recorded,
    page,
    record,
    record_encoded,
    scene,
)

from cassettes.errors import TapeSecret
from cassettes.exchange import TapeRequest, TapeResponse
from cassettes.reading import Tape
from cassettes.redact import Redactor
from cassettes.warc import WarcSummary, export_warc

archiveiterator = pytest.importorskip("warcio.archiveiterator", reason="warcio reads the archives back (group dev)")

WEB = frozenset({"search", "page"})
NO_SECRETS = Redactor(())
KEY = "sk-secret-0123456789"


@dataclass(frozen=True)
class Read:
    kind: str
    url: str | None
    status: str | None
    body: bytes


def read(path: Path) -> list[Read]:
    """All records as warcio gives them; it raises where a digest is wrong."""
    records: list[Read] = []
    with path.open("rb") as file:
        for one in archiveiterator.ArchiveIterator(file, check_digests="raise"):
            status = one.http_headers.get_statuscode() if one.http_headers and one.rec_type != "request" else None
            url = one.rec_headers.get_header("WARC-Target-URI")
            records.append(Read(one.rec_type, url, status, one.content_stream().read()))
    return records


def headers(path: Path, kind: str) -> list[dict[str, str]]:
    with path.open("rb") as file:
        return [dict(one.rec_headers.headers) for one in archiveiterator.ArchiveIterator(file) if one.rec_type == kind]


def exported(tape: Path, out: Path, redactor: Redactor = NO_SECRETS) -> WarcSummary:
    with Tape(tape) as opened:
        return export_warc(opened.sessions(), out, WEB, redactor)


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    folder = tmp_path / "tape"
    record(folder, scene())
    record_encoded(folder)
    return folder


@pytest.mark.parametrize("name", ["web.warc", "web.warc.gz"])
def test_an_archive_reads_back_with_every_page_byte_identical(name: str, tape: Path, tmp_path: Path) -> None:
    out = tmp_path / name
    summary = exported(tape, out)
    assert summary == WarcSummary(8, 1, 1, 1, out.stat().st_size)
    records = read(out)
    assert [one.kind for one in records][:3] == ["warcinfo", "response", "request"]
    responses = {one.url: one.body for one in records if one.kind in ("response", "resource")}
    assert responses.pop("https://api.search.example/res/v1/web/search?q=%E6%9D%B1%E4%BA%AC%E9%83%BD")
    assert responses.pop("local:page?url=%E6%9D%A1%E4%BE%8B") == scene()[9].answer.body  # type: ignore[union-attr]
    assert responses == {
        "https://example.jp/sjis.html": SHIFT_JIS,
        "https://example.jp/a.pdf": PDF,
        "https://example.jp/nasty.txt": NASTY.encode(),
        "https://example.jp/mistaken.txt": MISTAKEN,
        "https://example.jp/empty": b"",
        "https://example.jp/gzip": HTML,
        "https://example.jp/br": HTML,
    }
    assert {one.status for one in records if one.kind == "response"} == {"200"}


def test_a_body_seen_before_is_a_revisit_of_the_first(tape: Path, tmp_path: Path) -> None:
    exported(tape, tmp_path / "web.warc")
    (revisit,) = headers(tmp_path / "web.warc", "revisit")
    first = next(one for one in headers(tmp_path / "web.warc", "response") if one["WARC-Target-URI"].endswith("a.pdf"))
    assert (revisit["WARC-Refers-To"], revisit["WARC-Refers-To-Target-URI"]) == (
        first["WARC-Record-ID"],
        "https://example.jp/a.pdf",
    )
    digest = f"sha256:{hashlib.sha256(PDF).hexdigest()}"
    assert revisit["WARC-Payload-Digest"] == first["WARC-Payload-Digest"] == digest


def test_a_request_belongs_to_its_response(tape: Path, tmp_path: Path) -> None:
    exported(tape, tmp_path / "web.warc")
    answered = [
        one["WARC-Record-ID"] for kind in ("response", "revisit") for one in headers(tmp_path / "web.warc", kind)
    ]
    asked = [one["WARC-Concurrent-To"] for one in headers(tmp_path / "web.warc", "request")]
    assert sorted(asked) == sorted(answered)
    ids = [
        one["WARC-Record-ID"]
        for kind in ("response", "request", "resource")
        for one in headers(tmp_path / "web.warc", kind)
    ]
    assert len(set(ids)) == len(ids)


def test_a_page_that_broke_off_is_marked_as_cut(tmp_path: Path) -> None:
    broken = Recorded(TapeRequest("page", "GET", "https://example.jp/"), TapeResponse(200, (), b"half", "ReadError: x"))
    record(tmp_path / "tape", [broken])
    exported(tmp_path / "tape", tmp_path / "web.warc")
    (response,) = headers(tmp_path / "web.warc", "response")
    assert response["WARC-Truncated"] == "disconnect"


def test_the_same_tape_gives_the_same_bytes(tape: Path, tmp_path: Path) -> None:
    exported(tape, tmp_path / "a.warc.gz")
    exported(tape, tmp_path / "b.warc.gz")
    assert (tmp_path / "a.warc.gz").read_bytes() == (tmp_path / "b.warc.gz").read_bytes()


def test_models_and_judges_are_exported_only_where_asked_for(tape: Path, tmp_path: Path) -> None:
    with Tape(tape) as opened:
        export_warc(opened.sessions(), tmp_path / "m.warc", frozenset({"model"}), NO_SECRETS)
    chats = [one for one in read(tmp_path / "m.warc") if one.kind == "request"]
    assert [one.body for one in chats] == [one.request.body for one in scene() if one.request.channel == "model"]
    assert {one.url for one in chats} == {CHAT}


def test_addresses_and_headers_cannot_add_lines_to_a_record(tmp_path: Path) -> None:
    evil = page("https://example.jp/条例 a\r\nWARC-Type: x", b"1", "text/plain")
    location = TapeResponse(302, ((b"location", b"https://example.jp/\r\nX-Evil: 1"),))
    record(tmp_path / "tape", [evil, Recorded(TapeRequest("page", "GET", "https://example.jp/b"), location)])
    exported(tmp_path / "tape", tmp_path / "web.warc")
    first, second = headers(tmp_path / "web.warc", "response")
    assert first["WARC-Target-URI"] == "https://example.jp/%E6%9D%A1%E4%BE%8B%20a%0D%0AWARC-Type:%20x"
    assert second["WARC-Target-URI"] == "https://example.jp/b"
    assert b"\r\nX-Evil" not in (tmp_path / "web.warc").read_bytes()
    assert len(read(tmp_path / "web.warc")) == 5


def test_an_archive_never_contains_a_secret(tape: Path, tmp_path: Path) -> None:
    record(tape, [page("https://example.jp/", f"{'長い' * 900}{KEY}".encode(), "text/plain")], OTHER)
    with pytest.raises(TapeSecret):
        exported(tape, tmp_path / "out" / "web.warc", Redactor([KEY]))
    assert not list((tmp_path / "out").iterdir())
