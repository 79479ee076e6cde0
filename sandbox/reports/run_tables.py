"""The tables of a report for the terminal, each over one or several runs.

Knows: summaries, and which of their figures stand together. Must not know: the order of the tables, files, records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from rich.table import Table

from sandbox.measuring.measures import CITATION_F1
from sandbox.measuring.outcome import COUNTING
from sandbox.measuring.tally import Metric, NamedMeasure
from sandbox.measuring.two_arms import MULTI, SINGLE
from sandbox.record import Outcome
from sandbox.reports.figures import NOTHING, as_words, figure_table, percent, percent_range
from sandbox.reports.untrusted import one_line
from sandbox.summary import OTHER, CodeLoss, Summary, TypeSummary

LEFT_OUT = "left out"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class LetteredRun:
    """A summary with the letter that stands for it in the tables; empty where there is one run only."""

    letter: str
    summary: Summary


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    value: Callable[[Summary], str]


def lettered(summaries: Sequence[Summary]) -> list[LetteredRun]:
    """The runs with their letters, A first; numbers where there are more than letters."""
    n = len(summaries)
    letters = [""] if n == 1 else LETTERS if n <= len(LETTERS) else [str(number) for number in range(1, n + 1)]
    return [LetteredRun(letter, summary) for letter, summary in zip(letters, summaries, strict=False)]


def scores(runs: Sequence[LetteredRun]) -> Table:
    """Each measure by run: value, interval, denominator, what it leaves out; bounds where verdicts are missing."""
    undecided = any(metric.undecided for run in runs for metric in run.summary.metrics.values())
    level = f"{100 * runs[0].summary.statistics.level:.0f} % interval"
    table = figure_table("Scores", ["", "%", level, "n", *(["bounds"] if undecided else [])])
    table.add_column("left out")
    for measure in _measures_of(run.summary.measures for run in runs):
        label = measure.title
        for run in runs:
            metric = run.summary.metrics.get(measure.name)
            if metric is None:
                continue
            bounds = [percent_range(metric.bounds) if metric.undecided else ""] if undecided else []
            figures = [percent(metric.value), percent_range(metric.interval), str(metric.n), *bounds]
            table.add_row(label, run.letter, *figures, _left_out(metric))
            label = ""
    return table


def _measures_of(told: Iterable[Sequence[NamedMeasure]]) -> list[NamedMeasure]:
    """The measures of all runs, each once, in the order of their tables."""
    return list({measure.name: measure for measures in told for measure in measures}.values())


def _left_out(metric: Metric) -> str:
    return ", ".join(f"{n} {as_words(reason)}" for reason, n in metric.excluded.items())


def outcomes(runs: Sequence[LetteredRun]) -> Table:
    """Sessions by outcome and cause, with what each counts; below them the rows of the data that were not asked."""
    cited = any(is_cited(run.summary) for run in runs)
    table = figure_table(
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
        table.add_row(as_words(outcome), *counts, *rules)
        for cause in causes if causes != [OTHER] else ():
            own = LEFT_OUT if cause in out and not cited and verdict != LEFT_OUT else ""
            figures = (str(counted.get(cause, 0)) for counted in reasons)
            table.add_row(f"  {as_words(cause)}", *figures, *[own] * len(rules))
    for reason in sorted({reason for run in runs for reason in run.summary.left_out}):
        counts = [str(run.summary.left_out.get(reason, 0)) for run in runs]
        table.add_row(f"not asked: {as_words(reason)}", *counts, *[LEFT_OUT] * (2 if cited else 1))
    return table


def outcomes_of_many(runs: Sequence[LetteredRun]) -> Table:
    """Outcomes and their causes, a row a run."""
    outcomes: tuple[Outcome, ...] = get_args(Outcome)
    causes = sorted({cause for run in runs for counted in run.summary.outcome_reasons.values() for cause in counted})
    causes = [cause for cause in causes if cause != OTHER]
    table = figure_table("Outcomes", [as_words(name).replace(" ", "\n") for name in (*outcomes, *causes)])
    for run in runs:
        counted = Counter[str]()
        for reasons in run.summary.outcome_reasons.values():
            counted.update(reasons)
        figures = [run.summary.outcomes.get(outcome, 0) for outcome in outcomes] + [counted[cause] for cause in causes]
        table.add_row(f"{run.letter}  {one_line(run.summary.model, 28)}", *map(str, figures))
    return table


def is_cited(made: Summary) -> bool:
    """Whether the answers of the run are scored by their citations."""
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


def citation_format(runs: Sequence[LetteredRun]) -> Table:
    """What the citation format did, and what it cost where that was worked out; a row for each lint code."""
    table = figure_table("Citation format", [run.letter or "answers" for run in runs])
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


def broken_down(run: LetteredRun, by: str, parts: Mapping[str, TypeSummary]) -> Table:
    """The measures of one run by task type, or by the values of the label `by`."""
    measures = [one for one in run.summary.measures if any(one.name in made.metrics for made in parts.values())]
    title = f"By {as_words(by)}, %{' · ' if run.letter else ''}{run.letter}"
    # The arms share no session: one number for both would be the denominator of neither.
    both = run.summary.arms is not None and all(
        arm in made.metrics for made in parts.values() for arm in (MULTI, SINGLE)
    )
    table = figure_table(title, ["n M + S" if both else "n", *(one.short for one in measures)])
    for name, made in parts.items():
        values = [percent(made.metrics[one.name].value) if one.name in made.metrics else NOTHING for one in measures]
        arms = [_sessions(made.metrics[arm]) for arm in (MULTI, SINGLE)] if both else [sum(made.outcomes.values())]
        table.add_row(one_line(name, 40), " + ".join(map(str, arms)), *values)
    return table


def _sessions(metric: Metric) -> int:
    """The sessions that a measure is about, whether they count or are left out."""
    return metric.n + sum(metric.excluded.values())


def attempts(runs: Sequence[LetteredRun]) -> Table:
    """How often each question passed of the times it was asked, and how many passed sometimes only."""
    harm = {title: None for run in runs for title in _titles_of_harm(run.summary)}
    title = f"Questions by how often they passed{''.join(f' ({one} only)' for one in harm)}"
    table = figure_table(title, [run.letter or "questions" for run in runs])
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


def verdict_repeats(run: LetteredRun) -> Table:
    """How often a judge that was asked several times did not say the same, and how far the scores hang on that."""
    made = run.summary.judging.repeats
    level = f"{100 * run.summary.statistics.level:.0f} % interval"
    asked = 1 if made is None else made.asked
    title = f"Judge asked {asked} times{' · ' if run.letter else ''}{run.letter}"
    table = figure_table(title, ["flipped %", level, "n", "no verdict"])
    if made is None:
        return table
    for kind, counted in made.kinds.items():
        figures = (
            percent(counted.rate),
            percent_range(counted.interval),
            str(counted.judgements),
            str(counted.missing),
        )
        table.add_row(kind, *figures)
    for name, values in (("Consistency", made.consistency), ("Citation F1", made.citation_f1), ("Passed", made.passed)):
        known = [value for value in values if value is not None]
        if known:
            table.add_row(f"{name} % by repeat: {percent(min(known))}–{percent(max(known))}", *[""] * 4)
    return table


JUDGE_HITS = "  answered by other runs' tapes"
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


def work(runs: Sequence[LetteredRun]) -> Table:
    """Rounds, calls, tokens, verdicts and tools of the runs."""
    table = figure_table("Work", [run.letter for run in runs])
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
    causes = ", ".join(f"{n} {as_words(cause)}" for cause, n in made.judging.missing.items())
    return causes or "0"


def _tool(made: Summary, tool: str) -> str:
    counts = made.tools.get(tool)
    if counts is None:
        return "0"
    failed = sum(counts.failed.values())
    return f"{counts.calls:,}" + (f" ({failed:,} failed)" if failed else "")
