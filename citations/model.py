"""Values of the citation floor: what was seen, what was written, what it scored.

Knows: the words page, piece, view, sentence, citation, answer. Must not know: networks, clocks, files, judges' prompts.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

ViewKind = Literal["search", "fetch", "find", "given"]
UnitKind = Literal["support", "relevance", "need"]
FormatFlag = Literal["no_sentence", "no_citation"]


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
class Evidence:
    """One piece of a numbered page, with the kind of tool call that showed it first."""

    kind: ViewKind
    piece: Piece


@dataclass(frozen=True, slots=True)
class LedgerPage:
    """A numbered page as it stands in the ledger. `url` and `title` as first shown; `aliases` in order of discovery.

    `evidence` empty = nothing of it was seen. `n_failed` counts the failed calls on it.
    """

    number: int
    url: str
    title: str
    aliases: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    n_failed: int


@dataclass(frozen=True, slots=True)
class Citation:
    """One citation as written. `number` is None where the body is not 1–18 ASCII digits; `body` is trimmed.

    The offsets are those of the whole element in the raw text.
    """

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


@dataclass(frozen=True, slots=True)
class Unit:
    """One question to the judge, asked once for all sentences that share it.

    `sentences` are indices into `Answer.sentences`, ascending; `text` is their common text. `number` is the page
    judged, for relevance only. `evidence_numbers`, ascending, are the pages whose evidence the judge reads (none for
    need).
    """

    kind: UnitKind
    sentences: tuple[int, ...]
    text: str
    number: int | None
    evidence_numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came back for one unit. `label` is `full|partial|none` for support, `yes|no` for relevance and need.

    None = the verdict is missing (the judge failed, or was not asked).
    """

    kind: UnitKind
    sentences: tuple[int, ...]
    number: int | None
    label: str | None


@dataclass(frozen=True, slots=True)
class JudgedSentence:
    """A sentence with its verdicts by position: what the arithmetic needs to know of it.

    `citations` are the numbers as written (None = unreadable), `relevance[i]` the label of `citations[i]`. Labels as in
    `Verdict`; a label that no rule asks for is not looked at.
    """

    citations: tuple[int | None, ...]
    support: str | None = None
    need: str | None = None
    relevance: tuple[str | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the greatest value over all ways in which missing verdicts could have come out, both included."""

    low: Fraction
    high: Fraction


@dataclass(frozen=True, slots=True)
class Score:
    """The citation score of one answer, exact, 0–1.

    With a missing verdict `recall` and `precision` are None and `f1` is 0 (or None, by policy); the bounds then say
    what could have been. `sentence_scores` and `citation_scores` stand by position, None where the verdict is missing.
    `no_citation_needed`: the answer cites nothing, and every sentence was rightly uncited (its F1 is 0 all the same).
    """

    recall: Fraction | None
    precision: Fraction | None
    f1: Fraction | None
    recall_bounds: Bounds
    precision_bounds: Bounds
    f1_bounds: Bounds
    sentence_scores: tuple[Fraction | None, ...]
    citation_scores: tuple[tuple[Fraction | None, ...], ...]
    n_missing: int
    no_citation_needed: bool

    @property
    def judge_error(self) -> bool:
        """True where a verdict that a rule asks for is missing."""
        return self.n_missing > 0

    @property
    def f1_decided(self) -> bool:
        """True where no missing verdict could change F1."""
        return self.f1_bounds.low == self.f1_bounds.high
