"""What the debugger found, for the terminal: each finding as a compiler prints it, then a table of the codes.

Knows: findings, losses, how wide characters are. Must not know: where answers came from, how anything is found.

However long an answer is, little of it is printed: a stretch around each finding, and of one answer so many findings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from rich import box
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from citations.findings import CODES
from citations.lint import Finding, LintReport
from citations.losses import Losses
from sandbox.linting.lint_run import RecoveredFigures
from sandbox.reports.figures import percent
from sandbox.reports.untrusted import ELLIPSIS, cut, one_line, visible

MAX_FINDINGS = 20
"""Findings printed of one answer; all are counted."""
CHARS_BEFORE, CHARS_AFTER = 40, 60
MAX_CELLS = 110
LEAST_CELLS = 10
"""Left for the finding itself, whatever stands before it."""
WHY_NOT_CHECKED = {"S15": "no finish reason", "R06": "no run, or not told by it"}
NO_EVIDENCE = "no evidence given"


@dataclass(frozen=True, slots=True)
class Room:
    """How much of an answer an excerpt shows around a finding: characters on both sides, terminal cells in all."""

    chars_before: int = CHARS_BEFORE
    chars_after: int = CHARS_AFTER
    cells: int = MAX_CELLS


def finding_lines(name: str | int, raw: str, report: LintReport, losses: Losses | None) -> Iterator[str]:
    """The findings of one answer, each in its lines: place, code, message; the text with a caret; the fix."""
    label = one_line(str(name), 60)
    costs = {cost.code: cost.points for cost in losses.codes} if losses is not None else {}
    for finding in report.findings[:MAX_FINDINGS]:
        cost = cost_words(finding.code, costs.pop(finding.code, None))
        message = one_line(finding.message, 90)
        yield f"{label}:{finding.line}:{finding.column}: {finding.code} {finding.severity}: {message}{cost}"
        if finding.code[0] != "W":
            yield from excerpt(raw, finding)
        yield f"    fix: {one_line(finding.fix, 100)}"
    more = len(report.findings) - MAX_FINDINGS
    if more > 0:
        yield f"{label}: … and {more:,} more findings in this answer"


def cost_words(code: str, points: Fraction | None) -> str:
    """What mending this code alone would bring, in brackets; empty where it would bring nothing or is not known."""
    return f" (F1 {100 * float(points):+.1f} points if only {code} were mended)" if points else ""


def excerpt(raw: str, finding: Finding, room: Room | None = None) -> Iterator[str]:
    """Two lines: the text around the finding, on one line of the terminal, and a caret under its first character.

    Control characters are written out, full-width characters fill two cells, and the caret stands right all the same.
    """
    room = room or Room()
    line_start = max(finding.start - finding.column + 1, 0)
    from_ = max(line_start, finding.start - room.chars_before)
    line_end = raw.find("\n", finding.start, finding.start + room.chars_after)
    to = min(finding.start + room.chars_after, len(raw)) if line_end < 0 else line_end
    before = (ELLIPSIS if from_ > line_start else "") + _flat(raw[from_ : finding.start])
    if cell_len(before) > room.cells - LEAST_CELLS:
        # Characters that are written out fill many cells each.
        before = ELLIPSIS
    marked = _flat(raw[finding.start : min(finding.end, to)])
    after = _flat(raw[min(finding.end, to) : to]) + (ELLIPSIS if line_end < 0 and to < len(raw) else "")
    text = before + marked + after
    if cell_len(text) > room.cells:
        text = cut(text, room.cells - 1) + ELLIPSIS
    left = max(cell_len(text) - cell_len(before), 1)
    caret = "^" + "~" * (min(max(cell_len(marked), 1), left) - 1)
    yield f"    {text}".rstrip()
    yield f"    {' ' * cell_len(before)}{caret}"


def _flat(text: str) -> str:
    return visible(text).replace("\t", " ").replace("\n", " ")


@dataclass(slots=True)
class CodeTable:
    """Counts the codes of answers one by one. `points` and `figures` are set for a run, where verdicts are known."""

    n_answers: int = 0
    n_errors: int = 0
    with_errors: int = 0
    clean: int = 0
    without_answer: int = 0
    answers: Counter[str] = field(default_factory=Counter[str])
    occurrences: Counter[str] = field(default_factory=Counter[str])
    not_checked: Counter[str] = field(default_factory=Counter[str])

    def add(self, report: LintReport) -> None:
        """Take one answer."""
        counts = Counter(finding.code for finding in report.findings)
        errors = sum(n for code, n in counts.items() if CODES[code].severity == "error")
        self.n_answers += 1
        self.n_errors += errors
        self.with_errors += errors > 0
        self.clean += not counts
        self.answers.update(counts.keys())
        self.occurrences.update(counts)
        self.not_checked.update(report.not_checked)

    def shown(self, points: Mapping[str, float | None], figures: RecoveredFigures | None) -> RenderableType:
        """The table, what the counts come to, and what was not checked."""
        parts: list[RenderableType] = [self._table(points)] if self.occurrences else []
        parts.append(Text("\n".join(["", *self._totals(), *_losses(figures), *self._not_checked()])))
        return Group(*parts)

    def _table(self, points: Mapping[str, float | None]) -> Table:
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 0, 0, 1), header_style="")
        with_points = any(value is not None for value in points.values())
        for name in ("code", "severity"):
            table.add_column(name, no_wrap=True)
        for name in ("answers", "times", *(["F1 points"] if with_points else [])):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("what", overflow="fold")
        for code, facts in CODES.items():
            if code in self.answers:
                cost = [percent(points.get(code))] if with_points else []
                counts = [f"{self.answers[code]:,}", f"{self.occurrences[code]:,}"]
                table.add_row(code, facts.severity, *counts, *cost, facts.title)
        return table

    def _totals(self) -> Sequence[str]:
        other = self.n_answers - self.with_errors - self.clean
        answers = "1 answer" if self.n_answers == 1 else f"{self.n_answers:,} answers"
        if self.without_answer:
            answers += f" ({self.without_answer:,} more sessions have none)"
        return [
            f"{answers}: {self.with_errors:,} with errors, {other:,} with warnings or notes only, {self.clean:,} clean."
        ]

    def _not_checked(self) -> Iterator[str]:
        reasons: dict[str, list[str]] = {}
        for code in CODES:
            if code in self.not_checked:
                n = self.not_checked[code]
                where = "" if n == self.n_answers else f" in {n:,} answers"
                reasons.setdefault(WHY_NOT_CHECKED.get(code, NO_EVIDENCE) + where, []).append(code)
        for why, codes in reasons.items():
            yield f"Not checked: {', '.join(codes)} ({why})."


def _losses(figures: RecoveredFigures | None) -> Iterator[str]:
    if figures is None:
        return
    if figures.f1 is None or figures.format_loss is None or figures.evidence_loss is None:
        yield (
            f"What format costs is not known in all: {figures.undecided:,} answers need verdicts on their recovered "
            "reading (pincite score RUN --recovered)."
        )
        return
    strict = figures.f1 - figures.format_loss
    yield (
        f"Citation F1 {percent(strict)} %; {percent(figures.f1)} % if the format were right: "
        f"{percent(figures.format_loss)} points lost to format, {percent(figures.evidence_loss)} to evidence."
    )
