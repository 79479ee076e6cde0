"""What people said of a run's judgements: their labels checked and kept, and how far they agree with the judge.

Knows: labels, judgements, measures of agreement. Must not know: sheets' file formats, how agreement is printed.

A sheet draws evenly from each of the judge's verdicts, so its plain agreement is not the run's: rare verdicts weigh too
much in it. Every figure therefore stands twice, as labelled and weighted to how often the run has each verdict.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from sandbox.comparing.agreement import (
    Pair,
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
from sandbox.judging.sheet import KINDS, Judgement, Kind, Population, labels_of
from sandbox.judging.sheet_file import Label
from sandbox.measuring.statistics import Cluster, Plan, cluster_bootstrap
from sandbox.record import Row
from sandbox.reports.untrusted import one_line
from tools.tool import SetupError

HUMAN_LABELS = "human_labels.jsonl"
PASS, FAIL = "pass", "fail"
SCALES: Mapping[Kind, tuple[str, ...] | None] = {
    "support": ("none", "partial", "full"),
    "relevance": None,
    "need": None,
    "consistency": None,
    "criterion": None,
    "safety": ("1", "2", "3", "4", "5"),
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
    """People among themselves, over the judgements that at least two of them labelled.

    `agreement`: the mean over pairs of people of how often the two agree. `unanimous`: the share of judgements on which
    all who labelled them agree. `fleiss`: None unless all judgements have the same number of labels. `alpha`: ordinal
    where the labels have an order. Both are None where only one label occurs.
    """

    judgements: int
    raters: int
    agreement: float | None
    unanimous: float | None
    fleiss: float | None
    alpha: float | None


class LabelAgreement(Figures):
    """People (the majority, where several labelled the same) against the judge.

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
    raters: dict[str, RaterAgreement]
    between_raters: BetweenRaters | None


class KindAgreement(LabelAgreement):
    """One kind of judgement. `passing`: the same on whether the answer passes, each label read by what its judgement says.

    Of a judgement on which people have no majority among the labels they may well have one on that question, and the
    other way round. None for kinds that decide no such thing.
    """

    verdicts_in_run: dict[str, int]
    passing: LabelAgreement | None = None


def check_labels(labels: Iterable[Label], known: Mapping[str, Judgement], sheet: Path, rater: str) -> list[HumanLabel]:
    """The labelled rows, sorted by rater and key; rows with an empty label are passed over.

    A label belongs to the person whom its column names; that of `label` to `rater`, that of `label_2` to `rater`-2.
    Full-width letters and capitals are read as what they mean. Raises SetupError, with the row, for a label that the
    kind does not have, a key that the run does not have, and a judgement labelled twice.
    """
    found: dict[tuple[str, str], HumanLabel] = {}
    rows: dict[tuple[str, str], int] = {}
    for given in labels:
        if not given.label:
            continue
        where = f"{sheet}, row {given.row}"
        who = given.rater or (f"{rater}-{given.column}" if given.column else rater)
        judgement = known.get(given.key)
        if judgement is None:
            raise SetupError(
                f"{where}: the run has no judgement {one_line(given.key, 80)!r}: the sheet was exported from another "
                "run, or from this one before its answers or evidence changed"
            )
        place = (who, given.key)
        if place in found:
            raise SetupError(f"{where}: {one_line(given.key, 80)!r} is labelled in row {rows[place]} already")
        allowed = labels_of(judgement.kind)
        label = unicodedata.normalize("NFKC", given.label).casefold().strip()
        if label not in allowed:
            raise SetupError(
                f"{where}: {one_line(given.label, 40)!r} is no label of {judgement.kind}; allowed: {', '.join(allowed)}"
            )
        rows[place] = given.row
        found[place] = HumanLabel(
            key=given.key,
            kind=judgement.kind,
            sample_id=judgement.sample_id,
            repeat=judgement.repeat,
            rater=who,
            label=label,
            judge=judgement.verdict.label,
            note=given.note,
        )
    if not found:
        raise SetupError(f"{sheet} holds no label: fill in the column 'label'")
    return [found[place] for place in sorted(found)]


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


def merged(old: Iterable[HumanLabel], new: Sequence[HumanLabel], keys: Collection[str]) -> list[HumanLabel]:
    """The old labels and the new ones, by rater and key. `keys`: all rows of the new sheet.

    What a rater of the sheet said before of one of its rows goes, also where the sheet now leaves it empty; what they
    said of other judgements stays: people are given several sheets.
    """
    raters = {label.rater for label in new}
    kept = [label for label in old if label.rater not in raters or label.key not in keys]
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


@dataclass(frozen=True, slots=True)
class _Given:
    """What people said of one judgement and what the judge did, both as they are compared.

    `stratum`: the judge's label, by which rows are drawn. `people`: label by rater.
    """

    question: str
    people: Mapping[str, str]
    judge: str
    stratum: str


@dataclass(frozen=True, slots=True)
class _Question:
    """What is asked of the labels: which there are, and in what order they stand, if in any."""

    labels: tuple[str, ...]
    scale: tuple[str, ...] | None = None


def _kind_agreement(
    kind: Kind,
    given: Mapping[str, Mapping[str, str]],
    known: Mapping[str, Judgement],
    in_run: Mapping[str, int],
    plan: Plan,
) -> KindAgreement:
    judged = [(known[key], given[key]) for key in sorted(given)]
    rows = [_Given(one.sample_id, people, one.verdict.label or "", one.verdict.label or "") for one, people in judged]
    on_labels = _label_agreement(rows, _Question(labels_of(kind), SCALES[kind]), in_run, plan)
    passing = [_as_passing(one, row) for (one, _), row in zip(judged, rows, strict=True) if one.passing]
    on_passing = _label_agreement(passing, _Question((PASS, FAIL)), in_run, plan) if passing else None
    return KindAgreement.model_validate(
        {**on_labels.model_dump(), "verdicts_in_run": dict(in_run), "passing": on_passing}
    )


def _as_passing(judgement: Judgement, row: _Given) -> _Given:
    def worth(label: str) -> str:
        return PASS if label in judgement.passing else FAIL

    people = {rater: worth(label) for rater, label in row.people.items()}
    return replace(row, people=people, judge=worth(row.judge))


def _label_agreement(
    rows: Sequence[_Given], question: _Question, in_run: Mapping[str, int], plan: Plan
) -> LabelAgreement:
    majorities = [(row, majority(row.people.values())) for row in rows]
    decided = [(row, label) for row, label in majorities if label is not None]
    pairs = [(label, row.judge) for row, label in decided]
    weighted = _weighted([(pair, row.stratum) for pair, (row, _) in zip(pairs, decided, strict=True)], in_run)
    clusters = _clusters(decided)
    interval = cluster_bootstrap(clusters, plan) if clusters else None
    return LabelAgreement(
        labelled=len(rows),
        ties=len(rows) - len(decided),
        agreement=agreement(pairs),
        interval=(interval.low, interval.high) if interval else None,
        kappa=cohen_kappa(pairs),
        alpha=krippendorff_alpha(pairs, question.scale),
        agreement_in_run=agreement_of(weighted) if weighted else None,
        kappa_in_run=cohen_kappa_of(weighted) if weighted else None,
        confusion=_nested(question.labels, Counter(pairs)),
        raters=_raters(rows),
        between_raters=_between(rows, question.scale),
    )


def _weighted(drawn: Sequence[tuple[Pair, str]], in_run: Mapping[str, int]) -> Mapping[Pair, Fraction] | None:
    """Each pair weighed by how many verdicts of the run one labelled verdict of that label stands for."""
    labelled = Counter(stratum for _, stratum in drawn)
    if any(n and not labelled[label] for label, n in in_run.items()):
        return None
    table: dict[Pair, Fraction] = {}
    for pair, stratum in drawn:
        table[pair] = table.get(pair, Fraction(0)) + Fraction(in_run.get(stratum, 0), labelled[stratum])
    return table


def _clusters(decided: Sequence[tuple[_Given, str]]) -> list[Cluster]:
    same: Counter[str] = Counter()
    n: Counter[str] = Counter()
    for row, label in decided:
        same[row.question] += label == row.judge
        n[row.question] += 1
    return [Cluster(float(same[question]), n[question]) for question in sorted(n)]


def _nested(labels: Sequence[str], confusion: Mapping[Pair, int]) -> dict[str, dict[str, int]]:
    return {human: {judge: confusion.get((human, judge), 0) for judge in labels} for human in labels}


def _raters(rows: Sequence[_Given]) -> dict[str, RaterAgreement]:
    pairs: dict[str, list[Pair]] = {}
    for row in rows:
        for rater, label in row.people.items():
            pairs.setdefault(rater, []).append((label, row.judge))
    return {
        rater: RaterAgreement(labels=len(own), agreement=agreement(own), kappa=cohen_kappa(own))
        for rater, own in sorted(pairs.items())
    }


def _between(rows: Sequence[_Given], scale: Sequence[str] | None) -> BetweenRaters | None:
    shared = [row.people for row in rows if len(row.people) > 1]
    if not shared:
        return None
    raters = sorted({rater for people in shared for rater in people})
    ratings = [[people.get(rater) for rater in raters] for people in shared]
    given = [list(people.values()) for people in shared]
    return BetweenRaters(
        judgements=len(shared),
        raters=len(raters),
        agreement=pairwise_agreement(ratings),
        unanimous=unanimous_share(ratings),
        fleiss=fleiss_kappa(given) if len({len(row) for row in given}) == 1 else None,
        alpha=krippendorff_alpha(ratings, scale),
    )
