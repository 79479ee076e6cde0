"""What faults of format cost: the F1 of an answer as it stands, with one code mended, and as it was meant.

Knows: readings, units, the arithmetic of F1. Must not know: who judges, files, runs.

    points of a code  = F1 with only that code mended − strict F1
    formatting loss   = recovered F1 − strict F1
    evidence loss     = 1 − recovered F1

All with the same verdicts: a unit (kind, sentence text, page) has one verdict, in whichever reading it stands. Where a
reading has units without a verdict, F1 has bounds, and a loss is known only if they do not matter. The points of several
codes need not add up to the formatting loss: two faults of one sentence may each hide what the other costs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from citations.lint import LintReport
from citations.mending import read
from citations.model import Answer, Bounds, Unit, UnitKind, Verdict
from citations.policy import Policy
from citations.reading import MENDABLE
from citations.scoring import score
from citations.units import units

NOT_FORMAT = "a matter of evidence, not of format"
NOT_JUDGED = "a sentence that only the mended reading has was not judged"
STRICT_UNDECIDED = "the strict score itself lacks a verdict"


@dataclass(frozen=True, slots=True)
class UnitKey:
    """What a verdict is about, whatever reading the unit stands in. `evidence_numbers` as in `Unit`, none for need."""

    kind: UnitKind
    text: str
    number: int | None
    evidence_numbers: tuple[int, ...]


Labels = Mapping[UnitKey, str | None]
"""The verdicts there are; None = it was asked, and the judge failed."""


@dataclass(frozen=True, slots=True)
class CodeCost:
    """What one code costs an answer: F1 points in −1…1, or None with the reason."""

    code: str
    points: Fraction | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Losses:
    """F1 of the strict and of the recovered reading, as bounds, and what each code found costs, by code."""

    strict: Bounds
    recovered: Bounds
    codes: tuple[CodeCost, ...]

    @property
    def format_loss(self) -> Fraction | None:
        """Recovered F1 − strict F1; None where a missing verdict matters."""
        if not _decided(self.strict) or not _decided(self.recovered):
            return None
        return self.recovered.low - self.strict.low

    @property
    def evidence_loss(self) -> Fraction | None:
        """1 − recovered F1; None where a missing verdict matters."""
        return 1 - self.recovered.low if _decided(self.recovered) else None


def unit_key(unit: Unit) -> UnitKey:
    """The key of a unit."""
    return UnitKey(unit.kind, unit.text, unit.number, unit.evidence_numbers)


def labels_of(
    answer: Answer,
    evidence: Mapping[int, str | None],
    verdicts: Iterable[Verdict],
    *,
    policy: Policy | None = None,
) -> dict[UnitKey, str | None]:
    """The verdicts on the units of an answer, by what they are about; a verdict on no unit of it is passed over."""
    label_of = {(verdict.kind, verdict.sentences, verdict.number): verdict.label for verdict in verdicts}
    return {
        unit_key(unit): label_of[unit.kind, unit.sentences, unit.number]
        for unit in units(answer, evidence, policy=policy)
        if (unit.kind, unit.sentences, unit.number) in label_of
    }


def new_units(
    report: LintReport, evidence: Mapping[int, str | None], labels: Labels, *, policy: Policy | None = None
) -> tuple[Unit, ...]:
    """The units of the recovered reading that were never asked and can change its F1.

    Their sentences are indices into that reading. A unit whose label is None was asked, and is not new.
    """
    asked = units(report.recovered, evidence, policy=policy, f1_only=True)
    return tuple(unit for unit in asked if unit_key(unit) not in labels)


def losses(
    report: LintReport, evidence: Mapping[int, str | None], labels: Labels, *, policy: Policy | None = None
) -> Losses:
    """What the format of an answer costs, code by code, as far as the verdicts that there are decide it."""
    judged = _Judged(evidence, labels, policy or Policy())
    strict = judged.f1(report.strict)
    costs = [_cost(code, report, strict, judged) for code in sorted({finding.code for finding in report.findings})]
    return Losses(strict, judged.f1(report.recovered), tuple(costs))


class _Judged:
    """F1 of readings by the same verdicts; readings of equal sentences are scored once."""

    def __init__(self, evidence: Mapping[int, str | None], labels: Labels, policy: Policy) -> None:
        self._evidence, self._labels, self._policy = evidence, labels, policy
        self._known: dict[tuple[tuple[str, tuple[int | None, ...]], ...], Bounds] = {}

    def f1(self, answer: Answer) -> Bounds:
        key = tuple((s.text, tuple(citation.number for citation in s.citations)) for s in answer.sentences)
        if key not in self._known:
            asked: Sequence[Unit] = units(answer, self._evidence, policy=self._policy)
            verdicts = [
                Verdict(unit.kind, unit.sentences, unit.number, self._labels.get(unit_key(unit))) for unit in asked
            ]
            self._known[key] = score(answer, self._evidence, verdicts, policy=self._policy).f1_bounds
        return self._known[key]


def _cost(code: str, report: LintReport, strict: Bounds, judged: _Judged) -> CodeCost:
    if code not in MENDABLE:
        return CodeCost(code, None, NOT_FORMAT)
    mended = judged.f1(read(report.reading.source, frozenset({code})).answer)
    if mended is strict:
        # The same sentences with the same numbers: nothing is lost, whatever the verdicts.
        return CodeCost(code, Fraction(0))
    if not _decided(strict):
        return CodeCost(code, None, STRICT_UNDECIDED)
    if not _decided(mended):
        return CodeCost(code, None, NOT_JUDGED)
    return CodeCost(code, mended.low - strict.low)


def _decided(bounds: Bounds) -> bool:
    return bounds.low == bounds.high
