"""`pincite verify`: hashes and scores recomputed from the run folder alone.

Knows: how what was found is told. Must not know: what is checked.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from sandbox.cli.data_options import RunOrRecording
from sandbox.folder.bundled import recorded_run
from sandbox.replaying.verification import Verification
from sandbox.replaying.verification import verify as verify_run
from sandbox.reports.untrusted import safe_json, visible

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

DISAGREES = 3
SHOWN = 20


@app.command()
def verify(
    run: RunOrRecording,
    json_: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
) -> None:
    """Recompute what RUN says of itself, from the folder alone, and name what does not agree (exit code 3).

    Looked at: every body and line of the tape by its hash, the configuration under which each tape was recorded, every
    score from its verdicts, the samples, the prompts that the judge read, the summary and its digest.
    """
    found = verify_run(recorded_run(run))
    if json_:
        print(safe_json(json.dumps(asdict(found) | {"ok": not found.problems}, ensure_ascii=False, sort_keys=True)))
    else:
        print(visible(_told(found)))
    if found.problems:
        raise typer.Exit(DISAGREES)


def _told(found: Verification) -> str:
    lines = [
        f"{found.n_records} records, {found.n_verdicts:,} verdicts, {found.n_exchanges:,} exchanges, "
        f"{found.n_bodies:,} bodies: {'all agree' if not found.problems else f'{len(found.problems)} do not agree'}.",
        f"Digest {found.digest}",
    ]
    lines += [f"  {problem.where}: {problem.message}" for problem in found.problems[:SHOWN]]
    if len(found.problems) > SHOWN:
        lines.append(f"  … and {len(found.problems) - SHOWN} more (--json lists all)")
    return "\n".join(lines)
