"""`pincite score`: scores from verdicts that are there already; no call, but with --recovered.

Knows: its flags, where verdicts come from. Must not know: what a verdict is worth.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, nullcontext
from pathlib import Path
from typing import Annotated, BinaryIO, get_args

import typer

from cassettes.modes import Modes
from cassettes.redact import Redactor
from cassettes.tape import TapeSet
from citations.verdict_rows import LongbenchResult, Profile, RowError, TmgResult, score_line
from sandbox.assemble import judging_of, secrets_of
from sandbox.endpoint.clients import Access, judge_client
from sandbox.folder.sample_file import read_samples
from sandbox.folder.store import SETTINGS, SUMMARY, RunFolder
from sandbox.folder.stored_run import StoredRun, open_run
from sandbox.linting.recovered import RECOVERED_TAPE, Asked, Recording, ask_recovered
from sandbox.measuring.measures import checks_citations
from sandbox.record import Record
from sandbox.replaying.derived import rejudge, with_verdicts
from sandbox.replaying.strange_servers import check_servers
from sandbox.reports.figures import console_for
from sandbox.reports.progress import Progress
from sandbox.reports.terminal import print_report
from sandbox.reports.untrusted import safe_json
from sandbox.rescore import rescored
from sandbox.run import Occasion, sessions_of, utc_now
from sandbox.run import run as run_benchmark
from sandbox.settings import Overrides, file_name, resolve, servers_named
from sandbox.summary import Summary, as_json, summarise
from tools.tool import SetupError

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

PROFILES: tuple[Profile, ...] = get_args(Profile)
STDIN = "-"


@app.command(context_settings={"max_content_width": 110})
def score(
    run: Annotated[
        Path | None, typer.Argument(metavar="RUN", help="Run folder whose stored verdicts are scored again.")
    ] = None,
    verdicts: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Score the verdicts in this JSON Lines file instead; - reads stdin."),
    ] = None,
    profile: Annotated[
        str, typer.Option(help=f"Scoring rules for --verdicts: {' or '.join(PROFILES)}.", show_default=True)
    ] = PROFILES[0],
    recovered: Annotated[
        bool,
        typer.Option(
            "--recovered",
            help="Ask the run's judge what only the recovered readings of the answers need; never scored.",
        ),
    ] = False,
    judge: Annotated[
        str | None,
        typer.Option(help="Judge the recorded answers again with this model; makes a run folder of its own."),
    ] = None,
    judge_base_url: Annotated[
        str | None, typer.Option(help="With --judge, --recovered: the judge's server. [as RUN]")
    ] = None,
    judge_repeats: Annotated[
        int | None,
        typer.Option(min=1, max=20, help="With --judge: ask for each verdict so often; the first counts. [as RUN]"),
    ] = None,
    verdicts_from: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="RUN",
            help="With --judge: verdicts from the tapes of this run where the judge was asked the same; repeatable.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="With --judge: the new run folder. [RUN-judged-JUDGE]")] = None,
    json_: Annotated[
        bool, typer.Option("--json", help="Print JSON and nothing else (with --verdicts it always is).")
    ] = False,
) -> None:
    """Score verdicts that are there already. Nothing is generated; a judge is asked with --judge and --recovered only.

    With RUN: parse each stored answer again, score its stored verdicts, write RUN/summary.json and print the scores.
    --recovered judges what mending the markup would change, once, and adds F1 as it would be if only the format were
    right, and the points that each fault costs; the verdicts are kept in RUN/recovered.jsonl, apart from the score.
    --judge plays the recorded sessions and asks another judge about their answers; the new folder can be replayed alone.
    pincite compare RUN NEW_FOLDER then says how far the two judges agree.
    With --verdicts FILE: pure arithmetic on verdicts made elsewhere (human annotators, another judge), one answer a
    line; prints per line {"id", "counted" or "dropped", "recall", "precision", "f1", "exact"}, rates from 0 to 1.
    """
    if verdicts is not None and run is None:
        if recovered or judge or judge_base_url or judge_repeats or verdicts_from or out:
            raise SetupError("with --verdicts no judge is asked: of the other options only --profile goes with it")
        for result in score_file(verdicts, profile_named(profile)):
            print(safe_json(result.model_dump_json()))
        return
    if run is None or verdicts is not None:
        raise SetupError("give either a run folder or --verdicts FILE")
    if profile != PROFILES[0]:
        raise SetupError("--profile goes with --verdicts")
    if judge is not None:
        flags: Overrides = {"judge.name": judge, "judge.base_url": judge_base_url, "judge.repeats": judge_repeats}
        folder = out or run.with_name(f"{run.name}-judged-{file_name(judge)}")
        run = judge_again(run, flags, verdicts_from or [], folder)
    elif judge_repeats or verdicts_from or out or (judge_base_url and not recovered):
        raise SetupError("--judge-base-url, --judge-repeats, --verdicts-from and --out go with --judge")
    stored = open_run(run)
    if recovered:
        judge_recovered(stored, judge_base_url)
    summary = score_run(stored)
    if json_:
        print(safe_json(as_json(summary)))
    else:
        print_report([summary], console_for(sys.stdout))


def profile_named(name: str) -> Profile:
    """The profile of that name; SetupError lists the names there are."""
    for profile in PROFILES:
        if profile == name:
            return profile
    raise SetupError(f"there is no profile {name!r}; the profiles are: {', '.join(PROFILES)}")


def score_file(name: str, profile: Profile) -> list[TmgResult | LongbenchResult]:
    """The result of each line, blank lines passed over.

    Raises SetupError where there is none, and naming the first line that is wrong.
    """
    shown = "stdin" if name == STDIN else name
    try:
        with nullcontext(sys.stdin.buffer) if name == STDIN else Path(name).open("rb") as file:
            results = list(_score_lines(file, profile))
    except OSError as error:
        raise SetupError(f"cannot read the verdicts in {name}: {error.strerror or error}") from error
    except RowError as error:
        raise SetupError(f"{shown}, {error}") from error
    if not results:
        raise SetupError(f"{shown} holds no verdicts")
    return results


def judge_again(run: Path, flags: Overrides, verdicts_from: Sequence[Path], folder: Path) -> Path:
    """The folder, in which a judge with the settings `flags` read the answers of `run`. Raises SetupError and TapeError."""
    derived = rejudge(run)
    settings = resolve(derived.benchmark.name, {}, None, flags, derived.base)
    playing = with_verdicts(derived.playing, verdicts_from, folder)
    check_servers(settings, servers_named(None, flags), playing.reach, os.environ)
    occasion = Occasion(tuple(sys.argv[1:]), os.environ, utc_now())
    progress = Progress(sys.stderr, is_judging=True)
    try:
        end = asyncio.run(run_benchmark(derived.benchmark, settings, folder, occasion, progress, playing))
    except KeyboardInterrupt:
        print(f"pincite: stopped; what is judged is kept in {folder}. The same command goes on.", file=sys.stderr)
        raise typer.Exit(130) from None
    n_recorded = len(sessions_of(read_samples(run)[: settings.limit], settings.repeats))
    if end.n_sessions < n_recorded:
        print(
            f"pincite: {n_recorded - end.n_sessions} of {n_recorded} sessions of {run} are not finished and have no "
            "answer to judge; finish that run and repeat this command to have them judged too",
            file=sys.stderr,
        )
    if end.n_faults:
        raise SetupError(f"{end.n_faults} sessions ended in a fault of pincite: see {folder / 'errors.log'}")
    return folder


def judge_recovered(run: StoredRun, base_url: str | None = None) -> None:
    """Ask the run's judge, at `base_url` where it has moved, what only the recovered readings need, and say on stderr
    what was asked. Raises SetupError.
    """
    if not checks_citations(run.measures):
        raise SetupError(
            f"{run.path} is a run of {run.settings.benchmark}: one verdict decides about each answer, and there is no "
            "markup that could be mended; pincite score without --recovered scores it"
        )
    flags: Overrides = {"judge.base_url": base_url}
    settings = resolve("", {}, run.path / SETTINGS, flags)
    check_servers(settings, servers_named(None, flags), {"judge"}, os.environ)

    async def ask() -> Asked:
        async with AsyncExitStack() as stack:
            redactor = Redactor(secrets_of(settings, os.environ))
            judge = await judge_client(stack, settings, Access(os.environ, redactor.redact))
            tapes = stack.enter_context(TapeSet(run.path / RECOVERED_TAPE, Modes.resume(), redactor=redactor))
            judging = judging_of(settings).citations
            return await ask_recovered(run.path, run.records(), judge.model, judging, Recording.on(tapes, run.path))

    try:
        with RunFolder(run.path):
            asked = asyncio.run(ask())
    except KeyboardInterrupt:
        print(f"pincite: stopped; what is judged is kept in {run.path}. The same command goes on.", file=sys.stderr)
        raise typer.Exit(130) from None
    missing = f"; {asked.n_missing} got no verdict, the same command asks them again" if asked.n_missing else ""
    print(
        f"pincite: asked the judge {asked.n_units} new questions about {asked.n_sessions} answers{missing}",
        file=sys.stderr,
    )


def score_run(run: StoredRun) -> Summary:
    """The figures of a run from its stored answers and verdicts; also written to its folder as summary.json.

    Says on stderr how many stored scores came out differently. Raises SetupError where nothing is finished yet.
    """
    changed = 0

    def again() -> Iterator[Record]:
        nonlocal changed
        for record in run.records():
            fresh = rescored(record, f1_only=run.settings.citations.f1_only)
            changed += fresh != record
            yield fresh

    summary = summarise(again(), run.facts())
    if summary.sessions == 0:
        raise SetupError(f"no session of {run.path} is finished yet: there is nothing to score")
    with RunFolder(run.path) as folder:
        folder.write(SUMMARY, as_json(summary))
    if changed:
        print(
            f"pincite: {changed} of {summary.sessions} stored scores come out differently now; "
            "the figures and the digest are those of the new ones",
            file=sys.stderr,
        )
    return summary


def _score_lines(file: BinaryIO, profile: Profile) -> Iterator[TmgResult | LongbenchResult]:
    for number, line in enumerate(file, 1):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise RowError(f"row {number}: not UTF-8 ({error.reason} at byte {error.start})") from error
        if text.strip():
            yield score_line(text, profile, number)
