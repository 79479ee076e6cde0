"""One stored session as the report page reads it: texts once, everything else by offsets into them.

Knows: records and the page's data format. Must not know: files, HTML, how anything is drawn.

Evidence is mostly a stretch of what a tool call returned, so it is found there and pointed at instead of copied: zlib's
window (32 kB) would not see the repetition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from citations.markup import dialect_named, parse
from citations.model import Answer
from sandbox.measuring.outcome import COUNTING
from sandbox.record import CriterionRow, PageRow, PieceRow, Record, RoundRow, ScoreRow, ToolCallRow, VerdictRow
from sandbox.reports.page_format import (
    VERSION,
    CallShown,
    CriterionShown,
    PageShown,
    PieceShown,
    RepeatShown,
    RoundShown,
    ScoreShown,
    SentenceShown,
    Session,
    TextRef,
    TurnShown,
    UnitShown,
    VerdictShown,
)
from sandbox.reports.page_lint import Diagnosis
from sandbox.reports.page_sentences import sentences_shown
from sandbox.reports.session_history import Turn
from sandbox.reports.utf16 import Utf16

PagesKept = Literal["all", "cited"]
UNCITED_CHARS = 600
"""What `--pages cited` keeps of a text that shows no cited page."""

_TOTAL = re.compile(r"^(?:範囲: \d+–\d+ / 全|Range: \d+–\d+ of )(\d+)", re.MULTILINE)
"""The line of a fetch result that says how long the whole page is (`tools.fetch`)."""


def session_shown(record: Record, diagnosis: Diagnosis, kept: PagesKept, history: Sequence[Turn] = ()) -> Session:
    """The session of `record`, with what the lint found in its answer; `history`: what was said before the question."""
    cited = record.criterion is None and record.answer is not None
    answer = parse(record.answer or "", dialect_named(record.dialect)) if cited else None
    texts = _Texts()
    shortener = _Shortener(kept, cited_numbers(answer, diagnosis))
    rounds = tuple(_round(round_, texts, shortener) for round_ in record.rounds)
    pages = tuple(_page(page, record, texts, shortener) for page in record.pages)
    return Session(
        version=VERSION,
        id=record.sample_id,
        repeat=record.repeat,
        task_type=record.task_type,
        question=record.question,
        reference=record.reference,
        sources=record.sources,
        outcome=record.outcome,
        reason=record.outcome_reason,
        flags=record.flags,
        dialect=record.dialect,
        finish=record.finish_reason,
        rounds=rounds,
        pages=pages,
        answer=texts.whole(record.answer) if record.answer is not None else None,
        sentences=_sentences(answer, record.score) if answer else (),
        recovered=diagnosis.recovered,
        findings=diagnosis.findings,
        not_checked=diagnosis.not_checked,
        consistency=_verdict(record.consistency) if record.consistency else None,
        criterion=_criterion(record.criterion) if record.criterion else None,
        labels=record.labels,
        history=tuple(TurnShown(role=turn.role, text=texts.whole(turn.text)) for turn in history),
        units=tuple(
            UnitShown(kind=unit.kind, sentences=unit.sentences, number=unit.number, verdict=_verdict(unit.verdict))
            for unit in record.units
        ),
        score=_score(record.score) if record.score else None,
        citation_counting=COUNTING[record.outcome].citation,
        prompt_tokens=record.model_usage.prompt_tokens,
        completion_tokens=record.model_usage.completion_tokens,
        seconds=record.seconds,
        texts=texts.stored,
    )


def _sentences(answer: Answer, score: ScoreRow | None) -> tuple[SentenceShown, ...]:
    return sentences_shown(answer, score.sentence_scores, score.citation_scores) if score else sentences_shown(answer)


def cited_numbers(answer: Answer | None, diagnosis: Diagnosis) -> frozenset[int]:
    """Numbers cited in the strict or in the recovered reading."""
    strict = [c.number for sentence in (answer.sentences if answer else ()) for c in sentence.citations]
    recovered = diagnosis.recovered.sentences if diagnosis.recovered else ()
    mended = [c.number for sentence in recovered for c in sentence.citations]
    return frozenset(number for number in (*strict, *mended) if number is not None)


class _Texts:
    """The distinct texts of a session, in order of appearance."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        self._units: list[Utf16] = []

    @property
    def stored(self) -> tuple[str, ...]:
        return tuple(self._index)

    def whole(self, text: str) -> TextRef:
        """A reference to the whole of `text`."""
        index = self._index.get(text)
        if index is None:
            index = self._index[text] = len(self._units)
            self._units.append(Utf16(text))
        return TextRef(index, 0, self._units[index].length)

    def part(self, text: str, carriers: Sequence[str]) -> TextRef:
        """A reference to `text` where it stands in one of `carriers` (texts stored already), else to a new one."""
        for carrier in carriers:
            start = carrier.find(text)
            if start >= 0:
                index = self._index[carrier]
                units = self._units[index]
                return TextRef(index, units.at(start), units.at(start + len(text)))
        return self.whole(text)


@dataclass(frozen=True, slots=True)
class _Shortener:
    kept: PagesKept
    cited: frozenset[int]

    def of_call(self, call: ToolCallRow) -> str:
        """What is kept of a call's text: all of it where it shows a cited page, or nothing is to be left out."""
        whole = self.kept == "all" or call.name != "fetch" or not self.cited.isdisjoint(call.pages)
        return call.text if whole else call.text[:UNCITED_CHARS]

    def of_piece(self, page: PageRow, text: str) -> str:
        return text if self.kept == "all" or page.number in self.cited else text[:UNCITED_CHARS]


def _round(round_: RoundRow, texts: _Texts, shortener: _Shortener) -> RoundShown:
    return RoundShown(
        reasoning=texts.whole(round_.reasoning) if round_.reasoning else None,
        content=texts.whole(round_.content) if round_.content else None,
        finish=round_.finish_reason,
        forced=round_.forced,
        calls=tuple(_call(call, texts, shortener) for call in round_.calls),
        user=texts.whole(round_.user) if round_.user else None,
    )


def _call(call: ToolCallRow, texts: _Texts, shortener: _Shortener) -> CallShown:
    kept = shortener.of_call(call)
    return CallShown(
        tool=call.name,
        arguments=call.arguments,
        text=texts.whole(kept),
        pages=call.pages,
        failure=call.failure,
        neutralised=call.neutralised,
        left_out_chars=len(call.text) - len(kept),
    )


def _page(page: PageRow, record: Record, texts: _Texts, shortener: _Shortener) -> PageShown:
    calls = [call for round_ in record.rounds for call in round_.calls if page.number in call.pages]
    carriers = list(dict.fromkeys(shortener.of_call(call) for call in calls))
    return PageShown(
        number=page.number,
        url=page.url,
        title=page.title,
        aliases=page.aliases,
        total_chars=next(_totals(calls), None),
        pieces=tuple(_piece(piece, page, texts, carriers, shortener) for piece in page.evidence),
        n_failed=page.n_failed,
    )


def _totals(calls: Sequence[ToolCallRow]) -> Iterator[int]:
    for call in calls:
        found = _TOTAL.search(call.text[:4_000]) if call.name == "fetch" else None
        if found:
            yield int(found[1])


def _piece(piece: PieceRow, page: PageRow, texts: _Texts, carriers: Sequence[str], shortener: _Shortener) -> PieceShown:
    text = shortener.of_piece(page, piece.text)
    return PieceShown(
        kind=piece.kind,
        text=texts.part(text, carriers),
        start_char=piece.start,
        end_char=piece.end,
        sha256=piece.body_sha256,
        left_out_chars=len(piece.text) - len(text),
    )


def _verdict(row: VerdictRow) -> VerdictShown:
    return VerdictShown(
        label=row.label,
        reason=row.reason,
        raw=row.raw,
        attempts=row.attempts,
        failure=row.failure,
        prompt=row.prompt_sha256,
    )


def _criterion(row: CriterionRow) -> CriterionShown:
    verdict = _verdict(row.verdict) if row.verdict else None
    if verdict and row.verdict:
        repeats = tuple(
            RepeatShown(label=again.label, reason=again.reason, failure=again.failure) for again in row.verdict.repeats
        )
        verdict = verdict.model_copy(update={"repeats": repeats})
    return CriterionShown(rubric=row.rubric, text=row.text, passing=row.passing, verdict=verdict)


def _score(row: ScoreRow) -> ScoreShown:
    return ScoreShown(recall=row.recall, precision=row.precision, f1=row.f1, f1_bounds=row.f1_bounds)
