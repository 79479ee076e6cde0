"""What the judge did in a run: verdicts given, missing and why, and verdicts that contradict one another or themselves.

Knows: the units of records. Must not know: metrics, prompts.

A sentence with one single citation is judged twice on the same evidence: if that evidence supports the sentence fully
or in part, it must also be relevant to it. How often the judge says otherwise is a free measure of its noise.
"""

from __future__ import annotations

from collections import Counter

from pydantic import BaseModel, ConfigDict

from sandbox.measuring.statistics import Plan
from sandbox.record import Record, UnitRow, VerdictRow
from sandbox.verdict_repeats import RepeatCounter, Repeats

SUPPORTING = frozenset({"full", "partial"})


class JudgeCounts(BaseModel):
    """Counts over all verdicts of a run, consistency included. `missing` by cause (parse, api, overflow)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    verdicts: int
    missing: dict[str, int]
    retried: int
    """Verdicts that took more than one attempt."""
    checked_pairs: int
    """Sentences with one citation whose evidence was found to support them, and was judged for relevance too."""
    contradictions: int
    """How many of those pairs say that the supporting evidence is not relevant."""
    repeats: Repeats | None = None
    """None where nothing was asked twice."""


class VerdictCounter:
    """Adds up records one by one."""

    def __init__(self) -> None:
        self._verdicts = 0
        self._missing: Counter[str] = Counter()
        self._retried = 0
        self._pairs = 0
        self._contradictions = 0
        self._repeats = RepeatCounter()

    def add(self, record: Record) -> None:
        """Take one record's verdicts."""
        if record.consistency is not None:
            self._count(record.consistency)
        if record.criterion is not None and record.criterion.verdict is not None:
            self._count(record.criterion.verdict)
        for unit in record.units:
            self._count(unit.verdict)
        relevance = _relevance_of_single_citations(record)
        for sentence in (s for unit in record.units if _supports(unit) for s in unit.sentences):
            label = relevance.get(sentence)
            if label is not None:
                self._pairs += 1
                self._contradictions += label == "no"
        self._repeats.add(record)

    def counts(self, plan: Plan | None = None) -> JudgeCounts:
        """The counts so far, with intervals by `plan`."""
        return JudgeCounts(
            verdicts=self._verdicts,
            missing=dict(sorted(self._missing.items())),
            retried=self._retried,
            checked_pairs=self._pairs,
            contradictions=self._contradictions,
            repeats=self._repeats.figures(plan or Plan()),
        )

    def _count(self, verdict: VerdictRow) -> None:
        if verdict.label is None:
            self._missing[verdict.failure or "unknown"] += 1
        else:
            self._verdicts += 1
        self._retried += verdict.attempts > 1


def _supports(unit: UnitRow) -> bool:
    return unit.kind == "support" and unit.verdict.label in SUPPORTING


def _relevance_of_single_citations(record: Record) -> dict[int, str]:
    """The relevance label of each sentence that has exactly one citation."""
    if record.score is None:
        return {}
    single = {i for i, scores in enumerate(record.score.citation_scores) if len(scores) == 1}
    return {
        sentence: unit.verdict.label
        for unit in record.units
        if unit.kind == "relevance" and unit.verdict.label is not None
        for sentence in unit.sentences
        if sentence in single
    }
