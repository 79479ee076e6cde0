"""Which words of a sentence stand in its evidence: a help for the eye, no verdict.

Knows: characters. Must not know: pages, verdicts, how a mark looks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tools.text import fold

HIRAGANA = ("ぁ", "ゖ")
LEAST_CHARS = 2
LEAST_CHARS_HIRAGANA = 4
"""Runs of hiragana alone are mostly grammar (している, について): only longer ones are worth a mark."""


@dataclass(frozen=True, slots=True)
class Span:
    """Code-point offsets into the evidence as it stands."""

    start: int
    end: int


def shared(sentence: str, evidence: str) -> tuple[Span, ...]:
    """The stretches of `evidence` whose neighbouring characters also stand side by side in `sentence`, in order.

    Width, case and spaces do not matter (`tools.text.fold`). Linear in the length of both.
    """
    words = fold(sentence).text
    pairs = {words[i : i + 2] for i in range(len(words) - 1)}
    folded = fold(evidence)
    spans: list[Span] = []
    for start, end in _runs(folded.text, pairs):
        if _telling(folded.text[start:end]):
            first, last = folded.span(start, end)
            spans.append(Span(first, last))
    return tuple(spans)


def densest_window(spans: Sequence[Span], n_chars: int, width: int) -> Span:
    """The window of at most `width` characters that holds most marked ones, with a little before them.

    The beginning of the text where nothing is marked.
    """
    best, most, right, inside = 0, 0, 0, 0
    for span in spans:
        while right < len(spans) and spans[right].start < span.start + width:
            inside += spans[right].end - spans[right].start
            right += 1
        if inside > most:
            best, most = span.start, inside
        inside -= span.end - span.start
    start = max(0, min(best - width // 8, n_chars - width))
    return Span(start, min(n_chars, start + width))


def _runs(text: str, pairs: set[str]) -> Iterator[tuple[int, int]]:
    start: int | None = None
    for i in range(len(text) - 1):
        if text[i : i + 2] in pairs:
            start = i if start is None else start
        elif start is not None:
            yield start, i + 1
            start = None
    if start is not None:
        yield start, len(text)


def _telling(run: str) -> bool:
    if all(HIRAGANA[0] <= char <= HIRAGANA[1] or not char.isalnum() for char in run):
        return sum(char.isalnum() for char in run) >= LEAST_CHARS_HIRAGANA
    return sum(char.isalnum() for char in run) >= LEAST_CHARS
