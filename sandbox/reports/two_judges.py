"""Agreement of two judges on the same answers, for the terminal; the judgements on which they disagree first.

Knows: an agreement and how people read one. Must not know: records, files. Rates become percent here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from sandbox.comparing.judge_agreement import Disagreement, JudgeAgreement
from sandbox.reports.figures import NOTHING, figure_table, percent, percent_range
from sandbox.reports.judges import ORDINAL, PASSING, coefficient
from sandbox.reports.untrusted import one_line

TEXT_CELLS, REASON_CELLS = 74, 70


def agreement_text(made: JudgeAgreement) -> RenderableType:
    """The judgements that disagree, the figures by kind, who said what."""
    parts: list[RenderableType] = [*_disagreements(made), ""] if made.disagreements else []
    figures = figure_table("The two judges", ["n", "agree %", "95 % interval", "κ", "α", "only A", "only B"])
    for kind, found in made.kinds.items():
        interval = percent_range(found.interval)
        cells = (str(found.judged), percent(found.agreement), interval, coefficient(found.kappa))
        figures.add_row(kind, *cells, coefficient(found.alpha), str(found.only_a), str(found.only_b))
        if found.passing is not None:
            low, high = found.passing.interval
            rates = (percent(found.passing.agreement), f"{percent(low)}–{percent(high)}")
            ends = (coefficient(found.passing.kappa), NOTHING, NOTHING, NOTHING)
            figures.add_row(f"{kind}: {PASSING}", str(found.judged), *rates, *ends)
    parts.append(figures)
    for kind, found in made.kinds.items():
        if found.agreement is not None and found.agreement < 1:
            table = figure_table(f"{kind}: A says ↓, B says →", list(found.confusion))
            for label, row in found.confusion.items():
                table.add_row(label, *(str(n) for n in row.values()))
            parts += ["", table]
    note = f"κ: Cohen. α: Krippendorff, ordinal for {ORDINAL}. A dash: only one label occurs. Intervals by question."
    return Group(*parts, "", Text(note))


def _disagreements(made: JudgeAgreement) -> Iterator[RenderableType]:
    shown = len(made.disagreements)
    what = f"The {shown} gravest of {made.n_disagreements:,}" if shown < made.n_disagreements else f"All {shown}"
    yield Text(f"{what} judgements on which the judges disagree", style="bold")
    for row in made.disagreements:
        yield Text(f"{row.kind}: A {one_line(row.a, 20)}, B {one_line(row.b, 20)} · {_where(row)}")
        lines = [one_line(row.text, TEXT_CELLS)]
        lines += [f"{letter}: {one_line(reason, REASON_CELLS)}" for letter, reason in _reasons(row).items() if reason]
        yield Padding(Text("\n".join(lines)), (0, 0, 0, 2), expand=False)


def _reasons(row: Disagreement) -> Mapping[str, str]:
    return {"A": row.reason_a, "B": row.reason_b}


def _where(row: Disagreement) -> str:
    parts = [one_line(row.sample_id, 30)]
    parts += [f"repeat {row.repeat}"] if row.repeat else []
    parts += [f"sentence {row.sentence + 1}"] if row.sentence is not None else []
    parts += [f"citation [{row.number}]"] if row.number is not None else []
    return ", ".join(parts)
