"""`pincite compare`: two runs, question by question.

Knows: its flags, where the two runs lie. Must not know: how a difference is made or printed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from sandbox.comparing.comparable import differences, refusal
from sandbox.comparing.compared_run import compared_run, shared_measures
from sandbox.comparing.comparison import Occasion, as_json
from sandbox.comparing.comparison import compare as compare_questions
from sandbox.comparing.judge_agreement import gravest, judge_agreement, same_answers, told
from sandbox.folder.stored_run import open_run
from sandbox.reports.compare import comparison_report
from sandbox.reports.figures import console_for
from sandbox.reports.untrusted import safe_json
from tools.tool import SetupError

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command(context_settings={"max_content_width": 110})
def compare(
    run_a: Annotated[Path, typer.Argument(metavar="RUN_A", help="The run to start from.")],
    run_b: Annotated[Path, typer.Argument(metavar="RUN_B", help="The run to hold against it.")],
    force: Annotated[
        bool, typer.Option("--force", help="Compare although more than the model differs; the result is marked.")
    ] = False,
    moved: Annotated[
        int, typer.Option(min=0, help="How many questions that moved most, and judgements that disagree, to show.")
    ] = 20,
    json_: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON and nothing else.")] = False,
) -> None:
    """Compare two runs on the questions that both have finished: every difference is B − A, question by question.

    Says for each metric whether the difference is more than chance (exact McNemar test for rates, bootstrap by question
    for means, adjusted by Holm for all metrics), where it comes from (outcomes, task types) and which questions moved.
    Runs may differ in anything about the model. Where data, benchmark, judge, search, limits or prompts differ, the
    comparison is refused with the reason, exit code 2. Works on half-written runs, and says so.

    Where both runs hold the same answers (RUN and what pincite score RUN --judge made of it), it is the judges that are
    compared: another one is then allowed, and their agreement is shown first, by kind, with the judgements on which they
    disagree.
    """
    if run_a.resolve() == run_b.resolve():
        raise SetupError(f"{run_a} and {run_b} are the same run")
    a, b = compared_run(open_run(run_a)), compared_run(open_run(run_b))
    for one in (a, b):
        if not one.questions.by_id:
            raise SetupError(f"no session of {one.run.path} is finished yet")
    # Before the refusal: what has nothing in common is not helped by --force.
    shared = shared_measures(a.run, b.run)
    found = differences(a.capsule, b.capsule, same_answers=same_answers(a.judged, b.judged))
    reason = refusal(found)
    if reason is not None and not force:
        raise SetupError(reason)
    agreement = judge_agreement(a.judged, b.judged)
    if agreement is not None:
        agreement = told(agreement, a.run.records(), b.run.records(), gravest(a.judged, b.judged, moved))
    occasion = Occasion(
        a.side,
        b.side,
        found.model,
        found.spoiling,
        found.judge,
        agreement,
        measures=shared.measures,
        titles_apart=shared.titles_apart,
        type_name=a.run.type_name,
    )
    made = compare_questions(a.questions, b.questions, occasion, n_moved=moved)
    if not made.questions.compared:
        raise SetupError(
            f"no question is finished in both runs: {run_a} has {len(a.questions.by_id)}, {run_b} has "
            f"{len(b.questions.by_id)}, of which {made.questions.changed} share an id but not the words"
        )
    if json_:
        print(safe_json(as_json(made)))
        return
    console_for(sys.stdout).print(comparison_report(made))
