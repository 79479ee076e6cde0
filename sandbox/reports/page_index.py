"""The index of the report page: one short row per session, and what is counted over a whole run.

Knows: records, summaries, the page's data format. Must not know: HTML, files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from urllib.parse import urlsplit

from citations.markup import dialect_named, parse
from sandbox.endpoint.lenient import mapping, parsed
from sandbox.measuring.outcome import CitationValues, Counted, LeftOut, Value, citation_values
from sandbox.record import Record, ToolCallRow
from sandbox.reports.page_data import cited_numbers
from sandbox.reports.page_format import QUESTION_CHARS, Decided, HostFailures, Row
from sandbox.reports.page_lint import Diagnosis
from sandbox.reports.page_sentences import points
from sandbox.verdict_counts import VerdictCounter

MAX_HOSTS = 200
"""As many hosts are listed, those with most failures first."""
_ONE_VERDICT = LeftOut("one_verdict")
NO_CITATIONS = CitationValues(_ONE_VERDICT, _ONE_VERDICT, _ONE_VERDICT)


class RunIndex:
    """Makes the rows of one run and counts over its sessions; keeps neither records nor rows."""

    def __init__(self) -> None:
        self._urls: dict[str, int] = {}
        self._calls: Counter[str] = Counter()
        self._failed: dict[str, Counter[str]] = {}

    @property
    def urls(self) -> tuple[str, ...]:
        """The addresses of all cited pages, each once; rows point into it."""
        return tuple(self._urls)

    def row(self, record: Record, diagnosis: Diagnosis, decided: Decided | None = None) -> Row:
        """The row of a record. Scores are those that enter the means: a failed generation has 0, one left out None.

        A record that one verdict `decided` has no score.
        """
        values = citation_values(record) if decided is None else NO_CITATIONS
        usage = record.model_usage
        return Row(
            id=record.sample_id,
            repeat=record.repeat,
            question=record.question[:QUESTION_CHARS],
            task_type=record.task_type,
            outcome=record.outcome,
            flags=record.flags,
            answer=record.consistency.label if record.consistency else None,
            f1=_points(values.f1),
            recall=_points(values.recall),
            precision=_points(values.precision),
            recovered=diagnosis.recovered.f1 if diagnosis.recovered else None,
            codes=diagnosis.codes,
            rounds=len(record.rounds),
            tokens=usage.prompt_tokens + usage.completion_tokens,
            seconds=round(record.seconds, 1),
            contradiction=_contradictions(record),
            urls=tuple(self._cited_urls(record, diagnosis)) if decided is None else (),
            decided=decided,
            name="",
        )

    def count(self, record: Record) -> None:
        """Count the record's fetch and find calls by host."""
        url_of = {page.number: page.url for page in record.pages}
        for call in (call for round_ in record.rounds for call in round_.calls):
            host = _host(call, url_of)
            if host is None:
                continue
            self._calls[host] += 1
            if call.failure:
                self._failed.setdefault(host, Counter())[call.failure] += 1

    def hosts(self) -> tuple[HostFailures, ...]:
        """Hosts with failed fetch or find calls, most failures first."""
        order = sorted(self._failed, key=lambda host: (-self._failed[host].total(), host))
        return tuple(
            HostFailures(host, self._calls[host], dict(sorted(self._failed[host].items())))
            for host in order[:MAX_HOSTS]
        )

    def _cited_urls(self, record: Record, diagnosis: Diagnosis) -> list[int]:
        answer = parse(record.answer, dialect_named(record.dialect)) if record.answer is not None else None
        cited = cited_numbers(answer, diagnosis)
        return [self._urls.setdefault(page.url, len(self._urls)) for page in record.pages if page.number in cited]


def _points(value: Value) -> float | None:
    return points(value.value) if isinstance(value, Counted) else None


def _contradictions(record: Record) -> int:
    counter = VerdictCounter()
    counter.add(record)
    return counter.counts().contradictions


def _host(call: ToolCallRow, url_of: Mapping[int, str]) -> str | None:
    """The host that the call was about, None for a search and for arguments that name no page."""
    if call.name == "search":
        return None
    target = mapping(parsed(call.arguments)).get("url_or_number")
    number = int(target) if isinstance(target, int | str) and str(target).isdecimal() else None
    url = url_of.get(number) if number is not None else target
    if not isinstance(url, str):
        return None
    try:
        return urlsplit(url).hostname or None
    except ValueError:
        return None
