"""Two runs compared question by question: differences, whether they are real, where they come from, what moved.

Knows: paired questions, statistics. Must not know: files, how a comparison is printed.

Every difference is B − A, in 0–1 units, over the questions that count in both runs. A question's value is the mean of its
sessions, so a run with repeats can be compared with one without.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pydantic import Field

from sandbox.comparing.judge_agreement import JudgeAgreement
from sandbox.comparing.metric_change import (
    TARGET,
    Difference,
    MetricChange,
    both_values,
    metric_change,
    metric_difference,
    shares,
)
from sandbox.comparing.pairing import Pair, Question, Questions, State, mean, paired
from sandbox.measuring.measures import CITED, Measures
from sandbox.measuring.statistics import POWER, Plan, holm
from sandbox.measuring.tally import Figures, NamedMeasure, named
from sandbox.record import Flag
from sandbox.summary import NO_TYPE

WHOLE = Plan(resamples=10_000)
"""Draws for the metrics that are tested: enough that the p-values of Holm's first steps can be told apart."""
BY_TYPE = Plan()


class TypeChange(Figures):
    """The differences of one task type, with intervals and without tests: there are too many of them to test."""

    questions: int
    metrics: dict[str, Difference]


class StateChange(Figures):
    """Questions that went from one state to another, and their share of each metric's difference (they add up to it)."""

    a: State
    b: State
    questions: int
    share: dict[str, float]


class MovedSide(Figures):
    """One run's side of a question that moved. `causes`, `flags`: of any of its sessions."""

    state: State
    causes: tuple[str, ...]
    flags: tuple[Flag, ...]
    values: dict[str, float | None]


class Moved(Figures):
    """A question with its values in both runs. `movement`: the sum of |Δ| over the headline measures, what is left out as
    0 (tmg_cqa: |Δ consistency| + |Δ citation F1|).
    """

    sample_id: str
    task_type: str | None
    question: str
    movement: float
    a: MovedSide
    b: MovedSide


class QuestionCounts(Figures):
    """How the two runs' questions overlap. `changed`: the same id, but another question, reference or criterion; they are
    not compared.
    """

    compared: int
    only_a: int
    only_b: int
    changed: int


class Side(Figures):
    """One of the runs. `expected_sessions`: of the whole run, None where unknown; fewer finished = a half-written run."""

    run: str
    benchmark: str
    model: str
    judge: str
    started: str | None
    questions: int
    sessions: int
    expected_sessions: int | None
    contradictions: int
    checked_pairs: int

    @property
    def unfinished(self) -> bool:
        """Whether sessions are missing."""
        return self.expected_sessions is not None and self.sessions < self.expected_sessions


class Methods(Figures):
    """How the figures were made, so that anybody can make them again."""

    level: float
    seed: int
    resamples: int
    resamples_by_type: int
    power: float = POWER
    target: float = TARGET
    unit: str = "question"
    correction: str = "holm"
    tested: tuple[str, ...]


class Comparison(Figures):
    """A paired comparison of two runs. `forced_over`: what spoils it, in words; empty where nothing does.

    `agreement`: of the two runs' judges, where both have the same answers; `judge_differences` are then no spoiling.
    """

    a: Side
    b: Side
    model_differences: tuple[str, ...]
    forced_over: tuple[str, ...]
    unfinished: bool
    questions: QuestionCounts
    metrics: dict[str, MetricChange]
    measures: tuple[NamedMeasure, ...]
    """What the metrics are called, in the order of the tables."""
    type_name: str
    """What the benchmark calls its task types."""
    by_task_type: dict[str, TypeChange]
    changes: tuple[StateChange, ...]
    moved: tuple[Moved, ...]
    statistics: Methods
    judge_differences: tuple[str, ...] = ()
    agreement: JudgeAgreement | None = None
    titles_apart: tuple[str, ...] = Field(default=(), exclude_if=lambda titles: not titles)
    """Measures that only one of the runs has, which are not compared."""


@dataclass(frozen=True, slots=True)
class Occasion:
    """What is known of a comparison beside the questions: the two runs, and what differs between them."""

    a: Side
    b: Side
    model_differences: tuple[str, ...] = ()
    forced_over: tuple[str, ...] = ()
    judge_differences: tuple[str, ...] = ()
    agreement: JudgeAgreement | None = None
    measures: Measures = CITED
    """What both runs measure."""
    titles_apart: tuple[str, ...] = ()
    """What only one of them does."""
    type_name: str = "task type"


def compare(
    a: Questions, b: Questions, occasion: Occasion, *, n_moved: int = 20, plan: Plan = WHOLE, by_type: Plan = BY_TYPE
) -> Comparison:
    """The comparison. Metrics that no question has in both runs have no difference and are not tested."""
    pairing = paired(a, b)
    pairs = pairing.pairs
    measures = occasion.measures
    metrics = _adjusted({one.name: metric_change(pairs, one, plan) for one in measures})
    kept = tuple(one for one in measures if one.name in metrics)
    return Comparison(
        a=occasion.a,
        b=occasion.b,
        model_differences=occasion.model_differences,
        forced_over=occasion.forced_over,
        unfinished=occasion.a.unfinished or occasion.b.unfinished,
        questions=QuestionCounts(
            compared=len(pairs), only_a=pairing.only_a, only_b=pairing.only_b, changed=pairing.changed
        ),
        metrics=metrics,
        measures=named(kept),
        type_name=occasion.type_name,
        by_task_type=_types(pairs, kept, by_type),
        changes=_state_changes(pairs, kept),
        moved=_moved(pairs, measures, n_moved),
        statistics=Methods(
            level=plan.level,
            seed=plan.seed,
            resamples=plan.resamples,
            resamples_by_type=by_type.resamples,
            tested=tuple(name for name, change in metrics.items() if change.p is not None),
        ),
        judge_differences=occasion.judge_differences,
        agreement=occasion.agreement,
        titles_apart=occasion.titles_apart,
    )


def as_json(comparison: Comparison) -> str:
    """The comparison as one line of JSON with sorted keys and readable Japanese."""
    return json.dumps(comparison.model_dump(mode="json"), ensure_ascii=False, sort_keys=True, allow_nan=False)


def _adjusted(changes: Mapping[str, MetricChange]) -> dict[str, MetricChange]:
    """With the p-values adjusted for one another; metrics that nobody has in either run are dropped."""
    adjusted: dict[str, MetricChange] = {
        name: change for name, change in changes.items() if change.pairs or change.left_out_as_zero
    }
    tested = [change.p for change in adjusted.values() if change.p is not None]
    p_holm = iter(holm(tested))
    for name, change in adjusted.items():
        if change.p is not None:
            adjusted[name] = change.model_copy(update={"p_holm": next(p_holm)})
    return adjusted


def _types(pairs: Sequence[Pair], metrics: Measures, plan: Plan) -> dict[str, TypeChange]:
    groups: dict[str, list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(pair.a.task_type or NO_TYPE, []).append(pair)
    if set(groups) <= {NO_TYPE}:
        return {}
    return {name: _type_change(group, metrics, plan) for name, group in sorted(groups.items())}


def _type_change(pairs: Sequence[Pair], metrics: Measures, plan: Plan) -> TypeChange:
    differences: dict[str, Difference] = {metric.name: metric_difference(pairs, metric, plan) for metric in metrics}
    return TypeChange(questions=len(pairs), metrics=differences)


def _state_changes(pairs: Sequence[Pair], metrics: Measures) -> tuple[StateChange, ...]:
    """Every change of state that happened, the commonest first."""
    groups: dict[tuple[State, State], list[Pair]] = {}
    for pair in pairs:
        groups.setdefault((pair.a.state, pair.b.state), []).append(pair)
    whole = {metric.name: both_values(pairs, metric) for metric in metrics}
    made = [
        StateChange(
            a=a,
            b=b,
            questions=len(group),
            share={
                metric.name: shares(both_values(group, metric), whole[metric.name])
                for metric in metrics
                if whole[metric.name]
            },
        )
        for (a, b), group in groups.items()
    ]
    return tuple(sorted(made, key=lambda change: (-change.questions, change.a, change.b)))


def _moved(pairs: Sequence[Pair], measures: Measures, n: int) -> tuple[Moved, ...]:
    ranked = sorted(
        ((_movement(pair, measures), pair) for pair in pairs), key=lambda item: (-item[0], item[1].a.sample_id)
    )
    return tuple(
        Moved(
            sample_id=pair.a.sample_id,
            task_type=pair.a.task_type,
            question=pair.a.text,
            movement=float(movement),
            a=_side(pair.a, measures),
            b=_side(pair.b, measures),
        )
        for movement, pair in ranked[:n]
        if movement
    )


def _movement(pair: Pair, measures: Measures) -> Fraction:
    """How far the figures that the benchmark is known by moved."""
    known_by = [one for one in measures if one.headline] or measures[:1]
    values = (value for metric in known_by for value in both_values([pair], metric, left_out_as_zero=True))
    return sum((abs(value.difference) for value in values), Fraction(0))


def _side(question: Question, measures: Measures) -> MovedSide:
    values: dict[str, float | None] = {}
    for metric in measures:
        found = mean(question, metric)
        values[metric.name] = float(found.value) if found else None
    return MovedSide(
        state=question.state,
        causes=tuple(dict.fromkeys(session.cause for session in question.sessions if session.cause)),
        flags=tuple(dict.fromkeys(flag for session in question.sessions for flag in session.flags)),
        values=values,
    )
