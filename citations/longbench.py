"""Profile `longbench-cite`: equal to the reference's scorer to 1e-12, its traps included.

Knows: the order in which the reference asks its judge, how it reads the replies, when it drops an answer, how it
averages a set. Must not know: prompts, models, transports.

Source: THUDM/LongCite at d7d772e, `LongBench-Cite/auto_scorer.py` (one answer) and `eval_cite.py` (a set).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, cast

from citations.longbench_reading import Statement
from citations.model import UnitKind
from citations.scoring import HALF, ONE, ZERO, harmonic_mean

MAX_STATEMENTS = 40
MAX_ATTEMPTS = 5
POLICY_TRIGGER = "Trigger"
"""A reply without label that contains this (a content-policy refusal) is not asked for again."""

DropReason = Literal["NotImplementedError", "TypeError"]
"""The exception that made the reference drop the answer from every average."""


@dataclass(frozen=True, slots=True)
class JudgeCall:
    """One request to the judge. Indices from 0; `evidence` is empty for need.

    `attempt` counts from 0; the reference asks at temperature 0 first, at 1 after that.
    """

    kind: UnitKind
    statement: int
    citation: int | None
    attempt: int
    text: str
    evidence: str


@dataclass(frozen=True, slots=True)
class JudgeReply:
    """What the judge wrote, and the tokens it took; `text` None = the transport gave up."""

    text: str | None
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class LongbenchScore:
    """The score of one answer, exact, 0–1. With `dropped` set, the answer is in no average and all else is empty.

    Scores by position are None beyond the cap on statements. Tokens are those of the last attempt of each unit only.
    """

    dropped: DropReason | None
    recall: Fraction | None = None
    precision: Fraction | None = None
    f1: Fraction | None = None
    statement_scores: tuple[Fraction | None, ...] = ()
    citation_scores: tuple[tuple[Fraction | None, ...], ...] = ()
    prompt_tokens: int = 0
    completion_tokens: int = 0


def score_statements(
    statements: Sequence[Statement],
    ask: Callable[[JudgeCall], JudgeReply],
    *,
    max_statements: int | None = MAX_STATEMENTS,
) -> LongbenchScore:
    """The score of an answer; `ask` is called in the reference's order, and not once more than the reference would."""
    calls = judge_calls(statements, max_statements=max_statements)
    reply: JudgeReply | None = None
    while True:
        try:
            call = next(calls) if reply is None else calls.send(reply)
        except StopIteration as stop:
            return cast("LongbenchScore", stop.value)
        reply = ask(call)


def judge_calls(
    statements: Sequence[Statement], *, max_statements: int | None = MAX_STATEMENTS
) -> Generator[JudgeCall, JudgeReply, LongbenchScore]:
    """The same, for a caller who cannot block: yields each call, takes its reply by `send`, returns the score.

    First support or need of every statement in turn, then relevance of every citation in turn. The first unit without
    a label ends it. `max_statements` None = all.
    """
    judged = statements[:max_statements]
    unknown_usage = False
    tally = _Tally()
    recall: list[Fraction] = []
    precision: list[Fraction] = []
    try:
        for index, statement in enumerate(judged):
            kind: UnitKind = "support" if statement.citations else "need"
            evidence = "\n\n".join(span.snippet for span in statement.citations).strip()
            if kind == "support" and not evidence:
                unknown_usage = True
                recall.append(ZERO)
            else:
                recall.append((yield from _verdict(JudgeCall(kind, index, None, 0, statement.text, evidence), tally)))
        for index, statement in enumerate(judged):
            for position, span in enumerate(statement.citations):
                call = JudgeCall("relevance", index, position, 0, statement.text, span.snippet)
                precision.append((yield from _verdict(call, tally)))
    except _DropError as dropped:
        return LongbenchScore(dropped.reason)
    if unknown_usage:
        # The reference adds up the token counts last, and the unit it did not ask has none.
        return LongbenchScore("TypeError")
    return _score(statements, recall, precision, tally)


def label_score(kind: UnitKind, reply: str) -> Fraction | None:
    """What a reply is worth: its first `[[…]]` of letters, spaces and slashes decides; None if it has none."""
    match = _LABEL.search(reply)
    if match is None:
        return None
    label = match[1].lower()
    if kind == "support":
        return ONE if "fully" in label else HALF if "partially" in label else ZERO
    if kind == "need":
        return ZERO if "yes" in label else ONE
    return ZERO if "unrelevant" in label else ONE


GROUPS = ("longbench-chat", "multifieldqa_en", "multifieldqa_zh", "multifieldqa", "hotpotqa", "dureader", "gov_report")
AVERAGED = ("longbench-chat", "multifieldqa", "hotpotqa", "dureader", "gov_report")


@dataclass(frozen=True, slots=True)
class SetAnswer:
    """One answer of a set; the three figures are None if it was dropped."""

    dataset: str
    recall: float | None
    precision: float | None
    f1: float | None


@dataclass(frozen=True, slots=True)
class GroupMean:
    """The means of a group, NaN where it has no answer. `finish`: none of its answers was dropped."""

    name: str
    recall: float
    precision: float
    f1: float
    finish: bool


@dataclass(frozen=True, slots=True)
class SetMeans:
    """All groups, in the reference's order, and the unweighted mean of the five; NaN if one of them is."""

    groups: tuple[GroupMean, ...]
    average: GroupMean


def set_means(answers: Iterable[SetAnswer]) -> SetMeans:
    """The figures of a set. A group holds the answers whose data set's name contains its own; others are ignored."""
    known = [answer for answer in answers if answer.dataset in GROUPS]
    groups = tuple(_group(name, [answer for answer in known if name in answer.dataset]) for name in GROUPS)
    five = [group for group in groups if group.name in AVERAGED]
    average = GroupMean(
        "average",
        _mean([group.recall for group in five]),
        _mean([group.precision for group in five]),
        _mean([group.f1 for group in five]),
        all(answer.f1 is not None for answer in known),
    )
    return SetMeans(groups, average)


_LABEL = re.compile(r"\[\[([ /a-zA-Z]+)\]\]")


@dataclass(slots=True)
class _Tally:
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _DropError(Exception):
    def __init__(self, reason: DropReason) -> None:
        super().__init__(reason)
        self.reason: DropReason = reason


def _verdict(call: JudgeCall, tally: _Tally) -> Generator[JudgeCall, JudgeReply, Fraction]:
    for attempt in range(MAX_ATTEMPTS):
        reply = yield JudgeCall(call.kind, call.statement, call.citation, attempt, call.text, call.evidence)
        if reply.text is None:
            # The reference looks for the trigger in the missing reply.
            raise _DropError("TypeError")
        value = label_score(call.kind, reply.text)
        if value is not None:
            tally.prompt_tokens += reply.prompt_tokens
            tally.completion_tokens += reply.completion_tokens
            return value
        if POLICY_TRIGGER in reply.text:
            break
    raise _DropError("NotImplementedError")


def _score(
    statements: Sequence[Statement], recall: Sequence[Fraction], precision: Sequence[Fraction], tally: _Tally
) -> LongbenchScore:
    mean_recall = sum(recall, ZERO) / len(recall) if recall else ZERO
    mean_precision = sum(precision, ZERO) / len(precision) if precision else ZERO
    remaining = iter(precision)
    n_beyond = len(statements) - len(recall)
    return LongbenchScore(
        dropped=None,
        recall=mean_recall,
        precision=mean_precision,
        f1=harmonic_mean(mean_recall, mean_precision),
        statement_scores=(*recall, *(None,) * n_beyond),
        citation_scores=tuple(tuple(next(remaining, None) for _ in statement.citations) for statement in statements),
        prompt_tokens=tally.prompt_tokens,
        completion_tokens=tally.completion_tokens,
    )


def _group(name: str, answers: Sequence[SetAnswer]) -> GroupMean:
    kept = [answer for answer in answers if answer.f1 is not None]
    return GroupMean(
        name,
        _mean([answer.recall for answer in kept]),
        _mean([answer.precision for answer in kept]),
        _mean([answer.f1 for answer in kept]),
        len(kept) == len(answers),
    )


def _mean(values: Sequence[float | None]) -> float:
    numbers = [value for value in values if value is not None]
    return math.fsum(numbers) / len(numbers) if numbers else math.nan
