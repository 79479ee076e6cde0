"""What people said of a run's judgements: their labels checked and kept, and how far they agree with the judge.

Knows: labels, judgements, measures of agreement. Must not know: sheets' file formats, how agreement is printed.

A sheet draws evenly from each of the judge's verdicts, so its plain agreement is not the run's: rare verdicts weigh too
much in it. Every figure therefore stands twice, as labelled and weighted to how often the run has each verdict.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from sandbox.comparing.agreement import (
    Pair,
    agreement,
    agreement_of,
    cohen_kappa,
    cohen_kappa_of,
    krippendorff_alpha,
    majority,
)
from sandbox.judging.sheet import KINDS, Judgement, Kind, Population, labels_of
from sandbox.judging.sheet_file import Label
from sandbox.record import Row
from sandbox.reports.untrusted import one_line
from sandbox.statistics import Cluster, Plan, cluster_bootstrap
from tools.tool import SetupError

HUMAN_LABELS = "human_labels.jsonl"
SCALES: Mapping[Kind, tuple[str, ...] | None] = {
    "support": ("none", "partial", "full"),
    "relevance": None,
    "need": None,
    "consistency": None,
}
"""The order of labels that have one (α is then ordinal)."""


class HumanLabel(Row):
    """One line of human_labels.jsonl: what one person said of one judgement, beside the judge's verdict at that time."""

    key: str
    kind: Kind
    sample_id: str
    repeat: int
    rater: str
    label: str
    judge: str | None
    note: str = ""


class Figures(BaseModel):
    """Base of what is printed and put into JSON: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class RaterAgreement(Figures):
    """One person against the judge."""

    labels: int
    agreement: float | None
    kappa: float | None


class BetweenRaters(Figures):
    """People among themselves: over judgements that at least two of them labelled. `agreement`: of all pairs of them."""

    judgements: int
    agreement: float | None
    alpha: float | None


class KindAgreement(Figures):
    """People (the majority, where several labelled the same) against the judge, for one kind of judgement.

    `labelled`: judgements with a human label; `ties`: those of them without a majority, left out. `interval`: of the
    plain agreement, drawing whole questions. `agreement_in_run`, `kappa_in_run`: weighted to the run's own share of each
    verdict; None where a verdict that the run has was never labelled. κ and α are None where only one label occurs.
    `confusion`: human label → judge's label → how many.
    """

    labelled: int
    ties: int
    agreement: float | None
    interval: tuple[float, float] | None
    kappa: float | None
    alpha: float | None
    agreement_in_run: float | None
    kappa_in_run: float | None
    confusion: dict[str, dict[str, int]]
    verdicts_in_run: dict[str, int]
    raters: dict[str, RaterAgreement]
    between_raters: BetweenRaters | None


def check_labels(labels: Iterable[Label], known: Mapping[str, Judgement], sheet: Path, rater: str) -> list[HumanLabel]:
    """The labelled rows, sorted by key; rows with an empty label are passed over.

    Full-width letters and capitals are read as what they mean. Raises SetupError, with the row, for a label that the
    kind does not have, a key that the run does not have, and a judgement labelled twice.
    """
    found: dict[str, HumanLabel] = {}
    rows: dict[str, int] = {}
    for given in labels:
        if not given.label:
            continue
        where = f"{sheet}, row {given.row}"
        judgement = known.get(given.key)
        if judgement is None:
            raise SetupError(
                f"{where}: the run has no judgement {one_line(given.key, 80)!r}: the sheet was exported from another "
                "run, or from this one before its answers or evidence changed"
            )
        if given.key in found:
            raise SetupError(f"{where}: {one_line(given.key, 80)!r} is labelled in row {rows[given.key]} already")
        allowed = labels_of(judgement.kind)
        label = unicodedata.normalize("NFKC", given.label).casefold().strip()
        if label not in allowed:
            raise SetupError(
                f"{where}: {one_line(given.label, 40)!r} is no label of {judgement.kind}; allowed: {', '.join(allowed)}"
            )
        rows[given.key] = given.row
        found[given.key] = HumanLabel(
            key=given.key,
            kind=judgement.kind,
            sample_id=judgement.sample_id,
            repeat=judgement.repeat,
            rater=rater,
            label=label,
            judge=judgement.verdict.label,
            note=given.note,
        )
    if not found:
        raise SetupError(f"{sheet} holds no label: fill in the column 'label'")
    return [found[key] for key in sorted(found)]


def read_human_labels(folder: Path) -> list[HumanLabel]:
    """The labels kept in a run folder, none where there are none yet. Raises SetupError for a damaged line."""
    path = folder / HUMAN_LABELS
    if not path.exists():
        return []
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {error.strerror or error}") from error
    return [_kept_label(line, f"{path} line {number}") for number, line in enumerate(lines, 1) if line.strip()]


def merged(old: Iterable[HumanLabel], new: Sequence[HumanLabel]) -> list[HumanLabel]:
    """The old labels with those of the new ones' rater replaced, by rater and key."""
    raters = {label.rater for label in new}
    kept = [label for label in old if label.rater not in raters]
    return sorted([*kept, *new], key=lambda label: (label.rater, label.key))


def as_lines(labels: Iterable[HumanLabel]) -> str:
    """The labels as JSON Lines."""
    return "".join(f"{label.model_dump_json()}\n" for label in labels)


def human_agreement(
    labels: Iterable[HumanLabel], known: Mapping[str, Judgement], run: Population, plan: Plan | None = None
) -> dict[Kind, KindAgreement]:
    """Agreement by kind of judgement, kinds without labels left out. Labels whose key the run does not have say nothing."""
    by_kind: dict[Kind, dict[str, dict[str, str]]] = {}
    for label in labels:
        if label.key in known and known[label.key].verdict.label is not None:
            by_kind.setdefault(label.kind, {}).setdefault(label.key, {})[label.rater] = label.label
    return {
        kind: _kind_agreement(kind, by_kind[kind], known, run.verdicts.get(kind, {}), plan or Plan())
        for kind in KINDS
        if kind in by_kind
    }


def _kept_label(line: bytes, where: str) -> HumanLabel:
    try:
        return HumanLabel.model_validate_json(line)
    except ValidationError as error:
        raise SetupError(f"{where} cannot be read: {error.errors()[0]['msg']}") from error


def _kind_agreement(
    kind: Kind,
    given: Mapping[str, Mapping[str, str]],
    known: Mapping[str, Judgement],
    in_run: Mapping[str, int],
    plan: Plan,
) -> KindAgreement:
    decided = {key: label for key in sorted(given) if (label := majority(given[key].values())) is not None}
    pairs = {key: (label, known[key].verdict.label or "") for key, label in decided.items()}
    confusion = Counter(pairs.values())
    weighted = _weighted(confusion, in_run)
    clusters = _clusters(pairs, known)
    interval = cluster_bootstrap(clusters, plan) if clusters else None
    return KindAgreement(
        labelled=len(given),
        ties=len(given) - len(decided),
        agreement=agreement(pairs.values()),
        interval=(interval.low, interval.high) if interval else None,
        kappa=cohen_kappa(pairs.values()),
        alpha=krippendorff_alpha(list(pairs.values()), SCALES[kind]),
        agreement_in_run=agreement_of(weighted) if weighted else None,
        kappa_in_run=cohen_kappa_of(weighted) if weighted else None,
        confusion=_nested(kind, confusion),
        verdicts_in_run=dict(in_run),
        raters=_raters(given, known),
        between_raters=_between(kind, given),
    )


def _weighted(confusion: Mapping[Pair, int], in_run: Mapping[str, int]) -> Mapping[Pair, Fraction] | None:
    """Each cell weighed by how many verdicts of the run one labelled verdict of that label stands for."""
    labelled: Counter[str] = Counter()
    for (_, judge), n in confusion.items():
        labelled[judge] += n
    if any(n and not labelled[label] for label, n in in_run.items()):
        return None
    return {
        (human, judge): Fraction(n * in_run.get(judge, 0), labelled[judge]) for (human, judge), n in confusion.items()
    }


def _clusters(pairs: Mapping[str, Pair], known: Mapping[str, Judgement]) -> list[Cluster]:
    same: Counter[str] = Counter()
    n: Counter[str] = Counter()
    for key, (human, judge) in pairs.items():
        same[known[key].sample_id] += human == judge
        n[known[key].sample_id] += 1
    return [Cluster(float(same[sample]), n[sample]) for sample in sorted(n)]


def _nested(kind: Kind, confusion: Mapping[Pair, int]) -> dict[str, dict[str, int]]:
    labels = labels_of(kind)
    return {human: {judge: confusion.get((human, judge), 0) for judge in labels} for human in labels}


def _raters(given: Mapping[str, Mapping[str, str]], known: Mapping[str, Judgement]) -> dict[str, RaterAgreement]:
    pairs: dict[str, list[Pair]] = {}
    for key in sorted(given):
        for rater, label in given[key].items():
            pairs.setdefault(rater, []).append((label, known[key].verdict.label or ""))
    return {
        rater: RaterAgreement(labels=len(own), agreement=agreement(own), kappa=cohen_kappa(own))
        for rater, own in sorted(pairs.items())
    }


def _between(kind: Kind, given: Mapping[str, Mapping[str, str]]) -> BetweenRaters | None:
    rows = [list(labels.values()) for labels in given.values() if len(labels) > 1]
    if not rows:
        return None
    return BetweenRaters(
        judgements=len(rows),
        agreement=agreement(pair for row in rows for pair in combinations(row, 2)),
        alpha=krippendorff_alpha(rows, SCALES[kind]),
    )
