"""The text of a session that one verdict decides: the dialogue, the answer, what it was held against, the verdict.

Knows: a record and how people read one. Must not know: files, citations, how a session is judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType

from sandbox.record import CriterionRow, Record, RoundRow, VerdictRow
from sandbox.reports.session_findings import times
from sandbox.reports.session_history import Turn
from sandbox.reports.session_parts import (
    ANSWER_CHARS,
    QUESTION_CHARS,
    REASONING_CHARS,
    View,
    flat,
    indented,
    shorten,
    title,
)
from sandbox.reports.untrusted import one_line

REASON_CHARS = 2_000
"""The one verdict is what the session is looked at for: its reason is shown longer than one of many."""


def dialogue_lines(record: Record, history: Sequence[Turn], view: View) -> Iterator[RenderableType]:
    """Every turn in order: what was there before, the user's turns, what the model said and how it ended."""
    yield title(f"Dialogue · {_turns(len(history), 'before the question')}" if history else "Dialogue")
    for turn in history:
        yield from _turn(one_line(turn.role, 60), turn.text, QUESTION_CHARS, view)
    for i, round_ in enumerate(record.rounds):
        user = round_.user if round_.user is not None else record.question if i == 0 else ""
        if user:
            yield from _turn("user", user, QUESTION_CHARS, view)
        yield from _reply(round_, view, is_answer=record.answer is not None and i + 1 == len(record.rounds))
    if not record.rounds:
        yield from _turn("user", record.question, QUESTION_CHARS, view)
        yield indented(1, "the model said nothing")
    if record.answer is None:
        yield title(f"No answer · {record.outcome.replace('_', ' ')}")


def criterion_lines(record: Record, asked: CriterionRow, view: View) -> Iterator[RenderableType]:
    """What the answer was held against, and the verdict with its reason; each time it was asked, where several times."""
    yield title("Criterion" if asked.rubric == "criterion" else f"Criterion · {one_line(asked.rubric)}")
    yield indented(1, shorten(asked.text, QUESTION_CHARS, view))
    verdict = asked.verdict
    passes = f"passes with: {', '.join(map(one_line, asked.passing))}"
    if verdict is None:
        yield title("Verdict · none")
        yield indented(1, f"there was no answer to judge ({one_line(record.outcome.replace('_', ' '))}); it {passes}")
        return
    yield title(f"Verdict · {_said(verdict, asked)}")
    yield indented(1, passes)
    if verdict.reason:
        yield indented(1, shorten(verdict.reason, REASON_CHARS, view))
    if view.full and verdict.raw:
        yield indented(1, f"raw: {shorten(verdict.raw, REASON_CHARS, view)}")
    for number, again in enumerate(verdict.repeats, 2):
        label = one_line(again.label) if again.label is not None else f"no verdict ({one_line(again.failure or '?')})"
        reason = f" — {flat(again.reason, REASONING_CHARS, view)}" if again.reason else ""
        yield indented(1, f"asked again, time {number}: {label}{reason}")


def _said(verdict: VerdictRow, asked: CriterionRow) -> str:
    if verdict.label is None:
        return f"none, the judge gave none ({one_line(verdict.failure or 'unknown')}){times(verdict)}"
    worth = "passes" if verdict.label in asked.passing else "does not pass"
    return f"{one_line(verdict.label)}, {worth}{times(verdict)}"


def _reply(round_: RoundRow, view: View, *, is_answer: bool) -> Iterator[RenderableType]:
    if round_.reasoning:
        yield indented(
            1, f"reasoning ({len(round_.reasoning):,} characters): {flat(round_.reasoning, REASONING_CHARS, view)}"
        )
    for call in round_.calls:
        failed = f" ✕ {one_line(call.failure)}" if call.failure else ""
        yield indented(1, f"→ {one_line(call.name, 60)} {flat(call.arguments, REASONING_CHARS, view)}{failed}")
    finish = "" if round_.finish_reason in (None, "stop") else f" · finish {one_line(round_.finish_reason or '')}"
    if round_.content:
        role = f"assistant, the answer{finish}" if is_answer else f"assistant{finish}"
        yield from _turn(role, round_.content, ANSWER_CHARS, view)
    elif not round_.calls:
        yield indented(1, f"assistant{finish}: (empty)")


def _turn(role: str, text: str, chars: int, view: View) -> Iterator[RenderableType]:
    yield indented(1, f"[{role}]")
    yield indented(2, shorten(text, chars, view))


def _turns(n: int, what: str) -> str:
    return f"{n} turn{'' if n == 1 else 's'} {what}"
