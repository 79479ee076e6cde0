"""Hashes without bodies: equal for equal pages, naming what changed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from servers.tape_scene import HTML, OTHER, PDF, SHIFT_JIS, Recorded, page, record, record_encoded, scene

from cassettes.errors import TapeError, TapeSecret
from cassettes.exchange import TapeRequest, TapeResponse
from cassettes.manifest import (
    Change,
    Comparison,
    Manifest,
    compare,
    manifest_of,
    read_manifest,
    write_manifest,
)
from cassettes.reading import Tape
from cassettes.redact import Redactor

PAGES = frozenset({"page"})
KEY = "sk-secret-0123456789"


def of(tape: Path, redactor: Redactor | None = None) -> Manifest:
    with Tape(tape) as opened:
        return manifest_of(opened.sessions(), PAGES, redactor or Redactor(()))


def sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def test_two_runs_that_fetched_the_same_pages_have_the_same_manifest_to_the_byte(tmp_path: Path) -> None:
    pages = [one for one in scene() if one.request.channel == "page"]
    record(tmp_path / "a", pages)
    record(tmp_path / "b", list(reversed(pages[:4])), "x.r0")
    record(tmp_path / "b", pages[2:], "w.r0")
    assert of(tmp_path / "a").fetched == of(tmp_path / "b").fetched
    for name in ("a", "b"):
        write_manifest(of(tmp_path / name), tmp_path / f"{name}.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    assert compare(of(tmp_path / "a"), read_manifest(tmp_path / "b.jsonl")) == Comparison(6, ())


def test_changed_missing_and_added_pages_are_named(tmp_path: Path) -> None:
    def at(name: str, body: bytes) -> Recorded:
        return page(f"https://example.jp/{name}", body, "text/html")

    record(tmp_path / "a", [at("same", HTML), at("changed", SHIFT_JIS), at("gone", PDF)])
    record(tmp_path / "b", [at("same", HTML), at("changed", SHIFT_JIS + b" "), at("new", PDF)])
    assert compare(of(tmp_path / "a"), of(tmp_path / "b")) == Comparison(
        1,
        (
            Change(
                "changed",
                "page",
                "GET",
                "https://example.jp/changed",
                (f"200 {sha256(SHIFT_JIS)}",),
                (f"200 {sha256(SHIFT_JIS + b' ')}",),
            ),
            Change("missing", "page", "GET", "https://example.jp/gone", (f"200 {sha256(PDF)}",), ()),
            Change("added", "page", "GET", "https://example.jp/new", (), (f"200 {sha256(PDF)}",)),
        ),
    )


def test_a_page_that_travelled_encoded_is_the_page(tmp_path: Path) -> None:
    record_encoded(tmp_path / "a")
    assert {(one.url, one.sha256) for one in of(tmp_path / "a").fetched} == {
        ("https://example.jp/gzip", sha256(HTML)),
        ("https://example.jp/br", sha256(HTML)),
    }


def test_a_manifest_holds_no_body_and_every_line_says_what_it_is(tmp_path: Path) -> None:
    record(tmp_path / "a", [page("https://Example.jp/条例#第5条", HTML, "text/html; charset=utf-8")])
    write_manifest(of(tmp_path / "a"), tmp_path / "m.jsonl")
    head, line = (tmp_path / "m.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line) == {
        "bytes": len(HTML),
        "channel": "page",
        "media_type": "text/html",
        "method": "GET",
        "sha256": sha256(HTML),
        "status": 200,
        "url": "https://example.jp/条例",
    }
    assert json.loads(head) == {"pincite_manifest": 1, "pages": 1, "sha256": sha256(f"{line}\n".encode())}
    assert "公園" not in line


def test_what_says_nothing_of_a_page_is_left_out_and_counted(tmp_path: Path) -> None:
    def answered(status: int, broken: str | None = None) -> Recorded:
        request = TapeRequest("page", "GET", f"https://example.jp/{status}")
        return Recorded(request, TapeResponse(status, (), b"x", broken))

    record(
        tmp_path / "a", [answered(429), answered(503), answered(404), answered(200, "ReadError: 切れた"), scene()[7]]
    )
    manifest = of(tmp_path / "a")
    assert ([one.status for one in manifest.fetched], manifest.n_left_out) == ([404], 4)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda data: data.replace(b'"status": 200', b'"status": 404'), "not as it was written"),
        (lambda data: data[:-40], "no manifest of pincite"),
        (lambda data: data[: data.rstrip().rindex(b"\n") + 1], "not as it was written"),
        (lambda data: b"{}\n" + data, "no manifest of pincite"),
    ],
)
def test_a_manifest_that_is_not_as_written_is_refused(damage: object, said: str, tmp_path: Path) -> None:
    record(tmp_path / "a", scene())
    write_manifest(of(tmp_path / "a"), tmp_path / "m.jsonl")
    assert callable(damage)
    (tmp_path / "m.jsonl").write_bytes(damage((tmp_path / "m.jsonl").read_bytes()))
    with pytest.raises(TapeError, match=said):
        read_manifest(tmp_path / "m.jsonl")


def test_not_even_the_hash_of_a_secret_is_exported(tmp_path: Path) -> None:
    record(tmp_path / "a", [page("https://example.jp/", KEY.encode(), "text/plain")], OTHER)
    with pytest.raises(TapeSecret):
        of(tmp_path / "a", Redactor([KEY]))
