"""Whole journeys through the command line: a run, its continuation, its refusals."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

import pytest
from servers.chat_server import Answer, calls, message, serving

from sandbox.cli.main import main, run
from sandbox.folder.store import read_records
from tests.sandbox.conftest import Output

ROOT = Path(__file__).resolve().parents[2]
PRODUCT_KEYS = {"benchmark", "run", "samples", "outcomes", "metrics", "format", "usage", "tape", "digest"}
METRIC_KEYS = {"value", "n", "excluded", "interval", "bounds"}
FORMAT_KEYS = {
    "unparsable", "no_sentence", "no_citation", "strict_f1", "recovered_f1", "format_loss", "evidence_loss", "codes",
}  # fmt: skip
# Whoever starts the suite in the background may have it ignore Ctrl-C, and a child would inherit that.
MAIN = "import signal; signal.signal(2, signal.default_int_handler); from sandbox.cli.main import main; main()"


def scripted(body: dict[str, Any]) -> Answer:
    """A model that searches once and cites what came first; as a judge it finds everything good."""
    if "response_format" in body:
        labels = body["response_format"]["json_schema"]["schema"]["properties"]["verdict"]["enum"]
        return message(json.dumps({"verdict": labels[0], "reason": "よい"}, ensure_ascii=False))
    if not any(row["role"] == "tool" for row in body["messages"]):
        return calls(("search", {"query": "凪原市 子ども医療費"}))
    return message(
        "<sentence>市の制度である。<cite>1</cite></sentence><sentence>存在しない。<cite>99</cite></sentence>"
    )


def test_the_sample_runs_without_key_and_network_and_twice_the_same(output: Output, tmp_path: Path) -> None:
    assert run(["run", "sample", "--json", "--out", "one"]) == 0
    first = json.loads(output().out)
    assert first.keys() >= PRODUCT_KEYS
    assert all(metric.keys() >= METRIC_KEYS for metric in first["metrics"].values())
    assert first["format"].keys() >= FORMAT_KEYS
    # The baseline model writes clean markup: nothing to recover, whatever the verdicts.
    assert first["format"]["recovered_f1"] == first["metrics"]["citation_f1"]["value"]
    assert (first["format"]["format_loss"], first["format"]["codes"]) == (0.0, {})
    calls = first["usage"]["model"]["calls"] + first["usage"]["judge"]["calls"]
    assert first["tape"]["interactions"] > calls
    assert (first["tape"]["misses"], first["tape"]["lenient"]) == (0, 0)
    assert first["outcomes"] == {
        "answered": first["samples"], "generation_failed": 0, "context_overflow": 0, "judge_error": 0,
    }  # fmt: skip
    assert first["metrics"]["source_found"]["value"] > 0.9
    assert run(["run", "sample", "--json", "--out", "two", "--concurrency", "3"]) == 0
    assert json.loads(output().out)["digest"] == first["digest"]
    assert json.loads((tmp_path / "one" / "summary.json").read_text(encoding="utf-8")) == first


def test_a_finished_run_is_told_and_not_run_again(output: Output) -> None:
    assert run(["run", "sample", "--limit", "2", "--out", "one"]) == 0
    table = output().out
    assert "Citation F1" in table
    assert "compare with nothing published" in " ".join(table.split())
    assert run(["run", "sample", "--limit", "2", "--out", "one"]) == 0
    assert "All 2 sessions were finished before" in output().out
    assert run(["run", "sample", "--limit", "3", "--out", "one", "--json"]) == 0
    assert json.loads(output().out)["samples"] == 3


def test_a_model_over_http_is_scored_with_a_judge_over_http(output: Output) -> None:
    with serving(scripted) as server:
        arguments = ["--model", "m", "--base-url", server.base_url, "--judge", "j", "--limit", "3", "--out", "http"]
        assert run(["run", "sample", *arguments, "--json"]) == 0
    summary = json.loads(output().out)
    # Two sentences, one of them cited with an unknown number: recall 1/2, precision 1/2.
    assert summary["metrics"]["citation_f1"]["value"] == 0.5
    assert summary["metrics"]["consistency"]["value"] == 1.0
    assert summary["usage"]["model"]["calls"] == 6
    assert summary["usage"]["judge"]["calls"] == 3 * 3
    records = list(read_records(Path("http")))
    assert [row.kind for row in records[0].units] == ["support", "relevance"]
    assert records[0].score is not None
    assert records[0].score.citation_scores == (("1",), ("0",))


def test_repeats_are_sessions_of_their_own(output: Output) -> None:
    assert run(["run", "sample", "--limit", "2", "--repeats", "3", "--json", "--out", "r"]) == 0
    summary = json.loads(output().out)
    assert (summary["samples"], summary["sessions"]) == (2, 6)
    assert {(row.sample_id, row.repeat) for row in read_records(Path("r"))} == {
        (f"nagihara-0{i}", repeat) for i in (1, 2) for repeat in range(3)
    }


def test_ctrl_c_ends_cleanly_and_the_same_command_goes_on(output: Output, tmp_path: Path) -> None:
    def slow(body: dict[str, Any]) -> Answer:
        time.sleep(0.05)
        return scripted(body)

    with serving(slow) as server:
        options = ["--model", "m", "--base-url", server.base_url, "--limit", "12", "--concurrency", "2", "--json"]
        command = [sys.executable, "-c", MAIN, "run", "sample", *options]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        child = subprocess.Popen([*command, "--out", "cut"], env=environment, stdout=-1, stderr=-1, text=True)
        records = tmp_path / "cut" / "records.jsonl"
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (records.exists() and records.read_bytes().count(b"\n") >= 2):
            time.sleep(0.02)
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=30)
        assert child.returncode == 130
        assert "The same command goes on" in said
        assert "Traceback" not in said
        n_before = records.read_bytes().count(b"\n")
        assert 2 <= n_before < 12
        assert run(["run", "sample", *options, "--out", "cut"]) == 0
        continued = json.loads(output().out)
        assert run(["run", "sample", *options, "--out", "whole"]) == 0
        whole = json.loads(output().out)
    assert (continued["samples"], continued["digest"]) == (12, whole["digest"])
    assert len(json.loads((tmp_path / "cut" / "provenance.json").read_text(encoding="utf-8"))["starts"]) == 2


def test_ctrl_c_while_a_command_is_imported_is_an_exit_code_and_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(MetaPathFinder):
        def find_spec(self, fullname: str, *_: object) -> None:
            if fullname == "sandbox.cli.corpus":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "sandbox.cli.corpus", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    monkeypatch.setattr(sys, "argv", ["pincite", "corpus", "search"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 130


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "nope"], "there is no benchmark 'nope'; the benchmarks are: sample, tmg-cqa-tool"),
        (["run", "tmg-cqa-tool", "--corpus", "none"], "none"),
        (["run", "sample", "--model", "qwen"], "model qwen needs --base-url URL"),
        (["run", "sample", "--judge", "gemma"], "judge gemma needs --judge-base-url URL"),
        (["run", "sample", "--search", "brave"], "needs a Brave key in BRAVE_API_KEY"),
        (["run", "sample", "--model", "m", "--base-url", "http://127.0.0.1:9/v1"], "cannot reach the server of m"),
        (["run", "sample", "--set", "model.decode.temp=1"], "there is no setting model.decode.temp"),
        (["run", "sample", "--set", "x"], "--set needs NAME=VALUE"),
        (["run", "sample", "--max-output-tokens", "262144"], "leaves no room in a context of 262144"),
        (["runn"], "there is no command 'runn'"),
        (["show", "none", "q1"], "none does not exist"),
    ],
)
def test_a_wrong_set_up_is_one_line_that_says_what_to_do(arguments: list[str], sentence: str, output: Output) -> None:
    assert run(arguments) == 2
    captured = output()
    assert sentence in captured.err
    assert (captured.out, captured.err.count("\n")) == ("", 1)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ('{"id":"q1","question":"人口は？"\n', "row 1"),
        (
            '{"id":"q1","question":"人口は？","reference":"千"}\n{"id":"q1","question":"面積は？","reference":"百"}\n',
            "q1",
        ),
        ('{"番号":"q1","本文":"人口は？"}\n', "番号"),
        ("", "questions.jsonl"),
    ],
)
def test_a_broken_question_file_is_named_with_its_row(rows: str, sentence: str, output: Output) -> None:
    Path("questions.jsonl").write_text(rows, encoding="utf-8")
    assert run(["corpus", "build", str(ROOT / "sandbox/benchmarks/sample/manifest.jsonl"), "--out", "corpus"]) == 0
    output()
    assert run(["run", "tmg-cqa-tool", "--data", "questions.jsonl", "--corpus", "corpus"]) == 2
    said = output().err
    assert sentence in said
    assert said.count("\n") == 1


def test_a_wrong_key_stops_the_run_and_is_never_shown(output: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-himitsu-123")
    refusal = Answer(b'{"error":{"message":"Incorrect API key provided: sk-himitsu-123"}}', 401)
    with serving(lambda _: refusal) as server:
        assert run(["run", "sample", "--model", "m", "--base-url", server.base_url, "--out", "key"]) == 2
    said = output().err
    assert "check the API key" in said
    assert "sk-himitsu" not in said
    kept = b"".join(path.read_bytes() for path in Path("key").rglob("*") if path.is_file())
    assert b"sk-himitsu" not in kept


def test_a_key_among_the_settings_or_in_what_a_server_says_of_itself_is_never_written(
    output: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-himitsu-123")
    models = {"data": [{"id": "m", "max_model_len": 262_144, "owned_by": "you: sk-himitsu-123"}]}
    with serving(scripted, models) as server:
        options = ["--limit", "1", "--out", "key", "--quiet", "--model", "m", "--base-url", server.base_url]
        chat = ["run", "sample", *options]
        assert run([*chat, "--set", 'model.extra_body={auth="sk-himitsu-123"}']) == 2
        assert "a setting holds the value of a key" in output().err
        assert run(chat) == 0
    start = json.loads(Path("key/provenance.json").read_text(encoding="utf-8"))["starts"][0]
    owner = start["servers"]["model"]["owned_by"]
    assert owner == "you: ***"
    kept = b"".join(path.read_bytes() for path in Path("key").rglob("*") if path.is_file())
    assert b"sk-himitsu" not in kept


def test_another_configuration_in_the_same_folder_is_refused(output: Output) -> None:
    assert run(["run", "sample", "--limit", "1", "--out", "one", "--quiet"]) == 0
    output()
    assert run(["run", "sample", "--limit", "1", "--out", "one", "--max-rounds", "5"]) == 2
    assert "limits.rounds was 30, is 5" in output().err


def test_a_server_that_dies_in_the_middle_stops_the_run_and_loses_nothing(output: Output) -> None:
    seen: list[int] = []

    def dying(body: dict[str, Any]) -> Answer:
        seen.append(1)
        return scripted(body) if len(seen) < 8 else Answer(b'{"error":{"message":"no such model"}}', 404)

    options = ["--model", "m", "--limit", "12", "--concurrency", "1", "--quiet", "--out", "dying"]
    with serving(dying) as server:
        assert run(["run", "sample", *options, "--base-url", server.base_url]) == 2
    assert "check --base-url" in output().err
    assert len(list(read_records(Path("dying")))) == 3
    with serving(scripted) as server:
        assert run(["run", "sample", *options, "--base-url", server.base_url, "--json"]) == 0
    assert json.loads(output().out)["samples"] == 12


def test_every_command_explains_itself(output: Output) -> None:
    assert run(["--help"]) == 0
    overview = output().out
    for name in ("run", "score", "show", "report", "corpus"):
        assert f"  {name}" in overview
        assert run([name, "--help"]) == 0
        assert "--json" in output().out or name == "corpus"


def test_a_foreign_package_in_front_of_ours_is_named_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "__init__.py").touch()
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-c", "from sandbox.cli.main import main; main()", "run", "sample"]
    done = subprocess.run(command, env=environment, cwd="/", capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"the package 'tools' of pincite is shadowed by {tmp_path}/tools" in done.stderr


def test_a_person_with_unreadable_answers_is_told_which_rules_broke_and_what_each_cost(output: Output) -> None:
    assert run(["run", "sample", "--model", "baseline-untidy", "--out", "untidy", "--quiet"]) == 0
    assert run(["run", "sample", "--out", "tidy", "--json", "--quiet"]) == 0
    tidy = json.loads(output().out.splitlines()[-1])["metrics"]["citation_f1"]["value"]
    assert run(["score", "untidy", "--recovered", "--json"]) == 0
    made = json.loads(output().out)["format"]
    assert made["recovered_f1"] == pytest.approx(tidy, abs=0.01)
    assert made["format_loss"] > 0.5
    assert {"P01", "W02", "C04", "C05", "S03"} <= made["codes"].keys()
    assert run(["lint", "untidy"]) == 0
    said = output().out
    assert "points if only P01 were mended" in said
    assert "points lost to format" in " ".join(said.split())


def test_columns_that_nothing_reads_are_named(output: Output) -> None:
    row = {"id": "q1", "question": "人口は？", "reference": "千人", "choices": "a 千人"}
    Path("questions.jsonl").write_text(json.dumps(row, ensure_ascii=False), encoding="utf-8")
    assert run(["corpus", "build", str(ROOT / "sandbox/benchmarks/sample/manifest.jsonl"), "--out", "corpus"]) == 0
    output()
    assert run(["run", "tmg-cqa-tool", "--data", "questions.jsonl", "--corpus", "corpus", "--quiet", "--json"]) == 0
    assert "columns of questions.jsonl that nothing reads: choices (see --fields)" in output().err


@pytest.mark.parametrize(("limit_bytes", "file"), [(45_000, "tape"), (160_000, "records.jsonl")])
def test_no_room_on_the_disk_stops_with_a_line_and_the_same_command_goes_on(
    limit_bytes: int, file: str, output: Output
) -> None:
    arguments = ["run", "sample", "--limit", "6", "--concurrency", "1", "--quiet", "--json"]
    assert run([*arguments, "--out", "whole"]) == 0
    whole = json.loads(output().out)
    assert run(["run", "sample", "--limit", "1", "--quiet", "--out", "full"]) == 0
    output()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, before[1]))
    try:
        assert run([*arguments, "--out", "full"]) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    said = output().err
    assert "repeat the same command" in said
    assert file in said
    assert said.count("\n") == 1
    assert run([*arguments, "--out", "full"]) == 0
    assert json.loads(output().out)["digest"] == whole["digest"]
