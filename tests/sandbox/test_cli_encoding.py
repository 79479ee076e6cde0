"""What commands write, in terminals and locales that cannot say Japanese."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sandbox.conftest import answered

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
