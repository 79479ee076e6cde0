"""What one verdict made of each session, as the benchmark's own measures count it.

Knows: records, measures, the page's data format. Must not know: HTML, files, any benchmark.
"""

from __future__ import annotations

from collections import Counter

from sandbox.measuring.measures import Measures, checks_citations
from sandbox.measuring.outcome import Counted
from sandbox.record import Record
from sandbox.reports.page_format import Decided, Decisions
from sandbox.summary import CAUSE, OTHER
from sandbox.verdict_repeats import is_flipped


class VerdictTally:
    """Says of each record what its verdict made of it, and counts; where citations are scored, nothing of both."""

    def __init__(self, measures: Measures) -> None:
        self.alone = not checks_citations(measures)
        # What the benchmark is known by says first whether a session did well.
        self._rates = sorted((one for one in measures if one.rate), key=lambda one: not one.headline)
        self._passed: Counter[bool | None] = Counter()
        self._left_out: Counter[str] = Counter()
        self._labels: Counter[str] = Counter()

    def add(self, record: Record) -> Decided | None:
        """What was decided about the record; None where citations are scored."""
        if not self.alone:
            return None
        verdict = record.criterion.verdict if record.criterion else None
        found = CAUSE.match(record.outcome_reason)
        passed, left_out = self._worth(record)
        if left_out:
            self._left_out[left_out] += 1
        else:
            self._passed[passed] += 1
        if verdict and verdict.label is not None:
            self._labels[verdict.label] += 1
        return Decided(
            verdict=verdict.label if verdict else None,
            passed=passed,
            cause=found[1] if found else OTHER if record.outcome_reason else "",
            left_out=left_out,
            flipped=verdict is not None and is_flipped(verdict),
            labels=record.labels,
        )

    def decisions(self) -> Decisions | None:
        """The counts of all records so far; None where citations are scored."""
        if not self.alone:
            return None
        return Decisions(
            passed=self._passed[True],
            failed=self._passed[False],
            undecided=self._passed[None],
            left_out=dict(sorted(self._left_out.items())),
            labels=dict(sorted(self._labels.items())),
        )

    def _worth(self, record: Record) -> tuple[bool | None, str]:
        """Whether the session did well (None: its verdict is missing), and why it is in no denominator."""
        reasons: list[str] = []
        for measure in self._rates:
            value = measure.value(record)
            if isinstance(value, Counted):
                return (None if value.undecided else (value.value == 1) is measure.higher_is_better), ""
            reasons.append(value.reason)
        return None, next((reason for reason in reasons if reason), "not_measured")
