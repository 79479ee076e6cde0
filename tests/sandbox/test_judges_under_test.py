"""Judges under test, through the command line: verdicts that other runs have, verdicts asked for several times."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from servers.chat_server import Answer, calls, message, serving

from sandbox.cli.main import run
from sandbox.folder.store import read_records
from sandbox.judging.sheet import judgements
from sandbox.record import digest
from sandbox.verdict_repeats import labels_of
from tests.sandbox.conftest import Output


class Bench:
    """Any model (searches once, then cites), and a judge that says of each prompt what `labels` has next."""

    def __init__(self, labels: Callable[[int, list[str]], str | None] = lambda _, labels: labels[0]) -> None:
        self.n_judged = 0
        self._seen: Counter[str] = Counter()
        self._labels = labels

    def __call__(self, body: dict[str, Any]) -> Answer:
        if body["model"] == "j":
            self.n_judged += 1
            prompt = body["messages"][0]["content"]
            labels = body["response_format"]["json_schema"]["schema"]["properties"]["verdict"]["enum"]
            label = self._labels(self._seen[prompt], labels)
            self._seen[prompt] += 1
            return message(json.dumps({"verdict": label or "？", "reason": "よい"}, ensure_ascii=False))
        if not any(row["role"] == "tool" for row in body["messages"]):
            return calls(("search", {"query": "凪原市 子ども医療費"}))
        return message(
            "<sentence>市の制度である。<cite>1</cite></sentence><sentence>窓口は市役所である。<cite>2</cite></sentence>"
            "<sentence>以上。</sentence>"
        )


def summary_of_run(output: Output, *arguments: str) -> dict[str, Any]:
    assert run([*arguments, "--json"]) == 0
    made: dict[str, Any] = json.loads(output().out)
    return made


def test_a_second_run_with_the_same_answers_asks_the_judge_nothing_and_replays_alone(output: Output) -> None:
    bench = Bench()
    with serving(bench) as server:
        options = ["--base-url", server.base_url, "--judge", "j", "--limit", "2", "--quiet"]
        first = summary_of_run(output, "run", "sample", "--model", "a", *options, "--out", "one")
        asked = bench.n_judged
        cached = ["--verdicts-from", "one"]
        second = summary_of_run(output, "run", "sample", "--model", "b", *options, *cached, "--out", "two")
        assert bench.n_judged == asked == first["usage"]["judge"]["calls"] > 0
        assert (first["tape"]["judge_hits"], second["tape"]["judge_hits"]) == (0, asked)
        assert second["metrics"] == first["metrics"]
        # Another setting, then another prompt: other requests, which no tape has.
        other = ["--set", "judge.max_output_tokens=999"]
        summary_of_run(output, "run", "sample", "--model", "a", *options, *cached, *other, "--out", "three")
        assert bench.n_judged == 2 * asked
        ours = resources.files("sandbox.judging").joinpath("prompts", "need.ja.txt").read_text(encoding="utf-8")
        Path("prompts").mkdir()
        Path("prompts/need.ja.txt").write_text(f"{ours}よく考えよ。\n", encoding="utf-8")
        other = ["--set", "judge.prompts=prompts"]
        fourth = summary_of_run(output, "run", "sample", "--model", "a", *options, *cached, *other, "--out", "four")
        n_need = sum(unit.kind == "need" for row in read_records(Path("four")) for unit in row.units)
        assert (bench.n_judged - 2 * asked, fourth["tape"]["judge_hits"]) == (n_need, asked - n_need)
    shutil.rmtree("one")
    assert run(["report", "two"]) == 0
    assert re.search(rf"answered by other runs' tapes +{asked}\n", output().out)
    assert run(["replay", "two", "--json", "--quiet"]) == 0
    replayed = json.loads(output().out)
    assert (replayed["replay"]["identical"], replayed["digest"]) == (True, second["digest"])


def test_recorded_verdicts_go_with_the_recorded_web_a_fork_and_another_judge(output: Output) -> None:
    bench = Bench()
    with serving(bench) as server:
        options = ["--base-url", server.base_url, "--judge", "j", "--limit", "1", "--quiet"]
        summary_of_run(output, "run", "sample", "--model", "a", *options, "--out", "one")
        asked = bench.n_judged
        cached = ["--verdicts-from", "one"]
        for how, name in ((["--web-from", "one"], "web"), (["--fork", "one@1"], "fork")):
            made = summary_of_run(output, "run", "sample", "--model", "b", *options, *how, *cached, "--out", name)
            assert made["tape"]["judge_hits"] == asked
        assert bench.n_judged == asked
        again = ["--judge", "j", "--judge-base-url", server.base_url, "--out", "again", *cached]
        made = summary_of_run(output, "score", "one", *again, "--judge-repeats", "2")
        assert (bench.n_judged, made["tape"]["judge_hits"]) == (2 * asked, asked)
        assert made["judging"]["repeats"]["asked"] == 2


def test_verdicts_asked_several_times_tell_flips_from_scores_and_replay(output: Output) -> None:
    # Of the three times one gets the first label, one the last and one nothing readable. They are asked at once, so
    # which of them gets what is the server's doing: all that is said here holds whatever the order.
    bench = Bench(lambda n, labels: (labels[0], labels[-1], None)[n % 3])
    with serving(bench) as server:
        options = ["--base-url", server.base_url, "--judge", "j", "--limit", "2", "--quiet"]
        once = summary_of_run(output, "run", "sample", "--model", "a", *options, "--out", "once")
        asked = bench.n_judged
        bench = server._decide = Bench(lambda n, labels: (labels[0], labels[-1], None)[n % 3])
        options += ["--judge-repeats", "3", "--set", "judge.attempts=1"]
        made = summary_of_run(output, "run", "sample", "--model", "a", *options, "--out", "thrice")
        assert bench.n_judged == 3 * asked
    assert once["judging"]["repeats"] is None
    records = list(read_records(Path("thrice")))
    unread: Counter[str] = Counter()
    for record in records:
        verdicts = [(row.kind, row.verdict) for row in judgements(record)]
        for kind, verdict in verdicts:
            labels = labels_of(verdict)
            assert (len(labels), len(set(labels)), labels.count(None)) == (3, 3, 1)
            unread[kind] += verdict.label is None
        lacking = any(verdict.label is None for _, verdict in verdicts)
        assert record.outcome == ("judge_error" if lacking else "answered")
    repeats = made["judging"]["repeats"]
    assert repeats["asked"] == 3
    # A first verdict that cannot be read is the judge's error; only a later one is a repeat that is missing.
    assert {kind: (row["rate"], row["missing"] + unread[kind]) for kind, row in repeats["kinds"].items()} == {
        "support": (1.0, 4), "relevance": (1.0, 4), "need": (1.0, 2), "consistency": (1.0, 2),
    }  # fmt: skip
    assert run(["report", "thrice"]) == 0
    assert "Judge asked 3 times" in output().out
    assert run(["replay", "thrice", "--json", "--quiet"]) == 0
    assert json.loads(output().out)["replay"]["identical"] is True
    assert run(["verify", "thrice"]) == 0


def test_a_run_without_repeats_is_stored_as_before_there_were_any(output: Output) -> None:
    assert run(["run", "sample", "--limit", "1", "--out", "run", "--quiet"]) == 0
    assert '"repeats":' not in Path("run/records.jsonl").read_text(encoding="utf-8")
    assert '"repeats"' not in Path("run/provenance.json").read_text(encoding="utf-8")
    summary = json.loads(Path("run/summary.json").read_text(encoding="utf-8"))
    assert summary["digest"] == digest(read_records(Path("run")))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "sample", "--verdicts-from", "none"], "none does not exist"),
        (["run", "sample", "--verdicts-from", "a", "--out", "a"], "--verdicts-from a is the run folder itself"),
        (["run", "sample", "--judge-repeats", "21"], "Input should be less than or equal to 20"),
        (["score", "a", "--verdicts-from", "b"], "--verdicts-from and --out go with --judge"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(arguments: list[str], sentence: str, output: Output) -> None:
    assert run(arguments) == 2
    assert sentence in output().err


def test_two_judges_on_the_same_answers_are_compared_judgement_by_judgement(output: Output) -> None:
    # The second judge finds no support anywhere, and says the same as the first otherwise.
    def stern(_: int, labels: list[str]) -> str:
        return labels[-1] if "none" in labels else labels[0]

    bench = Bench()
    with serving(bench) as server:
        options = ["--base-url", server.base_url, "--judge", "j", "--limit", "2", "--quiet"]
        summary_of_run(output, "run", "sample", "--model", "a", *options, "--out", "one")
    with serving(Bench(stern)) as server:
        again = ["--judge", "j", "--judge-base-url", server.base_url]
        summary_of_run(output, "score", "one", *again, "--out", "two")
    assert run(["compare", "one", "two", "--json"]) == 0
    made = json.loads(output().out)
    assert (made["forced_over"], made["judge_differences"]) == ([], [])
    agreement = made["agreement"]
    assert agreement["answers"] == 2
    assert agreement["kinds"]["relevance"]["agreement"] == 1.0
    assert agreement["kinds"]["support"]["confusion"]["full"] == {"full": 0, "partial": 0, "none": 4}
    assert agreement["n_disagreements"] == 4
    assert [(row["a"], row["b"]) for row in agreement["disagreements"]] == [("full", "none")] * 4
    assert agreement["disagreements"][0]["text"] == "市の制度である。"


def test_another_judge_is_compared_where_the_answers_are_the_same_and_refused_where_not(output: Output) -> None:
    with serving(Bench()) as server:
        options = ["--base-url", server.base_url, "--judge", "j", "--limit", "1", "--quiet"]
        summary_of_run(output, "run", "sample", "--model", "a", *options, "--out", "one")
        summary_of_run(output, "run", "sample", "--limit", "1", "--quiet", "--out", "other")
    assert run(["score", "one", "--judge", "baseline", "--out", "two"]) == 0
    output()
    assert run(["compare", "one", "other"]) == 2
    assert "more than the model differs: judge." in output().err
    assert run(["compare", "one", "two", "--moved", "1"]) == 0
    told = " ".join(output().out.split())
    assert 'From A to B: judge.name was "j", is "baseline"' in told
    assert "The answers and their evidence are the same: whatever differs below, the judges made it." in told
    assert "The two judges n agree %" in told
    assert "FORCED" not in told
