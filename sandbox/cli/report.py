"""`pincite report`: tables of one or several runs.

Knows: its flags. Must not know: how a figure is made or printed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from sandbox.reports.terminal import console_for, print_report
from sandbox.stored_run import open_run
from sandbox.summary import as_json

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command(context_settings={"max_content_width": 110})
def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Run folders, as written by pincite run.")],
    json_: Annotated[
        bool, typer.Option("--json", help="Print each run's summary as JSON, one a line, and nothing else.")
    ] = False,
) -> None:
    """Print the scores of one or several runs: each figure with its interval, its denominator and what was left out.

    Everything is worked out from the records in the folders, without any call; a run that is still going on, or was
    broken off, is shown as far as it has come. Rates are percent in the tables and 0 to 1 in the JSON.
    """
    summaries = [open_run(run).summary() for run in runs]
    if json_:
        for summary in summaries:
            print(as_json(summary))
        return
    print_report(summaries, console_for(sys.stdout))
