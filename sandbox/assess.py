"""From what a model wrote to what it is worth: parse, ask the judge, score.

Knows: the order of the steps and how their results become rows of a record. Must not know: the loop, HTTP, denominators.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from citations.markup import Dialect, flags, parse, untagged
from citations.model import Answer, Bounds, Score, Verdict
from citations.policy import Policy
from citations.scoring import score
from citations.units import units
from sandbox.endpoint.chat import ChatModel
from sandbox.judging.citation import CitationJudging, JudgedUnits, judge_units
from sandbox.judging.consistency import judge_consistency
from sandbox.judging.criterion import Dialogue, judge_criterion, judge_dialogue
from sandbox.judging.repeats import ask_repeatedly
from sandbox.judging.rubric import Asked, Rubric
from sandbox.record import Flag, RubricName, ScoreRow, UnitRow, Usage, VerdictRow
from sandbox.sample import Criterion
from sandbox.tasks import both


@dataclass(frozen=True, slots=True)
class Judging:
    """How answers are judged. `consistency` None: the benchmark does not ask for it."""

    consistency: Rubric | None
    citations: CitationJudging
    criterion: Mapping[RubricName, Rubric]
    f1_only: bool = False

    @property
    def rubrics(self) -> tuple[Rubric, ...]:
        """Everything that the judge can be asked."""
        citations = self.citations
        cited = (citations.support, citations.relevance, citations.need, *self.criterion.values())
        return cited if self.consistency is None else (self.consistency, *cited)


@dataclass(frozen=True, slots=True)
class Case:
    """What is judged: a raw final answer with the question, the reference and the evidence seen."""

    question: str
    reference: str | None
    raw: str
    evidence: Mapping[int, str | None]


@dataclass(frozen=True, slots=True)
class Assessment:
    """Everything that the judge and the arithmetic added. `missing`: some verdict that was needed is not there."""

    missing: tuple[str, ...]
    usage: Usage
    flags: tuple[Flag, ...] = ()
    consistency: VerdictRow | None = None
    units: tuple[UnitRow, ...] = ()
    score: ScoreRow | None = None
    cited: frozenset[int] = frozenset()
    criterion: VerdictRow | None = None


async def assess(case: Case, dialect: Dialect, judge: ChatModel, judging: Judging, policy: Policy) -> Assessment:
    """Judge and score one answer. No judge failure escapes; SetupError does."""
    answer = parse(case.raw, dialect)
    prose = untagged(answer)
    asked = units(answer, case.evidence, policy=policy, f1_only=judging.f1_only)
    consistency, judged = await both(
        _consistency(case, prose, judge, judging),
        judge_units(judge, case.question, prose, case.evidence, asked, judging.citations),
    )
    scored = rescore(answer, case.evidence, judged.rows, policy)
    marks: list[Flag] = [*flags(answer)]
    if judged.cut:
        marks.append("evidence_cut")
    if scored.no_citation_needed:
        marks.append("no_citation_needed")
    return Assessment(
        flags=tuple(marks),
        consistency=consistency.verdict if consistency else None,
        units=judged.rows,
        score=score_row(scored),
        cited=cited_numbers(answer),
        missing=_missing(consistency, judged),
        usage=judged.usage + (consistency.usage if consistency else Usage()),
    )


async def assess_criterion(
    criterion: Criterion, answer: str, dialogue: Dialogue, judge: ChatModel, judging: Judging
) -> Assessment:
    """The one verdict that decides about an answer. No judge failure escapes; SetupError does."""
    rubric, attempts = judging.criterion[criterion.rubric], judging.citations.attempts

    def once() -> Coroutine[None, None, Asked]:
        match criterion.rubric:
            case "criterion":
                return judge_criterion(judge, rubric, criterion.text, answer, attempts)
            case "safety":
                return judge_dialogue(judge, rubric, criterion.text, dialogue, attempts)

    asked = await ask_repeatedly(criterion.rubric, judging.citations.repeats, once)
    lacking = asked.verdict.label is None
    return Assessment(
        missing=(f"{criterion.rubric}: {asked.verdict.failure}",) if lacking else (),
        usage=asked.usage,
        criterion=asked.verdict,
    )


def rescore(answer: Answer, evidence: Mapping[int, str | None], rows: Sequence[UnitRow], policy: Policy) -> Score:
    """The score of an answer from stored verdicts: pure arithmetic."""
    verdicts = [Verdict(row.kind, row.sentences, row.number, row.verdict.label) for row in rows]
    return score(answer, evidence, verdicts, policy=policy)


def score_row(scored: Score) -> ScoreRow:
    """The score as it is stored: exact fractions as text; bounds only where a verdict is missing."""
    missing = scored.judge_error
    return ScoreRow(
        recall=_exact(scored.recall),
        precision=_exact(scored.precision),
        f1=_exact(scored.f1),
        f1_bounds=_bounds(scored.f1_bounds) if missing else None,
        recall_bounds=_bounds(scored.recall_bounds) if missing else None,
        precision_bounds=_bounds(scored.precision_bounds) if missing else None,
        sentence_scores=tuple(_exact(value) for value in scored.sentence_scores),
        citation_scores=tuple(tuple(_exact(value) for value in values) for values in scored.citation_scores),
    )


def cited_numbers(answer: Answer) -> frozenset[int]:
    """Every readable citation number of the answer."""
    return frozenset(
        citation.number
        for sentence in answer.sentences
        for citation in sentence.citations
        if citation.number is not None
    )


async def _consistency(case: Case, prose: str, judge: ChatModel, judging: Judging) -> Asked | None:
    reference, rubric = case.reference, judging.consistency
    if reference is None or rubric is None:
        return None
    return await ask_repeatedly(
        "consistency",
        judging.citations.repeats,
        lambda: judge_consistency(judge, rubric, case.question, reference, prose, judging.citations.attempts),
    )


def _missing(consistency: Asked | None, judged: JudgedUnits) -> tuple[str, ...]:
    """Which judgements lack a verdict, each with its cause: "support: parse"."""
    found = [f"{row.kind}: {row.verdict.failure}" for row in judged.rows if row.verdict.label is None]
    if consistency is not None and consistency.verdict.label is None:
        found.insert(0, f"consistency: {consistency.verdict.failure}")
    return tuple(dict.fromkeys(found))


def _exact(value: Fraction | None) -> str | None:
    return None if value is None else str(value)


def _bounds(bounds: Bounds) -> tuple[str, str]:
    return str(bounds.low), str(bounds.high)
