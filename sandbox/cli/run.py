"""`pincite run`: a run, or the rest of one.

Knows: flags and how they become settings. Must not know: how a run goes.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from cassettes.modes import PoolMiss
from sandbox.benchmarks.benchmark import Benchmark
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
from sandbox.folder.store import SUMMARY, RunFolder
from sandbox.folder.stored_run import open_run
from sandbox.loading.rows import shown
from sandbox.replaying.derived import Derived, fork, fork_point, web_replay, with_verdicts
from sandbox.replaying.strange_servers import check_servers
from sandbox.reports.figures import console_for
from sandbox.reports.progress import Progress
from sandbox.reports.terminal import print_report
from sandbox.reports.untrusted import safe_json
from sandbox.run import Occasion, Playing, RunEnd, utc_now
from sandbox.run import run as run_benchmark
from sandbox.settings import BASELINE, Overrides, RunSettings, file_name, resolve, servers_named
from sandbox.summary import Summary, as_json
from tools.tool import SetupError

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

POOL_MISS: dict[str, PoolMiss] = {"error": "error", "empty": "empty", "live": "live"}


@app.command(context_settings={"max_content_width": 110})
def run(
    benchmark: BenchmarkArgument,
    data: DataOption = None,
    fields: FieldsOption = None,
    corpus: CorpusOption = None,
    model: Annotated[
        str | None,
        typer.Option(help="Model name as the server knows it; embedded: baseline, baseline-untidy. [baseline]"),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(help="The model's OpenAI-compatible server, e.g. http://127.0.0.1:8000/v1.")
    ] = None,
    search: Annotated[
        str | None, typer.Option(help="local, brave or brave-sdk. [tmg-cqa-tool: brave; sample: local]")
    ] = None,
    judge: Annotated[str | None, typer.Option(help="Judge model name. [baseline]")] = None,
    judge_base_url: Annotated[
        str | None, typer.Option(help="The judge's server. [--base-url, where --judge is given]")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Run folder; a run that is there is continued. [runs/BENCHMARK-MODEL]")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N samples.")] = None,
    mini: MiniOption = False,
    repeats: Annotated[
        int | None, typer.Option(min=1, help="Sessions per sample. [1; j-multichallenge: 3, as published]")
    ] = None,
    attempts: Annotated[
        int | None,
        typer.Option(min=1, help="MultiChallenge: answers per question; one that passes is enough (pass@k)."),
    ] = None,
    responses: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="MultiChallenge: judge the answers of this file; repeatable, a run for each."
        ),
    ] = None,
    rubric: RubricOption = None,
    concurrency: Annotated[int | None, typer.Option(min=1, help="Sessions at once. [32]")] = None,
    temperature: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="[as published: tmg-cqa and sample 0.6, multichallenge 0; j-multichallenge, jmt-safety: not sent]",
        ),
    ] = None,
    max_output_tokens: Annotated[
        int | None, typer.Option(min=1, help="Tokens per call, reasoning included. [16384]")
    ] = None,
    max_rounds: Annotated[int | None, typer.Option(min=0, help="Tool rounds. [30, as published]")] = None,
    on_tight_context: Annotated[str | None, typer.Option(help="fail, or shrink the output limit. [fail]")] = None,
    dialect: Annotated[str | None, typer.Option(help="Answer markup: tags or plamo. [tags]")] = None,
    f1_only: Annotated[
        bool, typer.Option("--f1-only", help="Skip judge calls that cannot change F1 (recall then has gaps).")
    ] = False,
    language: Annotated[
        str | None, typer.Option(help="Language of tools, requests and judge: ja or en. [ja; multichallenge: en]")
    ] = None,
    web_from: Annotated[
        list[Path] | None,
        typer.Option(metavar="RUN", help="Search and fetch from the tapes of this run; repeatable. The model is live."),
    ] = None,
    fork_from: Annotated[
        str | None,
        typer.Option("--fork", metavar="RUN@ROUND", help="RUN's model up to ROUND, then --model."),
    ] = None,
    on_web_miss: Annotated[
        str | None,
        typer.Option(help="A page or search that no tape has: error, empty or live. [--web-from: error; --fork: live]"),
    ] = None,
    verdicts_from: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="RUN", help="Verdicts from the tapes of this run where the judge was asked the same; repeatable."
        ),
    ] = None,
    judge_repeats: Annotated[
        int | None, typer.Option(min=1, max=20, help="Ask for each verdict so often; the first counts. [1]")
    ] = None,
    settings: Annotated[Path | None, typer.Option(help="TOML settings; flags win. See run.toml of any run.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any other setting, e.g. --set model.decode.top_k=40."),
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print the summary as JSON and nothing else.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")] = False,
) -> None:
    """Run BENCHMARK: play every sample, judge every answer, print the scores.

    Everything goes into the run folder as it comes. After a crash or Ctrl-C the same command goes on where it stopped.
    Keys are read from the environment: OPENAI_API_KEY for model and judge, BRAVE_API_KEY for search.
    """
    flags: Overrides = {
        "limit": limit,
        "repeats": repeats or attempts,
        "concurrency": concurrency,
        "language": language,
        "model.name": model,
        "model.base_url": base_url,
        "model.decode.temperature": temperature,
        "model.max_output_tokens": max_output_tokens,
        "judge.name": judge,
        "judge.base_url": judge_base_url or (base_url if judge not in (None, BASELINE) else None),
        "judge.language": language,
        "judge.repeats": judge_repeats,
        "search.engine": search,
        "limits.rounds": max_rounds,
        "limits.on_tight_context": on_tight_context,
        "citations.dialect": dialect,
        "citations.f1_only": f1_only or None,
        **_named_values(set_ or []),
    }
    chosen = benchmark_named(benchmark)
    _check(chosen, attempts=attempts, repeats=repeats, responses=responses)
    # Over a settings file, which may name data of its own; under the other flags.
    given = data_settings(chosen, DataChoice(data, fields, corpus, mini, rubric))
    given |= {name: value for name, value in flags.items() if value is not None}
    derived = _derived(web_from or [], fork_from, on_web_miss)
    if derived is not None and data is None:
        chosen = derived.benchmark
        if chosen.name != benchmark:
            raise SetupError(f"the recorded run is one of {chosen.name}, not of {benchmark}")
    suffix = ("-mini" if mini else "") + _suffix(web_from or [], fork_from)
    files: list[Path | None] = [*responses] if responses else [None]
    runs: dict[Path, RunSettings] = {}
    for file in files:
        own = given | (_answers(file, model) if file is not None else {})
        resolved = resolve(benchmark, chosen.defaults, settings, own, derived.base if derived else None)
        if derived is not None:
            check_servers(resolved, servers_named(settings, own), derived.playing.reach, os.environ)
        if attempts and attempts > 1 and all(measure.fold == "mean" for measure in chosen.measures(resolved)):
            raise SetupError(f"{benchmark} knows no attempts of which one may pass; --repeats {attempts} asks as often")
        name = default_name(resolved) + suffix
        folder = Path("runs") / name if out is None else out / name if len(files) > 1 else out
        if folder in runs:
            raise SetupError(
                f"{runs[folder].responses} and {file} would both be run in {folder}: "
                f"{'leave out --model' if model else 'rename one of the files'}"
            )
        runs[folder] = resolved
    done: list[_Done] = []
    for folder, resolved in runs.items():
        playing = with_verdicts(derived.playing if derived else Playing(), verdicts_from or [], folder)
        end = _run(chosen, resolved, folder, playing, quiet=quiet)
        done.append(_finished(folder, end))
        if playing.modes.fork_round is not None:
            _tell_of_short_sessions(folder, playing.modes.fork_round)
    _show(done, as_json_only=json_)


def _run(benchmark: Benchmark, settings: RunSettings, folder: Path, playing: Playing, *, quiet: bool) -> RunEnd:
    """One run, to its end or to Ctrl-C."""
    progress = Progress(sys.stderr, quiet=quiet)
    occasion = Occasion(tuple(sys.argv[1:]), os.environ, utc_now())
    try:
        end = asyncio.run(run_benchmark(benchmark, settings, folder, occasion, progress, playing))
    except KeyboardInterrupt:
        print(f"pincite: stopped; finished samples are kept in {folder}. The same command goes on.", file=sys.stderr)
        raise typer.Exit(130) from None
    if end.unused_columns:
        unused = shown(end.unused_columns)
        print(f"pincite: columns of {settings.data} that nothing reads: {unused} (see --fields)", file=sys.stderr)
    for note in end.notes:
        print(f"pincite: {note}", file=sys.stderr)
    return end


def _tell_of_short_sessions(folder: Path, fork_round: int) -> None:
    """Answers that were given before the fork are the recorded model's, and stand under the name of the other one."""
    rounds = [len(record.rounds) for record in open_run(folder).records() if record.outcome == "answered"]
    n_short = sum(n <= fork_round for n in rounds)
    if n_short:
        print(
            f"pincite: {n_short} of {len(rounds)} answers came by round {fork_round}, before the fork: they are the "
            "recorded model's own; fork at an earlier round to have them from --model",
            file=sys.stderr,
        )


def _answers(file: Path, model: str | None) -> Overrides:
    """A run of answers that exist already: the file names the model, where nobody else does."""
    return {"responses": str(file), "model.name": model or file.stem.removesuffix("_responses")}


def _check(benchmark: Benchmark, *, attempts: int | None, repeats: int | None, responses: list[Path] | None) -> None:
    """Refuse what the benchmark has no meaning for."""
    if "criterion" not in benchmark.judgements and (attempts is not None or responses):
        option = "--responses" if responses else "--attempts"
        raise SetupError(f"{option} is for multichallenge and j-multichallenge, not for {benchmark.name}")
    if attempts is not None and repeats is not None and attempts != repeats:
        raise SetupError("--attempts and --repeats both say how many answers a question gets: give one of them")


def _derived(web_from: list[Path], fork_from: str | None, on_miss: str | None) -> Derived | None:
    """What the options that play recorded runs ask for; None where there are none."""
    if on_miss is not None and on_miss not in POOL_MISS:
        raise SetupError(f"--on-web-miss is error, empty or live, not {on_miss!r}")
    if web_from and fork_from:
        raise SetupError("--web-from and --fork cannot go together")
    if fork_from is not None:
        return fork(fork_point(fork_from), POOL_MISS[on_miss or "live"])
    if web_from:
        return web_replay(web_from, POOL_MISS[on_miss or "error"])
    if on_miss is not None:
        raise SetupError("--on-web-miss goes with --web-from or --fork")
    return None


def _suffix(web_from: list[Path], fork_from: str | None) -> str:
    """What tells the folder of a run that plays another from that of an ordinary one."""
    if fork_from:
        point = fork_point(fork_from)
        return f"-fork-{point.run.name}-{point.round}"
    return f"-web-{web_from[0].name}" if web_from else ""


def default_name(settings: RunSettings) -> str:
    """`BENCHMARK-MODEL`, with what a file name cannot hold replaced."""
    return f"{settings.benchmark}-{file_name(settings.model.name)}"


@dataclass(frozen=True, slots=True)
class _Done:
    """A run as it stands after this start."""

    folder: Path
    end: RunEnd
    summary: Summary


def _finished(folder: Path, end: RunEnd) -> _Done:
    """The run with its summary written. Raises SetupError where not one session came to an end."""
    stored = open_run(folder)
    if end.n_faults == end.n_sessions - end.n_before and end.n_faults:
        raise SetupError(_faults(folder, end))
    summary = stored.summary()
    with RunFolder(folder) as writer:
        writer.write(SUMMARY, as_json(summary))
    return _Done(folder, end, summary)


def _show(runs: Sequence[_Done], *, as_json_only: bool) -> None:
    """The figures of the runs, side by side where there are several, and whether anything is missing from them."""
    if as_json_only:
        for one in runs:
            print(safe_json(as_json(one.summary)))
    else:
        print_report([one.summary for one in runs], console_for(sys.stdout))
        for one in runs:
            if one.end.n_before == one.end.n_sessions:
                print(f"All {one.end.n_sessions} sessions were finished before; --out NEW_FOLDER makes a fresh run.")
            print(f"Run folder: {one.folder}")
    faults = [_faults(one.folder, one.end) for one in runs if one.end.n_faults]
    if faults:
        raise SetupError(" ".join(faults))


def _faults(folder: Path, end: RunEnd) -> str:
    return (
        f"{end.n_faults} sessions ended in a fault of pincite and have no record: see {folder / 'errors.log'}. "
        "The same command tries them again."
    )


def _named_values(pairs: list[str]) -> Overrides:
    """`NAME=VALUE` as TOML reads the value; what is no TOML is taken as text."""
    found: Overrides = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign or not name.strip():
            raise SetupError(f"--set needs NAME=VALUE, not {pair!r}")
        try:
            found[name.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            found[name.strip()] = value
    return found
