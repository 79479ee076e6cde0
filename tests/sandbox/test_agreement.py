"""Agreement beyond chance: worked examples from the sources, and what happens where there is nothing to tell."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.comparing.agreement import (
    agreement,
    agreement_of,
    cohen_kappa,
    cohen_kappa_of,
    fleiss_kappa,
    krippendorff_alpha,
    majority,
    pairwise_agreement,
    unanimous_share,
)

LABELS = ("full", "partial", "none")
# Krippendorff 2011, section C: four observers, twelve units, labels 1 to 5, seven ratings missing.
OBSERVERS = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")
TWELVE_UNITS = [[None if label == "." else label for label in unit] for unit in zip(*OBSERVERS, strict=True)]
# Fleiss 1971's own kind of table, as worked in many textbooks: ten subjects, fourteen raters, five categories.
FOURTEEN_RATERS = (
    (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
)  # fmt: skip


def test_cohen_equals_the_worked_example() -> None:
    # Two readers, fifty proposals: 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no.
    table = {("yes", "yes"): 20, ("yes", "no"): 5, ("no", "yes"): 10, ("no", "no"): 15}
    assert agreement_of(table) == 0.7
    assert cohen_kappa_of(table) == 0.4
    assert cohen_kappa([pair for pair, n in table.items() for _ in range(n)]) == 0.4


def test_weights_scale_nothing_but_their_shares() -> None:
    table = {("full", "full"): Fraction(1, 3), ("full", "none"): Fraction(1, 6), ("none", "none"): Fraction(1, 2)}
    assert cohen_kappa_of(table) == cohen_kappa_of({pair: 600 * weight for pair, weight in table.items()})


def test_fleiss_equals_the_worked_example() -> None:
    rows = [[str(label) for label, n in enumerate(counts) for _ in range(n)] for counts in FOURTEEN_RATERS]
    assert fleiss_kappa(rows) == pytest.approx(0.20993070442195522, abs=1e-15)


def test_krippendorff_equals_the_worked_example_with_missing_ratings() -> None:
    assert krippendorff_alpha(TWELVE_UNITS) == pytest.approx(0.743421052631579, abs=1e-15)
    assert krippendorff_alpha(TWELVE_UNITS, "12345") == pytest.approx(0.815388, abs=1e-6)


def test_unused_labels_of_the_scale_do_not_matter() -> None:
    assert krippendorff_alpha(TWELVE_UNITS, "0123456789") == krippendorff_alpha(TWELVE_UNITS, "12345")
    with pytest.raises(ValueError, match="5 stands outside the scale 1, 2, 3, 4"):
        krippendorff_alpha(TWELVE_UNITS, "1234")


def test_one_category_only_says_nothing_beyond_chance() -> None:
    assert agreement([("yes", "yes")] * 5) == 1.0
    assert cohen_kappa([("yes", "yes")] * 5) is None
    assert fleiss_kappa([["yes", "yes", "yes"]] * 5) is None
    assert krippendorff_alpha([["yes", "yes"]] * 5) is None
    assert krippendorff_alpha([["yes", "yes"]] * 5, ("yes", "no")) is None


def test_a_rater_who_always_says_the_same_has_no_skill() -> None:
    assert cohen_kappa([("yes", "yes"), ("yes", "no"), ("yes", "yes")]) == 0.0
    assert cohen_kappa([("yes", "no")] * 4) == 0.0


def test_nothing_rated_is_no_figure() -> None:
    assert agreement([]) is None
    assert cohen_kappa([]) is None
    assert fleiss_kappa([]) is None
    assert krippendorff_alpha([]) is None
    assert krippendorff_alpha([["yes", None], [None, "no"]]) is None


@pytest.mark.parametrize("rows", [[["yes"]], [["yes", None]], [["yes", "no"], ["yes", "no", "no"]]])
def test_fleiss_refuses_uneven_ratings(rows: list[list[str | None]]) -> None:
    with pytest.raises(ValueError, match="same number of ratings"):
        fleiss_kappa(rows)


def test_majority_is_more_than_any_other_label() -> None:
    assert majority(["full", "none", "full", None]) == "full"
    assert majority(["full", "none"]) is None
    assert majority([None]) is None


@given(st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=60))
def test_agreement_does_not_depend_on_who_is_named_first(pairs: list[tuple[str, str]]) -> None:
    turned = [(b, a) for a, b in pairs]
    assert cohen_kappa(pairs) == cohen_kappa(turned)
    assert krippendorff_alpha(pairs, LABELS) == krippendorff_alpha(turned, LABELS)
    assert krippendorff_alpha(pairs, LABELS) == krippendorff_alpha(pairs, LABELS[::-1])


@given(st.lists(st.sampled_from(LABELS), min_size=2, max_size=60).filter(lambda labels: len(set(labels)) > 1))
def test_full_agreement_on_several_labels_is_1(labels: list[str]) -> None:
    pairs = [(label, label) for label in labels]
    assert (agreement(pairs), cohen_kappa(pairs), fleiss_kappa(pairs)) == (1.0, 1.0, 1.0)
    assert (krippendorff_alpha(pairs), krippendorff_alpha(pairs, LABELS)) == (1.0, 1.0)


def test_every_pair_of_raters_weighs_the_same_however_much_they_share() -> None:
    rows: list[list[str | None]] = [["yes", "yes", None], ["yes", "yes", None], ["no", "no", None], ["yes", "no", "no"]]
    # The first two agree on 3 of 4, the first and third on 0 of 1, the second and third on 1 of 1.
    assert pairwise_agreement(rows) == pytest.approx((3 / 4 + 0 + 1) / 3)
    assert unanimous_share(rows) == 3 / 4


def test_who_shares_nothing_has_no_agreement() -> None:
    assert pairwise_agreement([["yes", None], [None, "no"]]) is None
    assert pairwise_agreement([]) is None
    assert unanimous_share([["yes", None]]) is None
