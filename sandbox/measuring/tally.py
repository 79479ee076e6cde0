"""From values to figures: what the records of a run, or of one part of it, add up to, measure by measure.

Knows: values, measures, statistics. Must not know: what a measure means, files, how a figure is printed.

Of each record only a few small numbers are kept, so that a run of any size can be added up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import get_args

from pydantic import BaseModel, ConfigDict

from sandbox.measuring.measures import Fold, Measure, Measures
from sandbox.measuring.outcome import LeftOut, Value
from sandbox.measuring.statistics import (
    Cluster,
    Interval,
    Method,
    Plan,
    cluster_bootstrap,
    stratified_bootstrap,
    wilson,
)
from sandbox.record import Outcome, Record

TOO_FEW = "too_few_attempts"


class Figures(BaseModel):
    """Base of what figures are made of: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Metric(Figures):
    """One figure that can be trusted or questioned. Rates in 0–1; `value` None where nothing can be said.

    `n`: records in the denominator (questions, where a measure folds their sessions into one); `excluded`: records left
    out of it, by reason; `undecided`: of the denominator those whose verdict is missing. `bounds`: the value if every
    undecided one were a failure / a success. `interval`: at `Statistics.level`, made by `method`, drawing whole
    questions (`questions` of them; samples of one origin together).
    """

    value: float | None
    n: int
    excluded: dict[str, int]
    interval: tuple[float, float] | None
    bounds: tuple[float, float] | None
    undecided: int = 0
    questions: int = 0
    method: Method | None = None


class NamedMeasure(Figures):
    """What people read of a measure; see `measures.Measure`."""

    name: str
    title: str
    short: str
    rate: bool
    headline: bool
    always: bool
    higher_is_better: bool


def named(measures: Measures) -> tuple[NamedMeasure, ...]:
    """The measures as they are told of in the JSON."""
    return tuple(
        NamedMeasure(
            name=one.name,
            title=one.title,
            short=one.short,
            rate=one.rate,
            headline=one.headline,
            always=one.always,
            higher_is_better=one.higher_is_better,
        )
        for one in measures
    )


@dataclass(slots=True)
class Sum:
    """Values that count, added up, with the bounds of the undecided ones: of a question's sessions, or of a cluster."""

    cluster: str
    total: Fraction = Fraction(0)
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(0)
    n: int = 0

    def add(self, other: Sum) -> None:
        """Take the values of another sum."""
        self.total += other.total
        self.low += other.low
        self.high += other.high
        self.n += other.n


@dataclass(slots=True)
class Tally:
    """One measure's running sums, by question; `undecided` and `excluded` (by reason) are numbers of records."""

    by_question: dict[str, Sum] = field(default_factory=dict[str, Sum])
    undecided: int = 0
    excluded: Counter[str] = field(default_factory=Counter[str])

    def add(self, record: Record, value: Value) -> None:
        """Take what one record gives to the measure."""
        if isinstance(value, LeftOut):
            if value.reason:
                self.excluded[value.reason] += 1
            return
        one = Sum(record.cluster or record.sample_id, value.value, value.low, value.high, n=1)
        # Most questions have one record: to add it to nothing would cost more than all the rest.
        if self.by_question.setdefault(record.sample_id, one) is not one:
            self.by_question[record.sample_id].add(one)
        self.undecided += value.undecided

    def folded(self, measure: Measure) -> list[Sum]:
        """The questions in a fixed order, each as what its sessions make of it; those with too few are not there."""
        sums = [self.by_question[question] for question in sorted(self.by_question)]
        if measure.fold == "mean":
            return sums
        return [_folded(one, measure.fold) for one in sums if one.n >= measure.attempts]

    def left_out(self, measure: Measure) -> dict[str, int]:
        """What does not count, by reason: records, and questions with fewer attempts than the measure is about."""
        found = Counter(self.excluded)
        if measure.fold != "mean":
            found[TOO_FEW] += sum(one.n < measure.attempts for one in self.by_question.values())
        return dict(sorted((+found).items()))


def by_cluster(sums: Iterable[Sum]) -> dict[str, Sum]:
    """What is drawn as a whole, by its name: questions, or all samples of one origin."""
    together: dict[str, Sum] = {}
    for one in sums:
        if one.cluster in together:
            together[one.cluster].add(one)
        else:
            together[one.cluster] = Sum(one.cluster, one.total, one.low, one.high, one.n)
    return together


@dataclass(slots=True)
class Group:
    """Outcomes and measures of all records, or of those of one task type or label."""

    sessions: int = 0
    questions: set[str] = field(default_factory=set[str])
    outcomes: Counter[Outcome] = field(default_factory=Counter[Outcome])
    tallies: dict[str, Tally] = field(default_factory=dict[str, Tally])

    def add(self, record: Record, values: Mapping[str, Value]) -> None:
        """Take one record and what it gives to each measure."""
        self.sessions += 1
        self.questions.add(record.sample_id)
        self.outcomes[record.outcome] += 1
        for name, value in values.items():
            self.tallies.setdefault(name, Tally()).add(record, value)

    def all_outcomes(self) -> dict[Outcome, int]:
        """Every outcome with how many records have it."""
        return {outcome: self.outcomes[outcome] for outcome in get_args(Outcome)}

    def metrics(self, measures: Measures, plan: Plan, types: Iterable[Group] = ()) -> dict[str, Metric]:
        """The figures by name; those averaged over task types only where `types`, the groups by task type, are given."""
        parts = list(types)
        made: dict[str, Metric] = {}
        for measure in measures:
            if measure.average == "types" and not parts:
                continue
            tally = self.tallies.get(measure.name, Tally())
            strata = [tally] if measure.average == "questions" else [_tally(part, measure) for part in parts]
            metric = _metric(tally, [stratum.folded(measure) for stratum in strata], measure, plan)
            if measure.always or metric.n:
                made[measure.name] = metric
        return made

    def ones(self, measure: Measure) -> Mapping[str, tuple[int, int]]:
        """Of each question by id how many of its sessions got 1 in a rate, and how many count."""
        tally = self.tallies.get(measure.name, Tally())
        return {question: (int(one.total), one.n) for question, one in sorted(tally.by_question.items())}

    def n_open(self, measure: Measure) -> int:
        """How many questions have a session that a missing verdict leaves undecided."""
        return sum(one.low != one.high for one in self.tallies.get(measure.name, Tally()).by_question.values())


def _tally(group: Group, measure: Measure) -> Tally:
    return group.tallies.get(measure.name, Tally())


def _folded(one: Sum, fold: Fold) -> Sum:
    """The question as one value: 1 if any (or all) of its sessions have 1."""
    least = Fraction(1 if fold == "any" else one.n)
    return Sum(one.cluster, Fraction(one.total >= least), Fraction(one.low >= least), Fraction(one.high >= least), n=1)


def _metric(tally: Tally, strata: Sequence[Sequence[Sum]], measure: Measure, plan: Plan) -> Metric:
    """One figure from its strata (a single one where every record weighs the same); empty strata say nothing."""
    excluded = tally.left_out(measure)
    counted = [stratum for stratum in strata if stratum]
    if not counted:
        return Metric(value=None, n=0, excluded=excluded, interval=None, bounds=None)
    sums = [one for stratum in counted for one in stratum]
    folded = measure.fold != "mean"
    interval = _interval(counted, measure, plan)
    return Metric(
        value=_mean(counted, lambda one: one.total),
        n=sum(one.n for one in sums),
        excluded=excluded,
        interval=(interval.low, interval.high),
        bounds=(_mean(counted, lambda one: one.low), _mean(counted, lambda one: one.high)),
        undecided=sum(one.low != one.high for one in sums) if folded else tally.undecided,
        questions=len(sums),
        method=interval.method,
    )


def _mean(strata: Sequence[Sequence[Sum]], of: Callable[[Sum], Fraction]) -> float:
    """The unweighted mean of the strata's own means."""
    means = [sum(map(of, stratum), Fraction(0)) / sum(one.n for one in stratum) for stratum in strata]
    return float(sum(means, Fraction(0)) / len(means))


def _interval(strata: Sequence[Sequence[Sum]], measure: Measure, plan: Plan) -> Interval:
    clusters = [[Cluster(float(one.total), one.n) for one in by_cluster(stratum).values()] for stratum in strata]
    if len(strata) > 1 or measure.average == "types":
        return stratified_bootstrap(clusters, plan)
    (sums,) = strata
    alone = len(clusters[0]) == len(sums)
    if measure.rate and alone and all(one.n == 1 for one in sums):
        return wilson(int(sum((one.total for one in sums), Fraction(0))), len(sums), plan.level)
    return cluster_bootstrap(clusters[0], plan)
