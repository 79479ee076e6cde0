"""Where a command meets the terminal: usage errors, our errors and Ctrl-C become one line and an exit code.

Knows: which error means which exit code. Must not know: any command.
"""

from __future__ import annotations

import importlib
import logging
import sys
from io import TextIOWrapper
from typing import TextIO

import typer

from cassettes.errors import TapeDiskError, TapeError
from sandbox.reports.untrusted import visible
from tools.tool import SetupError

WRONG_SETUP, REPLAY_IMPOSSIBLE, INTERRUPTED = 2, 3, 130


def call(module: str, name: str, arguments: list[str]) -> int:
    """Exit code of the Typer app in `module`, called as `name`."""
    for noisy in ("pypdf", "trafilatura", "htmldate"):
        # They warn about other people's pages, line by line; what matters of it is in the page's notes.
        logging.getLogger(noisy).setLevel(logging.CRITICAL)
    for stream in (sys.stdout, sys.stderr):
        speak_everything(stream)
    app: typer.Typer = importlib.import_module(module).app
    try:
        app(arguments, prog_name=name)
    except SystemExit as stop:  # Typer reports usage errors itself: exit code 2, which is ours for a wrong set-up
        return stop.code if isinstance(stop.code, int) else 0
    except (SetupError, TapeDiskError) as error:
        # A full disk stops a recording, not a replay: there is room to be made on this machine.
        print(f"pincite: {visible(str(error))}", file=sys.stderr)
        return WRONG_SETUP
    except TapeError as error:
        print(f"pincite: {visible(str(error))}", file=sys.stderr)
        return REPLAY_IMPOSSIBLE
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def speak_everything(stream: TextIO) -> None:
    """Have a stream take every text: a page's words are not bound to the encoding of somebody's terminal.

    Files and pipes get UTF-8, whatever the locale, so that the same command writes the same bytes and JSON is JSON. A
    terminal keeps its encoding; what that cannot say is shown as `\\u3042`, and so is half a surrogate pair everywhere.
    """
    if not isinstance(stream, TextIOWrapper):
        return  # somebody else's, as in a test
    if stream.isatty():
        stream.reconfigure(errors="backslashreplace")
    else:
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")
