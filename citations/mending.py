"""The recovered reading: an answer read as it was meant, and every fault met on the way.

Knows: how each fault is mended, and that it can be mended alone. Must not know: evidence texts, verdicts, lines, how a
fault is worded.

One walk over the tags makes any reading: `mend` names the codes that are put right, everything else is read by the strict
rules. So `mend` empty gives the strict reading (`citations.markup.parse`), all codes give the recovered one, and a single
code gives what the answer would be if only that were right. The strict rules stand in `markup`; they are not changed here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from citations.cite_body import BodyReading, read_body
from citations.findings import Fault
from citations.model import Citation, Sentence
from citations.prose import (
    BLANKS,
    MARK_OPENINGS,
    Outside,
    has_second_sentence,
    mark_at,
    marks,
    without_fences,
)
from citations.reading import ALL_CODES, Reading, Source
from citations.tag_spelling import Token, unfinished_tag

LIST_MARKER = re.compile(r"\n[ \t]*(?:[0-9]{1,3}[.)．、]|[-*・•])[ \t]*\Z")
"""The marker of the next item, which is no text of the sentence before it; matched against a few characters."""
MAX_OUTSIDE_CHARS = 5
"""So much text outside sentences is punctuation or a list marker, not prose."""


def read(source: Source, mend: Collection[str] = ALL_CODES) -> Reading:
    """The answer read with the faults of codes `mend` put right. Never raises; linear in the length of the text."""
    walk = _Walk(source, mend)
    for token in walk.visible:
        walk.take(token)
    walk.end()
    return walk.reading()


@dataclass(slots=True)
class _Open:
    """The sentence being read. `gaps` are its stretches of text so far; the one being read begins at `text_from`."""

    tag: Token
    text_from: int
    gaps: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    citations: list[Citation] = field(default_factory=list[Citation])
    cite: Token | None = None
    body_end: int | None = None
    """Where the open cite's body ends before its close: at debris."""
    has_text: bool = False


class _Walk:
    """One reading under way."""

    def __init__(self, source: Source, mend: Collection[str]) -> None:
        self._source, self._raw, self._mend = source, source.raw, mend
        whole = mend is ALL_CODES
        self.visible = source.tokens if whole else [t for t in source.tokens if t.fault is None or t.fault in mend]
        self.faults: list[Fault] = []
        self._sentences: list[Sentence] = []
        self._extra: list[Citation] = []
        """Cites outside that go to the last sentence."""
        self._open: _Open | None = None
        self._has_marks = "P05" in mend and any(opening in source.raw for opening in MARK_OPENINGS)
        self._untagged = not any(token.kind == "sentence_open" for token in source.tokens)
        self._outside: list[Outside] = []
        self._outside_from = 0
        self._outside_cite: Token | None = None
        self._since_sentence = MAX_OUTSIDE_CHARS + 1
        """Characters of text since the last sentence; too many for a cite to go to it where there was none."""
        self._closable: frozenset[int] | None = None
        self._bodies: dict[str, BodyReading] = {}

    def take(self, token: Token) -> None:
        """Read one tag."""
        if token.fault is not None:
            self._fault(token.fault, token.start, token.end, token.seen)
        if self._open is None:
            self._take_outside(token)
            return
        match token.kind:
            case "sentence_open":
                self._open_inside(token, self._open)
            case "sentence_close":
                self._close_cite_late(token.start)
                self._finish_sentence(token.start, token.end)
            case "cite_open":
                self._open_cite(token, self._open)
            case "cite_close":
                self._close_cite(token, self._open)
            case "cite":
                self._self_closed(token, self._open)
            case "debris":
                self._drop(token, self._open)

    def end(self) -> None:
        """The text is over: what is still open ends here."""
        raw, end = self._raw, len(self._raw)
        code = "S15" if self._source.cut else "S01"
        if self._open is not None:
            tag = self._open.tag
            self._fault(code, tag.start, tag.end)
            if code in self._mend:
                end = max(unfinished_tag(raw, self._source.dialect), self._open.text_from)
                if self._source.cut and self._open.cite is not None:
                    # Half a number is no number.
                    end = self._open.cite.start
                    self._open.cite = None
                self._close_cite_late(end)
                self._finish_sentence(end, end)
            return
        if self._outside_cite is not None and self._source.cut:
            self._fault("S15", self._outside_cite.start, self._outside_cite.end)
            self._gap(self._outside_cite.start)
            return
        if self._outside_cite is not None:
            self._close_outside_cite(self._outside_cite, end, end, late=True)
        self._gap(end)
        if self._source.cut:
            self._fault("S15", end, end)

    def reading(self) -> Reading:
        """The reading, once the text is over."""
        self._give_extra()
        prose = tuple(self._outside) if self._untagged and "W02" in self._mend else ()
        return Reading(self._source, tuple(self.faults), tuple(self._sentences), prose)

    # Inside a sentence

    def _open_inside(self, token: Token, current: _Open) -> None:
        code = "S04" if self._closes(current.tag) else "S03"
        self._fault(code, token.start, token.end)
        if code in self._mend:
            self._close_cite_late(token.start)
            marker = LIST_MARKER.search(self._raw, max(current.text_from, token.start - 12), token.start)
            self._finish_sentence(marker.start() if marker else token.start, token.start)
            self._begin(token)

    def _closes(self, tag: Token) -> bool:
        """Whether ordinary bracket matching closes the tag."""
        if self._closable is None:
            stack: list[int] = []
            closed: list[int] = []
            for token in self.visible:
                if token.kind == "sentence_open":
                    stack.append(token.start)
                elif token.kind == "sentence_close" and stack:
                    closed.append(stack.pop())
            self._closable = frozenset(closed)
        return tag.start in self._closable

    def _open_cite(self, token: Token, current: _Open) -> None:
        if current.cite is not None:
            self._fault("S13", token.start, token.end)
            if "S13" not in self._mend:
                return
            self._end_cite(current, current.cite, token.start, token.start, late=False)
        current.cite = token

    def _close_cite(self, token: Token, current: _Open) -> None:
        if current.cite is not None:
            self._end_cite(current, current.cite, token.start, token.end, late=False)
            return
        self._fault("S14", token.start, token.end)
        if "S14" in self._mend:
            self._hole(current, token.start, token.end)

    def _close_cite_late(self, end: int) -> None:
        """A cite that is still open where its sentence ends."""
        current = self._open
        if current is None or current.cite is None:
            return
        self._fault("S06", current.cite.start, current.cite.end)
        if "S06" in self._mend:
            self._end_cite(current, current.cite, end, end, late=True)
        current.cite = None

    def _self_closed(self, token: Token, current: _Open) -> None:
        if current.cite is not None:
            if not token.attribute:
                # `<cite>1<cite/>`: the stroke has slipped behind the name.
                self._end_cite(current, current.cite, token.start, token.end, late=False)
                return
            self._open_cite(token, current)
        current.cite = token
        self._end_cite(current, token, token.end, token.end, late=False)

    def _end_cite(self, current: _Open, cite: Token, body_end: int, end: int, *, late: bool) -> None:
        self._hole(current, cite.start, end)
        if not current.has_text:
            self._fault("P02", cite.start, end)
        inner = body_end if current.body_end is None else current.body_end
        current.citations += self._cited(cite, inner, end, late=late)
        current.cite = current.body_end = None

    def _drop(self, token: Token, current: _Open) -> None:
        if current.cite is None:
            self._hole(current, token.start, token.end)
        elif current.body_end is None:
            current.body_end = token.start

    def _hole(self, current: _Open, start: int, end: int) -> None:
        """From `start` to `end` is no text of the sentence."""
        if start > current.text_from:
            current.gaps.append((current.text_from, start))
            current.has_text = current.has_text or not self._raw[current.text_from : start].isspace()
        current.text_from = end

    def _begin(self, token: Token) -> None:
        self._open = _Open(token, token.end)

    def _finish_sentence(self, text_end: int, end: int) -> None:
        current = self._open
        if current is None:
            return
        self._open = None
        self._hole(current, text_end, text_end)
        self._give_extra()
        text = self._text(current).strip()
        if text:
            self._sentences.append(Sentence(text, tuple(current.citations), current.tag.start, end))
            if has_second_sentence(text):
                self._fault("P04", current.tag.start, current.tag.end)
        else:
            self._fault("S05", current.tag.start, current.tag.end)
        self._outside_from = end
        self._since_sentence = 0 if text else MAX_OUTSIDE_CHARS + 1

    def _text(self, current: _Open) -> str:
        if not self._has_marks:
            return "".join([self._raw[start:end] for start, end in current.gaps])
        pieces: list[str] = []
        n_before = len(current.citations)
        for start, end in current.gaps:
            for mark in marks(self._raw, start, end, self._source.known):
                pieces.append(self._raw[start : mark.start].rstrip(BLANKS))
                start = mark.end
                current.citations += mark.citations(self._raw)
                self._mark_fault(mark.start, mark.end, mark.numbers)
            pieces.append(self._raw[start:end])
        if len(current.citations) > n_before:
            current.citations.sort(key=lambda citation: citation.start)
        return "".join(pieces)

    # Outside sentences

    def _take_outside(self, token: Token) -> None:
        cite = self._outside_cite
        match token.kind:
            case "sentence_open":
                if cite is not None:
                    self._close_outside_cite(cite, token.start, token.start, late=True)
                self._gap(token.start)
                self._begin(token)
            case "sentence_close":
                self._fault("S02", token.start, token.end)
                self._stray(token)
            case "cite_open":
                if cite is not None:
                    self._fault("S13", token.start, token.end)
                    self._close_outside_cite(cite, token.start, token.start, late=False)
                self._outside_cite = token
            case "cite_close":
                if cite is not None:
                    self._close_outside_cite(cite, token.start, token.end, late=False)
                else:
                    self._fault("S14", token.start, token.end)
                    self._stray(token)
            case "cite":
                if cite is not None and not token.attribute:
                    self._close_outside_cite(cite, token.start, token.end, late=False)
                else:
                    if cite is not None:
                        self._fault("S13", token.start, token.end)
                        self._close_outside_cite(cite, token.start, token.start, late=False)
                    self._close_outside_cite(token, token.end, token.end, late=False)
            case "debris":
                self._stray(token)

    def _stray(self, token: Token) -> None:
        if self._outside_cite is None:
            self._gap(token.start)
            self._outside_from = token.end

    def _close_outside_cite(self, cite: Token, body_end: int, end: int, *, late: bool) -> None:
        self._outside_cite = None
        self._gap(cite.start, before_cite=True)
        self._outside_from = end
        self._fault("P01", cite.start, end)
        if late:
            self._fault("S06", cite.start, cite.end)
        citations = self._cited(cite, body_end, end, late=late)
        self._outside.append(Outside(cite.start, end, citations))
        if "P01" in self._mend and self._since_sentence <= MAX_OUTSIDE_CHARS:
            self._extra += citations

    def _gap(self, end: int, *, before_cite: bool = False) -> None:
        """The text outside sentences up to `end`: prose, or the few characters that stand between things."""
        start = self._outside_from
        if start >= end:
            return
        self._outside.append(Outside(start, end))
        if self._has_marks and not self._untagged:
            start = self._marks_behind_sentence(start, end)
        n_chars, first, last = 0, start, end
        for piece_start, piece_end in without_fences(self._raw, start, end):
            text = self._raw[piece_start:piece_end].strip()
            if text and not n_chars:
                first = self._raw.index(text[0], piece_start)
            if text:
                n_chars += len(text)
                last = piece_end
        self._since_sentence += n_chars
        if n_chars > MAX_OUTSIDE_CHARS and not before_cite:
            last = first + len(self._raw[first:last].rstrip())
            self._fault("P03", first, last, self._raw[first : min(last, first + 80)])

    def _marks_behind_sentence(self, start: int, end: int) -> int:
        """Take the marks that stand right behind a sentence; where the text goes on after them."""
        position = start
        while self._since_sentence <= MAX_OUTSIDE_CHARS:
            while position < end and self._raw[position].isspace():
                position += 1
            mark = mark_at(self._raw, position, end, self._source.known)
            if mark is None:
                break
            self._mark_fault(mark.start, mark.end, mark.numbers)
            self._extra += mark.citations(self._raw)
            start = position = mark.end
        return start

    def _give_extra(self) -> None:
        if self._extra and self._sentences:
            last = self._sentences[-1]
            self._sentences[-1] = Sentence(last.text, (*last.citations, *self._extra), last.start, last.end)
        self._extra = []

    # Cites and faults

    def _cited(self, cite: Token, body_end: int, end: int, *, late: bool) -> tuple[Citation, ...]:
        body = self._raw[cite.end : body_end].strip() if cite.end < body_end else ""
        body = body or cite.attribute
        reading = self._bodies.get(body)
        if reading is None:
            spans = self._source.dialect.cite_body == "spans"
            reading = self._bodies[body] = read_body(body, self._source.titles, spans=spans)
        code = reading.code
        if code is None:
            return (Citation(reading.numbers[0] if reading.numbers else None, body, cite.start, end),)
        if not (code == "C01" and late):
            self._fault(code, cite.start, end, body, self._separately(reading.numbers))
        if code == "C01":
            return ()
        if code not in self._mend:
            return (Citation(None, body, cite.start, end),)
        return tuple(Citation(number, body, cite.start, end) for number in reading.numbers)

    def _mark_fault(self, start: int, end: int, numbers: Sequence[int]) -> None:
        self._fault("P05", start, end, self._raw[start:end], self._separately(numbers))

    def _separately(self, numbers: Sequence[int]) -> str:
        """The fix: the numbers as they should have been written."""
        if not numbers:
            return ""
        dialect = self._source.dialect
        shown = "".join(f"{dialect.cite_open}{number}{dialect.cite_close}" for number in numbers[:4])
        return f"write {shown}{'…' if len(numbers) > 4 else ''}"

    def _fault(self, code: str, start: int, end: int, seen: str = "", fix: str = "") -> None:
        self.faults.append(Fault(code, start, end, seen, fix))
