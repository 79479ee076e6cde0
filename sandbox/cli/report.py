"""`pincite report`: tables of one or several runs, or one HTML page of them.

Knows: its flags. Must not know: how a figure is made, printed or drawn.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from sandbox.comparing.across_models import across_models
from sandbox.comparing.comparable import JUDGE, SHOWN, differences
from sandbox.folder.store import read_provenance
from sandbox.folder.stored_run import StoredRun, open_run
from sandbox.replaying.rebuild import rebuild as rebuild_records
from sandbox.reports.across_models import across_report
from sandbox.reports.figures import console_for
from sandbox.reports.html import LARGE_BYTES, PageOptions, PageWritten, write_page
from sandbox.reports.page_data import PagesKept
from sandbox.reports.terminal import print_report
from sandbox.reports.untrusted import safe_json
from sandbox.summary import as_json
from tools.tool import SetupError

PROMPTS = f"{JUDGE}.prompts"

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command(context_settings={"max_content_width": 110})
def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Run folders, as written by pincite run.")],
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write one self-contained HTML page instead.")
    ] = None,
    pages: Annotated[
        PagesKept | None,
        typer.Option(
            help="With --html: texts of all pages that were opened, or whole ones for cited pages only. [all]",
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(metavar="FILTER", help="With --html: only these sessions, e.g. 'code:P05 f1<50 -type:比較'."),
    ] = None,
    html_folder: Annotated[
        bool, typer.Option("--html-folder", help="With --html: sessions into a folder beside the page.")
    ] = False,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="First make the records anew from the tapes, where they were lost.")
    ] = False,
    across: Annotated[
        bool, typer.Option("--across", help="One table over the models of RUN…: each part's mean ± sd between them.")
    ] = False,
    json_: Annotated[
        bool, typer.Option("--json", help="Print each run's summary as JSON, one a line, and nothing else.")
    ] = False,
) -> None:
    """Print the scores of one or several runs: each figure with its interval, its denominator and what was left out.

    Everything is worked out from the records in the folders, without any call; a run that is still going on, or was
    broken off, is shown as far as it has come. Rates are percent in the tables and 0 to 1 in the JSON.

    With --across, one table over several models that were asked the same: mean and standard deviation between the models
    of every task type and label.

    With --html, one page that opens without a server: scores, where points were lost, every question with its session,
    verdicts and evidence. It loads nothing from anywhere. Above 500 MB its sessions go into a folder beside it.
    """
    if html is None and (pages or only is not None or html_folder):
        raise SetupError("--pages, --only and --html-folder say what goes into a page: they need --html FILE")
    if across and html is not None:
        raise SetupError("--across prints a table and --html writes a page: give one of them")
    if rebuild:
        for folder in runs:
            _rebuild(folder)
    opened = [open_run(run) for run in runs]
    if html is not None:
        written = write_page(opened, html, PageOptions(pages or "all", only, html_folder))
        print(_page_line(written), file=sys.stderr if json_ else sys.stdout)
        _warn_of_size(written)
    if across:
        _print_across(opened, json_=json_)
    elif json_:
        for run in opened:
            print(safe_json(as_json(run.summary())))
    elif html is None:
        print_report([run.summary() for run in opened], console_for(sys.stdout))


def _print_across(runs: list[StoredRun], *, json_: bool) -> None:
    """The table over models; only models that were asked and counted alike can be averaged."""
    made = across_models([run.summary() for run in runs])
    capsules = [read_provenance(run.path) for run in runs]
    asked = [capsule.compared.get("data") if capsule is not None else None for capsule in capsules]
    other = next((run for run, data in zip(runs, asked, strict=True) if data is None or data != asked[0]), None)
    if other is not None:
        raise SetupError(f"{other.path} is no run of the same data as {runs[0].path}: a mean over both says nothing")
    for run, capsule in zip(runs, capsules, strict=True):
        # Another judge is said below the table; other prompts, limits or policies would only look like another model.
        found = differences(capsules[0], capsule).spoiling
        more = [words for words in found if words.startswith(PROMPTS) or not words.startswith(f"{JUDGE}.")]
        if more:
            raise SetupError(
                f"from {runs[0].path} to {run.path} more than the model differs: {'; '.join(more[:SHOWN])}; run one of "
                "them again as the other"
            )
    if json_:
        print(safe_json(json.dumps(made.model_dump(mode="json"), ensure_ascii=False, sort_keys=True, allow_nan=False)))
    else:
        console_for(sys.stdout).print(across_report(made))


def _rebuild(run: Path) -> None:
    made = rebuild_records(open_run(run, need_records=False), lambda: None)
    kept = f"; {made.n_kept} stay as they were, their tapes lack an answer" if made.n_kept else ""
    ends = f"; {made.n_unfinished} tapes end too early, pincite run goes on with them" if made.n_unfinished else ""
    print(f"pincite: {run}: {made.n_records} records made anew from the tapes{kept}{ends}", file=sys.stderr)


def _page_line(written: PageWritten) -> str:
    beside = f", sessions in {written.folder}" if written.folder else ""
    return f"{written.path}: {written.n_sessions:,} sessions, {written.n_bytes / 1_000_000:,.1f} MB{beside}"


def _warn_of_size(written: PageWritten) -> None:
    if written.folder is None and written.n_bytes > LARGE_BYTES:
        print(
            "pincite: the page is large for mail and for viewers of build artifacts; --pages cited or --only FILTER "
            "make it smaller",
            file=sys.stderr,
        )
