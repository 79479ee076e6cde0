"""What the citation format did in a run: findings and losses of each record, and their sums.

Knows: records, the lint, the losses of one answer, statistics. Must not know: files, judges, how a figure is printed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from pydantic import BaseModel, ConfigDict

from citations.findings import CODES, Severity
from citations.lint import LintReport, lint
from citations.losses import NOT_FORMAT, CodeCost, Labels, Losses, labels_of, losses, new_units
from citations.markup import dialect_named
from citations.model import Bounds, Verdict
from citations.reading import MENDABLE
from citations.units import units
from sandbox.judging.citation import cut_numbers
from sandbox.measuring.outcome import LeftOut, citation_values
from sandbox.measuring.statistics import Cluster, Plan, cluster_bootstrap, paired_change
from sandbox.record import Record, ScoreRow
from sandbox.rescore import evidence_of

RecoveredLabels = Mapping[tuple[str, int], Labels]
"""By (sample id, repeat): the verdicts on units that only the recovered reading has."""


class CodeLoss(BaseModel):
    """What a lint code did in a run. `points`: the F1 (0–1, of the whole run) that it costs, where that is known.

    `answers` have it, `occurrences` times in all; of `undecided` of them it is not known what it costs, and `points` is
    what it costs the others (None where it is known of none). Evidence codes cost no format: their `points` are None.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    severity: Severity
    answers: int
    occurrences: int
    points: float | None
    undecided: int = 0


@dataclass(frozen=True, slots=True)
class Examined:
    """What was found in one record's answer; `losses` None for one that is left out of citation F1."""

    report: LintReport
    losses: Losses | None


@dataclass(frozen=True, slots=True)
class RecoveredFigures:
    """F1 of the recovered reading over the answers that count, and what that means; None where it is not known.

    `undecided`: answers whose recovered F1 hangs on a verdict that is missing. Intervals as in `summary.Metric`.
    """

    f1: float | None = None
    format_loss: float | None = None
    evidence_loss: float | None = None
    f1_interval: tuple[float, float] | None = None
    format_loss_interval: tuple[float, float] | None = None
    evidence_loss_interval: tuple[float, float] | None = None
    undecided: int = 0


def lint_record(record: Record, max_evidence_chars: int | None = None) -> LintReport | None:
    """What is wrong with the record's answer; None where it has none. Titles and evidence are those of its pages.

    `max_evidence_chars`: what one judge call got of the evidence at most; None = unknown, and R06 is then checked only
    where the record says that nothing was cut.
    """
    if record.answer is None:
        return None
    return lint(
        record.answer,
        dialect_named(record.dialect),
        finish_reason=record.finish_reason,
        evidence=evidence_of(record),
        titles={page.number: page.title for page in record.pages},
        cut_evidence=_cut(record, max_evidence_chars),
    )


def record_labels(record: Record, report: LintReport, recovered: Labels | None = None) -> Labels:
    """The verdicts on the record's answer by what they are about; those of its own score win over `recovered`."""
    verdicts = [Verdict(row.kind, row.sentences, row.number, row.verdict.label) for row in record.units]
    return {**(recovered or {}), **labels_of(report.strict, evidence_of(record), verdicts)}


def record_losses(record: Record, report: LintReport, recovered: Labels | None = None) -> Losses:
    """What the format of the record's answer costs, as far as its verdicts (and `recovered`) decide it."""
    codes = sorted({finding.code for finding in report.findings})
    stored = None if record.score is None else _stored_f1(record.score)
    if stored is not None and not any(code in MENDABLE for code in codes):
        # Nothing to mend: both readings are the one that was scored.
        return Losses(stored, stored, tuple(CodeCost(code, None, NOT_FORMAT) for code in codes))
    return losses(report, evidence_of(record), record_labels(record, report, recovered))


def _stored_f1(score: ScoreRow) -> Bounds | None:
    low, high = score.f1_bounds or (score.f1, score.f1)
    return None if low is None or high is None else Bounds(Fraction(low), Fraction(high))


def _cut(record: Record, max_chars: int | None) -> frozenset[int] | None:
    if "evidence_cut" not in record.flags:
        return frozenset()
    if max_chars is None or record.answer is None:
        return None
    evidence = evidence_of(record)
    strict = lint(record.answer, dialect_named(record.dialect)).strict
    asked = {unit.evidence_numbers for unit in units(strict, evidence)}
    return frozenset(number for numbers in asked for number in cut_numbers(numbers, evidence, max_chars))


@dataclass(slots=True)
class _Code:
    answers: int = 0
    occurrences: int = 0
    points: Fraction = Fraction(0)
    decided: int = 0
    undecided: int = 0

    def loss(self, code: str, n_counted: int) -> CodeLoss:
        return CodeLoss(
            severity=CODES[code].severity,
            answers=self.answers,
            occurrences=self.occurrences,
            points=float(self.points / n_counted) if self.decided and n_counted else None,
            undecided=self.undecided,
        )


@dataclass(slots=True)
class _Question:
    recovered: Fraction = Fraction(0)
    loss: Fraction = Fraction(0)
    n: int = 0


@dataclass(slots=True)
class FormatTally:
    """Adds up records one by one. `recovered`: verdicts asked for the recovered reading, of whatever records."""

    recovered: RecoveredLabels = field(default_factory=dict[tuple[str, int], Labels])
    max_evidence_chars: int | None = None
    _codes: dict[str, _Code] = field(default_factory=dict[str, _Code])
    _questions: dict[str, _Question] = field(default_factory=dict[str, _Question])
    _undecided: int = 0
    _unknown: bool = False

    def add(self, record: Record) -> Examined | None:
        """Take one record, and say what was found in its answer, if it has one.

        What is left out of citation F1 is left out of the losses; its findings are counted.
        """
        counted = citation_values(record).f1
        asked = self.recovered.get((record.sample_id, record.repeat))
        report = lint_record(record, self.max_evidence_chars)
        found: Losses | None = None
        if report is not None:
            if not isinstance(counted, LeftOut):
                found = record_losses(record, report, asked)
            self._count(report, found)
        if not isinstance(counted, LeftOut):
            self._sum(record.sample_id, counted.value, found)
        if report is not None and found is not None and found.recovered.low != found.recovered.high:
            self._undecided += 1
            # As in the official score, a verdict that was asked for and is missing makes the answer 0.
            self._unknown |= bool(new_units(report, evidence_of(record), record_labels(record, report, asked)))
        return None if report is None else Examined(report, found)

    def _sum(self, sample_id: str, strict: Fraction, found: Losses | None) -> None:
        question = self._questions.setdefault(sample_id, _Question())
        question.n += 1
        if found is None:
            question.recovered += strict
            return
        value = found.recovered.low if found.recovered.low == found.recovered.high else Fraction(0)
        question.recovered += value
        question.loss += value - strict

    @property
    def n_counted(self) -> int:
        """How many of the records taken count in citation F1."""
        return sum(question.n for question in self._questions.values())

    def codes(self) -> dict[str, CodeLoss]:
        """The codes found, in their usual order; points are those of the whole run."""
        n_counted = self.n_counted
        return {code: self._codes[code].loss(code, n_counted) for code in CODES if code in self._codes}

    def figures(self, plan: Plan | None) -> RecoveredFigures:
        """The recovered F1 and the losses, with intervals by `plan`; nothing where a verdict was never asked for."""
        questions = [self._questions[name] for name in sorted(self._questions)]
        n = sum(question.n for question in questions)
        if n == 0 or self._unknown:
            return RecoveredFigures(undecided=self._undecided)
        f1 = float(sum((question.recovered for question in questions), Fraction(0)) / n)
        loss = float(sum((question.loss for question in questions), Fraction(0)) / n)
        made = RecoveredFigures(f1=f1, format_loss=loss, evidence_loss=1 - f1, undecided=self._undecided)
        if plan is None:
            return made
        low, high = _interval(questions, [question.recovered for question in questions], plan)
        return replace(
            made,
            f1_interval=(low, high),
            format_loss_interval=_interval(questions, [question.loss for question in questions], plan),
            evidence_loss_interval=(1 - high, 1 - low),
        )

    def _count(self, report: LintReport, found: Losses | None) -> None:
        costs = {cost.code: cost.points for cost in found.codes} if found is not None else {}
        for code, n in Counter(finding.code for finding in report.findings).items():
            counted = self._codes.setdefault(code, _Code())
            counted.answers += 1
            counted.occurrences += n
            if code not in costs or code not in MENDABLE:
                continue
            points = costs[code]
            if points is None:
                counted.undecided += 1
            else:
                counted.decided += 1
                counted.points += points


def _interval(questions: Sequence[_Question], totals: Sequence[Fraction], plan: Plan) -> tuple[float, float]:
    clusters = [Cluster(float(total), question.n) for total, question in zip(totals, questions, strict=True)]
    # Mending can cost points too: such values are no rates but differences.
    made = paired_change([clusters], plan).interval if min(totals) < 0 else cluster_bootstrap(clusters, plan)
    return made.low, made.high
