"""One session (sample × repeat): played, assessed, written down as a record.

Knows: how rollout, ledger and assessment make a record. Must not know: other sessions, files.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from cassettes.context import taping
from cassettes.tape import SessionTape
from citations.ledger import Ledger
from citations.markup import Dialect
from citations.model import Piece
from citations.policy import Policy
from sandbox.assemble import Parts
from sandbox.assess import Assessment, Case, Judging, assess, assess_criterion
from sandbox.endpoint.chat import ChatModel
from sandbox.judging.criterion import Dialogue
from sandbox.loop import Rollout, Table, play, recorded
from sandbox.record import CriterionRow, Outcome, PageRow, PieceRow, Record
from sandbox.sample import Sample
from sandbox.settings import Limits
from tools.tool import Language


@dataclass(frozen=True, slots=True)
class SessionRules:
    """What is the same for all sessions of a run."""

    dialect: Dialect
    limits: Limits
    language: Language
    nonce: str
    now: Callable[[], datetime] = lambda: datetime.now(UTC)


class JudgedBy(Protocol):
    """What answers are judged and scored by: the parts of a run, or less."""

    @property
    def judge(self) -> ChatModel:
        """The judge."""
        ...

    @property
    def judging(self) -> Judging:
        """How it is asked."""
        ...

    @property
    def policy(self) -> Policy:
        """The readings that scores follow."""
        ...


async def run_session(sample: Sample, repeat: int, parts: Parts, rules: SessionRules, tape: SessionTape) -> Record:
    """The record of a finished session, all of whose traffic went through `tape`.

    SetupError, TapeError and faults of our own escape; nothing else does.
    """
    with taping(tape):
        return await _run(sample, repeat, parts, rules)


async def _run(sample: Sample, repeat: int, parts: Parts, rules: SessionRules) -> Record:
    started, clock = rules.now(), time.monotonic()
    ledger = ledger_of(sample, parts.policy)
    if sample.script.responses is not None:
        rollout = recorded(sample.script, repeat)
    else:
        table = Table(parts.model, parts.toolbox, ledger, rules.limits, rules.language, rules.nonce)
        rollout = await play(sample.script, table)
    record = await judged(Session(sample, repeat, rollout, ledger), parts, rules.dialect)
    return record.model_copy(
        update={
            "started": started.isoformat(timespec="seconds"),
            "seconds": round(time.monotonic() - clock, 3),
        }
    )


@dataclass(frozen=True, slots=True)
class Session:
    """A session that was played: what came of it, and what was seen in it."""

    sample: Sample
    repeat: int
    rollout: Rollout
    ledger: Ledger


def ledger_of(sample: Sample, policy: Policy) -> Ledger:
    """The ledger that a session begins with: the pages in the prompt, under their numbers."""
    ledger = Ledger(policy)
    for page in sample.script.given:
        text = sample.script.turns[0][page.start : page.end]
        ledger.given(page.number, page.url, page.title, [Piece(text, page.body_sha256)])
    return ledger


async def judged(session: Session, by: JudgedBy, dialect: Dialect) -> Record:
    """The record of a session, with its answer judged and scored if it has one; times are not filled in.

    No judge failure escapes; SetupError does.
    """
    answered = session.rollout.answer is not None
    assessment = await _assessed(session, by, dialect) if answered else None
    record = _record(session.sample, session.repeat, session.rollout, assessment, session.ledger)
    return record.model_copy(update={"dialect": dialect.name})


async def _assessed(session: Session, by: JudgedBy, dialect: Dialect) -> Assessment:
    sample, rollout = session.sample, session.rollout
    answer = rollout.answer or ""
    if sample.gold.criterion is not None:
        dialogue = Dialogue(sample.script.turns[0], rollout.rounds)
        return await assess_criterion(sample.gold.criterion, answer, dialogue, by.judge, by.judging)
    case = Case(sample.question, sample.gold.reference, answer, session.ledger.evidence())
    return await assess(case, dialect, by.judge, by.judging, by.policy)


def _record(sample: Sample, repeat: int, rollout: Rollout, assessment: Assessment | None, ledger: Ledger) -> Record:
    found, cited = _sources(sample, assessment, ledger)
    record = Record(
        sample_id=sample.id,
        repeat=repeat,
        task_type=sample.task_type,
        question=sample.question,
        reference=sample.gold.reference,
        sources=sample.gold.sources,
        outcome=rollout.outcome,
        outcome_reason=rollout.reason,
        flags=rollout.flags,
        answer=rollout.answer,
        finish_reason=rollout.finish_reason,
        rounds=rollout.rounds,
        pages=_pages(ledger),
        source_found=found,
        source_cited=cited,
        criterion=_criterion(sample, assessment),
        labels=dict(sample.labels),
        cluster=sample.cluster,
        model_usage=rollout.usage,
    )
    if assessment is None:
        return record
    outcome: Outcome = "judge_error" if assessment.missing else rollout.outcome
    return record.model_copy(
        update={
            "outcome": outcome,
            "outcome_reason": "; ".join(assessment.missing) or rollout.reason,
            "flags": (*rollout.flags, *assessment.flags),
            "consistency": assessment.consistency,
            "units": assessment.units,
            "score": assessment.score,
            "judge_usage": assessment.usage,
        }
    )


def _criterion(sample: Sample, assessment: Assessment | None) -> CriterionRow | None:
    asked = sample.gold.criterion
    if asked is None:
        return None
    verdict = assessment.criterion if assessment is not None else None
    return CriterionRow(rubric=asked.rubric, text=asked.text, passing=asked.passing, verdict=verdict)


def _sources(sample: Sample, assessment: Assessment | None, ledger: Ledger) -> tuple[bool | None, bool | None]:
    """Whether a source page was seen (has evidence), and whether one was cited; None where the data names no source."""
    if not sample.gold.sources:
        return None, None
    evidence = ledger.evidence()
    numbers = {ledger.number_of(url) for url in sample.gold.sources} - {None}
    seen = {number for number in numbers if number is not None and evidence.get(number)}
    return bool(seen), bool(assessment and seen & assessment.cited)


def _pages(ledger: Ledger) -> tuple[PageRow, ...]:
    return tuple(
        PageRow(
            number=page.number,
            url=page.url,
            title=page.title,
            aliases=page.aliases,
            evidence=tuple(
                PieceRow(
                    kind=item.kind,
                    text=item.piece.text,
                    body_sha256=item.piece.body_sha256,
                    start=item.piece.start,
                    end=item.piece.end,
                )
                for item in page.evidence
            ),
            n_failed=page.n_failed,
        )
        for page in ledger.pages()
    )
