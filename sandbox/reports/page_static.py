"""The part of the report page that needs no program: headline and scores as plain HTML, all text escaped.

Knows: summaries, HTML escaping. Must not know: the page's program, records.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from sandbox.measuring.tally import Metric
from sandbox.reports.figures import NOTHING, percent
from sandbox.reports.page_format import RunShown
from sandbox.reports.untrusted import one_line


def text(value: str) -> str:
    """`value` as HTML text: control and bidirectional characters visible, markup escaped."""
    return escape(one_line(value), quote=True)


def static_summary(runs: Sequence[RunShown]) -> str:
    """Headline and score table of each run."""
    return "".join(_run(run) for run in runs)


def title(runs: Sequence[RunShown]) -> str:
    """The document's title, escaped."""
    names = " / ".join(dict.fromkeys(run.summary.model for run in runs))
    benchmarks = " / ".join(dict.fromkeys(run.summary.benchmark for run in runs))
    return text(f"{benchmarks} · {names} · pincite")


def _run(run: RunShown) -> str:
    summary = run.summary
    first = "".join(
        f"<em>{text(part.text)} </em>" if part.strong else text(part.text) + " " for part in run.headline.first
    )
    rows = "".join(_score(one.title, summary.metrics[one.name]) for one in summary.measures)
    outcomes = ", ".join(f"{n} {text(outcome.replace('_', ' '))}" for outcome, n in summary.outcomes.items())
    unasked = "".join(f", not asked: {n} {text(reason.replace('_', ' '))}" for reason, n in summary.left_out.items())
    return (
        f"<section><p>{text(summary.benchmark)} · {text(summary.model)} · judge {text(summary.judge)}</p>"
        f"<h1>{first.strip()}</h1><p>{text(run.headline.second)}</p>"
        "<table><thead><tr><th>Score, 0–100</th><th>value</th><th>interval</th><th>n</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
        f"<p>{summary.sessions} sessions: {outcomes}{unasked}. {text(summary.digest)}</p></section>"
    )


def _score(name: str, metric: Metric) -> str:
    interval = NOTHING if metric.interval is None else f"{percent(metric.interval[0])} – {percent(metric.interval[1])}"
    return f"<tr><th>{escape(name)}</th><td>{percent(metric.value)}</td><td>{interval}</td><td>{metric.n}</td></tr>"
