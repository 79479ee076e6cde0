"""Verdicts made elsewhere (human annotators, another judge), one JSON object a line, and what they score.

Knows: the row schemas of the two profiles and the sentence that tells a person which row is wrong. Must not know:
files, the command line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Literal, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictInt, ValidationError

from citations.longbench import MAX_STATEMENTS, DropReason, JudgeCall, JudgeReply, LongbenchScore, score_statements
from citations.longbench_reading import Span, Statement
from citations.model import Bounds, JudgedSentence, Score
from citations.policy import Policy
from citations.scoring import score_sentences
from citations.units import numbers_with_evidence

Profile = Literal["tmg", "longbench-cite"]
MAX_DIGITS = 18
"""A longer number is none, as in a cite."""


class RowError(ValueError):
    """A row that cannot be scored; the message names the row and says what is wrong with it."""


def _plain_label(label: object) -> object:
    return {"relevant": "yes", "unrelevant": "no"}.get(label, label) if isinstance(label, str) else label


def by_number(given: Mapping[str, object]) -> dict[int, object]:
    """What is given, its keys read as citation numbers: 1–18 ASCII digits. ValueError for another key or a number twice."""
    found: dict[int, object] = {}
    for key, value in given.items():
        if not (key.isascii() and key.isdigit() and len(key) <= MAX_DIGITS):
            raise ValueError(f"the key {key[:40]!r} is no citation number")
        if int(key) in found:
            raise ValueError(f"number {int(key)} stands there twice")
        found[int(key)] = value
    return found


def _numbered(given: object) -> object:
    return by_number(cast("dict[str, object]", given)) if isinstance(given, dict) else given


class _Row(BaseModel):
    """Keys that the schema does not know are the file's own business (`name`, `tags`, `expected`)."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class _Judged(BaseModel):
    """Here a key that the schema does not know is a slip of the pen that would pass for a missing verdict."""

    model_config = ConfigDict(frozen=True, extra="forbid")


YesNo = Literal["yes", "no"]
Relevance = Annotated[YesNo, BeforeValidator(_plain_label)]
Evidence = Annotated[dict[int, str | None], BeforeValidator(_numbered)]


class TmgVerdict(_Judged):
    """The verdicts on one sentence; `relevance[i]` belongs to its i-th citation. None = none wanted, or missing."""

    support: Literal["full", "partial", "none"] | None = None
    need: YesNo | None = None
    relevance: tuple[Relevance | None, ...] = ()


class TmgSentence(_Row):
    """A sentence with its citations (None = a citation whose number cannot be read) and verdicts."""

    text: str = ""
    citations: tuple[StrictInt | None, ...]
    verdict: TmgVerdict


class TmgRow(_Row):
    """One answer for profile `tmg`. Evidence per number: None or empty = only failed observations."""

    id: str | StrictInt
    status: Literal["ok", "format_unparsable", "generation_failed", "context_overflow"] = "ok"
    evidence: Evidence
    sentences: tuple[TmgSentence, ...]


Replies = Annotated[tuple[str | None, ...], Field(min_length=1)]
"""What the judge wrote, by attempt, the last one repeating; None = the transport gave up."""


class LongbenchCitation(_Row):
    """A cited snippet and the judge's replies about it."""

    snippet: str
    judge: Replies | None = None


class LongbenchJudge(_Judged):
    """The judge's replies about a statement: `support` if it cites something, else `need`."""

    support: Replies | None = None
    need: Replies | None = None


class LongbenchStatement(_Row):
    """A statement with its citations and replies."""

    text: str = ""
    citations: tuple[LongbenchCitation, ...]
    judge: LongbenchJudge = LongbenchJudge()


class LongbenchRow(_Row):
    """One answer for profile `longbench-cite`. `max_statements` null or 0 = no cap, as in the reference."""

    id: str | StrictInt
    statements: tuple[LongbenchStatement, ...]
    max_statements: Annotated[int, Field(ge=0)] | None = MAX_STATEMENTS


class ExactFigures(BaseModel):
    """The figures as fractions ("1/2"); the bounds (least, greatest) stand only where a verdict is missing."""

    model_config = ConfigDict(frozen=True)

    recall: str | None
    precision: str | None
    f1: str | None
    recall_bounds: tuple[str, str] | None = Field(default=None, exclude_if=lambda bounds: bounds is None)
    precision_bounds: tuple[str, str] | None = Field(default=None, exclude_if=lambda bounds: bounds is None)
    f1_bounds: tuple[str, str] | None = Field(default=None, exclude_if=lambda bounds: bounds is None)


class TmgResult(BaseModel):
    """What a row scores, 0–1. `counted`: it is in the F1 denominator. None = nothing can be said."""

    model_config = ConfigDict(frozen=True)

    id: str | int
    counted: bool
    recall: float | None
    precision: float | None
    f1: float | None
    exact: ExactFigures


class LongbenchResult(BaseModel):
    """What a row scores, 0–1. `dropped`: why the answer is in no average (the reference's exception), or None."""

    model_config = ConfigDict(frozen=True)

    id: str | int
    dropped: DropReason | None
    recall: float | None
    precision: float | None
    f1: float | None
    exact: ExactFigures


def score_line(line: str, profile: Profile, n: int, *, policy: Policy | None = None) -> TmgResult | LongbenchResult:
    """The result of one line of a verdict file; `n` is its number, from 1, for the message.

    Raises RowError. `policy` concerns profile `tmg` only.
    """
    model = TmgRow if profile == "tmg" else LongbenchRow
    try:
        row = model.model_validate_json(line)
    except ValidationError as error:
        raise RowError(f"row {n}: {_sentence_about(error)}") from error
    try:
        return score_row(row, policy=policy)
    except RowError as error:
        raise RowError(f"row {n}: {error}") from error


def score_row(row: TmgRow | LongbenchRow, *, policy: Policy | None = None) -> TmgResult | LongbenchResult:
    """The result of one row. Raises RowError where a judge's reply that is needed stands nowhere in it."""
    if isinstance(row, LongbenchRow):
        return _longbench_result(row)
    return _tmg_result(row, policy or Policy())


def _tmg_result(row: TmgRow, policy: Policy) -> TmgResult:
    if row.status == "context_overflow" or (row.status == "generation_failed" and policy.generation_failed == "drop"):
        return TmgResult(
            id=row.id,
            counted=False,
            recall=None,
            precision=None,
            f1=None,
            exact=ExactFigures(recall=None, precision=None, f1=None),
        )
    sentences: list[JudgedSentence] = []
    for index, sentence in enumerate(row.sentences if row.status == "ok" else ()):
        relevance = sentence.verdict.relevance
        if relevance and len(relevance) != len(sentence.citations):
            raise RowError(
                f"sentence {index + 1} has {len(sentence.citations)} citations and {len(relevance)} relevance verdicts"
            )
        sentences.append(JudgedSentence(sentence.citations, sentence.verdict.support, sentence.verdict.need, relevance))
    score = score_sentences(sentences, numbers_with_evidence(row.evidence), policy=policy)
    return TmgResult(
        id=row.id,
        counted=score.f1 is not None,
        recall=_float(score.recall),
        precision=_float(score.precision),
        f1=_float(score.f1),
        exact=_exact(score),
    )


def _longbench_result(row: LongbenchRow) -> LongbenchResult:
    statements = [
        Statement(statement.text, tuple(Span(0, 0, citation.snippet) for citation in statement.citations))
        for statement in row.statements
    ]
    score = score_statements(
        statements, lambda call: _recorded(row.statements, call), max_statements=row.max_statements or None
    )
    return LongbenchResult(
        id=row.id,
        dropped=score.dropped,
        recall=_float(score.recall),
        precision=_float(score.precision),
        f1=_float(score.f1),
        exact=_exact(score),
    )


def _recorded(statements: Sequence[LongbenchStatement], call: JudgeCall) -> JudgeReply:
    statement = statements[call.statement]
    if call.citation is not None:
        replies = statement.citations[call.citation].judge
    else:
        replies = statement.judge.support if call.kind == "support" else statement.judge.need
    if replies is None:
        place = f"statement {call.statement + 1}"
        if call.citation is not None:
            place = f"citation {call.citation + 1} of {place}"
        raise RowError(f"{place} has no judge reply for {call.kind}")
    return JudgeReply(replies[min(call.attempt, len(replies) - 1)])


def _exact(score: Score | LongbenchScore) -> ExactFigures:
    figures = ExactFigures(recall=_text(score.recall), precision=_text(score.precision), f1=_text(score.f1))
    if isinstance(score, LongbenchScore) or not score.judge_error:
        return figures
    return ExactFigures(
        recall=figures.recall,
        precision=figures.precision,
        f1=figures.f1,
        recall_bounds=_both(score.recall_bounds),
        precision_bounds=_both(score.precision_bounds),
        f1_bounds=_both(score.f1_bounds),
    )


def _both(bounds: Bounds) -> tuple[str, str]:
    return str(bounds.low), str(bounds.high)


def _text(value: Fraction | None) -> str | None:
    return None if value is None else str(value)


def _float(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def _sentence_about(error: ValidationError) -> str:
    """The first fault, in words, with its place counted from 1 as a reader of the file counts."""
    fault = error.errors(include_url=False, include_input=False)[0]
    if fault["type"] == "json_invalid":
        return f"not JSON: {fault['msg'].removeprefix('Invalid JSON: ')}"
    *parents, last = ("", *(_name(part) for part in fault["loc"] if part != "[key]"))
    place = " → ".join(filter(None, parents)) or "the object"
    if fault["type"] == "missing":
        return f"{place} has no key {last!r}"
    if fault["type"] == "extra_forbidden":
        return f"{place} has a key {last!r}, which means nothing here"
    whole = " → ".join(filter(None, (*parents, last))) or "the line"
    why = fault["msg"].removeprefix("Value error, ")
    return f"{whole}: {why[:1].lower()}{why[1:]}"


def _name(part: int | str) -> str:
    return f"no. {part + 1}" if isinstance(part, int) else part
