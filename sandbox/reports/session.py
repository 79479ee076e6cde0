"""The text of one session: what the model did round by round, and what each citation of its answer stands on.

Knows: a record and how people read one. Must not know: files, how a session is played or judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from rich.console import Group, RenderableType
from rich.text import Text

from citations.markup import dialect_named, parse
from citations.model import Answer, Citation, Sentence
from sandbox.measuring.outcome import COUNTING
from sandbox.record import CriterionRow, PageRow, PieceRow, Record, RoundRow, ScoreRow, ToolCallRow, VerdictRow
from sandbox.reports.figures import percent
from sandbox.reports.overlap import Span, densest_window, shared
from sandbox.reports.session_findings import Beside, contradiction_lines, finding_lines, tape_line, times
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
from sandbox.reports.session_verdict import criterion_lines, dialogue_lines
from sandbox.reports.untrusted import one_line, visible

ARGUMENTS_CHARS = 200
TOOL_LINES, TOOL_LINE_CELLS = 6, 74
REASON_CHARS = 200
EVIDENCE_CHARS = 200
SHOWN_PIECES = 2
MARK = "bold underline"
NOTHING_BESIDE = Beside()
SUPPORT_SIGNS = {"1": "●", "1/2": "◐", "0": "○", None: "?"}
CITATION_SIGNS = {"1": "✓", "0": "✕", None: "?"}


def session_text(record: Record, view: View, beside: Beside = NOTHING_BESIDE) -> RenderableType:
    """The whole session: head, what is wrong with its answer, rounds, answer with evidence and verdicts, pages, score.

    Where one verdict decides: head, dialogue, what the answer was held against, the verdict.
    """
    if record.criterion is not None:
        return Group(*_decided(record, record.criterion, view, beside))
    answer = parse(record.answer, dialect_named(record.dialect)) if record.answer is not None else None
    parts: list[RenderableType] = [*_head(record, view, beside)]
    found = list(finding_lines(record, beside.examined, full=view.full)) if beside.examined else []
    for lines in (found, list(contradiction_lines(record))):
        parts += ["", title(lines[0]), *(Text(line) for line in lines[1:])] if lines else []
    for number, round_ in enumerate(record.rounds, 1):
        parts += ["", *_round(number, round_, view)]
    parts += ["", *(_answer(record, answer, view) if answer else _no_answer(record, view))]
    parts += ["", *_pages(record, answer)]
    parts += ["", *_scores(record, view)]
    return Group(*parts)


def _decided(record: Record, asked: CriterionRow, view: View, beside: Beside) -> Iterator[RenderableType]:
    yield from _facts(record, view, beside)
    yield ""
    yield from dialogue_lines(record, beside.history, view)
    if record.reference is not None:
        yield ""
        yield from _reference(record.reference, view)
    yield ""
    yield from criterion_lines(record, asked, view)


def _facts(record: Record, view: View, beside: Beside) -> Iterator[RenderableType]:
    facts = [record.outcome.replace("_", " "), *(flag.replace("_", " ") for flag in record.flags)]
    kind = [one_line(record.task_type)] if record.task_type else []
    yield title(" · ".join([one_line(record.sample_id), f"repeat {record.repeat}", *kind, *facts]))
    if record.outcome_reason:
        yield indented(1, f"reason: {shorten(record.outcome_reason, REASON_CHARS, view)}")
    if beside.tape is not None:
        yield indented(1, tape_line(beside.tape))
    for name, value in record.labels.items():
        yield indented(1, f"{one_line(name.replace('_', ' '))}: {one_line(value)}")


def _head(record: Record, view: View, beside: Beside) -> Iterator[RenderableType]:
    yield from _facts(record, view, beside)
    yield title("Question")
    yield indented(1, shorten(record.question, QUESTION_CHARS, view))
    if record.reference is not None:
        yield from _reference(record.reference, view)


def _reference(reference: str, view: View) -> Iterator[RenderableType]:
    yield title("Reference answer")
    yield indented(1, shorten(reference, QUESTION_CHARS, view))


def _round(number: int, round_: RoundRow, view: View) -> Iterator[RenderableType]:
    forced = " · final answer asked for, tools off" if round_.forced else ""
    yield title(f"Round {number} · finish {one_line(round_.finish_reason or 'unknown')}{forced}")
    if round_.reasoning:
        yield indented(
            1, f"reasoning ({len(round_.reasoning):,} characters): {flat(round_.reasoning, REASONING_CHARS, view)}"
        )
    if round_.content and round_.calls:
        yield indented(1, f"said: {flat(round_.content, REASONING_CHARS, view)}")
    elif round_.content:
        yield indented(1, f"final message, {len(round_.content):,} characters (see the answer below)")
    for call in round_.calls:
        yield from _call(call, view)


def _call(call: ToolCallRow, view: View) -> Iterator[RenderableType]:
    yield indented(1, f"→ {one_line(call.name, 60)} {flat(call.arguments, ARGUMENTS_CHARS, view)}")
    if call.failure:
        yield indented(2, f"✕ failed ({one_line(call.failure)})")
    elif call.pages:
        yield indented(2, "numbers " + " ".join(f"[{number}]" for number in call.pages))
    if call.neutralised:
        yield indented(2, f"{call.neutralised} forged tags made harmless")
    yield indented(2, visible(call.text) if view.full else _first_lines(call.text))


def _first_lines(text: str) -> str:
    """The first lines that are not blank, each on one line of the terminal, and how much there is in all."""
    lines = [line for line in text.split("\n") if line.strip()]
    shown = [one_line(line, TOOL_LINE_CELLS) for line in lines[:TOOL_LINES]]
    if len(lines) > TOOL_LINES:
        shown.append(f"… (+{len(lines) - TOOL_LINES:,} lines, {len(text):,} characters in all)")
    return "\n".join(shown)


def _no_answer(record: Record, view: View) -> Iterator[RenderableType]:
    yield title("No answer")
    last = record.rounds[-1] if record.rounds else None
    if last is None:
        yield indented(1, "the model said nothing")
        return
    for name, text in (("content", last.content), ("reasoning", last.reasoning)):
        if text:
            tail = visible(text if view.full else text[-REASONING_CHARS:])
            yield indented(1, f"last {name} ends: {tail}")


def _answer(record: Record, answer: Answer, view: View) -> Iterator[RenderableType]:
    finish = one_line(record.finish_reason or "unknown")
    yield title(f"Answer · finish {finish} · dialect {answer.dialect} · {len(answer.sentences)} sentences")
    if not answer.sentences or view.full:
        if not answer.sentences:
            yield indented(1, "no sentence can be read; the raw text:")
        yield indented(1, shorten(answer.raw, ANSWER_CHARS, view))
    reading = _Reading(record)
    for index, sentence in enumerate(answer.sentences):
        yield from _sentence(index, sentence, reading, view)


class _Reading:
    """Score, verdicts and pages of a record, by position and number."""

    def __init__(self, record: Record) -> None:
        self._score = record.score or ScoreRow(recall=None, precision=None, f1=None)
        self._units = record.units
        self.pages = {page.number: page for page in record.pages}

    def verdict(self, kind: str, sentence: int, number: int | None = None) -> VerdictRow | None:
        """The verdict on a sentence, None where none was asked for."""
        return next(
            (
                unit.verdict
                for unit in self._units
                if unit.kind == kind and unit.number == number and sentence in unit.sentences
            ),
            None,
        )

    def sentence_score(self, sentence: int) -> str | None:
        """Exact score of a sentence, None where nothing can be said."""
        scores = self._score.sentence_scores
        return scores[sentence] if sentence < len(scores) else None

    def citation_score(self, sentence: int, place: int) -> str | None:
        """Exact score of a citation, None where nothing can be said."""
        scores = self._score.citation_scores
        row = scores[sentence] if sentence < len(scores) else ()
        return row[place] if place < len(row) else None


def _sentence(index: int, sentence: Sentence, reading: _Reading, view: View) -> Iterator[RenderableType]:
    score = reading.sentence_score(index)
    cites = "".join(f"[{_name(citation)}]" for citation in sentence.citations)
    yield indented(1, f"{SUPPORT_SIGNS.get(score, '?')} {index + 1}. {visible(sentence.text)} {cites}".rstrip())
    for kind in ("support", "need"):
        verdict = reading.verdict(kind, index)
        if verdict is not None:
            yield indented(3, _verdict(kind, verdict, view))
    for place, citation in enumerate(sentence.citations):
        sign = CITATION_SIGNS.get(reading.citation_score(index, place), "?")
        yield indented(3, f"[{_name(citation)}] {sign} {_page_line(citation, reading)}")
        verdict = reading.verdict("relevance", index, citation.number)
        if verdict is not None:
            yield indented(5, _verdict("relevance", verdict, view))
        page = reading.pages.get(citation.number) if citation.number is not None else None
        if page is not None:
            yield from _evidence(sentence.text, page, view)


def _name(citation: Citation) -> str:
    return str(citation.number) if citation.number is not None else "?"


def _page_line(citation: Citation, reading: _Reading) -> str:
    if citation.number is None:
        return f"not a number: {one_line(citation.body, 60)}"
    page = reading.pages.get(citation.number)
    if page is None:
        return "no page has this number"
    seen = "" if page.evidence else " · nothing of it was seen: every call failed or was empty"
    return f"{one_line(page.title, 60)} · {one_line(page.url)}{seen}"


def _verdict(kind: str, verdict: VerdictRow, view: View) -> str:
    if verdict.label is None:
        return (
            f"{kind}: no verdict ({one_line(verdict.failure or 'unknown')}){times(verdict)} "
            f"{flat(verdict.reason, REASON_CHARS, view)}"
        )
    reason = f" — {flat(verdict.reason, REASON_CHARS, view)}" if verdict.reason else ""
    return f"{kind}: {one_line(verdict.label)}{times(verdict)}{reason}"


@dataclass(frozen=True, slots=True)
class _MarkedPiece:
    piece: PieceRow
    spans: tuple[Span, ...]

    @property
    def n_marked(self) -> int:
        return sum(span.end - span.start for span in self.spans)


def _evidence(sentence: str, page: PageRow, view: View) -> Iterator[RenderableType]:
    """The pieces of the page that share most with the sentence; all of them in a full view."""
    marked = [_MarkedPiece(piece, shared(sentence, piece.text)) for piece in page.evidence]
    shown = marked if view.full else sorted(marked, key=lambda item: -item.n_marked)[:SHOWN_PIECES]
    for item in shown:
        place = "" if item.piece.start is None else f" {item.piece.start:,}–{item.piece.end:,}"
        yield indented(5, Text(f"{item.piece.kind}{place}: ").append_text(_marked(item, view)))
    if len(shown) < len(marked):
        yield indented(5, f"{len(marked) - len(shown)} more pieces of this page (--full)")


def _marked(item: _MarkedPiece, view: View) -> Text:
    whole = item.piece.text
    window = Span(0, len(whole)) if view.full else densest_window(item.spans, len(whole), EVIDENCE_CHARS)
    text = Text("…" if window.start else "")
    position = window.start
    for span in item.spans:
        start, end = max(span.start, window.start), min(span.end, window.end)
        if start >= end:
            continue
        text.append(_piece_text(whole[position:start], view))
        word = _piece_text(whole[start:end], view)
        text.append(f"⟦{word}⟧" if view.brackets else word, style=MARK)
        position = end
    text.append(_piece_text(whole[position : window.end], view))
    return text.append("…" if window.end < len(whole) else "")


def _piece_text(text: str, view: View) -> str:
    shown = visible(text)
    return shown if view.full else shown.replace("\n", " ")


def _pages(record: Record, answer: Answer | None) -> Iterator[RenderableType]:
    """Every numbered page, cited or not."""
    yield title(f"Pages · {len(record.pages)} numbered")
    cited = {c.number for sentence in answer.sentences for c in sentence.citations} if answer else set[int | None]()
    for page in record.pages:
        facts = [f"{len(page.evidence)} pieces", *([f"{page.n_failed} failed calls"] if page.n_failed else [])]
        facts += ["cited"] if page.number in cited else []
        yield indented(1, f"[{page.number}] {one_line(page.title, 60)} · {one_line(page.url)} · {', '.join(facts)}")


def _scores(record: Record, view: View) -> Iterator[RenderableType]:
    yield title("Score")
    consistency = record.consistency
    if consistency is not None:
        yield indented(1, _verdict("consistency", consistency, view))
    score = record.score
    if score is None:
        rule = COUNTING[record.outcome].citation
        yield indented(1, f"citation scores: {'left out of the denominator' if rule == 'left out' else 'counted as 0'}")
        return
    yield indented(1, f"recall {_figure(score.recall)}{_figure_bounds(score.recall_bounds)}")
    yield indented(1, f"precision {_figure(score.precision)}{_figure_bounds(score.precision_bounds)}")
    yield indented(1, f"F1 {_figure(score.f1)}{_figure_bounds(score.f1_bounds)}")


def _figure(exact: str | None) -> str:
    return "–" if exact is None else f"{percent(float(Fraction(exact)))} % ({exact})"


def _figure_bounds(bounds: tuple[str, str] | None) -> str:
    if bounds is None:
        return ""
    low, high = (percent(float(Fraction(end))) for end in bounds)
    return f", could be {low}–{high} % (a verdict is missing)"
