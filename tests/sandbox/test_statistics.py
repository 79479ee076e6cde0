"""Intervals, paired tests, power: published oracle values, and what resampling by question must and must not do."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.measuring.statistics import (
    Change,
    Cluster,
    Interval,
    Plan,
    cluster_bootstrap,
    detectable_means,
    detectable_rates,
    holm,
    mcnemar_exact,
    paired_bootstrap,
    pass_at_k,
    pass_power_k,
    questions_for_means,
    questions_for_rates,
    stratified_bootstrap,
    tango,
    wilson,
)


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [(41, 69, 0.476359, 0.702111), (545, 571, 0.934118, 0.968739), (0, 50, 0.0, 0.071348), (50, 50, 0.928652, 1.0)],
)
def test_wilson_equals_the_oracle(successes: int, n: int, low: float, high: float) -> None:
    made = wilson(successes, n)
    assert (round(made.low, 6), round(made.high, 6), made.method) == (low, high, "wilson")


@pytest.mark.parametrize(("successes", "n"), [(0, 0), (-1, 3), (4, 3)])
def test_what_is_no_rate_is_refused(successes: int, n: int) -> None:
    with pytest.raises(ValueError, match="is no rate"):
        wilson(successes, n)


@given(st.integers(1, 2_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_its_rate_and_stays_within_0_and_1(rate: tuple[int, int]) -> None:
    successes, n = rate
    made = wilson(successes, n)
    assert 0 <= made.low <= successes / n <= made.high <= 1


def test_bootstrap_is_the_same_to_the_last_bit_for_the_same_seed() -> None:
    # The values are pinned: another Python version or platform must give the same bits.
    clusters = [Cluster(i % 5 / 4, 1) for i in range(40)]
    assert cluster_bootstrap(clusters, Plan(seed=7)) == Interval(0.3875, 0.6125, "cluster-bootstrap")


def test_bootstrap_agrees_with_the_normal_interval_of_many_questions() -> None:
    draw = random.Random(3)
    values = [draw.random() for _ in range(571)]
    mean = sum(values) / 571
    sd = (sum((value - mean) ** 2 for value in values) / 570) ** 0.5
    made = cluster_bootstrap([Cluster(value, 1) for value in values], Plan())
    assert abs(made.low - (mean - 1.96 * sd / 571**0.5)) < 0.003
    assert abs(made.high - (mean + 1.96 * sd / 571**0.5)) < 0.003


def test_three_equal_runs_of_a_question_make_the_interval_no_narrower() -> None:
    once = [Cluster(i % 3 / 2, 1) for i in range(60)]
    thrice = [Cluster(3 * cluster.total, 3) for cluster in once]
    assert cluster_bootstrap(thrice, Plan()) == cluster_bootstrap(once, Plan())


def test_a_question_with_fewer_counted_runs_weighs_less() -> None:
    made = cluster_bootstrap([Cluster(3.0, 3)] * 20 + [Cluster(0.0, 1)] * 20, Plan())
    assert made.low > 0.5
    assert made.high < 0.95


def test_questions_that_all_agree_do_not_claim_certainty() -> None:
    assert cluster_bootstrap([Cluster(0.0, 1)] * 50, Plan()) == wilson(0, 50)
    assert cluster_bootstrap([Cluster(2.0, 2)], Plan()) == wilson(1, 1)
    # 4/5 in one session and in three: 0.8 · 3 is not 2.4 in floating point.
    unlike = [Cluster(0.8, 1), Cluster(2.4, 3)]
    assert cluster_bootstrap(unlike, Plan()) == wilson(1.6, 2)
    assert stratified_bootstrap([unlike, unlike], Plan()) == wilson(3.2, 4)


def test_no_questions_is_no_figure() -> None:
    with pytest.raises(ValueError, match="no questions"):
        cluster_bootstrap([], Plan())


@pytest.mark.parametrize(
    ("only_a", "only_b", "p"),
    [(10, 3, 0.09228515625), (60, 38, 0.03336002889694201), (0, 0, 1.0), (5, 5, 1.0), (0, 6, 0.03125), (1, 0, 1.0)],
)
def test_mcnemar_equals_the_oracle_from_either_side(only_a: int, only_b: int, p: float) -> None:
    assert (mcnemar_exact(only_a, only_b), mcnemar_exact(only_b, only_a)) == (p, p)


def test_mcnemar_takes_counts_whose_power_of_two_no_float_can_hold() -> None:
    assert mcnemar_exact(6_000, 6_000) == 1.0
    assert 0 < mcnemar_exact(5_000, 6_000) < 1e-20
    with pytest.raises(ValueError, match="no counts"):
        mcnemar_exact(-1, 3)


def test_tango_without_a_discordant_question_is_no_point() -> None:
    made = tango(0, 0, 50)
    assert (round(made.low, 6), round(made.high, 6), made.method) == (-0.071348, 0.071348, "tango")


def test_tango_at_the_ends_stays_within_minus_1_and_1() -> None:
    assert tango(0, 50, 50).high == 1.0
    assert tango(50, 0, 50).low == -1.0
    with pytest.raises(ValueError, match="do not fit"):
        tango(3, 4, 6)


@given(st.integers(1, 600).flatmap(lambda n: st.tuples(st.integers(0, n), st.integers(0, n), st.just(n))))
def test_tango_holds_the_difference_and_turns_round_with_the_sides(counts: tuple[int, int, int]) -> None:
    only_a, only_b, n = counts
    only_b = min(only_b, n - only_a)
    made, turned = tango(only_a, only_b, n), tango(only_b, only_a, n)
    assert -1 <= made.low <= (only_b - only_a) / n <= made.high <= 1
    assert (made.low, made.high) == pytest.approx((-turned.high, -turned.low), abs=1e-9)


def test_paired_bootstrap_is_the_same_to_the_last_bit_for_the_same_seed() -> None:
    made = paired_bootstrap([i % 5 / 4 - 0.375 for i in range(40)], Plan(seed=7))
    assert made.difference == 0.125
    assert made.interval == Interval(0.0125, 0.2375, "paired-bootstrap")
    assert made.p == 2 * (1 + 31) / 2_001


def test_paired_bootstrap_turns_round_with_the_sides() -> None:
    differences = [i % 7 / 6 - 0.5 for i in range(60)]
    made, turned = paired_bootstrap(differences, Plan()), paired_bootstrap([-d for d in differences], Plan())
    assert (turned.interval.low, turned.interval.high) == pytest.approx((-made.interval.high, -made.interval.low))
    assert turned.p == made.p


def test_few_questions_do_not_resample_to_certainty() -> None:
    # Three questions, all better: by signs alone that happens by chance once in four.
    assert paired_bootstrap([0.5, 0.6, 0.7, 0.0], Plan()).p == 0.25
    assert paired_bootstrap([1.0], Plan()).p == 1.0


def test_equal_differences_do_not_claim_certainty() -> None:
    none = paired_bootstrap([0.0] * 50, Plan())
    reach = wilson(0, 50).high
    assert none == Change(0.0, Interval(-reach, reach, "wilson"), 1.0)
    half = paired_bootstrap([0.5] * 5, Plan())
    assert half.interval.low < 0 < half.difference == 0.5 < half.interval.high < 1
    assert half.p == 2**-4
    assert paired_bootstrap([1.0] * 50, Plan()).interval.high == 1.0


def test_no_differences_are_no_figure() -> None:
    with pytest.raises(ValueError, match="no questions"):
        paired_bootstrap([], Plan())


def test_holm_multiplies_the_smallest_most_and_keeps_the_order() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == [0.03, 0.06, 0.06, 0.02]
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_never_makes_a_finding_surer(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(p <= q <= 1 for p, q in zip(p_values, adjusted, strict=True))
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    assert [adjusted[i] for i in order] == sorted(adjusted)


def test_two_points_need_thousands_of_questions() -> None:
    assert questions_for_rates(discordant=98 / 571, difference=0.02) == 3_366
    assert questions_for_means(sd=0.4, difference=0.02) == 3_140
    assert questions_for_rates(discordant=0.0, difference=0.02) == questions_for_rates(0.02, 0.02)
    assert questions_for_means(sd=0.0, difference=0.02) == 1


@given(st.floats(0, 1), st.floats(0.01, 1))
def test_what_is_detectable_is_the_number_of_questions_read_backwards(discordant: float, difference: float) -> None:
    n = questions_for_rates(discordant, difference)
    assert detectable_rates(discordant, n) <= difference + 1e-9
    assert n == 1 or detectable_rates(discordant, n - 1) >= difference - 1e-9
    assert detectable_means(0.4, questions_for_means(0.4, difference)) <= difference


@pytest.mark.parametrize(("discordant", "difference"), [(0.1, 0.0), (0.1, -0.1), (1.1, 0.1), (-0.1, 0.1)])
def test_what_no_number_of_questions_shows_is_refused(discordant: float, difference: float) -> None:
    with pytest.raises(ValueError, match="is none of two rates"):
        questions_for_rates(discordant, difference)
    with pytest.raises(ValueError, match="no number of questions"):
        questions_for_means(0.4, 0.0)


def test_pass_at_k_and_pass_to_the_k_are_exact() -> None:
    assert pass_at_k(3, 1, 1) == pass_power_k(3, 1, 1) == Fraction(1, 3)
    assert pass_at_k(5, 2, 3) == Fraction(9, 10)
    assert pass_power_k(5, 3, 2) == Fraction(3, 10)
    assert [pass_at_k(4, 0, 4), pass_at_k(4, 1, 4), pass_power_k(4, 4, 4)] == [0, 1, 1]


@pytest.mark.parametrize(("n", "passed", "k"), [(3, 1, 4), (3, 1, 0), (0, 0, 1), (3, 4, 2), (3, -1, 2)])
def test_more_attempts_than_were_made_are_refused(n: int, passed: int, k: int) -> None:
    for asked in (pass_at_k, pass_power_k):
        with pytest.raises(ValueError, match="attempts"):
            asked(n, passed, k)
