"""`pincite replay`: the same result to the byte, from the tape alone.

Knows: how a replay's end is told. Must not know: how sessions are played.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from cassettes.modes import Modes
from sandbox.cli.data_options import RunOrRecording
from sandbox.folder.bundled import recorded_run
from sandbox.folder.stored_run import StoredRun, open_run
from sandbox.folder.tape_reports import counts
from sandbox.replaying.replay import ReplayEnd, ReplayPlan, Result, replay
from sandbox.reports.figures import console_for
from sandbox.reports.terminal import print_report
from sandbox.reports.untrusted import safe_json, visible
from sandbox.summary import Summary, as_json

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

DIFFERENT, MISSED = 1, 3
SHOWN = 5


@app.command(name="replay")
def replay_command(
    run: RunOrRecording,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Also answer requests that are not quite the recorded ones; counted.")
    ] = False,
    reextract: Annotated[
        bool, typer.Option("--reextract", help="Make page text anew from the recorded bytes.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes. [the number of cores, for more than 100 sessions]")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print the summary as JSON and nothing else.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")] = False,
) -> None:
    """Play RUN again from its tape: model, judge, search and pages. No key, no network, no data file.

    Says whether the digest is the recorded one. A request that is not on the tape ends with exit code 3 and a report of
    the nearest recorded request and the first difference; a record that comes out different ends with exit code 1.
    """
    stored = open_run(recorded_run(run))
    summary = stored.summary()
    n = workers or ((os.cpu_count() or 1) if summary.sessions > 100 else 1)
    modes = Modes.lenient() if lenient else Modes.sealed()
    plan = ReplayPlan(stored.path, modes, reextract, n)
    end = _played(stored, plan, summary.sessions, quiet=quiet)
    replayed = summary.model_copy(update={"digest": end.digest, "tape": counts(row.tape for row in end.results)})
    if json_:
        print(_json(replayed, summary, end))
    else:
        print_report([replayed], console_for(sys.stdout))
        print(visible(_told(summary, end)))
    for missed in end.missed[:SHOWN]:
        print(visible(f"\npincite: {missed.report}"), file=sys.stderr)
    if end.missed:
        raise typer.Exit(MISSED)
    if end.digest != summary.digest:
        raise typer.Exit(DIFFERENT)


def _played(stored: StoredRun, plan: ReplayPlan, total: int, *, quiet: bool) -> ReplayEnd:
    columns = (TextColumn("replaying"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as bar:
        task = bar.add_task("replaying", total=total)

        def done(_: Result) -> None:
            bar.advance(task)

        return replay(stored, plan, done)


def _told(summary: Summary, end: ReplayEnd) -> str:
    n_lenient = sum(result.tape.lenient for result in end.results)
    lines = [
        f"Replayed {len(end.results)} sessions, {sum(r.tape.interactions for r in end.results):,} exchanges, from the tape."
    ]
    if end.missed:
        lines.append(f"{len(end.missed)} sessions could not be played to their end; see below.")
    elif end.digest == summary.digest:
        lines.append(f"Digest identical: {end.digest}")
    else:
        lines.append(f"Digest differs: recorded {summary.digest}, replayed {end.digest}")
    for differs in end.differing[:SHOWN]:
        lines.append(f"  {differs.key[0]} repeat {differs.key[1]}: {differs.where}")
    if end.n_unplayed:
        lines.append(f"{end.n_unplayed} recorded exchanges were not asked for.")
    if n_lenient:
        lines.append(f"LENIENT: {n_lenient} answers belong to requests that were not quite these.")
    return "\n".join(lines)


def _json(replayed: Summary, recorded: Summary, end: ReplayEnd) -> str:
    value = json.loads(as_json(replayed))
    value["replay"] = {
        "identical": end.digest == recorded.digest and not end.missed,
        "recorded_digest": recorded.digest,
        "unplayed": end.n_unplayed,
        "missed": [
            {"sample_id": miss.key[0], "repeat": miss.key[1], "report": str(miss.report)} for miss in end.missed
        ],
        "differing": [{"sample_id": d.key[0], "repeat": d.key[1], "where": d.where} for d in end.differing],
    }
    return safe_json(json.dumps(value, ensure_ascii=False, sort_keys=True))
