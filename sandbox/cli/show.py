"""`pincite show`: one session of a run, to read.

Knows: its flags, and how a session is found by its sample's id. Must not know: how a session is told.
"""

from __future__ import annotations

import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer

from sandbox.folder.stored_run import StoredRun, open_run
from sandbox.folder.tape_reports import read_rows
from sandbox.linting.lint_run import FormatTally
from sandbox.record import Record
from sandbox.reports.figures import console_for
from sandbox.reports.session import session_text
from sandbox.reports.session_findings import Beside
from sandbox.reports.session_history import histories_of
from sandbox.reports.session_parts import View
from sandbox.reports.untrusted import one_line, safe_json
from tools.tool import SetupError

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

N_NEAREST = 5


@app.command(context_settings={"max_content_width": 110})
def show(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder, as written by pincite run.")],
    sample: Annotated[str, typer.Argument(metavar="SAMPLE", help="The sample's id, as in the data set.")],
    repeat: Annotated[int, typer.Option(min=0, help="Which session of the sample, from 0.")] = 0,
    full: Annotated[bool, typer.Option("--full", help="Shorten nothing: reasoning, tool results, evidence.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print the stored record as JSON and nothing else.")] = False,
) -> None:
    """Show one session round by round: tool calls, what they returned, the answer, and what each citation stands on.

    First comes what is wrong: the findings of pincite lint in the answer, and verdicts that contradict one another. Then
    each sentence of the answer comes with its verdicts and the judge's reasons, each citation with the evidence that was
    seen of its page; ⇄ marks a verdict that was not the same each time it was asked for. Words that sentence and evidence
    share are marked: a help for the eye, no verdict. Where one verdict decides about an answer, the dialogue, the
    criterion and the verdict are shown instead.
    """
    stored = open_run(run)
    record = find_record(stored, sample, repeat)
    if json_:
        print(safe_json(record.model_dump_json()))
        return
    console = console_for(sys.stdout)
    emphasis = console.is_terminal and not console.is_dumb_terminal
    console.print(session_text(record, View(full=full, brackets=not emphasis), _beside(stored, record)))


def _beside(run: StoredRun, record: Record) -> Beside:
    """What the folder says of the session beside its record: what is wrong with its answer, what its tape did."""
    facts = run.facts()
    tapes = (row for row in read_rows(run.path) if (row.sample_id, row.repeat) == (record.sample_id, record.repeat))
    if record.criterion is not None:
        return Beside(tape=next(tapes, None), history=histories_of(run).get(record.sample_id, ()))
    examined = FormatTally(facts.recovered, facts.max_evidence_chars).add(record)
    return Beside(examined, next(tapes, None))


def find_record(run: StoredRun, sample_id: str, repeat: int) -> Record:
    """The record of the session. Raises SetupError with the nearest ids, or the repeats that are there."""
    ids: dict[str, list[int]] = {}
    for record in run.records():
        if record.sample_id == sample_id and record.repeat == repeat:
            return record
        ids.setdefault(record.sample_id, []).append(record.repeat)
    if sample_id in ids:
        there = ", ".join(str(number) for number in sorted(ids[sample_id]))
        raise SetupError(f"sample {sample_id} has no finished repeat {repeat} in {run.path}; finished: {there}")
    if not ids:
        raise SetupError(f"no session of {run.path} is finished yet")
    nearest = get_close_matches(sample_id, ids, n=N_NEAREST, cutoff=0.0)
    raise SetupError(
        f"{run.path} has no finished sample {one_line(sample_id, 80)!r}; the nearest ids: {', '.join(nearest)}"
    )
