"""One benchmark over several models: each figure's mean and spread over the models, part by part.

Knows: summaries. Must not know: records, files, how a table is printed.

The unit is the model: a part's rate is made for each model first, then averaged with equal weight. The spread is that
between models, not how sure a rate is.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

from sandbox.measuring.tally import Figures, Metric, NamedMeasure
from sandbox.measuring.two_arms import Arms
from sandbox.summary import Summary
from tools.tool import SetupError

LEAST_MODELS = 2
DDOF = 1
"""Divisor n − 1, the estimate for models like these; publications that do not say may have used n."""


class Spread(Figures):
    """A figure over models, rates in 0–1. `sd`: divisor n − `ddof`; `sd_population`: divisor n (ddof 0).

    `n`: models that have the figure; None where none has (mean), or fewer than two have (both spreads).
    """

    mean: float | None
    sd: float | None
    sd_population: float | None
    n: int
    ddof: int
    least: float | None
    greatest: float | None


class ModelFigures(Figures):
    """One model: its run, its questions so far, its figures by measure, and the two arms where the benchmark has them."""

    model: str
    run: str
    judge: str
    samples: int
    figures: dict[str, float | None]
    arms: Arms | None


class AcrossModels(Figures):
    """Several runs of one benchmark side by side. `by_task_type` and `by_label`: part → measure → spread.

    `every_multi_above_single` and `greatest_ratio` (with `greatest_ratio_model`) over the models that have both arms; None
    without any.
    """

    benchmark: str
    measures: tuple[NamedMeasure, ...]
    type_name: str
    ddof: int
    models: tuple[ModelFigures, ...]
    overall: dict[str, Spread]
    by_task_type: dict[str, dict[str, Spread]]
    by_label: dict[str, dict[str, dict[str, Spread]]]
    every_multi_above_single: bool | None
    greatest_ratio: float | None
    greatest_ratio_model: str | None


Part = Mapping[str, Metric]


def across_models(summaries: Sequence[Summary], ddof: int = DDOF) -> AcrossModels:
    """The models in the order given.

    Raises SetupError for fewer than two runs, runs of several benchmarks, and two runs of one model (each model counts
    once); ValueError for a `ddof` other than 0 or 1.
    """
    _check(summaries, ddof)
    models = tuple(_model(summary) for summary in summaries)
    first = summaries[0]
    names = tuple(measure.name for measure in first.measures)
    both = [one for one in models if one.arms and one.arms.single.rate is not None and one.arms.multi.rate is not None]
    ratios = {one.model: one.arms.ratio for one in both if one.arms and one.arms.ratio is not None}
    greatest = max(ratios, key=lambda model: ratios[model], default=None)
    return AcrossModels(
        benchmark=first.benchmark,
        measures=first.measures,
        type_name=first.type_name,
        ddof=ddof,
        models=models,
        overall=_spreads([summary.metrics for summary in summaries], names, ddof),
        by_task_type=_parts(
            [{name: part.metrics for name, part in summary.by_task_type.items()} for summary in summaries], names, ddof
        ),
        by_label={
            label: _parts(
                [
                    {value: part.metrics for value, part in summary.by_label.get(label, {}).items()}
                    for summary in summaries
                ],
                names,
                ddof,
            )
            for label in dict.fromkeys(label for summary in summaries for label in summary.by_label)
        },
        every_multi_above_single=all(_above(one.arms) for one in both) if both else None,
        greatest_ratio=ratios[greatest] if greatest is not None else None,
        greatest_ratio_model=greatest,
    )


def spread(values: Sequence[float | None], ddof: int = DDOF) -> Spread:
    """Mean and standard deviations of the values that are there."""
    there = [value for value in values if value is not None]
    n = len(there)
    if not n:
        return Spread(mean=None, sd=None, sd_population=None, n=0, ddof=ddof, least=None, greatest=None)
    # Exact: the order of the models must not show in the last digit.
    exact = [Fraction(value) for value in there]
    mean = sum(exact, Fraction(0)) / n
    squares = sum(((value - mean) ** 2 for value in exact), Fraction(0))
    enough = n >= LEAST_MODELS
    return Spread(
        mean=float(mean),
        sd=math.sqrt(squares / (n - ddof)) if enough else None,
        sd_population=math.sqrt(squares / n) if enough else None,
        n=n,
        ddof=ddof,
        least=min(there),
        greatest=max(there),
    )


def _check(summaries: Sequence[Summary], ddof: int) -> None:
    if ddof not in (0, 1):
        raise ValueError(f"ddof is 0 or 1, not {ddof}")
    if len(summaries) < LEAST_MODELS:
        raise SetupError("a table over models needs the runs of at least two models")
    benchmarks = sorted({summary.benchmark for summary in summaries})
    if len(benchmarks) > 1:
        raise SetupError(f"these are runs of {' and '.join(benchmarks)}: a table over models is of one benchmark")
    twice = sorted(model for model, n in Counter(summary.model for summary in summaries).items() if n > 1)
    if twice:
        raise SetupError(
            f"{', '.join(twice)}: more than one run of the same model, which would count twice; name one run of each"
        )


def _model(summary: Summary) -> ModelFigures:
    figures = {measure.name: _value(summary.metrics, measure.name) for measure in summary.measures}
    return ModelFigures(
        model=summary.model,
        run=summary.run,
        judge=summary.judge,
        samples=summary.samples,
        figures=figures,
        arms=summary.arms,
    )


def _above(arms: Arms | None) -> bool:
    return arms is not None and arms.difference is not None and arms.difference > 0


def _parts(by_model: Sequence[Mapping[str, Part]], names: Sequence[str], ddof: int) -> dict[str, dict[str, Spread]]:
    """The parts in order of first appearance; a part that a model does not have is missing there, and `n` says so."""
    parts = dict.fromkeys(part for one in by_model for part in one)
    return {part: _spreads([one.get(part, {}) for one in by_model], names, ddof) for part in parts}


def _spreads(by_model: Sequence[Part], names: Sequence[str], ddof: int) -> dict[str, Spread]:
    made = {name: spread([_value(one, name) for one in by_model], ddof) for name in names}
    return {name: one for name, one in made.items() if one.n}


def _value(metrics: Part, name: str) -> float | None:
    metric = metrics.get(name)
    return metric.value if metric is not None else None
