"""How far two judges agree on the same answers, and on which judgements they do not.

Knows: records of two runs, judgements by place, measures of agreement. Must not know: files, how agreement is printed.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from sandbox.comparing.agreement import Pair, agreement, cohen_kappa, krippendorff_alpha
from sandbox.judging.human_labels import FAIL, PASS, SCALES
from sandbox.judging.sheet import KINDS, Judgement, Kind, judgements, labels_of, one_verdict_texts, sentence_of
from sandbox.measuring.statistics import Cluster, Plan, cluster_bootstrap
from sandbox.measuring.tally import Figures
from sandbox.record import Record
from sandbox.rescore import evidence_of

Session = tuple[str, int]
"""Sample id and repeat."""


class PassingAgreement(Figures):
    """Two judges on whether answers pass, over the judgements that both judged; figures as in `KindAgreement`.

    `confusion`: what A said → what B said → how many (`pass`, `fail`).
    """

    agreement: float
    interval: tuple[float, float]
    kappa: float | None
    confusion: dict[str, dict[str, int]]


class KindAgreement(Figures):
    """Two judges on one kind of judgement. `judged`: by both; `only_a`, `only_b`: by that one alone, the other gave none.

    `agreement` is a rate in 0–1 with its interval by question; κ and α (ordinal for support and safety) are None where
    only one label occurs. `confusion`: A's label → B's label → how many. `passing`: None where labels decide no such thing.
    """

    judged: int
    only_a: int
    only_b: int
    agreement: float | None
    interval: tuple[float, float] | None
    kappa: float | None
    alpha: float | None
    confusion: dict[str, dict[str, int]]
    passing: PassingAgreement | None = None


class Disagreement(Figures):
    """A judgement on which they do not agree; `sentence` (from 0) is None where it is on the whole answer."""

    kind: Kind
    sample_id: str
    repeat: int
    sentence: int | None
    number: int | None
    text: str
    a: str
    b: str
    reason_a: str
    reason_b: str


class JudgeAgreement(Figures):
    """Two judges on `answers` answers, which are the same in both runs (`answers_digest`).

    `disagreements`: the gravest first, at most so many as were asked for; `n_disagreements` of them there are.
    """

    answers: int
    answers_digest: str
    kinds: dict[Kind, KindAgreement]
    n_disagreements: int
    disagreements: tuple[Disagreement, ...] = ()


@dataclass(slots=True)
class Judged:
    """What a judge said in a run, collected record by record: labels by place, and which answer it read."""

    answers: dict[Session, bytes] = field(default_factory=dict[Session, bytes])
    labels: dict[Session, dict[str, str]] = field(default_factory=dict[Session, dict[str, str]])
    passing: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    def add(self, record: Record) -> None:
        """Take one record; one without an answer has nothing that was judged."""
        if record.answer is None:
            return
        session = (record.sample_id, record.repeat)
        self.answers[session] = _answer_sha256(record)
        self.passing |= {judgement.place: judgement.passing for judgement in judgements(record) if judgement.passing}
        self.labels[session] = {
            judgement.place: judgement.verdict.label
            for judgement in judgements(record)
            if judgement.verdict.label is not None
        }


def same_answers(a: Judged, b: Judged) -> bool:
    """True if both runs have answers to the same sessions, and every one that both have is the same, with its evidence."""
    both = a.answers.keys() & b.answers.keys()
    return bool(both) and all(a.answers[session] == b.answers[session] for session in both)


def judge_agreement(a: Judged, b: Judged, plan: Plan | None = None) -> JudgeAgreement | None:
    """The agreement, without the judgements themselves (`told`); None where the runs do not have the same answers."""
    if not same_answers(a, b):
        return None
    both = sorted(a.answers.keys() & b.answers.keys())
    total = hashlib.sha256(b"".join(a.answers[session] for session in both))
    kinds: dict[Kind, _Kind] = {}
    for session in both:
        ours, theirs = a.labels[session], b.labels[session]
        for place in sorted(ours.keys() | theirs.keys()):
            kind = _kind_of(place)
            kinds.setdefault(kind, _Kind()).add(
                session[0], ours.get(place), theirs.get(place), a.passing.get(place, ())
            )
    return JudgeAgreement(
        answers=len(both),
        answers_digest=f"sha256:{total.hexdigest()}",
        kinds={kind: kinds[kind].figures(kind, plan or Plan()) for kind in KINDS if kind in kinds},
        n_disagreements=sum(n for made in kinds.values() for pair, n in made.pairs.items() if pair[0] != pair[1]),
    )


def gravest(a: Judged, b: Judged, n: int) -> frozenset[str]:
    """The places of the `n` gravest disagreements: by how far apart the labels stand on their scale, then by place."""
    found = [
        (-_distance(place, label, b.labels[session][place]), place)
        for session in a.answers.keys() & b.answers.keys()
        for place, label in a.labels[session].items()
        if b.labels[session].get(place, label) != label
    ]
    return frozenset(place for _, place in sorted(found)[:n])


def told(made: JudgeAgreement, a: Iterable[Record], b: Iterable[Record], places: frozenset[str]) -> JudgeAgreement:
    """The agreement with the judgements at `places` told: sentence, labels, reasons. One pass over each run's records."""
    if not places:
        return made
    ours = {judgement.place: (record, judgement) for record, judgement in _at(a, places)}
    rows: list[Disagreement] = []
    for _, other in _at(b, places):
        record, mine = ours[other.place]
        rows.append(
            Disagreement(
                kind=mine.kind,
                sample_id=mine.sample_id,
                repeat=mine.repeat,
                sentence=mine.sentence,
                number=mine.number,
                text=sentence_of(record, mine) or record.question,
                a=mine.verdict.label or "",
                b=other.verdict.label or "",
                reason_a=mine.verdict.reason,
                reason_b=other.verdict.reason,
            )
        )
    return made.model_copy(update={"disagreements": tuple(sorted(rows, key=_rank))})


@dataclass(frozen=True, order=True, slots=True)
class _Rank:
    nearness: int
    kind: int
    sample_id: str
    repeat: int
    sentence: int
    number: int


def _rank(row: Disagreement) -> _Rank:
    nearness = -_apart(row.kind, row.a, row.b)
    return _Rank(nearness, KINDS.index(row.kind), row.sample_id, row.repeat, row.sentence or 0, row.number or 0)


def _at(records: Iterable[Record], places: frozenset[str]) -> Iterable[tuple[Record, Judgement]]:
    return ((record, judgement) for record in records for judgement in judgements(record) if judgement.place in places)


def _answer_sha256(record: Record) -> bytes:
    """A hash of all that a judge can have read of this answer."""
    evidence = evidence_of(record)
    parts = [record.sample_id, str(record.repeat), record.question, record.reference or "", record.dialect]
    parts += [record.answer or "", *(f"{number}\0{evidence[number] or ''}" for number in sorted(evidence))]
    parts += one_verdict_texts(record)
    return hashlib.sha256("\0\0".join(parts).encode("utf-8", "surrogatepass")).digest()


def _distance(place: str, a: str, b: str) -> int:
    return _apart(_kind_of(place), a, b)


def _kind_of(place: str) -> Kind:
    found: list[Kind] = [kind for kind in KINDS if place.startswith(f"{kind}|")]
    return found[0]


def _apart(kind: Kind, a: str, b: str) -> int:
    """How many steps two labels stand apart on their scale (full and none two); one where there is no scale."""
    scale = SCALES[kind]
    return abs(scale.index(a) - scale.index(b)) if scale is not None and {a, b} <= set(scale) else int(a != b)


def _verdict(label: str, passing: tuple[str, ...]) -> str:
    return PASS if label in passing else FAIL


def _clusters(same: Counter[str], n: Counter[str]) -> list[Cluster]:
    return [Cluster(float(same[question]), n[question]) for question in sorted(n)]


@dataclass(slots=True)
class _Passing:
    """The judgements that decide whether an answer passes."""

    pairs: Counter[Pair] = field(default_factory=Counter[Pair])
    same: Counter[str] = field(default_factory=Counter[str])
    n: Counter[str] = field(default_factory=Counter[str])

    def add(self, question: str, pair: Pair) -> None:
        self.pairs[pair] += 1
        self.same[question] += pair[0] == pair[1]
        self.n[question] += 1

    def figures(self, plan: Plan) -> PassingAgreement | None:
        if not self.n:
            return None
        interval = cluster_bootstrap(_clusters(self.same, self.n), plan)
        return PassingAgreement(
            agreement=self.same.total() / self.n.total(),
            interval=(interval.low, interval.high),
            kappa=cohen_kappa(self.pairs.elements()),
            confusion={a: {b: self.pairs[a, b] for b in (PASS, FAIL)} for a in (PASS, FAIL)},
        )


@dataclass(slots=True)
class _Kind:
    pairs: Counter[Pair] = field(default_factory=Counter[Pair])
    same: Counter[str] = field(default_factory=Counter[str])
    n: Counter[str] = field(default_factory=Counter[str])
    only_a: int = 0
    only_b: int = 0
    passing: _Passing = field(default_factory=_Passing)

    def add(self, question: str, a: str | None, b: str | None, passing: tuple[str, ...]) -> None:
        if a is not None and b is not None:
            self.pairs[a, b] += 1
            self.same[question] += a == b
            self.n[question] += 1
            if passing:
                self.passing.add(question, (_verdict(a, passing), _verdict(b, passing)))
        else:
            self.only_a += a is not None
            self.only_b += b is not None

    def figures(self, kind: Kind, plan: Plan) -> KindAgreement:
        pairs = list(self.pairs.elements())
        interval = cluster_bootstrap(_clusters(self.same, self.n), plan) if self.n else None
        return KindAgreement(
            judged=len(pairs),
            only_a=self.only_a,
            only_b=self.only_b,
            agreement=agreement(pairs),
            interval=(interval.low, interval.high) if interval else None,
            kappa=cohen_kappa(pairs),
            alpha=krippendorff_alpha(pairs, SCALES[kind]),
            confusion={a: {b: self.pairs[a, b] for b in labels_of(kind)} for a in labels_of(kind)},
            passing=self.passing.figures(plan),
        )
