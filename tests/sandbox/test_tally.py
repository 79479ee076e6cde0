"""Figures from values: who weighs what, what several sessions of a question make of it, what is drawn together."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from sandbox.measuring.measures import Fold, Measure, criterion_value, values_of
from sandbox.measuring.statistics import Cluster, Plan, cluster_bootstrap, stratified_bootstrap, wilson
from sandbox.measuring.tally import Group
from sandbox.record import CriterionRow, Outcome, Record, VerdictRow
from sandbox.reports.terminal import print_report
from sandbox.summary import RunFacts, summarise

PLAN = Plan(resamples=500)
RATE = Measure("pass_rate", "Pass rate", "Pass", criterion_value, rate=True, headline=True)
BY_AXIS = Measure("axis_mean", "Pass rate, mean of the axes", "Axes", criterion_value, rate=True, average="types")


def record(
    sample: str,
    label: str | None = "yes",
    *,
    axis: str = "INFERENCE_MEMORY",
    repeat: int = 0,
    outcome: Outcome = "answered",
    cluster: str | None = None,
) -> Record:
    """A question decided by one verdict; without a label the judge said nothing that can be read."""
    asked = outcome == "answered"
    verdict = VerdictRow(label=label, failure=None if label else "parse") if asked else None
    return Record(
        sample_id=sample,
        repeat=repeat,
        task_type=axis,
        question="最後の問い",
        outcome="judge_error" if asked and label is None else outcome,
        criterion=CriterionRow(
            rubric="criterion", text="「卵」を使っていませんか。", passing=("yes",), verdict=verdict
        ),
        cluster=cluster,
    )


def folded(fold: Fold, attempts: int = 3) -> Measure:
    return Measure("k", "k", "k", criterion_value, rate=True, fold=fold, attempts=attempts)


def figures(records: list[Record], *measures: Measure) -> Group:
    group = Group()
    for one in records:
        group.add(one, values_of(one, measures))
    return group


def test_the_mean_of_the_axes_weighs_an_axis_of_one_like_an_axis_of_three() -> None:
    records = [record(f"m{n}", "no") for n in range(3)] + [record("e0", axis="RELIABLE_VERSION_EDITING")]
    made = summarise(records, RunFacts("multichallenge", "run", "m", "j", measures=(BY_AXIS, RATE)), PLAN)
    assert (made.metrics["axis_mean"].value, made.metrics["axis_mean"].n) == (0.5, 4)
    assert made.metrics["pass_rate"].value == 0.25
    assert made.metrics["pass_rate"].method == "wilson"
    # A mean over the axes says nothing inside one of them.
    assert list(made.by_task_type["INFERENCE_MEMORY"].metrics) == ["pass_rate"]


def test_the_interval_of_a_mean_of_axes_draws_questions_within_each_axis() -> None:
    records = [record(f"m{n}", "yes" if n % 2 else "no") for n in range(20)]
    records += [record(f"e{n}", "yes" if n < 3 else "no", axis="RELIABLE_VERSION_EDITING") for n in range(10)]
    made = summarise(records, RunFacts("multichallenge", "run", "m", "j", measures=(BY_AXIS,)), PLAN)
    # Each axis' questions are drawn in the order of their ids.
    ids = {f"m{n}": float(n % 2) for n in range(20)} | {f"e{n}": float(n < 3) for n in range(10)}
    strata = [[Cluster(ids[name], 1) for name in sorted(ids) if name.startswith(axis)] for axis in ("m", "e")]
    expected = stratified_bootstrap(strata, PLAN)
    metric = made.metrics["axis_mean"]
    assert metric.value == pytest.approx((0.5 + 0.3) / 2)
    assert (metric.interval, metric.method) == ((expected.low, expected.high), "stratified-bootstrap")


def test_the_interval_of_a_mean_of_axes_does_not_depend_on_which_question_was_finished_first() -> None:
    records = [
        record(f"{axis}{n}", "yes" if n % share else "no", axis=axis)
        for axis, share in (("甲", 2), ("乙", 3), ("丙", 4))
        for n in range(11)
    ]
    facts = RunFacts("multichallenge", "run", "m", "j", measures=(BY_AXIS,))
    made, again = (summarise(some, facts, PLAN).metrics["axis_mean"] for some in (records, reversed(records)))
    assert made == again


def test_a_failed_generation_and_an_overflow_stay_in_the_denominator_of_their_axis() -> None:
    records = [record("a"), record("b", outcome="generation_failed"), record("c", outcome="context_overflow")]
    metric = summarise(records, RunFacts("multichallenge", "run", "m", "j", measures=(BY_AXIS,)), PLAN).metrics[
        "axis_mean"
    ]
    assert (metric.value, metric.n, metric.excluded) == (pytest.approx(1 / 3), 3, {})


def test_a_missing_verdict_is_a_bound_and_makes_no_axis_of_its_own() -> None:
    records = [record("a"), record("b", None), record("c", "no", axis="SELF_COHERENCE")]
    made = summarise(records, RunFacts("multichallenge", "run", "m", "j", measures=(BY_AXIS, RATE)), PLAN)
    assert sorted(made.by_task_type) == ["INFERENCE_MEMORY", "SELF_COHERENCE"]
    assert (made.metrics["axis_mean"].value, made.metrics["axis_mean"].bounds) == (0.25, (0.25, 0.5))
    assert made.metrics["axis_mean"].undecided == 1


@pytest.mark.parametrize(
    ("labels", "any_", "all_", "mean"),
    [
        (["yes", "no", "no"], 1.0, 0.0, 1 / 3),
        (["yes", "yes", "yes"], 1.0, 1.0, 1.0),
        (["no", "no", "no"], 0.0, 0.0, 0.0),
    ],
)
def test_any_passes_all_pass_and_the_mean_are_three_figures(
    labels: list[str], any_: float, all_: float, mean: float
) -> None:
    records = [record("a", label, repeat=n) for n, label in enumerate(labels)]
    expected: dict[Fold, tuple[float, int]] = {"any": (any_, 1), "all": (all_, 1), "mean": (mean, 3)}
    for fold, (value, n) in expected.items():
        measure = folded(fold)
        metric = figures(records, measure).metrics((measure,), PLAN)["k"]
        assert (metric.value, metric.n) == (pytest.approx(value), n)


def test_an_undecided_attempt_bounds_what_any_and_all_can_be() -> None:
    records = [record("a", None), record("a", "no", repeat=1), record("b", "yes"), record("b", None, repeat=1)]
    expected: dict[Fold, tuple[float, tuple[float, float]]] = {"any": (0.5, (0.5, 1.0)), "all": (0.0, (0.0, 0.5))}
    for fold, (value, bounds) in expected.items():
        measure = folded(fold, 2)
        metric = figures(records, measure).metrics((measure,), PLAN)["k"]
        assert (metric.value, metric.bounds, metric.undecided) == (value, bounds, 1)


def test_k_of_fewer_than_k_attempts_is_left_out_and_said() -> None:
    records = [record("a", repeat=n) for n in range(3)] + [record("b", repeat=n) for n in range(2)]
    measure = folded("any", 3)
    metric = figures(records, measure).metrics((measure,), PLAN)["k"]
    assert (metric.value, metric.n, metric.excluded) == (1.0, 1, {"too_few_attempts": 1})


def test_samples_of_one_origin_are_drawn_together() -> None:
    records = [record(f"a{n}", "yes" if n < 4 else "no", cluster="o1" if n < 4 else f"o{n}") for n in range(8)]
    metric = figures(records, RATE).metrics((RATE,), PLAN)["pass_rate"]
    expected = cluster_bootstrap([Cluster(4.0, 4), *(Cluster(0.0, 1) for _ in range(4))], PLAN)
    assert (metric.value, metric.questions) == (0.5, 8)
    assert (metric.interval, metric.method) == ((expected.low, expected.high), "cluster-bootstrap")


def test_questions_asked_several_times_are_counted_by_how_often_they_passed() -> None:
    labels = {"a": "yes yes yes", "b": "no yes no", "c": "no no no"}
    records = [record(name, label, repeat=n) for name, said in labels.items() for n, label in enumerate(said.split())]
    made = summarise(records, RunFacts("j-multichallenge", "run", "m", "j", measures=(RATE,)), PLAN)
    assert made.attempts is not None
    assert (made.attempts.sessions, made.attempts.by_passed) == (3, {0: 1, 1: 1, 2: 0, 3: 1})
    assert (made.attempts.flips, made.attempts.passed) == (1, {"a": 3, "b": 1, "c": 0})
    assert summarise(records[:4], RunFacts("j", "run", "m", "j", measures=(RATE,)), PLAN).attempts is None


def test_a_missing_verdict_is_no_pass_among_the_times_and_is_said() -> None:
    records = [record("卵", None if n == 2 else "yes", repeat=n) for n in range(3)]
    made = summarise(records, RunFacts("j-multichallenge", "run", "m", "j", measures=(RATE,)), PLAN)
    assert made.attempts is not None
    assert (made.attempts.by_passed, made.attempts.flips, made.attempts.undecided) == ({0: 0, 1: 0, 2: 1, 3: 0}, 1, 1)
    stream = StringIO()
    print_report([made], Console(file=stream, width=80))
    assert "of all, with a missing verdict              1" in stream.getvalue()


def test_strata_without_any_spread_get_the_interval_of_their_questions() -> None:
    strata = [[Cluster(1.0, 1)] * 3, [Cluster(0.0, 1)] * 5]
    assert stratified_bootstrap(strata, PLAN) == wilson(4.0, 8)
    with pytest.raises(ValueError, match="no questions"):
        stratified_bootstrap([[], [Cluster(1.0, 1)]], PLAN)
