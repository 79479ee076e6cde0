"""Downloaded bytes into a Document: what kind of bytes they are, and which reader they are for.

Knows: signatures of file types, how a type's reader is called. Must not know: networks, caches, worker processes.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from importlib.metadata import version
from typing import cast
from urllib.parse import unquote, urlsplit

from tools.decode import Decoded, decode
from tools.document import Document
from tools.html import HTML_RULES, read_html
from tools.pdf import PDF_RULES, read_pdf
from tools.tool import ToolFailure

TEXT_RULES = "r2"
"""Revision of the rules for plain text and for decoding: a change that changes any text raises it."""

MAX_TITLE_CHARS = 500
"""A title stands in every result that names the page; what is longer is no title but an attack on the context."""

_HEAD_BYTES = 4096
_MAX_CONTROL_SHARE = 0.02
_MAX_UNREADABLE_SHARE = 0.1

# Signature → media type; the first that fits. Office files are archives and told apart by what is in them.
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"),
    (b"II*\x00", "image/tiff"), (b"MM\x00*", "image/tiff"), (b"BM", "image/bmp"), (b"\x00\x00\x01\x00", "image/x-icon"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"), (b"{\\rtf", "application/rtf"),
    (b"\x1f\x8b", "application/gzip"), (b"BZh", "application/x-bzip2"), (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"), (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"), (b"ID3", "audio/mpeg"), (b"OggS", "audio/ogg"), (b"fLaC", "audio/flac"),
    (b"\x1aE\xdf\xa3", "video/webm"), (b"\x7fELF", "application/x-executable"), (b"wOF2", "font/woff2"),
    (b"SQLite format 3\x00", "application/vnd.sqlite3"), (b"%!PS", "application/postscript"),
)  # fmt: skip
_ARCHIVES = (
    (b"xl/workbook", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    (b"word/document", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    (b"ppt/presentation", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    (b"mimetypeapplication/epub+zip", "application/epub+zip"),
    (b"mimetypeapplication/vnd.oasis", "application/vnd.oasis.opendocument"),
)
_NAMES = {
    _ARCHIVES[0][1]: "Excelブック（xlsx）",
    _ARCHIVES[1][1]: "Word文書（docx）",
    _ARCHIVES[2][1]: "PowerPoint文書（pptx）",
    "application/epub+zip": "電子書籍（EPUB）",
    "application/zip": "ZIP書庫",
    "application/x-ole-storage": "古い形式のOffice文書（xls・doc・ppt）",
    "application/octet-stream": "種類の分からないバイナリファイル",
}
_GENERAL_NAMES = {"image": "画像", "audio": "音声", "video": "動画", "font": "フォント"}

_MARKUP_START = re.compile(
    rb"<(?:!doctype\s+html|html|head|body|title|meta|link|script|style|frameset|table|div|span|p|h[1-6]|a|br|ul|ol|dl|"
    rb"center|font|b|img|main|article|section|header|nav|form|iframe|base)[\s>/]",
    re.IGNORECASE,
)
_ANY_TAG = re.compile(rb"<[a-z!/][^<>]*>", re.IGNORECASE)
_XML_START = re.compile(rb"\s*(?:<\?xml[^>]*>|<!doctype\s+svg|<(?:svg|rss|feed|urlset|rdf:RDF)[\s>])", re.IGNORECASE)
_JSON_START = re.compile(rb"\s*(?:\{\s*[\"}]|\[\s*[\[{\"\d\]])")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9_.:\-]+)", re.IGNORECASE)
_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]")
_NOT_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff\ufffe\uffff]")
_HALF_CHARACTERS = re.compile("[\ud800-\udfff]")  # escapes of JSON can write them, files cannot
_MARKDOWN_TITLE = re.compile(r"^#{1,2}[ \t]+(\S.*)$", re.MULTILINE)
_MAX_TITLED_JSON_CHARS = 5_000_000


@dataclass(frozen=True, slots=True)
class _Read:
    title: str
    text: str
    engine: str
    page_starts: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


def rules() -> str:
    """Everything that a page's text depends on besides its bytes: extractors, their versions, our revisions."""
    html = f"trafilatura {version('trafilatura')} lxml {version('lxml')} {HTML_RULES}"
    return f"{html}; pypdf {version('pypdf')} pdfminer.six {version('pdfminer.six')} {PDF_RULES}; text {TEXT_RULES}"


def extract(body: bytes, *, url: str, header_type: str | None) -> Document:
    """The document in `body`: pure and deterministic; `final_url` = `url`, to be replaced by who followed redirects.

    `header_type` is the Content-Type header as it came, a hint only. Raises ToolFailure: empty, unsupported_type (names
    what it is), undecodable, and whatever the reader of the type raises.
    """
    if not body.strip(b"\x00 \t\r\n"):
        raise ToolFailure("empty", "中身のない応答です（0バイトか空白だけ）。")
    media_type = sniff(body, header_type)
    charset = _CHARSET.search(header_type or "")
    if media_type == "application/pdf":
        read = _pdf(body)
    elif media_type == "text/html":
        read = _html(_decoded(body, charset), url)
    elif is_text(media_type):
        read = _plain(_decoded(body, charset), media_type, url)
    else:
        raise ToolFailure("unsupported_type", f"{_named(media_type)}には対応していません。")
    return Document(
        url=url,
        final_url=url,
        title=_HALF_CHARACTERS.sub("\ufffd", read.title[:MAX_TITLE_CHARS]),
        media_type=media_type,
        text=read.text,
        body_sha256=hashlib.sha256(body).hexdigest(),
        engine=read.engine,
        page_starts=read.page_starts,
        notes=read.notes,
    )


def is_text(media_type: str) -> bool:
    """Whether bytes of this type (as sniff names it) are shown as they are."""
    return media_type.startswith("text/") or media_type in ("application/json", "application/xml")


def sniff(body: bytes, header_type: str | None) -> str:
    """The media type of the bytes, by their signature; the header decides only between kinds of text."""
    head = body[:_HEAD_BYTES]
    said = (header_type or "").split(";")[0].strip().lower()
    binary = _by_signature(body, head, said)
    if binary is not None:
        return binary
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or (b"\x00" in head and not _is_binary(head)):
        head = decode(head).text.encode("utf-8")
    head = head.removeprefix(b"\xef\xbb\xbf")
    if _is_markup(head):
        return "text/html"
    if said in ("text/html", "application/xhtml+xml") and _ANY_TAG.search(body):
        return "text/html"
    if _is_binary(head):
        return "application/octet-stream"
    if _XML_START.match(head):
        return "image/svg+xml" if b"<svg" in head.lower() else "application/xml"
    if said == "application/json" or said.endswith("+json"):
        return "application/json"
    if said.startswith("text/") and said not in ("text/html", "text/json"):
        return said
    return "application/json" if _JSON_START.match(head) else "text/plain"


def _by_signature(body: bytes, head: bytes, said: str) -> str | None:
    at = head.find(b"%PDF-", 0, 1029)
    # Readers accept rubbish before the header (ISO 32000-1, annex H); a text about PDFs is none.
    if at >= 0 and (not head[:at].strip() or said == "application/pdf") and not _is_markup(head):
        return "application/pdf"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        ends = body[:_HEAD_BYTES] + body[-65_536:]
        return next((media_type for mark, media_type in _ARCHIVES if mark in ends), "application/zip")
    if head[4:8] == b"ftyp":
        return "image/avif" if head[8:12] in (b"avif", b"heic", b"mif1") else "video/mp4"
    if head.startswith(b"RIFF"):
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav"}.get(head[8:12], "video/x-msvideo")
    for signature, media_type in _SIGNATURES:
        # Two letters are no proof of a picture: BM begins words.
        if head.startswith(signature) and (media_type != "image/bmp" or b"\x00" in head[:32]):
            return media_type
    return None


def _is_markup(head: bytes) -> bool:
    """Whether an HTML tag comes first, after comments and an XML declaration."""
    rest = head.lstrip()
    while rest.startswith((b"<!--", b"<?xml")):
        end = b"-->" if rest.startswith(b"<!--") else b">"
        _, found, rest = rest.partition(end)
        rest = rest.lstrip() if found else b""
    return _MARKUP_START.match(rest) is not None


def _is_binary(head: bytes) -> bool:
    """Control characters where no text has them. UTF-16 has zeros on one side only."""
    if head[0::2].count(0) == 0 or head[1::2].count(0) == 0:
        zeros = head.count(0)
        if zeros * 8 >= len(head):
            return False
    return len(_CONTROLS.findall(head)) > _MAX_CONTROL_SHARE * len(head)


def _named(media_type: str) -> str:
    name = _NAMES.get(media_type) or _GENERAL_NAMES.get(media_type.split("/")[0])
    return f"{name}、{media_type}" if name else media_type


def _decoded(body: bytes, charset: re.Match[str] | None) -> Decoded:
    decoded = decode(body, charset[1] if charset else None)
    if decoded.n_errors > _MAX_UNREADABLE_SHARE * len(decoded.text):
        raise ToolFailure("undecodable", "文字コードを判別できません。")
    return decoded


def _pdf(body: bytes) -> _Read:
    pdf = read_pdf(body)
    return _Read(pdf.title, pdf.text, pdf.engine, pdf.page_starts, pdf.notes)


def _html(decoded: Decoded, url: str) -> _Read:
    page = read_html(decoded.text, url)
    return _Read(page.title, page.text, page.engine, notes=page.notes)


def _plain(decoded: Decoded, media_type: str, url: str) -> _Read:
    text = _NOT_TEXT.sub("", decoded.text.replace("\r\n", "\n").replace("\r", "\n"))
    if not text.strip():
        raise ToolFailure("empty", "文字のない応答です。")
    return _Read(_plain_title(text, media_type) or _file_name(url), text, f"text {TEXT_RULES}")


def _plain_title(text: str, media_type: str) -> str:
    if media_type == "application/json":
        return _json_title(text)
    found = _MARKDOWN_TITLE.search(text[:_HEAD_BYTES]) if media_type in ("text/markdown", "text/plain") else None
    return found[1].rstrip(" \t#") if found else ""


def _json_title(text: str) -> str:
    """The title of the record, or of the result in it, as catalogue interfaces answer."""
    if len(text) > _MAX_TITLED_JSON_CHARS:
        return ""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    record = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    inner = record.get("result")
    for holder in (record, cast("dict[str, object]", inner) if isinstance(inner, dict) else {}):
        title = holder.get("title")
        if isinstance(title, str) and title.strip():
            return " ".join(title.split())
    return ""


def _file_name(url: str) -> str:
    try:
        path = urlsplit(url).path
    except ValueError:
        return ""
    return unquote(path).rstrip("/").rsplit("/", 1)[-1]
