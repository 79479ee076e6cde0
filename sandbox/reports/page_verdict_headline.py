"""The sentence on top of the report page where one verdict decides about each session.

Knows: a summary's measures, counts of verdicts. Must not know: HTML, records, any benchmark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sandbox.measuring.tally import Metric, NamedMeasure
from sandbox.record import Outcome
from sandbox.reports.figures import percent
from sandbox.reports.page_format import Decisions, Headline, HeadPart
from sandbox.reports.page_headline import EMPTY
from sandbox.summary import OTHER, Summary, TypeSummary

NO_FACT = "Every session ended in an answer, and every answer got its verdict."
NAMED_TYPES = 2


def verdict_headline(summary: Summary, decisions: Decisions) -> Headline:
    """How many answers pass, what the benchmark's own figures are, which task type is worst; then the largest gap.

    Where a lower figure is the better one, the sentence says so.
    """
    if summary.sessions == 0:
        return EMPTY
    known = [one for one in summary.measures if one.headline and _value(summary, one) is not None]
    figures = "; ".join(_figure(one, summary.metrics[one.name]) for one in known)
    worst = _worst(summary)
    passing = _passing(decisions)
    # A benchmark of harm is known by its rates; one of tasks by how many were done.
    harm = bool(known) and not known[0].higher_is_better
    order = [part for part in ((figures, passing) if harm else (passing, figures)) if part]
    text = _upper("; ".join(order))
    first = [HeadPart(f"{text}; " if worst else f"{text}.", strong=False)]
    first += [HeadPart(worst, strong=True), HeadPart(".", strong=False)] if worst else []
    return Headline(tuple(first), next(_gaps(summary, decisions), NO_FACT))


def _passing(decisions: Decisions) -> str:
    n = decisions.passed + decisions.failed + decisions.undecided
    if n == 0:
        return "no session counts"
    answers = "answer passes" if n == 1 else "answers pass"
    return f"all {n} {answers}" if decisions.passed == n > 1 else f"{decisions.passed} of {n} {answers}"


def _figure(measure: NamedMeasure, metric: Metric) -> str:
    lower = "" if measure.higher_is_better else " (lower is better)"
    return f"{_lower(measure.title)}: {percent(metric.value)}{lower}"


def _worst(summary: Summary) -> str:
    """The task types at the worst end of the first figure that all of them have; nothing where they are alike."""
    parts = summary.by_task_type
    ranked = sorted(summary.measures, key=lambda one: not one.headline)
    several = sum(one.headline for one in summary.measures) > 1
    for measure in ranked:
        values = dict(_values(parts, measure))
        if len({percent(value) for value in values.values()}) < 2:
            continue
        end = min(values.values()) if measure.higher_is_better else max(values.values())
        names = [name for name, value in values.items() if percent(value) == percent(end)]
        more = len(names) - NAMED_TYPES
        told = f"{', '.join(names[:NAMED_TYPES])} and {more} more" if more > 0 else " and ".join(names)
        word = "weakest" if measure.higher_is_better else "highest"
        of = f" in {_lower(measure.title)}" if several and measure.headline else ""
        n = f" (n = {parts[names[0]].metrics[measure.name].n})" if len(names) == 1 else " each"
        return f"{word} {summary.type_name}{of}: {told}, {percent(end)}{n}"
    return ""


def _values(parts: Mapping[str, TypeSummary], measure: NamedMeasure) -> Iterator[tuple[str, float]]:
    for name, made in parts.items():
        metric = made.metrics.get(measure.name)
        if metric is not None and metric.value is not None:
            yield name, metric.value


def _gaps(summary: Summary, decisions: Decisions) -> Iterator[str]:
    """What stands between the questions and their verdicts, the largest number first."""
    found: list[tuple[int, str]] = []
    silent: tuple[Outcome, ...] = ("generation_failed", "context_overflow")
    n = sum(summary.outcomes.get(outcome, 0) for outcome in silent)
    if n:
        causes = [
            f"{count} {(outcome if cause == OTHER else cause).replace('_', ' ')}"
            for outcome in silent
            for cause, count in summary.outcome_reasons.get(outcome, {}).items()
        ]
        out = sum(decisions.left_out.values())
        counted = f"; {out} of them {'is' if out == 1 else 'are'} in no denominator" if out else ""
        found.append((n, f"{n} of {summary.sessions} sessions ended without an answer ({', '.join(causes)}){counted}."))
    if decisions.undecided:
        found.append((decisions.undecided, _undecided(summary, decisions.undecided)))
    attempts = summary.attempts
    if attempts and attempts.flips:
        told = f"{attempts.flips} of {len(attempts.passed)} questions pass sometimes and not always."
        found.append((attempts.flips, told))
    yield from (fact for _, fact in sorted(found, key=lambda fact: -fact[0]))


def _undecided(summary: Summary, n: int) -> str:
    first = next(iter(summary.measures))
    bounds = summary.metrics[first.name].bounds
    could = f"; with them {_lower(first.title)} could be {percent(bounds[0])} to {percent(bounds[1])}" if bounds else ""
    return f"{n} answer{'s lack' if n > 1 else ' lacks'} a verdict{could}."


def _value(summary: Summary, measure: NamedMeasure) -> float | None:
    return summary.metrics[measure.name].value


def _lower(title: str) -> str:
    """A title inside a sentence: `Pass rate` becomes `pass rate`, a name in capitals stays."""
    return title[:1].lower() + title[1:] if title[1:2].islower() else title


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
