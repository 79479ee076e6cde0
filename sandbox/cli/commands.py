"""The table of commands: name, module, one line about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """A command whose module holds a Typer `app`."""

    module: str
    about: str


COMMANDS: dict[str, Command] = {
    "run": Command("sandbox.cli.run", "run a benchmark, or continue it"),
    "replay": Command("sandbox.cli.replay", "the same result to the byte, from the tape alone"),
    "score": Command("sandbox.cli.score", "score stored verdicts again, or verdicts made elsewhere"),
    "lint": Command("sandbox.cli.lint", "what is wrong with the citation format of answers, and what it costs"),
    "show": Command("sandbox.cli.show", "one session, round by round, with evidence and verdicts"),
    "verify": Command("sandbox.cli.verify", "hashes and scores recomputed from the run folder alone"),
    "validate": Command("sandbox.cli.validate", "is a benchmark sound? its reference answers must get full marks"),
    "report": Command("sandbox.cli.report", "tables of one or several runs, or one HTML page"),
    "compare": Command("sandbox.cli.compare", "two runs, question by question: is the difference real, what moved"),
    "cassette": Command("sandbox.cli.cassette", "look at tapes, check, pack, export and import them"),
    "judge-sheet": Command("sandbox.cli.judge_sheet", "have people label judgements; their agreement with the judge"),
    "corpus": Command("sandbox.cli.corpus", "build and search a local corpus; fetch the documents of a data set"),
}
