"""What kind of bytes a response holds, and what becomes of them."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from tools.document import Document
from tools.extract import extract, rules, sniff
from tools.tool import ToolFailure

URL = "https://www.example.jp/data/%E4%BA%BA%E5%8F%A3.csv"
HTML = (
    "<!DOCTYPE html><html><head><title>お知らせ</title></head>"
    "<body><h1>お知らせ</h1><p>東京都の本文です。</p></body></html>"
)
PDF = b"%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n"


def archive(*names: str) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as written:
        for name in names:
            written.writestr(name, "x" * 5_000)
    return held.getvalue()


@pytest.mark.parametrize(
    ("body", "header", "media_type"),
    [
        (PDF, "text/html; charset=utf-8", "application/pdf"),
        (b"\r\n\r\n" + PDF, "application/octet-stream", "application/pdf"),
        (b"junk\n" + PDF, "application/pdf", "application/pdf"),
        (b"A file begins with %PDF-1.4", "text/plain", "text/plain"),
        (b"<!---->" * 500 + b"<x", None, "text/plain"),
        (HTML.encode(), "application/pdf", "text/html"),
        (HTML.encode(), "application/octet-stream", "text/html"),
        (HTML.encode("utf-16"), None, "text/html"),
        (b"\xef\xbb\xbf" + HTML.encode(), "text/plain", "text/html"),
        (b"<?xml version='1.0'?>\n<!-- x -->\n<html xmlns='x'></html>", "application/xhtml+xml", "text/html"),
        ("お知らせ<br>本文".encode("cp932"), "text/html", "text/html"),
        ("お知らせ\n1 < 2".encode(), "text/html", "text/plain"),
        (b'{"a": 1}', "text/html", "application/json"),
        (b'[{"a": 1}]', None, "application/json"),
        (b"1,2\n3,4", "text/csv", "text/csv"),
        ("# 題\n本文".encode(), "text/markdown; charset=UTF-8", "text/markdown"),
        ("人口,世帯\n１,２".encode("cp932"), "application/octet-stream", "text/plain"),
        ("\x1b$B8x9p\x1b(B".encode("ascii"), None, "text/plain"),
        (b"<?xml version='1.0'?><rss></rss>", "text/xml", "application/xml"),
        (b"<?xml version='1.0'?><rss></rss>", "application/xml", "application/xml"),
        (b"<svg xmlns='x'></svg>", None, "image/svg+xml"),
        (b"\x89PNG\r\n\x1a\n\x00", "text/html", "image/png"),
        (b"BMW\xe3\x81\xae\xe8\xbb\x8a", None, "text/plain"),
        (b"\x00\x01\x02\x03\x80\x81" * 50, "text/html", "application/octet-stream"),
        (gzip.compress(b"x"), "text/html", "application/gzip"),
        (archive("a.txt"), None, "application/zip"),
    ],
)
def test_bytes_decide_the_type(body: bytes, header: str | None, media_type: str) -> None:
    assert sniff(body, header) == media_type


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (archive("[Content_Types].xml", "xl/workbook.xml"), "xlsx"),
        (archive("[Content_Types].xml", "word/document.xml"), "docx"),
        (archive("a.txt"), "ZIP書庫"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "xls"),
        (b"\x00\x01\x02" * 100, "バイナリ"),
    ],
)
def test_unsupported_types_are_named(body: bytes, named: str) -> None:
    with pytest.raises(ToolFailure) as caught:
        extract(body, url=URL, header_type="text/html")
    assert caught.value.kind == "unsupported_type"
    assert named in caught.value.message


@pytest.mark.parametrize("body", [b"", b" \r\n", b"\x00\x00\x00\x00"])
def test_empty_body_is_a_failure(body: bytes) -> None:
    with pytest.raises(ToolFailure) as caught:
        extract(body, url=URL, header_type=None)
    assert caught.value.kind == "empty"


def test_html_becomes_a_document() -> None:
    body = HTML.encode("cp932")
    assert extract(body, url="https://www.example.jp/", header_type="text/html; charset=Shift_JIS") == Document(
        url="https://www.example.jp/",
        final_url="https://www.example.jp/",
        title="お知らせ",
        media_type="text/html",
        text="# お知らせ\n東京都の本文です。",
        body_sha256=hashlib.sha256(body).hexdigest(),
        engine=f"lxml {version('lxml')} walk r1",
    )


def test_csv_is_shown_as_text_with_plain_line_ends() -> None:
    body = "年度,人口\r\n令和6年度,１，２３４人\r\n".encode("cp932")
    assert extract(body, url=URL, header_type="text/csv") == Document(
        url=URL,
        final_url=URL,
        title="人口.csv",
        media_type="text/csv",
        text="年度,人口\n令和6年度,１，２３４人\n",
        body_sha256=hashlib.sha256(body).hexdigest(),
        engine="text r2",
    )


def test_json_is_shown_as_it_is_with_its_title() -> None:
    body = json.dumps({"success": True, "result": {"title": "都内の\n公園"}}, ensure_ascii=False, indent=1).encode()
    document = extract(body, url="https://www.example.jp/x", header_type="application/json")
    assert (document.title, document.text) == ("都内の 公園", body.decode())


def test_half_a_character_in_a_title_becomes_one_that_can_be_kept() -> None:
    document = extract(rb'{"title": "\u7d75\ud83d"}', url=URL, header_type="application/json")
    assert (document.title, document.text) == ("絵\ufffd", r'{"title": "\u7d75\ud83d"}')


def test_a_title_of_any_length_leaves_room_for_the_text() -> None:
    for body in (HTML.replace("お知らせ", "題" * 9_999, 1).encode(), json.dumps({"title": "題" * 9_999}).encode()):
        assert extract(body, url=URL, header_type=None).title == "題" * 500


def test_json_of_any_depth_is_text() -> None:
    assert extract(b"[" * 100_000, url=URL, header_type="application/json").text == "[" * 100_000


def test_markdown_title_is_its_first_heading() -> None:
    body = "前文\n## 金融商品取引法\n### 第5条\n".encode()
    assert extract(body, url="https://www.example.jp/law", header_type="text/markdown").title == "金融商品取引法"


def test_bytes_that_are_no_text_are_undecodable() -> None:
    with pytest.raises(ToolFailure) as caught:
        extract(b"\x81\xfe\xff\x80" * 500 + b"abc", url=URL, header_type="text/plain")
    assert caught.value.kind == "undecodable"


def test_rules_name_everything_that_the_text_depends_on() -> None:
    assert rules() == f"trafilatura 2.3.1 lxml {version('lxml')} r1; pypdf 7.1.1 pdfminer.six 20260107 r1; text r2"


def test_real_pages_give_the_same_text_in_any_order() -> None:
    docs = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "corpus" / "docs"
    if not docs.is_dir():
        pytest.skip("the shared corpus is not here")
    paths = sorted(docs.glob("debian-faq*.html")) + sorted(docs.glob("pdfjs-*sjis*.pdf"))
    forth = {path: extract(path.read_bytes(), url=path.name, header_type=None) for path in paths}
    back = {path: extract(path.read_bytes(), url=path.name, header_type=None) for path in reversed(paths)}
    assert forth == back
