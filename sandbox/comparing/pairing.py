"""What two runs say of the same questions: sessions gathered by question, questions paired.

Knows: records, the counting table. Must not know: files, tests of significance, how a comparison is printed.

Of each session only what a comparison needs is kept: pages and reasoning stay on the disk.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, get_args

from sandbox.measuring.measures import CITED, Measure, Measures, values_of
from sandbox.measuring.outcome import Counted, LeftOut, Value
from sandbox.record import Flag, Outcome, Record
from sandbox.verdict_counts import JudgeCounts, VerdictCounter

State = Literal[Outcome, "no_sentence", "no_citation", "mixed"]
"""What became of a question: its outcome; the flag of an answer that cannot be parsed; `mixed` where sessions differ."""
CAUSE = re.compile(r"([a-z_]{1,40})(?::|\Z)")
OUTCOMES: frozenset[str] = frozenset(get_args(Outcome))


@dataclass(frozen=True, slots=True)
class Session:
    """One session as far as a comparison needs it. `cause` is the word that its outcome's reason begins with."""

    state: State
    cause: str
    flags: tuple[Flag, ...]
    values: Mapping[str, Value]


@dataclass(slots=True)
class Question:
    """All finished sessions (≥ 1) of a question. `asked` is a hash of question, reference and yes/no criterion: equal =
    the same question.
    """

    sample_id: str
    task_type: str | None
    text: str
    asked: bytes
    cluster: str
    """What it is drawn together with: its origin, or it alone."""
    sessions: list[Session] = field(default_factory=list[Session])

    @property
    def state(self) -> State:
        """What became of it: the one state of all its sessions, else `mixed`."""
        first = self.sessions[0].state
        return first if all(session.state == first for session in self.sessions) else "mixed"


@dataclass(frozen=True, slots=True)
class Mean:
    """A question's value in one metric (0–1): the mean of the sessions that count; `low`–`high` as in `Counted`."""

    value: Fraction
    low: Fraction
    high: Fraction


@dataclass(frozen=True, slots=True)
class Questions:
    """A run's questions by sample id, and what its judge did."""

    by_id: Mapping[str, Question]
    n_sessions: int
    judging: JudgeCounts


@dataclass(frozen=True, slots=True)
class Pair:
    """The same question in both runs."""

    a: Question
    b: Question


@dataclass(frozen=True, slots=True)
class Pairing:
    """The pairs, sorted by sample id, and how many questions have none. `changed`: same id, another question."""

    pairs: tuple[Pair, ...]
    only_a: int
    only_b: int
    changed: int


def gather(records: Iterable[Record], measures: Measures = CITED) -> Questions:
    """The questions of a run, in one pass over its records (any order), with what they give to `measures`."""
    by_id: dict[str, Question] = {}
    judging = VerdictCounter()
    n_sessions = 0
    for record in records:
        question = by_id.get(record.sample_id)
        if question is None:
            question = by_id[record.sample_id] = Question(
                record.sample_id,
                record.task_type,
                record.question,
                _asked(record),
                record.cluster or record.sample_id,
            )
        question.sessions.append(
            Session(state_of(record), _cause(record.outcome_reason), record.flags, values_of(record, measures))
        )
        judging.add(record)
        n_sessions += 1
    return Questions(by_id, n_sessions, judging.counts())


def paired(a: Questions, b: Questions) -> Pairing:
    """The questions that both runs asked in the same words (question, reference and yes/no criterion)."""
    common = sorted(a.by_id.keys() & b.by_id.keys())
    pairs = tuple(
        Pair(a.by_id[sample_id], b.by_id[sample_id])
        for sample_id in common
        if a.by_id[sample_id].asked == b.by_id[sample_id].asked
    )
    return Pairing(pairs, len(a.by_id) - len(common), len(b.by_id) - len(common), len(common) - len(pairs))


def mean(question: Question, metric: Measure, *, left_out_as_zero: bool = False) -> Mean | None:
    """The question's value: the mean over its sessions that count, or what the measure folds them into; None where none
    counts.

    `left_out_as_zero`: sessions left out for their outcome (a context overflow) count as 0; those left out because
    there is nothing to measure (no reference, no sources, not asked) still do not count.
    """
    values = [session.values[metric.name] for session in question.sessions]
    kept = [value for value in (map(_zeroed, values) if left_out_as_zero else values) if isinstance(value, Counted)]
    if not kept or (metric.fold != "mean" and len(kept) < metric.attempts):
        return None
    if metric.fold != "mean":
        return Mean(*(_folded([end(value) for value in kept], metric) for end in _ENDS))
    return Mean(
        sum((value.value for value in kept), Fraction(0)) / len(kept),
        sum((value.low for value in kept), Fraction(0)) / len(kept),
        sum((value.high for value in kept), Fraction(0)) / len(kept),
    )


def left_out(questions: Iterable[Question], metric: Measure) -> dict[str, int]:
    """Sessions that the metric leaves out, by reason, sorted."""
    values = (session.values[metric.name] for question in questions for session in question.sessions)
    return dict(
        sorted(Counter(value.reason for value in values if isinstance(value, LeftOut) and value.reason).items())
    )


def one_session_each(pairs: Sequence[Pair]) -> bool:
    """Whether every question has exactly one session in both runs."""
    return all(len(pair.a.sessions) == len(pair.b.sessions) == 1 for pair in pairs)


def state_of(record: Record) -> State:
    """The outcome, or the flag of a final answer whose markup gives nothing to score."""
    if "no_sentence" in record.flags:
        return "no_sentence"
    return "no_citation" if "no_citation" in record.flags else record.outcome


_ENDS: tuple[Callable[[Counted], Fraction], ...] = (
    lambda value: value.value,
    lambda value: value.low,
    lambda value: value.high,
)


def _folded(ends: Sequence[Fraction], metric: Measure) -> Fraction:
    passed = any(end == 1 for end in ends) if metric.fold == "any" else all(end == 1 for end in ends)
    return Fraction(int(passed))


def _zeroed(value: Value) -> Value:
    zero = Fraction(0)
    return Counted(zero, zero, zero) if isinstance(value, LeftOut) and value.reason in OUTCOMES else value


def _asked(record: Record) -> bytes:
    text = f"{record.question}\0{'' if record.reference is None else record.reference}"
    if record.criterion is not None and record.criterion.rubric == "criterion":
        # Another yes/no question about the answer is another question.
        text += f"\0{record.criterion.text}\0{record.criterion.passing}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _cause(reason: str) -> str:
    found = CAUSE.match(reason)
    return found[1] if found else ""
