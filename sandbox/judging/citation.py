"""The judge on citations: every unit of an answer asked, with the evidence that it is about.

Knows: which values each unit's prompt gets, in what order calls go out, what is cut. Must not know: what a verdict is
worth, how an answer was parsed, where evidence came from.

tmg_cqa publication, section on citation quality: support is judged on all evidence that a sentence cites (full, partial,
none), relevance on the evidence of one citation (yes, no), need on a sentence without citation (yes, no).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from citations.ledger import EVIDENCE_JOINT
from citations.model import Unit
from sandbox.endpoint.chat import ChatModel
from sandbox.judging.repeats import ask_repeatedly
from sandbox.judging.rubric import Asked, Rubric, ask, load_rubric
from sandbox.record import UnitRow, Usage
from sandbox.tasks import all_of
from tools.tool import Language

CUT_MARK = "…"


@dataclass(frozen=True, slots=True)
class CitationJudging:
    """How units are judged. `max_evidence_chars` bounds what one call gets of the evidence (characters, all its pages).

    `repeats`: how often each verdict is asked for (≥ 1), see `judging.repeats`.
    """

    support: Rubric
    relevance: Rubric
    need: Rubric
    attempts: int = 3
    max_evidence_chars: int = 200_000
    repeats: int = 1


@dataclass(frozen=True, slots=True)
class JudgedUnits:
    """The rows in the order of the units; `cut` = numbers whose evidence some call got only in part (lint code R06)."""

    rows: tuple[UnitRow, ...]
    usage: Usage
    cut: tuple[int, ...] = ()
    n_forged: int = 0


@dataclass(frozen=True, slots=True)
class _Shown:
    text: str
    cut: tuple[int, ...]


def load_citation_judging(
    language: Language, folder: Path | None = None, *, attempts: int = 3, max_evidence_chars: int = 200_000
) -> CitationJudging:
    """The three rubrics with their prompts. Raises SetupError where a prompt cannot be used (`prompt.load_prompt`)."""
    return CitationJudging(
        support=load_rubric("support", language, folder),
        relevance=load_rubric("relevance", language, folder),
        need=load_rubric("need", language, folder),
        attempts=attempts,
        max_evidence_chars=max_evidence_chars,
    )


async def judge_units(
    judge: ChatModel,
    question: str,
    answer: str,
    evidence: Mapping[int, str | None],
    units: Sequence[Unit],
    judging: CitationJudging,
) -> JudgedUnits:
    """Every unit with its verdict, or with the named lack of one.

    `answer` is the whole answer without tags (`citations.markup.untagged`). All calls are started at once, in the order
    of the units, which puts those on the same evidence next to one another; how many are under way is the judge's own
    affair. Raises SetupError only, and then no call goes on behind the caller's back.
    """
    shown: dict[tuple[int, ...], _Shown] = {}
    for unit in units:
        if unit.evidence_numbers not in shown:
            shown[unit.evidence_numbers] = _show(unit.evidence_numbers, evidence, judging.max_evidence_chars)
    asked = await all_of(
        [
            _ask_unit(judge, _Question(question, answer, shown[unit.evidence_numbers].text, unit), judging, f"u{i:03}")
            for i, unit in enumerate(units)
        ]
    )
    return JudgedUnits(
        rows=tuple(
            UnitRow(kind=unit.kind, sentences=unit.sentences, number=unit.number, verdict=one.verdict)
            for unit, one in zip(units, asked, strict=True)
        ),
        usage=sum((one.usage for one in asked), Usage()),
        cut=tuple(sorted({number for view in shown.values() for number in view.cut})),
        n_forged=sum(one.n_forged for one in asked),
    )


@dataclass(frozen=True, slots=True)
class _Question:
    question: str
    answer: str
    shown: str
    unit: Unit


def cut_numbers(numbers: Sequence[int], evidence: Mapping[int, str | None], max_chars: int) -> tuple[int, ...]:
    """Of the pages of one unit, those whose evidence is too long to be shown whole beside the others'."""
    return _show(numbers, evidence, max_chars).cut


async def _ask_unit(judge: ChatModel, asked: _Question, judging: CitationJudging, place: str) -> Asked:
    """The verdict on one unit. `place` orders units under way at once on the tape, also where they read the same."""
    match asked.unit.kind:
        case "support":
            rubric = judging.support
        case "relevance":
            rubric = judging.relevance
        case "need":
            rubric = judging.need
    fields = {"question": asked.question, "sentence": asked.unit.text}
    fields |= {"answer": asked.answer} if asked.unit.kind == "need" else {"evidence": asked.shown}
    return await ask_repeatedly(place, judging.repeats, lambda: ask(judge, rubric, fields, judging.attempts))


def _show(numbers: Sequence[int], evidence: Mapping[int, str | None], max_chars: int) -> _Shown:
    """The pages' evidence joined, each page's beginning where all of it would be too much."""
    pages = [evidence[number] or "" for number in numbers]
    room = _fair_shares([len(page) for page in pages], max_chars)
    parts = [page if len(page) <= share else page[:share] + CUT_MARK for page, share in zip(pages, room, strict=True)]
    cut = [number for number, page, share in zip(numbers, pages, room, strict=True) if len(page) > share]
    return _Shown(EVIDENCE_JOINT.join(parts), tuple(cut))


def _fair_shares(wanted: Sequence[int], total: int) -> list[int]:
    """`total` divided so that nobody gets more than wanted and nobody who is cut gets less than another who is cut."""
    shares = list(wanted)
    left, waiting = total, len(wanted)
    for i in sorted(range(len(wanted)), key=lambda i: wanted[i]):
        shares[i] = min(wanted[i], left // waiting)
        left -= shares[i]
        waiting -= 1
    return shares
