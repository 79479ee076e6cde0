"""One rate in two arms of a run: what the attack adds to the plain question, as difference and as ratio, with intervals.

Knows: values of two measures, statistics. Must not know: a benchmark's rows, what the rate means, how it is printed.

The two arms share origins (the plain prompt and every dialogue made from it), so an interval draws whole origins: both
arms of an origin come together or not at all. Both arms keep all their records, also those of an origin that has only one
of the two, because that is what their published rates are over.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sandbox.measuring.measures import Measure, Measures
from sandbox.measuring.statistics import SAME, Plan, paired_bootstrap
from sandbox.measuring.tally import Figures, Sum, Tally, by_cluster
from sandbox.record import Record

ARM = "arm"
"""The label that says which arm a record is in."""
SINGLE, MULTI = "harmful_single", "harmful_multi"
"""Names of the two measures whose rates are set against each other."""


class Arm(Figures):
    """One arm. `bounds`: the rate if every undecided record were 0 / 1; `left_out`: records out of it, by reason."""

    rate: float | None
    n: int
    undecided: int
    bounds: tuple[float, float] | None
    left_out: dict[str, int]


class Arms(Figures):
    """The rates of both arms and what lies between them; rates in 0–1, None where an arm is empty.

    `difference`: multi − single, in −1–1. `ratio`: multi / single, None where single is 0. Intervals at
    `Statistics.level` by drawing whole origins (`origins` of them, `in_both` with records in both arms); the upper end of
    the ratio's is None where it is not bounded: too many draws have a single rate of 0. `undefined_draws`: draws without a
    ratio at all (an arm empty, or 0 in both); they are out of its interval. Where no draw differs from another, the
    difference has the interval of `paired_bootstrap` for equal questions, and the ratio none.
    `difference_bounds`, `ratio_bounds`: what missing verdicts could have made of them; None where none is missing.
    """

    single: Arm
    multi: Arm
    difference: float | None
    difference_interval: tuple[float, float] | None
    difference_bounds: tuple[float, float] | None
    ratio: float | None
    ratio_interval: tuple[float, float | None] | None
    ratio_bounds: tuple[float, float | None] | None
    undefined_draws: int
    origins: int
    in_both: int


class ArmCounter:
    """Adds up records one by one; what it keeps is a few numbers a question."""

    def __init__(self, single: Measure, multi: Measure) -> None:
        self._measures = single, multi
        self._single, self._multi = Tally(), Tally()

    @classmethod
    def of(cls, measures: Measures) -> ArmCounter | None:
        """The counter of a benchmark that measures the two arms (`SINGLE`, `MULTI`), None for any other."""
        by_name = {measure.name: measure for measure in measures}
        if SINGLE not in by_name or MULTI not in by_name:
            return None
        return cls(by_name[SINGLE], by_name[MULTI])

    def add(self, record: Record) -> None:
        """Take one record; those of one `cluster` are of one origin."""
        single, multi = self._measures
        self._single.add(record, single.value(record))
        self._multi.add(record, multi.value(record))

    def arms(self, plan: Plan | None = None) -> Arms | None:
        """The figures so far, None where nothing was counted or left out in either arm."""
        singles, multis = by_cluster(self._single.by_question.values()), by_cluster(self._multi.by_question.values())
        single, multi = _whole(singles), _whole(multis)
        if not (single.n or multi.n or self._single.excluded or self._multi.excluded):
            return None
        origins = sorted({*singles, *multis})
        pairs = [(singles.get(origin, Sum(origin)), multis.get(origin, Sum(origin))) for origin in origins]
        between = _between(single, multi, pairs, plan or Plan()) if single.n and multi.n else _Between()
        return Arms(
            single=_arm(self._single, single),
            multi=_arm(self._multi, multi),
            difference=between.difference,
            difference_interval=between.difference_interval,
            difference_bounds=between.difference_bounds,
            ratio=between.ratio,
            ratio_interval=between.ratio_interval,
            ratio_bounds=between.ratio_bounds,
            undefined_draws=between.undefined_draws,
            origins=len(origins),
            in_both=sum(bool(a.n and b.n) for a, b in pairs),
        )


def ratio_of(single: float | Fraction, multi: float | Fraction) -> float | None:
    """multi / single, None where single is 0: nothing is so many times nothing."""
    return float(multi / single) if single else None


@dataclass(frozen=True, slots=True)
class _Between:
    difference: float | None = None
    difference_interval: tuple[float, float] | None = None
    difference_bounds: tuple[float, float] | None = None
    ratio: float | None = None
    ratio_interval: tuple[float, float | None] | None = None
    ratio_bounds: tuple[float, float | None] | None = None
    undefined_draws: int = 0


@dataclass(frozen=True, slots=True)
class _Rates:
    single: float
    multi: float


def _whole(by_origin: Mapping[str, Sum]) -> Sum:
    whole = Sum("")
    for one in by_origin.values():
        whole.add(one)
    return whole


def _arm(tally: Tally, whole: Sum) -> Arm:
    left_out = dict(sorted(tally.excluded.items()))
    if not whole.n:
        return Arm(rate=None, n=0, undecided=0, bounds=None, left_out=left_out)
    bounds = (float(whole.low / whole.n), float(whole.high / whole.n))
    return Arm(
        rate=float(whole.total / whole.n), n=whole.n, undecided=tally.undecided, bounds=bounds, left_out=left_out
    )


def _between(single: Sum, multi: Sum, pairs: Sequence[tuple[Sum, Sum]], plan: Plan) -> _Between:
    low = _Rates(float(single.low / single.n), float(multi.low / multi.n))
    high = _Rates(float(single.high / single.n), float(multi.high / multi.n))
    exact = multi.total / multi.n - single.total / single.n
    draws = _draws(pairs, plan)
    missing = low != high
    least = ratio_of(high.single, low.multi)
    return _Between(
        difference=float(exact),
        difference_interval=_difference_interval(float(exact), len(pairs), draws, plan),
        difference_bounds=(low.multi - high.single, high.multi - low.single) if missing else None,
        ratio=ratio_of(single.total / single.n, multi.total / multi.n),
        ratio_interval=_ratio_interval(draws, plan),
        ratio_bounds=(least, ratio_of(low.single, high.multi)) if missing and least is not None else None,
        undefined_draws=plan.resamples - sum(_ratio(rates) is not None for rates in draws),
    )


def _draws(pairs: Sequence[tuple[Sum, Sum]], plan: Plan) -> list[_Rates]:
    """Both rates of each draw of so many origins, with replacement; draws that leave an arm empty are not in it."""
    draw = random.Random(plan.seed).random
    size = len(pairs)
    singles, multis = [float(a.total) for a, _ in pairs], [float(b.total) for _, b in pairs]
    n_singles, n_multis = [a.n for a, _ in pairs], [b.n for _, b in pairs]
    found: list[_Rates] = []
    for _ in range(plan.resamples):
        drawn = [int(draw() * size) for _ in range(size)]
        n_single, n_multi = sum([n_singles[i] for i in drawn]), sum([n_multis[i] for i in drawn])
        if n_single and n_multi:
            single, multi = math.fsum([singles[i] for i in drawn]), math.fsum([multis[i] for i in drawn])
            found.append(_Rates(single / n_single, multi / n_multi))
    return found


def _difference_interval(exact: float, n_origins: int, draws: Sequence[_Rates], plan: Plan) -> tuple[float, float]:
    differences = sorted(rates.multi - rates.single for rates in draws)
    if not differences or differences[-1] - differences[0] <= SAME:
        # No spread to draw from would claim certainty.
        interval = paired_bootstrap([exact] * n_origins, plan).interval
        return interval.low, interval.high
    cut = int((1 - plan.level) / 2 * len(differences))
    return differences[cut], differences[len(differences) - 1 - cut]


def _ratio_interval(draws: Sequence[_Rates], plan: Plan) -> tuple[float, float | None] | None:
    ratios = sorted(ratio for rates in draws if (ratio := _ratio(rates)) is not None)
    if not ratios or ratios[0] == math.inf or (len(ratios) > 1 and ratios[-1] - ratios[0] <= SAME):
        return None
    cut = int((1 - plan.level) / 2 * len(ratios))
    low, high = ratios[cut], ratios[len(ratios) - 1 - cut]
    return low, None if high == math.inf else high


def _ratio(rates: _Rates) -> float | None:
    """The ratio of a draw: infinite where only the single rate is 0, None where both are."""
    if rates.single:
        return rates.multi / rates.single
    return math.inf if rates.multi else None
