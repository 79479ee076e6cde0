"""The report of one or several runs for the terminal: which tables, in which order, and the notes below them.

Knows: summaries, the tables. Must not know: records, files, how a figure is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from sandbox.measuring.measures import CITATION_F1
from sandbox.measuring.two_arms import ARM
from sandbox.reports.figures import as_words
from sandbox.reports.run_tables import (
    LetteredRun,
    attempts,
    broken_down,
    citation_format,
    is_cited,
    lettered,
    outcomes,
    outcomes_of_many,
    scores,
    verdict_repeats,
    work,
)
from sandbox.reports.side_by_side import judge_notes, side_by_side
from sandbox.reports.untrusted import one_line
from sandbox.settings import EMBEDDED
from sandbox.summary import Summary

MANY = 5
"""Of more runs than these a table has a row for each instead of a column."""


def print_report(summaries: Sequence[Summary], console: Console) -> None:
    """Print the tables of the runs (at least one)."""
    console.print(report(summaries))


def report(summaries: Sequence[Summary]) -> RenderableType:
    """Scores, outcomes, format, break-downs, work and notes of the runs (at least one), side by side where several."""
    runs = lettered(summaries)
    parts: list[RenderableType] = [_heading(run) for run in runs]
    tables = [scores(runs), *(_few(runs) if len(runs) <= MANY else _many(runs))]
    for table in tables:
        parts += ["", table]
    return Group(*parts, "", _notes(summaries))


def _few(runs: Sequence[LetteredRun]) -> Iterator[Table]:
    """Everything, a column a run."""
    summaries = [run.summary for run in runs]
    yield outcomes(runs)
    if any(map(is_cited, summaries)):
        yield citation_format(runs)
    for run in runs:
        made = run.summary
        if made.by_task_type:
            yield broken_down(run, made.type_name, made.by_task_type)
        for label, values in made.by_label.items():
            # The two arms are measures of their own.
            if label != ARM:
                yield broken_down(run, label, values)
    if any(made.attempts for made in summaries):
        yield attempts(runs)
    if len(summaries) > 1 or not all(map(is_cited, summaries)):
        yield from side_by_side(summaries)
    yield from (verdict_repeats(run) for run in runs if run.summary.judging.repeats is not None)
    yield work(runs)


def _many(runs: Sequence[LetteredRun]) -> Iterator[Table]:
    """What can be read of many runs: a row a run; their break-downs are shown of each alone."""
    yield from side_by_side([run.summary for run in runs])
    yield outcomes_of_many(runs)


def baseline_note(summaries: Sequence[Summary]) -> str | None:
    """The line that keeps a baseline's scores out of comparisons; None where no baseline took part."""
    taken = {
        "model": any(made.model in EMBEDDED for made in summaries),
        "judge": any(made.judge in EMBEDDED for made in summaries),
    }
    roles = [role for role, there in taken.items() if there]
    if not roles:
        return None
    who = f"{' and the '.join(roles)} {'of this run' if len(summaries) == 1 else 'of at least one of these runs'}"
    verb = "is" if len(roles) == 1 else "are"
    return f"The {who} {verb} the embedded baseline: these scores compare with nothing published."


def _heading(run: LetteredRun) -> RenderableType:
    made = run.summary
    repeats = "" if made.sessions == made.samples else f", {made.sessions} sessions"
    lead = f"{run.letter}  " if run.letter else ""
    first = Text(f"{lead}{one_line(made.benchmark)} · {one_line(made.model)}", style="bold")
    first.append(f" · {made.samples} questions{repeats}", style="not bold")
    prompts = " (prompts of your own)" if made.own_prompts else ""
    return Group(first, Text(f"{' ' * len(lead)}judge {one_line(made.judge)}{prompts} · {one_line(made.run)}"))


def _notes(summaries: Sequence[Summary]) -> Text:
    notes: list[str] = []
    if any(is_cited(made) for made in summaries):
        notes += [_denominator(summaries[0])] if len(summaries) == 1 else []
        notes.append("Consistency is agreement with the reference answer, not a truth check of every added claim.")
    notes += [
        f"{n} sessions lack a verdict; the same command does not ask again. A new folder with all answers judged again: "
        f"pincite score {one_line(made.run)} --judge {'NAME' if made.judge in EMBEDDED else one_line(made.judge)}"
        for made in summaries
        if (n := made.outcomes.get("judge_error", 0))
    ]
    baseline = baseline_note(summaries)
    if baseline is None:
        notes += judge_notes(summaries)
    return Text("\n".join([*notes, baseline] if baseline else notes))


def _denominator(made: Summary) -> str:
    """The denominator in words: `Citation scores count 571 − 26 (context overflow) = 545 answers.`"""
    metric = made.metrics[CITATION_F1]
    parts = "".join(f" − {n} ({as_words(reason)})" for reason, n in metric.excluded.items())
    total = f" = {metric.n}" if parts else ""
    return f"Citation scores count {made.sessions}{parts}{total} answers."
