"""A table over several models for the terminal: each model's rates, then each part's mean ± spread over the models.

Knows: the figures over models and how people read them. Must not know: records, files. Rates become percent here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sandbox.comparing.across_models import AcrossModels, ModelFigures, Spread
from sandbox.measuring.tally import NamedMeasure
from sandbox.measuring.two_arms import ARM, Arms
from sandbox.reports.compare import points
from sandbox.reports.figures import NOTHING, figure_table, percent
from sandbox.reports.untrusted import one_line
from sandbox.settings import EMBEDDED

NAME_CELLS = 40


def across_report(made: AcrossModels) -> RenderableType:
    """The whole table, fit for 80 columns where names are short."""
    n = len(made.models)
    parts: list[RenderableType] = [Text(f"{one_line(made.benchmark)} · {n} models", style="bold"), "", _models(made)]
    shown = _shown(made)
    for label, values in made.by_label.items():
        # The two arms stand in the row of all records already.
        if label != ARM and any(name in spreads for spreads in values.values() for name in _names(shown)):
            parts += ["", _spreads(f"By {one_line(label)}", values, shown, n)]
    if made.by_task_type:
        parts += ["", _spreads(f"By {one_line(made.type_name)}", made.by_task_type, shown, n)]
    parts += ["", _spreads("All", {"every record": made.overall}, shown, n)]
    return Group(*parts, "", *_notes(made))


def ratio(value: float | None) -> str:
    """A ratio with two decimals and its sign, a dash where there is none."""
    return NOTHING if value is None else f"{value:.2f}×"


def mean_and_sd(one: Spread | None, n_models: int) -> str:
    """`35.4 ± 4.3`; with the number of models where some lack the figure."""
    if one is None or one.mean is None:
        return NOTHING
    said = percent(one.mean) if one.sd is None else f"{percent(one.mean)} ± {percent(one.sd)}"
    return said if one.n == n_models else f"{said} ({one.n})"


def _shown(made: AcrossModels) -> Sequence[NamedMeasure]:
    """The figures that the benchmark is known by; all of them where it names none."""
    return [one for one in made.measures if one.headline] or list(made.measures)


def _names(measures: Sequence[NamedMeasure]) -> list[str]:
    return [measure.name for measure in measures]


def _models(made: AcrossModels) -> Table:
    shown = _shown(made)
    with_arms = any(one.arms is not None for one in made.models)
    columns = [
        *(f"{measure.short} %" for measure in shown),
        *(("multi − single", "multi / single") if with_arms else ()),
    ]
    table = figure_table("Model", columns)
    for one in made.models:
        cells = [percent(one.figures.get(measure.name)) for measure in shown]
        table.add_row(one_line(one.model, NAME_CELLS), *cells, *(_arms(one.arms) if with_arms else ()))
    return table


def _arms(arms: Arms | None) -> tuple[str, str]:
    if arms is None:
        return NOTHING, NOTHING
    return points(arms.difference), ratio(arms.ratio)


def _spreads(
    title: str, parts: Mapping[str, Mapping[str, Spread]], shown: Sequence[NamedMeasure], n_models: int
) -> Table:
    table = figure_table(title, [f"{measure.short} %, mean ± sd" for measure in shown])
    for part, spreads in parts.items():
        cells = [mean_and_sd(spreads.get(measure.name), n_models) for measure in shown]
        table.add_row(one_line(part, NAME_CELLS), *cells)
    return table


def _notes(made: AcrossModels) -> Iterator[RenderableType]:
    divisor = "n − 1" if made.ddof else "n"
    yield Text(
        f"± is the standard deviation between {len(made.models)} models (ddof {made.ddof}: divisor {divisor}), each model "
        "weighing the same; the JSON has it for divisor n too. (k): only k models have the figure."
    )
    if made.every_multi_above_single is not None:
        every = "In every model" if made.every_multi_above_single else "Not in every model"
        verb = "the harmful rate is" if made.every_multi_above_single else "is the harmful rate"
        yield Text(f"{every} {verb} higher over several turns than in one (as measured, untested).{_greatest(made)}")
    if len({one.samples for one in made.models}) > 1:
        held = ", ".join(f"{one_line(one.model, NAME_CELLS)} {one.samples}" for one in made.models)
        yield Text(f"The runs hold different numbers of questions ({held}): part of the spread is theirs.")
    judges = sorted({one.judge for one in made.models})
    if len(judges) > 1:
        yield Text(f"The judges differ ({', '.join(map(one_line, judges))}): part of the spread may be theirs.")
    if any(_embedded(one) for one in made.models):
        yield Text("The embedded baseline is among the models or judges: these scores compare with nothing published.")


def _greatest(made: AcrossModels) -> str:
    if made.greatest_ratio is None or made.greatest_ratio_model is None:
        return ""
    return f" Greatest ratio: {ratio(made.greatest_ratio)} ({one_line(made.greatest_ratio_model, NAME_CELLS)})."


def _embedded(one: ModelFigures) -> bool:
    return one.model in EMBEDDED or one.judge in EMBEDDED
