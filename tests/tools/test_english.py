"""Every sentence that the readers of pages say has an English form; the model's own stays Japanese."""

from __future__ import annotations

import ast
import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.document import Document
from tools.english import in_english
from tools.fetch import FetchArguments, FetchTool
from tools.pdf import GETA
from tools.tool import ToolFailure

TOOLS = Path(__file__).resolve().parents[2] / "tools"
JAPANESE = re.compile("[ぁ-んァ-ヶ一-龥]")
NOTE = "物理ページ 7: 7"
"""What stands before a note about single pages of a PDF."""
URL = "https://example.jp/a.pdf"


def sentences() -> Iterator[str]:
    """What stands in the sources of the readers and ends like a sentence, every field filled with 7; f-strings whole."""
    for name in ("extract", "html", "html_tree", "html_walk", "pdf", "workers", "worker_main"):
        waiting: list[ast.AST] = [ast.parse((TOOLS / f"{name}.py").read_text(encoding="utf-8"))]
        while waiting:
            node = waiting.pop()
            text = ""
            if isinstance(node, ast.JoinedStr):
                text = "".join(_filled(part) for part in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
            else:
                waiting.extend(ast.iter_child_nodes(node))
            if JAPANESE.search(text) and (text.endswith("。") or ": " in text):
                yield text


def _filled(part: ast.expr) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    assert isinstance(part, ast.FormattedValue)
    return GETA if isinstance(part.value, ast.Name) and part.value.id == "GETA" else "7"


def test_every_sentence_of_the_readers_has_an_english_form() -> None:
    said = set(sentences()) - {NOTE}
    assert "画像だけで、文字のデータがありません（スキャンした文書など）。" in said
    as_said = [NOTE.replace(": 7", f": {text}") if in_english(text) == text else text for text in said]
    assert [text for text in as_said if JAPANESE.search(in_english(text))] == []


def test_what_is_no_sentence_of_theirs_stays_as_it_is() -> None:
    assert in_english("a.jp does not let us read this page (HTTP 403)") == (
        "a.jp does not let us read this page (HTTP 403)"
    )
    assert in_english("Excelブック（xlsx）、application/zipには対応していません。") == (
        "this is application/zip, which cannot be read"
    )


class Pages:
    """A PDF with a note, a page that cannot be read, and one that would keep a backtracking pattern busy for hours."""

    async def get(self, url: str) -> Document:
        if url == "https://frames.jp/":
            raise ToolFailure("frameset", "フレームだけのページです。中身のURL: https://a.jp/a" + "、" * 999_999)
        if url != URL:
            raise ToolFailure("encrypted", "PDFはパスワードで保護されていて読めません。")
        notes = ("物理ページ 2–3: 画像だけで、文字のデータがありません（スキャンした文書など）。",)
        return Document(URL, URL, "統計", "application/pdf", "本文。", "ab" * 32, "pypdf", (0,), notes)

    def url_of(self, number: int) -> str | None:
        return URL if number == 1 else None

    def may_open(self, url: str) -> bool:
        return url != ""


def test_a_run_reads_notes_and_failures_in_its_own_language() -> None:
    pages = Pages()

    def told(language: str, target: int | str) -> str:
        tool = FetchTool(pages, "en" if language == "en" else "ja")
        return asyncio.run(tool.call(FetchArguments(url_or_number=target), pages)).text([1])

    assert "\nNote: physical page 2–3: an image without text (a scan, perhaps)\n" in told("en", 1)
    assert "\n注: 物理ページ 2–3: 画像だけで、文字のデータがありません（スキャンした文書など）。\n" in told("ja", 1)
    with pytest.raises(ToolFailure) as long:
        told("en", "https://frames.jp/")
    assert long.value.message[:62] == "the page is frames alone; what they show is at: https://a.jp/a"
    assert len(long.value.message) == 2_000
    with pytest.raises(ToolFailure, match=r"^the PDF is protected by a password$"):
        told("en", "https://b.jp/")
    with pytest.raises(ToolFailure, match=r"^PDFはパスワードで保護されていて読めません。$"):
        told("ja", "https://b.jp/")
