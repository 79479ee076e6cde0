"""`pincite judge-sheet`: a sheet of judgements for people to label, and how far they agree with the judge.

Knows: its flags, where labels are kept. Must not know: how rows are drawn, what agreement is.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from sandbox.folder.store import RunFolder
from sandbox.folder.stored_run import StoredRun, open_run
from sandbox.judging.human_labels import (
    HUMAN_LABELS,
    as_lines,
    check_labels,
    human_agreement,
    merged,
    read_human_labels,
)
from sandbox.judging.sheet import (
    KINDS,
    Draw,
    Judgement,
    Kind,
    draw_places,
    keys_of,
    place_of,
    population,
    sheet_rows,
)
from sandbox.judging.sheet_file import Blank, read_sheet, write_sheet
from sandbox.reports.figures import console_for
from sandbox.reports.judges import agreement_report
from sandbox.reports.untrusted import safe_json
from sandbox.verdict_counts import JudgeCounts, VerdictCounter
from tools.tool import SetupError

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="Have people judge again what the judge judged, and see how far they agree. Scores never change.",
)


@app.command("export", context_settings={"max_content_width": 110})
def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder, as written by pincite run.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The sheet: CSV, or JSON Lines where it ends in .jsonl.")],
    per_verdict: Annotated[int, typer.Option(min=1, help="Most rows of each verdict of each kind.")] = 10,
    kind: Annotated[
        list[str] | None, typer.Option(help=f"Only this kind; may be repeated. One of {', '.join(KINDS)}.")
    ] = None,
    raters: Annotated[
        int, typer.Option(min=1, max=99, help="Columns to be filled in: label_1, label_2, … for several people.")
    ] = 1,
    seed: Annotated[int, typer.Option(help="Same seed, same rows.")] = 1,
    evidence_chars: Annotated[
        int, typer.Option(min=0, help="Characters shown of each page, where it shares most; 0 shows all.")
    ] = 1_500,
    show_judge: Annotated[
        bool, typer.Option("--show-judge", help="Add the judge's verdict and reason. Who sees it agrees with it.")
    ] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print what was drawn as JSON and nothing else.")] = False,
) -> None:
    """Write a sheet with one judgement a row and an empty column `label` to be filled in by a person.

    Rows are drawn evenly from each of the judge's verdicts, so that rare ones are tested too. The column `allowed`
    lists what may stand in `label`; rows left empty are passed over. Then: pincite judge-sheet import RUN FILE
    """
    opened = open_run(run)
    draw = Draw(
        kinds=_kinds(kind),
        per_verdict=per_verdict,
        seed=seed,
        evidence_chars=evidence_chars,
        language=opened.settings.judge.language,
    )
    places = draw_places(opened.records(), draw)
    if not places:
        raise SetupError(f"{run} has no verdicts of {', '.join(draw.kinds)} yet: there is nothing to label")
    rows = sheet_rows(opened.records(), places, draw)
    write_sheet(out, rows, Blank(show_judge, raters))
    drawn = {name: sum(row.kind == name for row in rows) for name in draw.kinds}
    if json_:
        made = {"sheet": str(out), "run": str(run), "rows": len(rows), "kinds": drawn, "seed": seed}
        print(safe_json(json.dumps(made, ensure_ascii=False, sort_keys=True)))
        return
    print(f"{out}: {len(rows)} rows ({', '.join(f'{n} {name}' for name, n in drawn.items() if n)})")
    columns = "column `label`" if raters == 1 else f"columns `label_1` to `label_{raters}`"
    print(f"Fill in the {columns}, then: pincite judge-sheet import {run} {out}")


@app.command("import", context_settings={"max_content_width": 110})
def import_(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run that the sheet was exported from.")],
    sheet: Annotated[Path, typer.Argument(metavar="FILE", help="The labelled sheet.")],
    rater: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who labelled it.", show_default="the file's name")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print the agreement as JSON and nothing else.")] = False,
) -> None:
    """Keep the labels in RUN/human_labels.jsonl and say how far people agree with the judge, by kind of judgement.

    Labels of other raters, and of other sheets, stay beside them; a sheet replaces what its raters said of its rows. It
    may have a column for each person (label_1, label:NAME). With several, the majority is held against the judge, and the
    raters against each other; where labels decide whether an answer passes, once more on that alone. An unknown label is
    refused with its row. Scores, records and summary are not touched.
    """
    opened = open_run(run)
    labels = read_sheet(sheet)
    old = read_human_labels(run)
    places = frozenset(place_of(key) for key in (*(row.key for row in labels), *(label.key for label in old)))
    known = _known(opened, places)
    new = check_labels(labels, known, sheet, rater or sheet.stem)
    kept = merged(old, new, {row.key for row in labels})
    kinds = human_agreement(kept, known, population(opened.records()))
    with RunFolder(run) as folder:
        folder.write(HUMAN_LABELS, as_lines(kept))
    judging = _judging(opened)
    if json_:
        made = {
            "run": str(run),
            "judge": opened.settings.judge.name,
            "raters": sorted({label.rater for label in kept}),
            "labels": len(new),
            "empty": len(labels) - len(new),
            "kinds": {name: agreed.model_dump(mode="json") for name, agreed in kinds.items()},
            "contradictions": judging.contradictions,
            "checked_pairs": judging.checked_pairs,
        }
        print(safe_json(json.dumps(made, ensure_ascii=False, sort_keys=True, allow_nan=False)))
        return
    print(f"{len(new)} labels of {len({label.row for label in labels})} rows kept in {run / HUMAN_LABELS}\n")
    console_for(sys.stdout).print(agreement_report(kinds, judging))


def _kinds(names: list[str] | None) -> tuple[Kind, ...]:
    if not names:
        return KINDS
    foreign = [name for name in names if name not in KINDS]
    if foreign:
        raise SetupError(f"there is no kind {foreign[0]!r}; the kinds are: {', '.join(KINDS)}")
    return tuple(kind for kind in KINDS if kind in names)


def _known(run: StoredRun, places: frozenset[str]) -> dict[str, Judgement]:
    return {key: judgement for record in run.records() for key, judgement in keys_of(record, places)}


def _judging(run: StoredRun) -> JudgeCounts:
    counter = VerdictCounter()
    for record in run.records():
        counter.add(record)
    return counter.counts()
