"""One line of records.jsonl: everything that is known of one finished sample.

Knows: the shape of a record and what of it enters the digest. Must not know: how any of it came about.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from citations.markup import dialect_named
from citations.model import UnitKind
from citations.scoring import label_value

Outcome = Literal["answered", "generation_failed", "context_overflow", "judge_error"]
RubricName = Literal["criterion", "safety"]
"""Judgements that are one verdict on a whole answer or dialogue."""
Flag = Literal[
    "no_sentence",
    "no_citation",
    "cut_by_limit",
    "forced_final",
    "evidence_cut",
    "no_citation_needed",
    "call_in_content",
    "reasoning_in_content",
]


class Row(BaseModel):
    """Base of what is stored: frozen, and a foreign key is an error (a record of another version is not guessed at)."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Usage(Row):
    """Tokens as the server counted them; zeros where it does not say. `calls` counts finished HTTP exchanges."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    cached_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        """Sum, field by field."""
        # Sums of valid counts are valid: the check would cost more than the sum.
        return Usage.model_construct(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
        )


class ToolCallRow(Row):
    """One tool call of one round. `arguments` is the string that the model wrote, whatever it was."""

    name: str
    arguments: str
    text: str
    """What the model read (without the per-run delimiter)."""
    pages: tuple[int, ...] = ()
    """Citation numbers of the pages this call showed, in order."""
    failure: str | None = None
    """The kind of a failed call (tools.tool.FailureKind), None for a successful one."""
    neutralised: int = 0
    """How many forged tags and special tokens were made harmless in `text`."""


class RoundRow(Row):
    """One assistant message and the tool calls it asked for."""

    reasoning: str | None = None
    content: str | None = None
    finish_reason: str | None = None
    calls: tuple[ToolCallRow, ...] = ()
    forced: bool = False
    """True for the extra call that asks for the final answer with tools off."""
    user: str | None = Field(default=None, exclude_if=lambda user: user is None)
    """The user turn that this message was the first to follow; only where a script has more than one. The last one
    may stand alone: no message came."""


class PieceRow(Row):
    """A piece of evidence: exactly what was shown, and where it stands."""

    kind: str
    text: str
    body_sha256: str | None = None
    start: int | None = None
    end: int | None = None


class PageRow(Row):
    """One numbered page with its evidence. `evidence` empty = nothing of it was seen; `n_failed` counts failed calls."""

    number: int
    url: str
    title: str
    aliases: tuple[str, ...] = ()
    evidence: tuple[PieceRow, ...] = ()
    n_failed: int = 0


class RepeatRow(Row):
    """What the judge said when it was asked the same again; it counts for nothing. `label` None as in VerdictRow."""

    label: str | None
    reason: str = ""
    attempts: int = 1
    failure: str | None = None


class VerdictRow(Row):
    """What a judge said. `label` None = no verdict, and `failure` says why (parse, api, overflow)."""

    label: str | None
    reason: str = ""
    raw: str = ""
    attempts: int = 1
    failure: str | None = None
    prompt_sha256: str = ""
    repeats: tuple[RepeatRow, ...] = Field(default=(), exclude_if=lambda repeats: not repeats)
    """The second to the last verdict, where each was asked for several times; else empty, and then not stored."""


class UnitRow(Row):
    """One judge unit with its verdict. `sentences` are the indices (from 0) that share it; `number` only for relevance.

    A label that no rule knows is an error.
    """

    kind: UnitKind
    sentences: tuple[int, ...]
    number: int | None = None
    verdict: VerdictRow

    @model_validator(mode="after")
    def _known_label(self) -> Self:
        label_value(self.kind, self.verdict.label)
        return self


class CriterionRow(Row):
    """The one verdict that an answer got, and what it was held against. `verdict` None = there was no answer to judge.

    `passing`: the labels that mean that the answer passes.
    """

    rubric: RubricName
    text: str
    passing: tuple[str, ...]
    verdict: VerdictRow | None = None


Exact = Annotated[str, Field(pattern=r"^[0-9]+(/0*[1-9][0-9]*)?$")]
"""A fraction as text."""


class ScoreRow(Row):
    """Citation score of one answer; exact fractions as text ("1/2"), None where nothing can be said."""

    recall: Exact | None
    precision: Exact | None
    f1: Exact | None
    f1_bounds: tuple[Exact, Exact] | None = None
    recall_bounds: tuple[Exact, Exact] | None = None
    precision_bounds: tuple[Exact, Exact] | None = None
    sentence_scores: tuple[Exact | None, ...] = ()
    citation_scores: tuple[tuple[Exact | None, ...], ...] = ()


class Record(Row):
    """A finished sample. `usage`, `seconds` and `started` stay out of the digest."""

    sample_id: str
    repeat: int = 0
    task_type: str | None = None
    question: str
    reference: str | None = None
    sources: tuple[str, ...] = ()
    outcome: Outcome
    outcome_reason: str = ""
    flags: tuple[Flag, ...] = ()
    dialect: Annotated[str, AfterValidator(lambda name: dialect_named(name).name)] = "tags"
    answer: str | None = None
    finish_reason: str | None = None
    rounds: tuple[RoundRow, ...] = ()
    pages: tuple[PageRow, ...] = ()
    consistency: VerdictRow | None = None
    units: tuple[UnitRow, ...] = ()
    score: ScoreRow | None = None
    """None for a context overflow (left out of the citation denominator)."""
    source_found: bool | None = None
    source_cited: bool | None = None
    criterion: CriterionRow | None = Field(default=None, exclude_if=lambda criterion: criterion is None)
    """Where one verdict is all that is judged; consistency, units and score are then empty."""
    labels: dict[str, str] = Field(default={}, exclude_if=lambda labels: not labels)
    """What results can be broken down by beside the task type."""
    cluster: str | None = Field(default=None, exclude_if=lambda cluster: cluster is None)
    """Samples of one origin, which an interval must draw together."""
    model_usage: Usage = Field(default_factory=Usage)
    judge_usage: Usage = Field(default_factory=Usage)
    started: str = ""
    seconds: float = 0.0


NOT_IN_DIGEST = {"model_usage", "judge_usage", "started", "seconds"}


class Digest:
    """Takes finished records in any order and holds 32 bytes of each, so that a run of any size can be summed up."""

    def __init__(self) -> None:
        self._lines: list[tuple[str, int, bytes]] = []

    def add(self, record: Record) -> None:
        """Take one record."""
        line = canonical(record).encode("utf-8", "surrogatepass")
        self._lines.append((record.sample_id, record.repeat, hashlib.sha256(line).digest()))

    def value(self) -> str:
        """`sha256:…` over the hashes of the canonical records taken so far, sorted by (sample, repeat)."""
        total = hashlib.sha256()
        for _, _, line_hash in sorted(self._lines):
            total.update(line_hash)
        return f"sha256:{total.hexdigest()}"


def digest(records: Iterable[Record]) -> str:
    """`sha256:…` over the records in canonical form, sorted by (sample, repeat); times and usage stay out.

    Two runs with the same digest saw the same pages, wrote the same answers and got the same verdicts.
    """
    total = Digest()
    for record in records:
        total.add(record)
    return total.value()


def canonical(record: Record) -> str:
    """The record as JSON with sorted keys, without what may differ between equal runs."""
    return json.dumps(
        record.model_dump(mode="json", exclude=NOT_IN_DIGEST),
        ensure_ascii=False,
        sort_keys=True,
        separators=(",", ":"),
    )
