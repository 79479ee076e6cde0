"""The samples of a run as its folder keeps them: a replay needs no data file and no corpus.

Knows: the file `samples.jsonl`. Must not know: benchmarks, what is done with a sample.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from sandbox.record import Row
from sandbox.sample import Criterion, GivenPage, Gold, Sample, Script
from tools.tool import SetupError

SAMPLES = "samples.jsonl"
RESPONSES = b'"responses":'


class SampleRow(Row):
    """One sample with all that is played of it."""

    id: str
    question: str
    task_type: str | None
    history: tuple[dict[str, JsonValue], ...]
    turns: tuple[str, ...]
    tools: bool
    reference: str | None
    sources: tuple[str, ...]
    given: tuple[GivenPage, ...] = Field(default=(), exclude_if=lambda given: not given)
    responses: tuple[str | None, ...] | None = Field(default=None, exclude_if=lambda responses: responses is None)
    criterion: Criterion | None = Field(default=None, exclude_if=lambda criterion: criterion is None)
    labels: dict[str, str] = Field(default={}, exclude_if=lambda labels: not labels)
    cluster: str | None = Field(default=None, exclude_if=lambda cluster: cluster is None)


_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_HISTORY = TypeAdapter(tuple[dict[str, JsonValue], ...])


def as_lines(samples: Iterable[Sample]) -> Iterator[str]:
    """The samples as JSON Lines, one at a time: with documents in their prompts they are long."""
    # Not model_dump_json: it leaves a UTF-8 copy in every text that it has seen, and these are kept for the whole run.
    return (f"{_COMPACT(_row(sample).model_dump(mode='json'))}\n" for sample in samples)


def read_samples(folder: Path) -> tuple[Sample, ...]:
    """The samples of the run in `folder`. Raises SetupError where the file is missing or damaged."""
    path = folder / SAMPLES
    try:
        with path.open("rb") as lines:
            return tuple(_read(line, folder) for line in lines)
    except FileNotFoundError as error:
        raise SetupError(f"{path} is not there: is {folder} a run folder of this version of pincite?") from error


def count_sessions(folder: Path, limit: int | None, repeats: int) -> int | None:
    """How many sessions the whole run has; None where its samples are not known."""
    try:
        with (folder / SAMPLES).open("rb") as lines:
            first = islice(lines, limit)
            return sum(n_sessions(_read(line, folder), repeats) if RESPONSES in line else repeats for line in first)
    except FileNotFoundError:
        return None


def n_sessions(sample: Sample, repeats: int) -> int:
    """How often a sample is played: `repeats` times, or once for each response that it brings (once if it has none)."""
    responses = sample.script.responses
    return repeats if responses is None else max(1, len(responses))


def _read(line: bytes, folder: Path) -> Sample:
    try:
        return _sample(SampleRow.model_validate_json(line))
    except ValidationError as error:
        raise SetupError(f"{folder / SAMPLES} cannot be read: {error.errors()[0]['msg']}") from error


def _row(sample: Sample) -> SampleRow:
    script, gold = sample.script, sample.gold
    return SampleRow(
        id=sample.id,
        question=sample.question,
        task_type=sample.task_type,
        history=_HISTORY.validate_python(tuple(dict(message) for message in script.history)),
        turns=script.turns,
        tools=script.tools,
        reference=gold.reference,
        sources=gold.sources,
        given=script.given,
        responses=script.responses,
        criterion=gold.criterion,
        labels=dict(sample.labels),
        cluster=sample.cluster,
    )


def _sample(row: SampleRow) -> Sample:
    return Sample(
        id=row.id,
        question=row.question,
        script=Script(turns=row.turns, history=row.history, tools=row.tools, given=row.given, responses=row.responses),
        gold=Gold(row.reference, row.sources, row.criterion),
        task_type=row.task_type,
        labels=row.labels,
        cluster=row.cluster,
    )
