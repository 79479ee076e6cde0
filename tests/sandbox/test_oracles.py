"""Our statistics against scipy, statsmodels and krippendorff, which are no dependencies: `uv run --group oracle pytest`."""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import pytest

from sandbox.comparing.agreement import Pair, cohen_kappa, fleiss_kappa, krippendorff_alpha
from sandbox.measuring.statistics import (
    POWER,
    Plan,
    detectable_means,
    holm,
    mcnemar_exact,
    paired_bootstrap,
    questions_for_means,
    questions_for_rates,
    tango,
    wilson,
)

LABELS = ("none", "partial", "full")


def oracle(name: str) -> Any:
    """The module, or a skip that says how to get it. Its own warnings are not ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module: ModuleType = pytest.importorskip(name, reason=f"{name} is in the group 'oracle', not installed here")
    return module


def test_wilson_equals_statsmodels() -> None:
    proportion = oracle("statsmodels.stats.proportion")
    for successes, n in [(41, 69), (545, 571), (0, 50), (50, 50), (1, 1), (7, 12_409)]:
        for level in (0.8, 0.95, 0.99):
            made = wilson(successes, n, level)
            theirs = proportion.proportion_confint(successes, n, alpha=1 - level, method="wilson")
            assert (made.low, made.high) == pytest.approx(theirs, abs=1e-12)


def test_mcnemar_equals_statsmodels_and_the_binomial_of_scipy() -> None:
    tables, stats = oracle("statsmodels.stats.contingency_tables"), oracle("scipy.stats")
    for only_a, only_b in [(10, 3), (60, 38), (0, 6), (5, 5), (1, 0), (300, 251)]:
        p = mcnemar_exact(only_a, only_b)
        assert p == pytest.approx(tables.mcnemar([[100, only_a], [only_b, 50]], exact=True).pvalue, abs=1e-12)
        assert p == pytest.approx(stats.binomtest(only_a, only_a + only_b).pvalue, abs=1e-12)


def test_holm_equals_statsmodels() -> None:
    multitest = oracle("statsmodels.stats.multitest")
    draw = random.Random(5)
    for m in (1, 2, 4, 6):
        p_values = [draw.random() ** 3 for _ in range(m)]
        assert holm(p_values) == pytest.approx(list(multitest.multipletests(p_values, method="holm")[1]), abs=1e-12)


@pytest.mark.parametrize(("only_a", "only_b", "n"), [(3, 10, 100), (38, 60, 571), (0, 4, 30), (12, 0, 40), (1, 1, 2)])
def test_tango_ends_where_the_likelihood_found_by_scipy_refuses(only_a: int, only_b: int, n: int) -> None:
    optimize, stats = oracle("scipy.optimize"), oracle("scipy.stats")
    z = stats.norm.ppf(0.975)

    def score(difference: float) -> float:
        """The score statistic with the nuisance rate found by maximising the trinomial likelihood, not by a formula."""

        def unlikely(q: float) -> float:
            cells = ((only_a, q), (only_b, q + difference), (n - only_a - only_b, 1 - 2 * q - difference))
            return -sum(count * math.log(max(rate, 1e-300)) for count, rate in cells if count)

        least, most = max(0.0, -difference), (1 - difference) / 2
        q = optimize.minimize_scalar(unlikely, bounds=(least, most), method="bounded", options={"xatol": 1e-13}).x
        return float((only_b - only_a - n * difference) / math.sqrt(n * (2 * q + difference * (1 - difference))))

    made = tango(only_a, only_b, n)
    assert [abs(score(end)) for end in (made.low, made.high)] == pytest.approx([z, z], abs=2e-4)


def test_paired_bootstrap_agrees_with_scipy_within_what_drawing_allows() -> None:
    stats = oracle("scipy.stats")
    draw = random.Random(11)
    differences = [draw.choice((0, 0, 0.25, -0.5, 1, -1 / 3)) for _ in range(200)]
    made = paired_bootstrap(differences, Plan(resamples=10_000))
    theirs = stats.bootstrap(
        (differences,), lambda drawn, axis: drawn.mean(axis=axis), n_resamples=10_000, method="percentile", rng=1
    ).confidence_interval
    assert (made.interval.low, made.interval.high) == pytest.approx((theirs.low, theirs.high), abs=0.004)
    assert made.p == pytest.approx(stats.ttest_1samp(differences, 0).pvalue, abs=0.02)


def test_questions_for_means_equal_the_normal_power_of_statsmodels() -> None:
    power = oracle("statsmodels.stats.power").NormalIndPower(ddof=0)
    for sd, difference in [(0.4, 0.02), (0.25, 0.05), (0.5, 0.05)]:
        n = questions_for_means(sd, difference)
        theirs = power.solve_power(effect_size=difference / sd, alpha=0.05, power=POWER, ratio=0)
        assert n == math.ceil(theirs - 1e-6)
        assert detectable_means(sd, n) == pytest.approx(difference, rel=5e-3)


@pytest.mark.parametrize(("discordant", "difference"), [(0.17, 0.05), (0.3, 0.1), (0.12, 0.04)])
def test_questions_for_rates_have_the_power_that_they_promise(discordant: float, difference: float) -> None:
    stats = oracle("scipy.stats")
    n = questions_for_rates(discordant, difference)
    z = stats.norm.ppf(0.975)
    share = (discordant + difference) / 2 / discordant
    shown = 0.0
    for n_discordant in range(1, n + 1):
        # McNemar's test (not the exact one) refuses where |2 b − m| > z √m; its power is summed over all outcomes.
        reach = z * math.sqrt(n_discordant)
        most = math.ceil((n_discordant - reach) / 2) - 1
        least = math.floor((n_discordant + reach) / 2) + 1
        found = stats.binom.cdf(most, n_discordant, share) + stats.binom.sf(least - 1, n_discordant, share)
        shown += stats.binom.pmf(n_discordant, n, discordant) * found
    assert shown == pytest.approx(POWER, abs=0.03)


def test_cohen_equals_statsmodels() -> None:
    rater = oracle("statsmodels.stats.inter_rater")
    for pairs in _pairs():
        table = [[sum(pair == (a, b) for pair in pairs) for b in LABELS] for a in LABELS]
        theirs = rater.cohens_kappa(table, return_results=False)
        assert cohen_kappa(pairs) == pytest.approx(theirs, abs=1e-12)


def test_fleiss_equals_statsmodels() -> None:
    rater = oracle("statsmodels.stats.inter_rater")
    for rows in _ratings(n_raters=4, missing=0.0):
        table = [[sum(label == given for given in row) for label in LABELS] for row in rows]
        assert fleiss_kappa(rows) == pytest.approx(rater.fleiss_kappa(table), abs=1e-12)


@pytest.mark.parametrize("scale", [None, LABELS])
def test_krippendorff_equals_the_package_of_that_name(scale: Sequence[str] | None) -> None:
    package, numpy = oracle("krippendorff"), oracle("numpy")
    for rows in _ratings(n_raters=4, missing=0.3):
        values = [
            [numpy.nan if label is None else LABELS.index(label) for label in unit] for unit in zip(*rows, strict=True)
        ]
        theirs = package.alpha(
            reliability_data=numpy.array(values, dtype=float),
            level_of_measurement="nominal" if scale is None else "ordinal",
        )
        assert krippendorff_alpha(rows, scale) == pytest.approx(theirs, abs=1e-9)


def test_where_there_is_one_category_only_the_oracles_have_no_value_either() -> None:
    rater, numpy = oracle("statsmodels.stats.inter_rater"), oracle("numpy")
    package = oracle("krippendorff")
    with numpy.errstate(all="ignore"):
        assert math.isnan(rater.cohens_kappa([[5, 0], [0, 0]], return_results=False))
        assert math.isnan(rater.fleiss_kappa([[3, 0]] * 5))
    with pytest.raises(ValueError, match="more than one value"):
        package.alpha(reliability_data=[[1, 1], [1, 1]], level_of_measurement="nominal")
    assert cohen_kappa([("yes", "yes")] * 5) is fleiss_kappa([["yes"] * 3] * 5) is krippendorff_alpha([["yes"] * 2] * 2)


def _pairs() -> list[list[Pair]]:
    draw = random.Random(2)
    return [[(draw.choice(LABELS), draw.choice(LABELS)) for _ in range(n)] for n in (5, 40, 300)]


def _ratings(n_raters: int, missing: float) -> list[list[list[str | None]]]:
    draw = random.Random(3)

    def rated(truth: str) -> str | None:
        if draw.random() < missing:
            return None
        return truth if draw.random() < 0.6 else draw.choice(LABELS)

    return [[[rated(truth) for _ in range(n_raters)] for truth in draw.choices(LABELS, k=n)] for n in (12, 100)]
