"""Several runs in one table: the form in which each benchmark's publication reports, and what two runs of a model show.

Knows: summaries, the published forms. Must not know: records, files, how a figure is made.

Differences here are of two runs' own figures, without a test: `pincite compare` pairs the questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.table import Table

from sandbox.benchmarks.benchmark import PublishedForm
from sandbox.benchmarks.table import BENCHMARKS
from sandbox.measuring.tally import Metric
from sandbox.reports.figures import NOTHING, figure_table
from sandbox.reports.untrusted import one_line
from sandbox.summary import Summary

ENGLISH, JAPANESE = "multichallenge", "j-multichallenge"
MODEL_CELLS = 28
PLAIN = "pass_rate"
"""The rate of single attempts, and the mean of several."""


@dataclass(frozen=True, slots=True)
class _Two:
    """Two runs of one model that differ in one thing."""

    model: str
    before: Summary
    after: Summary


def side_by_side(summaries: Sequence[Summary]) -> Iterator[Table]:
    """The tables that several runs make together; none for one run of a benchmark without a published form."""
    for name in dict.fromkeys(made.benchmark for made in summaries):
        form = BENCHMARKS[name].published if name in BENCHMARKS else None
        if form is not None:
            runs = [made for made in summaries if made.benchmark == name]
            # pass@2 and pass@3 of a task type are no figures of one column.
            rates = [_rate(made) if form.by_type else "" for made in runs]
            for rate in dict.fromkeys(rates):
                alike = [made for made, other in zip(runs, rates, strict=True) if other == rate]
                yield _published(alike, form, rate)
    thinking = list(_thinking_pairs(summaries))
    if thinking:
        yield _thinking(thinking)
    languages = list(_language_pairs(summaries))
    if languages:
        yield _languages(languages)


def judge_notes(summaries: Sequence[Summary]) -> list[str]:
    """A sentence for each benchmark whose published figures another judge made, or the same one in other words."""
    notes: list[str] = []
    for name in dict.fromkeys(made.benchmark for made in summaries):
        form = BENCHMARKS[name].published if name in BENCHMARKS else None
        others = sorted({made.judge for made in summaries if made.benchmark == name})
        if form is not None and not all(_same_model(judge, form.judge) for judge in others):
            notes.append(f"Published figures of {name} are {form.judge}'s verdicts: another judge's compare with care.")
    return notes


def _same_model(name: str, published: str) -> bool:
    """Servers put an owner in front of a model's name, and say it in any case."""
    return name.casefold().rpartition("/")[2] == published.casefold()


def _published(summaries: Sequence[Summary], form: PublishedForm, rate: str) -> Table:
    """The publication's table; `rate` is what it shows of each task type, where it does."""
    shown = _fraction if form.fraction else _percent
    columns = list(dict.fromkeys(name for made in summaries for name in _columns(made, form)))
    titles = {one.name: one.short for made in summaries for one in made.measures}
    types = list(dict.fromkeys(name for made in summaries for name in made.by_task_type)) if form.by_type else []
    heads = ["thinking"] if form.thinking else []
    heads += [_head(name) for name in types]
    heads += [titles[name] for name in columns]
    heads += ["difference", "ratio"] if any(made.arms for made in summaries) else []
    table = figure_table(f"As published · {summaries[0].benchmark}{_said(summaries[0], rate)}", heads)
    for made in summaries:
        cells = [_thought(made)] if form.thinking else []
        cells += [shown(_of_type(made, name, rate)) for name in types]
        cells += [shown(made.metrics.get(name)) for name in columns]
        cells += _arms(made) if any(other.arms for other in summaries) else []
        table.add_row(one_line(made.model, MODEL_CELLS), *cells)
    return table


def _thought(made: Summary) -> str:
    """The publication's o for answers with reasoning; with the share where only some had it (its note 11 names a model
    of which nine in ten had none).
    """
    share = "" if made.thinking == made.sessions else f" {made.thinking}/{made.sessions}"
    return f"o{share}" if made.thinking else NOTHING


def _arms(made: Summary) -> list[str]:
    """What the attack adds, and how many times the plain rate it is."""
    if made.arms is None or made.arms.difference is None:
        return [NOTHING, NOTHING]
    ratio = NOTHING if made.arms.ratio is None else f"{made.arms.ratio:.2f}"
    return [f"{made.arms.difference:+.3f}".replace("-", "−"), ratio]


def _columns(made: Summary, form: PublishedForm) -> list[str]:
    """The form's measures that the run has; a name that ends in * stands for the first that begins so."""
    names = [one.name for one in made.measures]
    found = (
        next(
            (name for name in names if name == wanted or (wanted.endswith("*") and name.startswith(wanted[:-1]))), None
        )
        for wanted in form.measures
    )
    return [name for name in found if name is not None]


def _head(task_type: str) -> str:
    """A task type as a column's head: one word a line, so that the table fits."""
    return one_line(task_type, 40).replace("_", "\n")


def _rate(made: Summary) -> str:
    """The measure whose figures by task type are shown: the first that a single type can have."""
    return next(
        (one.name for one in made.measures for part in made.by_task_type.values() if one.name in part.metrics), ""
    )


def _said(made: Summary, rate: str) -> str:
    """What the rate by task type is called, behind the title; nothing where it is the plain pass rate."""
    return (
        ""
        if rate in ("", PLAIN)
        else next(f" · {one.title.partition(',')[0]}" for one in made.measures if one.name == rate)
    )


def _of_type(made: Summary, task_type: str, measure: str) -> Metric | None:
    part = made.by_task_type.get(task_type)
    return part.metrics.get(measure) if part is not None else None


def _thinking_pairs(summaries: Sequence[Summary]) -> Iterator[_Two]:
    """Runs of the same benchmark, model and rate, one without any reasoning and one with it."""
    for off in summaries:
        for on in summaries:
            alike = (off.benchmark, off.model, _rate(off)) == (on.benchmark, on.model, _rate(on))
            if alike and not off.thinking and on.thinking:
                yield _Two(off.model, off, on)


def _thinking(pairs: Sequence[_Two]) -> Table:
    """Both rates and the difference, by task type and over all."""
    table = figure_table("Thinking off → on, %", ["off", "on", "difference"])
    for pair in pairs:
        rate = _rate(pair.before)
        name = f"{one_line(pair.model, MODEL_CELLS)} · {pair.before.benchmark}{_said(pair.before, rate)}"
        table.add_row(name, *_change(pair.before.metrics.get(rate), pair.after.metrics.get(rate)))
        for task_type in pair.before.by_task_type:
            before, after = (_of_type(made, task_type, rate) for made in (pair.before, pair.after))
            table.add_row(f"  {one_line(task_type, 40)}", *_change(before, after))
    return table


def _language_pairs(summaries: Sequence[Summary]) -> Iterator[_Two]:
    """Runs of the same model, with reasoning or without in both, on MultiChallenge and on its Japanese version."""
    for english in (made for made in summaries if made.benchmark == ENGLISH):
        for japanese in (made for made in summaries if made.benchmark == JAPANESE):
            if (english.model, english.thinking > 0) == (japanese.model, japanese.thinking > 0):
                yield _Two(english.model, english, japanese)


def _languages(pairs: Sequence[_Two]) -> Table:
    """Both languages' rates over all questions and as mean of the axes: the two benchmarks publish different ones."""
    table = figure_table("English → Japanese, %", ["English", "Japanese", "difference"])
    for pair in pairs:
        table.add_row(f"{one_line(pair.model, MODEL_CELLS)}{' · thinking' if pair.after.thinking else ''}")
        for name, title in ((PLAIN, "all questions"), ("axis_mean", "mean of the axes")):
            table.add_row(f"  {title}", *_change(pair.before.metrics.get(name), pair.after.metrics.get(name)))
    return table


def _change(before: Metric | None, after: Metric | None) -> tuple[str, ...]:
    if before is None or after is None or before.value is None or after.value is None:
        return _percent(before), _percent(after), NOTHING
    difference = f"{100 * (after.value - before.value):+.1f}".replace("-", "−")
    return _percent(before), _percent(after), difference


def _percent(metric: Metric | None) -> str:
    return NOTHING if metric is None or metric.value is None else f"{100 * metric.value:.1f}"


def _fraction(metric: Metric | None) -> str:
    return NOTHING if metric is None or metric.value is None else f"{metric.value:.3f}"
