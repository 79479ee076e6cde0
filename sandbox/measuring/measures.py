"""What a benchmark measures, as data: each measure says what one record gives to it and how that becomes a figure.

Knows: records, the counting table. Must not know: benchmarks, sums, intervals, how a figure is printed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from sandbox.measuring.outcome import (
    COUNTING,
    Counted,
    LeftOut,
    Value,
    citation_values,
    consistency_value,
    verdict_value,
)
from sandbox.record import Record

Fold = Literal["mean", "any", "all"]
"""What a question's sessions make of it: their mean; 1 if any has 1 (pass@k); 1 if all have 1 (pass^k)."""
Average = Literal["questions", "types"]
"""`questions`: every record weighs the same (micro). `types`: the unweighted mean of the task types' own figures."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure of a benchmark. `name` is its key in the JSON, `title` and `short` are what people read.

    `rate`: each record gives 0 or 1. `fold` other than `mean` needs a rate, and `attempts` sessions of a question: one
    with fewer is left out, for k of fewer than k attempts says nothing. `always`: shown even where nothing counts towards
    it. `headline`: one of the figures that the benchmark is known by. `judged`: verdicts decide about it (False: it is made
    of the answer alone).
    """

    name: str
    title: str
    short: str
    value: Callable[[Record], Value]
    rate: bool = False
    fold: Fold = "mean"
    attempts: int = 1
    average: Average = "questions"
    always: bool = True
    headline: bool = False
    judged: bool = True
    higher_is_better: bool = True


Measures = tuple[Measure, ...]
CITATION_F1 = "citation_f1"
"""The measure without which a run has no citation format to look at."""


def checks_citations(measures: Iterable[Measure]) -> bool:
    """Whether answers are read for sentences and citations; else one verdict, or the answer's text, is all that counts."""
    return any(measure.name == CITATION_F1 for measure in measures)


def values_of(record: Record, measures: Iterable[Measure]) -> Mapping[str, Value]:
    """What one record gives to each measure, by name."""
    return {measure.name: measure.value(record) for measure in measures}


def criterion_value(record: Record) -> Value:
    """1 if the answer got a passing verdict, else 0, as `outcome.COUNTING` says; undecided where the verdict is missing.

    Left out (`no_criterion`) where the record has none.
    """
    asked = record.criterion
    if asked is None:
        return LeftOut("no_criterion")
    label = asked.verdict.label if asked.verdict else None
    return verdict_value(COUNTING[record.outcome].criterion, record.outcome, label, asked.passing)


def source_found_value(record: Record) -> Value:
    """1 if a page that the data names as a source was seen."""
    return _source_value(record, record.source_found)


def source_cited_value(record: Record) -> Value:
    """1 if a source page that was seen was cited."""
    return _source_value(record, record.source_cited)


def _source_value(record: Record, seen: bool | None) -> Value:
    """Left out with the reason where the question carries no sources, or the fact is not known."""
    if seen is not None:
        worth = Fraction(int(seen))
        return Counted(worth, worth, worth)
    return LeftOut(record.outcome if record.sources else "no_sources")


ANSWER_AND_CITATIONS: Measures = (
    Measure("consistency", "Consistency", "Consist.", consistency_value, rate=True, headline=True),
    Measure("citation_recall", "Citation recall", "Recall", lambda record: citation_values(record).recall),
    Measure("citation_precision", "Citation precision", "Precision", lambda record: citation_values(record).precision),
    Measure(CITATION_F1, "Citation F1", "F1", lambda record: citation_values(record).f1, headline=True),
)
"""tmg_cqa, both versions."""

SOURCES: Measures = (
    Measure("source_found", "Source found", "Found", source_found_value, rate=True, always=False),
    Measure("source_cited", "Source cited", "Cited", source_cited_value, rate=True, always=False),
)
"""Where the model has to find its sources itself."""

CITED: Measures = (*ANSWER_AND_CITATIONS, *SOURCES)
