"""The samples of a run as its folder keeps them: a replay needs no data file and no corpus.

Knows: the file `samples.jsonl`. Must not know: benchmarks, what is done with a sample.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import JsonValue, TypeAdapter, ValidationError

from sandbox.record import Row
from sandbox.sample import Gold, Sample, Script
from tools.tool import SetupError

SAMPLES = "samples.jsonl"


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


_HISTORY = TypeAdapter(tuple[dict[str, JsonValue], ...])


def as_lines(samples: Iterable[Sample]) -> str:
    """The samples as JSON Lines."""
    return "".join(_row(sample).model_dump_json() + "\n" for sample in samples)


def read_samples(folder: Path) -> tuple[Sample, ...]:
    """The samples of the run in `folder`. Raises SetupError where the file is missing or damaged."""
    path = folder / SAMPLES
    try:
        lines = path.read_bytes().splitlines()
        return tuple(_sample(SampleRow.model_validate_json(line)) for line in lines)
    except FileNotFoundError as error:
        raise SetupError(f"{path} is not there: is {folder} a run folder of this version of pincite?") from error
    except ValidationError as error:
        raise SetupError(f"{path} cannot be read: {error.errors()[0]['msg']}") from error


def _row(sample: Sample) -> SampleRow:
    return SampleRow(
        id=sample.id,
        question=sample.question,
        task_type=sample.task_type,
        history=_HISTORY.validate_python(tuple(dict(message) for message in sample.script.history)),
        turns=sample.script.turns,
        tools=sample.script.tools,
        reference=sample.gold.reference,
        sources=sample.gold.sources,
    )


def _sample(row: SampleRow) -> Sample:
    return Sample(
        id=row.id,
        question=row.question,
        script=Script(turns=row.turns, history=row.history, tools=row.tools),
        gold=Gold(row.reference, row.sources),
        task_type=row.task_type,
    )
