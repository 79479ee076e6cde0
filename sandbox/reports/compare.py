"""A paired comparison for the terminal: is the difference real, where does it come from, which questions moved.

Knows: a comparison and how people read one. Must not know: records, files, how a figure is made. Rates become percent
and differences points here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sandbox.comparing.comparison import Comparison, MovedSide, Side
from sandbox.comparing.metric_change import AsZero
from sandbox.measuring.tally import NamedMeasure
from sandbox.reports.figures import NOTHING, as_words, figure_table, percent
from sandbox.reports.two_judges import agreement_text
from sandbox.reports.untrusted import one_line
from sandbox.settings import EMBEDDED

ALPHA = 0.05
QUESTION_CELLS = 74
LEAST_SHOWN = 0.0005
"""Differences that would be printed as 0.0 have no sign."""


def comparison_report(made: Comparison) -> RenderableType:
    """The whole comparison, fit for 80 columns."""
    parts: list[RenderableType] = [_heading("A", made.a), _heading("B", made.b), *_marks(made), "", _overlap(made)]
    if made.agreement is not None:
        parts += ["", agreement_text(made.agreement)]
    if made.questions.compared:
        parts += ["", _differences(made), "", *_conclusions(made)]
        parts += ["", _discordant(made), *_otherwise(made)]
        parts += ["", _changes(made)]
        parts += ["", _by_type(made)] if made.by_task_type else []
        parts += ["", *_moved(made)] if made.moved else []
    return Group(*parts, "", _notes(made))


def points(difference: float | None) -> str:
    """A difference of rates as signed percentage points with one decimal, a dash where there is none."""
    if difference is None:
        return NOTHING
    return "0.0" if abs(difference) < LEAST_SHOWN else f"{100 * difference:+.1f}".replace("-", "−")


def p_value(p: float | None) -> str:
    """A p-value with three decimals, a dash where there is none."""
    if p is None:
        return NOTHING
    return "<.001" if p < 0.001 else f"{p:.3f}"


def _heading(letter: str, side: Side) -> RenderableType:
    repeats = "" if side.sessions == side.questions else f", {side.sessions} sessions"
    first = Text(f"{letter}  {one_line(side.benchmark)} · {one_line(side.model)}", style="bold")
    first.append(f" · {side.questions} questions{repeats}", style="not bold")
    started = f" · started {side.started[:10]}" if side.started else ""
    return Group(first, Text(f"   judge {one_line(side.judge)} · {one_line(side.run)}{started}"))


def _marks(made: Comparison) -> Iterator[RenderableType]:
    """What a reader must know before any figure."""
    for words in made.forced_over:
        yield Text(f"FORCED  {one_line(words)}", style="bold")
    for letter, side in (("A", made.a), ("B", made.b)):
        if side.unfinished:
            yield Text(
                f"UNFINISHED  {letter} has {side.sessions} of {side.expected_sessions} sessions: what is missing may "
                "be unlike the rest",
                style="bold",
            )


def _overlap(made: Comparison) -> Text:
    counts = made.questions
    rest = [f"{n} only in {letter}" for n, letter in ((counts.only_a, "A"), (counts.only_b, "B")) if n]
    rest += [f"{counts.changed} with the same id but other words"] if counts.changed else []
    left = f"; not compared: {', '.join(rest)}" if rest else ""
    both = "1 question is" if counts.compared == 1 else f"{counts.compared} questions are"
    lines = [f"{both} in both runs and compared one by one{left}."]
    lines += [f"From A to B: {one_line(words)}" for words in (*made.model_differences, *made.judge_differences)]
    if made.titles_apart:
        lines.append(f"In one of the runs only, and not compared: {'; '.join(made.titles_apart)}.")
    if made.agreement is not None:
        lines.append("The answers and their evidence are the same: whatever differs below, the judges made it.")
    elif not made.model_differences and not made.forced_over:
        lines.append("The two runs have the same settings: what differs between them is chance.")
    return Text("\n".join(lines))


def _differences(made: Comparison) -> Table:
    level = f"{100 * made.statistics.level:.0f} % interval"
    table = figure_table("Difference, points", ["A %", "B %", "B − A", level, "p", "Holm", "n"])
    for measure in made.measures:
        change = made.metrics[measure.name]
        table.add_row(
            measure.title,
            percent(change.a),
            percent(change.b),
            points(change.difference),
            _range(change.interval),
            p_value(change.p),
            p_value(change.p_holm),
            str(change.pairs),
        )
    return table


def _range(ends: tuple[float, float] | None) -> str:
    return NOTHING if ends is None else f"{points(ends[0])} to {points(ends[1])}"


def _conclusions(made: Comparison) -> Iterator[RenderableType]:
    tested = [one for one in made.measures if made.metrics[one.name].p_holm is not None]
    real = [one for one in tested if (made.metrics[one.name].p_holm or 0) < ALPHA]
    open_ = [one for one in tested if one not in real]
    if real:
        found = ", ".join(f"{one.title} {points(made.metrics[one.name].difference)}" for one in real)
        yield Text(f"Real beyond chance (p < {ALPHA} after Holm): {found}.")
    if open_:
        yield Text(f"Not shown to differ: {', '.join(one.title for one in open_)}. That is not shown to be equal.")
    turning = [one.title for one in made.measures if _sign_open(made.metrics[one.name].bounds)]
    if turning:
        yield Text(f"Verdicts are missing; they could turn the sign of: {', '.join(turning)}.")
    for one in _headlines(made):
        change = made.metrics[one.name]
        if change.strength is not None:
            strength = change.strength
            yield Text(
                f"{one.title}: {change.pairs} questions can show {100 * strength.detectable:.1f} points "
                f"({100 * made.statistics.power:.0f} % power); {100 * made.statistics.target:.0f} points would need "
                f"{strength.questions_for_target:,} questions."
            )


def _headlines(made: Comparison) -> list[NamedMeasure]:
    return [one for one in made.measures if one.headline] or list(made.measures[:1])


def _sign_open(bounds: tuple[float, float] | None) -> bool:
    return bounds is not None and bounds[0] <= 0 <= bounds[1]


def _discordant(made: Comparison) -> Table:
    table = figure_table("Questions", ["A higher", "B higher", "equal", "left out A", "B"])
    for measure in made.measures:
        change = made.metrics[measure.name]
        lost = (str(_lost(change.left_out.a)), str(_lost(change.left_out.b)))
        table.add_row(
            measure.short, str(change.higher_in_a), str(change.higher_in_b), str(change.equal), lost[0], lost[1]
        )
    return table


def _otherwise(made: Comparison) -> Iterator[RenderableType]:
    """What B − A would be if what is left out counted, and what missing verdicts could have made of it."""
    table = figure_table("B − A with…", ["left out as 0", "missing verdicts either way"])
    for measure in made.measures:
        change = made.metrics[measure.name]
        if change.left_out_as_zero or change.bounds:
            table.add_row(
                measure.short, _zeros(change.left_out_as_zero), _range(change.bounds) if change.bounds else ""
            )
    if table.row_count:
        yield Text()
        yield table


def _lost(reasons: Mapping[str, int]) -> int:
    return sum(reasons.values())


def _zeros(zeros: AsZero | None) -> str:
    return "" if zeros is None else f"{points(zeros.difference)} (n {zeros.pairs})"


def _changes(made: Comparison) -> Table:
    """Where the difference comes from: each change of state with the points that it gives to the whole."""
    shared = [one for one in made.measures if one.always and made.metrics[one.name].pairs]
    table = figure_table("Where it comes from: A → B", ["questions", *(one.short for one in shared)])
    for change in made.changes:
        before, after = as_words(change.a), as_words(change.b)
        label = f"{before}, both" if before == after else f"{before} → {after}"
        table.add_row(label, str(change.questions), *(points(change.share[one.name]) for one in shared))
    table.add_section()
    table.add_row(
        "all",
        str(made.questions.compared),
        *(points(made.metrics[one.name].difference) for one in shared),
        style="bold",
    )
    return table


def _by_type(made: Comparison) -> Table:
    there = [one for one in made.measures if any(one.name in change.metrics for change in made.by_task_type.values())]
    known_by = [one for one in there if one.headline] or there[:1]
    table = figure_table(
        f"By {as_words(made.type_name)}, B − A", ["n", *(column for one in known_by for column in (one.short, ""))]
    )
    for task_type, change in made.by_task_type.items():
        cells = [
            cell
            for one in known_by
            for cell in (points(change.metrics[one.name].difference), _range(change.metrics[one.name].interval))
        ]
        table.add_row(one_line(task_type, 24), str(change.questions), *cells)
    return table


def _moved(made: Comparison) -> Iterator[RenderableType]:
    moved = made.moved
    yield Text(f"The {len(moved)} questions that moved most" if len(moved) > 1 else "One question moved", style="bold")
    for question in moved:
        a, b = question.a.values, question.b.values
        figures = " · ".join(
            f"{one.short} {percent(a[one.name])} → {percent(b[one.name])}"
            for one in _headlines(made)
            if a[one.name] != b[one.name]
        )
        yield Text(f"{one_line(question.sample_id, 30)} · {figures}" if figures else one_line(question.sample_id, 30))
        yield Padding(Text(_why(question.a, question.b, made.measures)), (0, 0, 0, 2), expand=False)
        yield Padding(Text(one_line(question.question, QUESTION_CELLS)), (0, 0, 0, 2), expand=False)


def _why(a: MovedSide, b: MovedSide, measures: Sequence[NamedMeasure]) -> str:
    """The change of state with its causes; where the state is the same, the parts of the score that changed."""
    if a.state != b.state:
        reasons = [f"{_state(a)} → {_state(b)}"]
    else:
        reasons = [] if a.state == "answered" else [f"{_state(a)}, both"]
        reasons += [
            f"{one.title.lower()} {percent(a.values[one.name])} → {percent(b.values[one.name])}"
            for one in measures
            if not one.headline and a.values[one.name] != b.values[one.name]
        ]
    for letter, mine, other in (("A", a, b), ("B", b, a)):
        flags = [flag for flag in mine.flags if flag not in other.flags and flag != mine.state]
        reasons += [f"{', '.join(map(as_words, flags))} in {letter}"] if flags else []
    return "; ".join(reasons) or "another verdict on an answer of the same kind"


def _state(side: MovedSide) -> str:
    causes = f" ({', '.join(map(as_words, side.causes))})" if side.causes else ""
    return f"{as_words(side.state)}{causes}"


def _notes(made: Comparison) -> Text:
    tests = {change.test for change in made.metrics.values()}
    how = made.statistics
    notes: list[str] = []
    if "mcnemar-exact" in tests:
        notes.append("Rates: McNemar's exact test, Tango's interval.")
    if "paired-bootstrap" in tests:
        what = "Means" if "mcnemar-exact" in tests else "All metrics"
        notes.append(f"{what}: bootstrap by question, {how.resamples:,} draws, seed {how.seed}.")
    if made.by_task_type:
        notes.append("By type: intervals only; so many would need a stricter test.")
    for letter, side in (("A", made.a), ("B", made.b)):
        if side.checked_pairs:
            notes.append(
                f"The judge contradicted itself on {letter} in {side.contradictions} of {side.checked_pairs} "
                "single citations (supports, yet not relevant)."
            )
    if {made.a.model, made.b.model, made.a.judge, made.b.judge} & set(EMBEDDED):
        notes.append("An embedded baseline took part: these scores compare with nothing published.")
    return Text("\n".join(notes))
