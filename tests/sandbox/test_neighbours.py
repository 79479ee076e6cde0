"""The fifth user: every benchmark runs from one command on its bundled rows, replays sealed and says what it measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from servers.chat_server import Answer, message, serving

from sandbox.benchmarks.table import BENCHMARKS
from sandbox.cli.main import run
from sandbox.folder.stored_run import open_run
from tests.sandbox.conftest import Output

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "multichallenge"
ONE_VERDICT = ("multichallenge", "j-multichallenge", "jmt-safety")


@pytest.mark.parametrize("name", sorted(BENCHMARKS))
def test_one_command_runs_the_bundled_rows_and_a_sealed_replay_is_identical(name: str, output: Output) -> None:
    assert run(["run", name, "--mini", "--limit", "6", "--out", "run", "--json", "--quiet"]) == 0
    summary = json.loads(output().out)
    assert summary["benchmark"] == name
    assert summary["outcomes"] == {
        "answered": summary["sessions"], "generation_failed": 0, "context_overflow": 0, "judge_error": 0
    }  # fmt: skip
    assert list(summary["metrics"]) == sorted(one["name"] for one in summary["measures"])
    assert all(metric["value"] is not None for metric in summary["metrics"].values())
    assert run(["run", name, "--mini", "--limit", "6", "--out", "again", "--json", "--quiet"]) == 0
    assert json.loads(output().out)["digest"] == summary["digest"]
    assert run(["replay", "run", "--json", "--quiet"]) == 0
    assert json.loads(output().out)["digest"] == summary["digest"]
    assert run(["verify", "run"]) == 0
    assert "all agree" in output().out
    assert run(["compare", "run", "again", "--json"]) == 0
    compared = json.loads(output().out)
    assert all(change["difference"] in (0.0, None) for change in compared["metrics"].values())


@pytest.mark.parametrize("name", ONE_VERDICT)
def test_a_judge_that_says_nothing_leaves_every_answer_undecided_in_its_own_group(name: str, output: Output) -> None:
    with serving(lambda _: message("I cannot say.")) as server:
        options = ["--judge", "silent", "--judge-base-url", server.base_url, "--repeats", "1"]
        assert run(["run", name, "--mini", *options, "--out", "run", "--json", "--quiet"]) == 0
    summary = json.loads(output().out)
    assert summary["outcomes"]["judge_error"] == summary["sessions"]
    # A fault of the judge makes no axis of its own: the groups are those of the rows.
    assert run(["run", name, "--mini", "--repeats", "1", "--out", "judged", "--json", "--quiet"]) == 0
    judged = json.loads(output().out)
    groups = {group: made["samples"] for group, made in judged["by_task_type"].items()}
    assert {group: made["samples"] for group, made in summary["by_task_type"].items()} == groups
    headline = [one["name"] for one in summary["measures"] if one["headline"]]
    for metric in (summary["metrics"][measure] for measure in headline):
        assert metric["undecided"] == metric["n"] > 0
        assert metric["bounds"] == [0.0, 1.0]


@pytest.mark.parametrize("command", ["run", "validate"])
def test_bundled_rows_and_rows_of_your_own_are_not_asked_for_at_once(command: str, output: Output) -> None:
    assert run([command, "multichallenge", "--mini", "--data", "対話.jsonl"]) == 2
    assert output().err == ("pincite: --mini brings rows of its own: leave out either it or --data 対話.jsonl\n")


def test_bundled_rows_win_over_the_data_of_a_settings_file(output: Output) -> None:
    Path("run.toml").write_text('data = "対話.jsonl"\n', encoding="utf-8")
    options = ["--mini", "--settings", "run.toml", "--limit", "1", "--out", "run", "--json", "--quiet"]
    assert run(["run", "multichallenge", *options]) == 0
    assert open_run(Path("run")).settings.data == "mini:multichallenge.jsonl"


def test_two_files_of_answers_that_would_share_a_folder_are_refused_before_either_is_judged(output: Output) -> None:
    for folder in ("甲", "乙"):
        Path(folder).mkdir()
        Path(folder, "m.jsonl").write_text('{"QUESTION_ID": "mini-en-01", "RESPONSE": "No"}\n', encoding="utf-8")
    files = ["--responses", "甲/m.jsonl", "--responses", "乙/m.jsonl"]
    assert run(["run", "multichallenge", "--mini", *files, "--out", "out", "--quiet"]) == 2
    assert output().err == (
        "pincite: 甲/m.jsonl and 乙/m.jsonl would both be run in out/multichallenge-m-mini: rename one of the files\n"
    )
    assert not Path("out").exists()
    # One name for both is what brings them together, whatever the files are called.
    Path("乙/m.jsonl").rename("乙/n.jsonl")
    files = ["--responses", "甲/m.jsonl", "--responses", "乙/n.jsonl", "--model", "M"]
    assert run(["run", "multichallenge", "--mini", *files, "--out", "out", "--quiet"]) == 2
    assert output().err == (
        "pincite: 甲/m.jsonl and 乙/n.jsonl would both be run in out/multichallenge-M-mini: leave out --model\n"
    )


def test_a_run_without_verdicts_says_which_command_asks_again_and_that_command_does(output: Output) -> None:
    replies = ["I cannot say."]
    with serving(lambda _: message(replies[-1])) as server:
        options = ["--judge", "J", "--judge-base-url", server.base_url, "--out", "run", "--quiet"]
        assert run(["run", "multichallenge", "--mini", "--limit", "2", *options]) == 0
        told = " ".join(output().out.split())
        assert "2 sessions lack a verdict; the same command does not ask again." in told
        assert "judged again: pincite score run --judge J" in told
        replies.append('{"reason": "x", "verdict": "yes"}')
        assert run(["score", "run", "--judge", "J"]) == 0
    assert "lack a verdict" not in output().out
    # The embedded judge would say the same again.
    Path("own.txt").write_text("<A>{}</A> <Q>{}</Q>", encoding="utf-8")
    assert (
        run(["run", "multichallenge", "--mini", "--limit", "2", "--rubric", "own.txt", "--out", "own", "--quiet"]) == 0
    )
    assert "judged again: pincite score own --judge NAME" in " ".join(output().out.split())
    assert json.loads(Path("run-judged-J/summary.json").read_text(encoding="utf-8"))["outcomes"]["answered"] == 2


def test_sessions_of_the_two_arms_are_counted_apart_in_break_downs(output: Output) -> None:
    assert run(["run", "jmt-safety", "--mini", "--out", "run", "--quiet"]) == 0
    lines = [line.split() for line in output().out.splitlines()]
    heads = [line for line in lines if line[:1] == ["By"]]
    assert all("n M + S" in " ".join(head) for head in heads)
    assert len(heads) == 3
    assert next(line for line in lines if line[:1] == ["合言葉を守る"])[1:4] == ["5", "+", "2"]
    assert next(line for line in lines if line[:1] == ["RedQueen"])[1:4] == ["2", "+", "0"]


def test_answers_that_are_none_to_judge_need_no_tape_and_are_not_lost_with_the_records(output: Output) -> None:
    rows = [
        ("mini-en-01", "No"),
        ("mini-en-02", []),
        ("mini-en-03", ["Error code: 400 - {'長すぎる': 1}"]),
        ("mini-en-05", []),
    ]
    lines = [json.dumps({"QUESTION_ID": name, "RESPONSE": given}, ensure_ascii=False) for name, given in rows]
    Path("回答.jsonl").write_text("\n".join(lines), encoding="utf-8")
    options = ["--responses", "回答.jsonl", "--limit", "4", "--out", "run", "--json", "--quiet"]
    assert run(["run", "multichallenge", "--mini", *options]) == 0
    made = json.loads(output().out)
    assert made["outcomes"] == {"answered": 1, "generation_failed": 3, "context_overflow": 0, "judge_error": 0}
    assert run(["verify", "run"]) == 0
    assert "4 records, 1 verdicts, 1 exchanges, 1 bodies: all agree." in output().out
    Path("run/records.jsonl").unlink()
    assert run(["report", "run", "--rebuild", "--json"]) == 0
    again = json.loads(output().out)
    assert {name: again[name] for name in ("digest", "outcomes", "metrics")} == {
        name: made[name] for name in ("digest", "outcomes", "metrics")
    }


def test_runs_of_three_attempts_and_of_one_are_compared_by_what_both_measure(output: Output) -> None:
    for name, attempts in (("三回", "3"), ("一回", "1")):
        options = ["--attempts", attempts, "--out", name, "--json", "--quiet"]
        assert run(["run", "multichallenge", "--mini", *options]) == 0
    output()
    for pair in (["三回", "一回"], ["一回", "三回"]):
        assert run(["compare", *pair, "--json"]) == 0
        made = json.loads(output().out)
        assert [one["title"] for one in made["measures"]] == [
            "Pass rate, mean of the axes",
            "Pass rate, all questions",
        ]
        assert "pass@3, all questions" in made["titles_apart"]
        assert made["metrics"]["pass_rate"]["difference"] == 0.0
        assert run(["report", *pair, "--html", "page.html"]) == 0
        output()
    assert run(["compare", "三回", "一回"]) == 0
    assert "In one of the runs only, and not compared: pass@3, mean of the axes;" in output().out


def test_the_judge_sees_the_answer_and_the_question_and_not_the_dialogue(output: Output) -> None:
    asked: list[str] = []

    def judge(body: dict[str, Any]) -> Answer:
        asked.append(body["messages"][-1]["content"])
        return message(json.dumps({"verdict": "yes", "reason": ""}))

    with serving(judge) as server:
        options = ["--judge", "kind", "--judge-base-url", server.base_url, "--out", "run", "--quiet", "--json"]
        assert run(["run", "multichallenge", "--mini", "--limit", "2", *options]) == 0
    assert json.loads(output().out)["metrics"]["pass_rate"]["value"] == 1.0
    records = list(open_run(Path("run")).records())
    for record in records:
        (prompt,) = [text for text in asked if record.criterion and record.criterion.text in text]
        assert record.answer is not None
        assert record.answer in prompt
        assert record.question not in prompt


def test_a_rubric_of_your_own_is_asked_kept_and_named(output: Output) -> None:
    Path("own.txt").write_text(
        "Evaluate.\n<MODEL_RESPONSE>\n{}\n</MODEL_RESPONSE>\n<CRITERIA>\n{}\n</CRITERIA>\nBe VERY STRICT!",
        encoding="utf-8",
    )
    asked: list[str] = []

    def judge(body: dict[str, Any]) -> Answer:
        asked.append(body["messages"][-1]["content"])
        return message(json.dumps({"verdict": "NO", "reason": ""}))

    with serving(judge) as server:
        options = ["--judge", "strict", "--judge-base-url", server.base_url, "--rubric", "own.txt", "--out", "run"]
        assert run(["run", "multichallenge", "--mini", "--limit", "1", *options, "--quiet"]) == 0
    assert "judge strict (prompts of your own)" in output().out
    (record,) = open_run(Path("run")).records()
    assert record.criterion is not None
    assert asked == [
        f"Evaluate.\n<MODEL_RESPONSE>\n{record.answer}\n</MODEL_RESPONSE>\n<CRITERIA>\n{record.criterion.text}\n"
        "</CRITERIA>\nBe VERY STRICT!"
    ]
    Path("own.txt").unlink()
    assert run(["replay", "run", "--quiet"]) == 0
    assert "Digest identical" in output().out


def test_several_files_of_responses_are_several_runs_side_by_side(output: Output) -> None:
    questions = [row.sample_id for row in _mini_records(output)]
    for name, answer in (("one_responses", "No"), ("two", "Error: 400 Client Error: Bad Request for url: http://x/v1")):
        lines = [json.dumps({"QUESTION_ID": question, "RESPONSE": [answer]}) + "\n" for question in questions]
        Path(f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    files = ["--responses", "one_responses.jsonl", "--responses", "two.jsonl"]
    assert run(["run", "multichallenge", "--mini", *files, "--out", "runs", "--json", "--quiet"]) == 0
    one, two = map(json.loads, output().out.splitlines())
    assert (one["model"], two["model"]) == ("one", "two")
    assert one["usage"]["model"]["calls"] == two["usage"]["model"]["calls"] == 0
    assert one["outcomes"]["answered"] == len(questions)
    # An error text is no answer: it counts as failed, under its own cause, and no judge is asked about it.
    assert two["outcome_reasons"] == {"generation_failed": {"error_text": len(questions)}}
    assert two["usage"]["judge"]["calls"] == 0
    assert two["metrics"]["axis_mean"] | {"interval": None} == {
        "value": 0.0, "n": len(questions), "excluded": {}, "interval": None, "bounds": [0.0, 0.0],
        "undecided": 0, "questions": len(questions), "method": "wilson",
    }  # fmt: skip
    assert run(["replay", "runs/multichallenge-two-mini", "--quiet"]) == 0


def _mini_records(output: Output) -> list[Any]:
    assert run(["run", "multichallenge", "--mini", "--out", "first", "--quiet"]) == 0
    output()
    return list(open_run(Path("first")).records())


@pytest.mark.skipif(not DATA.exists(), reason="the public MultiChallenge files are not on this machine")
def test_the_public_answers_of_twelve_models_are_scored_and_21_error_texts_named(output: Output) -> None:
    files = sorted((DATA / "final_model_responses").glob("*.jsonl"))
    options = [word for file in files for word in ("--responses", str(file))]
    data = ["--data", str(DATA / "benchmark_questions.jsonl")]
    assert run(["run", "multichallenge", *data, *options, "--out", "runs", "--json", "--quiet"]) == 0
    summaries = [json.loads(line) for line in output().out.splitlines()]
    assert len(summaries) == 12
    assert all(made["samples"] == made["metrics"]["axis_mean"]["n"] == 273 for made in summaries)
    failed = {made["model"]: made["outcome_reasons"].get("generation_failed", {}) for made in summaries}
    assert {model: causes for model, causes in failed.items() if causes} == {
        model: {"error_text": 7} for model in ("qwen2-5_14b", "qwen2-5_72b", "qwen2_72b")
    }


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["sample", "--attempts", "3"], "--attempts is for multichallenge and j-multichallenge, not for sample"),
        (["j-multichallenge", "--mini", "--attempts", "3"], "knows no attempts of which one may pass; --repeats 3"),
        (["jmt-safety", "--responses", "x"], "--responses is for multichallenge and j-multichallenge, not for jmt-safety"),
        (["multichallenge", "--attempts", "3", "--repeats", "2"], "--attempts and --repeats both say"),
        (["multichallenge"], "multichallenge needs the dialogues: --data PATH"),
        (["multichallenge", "--rubric", "none.txt"], "the rubric none.txt cannot be read"),
        (["sample", "--rubric", "none.txt"], "sample has no rubric to replace"),
        (["multichallenge", "--data", "mini:none.jsonl"], "mini:none.jsonl: no such file comes with pincite"),
    ],
)  # fmt: skip
def test_what_a_benchmark_has_no_meaning_for_is_refused(arguments: list[str], sentence: str, output: Output) -> None:
    assert run(["run", *arguments]) == 2
    assert sentence in output().err
