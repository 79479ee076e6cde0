"""What a command cannot do as asked is refused before anything is done, in a sentence that says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.cli.main import run
from sandbox.folder.store import read_provenance
from tests.sandbox.conftest import Output


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("run sample --data 質問.jsonl", "plays its own bundled questions, not 質問.jsonl"),
        ("run sample --fields 欄.toml", "plays its own bundled questions, not 欄.toml"),
        ("validate sample --data 質問.jsonl", "plays its own bundled questions, not 質問.jsonl"),
        ("run multichallenge --mini --corpus 資料", "multichallenge reads no documents: leave out --corpus 資料"),
        ("lint answers.jsonl --json --format sarif", "--json and --format sarif both say what is written"),
        ("corpus build 無い --out corpus", "無い does not exist; give a folder of documents or a manifest.jsonl\n"),
        ("report one two --across --html page.html", "--across prints a table and --html writes a page"),
    ],
)
def test_what_cannot_be_done_as_asked_is_refused_in_one_line(output: Output, command: str, sentence: str) -> None:
    assert run(command.split()) == 2
    printed = output()
    assert sentence in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""


@pytest.mark.parametrize(
    "options",
    [
        ["sample", "--model", "名無し"],
        ["tmg-cqa-tool", "--mini", "--fields", "欄.toml"],
        ["tmg-cqa-tool", "--data", "質問.jsonl"],
        ["jmt-safety", "--mini", "--rubric", "規則.toml"],
    ],
)
def test_a_start_that_fails_before_its_run_begins_leaves_no_folder(output: Output, options: list[str]) -> None:
    assert run(["run", *options, "--out", "out"]) == 2
    assert not Path("out").exists()


def test_a_start_that_was_stopped_while_it_built_the_bundled_corpus_goes_on(output: Output) -> None:
    Path("out/corpus").mkdir(parents=True)
    Path("out/corpus/corpus.sqlite.unfinished").write_bytes(b"SQLite")
    assert run(["run", "sample", "--limit", "1", "--quiet", "--out", "out"]) == 0


def test_a_run_cannot_be_judged_again_into_its_own_folder_and_is_not_touched(output: Output) -> None:
    assert run(["run", "sample", "--limit", "1", "--quiet", "--out", "one"]) == 0
    before = read_provenance(Path("one"))
    assert run(["score", "one", "--judge", "baseline", "--out", "one"]) == 2
    assert "one is the run that is played: the new run needs a folder of its own" in output().err
    assert read_provenance(Path("one")) == before


def test_runs_that_measure_nothing_in_common_are_not_sent_to_force(output: Output) -> None:
    assert run(["run", "sample", "--limit", "1", "--quiet", "--out", "one"]) == 0
    assert run(["run", "jmt-safety", "--mini", "--limit", "1", "--quiet", "--out", "two"]) == 0
    output()
    assert run(["compare", "one", "two"]) == 2
    told = output().err
    assert "they measure nothing in common" in told
    assert "--force" not in told


def test_an_export_to_a_place_that_cannot_be_is_not_told_to_make_room(output: Output) -> None:
    assert run(["run", "sample", "--limit", "1", "--quiet", "--out", "one"]) == 0
    output()
    Path("file").touch()
    assert run(["cassette", "export", "one", "--vcr", "file/below"]) == 2
    told = output().err
    assert "Not a directory; mend that or choose another place" in told
    assert "make room" not in told
