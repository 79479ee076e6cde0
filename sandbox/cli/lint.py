"""`pincite lint`: what is wrong with the citation format of answers, where, and what it costs.

Knows: its flags, which input and which output they mean. Must not know: how anything is found or drawn.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Literal, get_args

import typer

from citations.codes import all_codes, explain
from citations.findings import CODES
from citations.lint import LintReport, lint
from citations.losses import Losses
from citations.markup import TAGS, Dialect, dialect_named
from citations.model import Answer
from sandbox.folder.store import RECORDS
from sandbox.folder.stored_run import StoredRun, open_run
from sandbox.linting.lint_input import GivenAnswer, answers_in, answers_of_run, open_file
from sandbox.linting.lint_run import Examined, FormatTally, lint_record
from sandbox.measuring.measures import checks_citations
from sandbox.reports import sarif
from sandbox.reports.figures import console_for
from sandbox.reports.lint_text import CodeTable, finding_lines
from sandbox.reports.untrusted import safe_json
from tools.tool import SetupError

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

Format = Literal["text", "json", "sarif"]
FORMATS: tuple[Format, ...] = get_args(Format)
TOO_MANY_ERRORS = 1
STDIN = "-"


@app.command("lint", context_settings={"max_content_width": 110})
def lint_command(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE_OR_RUN",
            help="A run folder; JSON Lines of answers; a text file with one answer; - reads standard input.",
        ),
    ] = None,
    dialect: Annotated[
        str | None,
        typer.Option(
            help="tags, longcite, plamo or plamo(SENTENCE,CITE). [the row's or the run's own, else tags]",
        ),
    ] = None,
    format_: Annotated[str | None, typer.Option("--format", help=f"{', '.join(FORMATS)}. [{FORMATS[0]}]")] = None,
    explain_: Annotated[
        str | None, typer.Option("--explain", metavar="CODE", help="Print the page of a code, or all: the list.")
    ] = None,
    max_errors: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Exit with 1 if there are more than N errors.")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Find what is wrong with the citation format of answers: which rule, where, how to write it instead.

    JSON Lines hold an object a line: {"id", "text" or "raw"}, and if known "dialect", "finish_reason" and "evidence"
    ({"1": "…", "5": null}; null = nothing was seen of the page). With --format json each gives a line {"id", "findings",
    "strict", "recovered", "not_checked"}; offsets are characters of the raw text. For a run it is also said what F1 each
    fault costs, as far as the verdicts are known (pincite score RUN --recovered asks for the rest).
    """
    if json_ and format_ not in (None, "json"):
        raise SetupError(f"--json and --format {format_} both say what is written: give one of them")
    output = _format(format_ or ("json" if json_ else FORMATS[0]))
    if explain_ is not None:
        _explain(explain_, as_json=output == "json")
        return
    if source is None:
        raise SetupError("give a run folder, a file with answers, or - for standard input (or --explain CODE)")
    chosen = _dialect(dialect)
    n_errors = Linted(source, chosen, output).all()
    if max_errors is not None and n_errors > max_errors:
        raise typer.Exit(TOO_MANY_ERRORS)


class Linted:
    """One call: reads answers one by one and prints what is found as it goes, in the chosen format."""

    def __init__(self, source: str, dialect: Dialect | None, output: Format) -> None:
        self._source, self._dialect = source, dialect
        self._output: Format = output
        self._run = cited_run(Path(source)) if source != STDIN and Path(source).is_dir() else None
        self._tally = _tally(self._run) if self._run is not None and dialect is None else None
        self._table = CodeTable()
        self._results: list[sarif.Json] = []

    def all(self) -> int:
        """Print everything; how many errors were found. Raises SetupError for what cannot be read."""
        for answer in self._answers():
            found = self._examined(answer)
            if found is None:
                self._table.without_answer += 1
                continue
            self._table.add(found.report)
            self._print(answer, found.report, found.losses)
        if self._output == "sarif":
            print(_json(sarif.sarif(self._results, version("pincite"))))
        elif self._output == "text":
            self._print_table()
        return self._table.n_errors

    def _answers(self) -> Iterator[GivenAnswer]:
        if self._run is not None:
            yield from answers_of_run(self._run, self._dialect)
        elif self._source == STDIN:
            yield from answers_in(sys.stdin.buffer, "<stdin>", self._dialect or TAGS)
        else:
            with ExitStack() as stack:
                file = stack.enter_context(open_file(Path(self._source)))
                yield from answers_in(file, self._source, self._dialect or TAGS)

    def _examined(self, answer: GivenAnswer) -> Examined | None:
        """What is found in an answer; None for a session of a run that has none."""
        record = answer.record
        if record is None:
            report = lint(
                answer.raw,
                answer.dialect,
                finish_reason=answer.finish_reason,
                evidence=answer.evidence,
                titles=answer.titles,
            )
            return Examined(report, None)
        if self._tally is not None:
            return self._tally.add(record)
        # Read in another dialect than it was judged in: its verdicts say nothing here.
        other = lint_record(record.model_copy(update={"dialect": answer.dialect.name}))
        return None if other is None else Examined(other, None)

    def _print(self, answer: GivenAnswer, report: LintReport, losses: Losses | None) -> None:
        match self._output:
            case "text":
                for line in finding_lines(answer.id, answer.raw or "", report, losses):
                    print(line)
            case "json":
                print(_json(_row(answer, report, losses)))
            case "sarif":
                file = self._source if answer.record is None else f"{self._source}/{RECORDS}"
                raw = answer.raw or ""
                self._results += [
                    sarif.result(finding, answer.id, file, answer.row, raw) for finding in report.findings
                ]

    def _print_table(self) -> None:
        losses = self._tally
        known = losses is not None and losses.n_counted > 0
        points = {code: loss.points for code, loss in losses.codes().items()} if losses and known else {}
        figures = losses.figures(None) if losses and known else None
        console_for(sys.stdout).print(self._table.shown(points, figures))


def cited_run(path: Path) -> StoredRun:
    """The run in folder `path`. Raises SetupError where its answers are held to no citation format."""
    run = open_run(path)
    if not checks_citations(run.measures):
        raise SetupError(
            f"{path} is a run of {run.settings.benchmark}: one verdict decides about each answer, and there are no "
            f"citations to check; pincite report {path} has its figures, pincite show {path} SAMPLE a session"
        )
    return run


def _tally(run: StoredRun) -> FormatTally:
    facts = run.facts()
    return FormatTally(facts.recovered, facts.max_evidence_chars)


def _row(answer: GivenAnswer, report: LintReport, losses: Losses | None) -> dict[str, object]:
    row: dict[str, object] = {
        "id": answer.id if answer.record is None else answer.record.sample_id,
        "findings": [asdict(finding) for finding in report.findings],
        "strict": _sentences(report.strict),
        "recovered": _sentences(report.recovered),
        "not_checked": list(report.not_checked),
    }
    if answer.record is not None:
        row["repeat"] = answer.record.repeat
    if losses is not None:
        row["losses"] = {
            "format_loss": None if losses.format_loss is None else float(losses.format_loss),
            "evidence_loss": None if losses.evidence_loss is None else float(losses.evidence_loss),
            "codes": {
                cost.code: {"points": None if cost.points is None else float(cost.points), "reason": cost.reason}
                for cost in losses.codes
            },
        }
    return row


def _sentences(answer: Answer) -> list[dict[str, object]]:
    return [
        {"text": sentence.text, "citations": [citation.number for citation in sentence.citations]}
        for sentence in answer.sentences
    ]


def _json(value: object) -> str:
    """One line of JSON with readable Japanese."""
    return safe_json(json.dumps(value, ensure_ascii=False))


def _explain(code: str, *, as_json: bool) -> None:
    if code.strip().lower() == "all":
        for name in all_codes():
            facts = CODES[name]
            row = {"code": name, "severity": facts.severity, "title": facts.title, "fix": facts.fix}
            print(_json(row) if as_json else f"{name}  {facts.severity:<7}  {facts.title}")
        return
    try:
        page = explain(code)
    except KeyError as error:
        raise SetupError(f"there is no code {code[:40]!r}; --explain all lists them") from error
    print(_json(asdict(page)) if as_json else f"{page.text.rstrip()}\n\nSeverity: {page.severity}.")


def _format(name: str) -> Format:
    for known in FORMATS:
        if known == name:
            return known
    raise SetupError(f"there is no format {name[:40]!r}; the formats are: {', '.join(FORMATS)}")


def _dialect(name: str | None) -> Dialect | None:
    try:
        return None if name is None else dialect_named(name)
    except ValueError as error:
        raise SetupError(str(error)) from error
