"""From the raw text of an answer to its sentences and citations: the strict reading, the only one that is scored.

Knows: the dialects of citation markup, as data; tags and their positions. Must not know: evidence, judges, scores, and
how broken markup could be mended.

Three steps, each usable alone: `tags` finds the tags of a dialect, `pair` matches opening and closing ones by the
strict rules, `parse` reads texts and numbers out of the pairs. Every position is a code-point offset into the raw text.
Each step takes linear time whatever the text: tags are found in one pass, and each is looked at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from citations.model import Answer, Citation, FormatFlag, Sentence

TagKind = Literal["sentence_open", "sentence_close", "cite_open", "cite_close"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """How sentences and citations are marked. The four tags are literal texts, all different, none part of another.

    `cite_body`: `number` = a body of 1–18 ASCII digits is a page number; `spans` = bodies hold chunk spans like
    `[2-4]`, which are no page numbers (`citations.longbench_reading` reads them).
    """

    name: str
    sentence_open: str
    sentence_close: str
    cite_open: str
    cite_close: str
    cite_body: Literal["number", "spans"] = "number"


TAGS = Dialect("tags", "<sentence>", "</sentence>", "<cite>", "</cite>")
"""The general format of the tmg_cqa publication (appendix)."""

LONGCITE = Dialect("longcite", "<statement>", "</statement>", "<cite>", "</cite>", "spans")
"""The format of LongCite and LongBench-Cite."""

_PLAMO_NAME = re.compile(r"[A-Za-z0-9_\-]{1,64}")
_PLAMO_TAG = re.compile(r"<\|plamo:(begin|end)_([A-Za-z0-9_\-]{1,64}):plamo\|>")


def plamo(sentence: str = "sentence", cite: str = "cite") -> Dialect:
    """The special tokens of PLaMo. The scheme is public (vLLM's parser), the two names are not: defaults are a guess.

    Raises ValueError for equal names, or names that are not 1–64 of `A–Z a–z 0–9 _ -`.
    """
    for name in (sentence, cite):
        if not _PLAMO_NAME.fullmatch(name):
            raise ValueError(f"not a plamo tag name: {name!r} (letters, digits, _ and - only)")
    if sentence == cite:
        raise ValueError(f"sentence and citation cannot both be called {sentence!r}")
    name = "plamo" if (sentence, cite) == ("sentence", "cite") else f"plamo({sentence},{cite})"
    return Dialect(
        name,
        f"<|plamo:begin_{sentence}:plamo|>",
        f"<|plamo:end_{sentence}:plamo|>",
        f"<|plamo:begin_{cite}:plamo|>",
        f"<|plamo:end_{cite}:plamo|>",
    )


def dialect_named(name: str) -> Dialect:
    """The dialect called `tags`, `longcite`, `plamo` or `plamo(SENTENCE,CITE)`; ValueError for any other name."""
    if name == TAGS.name:
        return TAGS
    if name == LONGCITE.name:
        return LONGCITE
    if name == "plamo":
        return plamo()
    if name.startswith("plamo(") and name.endswith(")"):
        sentence, comma, cite = name[len("plamo(") : -1].partition(",")
        if comma:
            return plamo(sentence.strip(), cite.strip())
    raise ValueError(f"unknown dialect: {name!r} (tags, longcite, plamo or plamo(SENTENCE,CITE))")


def parse(raw: str, dialect: Dialect = TAGS) -> Answer:
    """The strict reading. Never raises, whatever the text; nothing is repaired.

    Sentences first, then cites inside each body; leftmost open to the next close; once no close is found the scan ends.
    A sentence is its body without the cites, trimmed, and is left out if that is empty. Cites outside sentences, text
    outside sentences and unclosed sentences are no part of the answer. Source: tmg_cqa publication, appendix ("no
    correction of the citation format after generation").
    """
    sentences: list[Sentence] = []
    for element in pair(tags(raw, dialect)).sentences:
        text = body_text(raw, element).strip()
        if text:
            citations = tuple(_citations(raw, element, dialect))
            sentences.append(Sentence(text, citations, element.start, element.end))
    return Answer(raw, dialect.name, tuple(sentences))


def flags(answer: Answer) -> tuple[FormatFlag, ...]:
    """Why the answer counts as unparsable: `no_sentence`, or `no_citation` in any sentence; empty if it does not.

    An unreadable cite counts as a citation. An empty answer has no flag: it is a failed generation.
    """
    if not answer.raw.strip():
        return ()
    if not answer.sentences:
        return ("no_sentence",)
    if not any(sentence.citations for sentence in answer.sentences):
        return ("no_citation",)
    return ()


def untagged(answer: Answer) -> str:
    """The whole answer as prose, for a judge: without tags and without any closed cite, wherever it stands; trimmed.

    A cite outside a sentence is not scored, but its number left in the prose would read as a figure of the answer.
    """
    dialect = dialect_named(answer.dialect)
    found = list(tags(answer.raw, dialect))
    inside = [cite for element in pair(found).sentences for cite in element.cites]
    holes = sorted(
        [
            *((cite.open.start, cite.close.end) for cite in inside),
            *_neighbouring_cites(found),
            *((tag.start, tag.end) for tag in found),
        ]
    )
    kept: list[str] = []
    position = 0
    for start, end in holes:
        kept.append(answer.raw[position:start])
        position = max(position, end)
    kept.append(answer.raw[position:])
    return "".join(kept).strip()


def _neighbouring_cites(found: Sequence[Tag]) -> Iterator[tuple[int, int]]:
    """Start and end of every opening cite tag that is closed by the very next tag."""
    for tag, after in pairwise(found):
        if tag.kind == "cite_open" and after.kind == "cite_close":
            yield tag.start, after.end


@dataclass(frozen=True, slots=True)
class PlamoName:
    """A NAME of PLaMo's begin/end tokens as seen in a text, and how often."""

    name: str
    n_begin: int
    n_end: int


def plamo_names(raw: str) -> tuple[PlamoName, ...]:
    """Every NAME of a begin or end token in the text, in order of appearance: which names the model really uses."""
    begins: dict[str, int] = {}
    ends: dict[str, int] = {}
    for side, name in _PLAMO_TAG.findall(raw):
        begins[name] = begins.get(name, 0) + (side == "begin")
        ends[name] = ends.get(name, 0) + (side == "end")
    return tuple(PlamoName(name, begins[name], ends[name]) for name in begins)


@dataclass(frozen=True, slots=True)
class Tag:
    """One tag as it stands in the raw text."""

    kind: TagKind
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class CiteElement:
    """A cite from its opening tag to its closing one."""

    open: Tag
    close: Tag


@dataclass(frozen=True, slots=True)
class SentenceElement:
    """A sentence from its opening tag to its closing one, with the cites in it."""

    open: Tag
    close: Tag
    cites: tuple[CiteElement, ...]

    @property
    def start(self) -> int:
        """Offset of the first character of the opening tag."""
        return self.open.start

    @property
    def end(self) -> int:
        """Offset after the last character of the closing tag."""
        return self.close.end


@dataclass(frozen=True, slots=True)
class Pairs:
    """The sentence elements of a text, empty ones included; `unclosed` is the opening tag at which the scan ended."""

    sentences: tuple[SentenceElement, ...]
    unclosed: Tag | None


def tags(raw: str, dialect: Dialect) -> Iterator[Tag]:
    """Every tag of the dialect, spelled exactly, in order; tags never overlap."""
    kind_of: dict[str, TagKind] = {
        dialect.sentence_open: "sentence_open",
        dialect.sentence_close: "sentence_close",
        dialect.cite_open: "cite_open",
        dialect.cite_close: "cite_close",
    }
    for match in re.finditer("|".join(map(re.escape, kind_of)), raw):
        yield Tag(kind_of[match[0]], match.start(), match.end())


def pair(found: Iterable[Tag]) -> Pairs:
    """Match tags by the strict rules: leftmost open to the next close; opens and closes in between are mere text.

    The tags may come from any reader, as long as they stand in order.
    """
    sentences: list[SentenceElement] = []
    opened: Tag | None = None
    cites: list[CiteElement] = []
    cite: Tag | None = None
    for tag in found:
        if opened is None:
            if tag.kind == "sentence_open":
                opened, cites, cite = tag, [], None
        elif tag.kind == "sentence_close":
            sentences.append(SentenceElement(opened, tag, tuple(cites)))
            opened = None
        elif tag.kind == "cite_open":
            cite = cite or tag
        elif tag.kind == "cite_close" and cite is not None:
            cites.append(CiteElement(cite, tag))
            cite = None
    return Pairs(tuple(sentences), opened)


def body_text(raw: str, element: SentenceElement) -> str:
    """What stands between the tags of a sentence when its cites are taken out; not trimmed."""
    kept: list[str] = []
    position = element.open.end
    for cite in element.cites:
        kept.append(raw[position : cite.open.start])
        position = cite.close.end
    kept.append(raw[position : element.close.start])
    return "".join(kept)


_NUMBER = re.compile(r"[0-9]{1,18}")


def _citations(raw: str, element: SentenceElement, dialect: Dialect) -> Iterator[Citation]:
    for cite in element.cites:
        body = raw[cite.open.end : cite.close.start].strip()
        if body:
            readable = dialect.cite_body == "number" and _NUMBER.fullmatch(body)
            yield Citation(int(body) if readable else None, body, cite.open.start, cite.close.end)
