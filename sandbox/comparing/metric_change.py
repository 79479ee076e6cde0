"""One metric over the questions of two runs: both values, the difference, its interval and test, what was left out.

Knows: paired questions, statistics. Must not know: other metrics, task types, how a comparison is printed.

Every difference is B − A in 0–1 units, over the questions that count in both runs. Where a measure is the mean of its task
types, so is the difference. Samples of one origin are drawn together.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import stdev
from typing import Literal

from sandbox.comparing.pairing import Mean, Pair, left_out, mean, one_session_each
from sandbox.measuring.measures import Measure
from sandbox.measuring.statistics import (
    Cluster,
    Interval,
    Method,
    Plan,
    detectable_means,
    detectable_rates,
    mcnemar_exact,
    paired_change,
    questions_for_means,
    questions_for_rates,
    tango,
)
from sandbox.measuring.tally import Figures

Test = Literal["mcnemar-exact", "paired-bootstrap"]
TARGET = 0.02
"""The difference that the power line asks about: two points."""


class Difference(Figures):
    """A metric over the questions that count in both runs; all None where there are none."""

    a: float | None
    b: float | None
    difference: float | None
    interval: tuple[float, float] | None
    method: Method | None
    pairs: int


class AsZero(Figures):
    """The same with sessions that were left out for their outcome counted as 0, in both runs."""

    a: float
    b: float
    difference: float
    pairs: int


class LeftOutOf(Figures):
    """Sessions of the common questions that the metric leaves out, by reason."""

    a: dict[str, int]
    b: dict[str, int]


class Strength(Figures):
    """What so many questions can show, at the level of the interval and 80 % power, with the spread seen here."""

    detectable: float
    questions_for_target: int


class MetricChange(Difference):
    """A tested metric. `higher_in_a` and `higher_in_b` are the discordant questions (for rates: right in one run only).

    `p`: two-sided, `p_holm`: adjusted for all metrics of this comparison. `bounds`: the least and greatest difference
    that missing verdicts could have made; None where none is missing. `left_out_as_zero`: None where nothing is left
    out for its outcome. `strength`: None where fewer than two questions or no spread at all say nothing of it.
    """

    test: Test | None
    p: float | None
    p_holm: float | None
    higher_in_a: int
    higher_in_b: int
    equal: int
    bounds: tuple[float, float] | None
    left_out: LeftOutOf
    left_out_as_zero: AsZero | None
    strength: Strength | None


@dataclass(frozen=True, slots=True)
class Both:
    """One metric of one question in both runs. `stratum`: its task type, where the types weigh the same; `cluster`: its
    origin.
    """

    a: Mean
    b: Mean
    stratum: str
    cluster: str

    @property
    def difference(self) -> Fraction:
        """B − A."""
        return self.b.value - self.a.value


def metric_change(pairs: Sequence[Pair], metric: Measure, plan: Plan) -> MetricChange:
    """The metric with everything that is said of it; `p_holm` still None, since it needs the other metrics."""
    values = both_values(pairs, metric)
    binary = _is_binary(metric, pairs)
    tested = _test(values, plan, binary=binary) if values else None
    lower, higher = _n_lower(values), _n_higher(values)
    return MetricChange(
        a=_mean(values, lambda value: value.a.value),
        b=_mean(values, lambda value: value.b.value),
        difference=_mean(values, lambda value: value.difference),
        interval=tested.ends if tested else None,
        method=tested.interval.method if tested else None,
        pairs=len(values),
        test=tested.test if tested else None,
        p=tested.p if tested else None,
        p_holm=None,
        higher_in_a=lower,
        higher_in_b=higher,
        equal=len(values) - lower - higher,
        bounds=_bounds(values),
        left_out=LeftOutOf(a=left_out((p.a for p in pairs), metric), b=left_out((p.b for p in pairs), metric)),
        left_out_as_zero=_as_zero(values, both_values(pairs, metric, left_out_as_zero=True)),
        strength=_strength(values, plan, binary=binary),
    )


def metric_difference(pairs: Sequence[Pair], metric: Measure, plan: Plan) -> Difference:
    """The metric with its interval, untested."""
    values = both_values(pairs, metric)
    tested = _test(values, plan, binary=_is_binary(metric, pairs)) if values else None
    return Difference(
        a=_mean(values, lambda value: value.a.value),
        b=_mean(values, lambda value: value.b.value),
        difference=_mean(values, lambda value: value.difference),
        interval=tested.ends if tested else None,
        method=tested.interval.method if tested else None,
        pairs=len(values),
    )


def both_values(pairs: Sequence[Pair], metric: Measure, *, left_out_as_zero: bool = False) -> list[Both]:
    """The metric of each question that counts in both runs (`left_out_as_zero`: see `pairing.mean`)."""
    found: list[Both] = []
    for pair in pairs:
        a = mean(pair.a, metric, left_out_as_zero=left_out_as_zero)
        b = mean(pair.b, metric, left_out_as_zero=left_out_as_zero)
        if a is not None and b is not None:
            stratum = pair.a.task_type or "" if metric.average == "types" else ""
            found.append(Both(a, b, stratum, pair.a.cluster))
    return found


def shares(group: Sequence[Both], whole: Sequence[Both]) -> float:
    """What the questions of `group` give to the difference over `whole`: the shares of its parts add up to it."""
    sizes = Counter(value.stratum for value in whole)
    return math.fsum(float(value.difference) / sizes[value.stratum] for value in group) / len(sizes)


def _is_binary(metric: Measure, pairs: Sequence[Pair]) -> bool:
    """Whether every question is simply right or wrong in each run, and an independent draw."""
    if not metric.rate or metric.average == "types" or len({pair.a.cluster for pair in pairs}) < len(pairs):
        return False
    return metric.fold != "mean" or one_session_each(pairs)


@dataclass(frozen=True, slots=True)
class _Tested:
    interval: Interval
    p: float
    test: Test

    @property
    def ends(self) -> tuple[float, float]:
        return self.interval.low, self.interval.high


def _test(values: Sequence[Both], plan: Plan, *, binary: bool) -> _Tested:
    """McNemar and Tango where every question is right or wrong once in each run, else the bootstrap by question."""
    if binary:
        lower, higher = _n_lower(values), _n_higher(values)
        interval = tango(lower, higher, len(values), plan.level)
        return _Tested(interval, mcnemar_exact(lower, higher), "mcnemar-exact")
    change = paired_change([_clusters(stratum) for stratum in _strata(values)], plan)
    return _Tested(change.interval, change.p, "paired-bootstrap")


def _strata(values: Sequence[Both]) -> list[list[Both]]:
    found: dict[str, list[Both]] = {}
    for value in values:
        found.setdefault(value.stratum, []).append(value)
    return list(found.values())


def _clusters(values: Sequence[Both]) -> list[Cluster]:
    found: dict[str, list[Both]] = {}
    for value in values:
        found.setdefault(value.cluster, []).append(value)
    return [
        Cluster(float(sum((value.difference for value in same), Fraction(0))), len(same)) for same in found.values()
    ]


def _n_lower(values: Sequence[Both]) -> int:
    return sum(value.difference < 0 for value in values)


def _n_higher(values: Sequence[Both]) -> int:
    return sum(value.difference > 0 for value in values)


def _mean(values: Sequence[Both], of: Callable[[Both], Fraction]) -> float | None:
    strata = _strata(values)
    means = [sum(map(of, stratum), Fraction(0)) / len(stratum) for stratum in strata]
    return float(sum(means, Fraction(0)) / len(means)) if means else None


def _bounds(values: Sequence[Both]) -> tuple[float, float] | None:
    if all(side.low == side.high for value in values for side in (value.a, value.b)):
        return None
    low = _mean(values, lambda value: value.b.low - value.a.high)
    high = _mean(values, lambda value: value.b.high - value.a.low)
    return None if low is None or high is None else (low, high)


def _as_zero(counted: Sequence[Both], with_zeros: Sequence[Both]) -> AsZero | None:
    if with_zeros == counted:
        return None
    a, b = _mean(with_zeros, lambda value: value.a.value), _mean(with_zeros, lambda value: value.b.value)
    difference = _mean(with_zeros, lambda value: value.difference)
    if a is None or b is None or difference is None:
        return None
    return AsZero(a=a, b=b, difference=difference, pairs=len(with_zeros))


def _strength(values: Sequence[Both], plan: Plan, *, binary: bool) -> Strength | None:
    differences = [float(value.difference) for value in values]
    n = len(differences)
    # The power formulas are about independent questions that all weigh the same.
    if len(_strata(values)) > 1 or len({value.cluster for value in values}) < n:
        return None
    if n < 2 or max(differences) == min(differences):
        return None
    if binary:
        discordant = math.fsum(map(abs, differences)) / n
        return Strength(
            detectable=detectable_rates(discordant, n, plan.level),
            questions_for_target=questions_for_rates(discordant, TARGET, plan.level),
        )
    sd = stdev(differences)
    return Strength(
        detectable=min(1.0, detectable_means(sd, n, plan.level)),
        questions_for_target=questions_for_means(sd, TARGET, plan.level),
    )
