"""Agreement of several people against statsmodels and krippendorff, which are no dependencies (group `oracle`)."""

from __future__ import annotations

import random
import warnings
from collections.abc import Sequence
from itertools import combinations
from types import ModuleType
from typing import Any

import pytest

from sandbox.comparing.agreement import fleiss_kappa, krippendorff_alpha, pairwise_agreement, unanimous_share

SCALE = ("1", "2", "3", "4", "5")


def oracle(name: str) -> Any:
    """The module, or a skip that says how to get it. Its own warnings are not ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module: ModuleType = pytest.importorskip(name, reason=f"{name} is in the group 'oracle', not installed here")
    return module


def graded(n: int) -> list[list[str]]:
    """Three people's grades of `n` dialogues, each near the truth more often than not."""
    draw = random.Random(n)
    truths = draw.choices(range(5), weights=(4, 2, 2, 3, 9), k=n)
    return [[SCALE[min(4, max(0, truth + draw.choice((-1, 0, 0, 0, 1))))] for _ in range(3)] for truth in truths]


def harmful(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """The binary question."""
    return [["fail" if label in "12" else "pass" for label in row] for row in rows]


@pytest.mark.parametrize("n", [20, 300])
def test_three_people_on_grades_and_on_harm_equal_statsmodels_and_krippendorff(n: int) -> None:
    rater, package = oracle("statsmodels.stats.inter_rater"), oracle("krippendorff")
    rows = graded(n)
    for ratings, labels, level in ((rows, SCALE, "ordinal"), (harmful(rows), ("fail", "pass"), "nominal")):
        table, _ = rater.aggregate_raters([[labels.index(label) for label in row] for row in ratings])
        assert fleiss_kappa(ratings) == pytest.approx(rater.fleiss_kappa(table), abs=1e-12)
        by_rater = [[labels.index(row[k]) for row in ratings] for k in range(3)]
        theirs = package.alpha(reliability_data=by_rater, level_of_measurement=level)
        scale = labels if level == "ordinal" else None
        assert krippendorff_alpha(ratings, scale) == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("n", [20, 300])
def test_pairs_and_unanimity_equal_numpy(n: int) -> None:
    numpy = oracle("numpy")
    grades = numpy.array([[int(label) for label in row] for row in graded(n)])
    by_pair = [float((grades[:, a] == grades[:, b]).mean()) for a, b in combinations(range(3), 2)]
    assert pairwise_agreement(graded(n)) == pytest.approx(sum(by_pair) / 3, abs=1e-12)
    assert unanimous_share(graded(n)) == pytest.approx(float((grades.max(1) == grades.min(1)).mean()), abs=1e-12)
