"""Values of the citation floor: what was seen, what was written, what it scored.

Knows: the words page, piece, view, sentence, citation, answer. Must not know: networks, clocks, files, judges' prompts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ViewKind = Literal["search", "fetch", "find", "given"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of page text that the model was shown, exactly as it stands in the page.

    `body_sha256` names the bytes that it came from (hex), `start` and `end` are code-point offsets into the text
    extracted from them; all three are None where a search engine gave the text without its source.
    """

    text: str
    body_sha256: str | None = None
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class PageView:
    """One page as one successful tool call showed it: the unit in which tools report to the ledger.

    `final_url` is set where a redirect led elsewhere; it becomes an alias of the same page. `pieces` may be empty
    (a find without hits): such a view adds no evidence.
    """

    kind: ViewKind
    url: str
    title: str
    pieces: tuple[Piece, ...] = ()
    final_url: str | None = None


@dataclass(frozen=True, slots=True)
class Citation:
    """One citation as written. `number` is None where the body is not 1–18 ASCII digits; offsets are in the raw text."""

    number: int | None
    body: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Sentence:
    """One tagged sentence: its text without the cites, trimmed; offsets of the whole element in the raw text."""

    text: str
    citations: tuple[Citation, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Answer:
    """The strict reading of a raw answer: the only one that is scored."""

    raw: str
    dialect: str
    sentences: tuple[Sentence, ...]
