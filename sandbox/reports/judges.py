"""Agreement of people with the judge, for the terminal.

Knows: agreement by kind and how people read it. Must not know: labels, files. Rates become percent here.
"""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.text import Text

from sandbox.judging.human_labels import BetweenRaters, KindAgreement
from sandbox.judging.sheet import Kind
from sandbox.reports.figure_table import figure_table
from sandbox.reports.terminal import NOTHING, percent
from sandbox.reports.untrusted import one_line
from sandbox.verdict_counts import JudgeCounts


def agreement_report(kinds: Mapping[Kind, KindAgreement], judging: JudgeCounts) -> RenderableType:
    """The figures by kind, the confusions, the people, and what the coefficients mean."""
    figures = figure_table("People and judge", ["n", "agree %", "95 % interval", "κ", "α", "in the run %", "κ"])
    for kind, made in kinds.items():
        interval = NOTHING if made.interval is None else f"{percent(made.interval[0])}–{percent(made.interval[1])}"
        n = str(made.labelled - made.ties)
        weighted = (percent(made.agreement_in_run), coefficient(made.kappa_in_run))
        row = (percent(made.agreement), interval, coefficient(made.kappa), coefficient(made.alpha), *weighted)
        figures.add_row(kind, n, *row)
    parts: list[RenderableType] = [figures]
    for kind, made in kinds.items():
        parts += ["", _confusion(kind, made)]
    parts += ["", _raters(kinds)]
    return Group(*parts, "", _notes(kinds, judging))


def coefficient(value: float | None) -> str:
    """κ or α with two decimals, a dash where it says nothing."""
    return NOTHING if value is None else f"{value:.2f}".replace("-", "−")


def _confusion(kind: Kind, made: KindAgreement) -> RenderableType:
    labels = list(made.confusion)
    table = figure_table(f"{kind}: people say ↓, judge says →", labels)
    for human, row in made.confusion.items():
        table.add_row(human, *(str(row[judge]) for judge in labels))
    return table


def _raters(kinds: Mapping[Kind, KindAgreement]) -> RenderableType:
    table = figure_table("Who", ["kind", "labels", "agree %", "κ"])
    for kind, made in kinds.items():
        for rater, own in made.raters.items():
            cells = (str(own.labels), percent(own.agreement), coefficient(own.kappa))
            table.add_row(f"{one_line(rater, 30)} and the judge", kind, *cells)
        if made.between_raters is not None:
            table.add_row("among themselves (α for κ)", kind, *_between(made.between_raters))
    return table


def _between(made: BetweenRaters) -> tuple[str, ...]:
    return str(made.judgements), percent(made.agreement), coefficient(made.alpha)


def _notes(kinds: Mapping[Kind, KindAgreement], judging: JudgeCounts) -> Text:
    notes = ["κ: Cohen. α: Krippendorff, ordinal for support. A dash: the labels at hand cannot tell."]
    notes.append("In the run: weighted to how often the run has each verdict; the sheet draws rare ones as often.")
    ties = sum(made.ties for made in kinds.values())
    if ties:
        notes.append(f"{ties} judgements on which people have no majority are left out.")
    if judging.checked_pairs:
        notes.append(
            f"The judge contradicted itself in {judging.contradictions} of {judging.checked_pairs} single citations "
            "(supports, yet not relevant)."
        )
    notes.append("No score has changed.")
    return Text("\n".join(notes))
