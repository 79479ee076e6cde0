"""Records made anew for a run that was stopped, that was played by another version, or that plays recorded runs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from sandbox.cli.main import run
from tests.sandbox.conftest import Output
from tools.engines.local import LocalEngine
from tools.search import Hit


def test_a_session_that_was_stopped_while_it_searched_is_left_to_the_run_when_records_are_made_anew(
    output: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Ctrl-C leaves of a search under way is no answer: a session must neither fail by it nor be counted."""
    search = LocalEngine.search

    async def stopped(engine: LocalEngine, query: str, count: int, page: int) -> list[Hit]:
        if "耐震" in query:
            raise asyncio.CancelledError
        return await search(engine, query, count, page)

    with monkeypatch.context() as stop:
        stop.setattr(LocalEngine, "search", stopped)
        assert run(["run", "sample", "--out", "run", "--quiet", "--json"]) == 0
    played = json.loads(output().out)["samples"]
    assert 0 < played < 26
    assert run(["report", "run", "--rebuild", "--json"]) == 0
    assert json.loads(output().out)["samples"] == played
    assert run(["run", "sample", "--out", "run", "--quiet", "--json"]) == 0
    assert json.loads(output().out)["outcomes"]["answered"] == 26


def test_a_record_stays_where_its_tape_is_gone_or_does_not_answer_what_is_asked_today(output: Output) -> None:
    assert run(["run", "sample", "--limit", "4", "--out", "run", "--quiet"]) == 0
    records, samples = Path("run/records.jsonl"), Path("run/samples.jsonl")
    before = sorted(records.read_bytes().splitlines())
    names = [str(json.loads(line)["sample_id"]) for line in before]
    Path(f"run/tape/{names[0]}.r0.yaml").unlink()
    question = str(json.loads(before[1])["question"])
    samples.write_text(samples.read_text(encoding="utf-8").replace(question, "別の質問"), encoding="utf-8")
    records.write_bytes(b"\n".join([before[0][:40], *before]) + b"\n")
    output()
    assert run(["report", "run", "--rebuild", "--json"]) == 0
    said = output()
    assert "run: 2 records made anew from the tapes; 2 stay as they were, their tapes lack an answer\n" in said.err
    after = sorted(records.read_bytes().splitlines())
    assert after[:2] == before[:2]
    assert [json.loads(line)["sample_id"] for line in after] == names
    assert json.loads(said.out)["outcomes"]["answered"] == 4
    assert Path("run/summary.json").read_text(encoding="utf-8").strip() == said.out.strip()


def test_records_made_anew_keep_who_answered_a_fork(output: Output) -> None:
    assert run(["run", "sample", "--limit", "2", "--out", "run", "--quiet"]) == 0
    output()
    fork = ["--fork", "run@2", "--model", "baseline-untidy"]
    assert run(["run", "sample", *fork, "--limit", "2", "--out", "fork", "--quiet", "--json"]) == 0
    tape = json.loads(output().out)["tape"]
    assert (tape["fork_recorded"], tape["fork_live"]) == (4, 4)
    assert run(["report", "fork", "--rebuild", "--json"]) == 0
    assert json.loads(output().out)["tape"] == tape
