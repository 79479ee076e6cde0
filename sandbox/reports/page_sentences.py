"""A reading of an answer as the report page shows it: sentences and citations by UTF-16 offsets, with their scores.

Knows: readings, exact scores. Must not know: records, files.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeVar

from citations.model import Answer, Sentence
from sandbox.reports.page_format import CitationShown, SentenceShown
from sandbox.reports.utf16 import Utf16

T = TypeVar("T")


def sentences_shown(
    answer: Answer,
    sentence_scores: Sequence[str | None] = (),
    citation_scores: Sequence[Sequence[str | None]] = (),
) -> tuple[SentenceShown, ...]:
    """The sentences of a reading with offsets into its raw text; scores are exact fractions as text, by position."""
    units = Utf16(answer.raw)
    return tuple(
        SentenceShown(
            text=sentence.text,
            start=units.at(sentence.start),
            end=units.at(sentence.end),
            citations=_citations(sentence, units, _at(citation_scores, index, ())),
            score=_at(sentence_scores, index, None),
        )
        for index, sentence in enumerate(answer.sentences)
    )


def exact(value: Fraction | None) -> str | None:
    """An exact fraction as it is stored."""
    return None if value is None else str(value)


def points(value: Fraction | None) -> float | None:
    """A rate in 0–1 as points, two decimals: enough to sort and filter by."""
    return None if value is None else round(float(100 * value), 2)


def _citations(sentence: Sentence, units: Utf16, scores: Sequence[str | None]) -> tuple[CitationShown, ...]:
    return tuple(
        CitationShown(
            number=citation.number,
            body=citation.body,
            start=units.at(citation.start),
            end=units.at(citation.end),
            score=_at(scores, place, None),
        )
        for place, citation in enumerate(sentence.citations)
    )


def _at(values: Sequence[T], index: int, otherwise: T) -> T:
    return values[index] if index < len(values) else otherwise
