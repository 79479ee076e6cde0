"""How far raters agree, and beyond chance: percent agreement, unanimity, Cohen's κ, Fleiss' κ, Krippendorff's α.

Knows: labels by item and rater. Must not know: who the raters are, what was labelled.

All values are exact until the last step. Where every rating is one and the same label a chance-corrected coefficient is
0/0: it is None here (the data cannot tell agreement from habit), never 1, while percent agreement is 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations

Pair = tuple[str, str]
"""The labels that two raters gave to the same item, always in the same order of raters."""
Ratings = Sequence[Sequence[str | None]]
"""One row an item, one label a rater; None = not rated."""


def agreement(pairs: Iterable[Pair]) -> float | None:
    """Percent agreement as a rate: the share of items that both raters gave the same label. None without items."""
    return agreement_of(Counter(pairs))


def cohen_kappa(pairs: Iterable[Pair]) -> float | None:
    """Cohen's κ of two raters, unweighted: (p_o − p_e) / (1 − p_e), p_e from each rater's own label rates; −1 to 1.

    None without items, and where both used one and the same label throughout. Source: Cohen 1960
    (doi 10.1177/001316446002000104).
    """
    return cohen_kappa_of(Counter(pairs))


def agreement_of(table: Mapping[Pair, Fraction | int]) -> float | None:
    """`agreement` of a table of weights by pair of labels; a stratified sheet weighs its items by what they stand for."""
    total = sum(table.values(), Fraction(0))
    return float(_same(table) / total) if total else None


def cohen_kappa_of(table: Mapping[Pair, Fraction | int]) -> float | None:
    """`cohen_kappa` of a table of weights by pair of labels."""
    total = sum(table.values(), Fraction(0))
    if not total:
        return None
    rows: dict[str, Fraction] = {}
    columns: dict[str, Fraction] = {}
    for (a, b), weight in table.items():
        rows[a] = rows.get(a, Fraction(0)) + weight
        columns[b] = columns.get(b, Fraction(0)) + weight
    by_chance = sum((rows[label] * columns.get(label, Fraction(0)) for label in rows), Fraction(0)) / total**2
    return _beyond_chance(_same(table) / total, by_chance)


def pairwise_agreement(ratings: Ratings) -> float | None:
    """Percent agreement as a rate, the mean over all pairs of raters who rated an item in common; None without such a pair.

    A pair counts once, however many items it has in common; where everybody rated everything the share of agreeing pairs
    of ratings is the same figure. Raises ValueError where rows are of different lengths.
    """
    shares: list[Fraction] = []
    for a, b in combinations(zip(*ratings, strict=True), 2):
        common = [one == other for one, other in zip(a, b, strict=True) if one is not None and other is not None]
        shares += [Fraction(sum(common), len(common))] if common else []
    return float(sum(shares, Fraction(0)) / len(shares)) if shares else None


def unanimous_share(ratings: Ratings) -> float | None:
    """The share, in 0–1, of the items with at least two ratings whose ratings are all the same; None without such items."""
    rated = [[label for label in row if label is not None] for row in ratings]
    same = [len(set(row)) == 1 for row in rated if len(row) > 1]
    return sum(same) / len(same) if same else None


def fleiss_kappa(ratings: Ratings) -> float | None:
    """Fleiss' κ of any raters, the same number (≥ 2) for each item; −1 to 1.

    p_o: the mean share of agreeing pairs of ratings of an item; p_e: Σ of the squared label rates over all ratings.
    None without items, and where one label was used throughout. Raises ValueError where a rating is missing or items
    have different numbers of ratings (α can do with that). Source: Fleiss 1971 (doi 10.1037/h0031619).
    """
    if not ratings:
        return None
    n_raters = len(ratings[0])
    if n_raters < 2 or any(len(row) != n_raters or None in row for row in ratings):
        raise ValueError("Fleiss' kappa needs the same number of ratings, at least two, for every item")
    labels: Counter[str | None] = Counter()
    agreeing = 0
    for row in ratings:
        counts = Counter(row)
        labels += counts
        agreeing += sum(n * (n - 1) for n in counts.values())
    observed = Fraction(agreeing, len(ratings) * n_raters * (n_raters - 1))
    by_chance = Fraction(sum(n * n for n in labels.values()), labels.total() ** 2)
    return _beyond_chance(observed, by_chance)


def krippendorff_alpha(ratings: Ratings, scale: Sequence[str] | None = None) -> float | None:
    """Krippendorff's α: 1 − observed / expected disagreement; 1 at most. Missing ratings are allowed.

    Nominal without `scale`; with it ordinal, in the order of `scale` (labels that nobody used do not matter). An item
    with fewer than two ratings says nothing. None where no item has two, or the items that have two hold one label only.
    Raises ValueError for a label outside `scale`. Source: Krippendorff 2011, Computing Krippendorff's
    Alpha-Reliability, sections C to E.
    """
    coincidences: dict[Pair, Fraction] = {}
    for row in ratings:
        given = [label for label in row if label is not None]
        if len(given) < 2:
            continue
        weight = Fraction(1, len(given) - 1)
        counts = Counter(given)
        for a in counts:
            for b in counts:
                n_pairs = counts[a] * (counts[b] - (a == b))
                coincidences[a, b] = coincidences.get((a, b), Fraction(0)) + n_pairs * weight
    totals: dict[str, Fraction] = {}
    for (a, _), weight in coincidences.items():
        totals[a] = totals.get(a, Fraction(0)) + weight
    distances = _distances(totals, scale)
    observed = sum((2 * coincidences.get(pair, Fraction(0)) * d for pair, d in distances.items()), Fraction(0))
    expected = sum((2 * totals[a] * totals[b] * d for (a, b), d in distances.items()), Fraction(0))
    if not expected:
        return None
    n = sum(totals.values(), Fraction(0))
    return float(1 - (n - 1) * observed / expected)


def majority(labels: Iterable[str | None]) -> str | None:
    """The label that more raters gave than any other; None for a tie or no rating."""
    ranked = Counter(label for label in labels if label is not None).most_common(2)
    if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]


def _distances(totals: Mapping[str, Fraction], scale: Sequence[str] | None) -> Mapping[Pair, Fraction]:
    """The squared distance of each pair of different labels, each pair once."""
    if scale is None:
        return dict.fromkeys(combinations(sorted(totals), 2), Fraction(1))
    foreign = sorted(set(totals).difference(scale))
    if foreign:
        raise ValueError(f"{', '.join(foreign)} stands outside the scale {', '.join(scale)}")
    used = [label for label in scale if label in totals]
    found: dict[Pair, Fraction] = {}
    for i, j in combinations(range(len(used)), 2):
        between = sum((totals[label] for label in used[i : j + 1]), Fraction(0))
        found[used[i], used[j]] = (between - (totals[used[i]] + totals[used[j]]) / 2) ** 2
    return found


def _same(table: Mapping[Pair, Fraction | int]) -> Fraction:
    return sum((Fraction(weight) for (a, b), weight in table.items() if a == b), Fraction(0))


def _beyond_chance(observed: Fraction, by_chance: Fraction) -> float | None:
    return None if by_chance == 1 else float((observed - by_chance) / (1 - by_chance))
