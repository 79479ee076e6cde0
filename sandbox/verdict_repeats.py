"""How sure the judge is of itself: verdicts that were asked for several times, and what each time would have scored.

Knows: the repeats in verdict rows, the counting table, scores from stored verdicts. Must not know: how a judge is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from pydantic import BaseModel, ConfigDict, Field

from sandbox.judging.sheet import KINDS, Kind, judgements
from sandbox.measuring.measures import criterion_value
from sandbox.measuring.outcome import Counted, Value, citation_values, consistency_value
from sandbox.measuring.statistics import Cluster, Plan, cluster_bootstrap
from sandbox.record import Record, VerdictRow
from sandbox.rescore import rescored


class KindRepeats(BaseModel):
    """One kind of judgement. `rate`: the share, in 0–1, of the `judgements` with at least two labels whose labels are not
    all the same (`flipped`); its interval draws whole questions. `missing`: repeats that brought no label.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    judgements: int
    flipped: int
    rate: float | None
    interval: tuple[float, float] | None
    missing: int


class Repeats(BaseModel):
    """A run whose judge was asked `asked` times for each verdict.

    `citation_f1`, `consistency`, `passed` (the rate of passing verdicts, where one decides): the run's figures (0–1) had
    the first, the second, … verdict been the one that counts; a repeat that brought none leaves the first one standing.
    None where nothing can be said.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    asked: int
    kinds: dict[Kind, KindRepeats]
    citation_f1: tuple[float | None, ...]
    consistency: tuple[float | None, ...]
    passed: tuple[float | None, ...] = Field(default=(), exclude_if=lambda passed: not passed)


def labels_of(verdict: VerdictRow) -> tuple[str | None, ...]:
    """What the judge said each time, the verdict that counts first."""
    return (verdict.label, *(repeat.label for repeat in verdict.repeats))


def is_flipped(verdict: VerdictRow) -> bool:
    """True if the judge did not say the same each time; a time without a label says nothing."""
    return len({label for label in labels_of(verdict) if label is not None}) > 1


def as_repeated(record: Record, k: int) -> Record:
    """The record, scored, as if what the judge said the `k`-th time (from 1 = as it is) had counted."""
    consistency = None if record.consistency is None else _kth(record.consistency, k)
    criterion = record.criterion
    if criterion is not None and criterion.verdict is not None:
        criterion = criterion.model_copy(update={"verdict": _kth(criterion.verdict, k)})
    units = tuple(unit.model_copy(update={"verdict": _kth(unit.verdict, k)}) for unit in record.units)
    # Gaps are those of the record: that it lacks no verdict more than it did is not to be found out here.
    update = {"consistency": consistency, "units": units, "criterion": criterion}
    return rescored(record.model_copy(update=update), f1_only=True)


class RepeatCounter:
    """Adds up records one by one."""

    def __init__(self) -> None:
        self._asked = 1
        self._kinds: dict[Kind, _Kind] = {}
        self._f1, self._consistency, self._passed = _Figure(), _Figure(), _Figure()

    def add(self, record: Record) -> None:
        """Take one record's verdicts."""
        times = 1
        for judgement in judgements(record):
            verdict = judgement.verdict
            times = max(times, 1 + len(verdict.repeats))
            if verdict.repeats:
                self._kinds.setdefault(judgement.kind, _Kind()).add(record.sample_id, verdict)
        self._asked = max(self._asked, times)
        others = {k: as_repeated(record, k) for k in range(2, times + 1)}
        if record.criterion is not None:
            # One verdict decides: an F1 of 0 or a missing consistency would be a figure of nothing.
            self._passed.add_all(record, others, criterion_value)
            return
        self._f1.add_all(record, others, lambda one: citation_values(one).f1)
        self._consistency.add_all(record, others, consistency_value)

    def figures(self, plan: Plan) -> Repeats | None:
        """The figures so far; None where nothing was asked twice."""
        if self._asked == 1:
            return None
        return Repeats(
            asked=self._asked,
            kinds={kind: self._kinds[kind].figures(plan) for kind in KINDS if kind in self._kinds},
            citation_f1=self._f1.by_repeat(self._asked),
            consistency=self._consistency.by_repeat(self._asked),
            passed=self._passed.by_repeat(self._asked) if self._passed.n else (),
        )


def _kth(verdict: VerdictRow, k: int) -> VerdictRow:
    label = labels_of(verdict)[k - 1] if 1 < k <= 1 + len(verdict.repeats) else None
    return verdict if label is None else verdict.model_copy(update={"label": label, "failure": None})


@dataclass(slots=True)
class _Kind:
    flipped: Counter[str] = field(default_factory=Counter[str])
    n: Counter[str] = field(default_factory=Counter[str])
    missing: int = 0

    def add(self, question: str, verdict: VerdictRow) -> None:
        self.missing += sum(repeat.label is None for repeat in verdict.repeats)
        if sum(label is not None for label in labels_of(verdict)) > 1:
            self.n[question] += 1
            self.flipped[question] += is_flipped(verdict)

    def figures(self, plan: Plan) -> KindRepeats:
        n, flipped = self.n.total(), self.flipped.total()
        clusters = [Cluster(float(self.flipped[question]), self.n[question]) for question in sorted(self.n)]
        interval = cluster_bootstrap(clusters, plan) if clusters else None
        return KindRepeats(
            judgements=n,
            flipped=flipped,
            rate=flipped / n if n else None,
            interval=(interval.low, interval.high) if interval else None,
            missing=self.missing,
        )


@dataclass(slots=True)
class _Figure:
    """The sum of one metric, and what each repeat adds to it."""

    total: Fraction = Fraction(0)
    n: int = 0
    differences: dict[int, Fraction] = field(default_factory=dict[int, Fraction])

    def add_all(self, record: Record, others: Mapping[int, Record], value: Callable[[Record], Value]) -> None:
        """Take a record, and what it would be by each further repeat."""
        first = value(record)
        if not isinstance(first, Counted):
            return
        self.total += first.value
        self.n += 1
        for k, repeated in others.items():
            # What is left out is left out for its outcome, whatever the judge said.
            other = value(repeated)
            if isinstance(other, Counted):
                self.differences[k] = self.differences.get(k, Fraction(0)) + other.value - first.value

    def by_repeat(self, asked: int) -> tuple[float | None, ...]:
        if not self.n:
            return (None,) * asked
        return tuple(float((self.total + self.differences.get(k, 0)) / self.n) for k in range(1, asked + 1))
