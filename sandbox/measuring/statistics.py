"""How sure a figure is, and how sure a difference: intervals, paired tests, power, repeated attempts.

Knows: numbers. Must not know: records, metrics, what a question is about.

One run: `wilson` for rates, `cluster_bootstrap` for means and repeated runs, `stratified_bootstrap` for means of groups.
Two runs on the same questions: `mcnemar_exact` and `tango` for rates, `paired_bootstrap` for means, `holm` where several
metrics are tested at once, `questions_for_…` and `detectable_…` for what a number of questions can show. Many attempts
at one item: `pass_at_k`, `pass_power_k`.

Everything here gives the same bits on every platform and Python version: sums are exact (`math.fsum`) and the only
randomness is `random.Random(seed).random()`, the one sequence that Python promises never to change.
"""

from __future__ import annotations

import math
import random
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Literal

Method = Literal["wilson", "cluster-bootstrap", "stratified-bootstrap", "tango", "paired-bootstrap"]
POWER = 0.8
"""Chance of showing a difference that is there: the usual convention (Cohen 1988)."""
KEPT_DRAWS = 4_000_000
"""At most so many places of one set of draws are kept (8 MB); larger ones are drawn anew for each figure."""
SAME = 1e-12
"""Means nearer to 0, or to each other, than this are the same: what is left between them is rounding."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How intervals are made; stored with the summary, so that anybody can make them again."""

    level: float = 0.95
    resamples: int = 2_000
    seed: int = 20_260_101


@dataclass(frozen=True, slots=True)
class Cluster:
    """All records of one question: the sum of their values (each in 0–1) and how many they are (≥ 1)."""

    total: float
    n: int


@dataclass(frozen=True, slots=True)
class Interval:
    """A two-sided confidence interval of a mean in 0–1 or of a difference in −1–1, and how it was made."""

    low: float
    high: float
    method: Method


@dataclass(frozen=True, slots=True)
class Change:
    """The mean difference of paired questions (−1–1) with its interval, and the two-sided p of "there is none"."""

    difference: float
    interval: Interval
    p: float


def wilson(successes: float, n: int, level: float = 0.95) -> Interval:
    """The Wilson score interval of a rate, without continuity correction, within 0–1.

    `successes` may be a fraction: the interval is then the widest that values in 0–1 of that mean could need.
    Raises ValueError for n < 1 or successes outside 0–n. Source: Wilson 1927 (doi 10.1080/01621459.1927.10502953).
    """
    if n < 1 or not 0 <= successes <= n:
        raise ValueError(f"{successes} successes in {n} trials is no rate")
    z = NormalDist().inv_cdf(0.5 + level / 2)
    rate = successes / n
    spread = z * z / n
    centre = rate + spread / 2
    reach = z * math.sqrt(rate * (1 - rate) / n + spread / (4 * n))
    # At the ends the formula is exactly 0 or 1; floating point is not.
    low = 0.0 if successes == 0 else max(0.0, (centre - reach) / (1 + spread))
    high = 1.0 if successes == n else min(1.0, (centre + reach) / (1 + spread))
    return Interval(low, high, "wilson")


def cluster_bootstrap(clusters: Sequence[Cluster], plan: Plan) -> Interval:
    """The percentile interval of (sum of totals) / (sum of n) when whole questions are drawn again, with replacement.

    Answers to one question are not independent, so the question is what is drawn; at three runs a question, intervals
    that ignore this are about 40 % too narrow. Where all questions have the same mean, resampling cannot show any
    spread and would claim certainty: then the Wilson interval over the questions is given instead, which is wider
    than any set of values in 0–1 with that mean could need. Raises ValueError without clusters.
    """
    if not clusters:
        raise ValueError("no questions to draw from")
    if _all_equal(clusters):
        mean = min(1.0, max(0.0, clusters[0].total / clusters[0].n))
        return wilson(mean * len(clusters), len(clusters), plan.level)
    means = sorted(_resampled_means(clusters, plan, plan.seed))
    cut = int((1 - plan.level) / 2 * len(means))
    return Interval(means[cut], means[len(means) - 1 - cut], "cluster-bootstrap")


def stratified_bootstrap(strata: Sequence[Sequence[Cluster]], plan: Plan) -> Interval:
    """The percentile interval of the unweighted mean of the strata's means; questions are drawn within each stratum.

    Where no stratum shows any spread: the Wilson interval over all questions, as in `cluster_bootstrap`.
    Raises ValueError for no or an empty stratum.
    """
    if not strata or not all(strata):
        raise ValueError("no questions to draw from")
    if all(map(_all_equal, strata)):
        mean = math.fsum(stratum[0].total / stratum[0].n for stratum in strata) / len(strata)
        size = sum(map(len, strata))
        return wilson(min(1.0, max(0.0, mean)) * size, size, plan.level)
    means = _means_of_strata(strata, plan)
    cut = int((1 - plan.level) / 2 * len(means))
    return Interval(means[cut], means[len(means) - 1 - cut], "stratified-bootstrap")


def mcnemar_exact(only_a: int, only_b: int) -> float:
    """The two-sided p of equal rates on paired yes/no results: 2 · P(X ≤ min), X ~ Binomial(only_a + only_b, ½), ≤ 1.

    `only_a` and `only_b` count the discordant questions: right in one run only. Those that both got right or wrong say
    nothing. 1 where no question is discordant. Exact for any count. Raises ValueError for a negative count.
    Source: McNemar 1947 (doi 10.1007/BF02295996), exact form as in Fagerland, Lydersen, Laake 2013
    (doi 10.1186/1471-2288-13-91).
    """
    if only_a < 0 or only_b < 0:
        raise ValueError(f"{only_a} and {only_b} are no counts of discordant questions")
    n = only_a + only_b
    ways = tail = 1
    for i in range(1, min(only_a, only_b) + 1):
        ways = ways * (n - i + 1) // i
        tail += ways
    return min(1.0, 2 * tail / (1 << n))


def tango(only_a: int, only_b: int, n: int, level: float = 0.95) -> Interval:
    """The score interval of (only_b − only_a) / n, the difference B − A of two rates on the same `n` questions.

    All differences that the score test does not refuse; within −1–1, and honest where no question is discordant
    (±z² / (n + z²)), where Wald and bootstrap intervals shrink to a point. Raises ValueError where the counts do not
    fit `n` ≥ 1. Source: Tango 1998 (doi 10.1002/(SICI)1097-0258(19980430)17:8<891::AID-SIM780>3.0.CO;2-B).
    """
    if n < 1 or only_a < 0 or only_b < 0 or only_a + only_b > n:
        raise ValueError(f"{only_a} and {only_b} discordant questions do not fit {n}")
    z = NormalDist().inv_cdf(0.5 + level / 2)
    seen = (only_b - only_a) / n

    def refused(difference: float) -> bool:
        # q: the likeliest rate of "only A" if this were the true difference; the larger root of A q² + B q + C.
        half_b = (-only_b - only_a + (2 * n - only_b + only_a) * difference) / 2
        c = -only_a * difference * (1 - difference)
        root = math.sqrt(max(0.0, half_b * half_b - 2 * n * c))
        # Of the two ways to write that root the one that does not subtract nearly equal numbers.
        q = (root - half_b) / (2 * n) if half_b <= 0 else -c / (half_b + root)
        variance = n * (2 * q + difference * (1 - difference))
        return (only_b - only_a - n * difference) ** 2 > z * z * variance

    return Interval(_edge(refused, seen, -1.0), _edge(refused, seen, 1.0), "tango")


def paired_bootstrap(differences: Sequence[float], plan: Plan) -> Change:
    """The mean of `differences` (B − A, one a question, each in −1–1) when questions are drawn again, with replacement.

    Percentile interval; p = 2 · (1 + draws on the rarer side of 0, 0 included) / (1 + draws), at most 1, so that it
    agrees with the interval. Few questions resample to false certainty: p is never less than 2^(1 − m), with m
    questions that differ at all, the least that any test by signs could give. Where all differences are equal there is
    no spread to resample: of n equal questions at most a share z² / (n + z²) (Wilson) may be otherwise, and the interval
    is what that share could make of the mean. Raises ValueError without differences.
    Source: Efron and Tibshirani 1993, ch. 13 and 15; Koehn 2004 (W04-3250) for paired test sets.
    """
    return paired_change([[Cluster(difference, 1) for difference in differences]], plan)


def paired_change(strata: Sequence[Sequence[Cluster]], plan: Plan) -> Change:
    """`paired_bootstrap` where questions come in groups: the unweighted mean of the strata's mean differences.

    A cluster is what is drawn as a whole (the sum of its questions' differences, and how many they are), each within its
    stratum. Raises ValueError for no or an empty stratum.
    """
    if not strata or not all(strata):
        raise ValueError("no questions to draw from")
    clusters = [cluster for stratum in strata for cluster in stratum]
    each = [cluster.total / cluster.n for cluster in clusters]
    mean = math.fsum(_mean_of(stratum) for stratum in strata) / len(strata)
    n_differing = sum(abs(difference) > SAME for difference in each)
    least_p = min(1.0, 2.0 ** (1 - min(n_differing, 1_000)))
    if max(each) - min(each) <= SAME:
        rest = wilson(0, len(clusters), plan.level).high
        return Change(mean, Interval(mean - rest * (mean + 1), mean + rest * (1 - mean), "wilson"), least_p)
    means = _means_of_strata(strata, plan)
    cut = int((1 - plan.level) / 2 * len(means))
    rarer = min(bisect_right(means, SAME), len(means) - bisect_left(means, -SAME))
    p = min(1.0, max(least_p, 2 * (1 + rarer) / (1 + len(means))))
    return Change(mean, Interval(means[cut], means[len(means) - 1 - cut], "paired-bootstrap"), p)


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values, in the same order, adjusted for being tested together: max over smaller ones of (m − rank) · p, ≤ 1.

    What stays below α is significant with a chance of at most α for any false finding among them, whatever the tests
    have to do with one another. Empty in, empty out. Source: Holm 1979 (jstor 4615733).
    """
    adjusted = [1.0] * len(p_values)
    floor = 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        floor = max(floor, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = floor
    return adjusted


def questions_for_rates(discordant: float, difference: float, level: float = 0.95, power: float = POWER) -> int:
    """How many paired questions show a `difference` of two rates (0–1) where a share `discordant` (0–1) is discordant.

    n = (z₁ √ψ + z₂ √(ψ − δ²))² / δ², z₁ for the two-sided level, z₂ for the power; ψ is at least δ (fewer discordant
    questions could not make that difference). Normal approximation: exact tests need a few per cent more. Raises
    ValueError unless 0 < δ ≤ 1 and 0 ≤ ψ ≤ 1. Source: Connett, Smith, McHugh 1987 (doi 10.1002/sim.4780060506).
    """
    if not 0 < difference <= 1 or not 0 <= discordant <= 1:
        raise ValueError(f"a difference of {difference} at {discordant} discordant is none of two rates")
    z_level, z_power = _z(level, power)
    spread = max(discordant, difference)
    root = z_level * math.sqrt(spread) + z_power * math.sqrt(spread - difference * difference)
    return math.ceil((root / difference) ** 2)


def questions_for_means(sd: float, difference: float, level: float = 0.95, power: float = POWER) -> int:
    """How many paired questions show a mean `difference` (> 0) where the questions' differences have the spread `sd`.

    n = ((z₁ + z₂) · sd / δ)², at least 1; normal approximation. Raises ValueError unless δ > 0 and sd ≥ 0.
    """
    if difference <= 0 or sd < 0:
        raise ValueError(f"no number of questions shows a difference of {difference} at a spread of {sd}")
    return max(1, math.ceil((sum(_z(level, power)) * sd / difference) ** 2))


def detectable_rates(discordant: float, n: int, level: float = 0.95, power: float = POWER) -> float:
    """The least difference of two rates that `n` (≥ 1) paired questions show: `questions_for_rates` read backwards."""
    return _edge(lambda difference: questions_for_rates(discordant, difference, level, power) <= n, 1e-9, 1.0)


def detectable_means(sd: float, n: int, level: float = 0.95, power: float = POWER) -> float:
    """The least mean difference that `n` (≥ 1) paired questions show: (z₁ + z₂) · sd / √n."""
    return sum(_z(level, power)) * sd / math.sqrt(n)


def pass_at_k(n: int, passed: int, k: int) -> Fraction:
    """The chance that at least one of `k` attempts passes, from `n` attempts of which `passed` did: 1 − C(n−c, k)/C(n, k).

    Exact and without bias. Raises ValueError for k > n: what was not tried cannot be said.
    Source: Chen et al. 2021 (arXiv 2107.03374), eq. 1.
    """
    _check_attempts(n, passed, k)
    return 1 - Fraction(math.comb(n - passed, k), math.comb(n, k))


def pass_power_k(n: int, passed: int, k: int) -> Fraction:
    """The chance that all of `k` attempts pass (pass^k), from `n` attempts of which `passed` did: C(c, k)/C(n, k).

    Raises ValueError for k > n. Source: Yao et al. 2024, τ-bench (arXiv 2406.12045), section 5.
    """
    _check_attempts(n, passed, k)
    return Fraction(math.comb(passed, k), math.comb(n, k))


def _check_attempts(n: int, passed: int, k: int) -> None:
    if not 1 <= k <= n:
        raise ValueError(f"k = {k} of {n} attempts: k must be 1 to {n}")
    if not 0 <= passed <= n:
        raise ValueError(f"{passed} of {n} attempts cannot have passed")


def _z(level: float, power: float) -> tuple[float, float]:
    return NormalDist().inv_cdf(0.5 + level / 2), NormalDist().inv_cdf(power)


def _edge(outside: Callable[[float], bool], inner: float, outer: float) -> float:
    """Where `outside` turns true on the way from `inner` (where it is not) to `outer`; `outer` where it never does."""
    if not outside(outer):
        return outer
    for _ in range(60):
        middle = (inner + outer) / 2
        if outside(middle):
            outer = middle
        else:
            inner = middle
    return inner


def _all_equal(clusters: Sequence[Cluster]) -> bool:
    """Whether all clusters have the same mean, but for rounding."""
    means = [cluster.total / cluster.n for cluster in clusters]
    return max(means) - min(means) <= SAME


def _mean_of(clusters: Sequence[Cluster]) -> float:
    return math.fsum(cluster.total for cluster in clusters) / sum(cluster.n for cluster in clusters)


def _means_of_strata(strata: Sequence[Sequence[Cluster]], plan: Plan) -> list[float]:
    """The mean of the strata's means in each draw, ascending."""
    # Another seed for each stratum: with one, the first questions of all would be drawn together.
    drawn = [_resampled_means(stratum, plan, plan.seed + i) for i, stratum in enumerate(strata)]
    return sorted(math.fsum(one) / len(strata) for one in zip(*drawn, strict=True))


def _resampled_means(clusters: Sequence[Cluster], plan: Plan, seed: int) -> list[float]:
    size = len(clusters)
    total = [cluster.total for cluster in clusters].__getitem__
    counts = [cluster.n for cluster in clusters]
    draws = _draws(size, plan.resamples, seed)
    if len(set(counts)) == 1:
        # One record a question, or complete repeats: no need to add up the counts.
        n = size * counts[0]
        return [math.fsum(map(total, drawn)) / n for drawn in draws]
    return [math.fsum(map(total, drawn)) / sum(map(counts.__getitem__, drawn)) for drawn in draws]


def _draws(size: int, resamples: int, seed: int) -> Iterable[Sequence[int]]:
    """`resamples` times `size` places in 0 to size − 1. The measures of a run, and its groups of one size, share them: to
    draw is most of the work.
    """
    return _kept_draws(size, resamples, seed) if size * resamples <= KEPT_DRAWS else _drawn(size, resamples, seed)


@lru_cache(maxsize=4)
def _kept_draws(size: int, resamples: int, seed: int) -> tuple[Sequence[int], ...]:
    code = "H" if size <= 65_536 else "L"
    return tuple(array(code, drawn) for drawn in _drawn(size, resamples, seed))


def _drawn(size: int, resamples: int, seed: int) -> Iterator[list[int]]:
    draw = random.Random(seed).random
    return ([int(draw() * size) for _ in range(size)] for _ in range(resamples))
