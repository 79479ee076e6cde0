"""What is to be seen of a session before it is read: its answer's findings, verdicts that contradict one another, its tape.

Knows: findings, verdicts of a record, counts of a tape, how people read them. Must not know: files, rounds, evidence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from citations.findings import Severity
from citations.markup import dialect_named, parse
from citations.model import JudgedSentence, Verdict
from citations.scoring import contradictions, judged
from sandbox.folder.tape_reports import TapeRow
from sandbox.linting.lint_run import Examined
from sandbox.record import Record, VerdictRow
from sandbox.reports.lint_text import Room, cost_words, excerpt
from sandbox.reports.session_history import Turn
from sandbox.reports.untrusted import one_line
from sandbox.verdict_repeats import is_flipped, labels_of

SHOWN_FINDINGS = 8
FLIPPED = "⇄"
NARROW = Room(chars_before=14, chars_after=30, cells=74)
"""Fits 80 columns in full-width characters, so that no caret is torn from its text."""


@dataclass(frozen=True, slots=True)
class Beside:
    """What is known of a session beside its record; None where it is not. `history`: turns before the question."""

    examined: Examined | None = None
    tape: TapeRow | None = None
    history: tuple[Turn, ...] = ()


def finding_lines(record: Record, examined: Examined, *, full: bool) -> Iterator[str]:
    """A heading that counts, then the findings: place, code, message and what it costs; excerpt with caret; fix.

    Nothing where nothing was found.
    """
    findings, raw = examined.report.findings, record.answer or ""
    if not findings:
        return
    severities: Counter[Severity] = Counter()
    for finding in findings:
        severities[finding.severity] += 1
    yield f"Findings · {', '.join(_counted(n, severity) for severity, n in severities.items())}"
    costs = {cost.code: cost.points for cost in examined.losses.codes} if examined.losses is not None else {}
    shown = findings if full else findings[:SHOWN_FINDINGS]
    for finding in shown:
        cost = cost_words(finding.code, costs.pop(finding.code, None))
        place = f"{finding.line}:{finding.column}"
        yield f"  {place} {finding.code} {finding.severity}: {one_line(finding.message, 120)}{cost}"
        if finding.code[0] != "W":
            yield from excerpt(raw, finding, NARROW)
        yield f"    fix: {one_line(finding.fix, 120)}"
    if len(shown) < len(findings):
        yield f"  … and {len(findings) - len(shown):,} more (--full)"


def _counted(n: int, severity: Severity) -> str:
    return f"{n:,} {severity}{'s' if n > 1 else ''}"


def contradiction_lines(record: Record) -> Iterator[str]:
    """The single citations that support their sentence and are called irrelevant to it; nothing where there are none."""
    sentences = _judged(record)
    total = contradictions(sentences)
    if not total.n_found:
        return
    yield f"The judge contradicts itself · {total.n_found} of {total.n_checked} single citations"
    for index, sentence in enumerate(sentences):
        if contradictions([sentence]).n_found:
            yield (
                f"  sentence {index + 1}: support {sentence.support}, yet relevance of [{sentence.citations[0]}] "
                f"{sentence.relevance[0]}"
            )


def tape_line(row: TapeRow) -> str:
    """`tape: 31 exchanges: 12 recorded, 19 live`; what did not happen is not named."""
    counts = {
        "recorded": row.played,
        "live": row.live,
        "model calls up to the fork": row.fork_recorded,
        "model calls after it": row.fork_live,
        "searches and pages from other runs": row.pool_hits,
        "verdicts from other runs": row.judge_hits,
        "searches and pages that no run had": row.pool_misses,
        "lenient": row.lenient,
        "missing": row.misses,
    }
    told = ", ".join(f"{n:,} {words}" for words, n in counts.items() if n)
    return f"tape: {row.interactions:,} exchanges: {told or 'none'}"


def times(verdict: VerdictRow) -> str:
    """How often the judge said what, where it was asked more than once, with a mark if it did not keep to its word."""
    labels = [one_line(label) if label is not None else "no verdict" for label in labels_of(verdict)]
    if len(labels) == 1:
        return ""
    counts = Counter(labels)
    mark = f" {FLIPPED}" if is_flipped(verdict) else ""
    if len(counts) == 1:
        return f" ({len(labels)} of {len(labels)})"
    return f"{mark} ({', '.join(f'{n} {label}' for label, n in counts.items())})"


def _judged(record: Record) -> tuple[JudgedSentence, ...]:
    answer = parse(record.answer or "", dialect_named(record.dialect))
    verdicts = [Verdict(row.kind, row.sentences, row.number, row.verdict.label) for row in record.units]
    try:
        return judged(answer, verdicts)
    except ValueError:
        # Verdicts on another reading of the answer: `pincite score` says so; here there is only nothing to hold together.
        return ()
