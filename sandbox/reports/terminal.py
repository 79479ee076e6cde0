"""Tables of one or several runs for the terminal.

Knows: summaries and how people read figures. Must not know: records, files. Rates become percent here and nowhere else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO, get_args

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from sandbox.measuring.measures import CITATION_F1
from sandbox.measuring.outcome import COUNTING
from sandbox.measuring.tally import Metric, NamedMeasure
from sandbox.measuring.two_arms import ARM, MULTI, SINGLE
from sandbox.record import Outcome
from sandbox.reports.side_by_side import judge_notes, side_by_side
from sandbox.reports.untrusted import one_line
from sandbox.settings import EMBEDDED
from sandbox.summary import OTHER, CodeLoss, Summary, TypeSummary

NOTHING = "–"
LEFT_OUT = "left out"
MANY = 5
"""Of more runs than these a table has a row for each instead of a column."""
JUDGE_HITS = "  answered by other runs' tapes"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class _Run:
    """A summary with the letter that stands for it in the tables; empty where there is one run only."""

    letter: str
    summary: Summary


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    value: Callable[[Summary], str]


def console_for(stream: TextIO) -> Console:
    """A console that prints texts as they are: no markup, no emoji codes, no colour where `stream` is no terminal."""
    return Console(file=stream, markup=False, emoji=False, highlight=False)


def print_report(summaries: Sequence[Summary], console: Console) -> None:
    """Print the tables of the runs (at least one)."""
    console.print(report(summaries))


def report(summaries: Sequence[Summary]) -> RenderableType:
    """Scores, outcomes, format, break-downs, work and notes of the runs (at least one), side by side where several."""
    runs = [_Run(_letter(i, len(summaries)), summary) for i, summary in enumerate(summaries)]
    parts: list[RenderableType] = [_heading(run) for run in runs]
    tables = [_scores(runs), *(_few(runs) if len(runs) <= MANY else _many(runs))]
    for table in tables:
        parts += ["", table]
    return Group(*parts, "", _notes(summaries))


def _few(runs: Sequence[_Run]) -> Iterator[Table]:
    """Everything, a column a run."""
    summaries = [run.summary for run in runs]
    yield _outcomes(runs)
    if any(map(_is_cited, summaries)):
        yield _format(runs)
    for run in runs:
        made = run.summary
        if made.by_task_type:
            yield _broken_down(run, made.type_name, made.by_task_type)
        for label, values in made.by_label.items():
            # The two arms are measures of their own.
            if label != ARM:
                yield _broken_down(run, label, values)
    if any(made.attempts for made in summaries):
        yield _attempts(runs)
    if len(summaries) > 1 or not all(map(_is_cited, summaries)):
        yield from side_by_side(summaries)
    yield from (_repeats(run) for run in runs if run.summary.judging.repeats is not None)
    yield _work(runs)


def _many(runs: Sequence[_Run]) -> Iterator[Table]:
    """What can be read of many runs: a row a run; their break-downs are shown of each alone."""
    yield from side_by_side([run.summary for run in runs])
    outcomes: tuple[Outcome, ...] = get_args(Outcome)
    causes = sorted({cause for run in runs for counted in run.summary.outcome_reasons.values() for cause in counted})
    causes = [cause for cause in causes if cause != OTHER]
    table = _table("Outcomes", [_words(name).replace(" ", "\n") for name in (*outcomes, *causes)])
    for run in runs:
        counted = Counter[str]()
        for reasons in run.summary.outcome_reasons.values():
            counted.update(reasons)
        figures = [run.summary.outcomes.get(outcome, 0) for outcome in outcomes] + [counted[cause] for cause in causes]
        table.add_row(f"{run.letter}  {one_line(run.summary.model, 28)}", *map(str, figures))
    yield table


def percent(rate: float | None) -> str:
    """A rate in 0–1 as percent with one decimal, a dash where there is none."""
    return NOTHING if rate is None else f"{100 * rate:.1f}"


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


def _letter(index: int, n: int) -> str:
    return "" if n == 1 else LETTERS[index] if n <= len(LETTERS) else str(index + 1)


def _heading(run: _Run) -> RenderableType:
    made = run.summary
    repeats = "" if made.sessions == made.samples else f", {made.sessions} sessions"
    lead = f"{run.letter}  " if run.letter else ""
    first = Text(f"{lead}{one_line(made.benchmark)} · {one_line(made.model)}", style="bold")
    first.append(f" · {made.samples} questions{repeats}", style="not bold")
    prompts = " (prompts of your own)" if made.own_prompts else ""
    return Group(first, Text(f"{' ' * len(lead)}judge {one_line(made.judge)}{prompts} · {one_line(made.run)}"))


def _table(title: str, columns: Sequence[str]) -> Table:
    """A table that fits 80 columns: the first column may wrap, figures stay whole and stand at the right."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 0, 0, 1), header_style="")
    table.add_column(Text(title, style="bold"), overflow="fold")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _scores(runs: Sequence[_Run]) -> Table:
    undecided = any(metric.undecided for run in runs for metric in run.summary.metrics.values())
    level = f"{100 * runs[0].summary.statistics.level:.0f} % interval"
    table = _table("Scores", ["", "%", level, "n", *(["bounds"] if undecided else [])])
    table.add_column("left out")
    for measure in measures_of(run.summary.measures for run in runs):
        label = measure.title
        for run in runs:
            metric = run.summary.metrics.get(measure.name)
            if metric is None:
                continue
            bounds = [_range(metric.bounds) if metric.undecided else ""] if undecided else []
            figures = [percent(metric.value), _range(metric.interval), str(metric.n), *bounds]
            table.add_row(label, run.letter, *figures, _left_out(metric))
            label = ""
    return table


def measures_of(told: Iterable[Sequence[NamedMeasure]]) -> list[NamedMeasure]:
    """The measures of all runs, each once, in the order of their tables."""
    return list({measure.name: measure for measures in told for measure in measures}.values())


def _range(ends: tuple[float, float] | None) -> str:
    return NOTHING if ends is None else f"{percent(ends[0])}–{percent(ends[1])}"


def _left_out(metric: Metric) -> str:
    return ", ".join(f"{n} {_words(reason)}" for reason, n in metric.excluded.items())


def _words(key: str) -> str:
    return one_line(key.replace("_", " "))


def _outcomes(runs: Sequence[_Run]) -> Table:
    cited = any(_is_cited(run.summary) for run in runs)
    table = _table(
        "Outcomes",
        [*(run.letter or "sessions" for run in runs), *(("consistency", "citation scores") if cited else ("verdict",))],
    )
    # Where less is better, who gave no answer did the worst: that is no 0; and a policy may leave such sessions out.
    harm = any(one.headline and not one.higher_is_better for run in runs for one in run.summary.measures)
    out = {reason for run in runs for metric in run.summary.metrics.values() for reason in metric.excluded}
    outcomes: tuple[Outcome, ...] = get_args(Outcome)
    for outcome in outcomes:
        counts = [str(run.summary.outcomes.get(outcome, 0)) for run in runs]
        rule = COUNTING[outcome]
        reasons = [run.summary.outcome_reasons.get(outcome, {}) for run in runs]
        causes = sorted({cause for counted in reasons for cause in counted})
        verdict = rule.criterion.replace("0", "worst") if harm else rule.criterion
        verdict = LEFT_OUT if outcome in out or (causes and out.issuperset(causes)) else verdict
        rules = (rule.consistency, rule.citation) if cited else (verdict,)
        table.add_row(_words(outcome), *counts, *rules)
        for cause in causes if causes != [OTHER] else ():
            own = LEFT_OUT if cause in out and not cited and verdict != LEFT_OUT else ""
            figures = (str(counted.get(cause, 0)) for counted in reasons)
            table.add_row(f"  {_words(cause)}", *figures, *[own] * len(rules))
    for reason in sorted({reason for run in runs for reason in run.summary.left_out}):
        counts = [str(run.summary.left_out.get(reason, 0)) for run in runs]
        table.add_row(f"not asked: {_words(reason)}", *counts, *[LEFT_OUT] * (2 if cited else 1))
    return table


def _is_cited(made: Summary) -> bool:
    return CITATION_F1 in made.metrics


FORMAT_ROWS = (
    _Row("unparsable (F1 0)", lambda made: str(made.format.unparsable)),
    _Row("  no sentence tag", lambda made: str(made.format.no_sentence)),
    _Row("  no citation in any sentence", lambda made: str(made.format.no_citation)),
    _Row("  … of these, none was needed", lambda made: str(made.format.no_citation_needed)),
    _Row("cut by the output limit", lambda made: str(made.flags.get("cut_by_limit", 0))),
    _Row("tool call left in the answer", lambda made: str(made.flags.get("call_in_content", 0))),
    _Row("answer asked for at the round limit", lambda made: str(made.flags.get("forced_final", 0))),
    _Row("F1 if the format were right, % (never scored)", lambda made: percent(made.format.recovered_f1)),
    _Row("F1 points lost to format", lambda made: percent(made.format.format_loss)),
    _Row("F1 points lost to evidence", lambda made: percent(made.format.evidence_loss)),
)


def _format(runs: Sequence[_Run]) -> Table:
    table = _table("Citation format", [run.letter or "answers" for run in runs])
    for row in FORMAT_ROWS:
        values = [row.value(run.summary) for run in runs]
        # What did not happen, or was not worked out, needs no line; that nothing was unparsable does.
        if row is FORMAT_ROWS[0] or set(values) - {"0", NOTHING}:
            table.add_row(row.name, *values)
    for code in sorted({code for run in runs for code in run.summary.format.codes}):
        table.add_row(f"  {code}", *(_loss(run.summary.format.codes.get(code)) for run in runs))
    return table


def _loss(loss: CodeLoss | None) -> str:
    if loss is None:
        return "0"
    points = "" if loss.points is None else f" ({percent(-loss.points) if loss.points else '0.0'})".replace("-", "−")
    return f"{loss.answers}{points}"


def _broken_down(run: _Run, by: str, parts: Mapping[str, TypeSummary]) -> Table:
    measures = [one for one in run.summary.measures if any(one.name in made.metrics for made in parts.values())]
    title = f"By {_words(by)}, %{' · ' if run.letter else ''}{run.letter}"
    # The arms share no session: one number for both would be the denominator of neither.
    both = run.summary.arms is not None and all(
        arm in made.metrics for made in parts.values() for arm in (MULTI, SINGLE)
    )
    table = _table(title, ["n M + S" if both else "n", *(one.short for one in measures)])
    for name, made in parts.items():
        values = [percent(made.metrics[one.name].value) if one.name in made.metrics else NOTHING for one in measures]
        arms = [_sessions(made.metrics[arm]) for arm in (MULTI, SINGLE)] if both else [sum(made.outcomes.values())]
        table.add_row(one_line(name, 40), " + ".join(map(str, arms)), *values)
    return table


def _sessions(metric: Metric) -> int:
    """The sessions that a measure is about, whether they count or are left out."""
    return metric.n + sum(metric.excluded.values())


def _attempts(runs: Sequence[_Run]) -> Table:
    """How often each question passed of the times it was asked, and how many passed sometimes only."""
    harm = {title: None for run in runs for title in _titles_of_harm(run.summary)}
    title = f"Questions by how often they passed{''.join(f' ({one} only)' for one in harm)}"
    table = _table(title, [run.letter or "questions" for run in runs])
    most = max(run.summary.attempts.sessions for run in runs if run.summary.attempts)
    for n in range(most + 1):
        counts = [_passed(run.summary, n) for run in runs]
        table.add_row(f"{n} times" if n != 1 else "once", *counts)
    flips = [NOTHING if run.summary.attempts is None else str(run.summary.attempts.flips) for run in runs]
    table.add_row("sometimes only (flips)", *flips)
    undecided = [NOTHING if run.summary.attempts is None else str(run.summary.attempts.undecided) for run in runs]
    if set(undecided) - {NOTHING, "0"}:
        table.add_row("of all, with a missing verdict", *undecided)
    return table


def _titles_of_harm(made: Summary) -> Iterator[str]:
    """Which questions were counted, where the rate is one arm's alone."""
    found = made.attempts
    yield from (one.title for one in made.measures if found and one.name == found.measure and not one.higher_is_better)


def _passed(made: Summary, n: int) -> str:
    found = made.attempts
    return NOTHING if found is None or n > found.sessions else str(found.by_passed.get(n, 0))


def _repeats(run: _Run) -> Table:
    """How often a judge that was asked several times did not say the same, and how far the scores hang on that."""
    made = run.summary.judging.repeats
    level = f"{100 * run.summary.statistics.level:.0f} % interval"
    asked = 1 if made is None else made.asked
    title = f"Judge asked {asked} times{' · ' if run.letter else ''}{run.letter}"
    table = _table(title, ["flipped %", level, "n", "no verdict"])
    if made is None:
        return table
    for kind, counted in made.kinds.items():
        figures = (percent(counted.rate), _range(counted.interval), str(counted.judgements), str(counted.missing))
        table.add_row(kind, *figures)
    for name, values in (("Consistency", made.consistency), ("Citation F1", made.citation_f1), ("Passed", made.passed)):
        known = [value for value in values if value is not None]
        if known:
            table.add_row(f"{name} % by repeat: {percent(min(known))}–{percent(max(known))}", *[""] * 4)
    return table


WEB_HITS, LENIENT = "searches and pages from recorded runs", "LENIENT answers, not quite the ones asked for"
THINKING = "answers with reasoning"
CONTRADICTIONS = "  contradict one another"
LEFT_REASONING = "  left in the answer (no reasoning parser?)"
FORKED = "  up to the fork, from its tape"
IF_ANY = (JUDGE_HITS, FORKED, WEB_HITS, LENIENT, THINKING, LEFT_REASONING, CONTRADICTIONS)
"""Rows that stand in the table only where a run has something to say in them."""

WORK_ROWS = (
    _Row(THINKING, lambda made: f"{made.thinking:,}"),
    _Row(LEFT_REASONING, lambda made: str(made.flags.get("reasoning_in_content", 0))),
    _Row("rounds per session", lambda made: f"{made.rounds / made.sessions:.1f}" if made.sessions else NOTHING),
    _Row("model calls", lambda made: f"{made.usage.model.calls:,}"),
    _Row(FORKED, lambda made: f"{made.tape.fork_recorded:,}"),
    _Row("  tokens in", lambda made: f"{made.usage.model.prompt_tokens:,}"),
    _Row("  tokens out", lambda made: f"{made.usage.model.completion_tokens:,}"),
    _Row("judge calls", lambda made: f"{made.usage.judge.calls:,}"),
    _Row(JUDGE_HITS, lambda made: f"{made.tape.judge_hits:,}"),
    _Row("verdicts", lambda made: f"{made.judging.verdicts:,}"),
    _Row("  missing", lambda made: _missing(made)),
    _Row(CONTRADICTIONS, lambda made: _contradictions(made)),
    _Row(WEB_HITS, lambda made: _web_hits(made)),
    _Row(LENIENT, lambda made: f"{made.tape.lenient:,}"),
)


def _work(runs: Sequence[_Run]) -> Table:
    table = _table("Work", [run.letter for run in runs])
    for row in WORK_ROWS:
        values = [row.value(run.summary) for run in runs]
        if row.name not in IF_ANY or set(values) - {"0"}:
            table.add_row(row.name, *values)
    for tool in sorted({tool for run in runs for tool in run.summary.tools}):
        table.add_row(f"{one_line(tool, 30)} calls", *(_tool(run.summary, tool) for run in runs))
    return table


def _web_hits(made: Summary) -> str:
    """The hit rate of a run that plays the recorded web; `tape.jsonl` has it for each question."""
    asked = made.tape.pool_hits + made.tape.pool_misses
    return f"{made.tape.pool_hits:,} of {asked:,}" if asked else "0"


def _contradictions(made: Summary) -> str:
    judging = made.judging
    return f"{judging.contradictions} of {judging.checked_pairs}" if judging.checked_pairs else "0"


def _missing(made: Summary) -> str:
    causes = ", ".join(f"{n} {_words(cause)}" for cause, n in made.judging.missing.items())
    return causes or "0"


def _tool(made: Summary, tool: str) -> str:
    counts = made.tools.get(tool)
    if counts is None:
        return "0"
    failed = sum(counts.failed.values())
    return f"{counts.calls:,}" + (f" ({failed:,} failed)" if failed else "")


def _notes(summaries: Sequence[Summary]) -> Text:
    notes: list[str] = []
    if any(_is_cited(made) for made in summaries):
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
    parts = "".join(f" − {n} ({_words(reason)})" for reason, n in metric.excluded.items())
    total = f" = {metric.n}" if parts else ""
    return f"Citation scores count {made.sessions}{parts}{total} answers."
