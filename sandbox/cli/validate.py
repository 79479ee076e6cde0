"""`pincite validate`: reference answers get full marks, without a model and without a judge.

Knows: its flags, how what was found is told. Must not know: what is checked.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from sandbox.benchmarks.benchmark import Benchmark, Loaded
from sandbox.benchmarks.table import benchmark_named
from sandbox.cli.data_options import (
    BenchmarkArgument,
    CorpusOption,
    DataChoice,
    DataOption,
    FieldsOption,
    MiniOption,
    RubricOption,
    data_settings,
)
from sandbox.reports.untrusted import one_line, safe_json
from sandbox.settings import RunSettings, resolve
from sandbox.sources import local_sources
from sandbox.validating.validate import Problem, Validation
from sandbox.validating.validate import validate as validate_benchmark

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

THRESHOLD_MISSED = 1
SHOWN = 20
TYPES_SHOWN = 15
PLAYED: Mapping[str, str] = {
    "right": "reference answer, best verdicts",
    "wrong": "reference answer, worst verdicts",
    "empty": "empty answer",
}


@app.command(context_settings={"max_content_width": 110})
def validate(
    benchmark: BenchmarkArgument,
    data: DataOption = None,
    fields: FieldsOption = None,
    corpus: CorpusOption = None,
    mini: MiniOption = False,
    rubric: RubricOption = None,
    json_: Annotated[bool, typer.Option("--json", help="Print what was found as JSON and nothing else.")] = False,
) -> None:
    """Check BENCHMARK and its data before a model is paid for; no model, no judge, no network.

    Each reference answer, its sentences marked and citing a page that holds it, gets the best verdicts there are: every
    measure must be at its best. With the worst verdicts, and with an empty answer, every measure must be at its worst.
    Exit code 0: all is well. 1: something is not right; each sample is named. 2: the data cannot be read.
    """
    chosen = benchmark_named(benchmark)
    flags = data_settings(chosen, DataChoice(data, fields, corpus, mini, rubric))
    settings = resolve(benchmark, chosen.defaults, None, flags)
    found = validate_benchmark(chosen, settings, _loaded(chosen, settings))
    if json_:
        made = found.model_dump(mode="json") | {"ok": found.is_sound}
        print(safe_json(json.dumps(made, ensure_ascii=False, sort_keys=True, allow_nan=False)))
    else:
        print("\n".join(_told(found)))
    if not found.is_sound:
        raise typer.Exit(THRESHOLD_MISSED)


def _loaded(benchmark: Benchmark, settings: RunSettings) -> Loaded:
    """The samples, as a run would have them. Raises SetupError for everything that is wrong with the data."""
    if settings.search.engine != "local":
        return benchmark.load(settings, None)
    with tempfile.TemporaryDirectory(prefix="pincite-") as folder:
        return benchmark.load(settings, local_sources(settings, Path(folder)).corpus)


def _told(found: Validation) -> Iterator[str]:
    yield f"{found.benchmark}: {found.rows} rows, {found.samples} samples"
    facts = dict(_facts(found))
    width = max(map(len, facts))
    yield from (f"  {name:<{width}}  {value}" for name, value in facts.items())
    yield ""
    if found.is_sound:
        names = ", ".join(found.measures)
        yield f"Reference answers get full marks, empty and wrongly judged ones none: {names}."
        return
    lines = list(_lines(found.problems))
    yield from lines[:SHOWN]
    if len(lines) > SHOWN:
        yield f"… and {len(lines) - SHOWN} more (--json lists all)"
    samples = len({problem.sample_id for problem in found.problems if problem.sample_id is not None})
    general = sum(problem.sample_id is None for problem in found.problems)
    parts = [f"{samples} of {found.samples} samples"] if samples else []
    parts += [f"{general} of the measures over all samples"] if general else []
    yield f"Not right: {', '.join(parts)}."


def _facts(found: Validation) -> Iterator[tuple[str, str]]:
    """What there is in the data, by name, fit to be shown."""
    yield "data", f"{one_line(found.data, 200)} (sha256 {found.sha256[:16]}…)"
    if found.types:
        yield found.type_name, _several(found.types)
    yield from ((one_line(label, 30), _several(counts)) for label, counts in found.labels.items())
    if found.without_reference:
        yield "no reference", f"{found.without_reference} samples (answered with a placeholder)"
    if found.left_out:
        yield "left out", _several(found.left_out)
    if found.unused:
        yield "not read", ", ".join(one_line(column, 40) for column in found.unused)
    yield from ((one_line(name, 30), one_line(value, 100)) for name, value in found.facts.items())


def _lines(problems: tuple[Problem, ...]) -> Iterator[str]:
    """One line for what concerns all samples each, then one for each sample."""
    by_sample: dict[str, list[Problem]] = {}
    for problem in problems:
        if problem.sample_id is None:
            yield f"all: {_what(problem)}"
        else:
            by_sample.setdefault(problem.sample_id, []).append(problem)
    for sample_id, own in by_sample.items():
        yield f"{one_line(sample_id, 60)}: {'; '.join(map(_what, own))}"


def _what(problem: Problem) -> str:
    message = one_line(problem.message, 300)
    if problem.measure is None or problem.played is None:
        return message
    return f"{problem.measure}: {message} [{PLAYED[problem.played]}]"


def _several(counts: Mapping[str, int]) -> str:
    shown = [f"{one_line(name, 40)} {n}" for name, n in list(counts.items())[:TYPES_SHOWN]]
    more = len(counts) - TYPES_SHOWN
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
