"""Text without sentence tags, read as sentences; and citation marks of another style, wherever they stand.

Knows: where a Japanese or English sentence ends, what marks such as `[1]` and `【2†L5】` look like. Must not know: tags,
evidence beyond the numbers there are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from citations.cite_body import read_mark
from citations.model import Citation, Sentence

MARK_OPENINGS = ("[", "【", "［", "〔")
_AFTER_BRACKET = (
    r"(?:(?<=\[)[^\[\]\n]{1,60}+\](?:\([^()\s]{1,500}+\))?+|(?<=[【［〔])[^【】［］〔〕\[\]\n]{1,60}+[】］〕])"
)
MARK = re.compile(rf"[\[【［〔]{_AFTER_BRACKET}")
LINK = re.compile(r"\]\([^()\s]*\)\Z")
MAX_UNKNOWN_NUMBER = 999
"""Where no ledger says which numbers there are, a mark with a greater number is a year or the like."""

_AFTER_END = r"(?:(?<=[。！？])|(?<=．)(?![0-9０-９])|(?<=[!?])(?![A-Za-z0-9_%&=/#.+\-]))"
"""Behind one of 。．！？!?: it ends a sentence, and is no decimal point and no part of an address."""
END = re.compile(rf"[。．！？!?]{_AFTER_END}")
SECOND_SENTENCE = re.compile(rf"[。．！？!?]{_AFTER_END}(?=\s*+[^\s。．！？!?」』）)】\]〕”’\"'])")
"""The end of a sentence with more text behind it; `」` right behind it ends a quotation, not the sentence."""
_EVENT = re.compile(
    rf"[。．！？!?\n\[【［〔](?:(?<=\n)\s*+|{_AFTER_END}[。．！？!?]*+[」』）)”]*+|(?P<mark>{_AFTER_BRACKET}))"
)
"""What the reader of prose stops at: the end of a line, the end of a sentence, a mark."""
MAX_STRAY_CHARS = 5
BLANKS = " \t\u3000"
"""What stands between a text and the mark behind it, and goes with the mark."""
FENCES = ("```", "~~~")


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark that counts as citations: where it stands, brackets and link included, and its numbers as written."""

    start: int
    end: int
    numbers: tuple[int, ...]

    def citations(self, raw: str) -> tuple[Citation, ...]:
        """One citation for each number, all at the place of the mark."""
        body = raw[self.start : self.end]
        return tuple(Citation(number, body, self.start, self.end) for number in self.numbers)


def marks(raw: str, start: int, end: int, known: Collection[int] | None) -> Iterator[Mark]:
    """The marks between two offsets that count: those with a number that is `known` (None: with no unlikely number)."""
    for match in MARK.finditer(raw, start, end):
        numbers = _counted(match[0], known)
        if numbers:
            yield Mark(match.start(), match.end(), numbers)


def mark_at(raw: str, start: int, end: int, known: Collection[int] | None) -> Mark | None:
    """The mark that begins exactly at `start`, if one does and it counts."""
    match = MARK.match(raw, start, end)
    numbers = _counted(match[0], known) if match else ()
    return Mark(match.start(), match.end(), numbers) if match and numbers else None


def has_second_sentence(text: str) -> bool:
    """Whether another sentence follows in the text, by 。．！？!? (not by a decimal point or the ? of an address).

    What follows is a sentence if it ends like one or has more than 5 characters; less is a stray number or sign.
    """
    first = SECOND_SENTENCE.search(text)
    if first is None:
        return False
    rest = text[first.end() :].strip()
    return len(rest) > MAX_STRAY_CHARS or END.search(rest) is not None


def without_fences(raw: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The stretches between two offsets that are no fence lines."""
    if not any(raw.find(fence, start, end) >= 0 for fence in FENCES):
        yield start, end
        return
    kept = position = start
    while position < end:
        line_end = raw.find("\n", position, end)
        after = end if line_end < 0 else line_end + 1
        if raw[position:after].lstrip().startswith(FENCES):
            yield kept, position
            kept = after
        position = after
    yield kept, end


@dataclass(frozen=True, slots=True)
class Outside:
    """A stretch of text outside sentences, or (`citations` set) a cite there."""

    start: int
    end: int
    citations: tuple[Citation, ...] | None = None


def prose_sentences(raw: str, parts: Sequence[Outside], known: Collection[int] | None) -> tuple[Sentence, ...]:
    """The sentences of an answer without sentence tags, cut at 。．！？!? and line ends, with their cites and marks.

    A cite or mark belongs to the sentence in which it stands, or behind whose end; one alone on a line to the one before.
    """
    reader = _Prose(raw, known)
    for part in parts:
        if part.citations is None:
            for start, end in without_fences(raw, part.start, part.end):
                reader.text(start, end)
        else:
            reader.cite(part.citations)
    return reader.finish()


class _Prose:
    """The sentence being read, and those that are finished."""

    def __init__(self, raw: str, known: Collection[int] | None) -> None:
        self._raw = raw
        self._known = known
        self._sentences: list[Sentence] = []
        self._pieces: list[str] = []
        """Text of the sentence being read, up to the last mark or cite in it."""
        self._citations: list[Citation] = []
        self._start = 0
        self._extra: list[Citation] = []
        """Citations that stand behind the end of the last finished sentence."""
        self._numbers: dict[str, tuple[int, ...]] = {}
        self._same_line = False
        """Whether the last sentence ended on the line that is being read."""

    def text(self, start: int, end: int) -> None:
        """Read a stretch of text; its last sentence stays open if nothing ends it."""
        raw = self._raw
        for event in _EVENT.finditer(raw, start, end):
            at, after = event.span()
            if event.lastgroup is not None:
                citations = self._cited(raw[at:after], at, after)
                if citations:
                    self._hold(raw[start:at], start, citations)
                    start = after
                continue
            if self._pieces or self._citations or self._extra or raw[start].isspace():
                self._end_sentence(raw[start:after], start, after)
            else:
                # The usual case, without the detour: nothing is waiting.
                self._sentences.append(Sentence(raw[start:after].rstrip(), (), start, after))
            self._same_line = raw[at] != "\n"
            start = after
        if start < end:
            self._piece(raw[start:end], start)

    def cite(self, citations: tuple[Citation, ...]) -> None:
        """Read a cite."""
        self._hold("", 0, citations)

    def finish(self) -> tuple[Sentence, ...]:
        """All sentences, once everything is read."""
        self._end_sentence("", 0, len(self._raw))
        self._give_extra()
        return tuple(self._sentences)

    def _cited(self, mark: str, start: int, end: int) -> list[Citation]:
        numbers = self._numbers.get(mark)
        if numbers is None:
            numbers = self._numbers[mark] = _counted(mark, self._known)
        return [Citation(number, mark, start, end) for number in numbers]

    def _end_sentence(self, text: str, start: int, end: int) -> None:
        """What holds no text is no sentence, and its citations go to the one before."""
        citations: tuple[Citation, ...] = ()
        if self._pieces:
            text = "".join([*self._pieces, text])
            start = self._start
            self._pieces = []
        elif start < end and text[:1].isspace():
            start += len(text) - len(text.lstrip())
        text = text.strip()
        if self._citations:
            citations = tuple(self._citations)
            self._citations = []
        if not text:
            self._extra += citations
            return
        if self._extra:
            self._give_extra()
        self._sentences.append(Sentence(text, citations, start, end))

    def _hold(self, before: str, start: int, citations: Sequence[Citation]) -> None:
        self._piece(before.rstrip(BLANKS), start)
        if not self._pieces and self._same_line and self._sentences:
            self._extra += citations
        else:
            self._citations += citations

    def _piece(self, text: str, start: int) -> None:
        if self._pieces:
            self._pieces.append(text)
        elif text and not text.isspace():
            self._start = start + len(text) - len(text.lstrip())
            self._pieces.append(text)

    def _give_extra(self) -> None:
        if self._extra and self._sentences:
            last = self._sentences[-1]
            self._sentences[-1] = Sentence(last.text, (*last.citations, *self._extra), last.start, last.end)
        self._extra = []


def _counted(mark: str, known: Collection[int] | None) -> tuple[int, ...]:
    """The numbers of a mark; none if it does not count."""
    numbers = read_mark(mark[1:-1] if mark[-1] != ")" else LINK.sub("]", mark)[1:-1])
    if not numbers:
        return ()
    counts = max(numbers) <= MAX_UNKNOWN_NUMBER if known is None else any(number in known for number in numbers)
    return numbers if counts else ()
