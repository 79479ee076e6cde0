"""The data that the report page is fed with, version 1: one index, and one session per question and repeat.

Knows: names and types on the wire between the Python writer and the page's own program (`web/src/format.ts` says the
same in TypeScript). Must not know: records, files, how anything is drawn.

Offsets into texts are UTF-16 units, because the page slices JavaScript strings; those called `…_char` count characters,
as everything else in pincite does, and are only ever shown. Figures of the index rows are points, 0 to 100.
"""

from __future__ import annotations

from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, JsonValue

from sandbox.record import Flag, Outcome, RubricName
from sandbox.summary import Summary

VERSION = 1
QUESTION_CHARS = 120
"""As much of a question stands in the index; the whole one is in its session."""


class Wire(BaseModel):
    """Base of what is written into the page. What is at its default is left out of the JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class TextRef(NamedTuple):
    """A stretch of `Session.texts[text]`, in UTF-16 units: texts are stored once and pointed at, never copied."""

    text: int
    start: int
    end: int


class CallShown(Wire):
    """One tool call and what the model read of it. `left_out_chars`: cut off by `--pages cited`."""

    tool: str
    arguments: str
    text: TextRef
    pages: tuple[int, ...] = ()
    failure: str | None = None
    neutralised: int = 0
    left_out_chars: int = 0


class RoundShown(Wire):
    """One assistant message."""

    reasoning: TextRef | None = None
    content: TextRef | None = None
    finish: str | None = None
    forced: bool = False
    calls: tuple[CallShown, ...] = ()
    user: TextRef | None = None
    """The user turn that it follows, where a script has more than one."""


class PieceShown(Wire):
    """A piece of evidence. `start_char`, `end_char` and `total_chars` place it in the page's text, where known."""

    kind: str
    text: TextRef
    start_char: int | None = None
    end_char: int | None = None
    sha256: str | None = None
    left_out_chars: int = 0


class PageShown(Wire):
    """A numbered page. `seen`: rounds (from 1) whose calls showed it, as (round, tool)."""

    number: int
    url: str
    title: str
    aliases: tuple[str, ...] = ()
    total_chars: int | None = None
    pieces: tuple[PieceShown, ...] = ()
    n_failed: int = 0


class RepeatShown(Wire):
    """What the judge said when it was asked the same again."""

    label: str | None = None
    reason: str = ""
    failure: str | None = None


class VerdictShown(Wire):
    """What a judge said. `repeats`: asked the same again, shown only of a verdict that stands alone."""

    label: str | None = None
    reason: str = ""
    raw: str = ""
    attempts: int = 1
    failure: str | None = None
    prompt: str = ""
    repeats: tuple[RepeatShown, ...] = ()


class CriterionShown(Wire):
    """The one verdict of a session, what it decides, and the labels that pass; no verdict = no answer to judge."""

    rubric: RubricName
    text: str
    passing: tuple[str, ...]
    verdict: VerdictShown | None = None


class TurnShown(Wire):
    """A message that the session began with."""

    role: str
    text: TextRef


class UnitShown(Wire):
    """A judge unit: `sentences` are positions in `Session.sentences`."""

    kind: str
    sentences: tuple[int, ...]
    number: int | None = None
    verdict: VerdictShown


class CitationShown(Wire):
    """One citation as written. `score` is "1", "0" or None; offsets are those of the element in the raw answer."""

    number: int | None
    body: str
    start: int
    end: int
    score: str | None = None


class SentenceShown(Wire):
    """One sentence of a reading; `score` is an exact fraction, None where no verdict says."""

    text: str
    start: int
    end: int
    citations: tuple[CitationShown, ...] = ()
    score: str | None = None


class FindingShown(Wire):
    """One lint finding. `points`: F1 points (0–100) of this answer if only its code were mended, None if not known."""

    code: str
    severity: str
    start: int
    end: int
    start_char: int
    end_char: int
    line: int
    column: int
    message: str
    fix: str = ""
    points: float | None = None


class RecoveredShown(Wire):
    """The recovered reading: shown, never scored. Its figures are points."""

    sentences: tuple[SentenceShown, ...]
    recall: float | None = None
    precision: float | None = None
    f1: float | None = None


class ScoreShown(Wire):
    """Exact scores as text, and points for the eye."""

    recall: str | None = None
    precision: str | None = None
    f1: str | None = None
    f1_bounds: tuple[str, str] | None = None


class Session(Wire):
    """Everything that the page shows of one session."""

    version: int
    id: str
    repeat: int = 0
    task_type: str | None = None
    question: str
    reference: str | None = None
    sources: tuple[str, ...] = ()
    outcome: Outcome
    reason: str = ""
    flags: tuple[Flag, ...] = ()
    dialect: str
    finish: str | None = None
    texts: tuple[str, ...] = ()
    rounds: tuple[RoundShown, ...] = ()
    pages: tuple[PageShown, ...] = ()
    answer: TextRef | None = None
    sentences: tuple[SentenceShown, ...] = ()
    recovered: RecoveredShown | None = None
    findings: tuple[FindingShown, ...] = ()
    not_checked: tuple[str, ...] = ()
    consistency: VerdictShown | None = None
    criterion: CriterionShown | None = None
    """Where one verdict is all that is judged: sentences, findings, units and score are then empty."""
    labels: dict[str, str] = {}
    history: tuple[TurnShown, ...] = ()
    """Messages before the question; only where one verdict is all that is judged."""
    units: tuple[UnitShown, ...] = ()
    score: ScoreShown | None = None
    citation_counting: str
    """What the outcome does to the citation scores (`sandbox.measuring.outcome.Counting`)."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0


class CodePoints(NamedTuple):
    """A lint code of one answer, and the points it costs there (None where that is not known)."""

    code: str
    points: float | None


class Decided(NamedTuple):
    """What one verdict made of a session. `passed`: by the measure of its benchmark; None = no verdict, or left out.

    `cause`: the first word of why there is no answer. `left_out`: why it is in no denominator. `flipped`: the judge was
    asked several times and did not say the same.
    """

    verdict: str | None
    passed: bool | None
    cause: str
    left_out: str
    flipped: bool
    labels: dict[str, str]


class Row(NamedTuple):
    """One session in the index; what filters, sorting and the table need. `urls` point into `RunShown.urls`.

    `decided`: where one verdict is all that is judged; `answer` and the figures of citations are then None.
    """

    id: str
    repeat: int
    question: str
    task_type: str | None
    outcome: Outcome
    flags: tuple[Flag, ...]
    answer: str | None
    f1: float | None
    recall: float | None
    precision: float | None
    recovered: float | None
    codes: tuple[CodePoints, ...]
    rounds: int
    tokens: int
    seconds: float
    contradiction: int
    urls: tuple[int, ...]
    decided: Decided | None
    name: str
    """Of its session's script element: A-0001."""


class Decisions(Wire):
    """Sessions of the whole run by what one verdict made of them, and by its label."""

    passed: int = 0
    failed: int = 0
    undecided: int = 0
    left_out: dict[str, int] = {}
    labels: dict[str, int] = {}


class HostFailures(NamedTuple):
    """Fetch and find calls on one host, and how they failed."""

    host: str
    calls: int
    failed: dict[str, int]


class HeadPart(NamedTuple):
    """A stretch of the headline; `strong` marks the loss it is about."""

    text: str
    strong: bool


class Headline(NamedTuple):
    """One sentence made from the numbers, and the second largest fact below it."""

    first: tuple[HeadPart, ...]
    second: str


class CodePage(Wire):
    """What a lint code is about."""

    code: str
    severity: str
    title: str
    text: str


class RunShown(Wire):
    """One run in the index."""

    letter: str
    name: str
    summary: Summary
    headline: Headline
    expected_sessions: int | None = None
    """Of the whole run, None where unknown; fewer in the summary = a half-written run."""
    compared: dict[str, JsonValue] = {}
    starts: tuple[JsonValue, ...] = ()
    hosts: tuple[HostFailures, ...] = ()
    decisions: Decisions | None = None
    """None where citations are scored."""
    urls: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()


class ChangeShown(Wire):
    """One metric's difference to run A, in 0–1, with its interval and test; None where nothing can be said."""

    difference: float | None
    interval: tuple[float, float] | None
    p: float | None
    p_holm: float | None
    test: str | None
    pairs: int


class ComparedShown(Wire):
    """Run `letter` held against run A. `refused`: why they are not compared, in words; then there are no metrics."""

    letter: str
    refused: str | None = None
    questions: int = 0
    only_a: int = 0
    only_b: int = 0
    unfinished: bool = False
    metrics: dict[str, ChangeShown] = {}


class Index(Wire):
    """The index: runs and their rows, and what the page must know of the file it stands in."""

    version: int
    pincite: str
    runs: tuple[RunShown, ...]
    columns: tuple[str, ...]
    codes: tuple[CodePage, ...] = ()
    folder: str | None = None
    """Name of the folder with the sessions; None where they stand in the file."""
    pages: str
    only: str | None = None
    compared: tuple[ComparedShown, ...] = ()
