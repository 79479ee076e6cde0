"""Agreement of people with the judge, for the terminal.

Knows: agreement by kind and how people read it. Must not know: labels, files. Rates become percent here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from sandbox.judging.human_labels import BetweenRaters, KindAgreement, LabelAgreement
from sandbox.judging.sheet import Kind
from sandbox.reports.figures import NOTHING, figure_table, percent, percent_range
from sandbox.reports.untrusted import one_line
from sandbox.verdict_counts import JudgeCounts

PASSING = "passing"
"""What a row is called that asks of each label only whether the answer passes with it."""
ORDINAL = "support and safety"


def agreement_report(kinds: Mapping[Kind, KindAgreement], judging: JudgeCounts) -> RenderableType:
    """The figures by kind, the confusions, the people, and what the coefficients mean."""
    figures = figure_table("People and judge", ["n", "agree %", "95 % interval", "κ", "α", "in the run %", "κ"])
    asked = list(_asked(kinds))
    for name, made in asked:
        interval = percent_range(made.interval)
        n = str(made.labelled - made.ties)
        weighted = (percent(made.agreement_in_run), coefficient(made.kappa_in_run))
        row = (percent(made.agreement), interval, coefficient(made.kappa), coefficient(made.alpha), *weighted)
        figures.add_row(name, n, *row)
    parts: list[RenderableType] = [figures]
    for name, made in asked:
        parts += ["", _confusion(name, made)]
    parts += ["", _raters(asked)]
    if any(made.between_raters is not None for _, made in asked):
        parts += ["", _among_people(asked)]
    return Group(*parts, "", _notes(kinds, judging))


def coefficient(value: float | None) -> str:
    """κ or α with two decimals, a dash where it says nothing."""
    return NOTHING if value is None else f"{value:.2f}".replace("-", "−")


def _asked(kinds: Mapping[Kind, KindAgreement]) -> Iterator[tuple[str, LabelAgreement]]:
    """Each kind on its labels, then on whether the answer passes."""
    for kind, made in kinds.items():
        yield kind, made
        if made.passing is not None:
            yield f"{kind}: {PASSING}", made.passing


def _confusion(name: str, made: LabelAgreement) -> RenderableType:
    labels = list(made.confusion)
    table = figure_table(f"{name}: people say ↓, judge says →", labels)
    for human, row in made.confusion.items():
        table.add_row(human, *(str(row[judge]) for judge in labels))
    return table


def _raters(asked: Sequence[tuple[str, LabelAgreement]]) -> RenderableType:
    table = figure_table("Who", ["kind", "labels", "agree %", "κ"])
    for name, made in asked:
        for rater, own in made.raters.items():
            cells = (str(own.labels), percent(own.agreement), coefficient(own.kappa))
            table.add_row(f"{one_line(rater, 30)} and the judge", name, *cells)
    return table


def _among_people(asked: Sequence[tuple[str, LabelAgreement]]) -> RenderableType:
    table = figure_table("People among themselves", ["n", "raters", "pairs agree %", "unanimous %", "Fleiss κ", "α"])
    for name, made in asked:
        if made.between_raters is not None:
            table.add_row(name, *_between(made.between_raters))
    return table


def _between(made: BetweenRaters) -> tuple[str, ...]:
    rates = (percent(made.agreement), percent(made.unanimous))
    return str(made.judgements), str(made.raters), *rates, coefficient(made.fleiss), coefficient(made.alpha)


def _notes(kinds: Mapping[Kind, KindAgreement], judging: JudgeCounts) -> Text:
    notes = [f"κ: Cohen. α: Krippendorff, ordinal for {ORDINAL}. A dash: the labels at hand cannot tell."]
    notes.append("In the run: weighted to how often the run has each verdict; the sheet draws rare ones as often.")
    for name, made in _asked(kinds):
        if made.ties:
            notes.append(f"{name}: {made.ties} of {made.labelled} without a majority of people, left out.")
    if judging.checked_pairs:
        notes.append(
            f"The judge contradicted itself in {judging.contradictions} of {judging.checked_pairs} single citations "
            "(supports, yet not relevant)."
        )
    notes.append("No score has changed.")
    return Text("\n".join(notes))
