"""Documents that stand in the user turn, as the baseline model reads them.

Knows: the form of our prompt with documents (benchmarks/instructions/documents.LANGUAGE.toml). Must not know: the ledger,
the corpus, the reference answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

OPEN = re.compile(r"〔(?:資料|document) (\d+) (?:はじめ|begins)〕")
CLOSE = re.compile(r"〔(?:資料|document) (\d+) (?:おわり|ends)〕")
TITLE = re.compile(r"(?:題名|Title): (.*)")
PAGE_MARK = re.compile(r"【(?:物理ページ|physical page) \d+】")
QUESTION = ("質問:", "Question:")
WRAPPED_CHARS = 36
"""A line of at least so many characters that ends in the middle of a sentence goes on in the next one (PDFs)."""
SENTENCE_ENDS = "。．！？!?）」|"
NEW_LINE = re.compile(r"[\s・#|\-*>（(【〔0-9０-９①-⑳]|第[0-9０-９一二三四五六七八九十]+条")
CONTACT = re.compile(r"電話|ファクス|お問い合わせ|〒|ページ番号|^(?:更新|公開)日")


@dataclass(frozen=True, slots=True)
class GivenDocument:
    """A numbered document of the turn; `text` without its heading and page marks."""

    number: int
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class GivenTurn:
    """A turn with documents: these, and what stands behind the line that announces the question."""

    documents: tuple[GivenDocument, ...]
    question: str


def read_given(turn: str) -> GivenTurn | None:
    """The documents of a user turn and its question; None where the turn holds none."""
    documents: list[GivenDocument] = []
    lines = turn.split("\n")
    at = behind = 0
    while at < len(lines):
        opened = OPEN.fullmatch(lines[at])
        end = _closed(lines, at, opened[1]) if opened else None
        if opened is None or end is None:
            at += 1
            continue
        documents.append(_document(int(opened[1]), lines[at + 1 : end]))
        at = behind = end + 1
    if not documents:
        return None
    rest = lines[behind:]
    asked = next((i for i, line in enumerate(rest) if line in QUESTION), -1)
    return GivenTurn(tuple(documents), "\n".join(rest[asked + 1 :]).strip())


def _closed(lines: list[str], at: int, number: str) -> int | None:
    for i in range(at + 1, len(lines)):
        closed = CLOSE.fullmatch(lines[i])
        if closed and closed[1] == number:
            return i
    return None


def _document(number: int, lines: list[str]) -> GivenDocument:
    """The heading ends at the first empty line or page mark."""
    title = TITLE.fullmatch(lines[0]) if lines else None
    start = next((i + 1 for i, line in enumerate(lines) if not line or PAGE_MARK.fullmatch(line)), len(lines))
    text = "\n".join(line for line in lines[start:] if not PAGE_MARK.fullmatch(line))
    return GivenDocument(number, title[1] if title else "", text)


def unwrapped(text: str) -> str:
    """The text with the lines joined that a PDF broke in the middle of a sentence; rows of tables stay as they are."""
    lines: list[str] = []
    open_line = False
    for line in text.split("\n"):
        if open_line and line and not NEW_LINE.match(line):
            lines[-1] += line
        else:
            lines.append(line)
        open_line = len(line) >= WRAPPED_CHARS and line[-1] not in SENTENCE_ENDS and line.count(" ") < 3
    return "\n".join(lines)


def states(sentence: str) -> bool:
    """Whether a stretch of a document says something that can be cited: no heading, no address of an office."""
    whole = sentence.endswith("。") or any(char.isdigit() for char in sentence)
    return whole and not CONTACT.search(sentence)
