"""What commands write, in terminals and locales that cannot say Japanese."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.cli.main import run
from sandbox.reports.untrusted import HIDDEN
from tests.sandbox.conftest import SETTINGS, Output, answered, write_run

MAIN = "from sandbox.cli.main import main; main()"


def environment(**more: str) -> dict[str, str]:
    root = str(Path(__file__).resolve().parents[2])
    return {"PATH": os.environ["PATH"], "PYTHONPATH": root, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", **more}


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "latin-1"}, {"PYTHONIOENCODING": "cp932"}])
def test_files_and_pipes_get_utf_8_in_every_locale(stored_run: Path, locale: dict[str, str]) -> None:
    sample = answered().sample_id
    command = [sys.executable, "-c", MAIN, "show", str(stored_run), sample]
    in_words, as_json = (
        subprocess.run([*command, *more], capture_output=True, check=True, env=environment(**locale)).stdout.decode()
        for more in ([], ["--json"])
    )
    assert "私立高校の授業料支援の所得制限はどうなったか。" in in_words
    assert json.loads(as_json)["question"] == answered().question


def test_a_terminal_without_japanese_is_shown_escapes_and_not_an_error(stored_run: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", MAIN, "lint", str(stored_run)]
    with os.fdopen(theirs, "wb") as terminal:
        child = subprocess.Popen(
            command, stdout=terminal, stderr=subprocess.PIPE, env=environment(PYTHONIOENCODING="latin-1")
        )
    shown = b""
    while True:
        try:
            part = os.read(ours, 65_536)
        except OSError:  # how Linux says that the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    _, err = child.communicate()
    assert (child.returncode, err) == (0, b"")
    assert rb"\u" in shown


HOSTILE = "\x1b]0;x\x07\x9b31m\x7f\u202e"
"""Orders for a terminal: a new window title, red text, text turned round; JSON writes out the first two alone."""


def hostile_run(folder: Path) -> Path:
    """A run folder whose sample, task type and answer hold such orders."""
    update = {"sample_id": f"q{HOSTILE}", "task_type": HOSTILE, "answer": f"<sentence>都立{HOSTILE}。<cite>9</cite>"}
    write_run(folder, [answered().model_copy(update=update)], SETTINGS)
    (folder / "samples.jsonl").touch()
    return folder


@pytest.mark.parametrize(
    "command", [["report", "--json"], ["verify", "--json"], ["lint", "--format", "json"], ["lint", "--format", "sarif"]]
)
def test_json_gives_no_orders_to_a_terminal_and_says_the_same(
    tmp_path: Path, output: Output, command: list[str]
) -> None:
    name, *options = command
    assert run([name, str(hostile_run(tmp_path / "run")), *options]) in (0, 1, 3)
    printed = output().out
    assert HIDDEN.search(printed) is None
    assert json.dumps(HOSTILE)[1:-1] in json.dumps([json.loads(line) for line in printed.splitlines()])


def test_what_verify_says_of_a_strange_folder_gives_no_orders_to_a_terminal(tmp_path: Path, output: Output) -> None:
    assert run(["verify", str(hostile_run(tmp_path / "run"))]) == 3
    printed = output().out
    assert HIDDEN.search(printed) is None
    assert "⟨U+001B⟩]0;x⟨U+0007⟩⟨U+009B⟩31m⟨U+007F⟩⟨U+202E⟩" in printed
