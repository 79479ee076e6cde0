"""How LongBench-Cite reads an answer: statements and the chunk spans that they cite.

Knows: the reference's parser, its traps included. Must not know: scores, judges, and the strict reading of `tmg`.

Source: THUDM/LongCite at d7d772e, `LongBench-Cite/pred_one_shot.py` (reading `one_shot`), `vllm_inference.py` (`sft`).
Chunks are the numbered sentences of the document, from 0; joined they are its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from citations.markup import LONGCITE, SentenceElement, body_text, pair, tags

Reading = Literal["one_shot", "sft"]

MAX_SPANS = 3
"""Spans kept per statement, after merging."""

MAX_IGNORED_CHARS = 5
"""Text outside statements up to this length, trimmed, is no statement."""


@dataclass(frozen=True, slots=True)
class Span:
    """Chunks `first` to `last`, both included, and their text."""

    first: int
    last: int
    snippet: str


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement with what it cites; an empty text is a statement that only cites."""

    text: str
    citations: tuple[Span, ...]


def read_statements(raw: str, chunks: Sequence[str], reading: Reading = "one_shot") -> tuple[Statement, ...]:
    """The statements of an answer. Never raises.

    Text outside statements of more than 5 characters is an uncited statement; so is a whole answer without tags. An
    opening tag that is never closed ends the reading. Blank bodies are left out. `one_shot` trims texts, `sft` does
    not.
    """
    statements: list[Statement] = []
    for stretch in _stretches(raw):
        if stretch.element is None:
            if stretch.is_statement:
                statements.append(Statement(stretch.text, ()))
        elif stretch.is_statement:
            statements.append(Statement(body_text(raw, stretch.element), _spans(raw, stretch.element, chunks)))
    if reading == "sft":
        return tuple(statements)
    return tuple(Statement(statement.text.strip(), statement.citations) for statement in statements)


def normalised_answer(raw: str, chunks: Sequence[str]) -> str:
    """The answer as the `sft` reading writes it anew: every statement tagged, its kept spans in one cite at the end."""
    written: list[str] = []
    for stretch in _stretches(raw):
        text, spans = stretch.text, ""
        if stretch.element is not None and stretch.is_statement:
            text = body_text(raw, stretch.element)
            spans = "".join(f"[{span.first}-{span.last}]" for span in _spans(raw, stretch.element, chunks))
        written.append(f"<statement>{text}<cite>{spans}</cite></statement>" if stretch.is_statement else text)
    return "".join(written).strip()


def plain_answer(raw: str) -> str:
    """The answer without cites and statement tags, as the reference shows it to the judge of need."""
    kept: list[str] = []
    position = 0
    while (start := raw.find("<cite>", position)) >= 0 and (end := raw.find("</cite>", start)) >= 0:
        kept.append(raw[position:start])
        position = end + len("</cite>")
    kept.append(raw[position:])
    return "".join(kept).replace("<statement>", "").replace("</statement>", "")


@dataclass(frozen=True, slots=True)
class _Stretch:
    """The body of a statement (`element` set), or the text between two statements."""

    text: str
    element: SentenceElement | None

    @property
    def is_statement(self) -> bool:
        return len(self.text.strip()) > (0 if self.element else MAX_IGNORED_CHARS)


def _stretches(raw: str) -> Iterator[_Stretch]:
    pairs = pair(tags(raw, LONGCITE))
    position = 0
    for element in pairs.sentences:
        yield _Stretch(raw[position : element.start], None)
        yield _Stretch(raw[element.open.end : element.close.start], element)
        position = element.end
    yield _Stretch(raw[position : pairs.unclosed.start if pairs.unclosed else len(raw)], None)


_SPAN = re.compile(r"\[([0-9]+)-([0-9]+)\]")
_BEYOND = 10**18
"""Stands for any number of more than 18 digits: no document has so many chunks."""


def _spans(raw: str, element: SentenceElement, chunks: Sequence[str]) -> tuple[Span, ...]:
    """Ends are clipped to the document; a span that starts beyond it, or ends before its start, is dropped."""
    bodies = (raw[cite.open.end : cite.close.start] for cite in element.cites)
    ranges: list[range] = []
    for first, last in _written_spans(bodies):
        if first >= len(chunks) or last < first:
            continue
        stop = min(last + 1, len(chunks))
        if ranges and first == ranges[-1].stop:
            ranges[-1] = range(ranges[-1].start, stop)
        else:
            ranges.append(range(first, stop))
    return tuple(
        Span(chosen.start, chosen.stop - 1, "".join(chunks[chosen.start : chosen.stop]))
        for chosen in ranges[:MAX_SPANS]
    )


def _written_spans(bodies: Iterable[str]) -> Iterator[tuple[int, int]]:
    for body in bodies:
        for match in _SPAN.finditer(body):
            yield _chunk_number(match[1]), _chunk_number(match[2])


def _chunk_number(digits: str) -> int:
    """Python refuses to read very long numbers, and quadratic time is not worth spending on them."""
    significant = digits.lstrip("0")
    return int(significant or "0") if len(significant) <= 18 else _BEYOND
