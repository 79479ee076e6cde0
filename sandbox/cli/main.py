"""The command `pincite`: finds the command's module, runs it, turns errors into one clear line and an exit code.

Knows: the table of commands, the exit codes. Must not know: what any command does. Only the chosen command's module is
imported (openai alone takes 0.8 s).
"""

from __future__ import annotations

import importlib
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from sandbox.cli.commands import COMMANDS

DONE, WRONG_SETUP, REPLAY_IMPOSSIBLE, INTERRUPTED = 0, 2, 3, 130
ROOMS = ("sandbox", "tools", "cassettes", "citations")


def main() -> None:
    """Run the command line and exit."""
    try:
        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        # While a command's module is imported, nothing of ours is there yet to catch it.
        code = INTERRUPTED
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Exit code of `pincite ARGUMENTS`."""
    problem = shadowed_package()
    if problem:
        return _fail(problem)
    if not arguments or arguments[0] in ("--help", "-h", "help"):
        print(overview())
        return DONE
    if arguments[0] == "--version":
        print(f"pincite {version('pincite')}")
        return DONE
    name, *rest = arguments
    if name not in COMMANDS:
        return _fail(f"there is no command {name!r}; the commands are: {', '.join(COMMANDS)}")
    return _call(name, rest)


def overview() -> str:
    """What `pincite --help` prints."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {command.about}" for name, command in COMMANDS.items()]
    return "\n".join(
        [
            "pincite runs a language model that researches with tools and writes a cited answer,",
            "and scores whether the answer is right and whether each citation holds.",
            "",
            "usage: pincite COMMAND [OPTIONS]      pincite COMMAND --help",
            "",
            *lines,
            "",
            "No key and no network needed: pincite run sample",
            "Exit codes: 0 done, 1 a threshold was missed, 2 the set-up is wrong, 3 replay impossible, 130 Ctrl-C.",
        ]
    )


def shadowed_package() -> str | None:
    """A sentence naming a foreign package that stands in front of one of ours; None where all is well.

    `tools` and `citations` are common names: another distribution, or a folder in the working directory, can win.
    """
    home = Path(__file__).resolve().parent.parent.parent
    for room in ROOMS:
        spec = find_spec(room)
        where = Path(spec.origin).resolve().parent if spec and spec.origin else None
        if where is None or where.parent != home:
            return (
                f"the package {room!r} of pincite is shadowed by {where or 'nothing (it is missing)'}; "
                f"expected {home / room}. Run pincite in an environment of its own (uv tool install, pipx), "
                "or from another folder."
            )
    return None


def _call(name: str, arguments: list[str]) -> int:
    # Imported here, after the shadow check and per command: the error types live in rooms that could be shadowed.
    seam = importlib.import_module("sandbox.cli.seam")
    code: int = seam.call(COMMANDS[name].module, f"pincite {name}", arguments)
    return code


def _fail(sentence: str) -> int:
    print(f"pincite: {sentence}", file=sys.stderr)
    return WRONG_SETUP
