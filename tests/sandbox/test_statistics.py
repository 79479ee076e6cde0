"""Intervals: published oracle values, and what resampling by question must and must not do."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.statistics import Cluster, Interval, Plan, cluster_bootstrap, wilson


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


def test_no_questions_is_no_figure() -> None:
    with pytest.raises(ValueError, match="no questions"):
        cluster_bootstrap([], Plan())
