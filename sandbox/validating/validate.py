"""Is a benchmark sound? Its reference answers must get full marks, and answers that are none, or are judged wrong, nothing.

Knows: what an ideal model and an ideal judge say, what every measure must then give. Must not know: any benchmark, how
what was found is told.

Each sample is played three times, in process and with no model: with its reference answer and the best verdicts, with the
same answer and the worst verdicts, and with an empty answer. From there on everything is as in a run: reading, judging,
scoring, the record, the summary. So a reference that the reader does not give back, a verdict that nothing counts, and a
measure that cannot fail are found before a model is paid for.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from citations.ledger import Ledger
from citations.markup import Dialect, parse, untagged
from citations.model import Piece
from citations.policy import Policy
from sandbox.assemble import judging_of
from sandbox.assess import Judging
from sandbox.benchmarks.benchmark import Benchmark, Loaded
from sandbox.benchmarks.instruction import dialect_of
from sandbox.endpoint.chat import ChatModel
from sandbox.judging.rubric import LABELS
from sandbox.loop import Table, play
from sandbox.measuring.measures import Measure, Measures, values_of
from sandbox.measuring.outcome import Counted, LeftOut, Value
from sandbox.measuring.statistics import Plan
from sandbox.measuring.tally import Figures, Metric
from sandbox.record import Record
from sandbox.sample import Criterion, Sample
from sandbox.session import Session, judged, ledger_of
from sandbox.settings import RunSettings
from sandbox.summary import RunFacts, summarise
from sandbox.toolbox import Toolbox
from sandbox.validating.ideal import Echo, cited_answer, judge_of

Played = Literal["right", "wrong", "empty"]
"""`right`: the reference answer, the best verdicts. `wrong`: the same answer, the worst verdicts. `empty`: no answer."""
PLACEHOLDER = "検証のための回答です。"
"""The answer where the data gives none: what is said does not matter to a judge that knows its verdict."""
PAGE_URL = "validate:reference"
QUICK = Plan(resamples=100)
"""The intervals are not looked at."""


class Problem(Figures):
    """What is not as it must be. `sample_id` None: in every sample, or in the figure over all of them.

    `played` and `measure` are None for what is wrong with the data themselves.
    """

    sample_id: str | None
    played: Played | None
    measure: str | None
    message: str


class Validation(Figures):
    """What was found. `rows` are those of the file, `samples` what they became; `types` and `labels` count samples.

    `measures`: the figure of each measure by what was played, None where nothing counted.
    """

    benchmark: str
    data: str
    sha256: str
    rows: int
    samples: int
    type_name: str
    types: dict[str, int]
    labels: dict[str, dict[str, int]]
    without_reference: int
    unused: tuple[str, ...]
    left_out: dict[str, int]
    facts: dict[str, str]
    measures: dict[str, dict[Played, float | None]]
    problems: tuple[Problem, ...]

    @property
    def is_sound(self) -> bool:
        """Whether nothing was found."""
        return not self.problems


def validate(benchmark: Benchmark, settings: RunSettings, loaded: Loaded) -> Validation:
    """Everything that is not as it must be, sample by sample, and what there is in the data. No model, no judge.

    Raises SetupError where a prompt of the judge cannot be used.
    """
    measures = benchmark.measures(settings)
    bench = _Bench(judging_of(settings), Policy(unseen_fetch=settings.citations.unseen_fetch), settings)
    problems = list(_data_problems(loaded.samples, bench.dialect))
    figures: dict[Played, dict[str, Metric]] = {}
    with asyncio.Runner() as runner:
        passes: tuple[Played, ...] = ("right", "wrong", "empty")
        counted: dict[str, frozenset[str]] = {}
        for played in passes:
            one = _Pass(played, measures, bench, runner, counted)
            facts = RunFacts(benchmark.name, played, "reference", "ideal", measures=measures, left_out=loaded.left_out)
            figures[played] = summarise(one.records(loaded.samples), facts, QUICK).metrics
            problems += _gathered(one.problems, len(loaded.samples))
            told = {problem.measure for problem in one.problems}
            rest = tuple(measure for measure in measures if measure.name not in told)
            problems += _figure_problems(played, rest, figures[played])
    return Validation(
        benchmark=benchmark.name,
        data=loaded.path,
        sha256=loaded.sha256,
        rows=loaded.n_rows,
        samples=len(loaded.samples),
        type_name=benchmark.type_name,
        types=_counts(sample.task_type for sample in loaded.samples),
        labels=_labels(loaded.samples),
        without_reference=sum(sample.gold.reference is None for sample in loaded.samples),
        unused=loaded.unused,
        left_out=dict(loaded.left_out),
        facts=dict(loaded.facts),
        measures={
            measure.name: {played: _value(figures[played].get(measure.name)) for played in passes}
            for measure in measures
        },
        problems=tuple(problems),
    )


@dataclass(frozen=True, slots=True)
class _JudgedBy:
    judge: ChatModel
    judging: Judging
    policy: Policy


@dataclass(frozen=True, slots=True)
class _Bench:
    """What all sessions share."""

    judging: Judging
    policy: Policy
    settings: RunSettings

    @property
    def dialect(self) -> Dialect:
        return dialect_of(self.settings.citations)

    async def session(self, sample: Sample, played: Played) -> Record:
        """The record of a sample that was answered and judged as `played` says."""
        ledger = ledger_of(sample, self.policy)
        answer = ""
        if played != "empty":
            answer = sample.gold.reference if sample.gold.reference is not None else PLACEHOLDER
            if sample.gold.criterion is None:
                answer = cited_answer(answer, _cited_page(sample, ledger, played), self.dialect)
        script = replace(sample.script, responses=None)
        table = Table(Echo(answer), Toolbox(()), ledger, self.settings.limits, self.settings.language, nonce="")
        rollout = await play(script, table)
        judge = judge_of(self.judging.rubrics, sample.gold.criterion, best=played == "right")
        by = _JudgedBy(judge, self.judging, self.policy)
        return await judged(Session(sample, 0, rollout, ledger), by, self.dialect)


def _cited_page(sample: Sample, ledger: Ledger, played: Played) -> int:
    """The number to cite: a source that stands in the prompt, any other page there, or a page made of the reference.

    Where everything is to be wrong, a page made up is no source.
    """
    seen = [number for number, text in ledger.evidence().items() if text]
    sources = {ledger.number_of(url) for url in sample.gold.sources}
    if seen:
        return next((number for number in seen if number in sources), seen[0])
    number = max((page.number for page in ledger.pages()), default=0) + 1
    url = sample.gold.sources[0] if sample.gold.sources and played == "right" else PAGE_URL
    ledger.given(number, url, sample.question, [Piece(sample.gold.reference or PLACEHOLDER)])
    return number


@dataclass(slots=True)
class _Pass:
    """All samples played in one way; problems are gathered as the records go by.

    `counted`: the measures towards which each sample counts when all is right, filled in by the first pass.
    """

    played: Played
    measures: Measures
    bench: _Bench
    runner: asyncio.Runner
    counted: dict[str, frozenset[str]]
    problems: list[Problem] = field(default_factory=list[Problem])

    def records(self, samples: Sequence[Sample]) -> Iterator[Record]:
        """The record of each sample, in order."""
        for sample in samples:
            record = self.runner.run(self.bench.session(sample, self.played))
            values = values_of(record, self.measures)
            if self.played == "right":
                self.counted[sample.id] = frozenset(
                    name for name, value in values.items() if isinstance(value, Counted)
                )
            for measure in self.measures:
                message = _off(measure, values[measure.name], record, self.played, self.counted[sample.id])
                if message is not None:
                    self._tell(sample, measure.name, message)
            if not self.counted[sample.id] and self.played == "right":
                self._tell(sample, None, "it counts towards no measure")
            yield record

    def _tell(self, sample: Sample, measure: str | None, message: str) -> None:
        self.problems.append(Problem(sample_id=sample.id, played=self.played, measure=measure, message=message))


def _off(measure: Measure, value: Value, record: Record, played: Played, counted: Collection[str]) -> str | None:
    """What a measure gives that it must not, None where all is well.

    A record may be left out of a measure, but not for its answer or its verdict: a failure that leaves the denominator
    makes the figure better.
    """
    expected = _expected(measure, played)
    if isinstance(value, LeftOut):
        return f"is left out ({value.reason}), must be {expected}" if measure.name in counted else None
    if (value.value, value.low, value.high) == (expected, expected, expected):
        return None
    got = str(value.value) if not value.undecided else f"{value.value} (undecided, {value.low} to {value.high})"
    cause = record.outcome if not record.outcome_reason else f"{record.outcome}: {record.outcome_reason}"
    return f"is {got}, must be {expected}{'' if played == 'empty' else f' ({cause})'}"


def _expected(measure: Measure, played: Played) -> Fraction:
    """The best where the answer is right, and for a measure that no verdict decides also where it is judged wrong."""
    best = played == "right" or (played == "wrong" and not measure.judged)
    return Fraction(int(measure.higher_is_better == best))


def _figure_problems(played: Played, measures: Measures, figures: Mapping[str, Metric]) -> Iterator[Problem]:
    """Figures over all samples that are not what they must be, and measures towards which nothing counts."""
    for measure in measures:
        metric = figures.get(measure.name)
        value = _value(metric)
        if value is None:
            if played == "right" and measure.always:
                excluded = metric.excluded if metric is not None else {}
                why = ", ".join(f"{reason} {n}" for reason, n in excluded.items()) or "there is no sample"
                message = f"nothing counts towards it ({why})"
                yield Problem(sample_id=None, played=played, measure=measure.name, message=message)
        elif value != _expected(measure, played):
            message = f"the figure over all samples is {value:.4g}, must be {_expected(measure, played)}"
            yield Problem(sample_id=None, played=played, measure=measure.name, message=message)


def _gathered(problems: Sequence[Problem], n_samples: int) -> Iterator[Problem]:
    """The problems, each that every single sample has told once."""
    times = Counter((problem.measure, problem.message) for problem in problems)
    told: set[tuple[str | None, str]] = set()
    for problem in problems:
        what = (problem.measure, problem.message)
        if n_samples < 2 or times[what] < n_samples:
            yield problem
        elif what not in told:
            told.add(what)
            message = f"{problem.message}, in every sample"
            yield Problem(sample_id=None, played=problem.played, measure=problem.measure, message=message)


def _data_problems(samples: Sequence[Sample], dialect: Dialect) -> Iterator[Problem]:
    seen: set[str] = set()
    for sample in samples:
        found = [*_criterion_problems(sample.gold.criterion), *_reference_problems(sample, dialect)]
        found += ["the id occurs twice"] if sample.id in seen else []
        found += [] if any(turn.strip() for turn in sample.script.turns) else ["nothing is asked: no user turn"]
        seen.add(sample.id)
        for message in found:
            yield Problem(sample_id=sample.id, played=None, measure=None, message=message)


def _criterion_problems(criterion: Criterion | None) -> Iterator[str]:
    if criterion is None:
        return
    labels = LABELS[criterion.rubric]
    foreign = [label for label in criterion.passing if label not in labels]
    if foreign:
        yield f"the judge cannot say {', '.join(foreign)}, which would pass; it says {', '.join(labels)}"
    if not set(labels) & set(criterion.passing):
        yield "no verdict passes"
    if set(labels) <= set(criterion.passing):
        yield "every verdict passes"
    if not criterion.text.strip():
        yield "the criterion is empty"


def _reference_problems(sample: Sample, dialect: Dialect) -> Iterator[str]:
    """A reference must be read back as it stands once its sentences are marked: markup of its own would be lost."""
    reference = sample.gold.reference
    if reference is None:
        return
    if not reference.strip():
        yield "the reference is empty"
    elif sample.gold.criterion is None:
        read = untagged(parse(cited_answer(reference, 1, dialect), dialect))
        if read != reference.strip():
            marks = (dialect.sentence_open, dialect.sentence_close, dialect.cite_open, dialect.cite_close)
            held = ", ".join(mark for mark in marks if mark in reference) or "text that is read as markup"
            yield f"the reference holds {held}: it would be read as an answer's markup, and is judged with it"


def _value(metric: Metric | None) -> float | None:
    return metric.value if metric is not None else None


def _counts(values: Iterator[str | None]) -> dict[str, int]:
    """How often each value occurs, the commonest first; nothing of those without one."""
    return dict(Counter(value for value in values if value is not None).most_common())


def _labels(samples: Sequence[Sample]) -> dict[str, dict[str, int]]:
    names = sorted({name for sample in samples for name in sample.labels})
    return {name: _counts(sample.labels.get(name) for sample in samples) for name in names}
