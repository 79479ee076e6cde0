"""A run that is killed again and again: nothing is lost, and no finished call is paid twice.

uv run pytest tests/sandbox/test_crash.py --kills 100
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from servers.chat_server import Answer, calls, message, serving

from sandbox.cli.main import run
from sandbox.folder.store import read_records
from sandbox.record import digest

ROOT = Path(__file__).resolve().parents[2]
SERIAL = re.compile(rb"serial-(\d+)")


class Counting:
    """A scripted model and judge that numbers its replies and remembers which request each answered."""

    def __init__(self, delay_s: float = 0.0) -> None:
        self._delay_s = delay_s
        self.asked: dict[str, list[int]] = defaultdict(list)

    def __call__(self, body: dict[str, Any]) -> Answer:
        time.sleep(self._delay_s)
        key = json.dumps(body, sort_keys=True)
        serial = sum(map(len, self.asked.values()))
        self.asked[key].append(serial)
        reply = self._reply(body)
        assert isinstance(reply.body, dict)
        return Answer({**reply.body, "id": f"serial-{serial}"})

    def _reply(self, body: dict[str, Any]) -> Answer:
        if "response_format" in body:
            labels = body["response_format"]["json_schema"]["schema"]["properties"]["verdict"]["enum"]
            return message(json.dumps({"verdict": labels[0], "reason": "よい"}, ensure_ascii=False))
        n = sum(row["role"] == "assistant" for row in body["messages"])
        question = body["messages"][0]["content"][:40]
        if n == 0:
            return calls(("search", {"query": question}))
        if n == 1:
            return calls(("fetch", {"url_or_number": 1}), ("find", {"url_or_number": 2, "keywords": ["令和7年度"]}))
        return message("<sentence>市の制度である。<cite>1</cite></sentence><sentence>以上。</sentence>")


def command(base_url: str, out: Path) -> list[str]:
    options = ["--model", "m", "--base-url", base_url, "--judge", "j", "--concurrency", "4", "--quiet", "--json"]
    program = [sys.executable, "-c", "from sandbox.cli.main import main; main()"]
    return [*program, "run", "sample", *options, "--out", str(out)]


def test_a_run_killed_at_random_moments_ends_as_if_nothing_had_happened(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    kills = int(request.config.getoption("--kills"))
    seed = int(request.config.getoption("--kill-seed") or time.time_ns() % 1_000_000)
    chance = random.Random(seed)
    # So slow that the run does not end before the last kill: each lets about 30 ms of work through.
    server = Counting(delay_s=max(0.003, kills * 0.0002))
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    killed = 0
    with serving(server) as at:
        out = tmp_path / "killed"
        for _ in range(kills):
            child = subprocess.Popen(command(at.base_url, out), env=environment, stdout=-3, stderr=-3)
            tape = out / "tape"
            # Let it come to work, then pick a moment: during imports nothing could be lost.
            before = sum(map(len, server.asked.values()))
            while child.poll() is None and sum(map(len, server.asked.values())) == before and not _finished(out):
                time.sleep(0.002)
            time.sleep(chance.uniform(0, 0.06))
            child.kill()
            child.wait()
            killed += 1
            if _finished(out):
                break
        assert tape.is_dir()
        done = subprocess.run(command(at.base_url, out), env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"seed {seed}: {done.stderr}"
    recorded = {int(serial) for path in (out / "tape").glob("*.yaml") for serial in SERIAL.findall(path.read_bytes())}
    # A reply that is on the tape answers its request for good: nobody may have asked again after it.
    again = [
        serials for serials in server.asked.values() if serials[-1] not in recorded or len({*serials} & recorded) != 1
    ]
    assert not again, f"seed {seed}, {killed} kills: finished calls made twice: {again[:5]}"
    with serving(Counting()) as at:
        undisturbed = tmp_path / "undisturbed"
        assert run(["run", "sample", *command(at.base_url, undisturbed)[5:]]) == 0
    assert digest(read_records(out)) == digest(read_records(undisturbed)), f"seed {seed}"
    assert run(["replay", str(out), "--quiet"]) == 0, f"seed {seed}"


def _finished(out: Path) -> bool:
    path = out / "records.jsonl"
    return path.exists() and path.read_bytes().count(b"\n") == 26
