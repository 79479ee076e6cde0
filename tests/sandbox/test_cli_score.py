"""`pincite score`: stored verdicts scored again, and verdicts made elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sandbox.cli.seam import call
from sandbox.folder.store import read_records
from sandbox.record import digest

CONFORMANCE = Path(__file__).resolve().parents[1] / "conformance"
ROW = {
    "id": "人手-1",
    "evidence": {"1": "資料1の本文。", "2": ""},
    "sentences": [
        {
            "text": "上限は48万円。",
            "citations": [1, 2],
            "verdict": {"support": "partial", "relevance": ["relevant", None]},
        }
    ],
    "expected": {"f1": 99},
}


def score(*arguments: str | Path) -> int:
    return call("sandbox.cli.score", "pincite score", [str(argument) for argument in arguments])


def test_stored_verdicts_give_the_stored_scores_and_write_the_summary(
    stored_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert score(stored_run, "--json") == 0
    out, err = capsys.readouterr()
    summary = json.loads(out)
    assert err == ""
    assert out.count("\n") == 1
    assert summary["outcomes"] == {"answered": 2, "generation_failed": 1, "context_overflow": 1, "judge_error": 0}
    assert summary["metrics"]["citation_f1"]["value"] == 10 / 21 / 3
    assert summary["metrics"]["citation_f1"]["excluded"] == {"context_overflow": 1}
    assert summary["metrics"]["consistency"]["value"] == 0.5
    assert summary["digest"] == digest(read_records(stored_run))
    assert json.loads((stored_run / "summary.json").read_text(encoding="utf-8")) == summary


def test_a_stored_score_that_no_longer_follows_from_its_verdicts_is_reported(
    stored_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = stored_run / "records.jsonl"
    records.write_text(records.read_text(encoding="utf-8").replace('"10/21"', '"1"'), encoding="utf-8")
    assert score(stored_run, "--json") == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["metrics"]["citation_f1"]["value"] == 10 / 21 / 3
    assert err == (
        "pincite: 1 of 4 stored scores come out differently now; the figures and the digest are those of the new ones\n"
    )


def test_verdicts_that_do_not_fit_the_answer_are_refused(stored_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = stored_run / "records.jsonl"
    text = records.read_text(encoding="utf-8").replace('"sentences":[2]', '"sentences":[7]')
    records.write_text(text, encoding="utf-8")
    assert score(stored_run) == 2
    assert capsys.readouterr().err == (
        "pincite: sample tmg-0001, repeat 0: the stored verdicts do not fit its answer "
        "(a verdict speaks of sentence 7; there are 3); it must be judged again\n"
    )


def test_a_verdict_that_was_never_stored_is_a_judge_error_with_bounds(
    stored_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = stored_run / "records.jsonl"
    text = records.read_text(encoding="utf-8")
    start = text.index('{"kind":"need"')
    end = text.index("}}", start) + 2
    records.write_text(text[: start - 1] + text[end:], encoding="utf-8")
    assert score(stored_run, "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["outcomes"]["judge_error"] == 1
    assert summary["metrics"]["citation_recall"]["bounds"] == [0.0, 5 / 6 / 3]
    assert summary["metrics"]["citation_precision"]["bounds"] == [1 / 9, 1 / 9]


def test_rows_of_a_verdict_file_come_out_as_json_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "verdicts.jsonl"
    # A byte-order mark, an empty line and U+2028 inside a text, as editors and annotators leave them.
    line = json.dumps(ROW, ensure_ascii=False).replace("上限", "上\u2028限")
    file.write_text(f"\ufeff{line}\n\n", encoding="utf-8")
    assert score("--verdicts", file, "--profile", "tmg") == 0
    assert capsys.readouterr().out == (
        '{"id":"人手-1","counted":true,"recall":0.5,"precision":0.5,"f1":0.5,'
        '"exact":{"recall":"1/2","precision":"1/2","f1":"1/2"}}\n'
    )


def test_a_wrong_row_is_named_and_nothing_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "verdicts.jsonl"
    file.write_text(json.dumps(ROW) + "\n{}\n", encoding="utf-8")
    assert score("--verdicts", file) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"pincite: {file}, row 2: the object has no key 'id'\n")


def test_a_verdict_file_in_another_encoding_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "verdicts.jsonl"
    file.write_bytes(json.dumps(ROW, ensure_ascii=False).encode("shift_jis"))
    assert score("--verdicts", file) == 2
    assert capsys.readouterr().err.startswith(f"pincite: {file}, row 1: not UTF-8")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "give either a run folder or --verdicts FILE"),
        (["run", "--verdicts", "f"], "give either a run folder or --verdicts FILE"),
        (["--verdicts", "f", "--profile", "x"], "there is no profile 'x'; the profiles are: tmg, longbench-cite"),
        (["--verdicts", "/dev/null"], "/dev/null holds no verdicts"),
        (
            ["--verdicts", "f", "--judge", "x"],
            "with --verdicts no judge is asked: of the other options only --profile goes with it",
        ),
        (
            ["--verdicts", "f", "--recovered"],
            "with --verdicts no judge is asked: of the other options only --profile goes with it",
        ),
        (["run", "--profile", "longbench-cite"], "--profile goes with --verdicts"),
        (["--verdicts", "f"], "cannot read the verdicts in f: No such file or directory"),
    ],
)
def test_a_wrong_call_gets_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert score(*arguments) == 2
    assert capsys.readouterr().err == f"pincite: {sentence}\n"


def test_nothing_to_score_is_said(empty_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert score(empty_run) == 2
    assert capsys.readouterr().err == (
        f"pincite: no session of {empty_run} is finished yet: there is nothing to score\n"
    )


@pytest.mark.parametrize(
    ("name", "profile"), [("tmg_conformance.jsonl", "tmg"), ("conformance.jsonl", "longbench-cite")]
)
def test_the_conformance_vectors_pass_through_the_command(
    name: str, profile: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = CONFORMANCE / name
    assert score("--verdicts", file, "--profile", profile) == 0
    results = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [result["id"] for result in results] == [row["id"] for row in rows]
    for result, row in zip(results, rows, strict=True):
        for figure in ("recall", "precision", "f1"):
            expected = row["expected"].get(figure)
            got = result[figure]
            assert (got is None) == (expected is None), (row["id"], figure)
            assert got is None or abs(got - expected) < 1e-12, (row["id"], figure)
