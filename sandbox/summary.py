"""From records to figures: the JSON summary of a run, its denominators, intervals and bounds.

Knows: records, the counting table, statistics. Must not know: files, models, how a figure is printed.

One pass over the records. What is kept of each is a few small numbers, so that a run of any size can be summed up
while its pages and reasoning stay on the disk.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict

from citations.losses import Labels
from sandbox.linting.lint_run import CodeLoss as CodeLoss
from sandbox.linting.lint_run import FormatTally, RecoveredLabels
from sandbox.outcome import CitationValues, Counted, LeftOut, Value, citation_values, consistency_value, unparsable
from sandbox.record import Digest, Flag, Outcome, Record, Usage
from sandbox.statistics import Cluster, Interval, Method, Plan, cluster_bootstrap, wilson
from sandbox.verdict_counts import JudgeCounts, VerdictCounter

MetricName = Literal[
    "consistency", "citation_recall", "citation_precision", "citation_f1", "source_found", "source_cited"
]
RATES: frozenset[MetricName] = frozenset({"consistency", "source_found", "source_cited"})
ALWAYS: tuple[MetricName, ...] = ("consistency", "citation_recall", "citation_precision", "citation_f1")
CAUSE = re.compile(r"([a-z_]{1,40})(?::|\Z)")
OTHER = "other"
NO_TYPE = "(none)"
"""Key of the records without a task type, where others have one."""


class Figures(BaseModel):
    """Base of what the summary is made of: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Metric(Figures):
    """One figure that can be trusted or questioned. Rates in 0–1; `value` None where nothing can be said.

    `n`: records in the denominator; `excluded`: records left out of it, by reason; `undecided`: records of the
    denominator whose verdict is missing. `bounds`: the value if every undecided record were a failure / a success.
    `interval`: at `Statistics.level`, made by `method`, drawing whole questions (`questions` of them).
    """

    value: float | None
    n: int
    excluded: dict[str, int]
    interval: tuple[float, float] | None
    bounds: tuple[float, float] | None
    undecided: int = 0
    questions: int = 0
    method: Method | None = None


class Format(Figures):
    """What the citation format did. Counts are answers; losses are F1 in 0–1, None where they were not worked out.

    `recovered_f1` counts the answers of `citation_f1`; `recovered_undecided` of them lack a verdict on the recovered
    reading, which makes the figures None until `pincite score RUN --recovered` has asked for it.
    """

    unparsable: int
    no_sentence: int
    no_citation: int
    no_citation_needed: int
    strict_f1: float | None
    recovered_f1: float | None = None
    format_loss: float | None = None
    evidence_loss: float | None = None
    recovered_undecided: int = 0
    recovered_f1_interval: tuple[float, float] | None = None
    format_loss_interval: tuple[float, float] | None = None
    evidence_loss_interval: tuple[float, float] | None = None
    codes: dict[str, CodeLoss] = {}


class UsageByRole(Figures):
    """Tokens as the servers counted them, summed over all records."""

    model: Usage
    judge: Usage


class TapeCounts(Figures):
    """What the tape did: exchanges made, misses, lenient steps; pages and searches that the pool of recorded runs answered
    or lacked; judge calls that other runs' tapes answered.
    """

    interactions: int = 0
    misses: int = 0
    lenient: int = 0
    pool_hits: int = 0
    pool_misses: int = 0
    judge_hits: int = 0


class Seconds(Figures):
    """Wall-clock time of the sessions: they overlap, so `total` is not how long the run took."""

    total: float
    longest: float


class ToolCount(Figures):
    """Calls of one tool, and how many of them failed, by kind of failure."""

    calls: int
    failed: dict[str, int]


class TypeSummary(Figures):
    """The figures of one task type."""

    samples: int
    outcomes: dict[Outcome, int]
    metrics: dict[MetricName, Metric]


class Statistics(Figures):
    """How the intervals were made."""

    level: float
    resamples: int
    seed: int
    unit: str = "question"


class Summary(Figures):
    """The JSON summary. `samples` are questions, `sessions` questions × repeats: outcomes and `n` count sessions."""

    benchmark: str
    run: str
    model: str
    judge: str
    samples: int
    sessions: int
    outcomes: dict[Outcome, int]
    outcome_reasons: dict[Outcome, dict[str, int]]
    flags: dict[Flag, int]
    metrics: dict[MetricName, Metric]
    by_task_type: dict[str, TypeSummary]
    format: Format
    judging: JudgeCounts
    tools: dict[str, ToolCount]
    rounds: int
    usage: UsageByRole
    seconds: Seconds
    tape: TapeCounts
    statistics: Statistics
    digest: str


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What the summary says of the run and cannot be read from its records."""

    benchmark: str
    run: str
    model: str
    judge: str
    tape: TapeCounts = field(default_factory=TapeCounts)
    max_evidence_chars: int | None = None
    """What one judge call got of the evidence at most."""
    recovered: RecoveredLabels = field(default_factory=dict[tuple[str, int], Labels])
    """Verdicts that only the recovered readings of the answers needed."""


def summarise(records: Iterable[Record], facts: RunFacts, plan: Plan | None = None) -> Summary:
    """The summary of `records` (any order, each session once), made in one pass. Same records, same bytes."""
    plan = plan or Plan()
    total = _Total(FormatTally(facts.recovered, facts.max_evidence_chars))
    for record in records:
        total.add(record)
    return total.summary(facts, plan)


def as_json(summary: Summary) -> str:
    """The summary as one line of JSON with sorted keys and readable Japanese."""
    return json.dumps(summary.model_dump(mode="json"), ensure_ascii=False, sort_keys=True, allow_nan=False)


def source_value(seen: bool | None, record: Record) -> Value:
    """1 or 0 where the question carries sources and the fact is known; else left out with the reason."""
    if seen is not None:
        worth = Fraction(int(seen))
        return Counted(worth, worth, worth)
    return LeftOut(record.outcome if record.sources else "no_sources")


@dataclass(slots=True)
class _Sum:
    total: Fraction = Fraction(0)
    n: int = 0


@dataclass(slots=True)
class _Tally:
    """One metric's running sums, by question."""

    by_question: dict[str, _Sum] = field(default_factory=dict[str, _Sum])
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(0)
    undecided: int = 0
    excluded: Counter[str] = field(default_factory=Counter[str])

    def add(self, question: str, value: Value) -> None:
        if isinstance(value, LeftOut):
            self.excluded[value.reason] += 1
            return
        cluster = self.by_question.setdefault(question, _Sum())
        cluster.total += value.value
        cluster.n += 1
        self.low += value.low
        self.high += value.high
        self.undecided += value.undecided

    def metric(self, plan: Plan, *, rate: bool) -> Metric:
        excluded = dict(sorted(self.excluded.items()))
        sums = [self.by_question[question] for question in sorted(self.by_question)]
        n = sum(cluster.n for cluster in sums)
        if n == 0:
            return Metric(value=None, n=0, excluded=excluded, interval=None, bounds=None)
        total = sum((cluster.total for cluster in sums), Fraction(0))
        interval = _interval(sums, total, plan, rate=rate)
        return Metric(
            value=float(total / n),
            n=n,
            excluded=excluded,
            interval=(interval.low, interval.high),
            bounds=(float(self.low / n), float(self.high / n)),
            undecided=self.undecided,
            questions=len(sums),
            method=interval.method,
        )


def _interval(sums: list[_Sum], total: Fraction, plan: Plan, *, rate: bool) -> Interval:
    if rate and all(cluster.n == 1 for cluster in sums):
        return wilson(int(total), len(sums), plan.level)
    return cluster_bootstrap([Cluster(float(cluster.total), cluster.n) for cluster in sums], plan)


@dataclass(slots=True)
class _Group:
    """Outcomes and metrics of all records, or of those of one task type."""

    sessions: int = 0
    questions: set[str] = field(default_factory=set[str])
    outcomes: Counter[Outcome] = field(default_factory=Counter[Outcome])
    tallies: dict[MetricName, _Tally] = field(default_factory=dict[MetricName, _Tally])

    def add(self, record: Record, values: dict[MetricName, Value]) -> None:
        self.sessions += 1
        self.questions.add(record.sample_id)
        self.outcomes[record.outcome] += 1
        for name, value in values.items():
            self.tallies.setdefault(name, _Tally()).add(record.sample_id, value)

    def all_outcomes(self) -> dict[Outcome, int]:
        return {outcome: self.outcomes[outcome] for outcome in get_args(Outcome)}

    def metrics(self, plan: Plan) -> dict[MetricName, Metric]:
        made = {
            name: self.tallies.get(name, _Tally()).metric(plan, rate=name in RATES) for name in get_args(MetricName)
        }
        return {name: metric for name, metric in made.items() if name in ALWAYS or metric.n}


class _Total:
    """Everything that one pass over the records adds up."""

    def __init__(self, lint: FormatTally) -> None:
        self._lint = lint
        self._all = _Group()
        self._by_type: dict[str, _Group] = {}
        self._reasons: dict[Outcome, Counter[str]] = {}
        self._flags: Counter[Flag] = Counter()
        self._unparsable = 0
        self._judging = VerdictCounter()
        self._tools: dict[str, Counter[str]] = {}
        self._rounds = 0
        self._model_usage = Usage()
        self._judge_usage = Usage()
        self._seconds = 0.0
        self._longest_s = 0.0
        self._digest = Digest()

    def add(self, record: Record) -> None:
        values = metric_values(record)
        self._all.add(record, values)
        self._by_type.setdefault(record.task_type or NO_TYPE, _Group()).add(record, values)
        if record.outcome_reason:
            self._reasons.setdefault(record.outcome, Counter())[_cause(record.outcome_reason)] += 1
        self._flags.update(record.flags)
        self._unparsable += unparsable(record)
        self._judging.add(record)
        self._lint.add(record)
        self._rounds += len(record.rounds)
        for call in (call for round_ in record.rounds for call in round_.calls):
            # The names of tools are the model's own words: an unknown one is counted apart, not listed.
            name = "unknown" if call.failure == "unknown_tool" else call.name
            self._tools.setdefault(name, Counter())[call.failure or ""] += 1
        self._model_usage += record.model_usage
        self._judge_usage += record.judge_usage
        self._seconds += record.seconds
        self._longest_s = max(self._longest_s, record.seconds)
        self._digest.add(record)

    def summary(self, facts: RunFacts, plan: Plan) -> Summary:
        metrics = self._all.metrics(plan)
        return Summary(
            benchmark=facts.benchmark,
            run=facts.run,
            model=facts.model,
            judge=facts.judge,
            samples=len(self._all.questions),
            sessions=self._all.sessions,
            outcomes=self._all.all_outcomes(),
            outcome_reasons={outcome: dict(counts.most_common()) for outcome, counts in self._reasons.items()},
            flags=dict(self._flags),
            metrics=metrics,
            by_task_type=self._types(plan),
            format=self._format(metrics["citation_f1"], plan),
            judging=self._judging.counts(plan),
            tools={name: _tool_count(counts) for name, counts in self._tools.items()},
            rounds=self._rounds,
            usage=UsageByRole(model=self._model_usage, judge=self._judge_usage),
            seconds=Seconds(total=round(self._seconds, 3), longest=round(self._longest_s, 3)),
            tape=facts.tape,
            statistics=Statistics(level=plan.level, resamples=plan.resamples, seed=plan.seed),
            digest=self._digest.value(),
        )

    def _types(self, plan: Plan) -> dict[str, TypeSummary]:
        if set(self._by_type) <= {NO_TYPE}:
            return {}
        return {
            name: TypeSummary(samples=len(group.questions), outcomes=group.all_outcomes(), metrics=group.metrics(plan))
            for name, group in sorted(self._by_type.items())
        }

    def _format(self, f1: Metric, plan: Plan) -> Format:
        recovered = self._lint.figures(plan)
        return Format(
            unparsable=self._unparsable,
            no_sentence=self._flags["no_sentence"],
            no_citation=self._flags["no_citation"],
            no_citation_needed=self._flags["no_citation_needed"],
            strict_f1=f1.value,
            recovered_f1=recovered.f1,
            format_loss=recovered.format_loss,
            evidence_loss=recovered.evidence_loss,
            recovered_undecided=recovered.undecided,
            recovered_f1_interval=recovered.f1_interval,
            format_loss_interval=recovered.format_loss_interval,
            evidence_loss_interval=recovered.evidence_loss_interval,
            codes=self._lint.codes(),
        )


def metric_values(record: Record) -> dict[MetricName, Value]:
    """What one record gives to each metric."""
    citation: CitationValues = citation_values(record)
    return {
        "consistency": consistency_value(record),
        "citation_recall": citation.recall,
        "citation_precision": citation.precision,
        "citation_f1": citation.f1,
        "source_found": source_value(record.source_found, record),
        "source_cited": source_value(record.source_cited, record),
    }


def _cause(reason: str) -> str:
    """The cause that a reason begins with (`output_limit: …`); its free words would make every record its own group."""
    found = CAUSE.match(reason)
    return found[1] if found else OTHER


def _tool_count(counts: Counter[str]) -> ToolCount:
    failed = {kind: n for kind, n in sorted(counts.items()) if kind}
    return ToolCount(calls=counts.total(), failed=failed)
