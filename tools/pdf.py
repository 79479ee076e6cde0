"""A PDF into text by physical pages.

Knows: pypdf, its limits and silent defects. Must not know: how the file came here, HTML, which page the model wants.

A physical page is counted from 1, whatever number is printed on it. What cannot be read for certain is left out and
said so: garbage must never become evidence.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from io import BytesIO
from typing import Literal

from pypdf import PageObject, PdfReader, apply_configuration
from pypdf.errors import DependencyError, DeprecationError, FileNotDecryptedError, LimitReachedError, PyPdfError
from pypdf.generic import DictionaryObject

from tools.pdf_fonts import FontAudit
from tools.tool import ToolFailure

PDF_RULES = "r1"
"""Revision of the rules of this module and pdf_fonts: a change that changes any PDF's text raises it."""

MAX_PHYSICAL_PAGES = 600
_MAX_COUNTED_PAGES = 20_000
_MAX_STREAM_BYTES = 50_000_000
_MAX_CHARS = 20_000_000
_MAX_GARBAGE_SHARE = 0.2
_MAX_GETA_SHARE = 0.02
GETA = "〓"
"""Stands for a character that cannot be read, as printers do; a page with more than a few is left out."""

# pypdf warns that broken files may raise more than its own errors; these are what parsing of any bytes can raise.
_BROKEN = (
    PyPdfError, DeprecationError, ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError,
    AssertionError, NotImplementedError, OSError, EOFError, zlib.error, struct.error,
)  # fmt: skip

_NOT_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffd-\uffff\ue000-\uf8ff]")
_DROPPED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]")
_BLANK_LINES = re.compile(r"\n{3,}")
_COLUMN = re.compile("(?:^[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef]\n){3,}", re.MULTILINE)
_OFFICE_TITLE = re.compile(
    r"^(?:Microsoft (?:Word|PowerPoint|Excel) - )|\.(?:docx?|pptx?|xlsx?|jtd|indd|pdf)$", re.IGNORECASE
)

_Lack = Literal["blank", "scanned", "fonts", "signs", "broken", "limit"]


@dataclass(frozen=True, slots=True)
class PdfText:
    """The text; `page_starts[i]` = offset at which physical page i + 1 begins; notes are lines for the model."""

    title: str
    text: str
    page_starts: tuple[int, ...]
    engine: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _PageText:
    text: str
    lack: _Lack | None


def read_pdf(body: bytes) -> PdfText:
    """The first MAX_PHYSICAL_PAGES pages of the PDF, an empty stretch where a page has no text that can be read.

    Raises ToolFailure: encrypted (a password is needed), too_large (pages, decompressed size), undecodable (fonts that
    do not say which characters they show; files broken beyond repair), empty (blank or scanned).
    """
    with apply_configuration(
        zlib_maximum_output_length=_MAX_STREAM_BYTES,
        lzw_maximum_output_length=_MAX_STREAM_BYTES,
        run_length_maximum_output_length=_MAX_STREAM_BYTES,
        brotli_maximum_output_length=_MAX_STREAM_BYTES,
        array_based_stream_maximum_output_length=_MAX_STREAM_BYTES,
        page_tree_maximum_entries=2 * _MAX_COUNTED_PAGES,
    ):
        try:
            return _read(body)
        except LimitReachedError as error:
            raise ToolFailure("too_large", "PDFが大きすぎます（ページ数または展開後の大きさ）。") from error
        except DependencyError as error:
            raise _not_equipped(error) from error
        except _BROKEN as error:
            raise ToolFailure("undecodable", "PDFが壊れていて読み取れません。") from error
        except RecursionError as error:
            raise ToolFailure("too_complex", "PDFの構造が複雑すぎます。") from error


def _read(body: bytes) -> PdfText:
    reader = _opened(body)
    n_pages = _n_pages(reader)
    audit = FontAudit()
    pages: list[_PageText] = []
    n_chars = 0
    for page in _first_pages(reader, min(n_pages, MAX_PHYSICAL_PAGES)):
        pages.append(_page_text(page, audit))
        n_chars += len(pages[-1].text)
        if n_chars > _MAX_CHARS:
            raise LimitReachedError("text")
    if n_chars == 0:
        raise _no_text(pages)
    starts: list[int] = []
    at = 0
    for page_text in pages:
        starts.append(at)
        at += len(page_text.text) + 1
    text = "".join(f"{page_text.text}\n" for page_text in pages)
    return PdfText(_title(reader, pages), text, tuple(starts), _engine(), tuple(_notes(pages, n_pages)))


def _engine() -> str:
    return f"pypdf {version('pypdf')} {PDF_RULES}"


def _opened(body: bytes) -> PdfReader:
    try:
        reader = PdfReader(BytesIO(body), strict=False)
    except LimitReachedError:
        raise
    except PyPdfError:
        # Without its last lines pypdf does not begin at all; with a pointer to nowhere it rebuilds the table.
        reader = PdfReader(BytesIO(body + b"\nstartxref\n0\n%%EOF\n"), strict=False)
    if reader.is_encrypted:
        _decrypt(reader)
    return reader


def _decrypt(reader: PdfReader) -> None:
    """Many public PDFs are encrypted only against printing: they open with the empty password."""
    try:
        opened = reader.decrypt("")
    except (FileNotDecryptedError, NotImplementedError) as error:
        raise ToolFailure("encrypted", "PDFの暗号の方式に対応していません。") from error
    if not opened:
        raise ToolFailure("encrypted", "PDFはパスワードで保護されていて読めません。")


def _not_equipped(error: DependencyError) -> ToolFailure:
    if "cryptography" in str(error):
        return ToolFailure("encrypted", "PDFの暗号（AES）を解くには cryptography パッケージが必要です。")
    return ToolFailure("unsupported_type", "PDFの圧縮方式に対応していません。")


def _n_pages(reader: PdfReader) -> int:
    """The number of pages; what the file claims is believed only where it is too much."""
    pages = reader.root_object.get("/Pages")
    tree = pages.get_object() if pages is not None else None
    claimed = tree.get("/Count") if isinstance(tree, DictionaryObject) else None
    if isinstance(claimed, int) and claimed > _MAX_COUNTED_PAGES:
        raise LimitReachedError("pages")
    return len(reader.pages)


def _first_pages(reader: PdfReader, n_pages: int) -> Iterator[PageObject]:
    for i in range(n_pages):
        yield reader.pages[i]


def _page_text(page: PageObject, audit: FontAudit) -> _PageText:
    try:
        unreadable = {id(font) for font in audit.unreadable(page)}
        raw = _without(page, unreadable) if unreadable else page.extract_text()
    except LimitReachedError:
        return _PageText("", "limit")
    except (*_BROKEN, RecursionError):
        return _PageText("", "broken")
    n_signs = len("".join(raw.split()))
    n_geta = raw.count(GETA)
    if n_geta > _MAX_GETA_SHARE * n_signs or len(_NOT_TEXT.findall(raw)) > _MAX_GARBAGE_SHARE * n_signs:
        return _PageText("", "fonts")
    text = _tidied(raw)
    if not text:
        return _PageText("", "scanned" if _has_image(page) else "blank")
    return _PageText(text, "signs" if n_geta else None)


def _without(page: PageObject, fonts: set[int]) -> str:
    """The page's text with GETA for every character in one of the fonts (a page need not use all that it lists)."""
    pieces: list[str] = []

    def visit(text: str, _cm: object, _tm: object, font: DictionaryObject | None, _size: object) -> None:
        unreadable = font is not None and id(font) in fonts
        pieces.append("".join(sign if sign.isspace() else GETA for sign in text) if unreadable else text)

    page.extract_text(visitor_text=visit)
    return "".join(pieces)


def _has_image(page: PageObject) -> bool:
    resources = page.get("/Resources")
    found = resources.get_object() if resources is not None else None
    group = found.get("/XObject") if isinstance(found, DictionaryObject) else None
    objects = group.get_object() if group is not None else None
    if not isinstance(objects, DictionaryObject):
        return False
    # A form may hold the scan as well as an image may be it.
    return len(objects) > 0


def _tidied(raw: str) -> str:
    text = _DROPPED.sub("", raw.replace("\r\n", "\n").replace("\r", "\n"))
    text = "\n".join(line.rstrip(" \t\u3000") for line in text.split("\n"))
    text = _COLUMN.sub(lambda column: column[0].replace("\n", "") + "\n", text + "\n")
    return _BLANK_LINES.sub("\n\n", text).strip("\n")


def _title(reader: PdfReader, pages: list[_PageText]) -> str:
    try:
        metadata = reader.metadata
        title = metadata.title if metadata is not None else None
    except _BROKEN:
        title = None
    cleaned = " ".join(_DROPPED.sub("", str(title or "")).split())
    if cleaned and not _OFFICE_TITLE.search(cleaned):
        return cleaned
    first = next((page.text for page in pages if page.text), "")
    return next((line.strip() for line in first.split("\n") if line.strip()), "")[:80]


def _notes(pages: list[_PageText], n_pages: int) -> Iterator[str]:
    words: dict[_Lack, str] = {
        "scanned": "画像だけで、文字のデータがありません（スキャンした文書など）。",
        "fonts": "フォントが文字コードを示していないため、本文を読み取れません（省きました）。",
        "signs": f"{GETA} は、フォントが文字コードを示していないため読み取れない文字です。",
        "broken": "壊れていて読み取れません。",
        "limit": "大きすぎるため省きました。",
    }
    for lack, said in words.items():
        numbers = [i for i, page in enumerate(pages, start=1) if page.lack == lack]
        if numbers:
            yield f"物理ページ {_ranges(numbers)}: {said}"
    if n_pages > len(pages):
        yield f"全{n_pages}物理ページのうち、先頭の{len(pages)}ページだけを読み取りました。"


def _ranges(numbers: list[int]) -> str:
    """1, 2, 3, 7 → "1–3, 7"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _no_text(pages: list[_PageText]) -> ToolFailure:
    lacks = {page.lack for page in pages}
    if "limit" in lacks:
        return ToolFailure("too_large", "PDFのページが展開すると大きすぎます。")
    if "fonts" in lacks:
        return ToolFailure("undecodable", "PDFのフォントが文字コードを示していないため、本文を読み取れません。")
    if "broken" in lacks:
        return ToolFailure("undecodable", "PDFのページが壊れていて読み取れません。")
    if "scanned" in lacks:
        return ToolFailure(
            "empty", f"画像だけのPDFです（全{len(pages)}ページ、文字のデータなし。スキャンした文書など）。"
        )
    return ToolFailure("empty", "PDFに文字がありません。")
