"""The one sentence on top of the report page, made from the numbers by fixed templates.

Knows: a summary, and how to say its largest loss. Must not know: HTML, records. Never an adjective without its number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sandbox.reports.figures import percent
from sandbox.reports.page_format import Headline, HeadPart
from sandbox.summary import Summary

EMPTY = Headline((HeadPart("No session of this run is finished yet.", strong=False),), "")
NO_FACT = "No generation failed, and every answer can be read as written."
LEAST_POINTS = 0.05
"""A smaller loss would print as 0.0."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One loss. `points` of 100; `clause` stands inside the first sentence, `sentence` alone."""

    points: float
    clause: str
    sentence: str


def headline(summary: Summary) -> Headline:
    """The largest loss with the scores it explains, and the second largest."""
    if summary.sessions == 0:
        return EMPTY
    f1_facts = sorted(_f1_losses(summary), key=lambda fact: -fact.points)
    disagreement = _disagreement(summary)
    f1 = summary.metrics["citation_f1"].value
    largest = f1_facts[0] if f1_facts else None
    f1_loss = 0.0 if f1 is None else 100 - 100 * f1
    if disagreement and (largest is None or disagreement.points > f1_loss):
        rest = _so_f1(f1, "; ")
        return _with_second((HeadPart(disagreement.clause, strong=True), HeadPart(rest, strong=False)), f1_facts)
    lead = _agreement(summary)
    if largest is None:
        return _with_second((HeadPart(f"{lead or 'Nothing was lost'}{_so_f1(f1, '; ')}", strong=False),), [])
    clause = largest.clause if lead else largest.clause[0].upper() + largest.clause[1:]
    word = "but" if disagreement is None or disagreement.points < f1_loss else "and"
    parts = (
        *((HeadPart(f"{lead}, {word} ", strong=False),) if lead else ()),
        HeadPart(clause, strong=True),
        HeadPart(_so_f1(f1, ", so "), strong=False),
    )
    others = [*f1_facts[1:], *([disagreement] if disagreement else [])]
    return _with_second(parts, sorted(others, key=lambda fact: -fact.points))


def _with_second(first: tuple[HeadPart, ...], rest: list[Fact]) -> Headline:
    return Headline(first, rest[0].sentence if rest else NO_FACT)


def _so_f1(f1: float | None, joint: str) -> str:
    return f"{joint}no citation could be scored." if f1 is None else f"{joint}citation F1 is {percent(f1)}."


def _agreement(summary: Summary) -> str:
    metric = summary.metrics.get("consistency")
    if metric is None or metric.value is None:
        return ""
    agreeing = round(metric.value * metric.n)
    return f"{_of(agreeing, metric.n)} answers agree with the reference"


def _disagreement(summary: Summary) -> Fact | None:
    metric = summary.metrics.get("consistency")
    if metric is None or metric.value is None or 100 - 100 * metric.value < LEAST_POINTS:
        return None
    n = metric.n - round(metric.value * metric.n)
    clause = f"{_of(n, metric.n)} questions have no answer that agrees with the reference"
    return Fact(100 - 100 * metric.value, clause, f"{clause}.")


def _f1_losses(summary: Summary) -> Iterator[Fact]:
    """What keeps citation F1 from 100, each at least `LEAST_POINTS`."""
    metric = summary.metrics["citation_f1"]
    if metric.value is None or metric.n == 0:
        return
    lost = 100 - 100 * metric.value
    failed = summary.outcomes.get("generation_failed", 0)
    failed_points = 100 * failed / metric.n
    format_points = _format_points(summary, metric.n)
    undecided = 100 * ((metric.bounds[1] if metric.bounds else metric.value) - metric.value)
    evidence = lost - failed_points - format_points - undecided
    facts = (
        Fact(failed_points, f"{_of(failed, summary.sessions)} generations failed", _failed(failed, summary.sessions)),
        Fact(format_points, _format_clause(summary, format_points), _format_sentence(summary, format_points)),
        Fact(
            undecided,
            f"{metric.undecided} answers lack a verdict",
            f"{metric.undecided} answers lack a verdict; it could add up to {undecided:.1f} points of F1.",
        ),
        _evidence(summary, evidence),
    )
    yield from (fact for fact in facts if fact.points >= LEAST_POINTS)


def _evidence(summary: Summary, points: float) -> Fact:
    if summary.format.format_loss is None:
        return Fact(
            points,
            f"answers that can be read lose {points:.1f} points",
            f"Answers that can be read lose {points:.1f} points of F1, to format and to evidence.",
        )
    return Fact(
        points,
        f"what does not hold costs {points:.1f} points",
        f"Citations that do not hold, and statements without one, cost {points:.1f} points of F1.",
    )


def _format_points(summary: Summary, n: int) -> float:
    loss = summary.format.format_loss
    return 100 * summary.format.unparsable / n if loss is None else 100 * loss


def _format_clause(summary: Summary, points: float) -> str:
    if summary.format.unparsable:
        return f"{_of(summary.format.unparsable, summary.sessions)} cannot be read as written"
    return f"broken markup costs {points:.1f} points"


def _format_sentence(summary: Summary, points: float) -> str:
    recovered = summary.format.recovered_f1
    if recovered is None:
        return f"{_of(summary.format.unparsable, summary.sessions)} answers cannot be read as written: F1 counts them as 0."
    return (
        f"Format alone costs {points:.1f} points. With the markup mended, and the same verdicts, "
        f"F1 would be {percent(recovered)}."
    )


def _failed(failed: int, sessions: int) -> str:
    return f"{_of(failed, sessions)} generations failed; consistency and F1 count them as 0."


def _of(n: int, total: int) -> str:
    return f"All {total}" if n == total and total > 1 else f"{n} of {total}"
