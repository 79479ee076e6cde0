"""From records to figures: the JSON summary of a run, its denominators, intervals and bounds.

Knows: records, the counting table, statistics. Must not know: files, models, how a figure is printed.

One pass over the records. What is kept of each is a few small numbers, so that a run of any size can be summed up
while its pages and reasoning stay on the disk.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pydantic import Field

from citations.losses import Labels
from sandbox.linting.lint_run import CodeLoss as CodeLoss
from sandbox.linting.lint_run import FormatTally, RecoveredFigures, RecoveredLabels
from sandbox.measuring.measures import CITATION_F1, CITED, Measures, checks_citations, values_of
from sandbox.measuring.outcome import unparsable
from sandbox.measuring.statistics import Plan
from sandbox.measuring.tally import Figures, Group, Metric, NamedMeasure, named
from sandbox.measuring.two_arms import ArmCounter, Arms
from sandbox.record import Digest, Flag, Outcome, Record, Usage
from sandbox.verdict_counts import JudgeCounts, VerdictCounter

CAUSE = re.compile(r"([a-z_]{1,40})(?::|\Z)")
OTHER = "other"
NO_TYPE = "(none)"
"""Key of the records without a task type, where others have one."""


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
    codes: dict[str, CodeLoss] = Field(default={})


class UsageByRole(Figures):
    """Tokens as the servers counted them, summed over all records."""

    model: Usage
    judge: Usage


class TapeCounts(Figures):
    """What the tape did: exchanges made, misses, lenient steps; pages and searches that the pool of recorded runs answered
    or lacked; judge calls that other runs' tapes answered. Only forks have `fork_recorded`, the exchanges with the model
    that the source answered, up to the round of the fork, and `fork_live`, those after it.
    """

    interactions: int = 0
    misses: int = 0
    lenient: int = 0
    pool_hits: int = 0
    pool_misses: int = 0
    judge_hits: int = 0
    fork_recorded: int = Field(default=0, exclude_if=lambda n: n == 0)
    fork_live: int = Field(default=0, exclude_if=lambda n: n == 0)


class Seconds(Figures):
    """Wall-clock time of the sessions: they overlap, so `total` is not how long the run took."""

    total: float
    longest: float


class ToolCount(Figures):
    """Calls of one tool, and how many of them failed, by kind of failure."""

    calls: int
    failed: dict[str, int]


class TypeSummary(Figures):
    """The figures of one task type, or of the records with one value of a label."""

    samples: int
    outcomes: dict[Outcome, int]
    metrics: dict[str, Metric]


class Attempts(Figures):
    """Questions that were asked several times, by one rate: `passed` of each question's sessions, by question; of a rate
    of harm those that did none.

    `by_passed`: how many questions passed 0, 1, … times; `flips`: those that passed sometimes and not always;
    `undecided`: those of all with a missing verdict, which counts as in the rate's value: some may be no flips.
    """

    measure: str
    sessions: int
    by_passed: dict[int, int]
    flips: int
    passed: dict[str, int]
    undecided: int = Field(default=0, exclude_if=lambda n: n == 0)


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
    metrics: dict[str, Metric]
    measures: tuple[NamedMeasure, ...]
    """What the metrics are called, in the order of the tables."""
    type_name: str
    """What the benchmark calls its task types."""
    by_task_type: dict[str, TypeSummary]
    by_label: dict[str, dict[str, TypeSummary]] = Field(default={}, exclude_if=lambda found: not found)
    """By label, then by its value; only where the benchmark has further break-downs."""
    attempts: Attempts | None = Field(default=None, exclude_if=lambda found: found is None)
    """Only where a benchmark of one verdict asked its questions several times, each equally often."""
    arms: Arms | None = Field(default=None, exclude_if=lambda found: found is None)
    """Only where a benchmark plays its questions plainly and under attack."""
    thinking: int = 0
    """Sessions whose final message came with reasoning."""
    own_prompts: bool = Field(default=False, exclude_if=lambda own: not own)
    """Whether the judge was asked in the user's own words."""
    left_out: dict[str, int] = Field(default={}, exclude_if=lambda found: not found)
    """Rows of the data that were not asked, by reason."""
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
    measures: Measures = CITED
    type_name: str = "task type"
    own_prompts: bool = False
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])
    """Rows of the data that were not asked, by reason."""


def summarise(records: Iterable[Record], facts: RunFacts, plan: Plan | None = None) -> Summary:
    """The summary of `records` (any order, each session once), made in one pass. Same records, same bytes."""
    plan = plan or Plan()
    total = _Total(facts)
    for record in records:
        total.add(record)
    return total.summary(plan)


def as_json(summary: Summary) -> str:
    """The summary as one line of JSON with sorted keys and readable Japanese."""
    return json.dumps(summary.model_dump(mode="json"), ensure_ascii=False, sort_keys=True, allow_nan=False)


class _Total:
    """Everything that one pass over the records adds up."""

    def __init__(self, facts: RunFacts) -> None:
        self._facts = facts
        cited = checks_citations(facts.measures)
        self._lint = FormatTally(facts.recovered, facts.max_evidence_chars) if cited else None
        self._all = Group()
        self._by_type: dict[str, Group] = {}
        self._by_label: dict[str, dict[str, Group]] = {}
        self._arms = ArmCounter.of(facts.measures)
        self._thinking = 0
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
        values = values_of(record, self._facts.measures)
        self._all.add(record, values)
        self._by_type.setdefault(record.task_type or NO_TYPE, Group()).add(record, values)
        for label, value in record.labels.items():
            self._by_label.setdefault(label, {}).setdefault(value, Group()).add(record, values)
        if self._arms is not None:
            self._arms.add(record)
        self._thinking += thinking_present(record)
        if record.outcome_reason:
            self._reasons.setdefault(record.outcome, Counter())[_cause(record.outcome_reason)] += 1
        self._flags.update(record.flags)
        self._unparsable += unparsable(record)
        self._judging.add(record)
        if self._lint is not None:
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

    def summary(self, plan: Plan) -> Summary:
        facts = self._facts
        # Sorted: an interval draws the types one after the other, and records come in the order of their finishing.
        metrics = self._all.metrics(facts.measures, plan, [self._by_type[name] for name in sorted(self._by_type)])
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
            measures=named(tuple(one for one in facts.measures if one.name in metrics)),
            type_name=facts.type_name,
            by_task_type=self._parts(self._by_type, plan) if set(self._by_type) - {NO_TYPE} else {},
            by_label={label: self._parts(self._by_label[label], plan) for label in sorted(self._by_label)},
            attempts=self._attempts(),
            arms=self._arms.arms(plan) if self._arms is not None else None,
            thinking=self._thinking,
            own_prompts=facts.own_prompts,
            left_out=dict(facts.left_out),
            format=self._format(metrics.get(CITATION_F1), plan),
            judging=self._judging.counts(plan),
            tools={name: _tool_count(counts) for name, counts in self._tools.items()},
            rounds=self._rounds,
            usage=UsageByRole(model=self._model_usage, judge=self._judge_usage),
            seconds=Seconds(total=round(self._seconds, 3), longest=round(self._longest_s, 3)),
            tape=facts.tape,
            statistics=Statistics(level=plan.level, resamples=plan.resamples, seed=plan.seed),
            digest=self._digest.value(),
        )

    def _parts(self, groups: Mapping[str, Group], plan: Plan) -> dict[str, TypeSummary]:
        return {
            name: TypeSummary(
                samples=len(group.questions),
                outcomes=group.all_outcomes(),
                metrics=group.metrics(self._facts.measures, plan),
            )
            for name, group in sorted(groups.items())
        }

    def _attempts(self) -> Attempts | None:
        measure = next((one for one in self._facts.measures if one.rate and one.headline), None)
        if self._lint is not None or measure is None:
            return None
        found = self._all.ones(measure)
        times = {n for _, n in found.values()}
        if len(times) != 1 or times == {1}:
            return None
        (sessions,) = times
        passed = {
            question: n_ones if measure.higher_is_better else sessions - n_ones
            for question, (n_ones, _) in found.items()
        }
        by_passed = Counter(passed.values())
        return Attempts(
            measure=measure.name,
            sessions=sessions,
            by_passed={n: by_passed[n] for n in range(sessions + 1)},
            flips=sum(0 < n < sessions for n in passed.values()),
            passed=passed,
            undecided=self._all.n_open(measure),
        )

    def _format(self, f1: Metric | None, plan: Plan) -> Format:
        recovered = self._lint.figures(plan) if self._lint is not None else RecoveredFigures()
        return Format(
            unparsable=self._unparsable,
            no_sentence=self._flags["no_sentence"],
            no_citation=self._flags["no_citation"],
            no_citation_needed=self._flags["no_citation_needed"],
            strict_f1=f1.value if f1 is not None else None,
            recovered_f1=recovered.f1,
            format_loss=recovered.format_loss,
            evidence_loss=recovered.evidence_loss,
            recovered_undecided=recovered.undecided,
            recovered_f1_interval=recovered.f1_interval,
            format_loss_interval=recovered.format_loss_interval,
            evidence_loss_interval=recovered.evidence_loss_interval,
            codes=self._lint.codes() if self._lint is not None else {},
        )


def thinking_present(record: Record) -> bool:
    """Whether the final message came with reasoning, in its own field or left in the content."""
    last = record.rounds[-1].reasoning if record.rounds else None
    return bool(last and last.strip()) or "reasoning_in_content" in record.flags


def _cause(reason: str) -> str:
    """The cause that a reason begins with (`output_limit: …`); its free words would make every record its own group."""
    found = CAUSE.match(reason)
    return found[1] if found else OTHER


def _tool_count(counts: Counter[str]) -> ToolCount:
    failed = {kind: n for kind, n in sorted(counts.items()) if kind}
    return ToolCount(calls=counts.total(), failed=failed)
