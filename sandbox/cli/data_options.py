"""The options that say which rows of a benchmark are used, and what they mean as settings.

Knows: their flags, bundled rows, what a rubric is to each benchmark. Must not know: models, runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from sandbox.benchmarks.benchmark import Benchmark
from sandbox.benchmarks.table import BENCHMARKS
from sandbox.settings import Overrides
from tools.tool import SetupError

BenchmarkArgument = Annotated[str, typer.Argument(metavar="BENCHMARK", help=f"One of: {', '.join(BENCHMARKS)}.")]
RunOrRecording = Annotated[
    str,
    typer.Argument(metavar="RUN", help="A run folder, or a benchmark's name: the recording that comes with pincite."),
]
DataOption = Annotated[
    str | None, typer.Option(help="The question file: JSON Lines, JSON or Parquet; or hf:OWNER/NAME.")
]
FieldsOption = Annotated[
    Path | None, typer.Option(help="TOML that names the file's columns, where they are not the usual ones.")
]
CorpusOption = Annotated[
    Path | None, typer.Option(help="Local corpus (pincite corpus build, fetch); means --search local.")
]
MiniOption = Annotated[bool, typer.Option("--mini", help="The bundled rows of BENCHMARK: no data, key or network.")]
RubricOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="MultiChallenge: your judge prompt. jmt-safety: TOML with the prohibitions."),
]


@dataclass(frozen=True, slots=True)
class DataChoice:
    """What the options say."""

    data: str | None
    fields: Path | None
    corpus: Path | None
    mini: bool
    rubric: Path | None


def data_settings(benchmark: Benchmark, choice: DataChoice) -> Overrides:
    """The settings that follow, only those that something was said of. Raises SetupError for what cannot be meant."""
    said: Overrides = _mini(benchmark, choice.data) if choice.mini else {}
    if choice.data is not None:
        said["data"] = choice.data
    if choice.fields is not None:
        said["fields"] = str(choice.fields)
    if choice.corpus is not None:
        if "support" not in benchmark.judgements:
            raise SetupError(f"{benchmark.name} reads no documents: leave out --corpus {choice.corpus}")
        said["search.corpus"] = str(choice.corpus)
        # A benchmark that gives its documents reads them from the corpus, and searches nothing.
        if benchmark.defaults.get("search.engine") != "none":
            said["search.engine"] = "local"
    return said | (_rubric(benchmark, choice.rubric) if choice.rubric is not None else {})


def _mini(benchmark: Benchmark, data: str | None) -> Overrides:
    if data is not None:
        raise SetupError(f"--mini brings rows of its own: leave out either it or --data {data}")
    if benchmark.mini is None:
        raise SetupError(f"{benchmark.name} has no bundled rows")
    return dict(benchmark.mini)


def _rubric(benchmark: Benchmark, file: Path) -> Overrides:
    """A prompt, whose text the run keeps, or a file that is read with the data."""
    if "safety" in benchmark.judgements:
        return {"rubric": str(file)}
    if "criterion" not in benchmark.judgements:
        raise SetupError(f"{benchmark.name} has no rubric to replace; its prompts go by --set judge.prompts=FOLDER")
    try:
        return {"judge.criterion_prompt": file.read_text(encoding="utf-8-sig")}
    except OSError as error:
        raise SetupError(f"the rubric {file} cannot be read: {error.strerror or type(error).__name__}") from error
    except UnicodeDecodeError as error:
        raise SetupError(f"the rubric {file}: not UTF-8; convert the file, e.g. iconv -f CP932 -t UTF-8") from error
