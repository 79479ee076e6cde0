"""CPU of the harness per model call, beside hand-written lower bounds, in one run; prints one JSON line.

    uv run python bench/harness.py --servers PATH [--samples 200] [--rounds 10] [--concurrency 32]

PATH is a folder with `fake_server.py` (a zero-latency chat-completions server) and `min_loop.py` (the lower bounds). The
server calls the tool `search` with a query that hits the bundled sample's documents. The CPU of this
process, less what is no harness (the search engine's own time and the embedded judge's thinking, both reported apart, with
the state of the engine's query cache), is given twice: over all calls to the model and to the judge, and charged to the
model's calls alone. Everything is in it: loop, ledger, tape, judging, scores, records.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

QUERY = '{"query": "市 子育て 手当 申請 %d %d"}'


def main() -> None:
    options = read_options()
    with tempfile.TemporaryDirectory() as folder, fake_server(options) as base_url:
        figures = harness(options, base_url, Path(folder))
        figures["lower_bounds_cpu_ms"] = {
            kind: lower_bound(options, base_url, kind, folder) for kind in ("openaipost", "httpx2", "aiohttp")
        }
    print(json.dumps(figures, ensure_ascii=False))


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--servers", type=Path, required=True)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--profile", action="store_true", help="print the 40 costliest functions to stderr")
    return parser.parse_args()


@contextlib.contextmanager
def fake_server(options: argparse.Namespace) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, str(options.servers / "fake_server.py"), "--port", str(port)]
    command += ["--rounds", str(options.rounds), "--tool", "search", "--arguments", QUERY]
    with subprocess.Popen(command) as process:
        try:
            base_url = f"http://127.0.0.1:{port}/v1"
            for _ in range(100):
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(f"{base_url}/models")
                    break
                time.sleep(0.05)
            yield base_url
        finally:
            process.terminate()


def harness(options: argparse.Namespace, base_url: str, folder: Path) -> dict[str, object]:
    from sandbox.baseline import judge
    from sandbox.benchmarks.sample import MANIFEST
    from sandbox.benchmarks.table import benchmark_named
    from sandbox.reports.progress import Progress
    from sandbox.run import Occasion, run, utc_now
    from sandbox.settings import resolve
    from tools.corpus import build
    from tools.engines import local
    from tools.extract import extract

    corpus, data, thinking = folder / "corpus", folder / "questions.jsonl", Clock()
    build(MANIFEST, corpus, extract=extract)
    rows = [
        {"id": f"q{i}", "question": f"質問 {i}: 制度は何年に改正されたか。", "reference": "2026年"}
        for i in range(options.samples)
    ]
    data.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    flags: dict[str, object] = {
        "data": str(data), "search.engine": "local", "search.corpus": str(corpus), "concurrency": options.concurrency,
        "model.name": "m", "model.base_url": base_url,
    }  # fmt: skip
    settings = resolve("tmg-cqa-tool", {}, None, flags)
    engines: list[local.LocalEngine] = []
    made = local.LocalEngine.__init__

    def remember(self: local.LocalEngine, *arguments: object, **named: object) -> None:
        made(self, *arguments, **named)
        engines.append(self)

    local.LocalEngine.__init__ = remember
    import sandbox.endpoint.clients

    sandbox.endpoint.clients.judge_reply = thinking.around(judge.judge_reply)
    occasion = Occasion(("bench",), os.environ, utc_now())
    progress = Progress(io.StringIO(), quiet=True)
    before, start = cpu_s(), time.perf_counter()
    work = run(benchmark_named("tmg-cqa-tool"), settings, folder / "run", occasion, progress)
    profiled(work) if options.profile else asyncio.run(work)
    cpu, wall = cpu_s() - before, time.perf_counter() - start
    stats = engines[0].stats()
    calls = options.samples * (options.rounds + 1)
    engine_s = stats.cpu_s
    return {
        "samples": options.samples, "model_calls": calls, "concurrency": options.concurrency,
        "judge_calls": thinking.n,
        "cpu_ms_per_call": round(1000 * (cpu - engine_s - thinking.total_s) / (calls + thinking.n), 3),
        "cpu_ms_per_model_call": round(1000 * (cpu - engine_s - thinking.total_s) / calls, 3),
        "engine": {"cpu_s": round(engine_s, 3), "queries": stats.n_searches, "from_cache": stats.n_cached},
        "judge_thinking_s": round(thinking.total_s, 3),
        "wall_s": round(wall, 2), "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }  # fmt: skip


class Clock:
    """CPU time spent inside one function."""

    def __init__(self) -> None:
        self.total_s = 0.0
        self.n = 0

    def around(self, function):
        def timed(body: Mapping[str, object]) -> dict[str, object]:
            start = time.thread_time()
            self.n += 1
            try:
                return function(body)
            finally:
                self.total_s += time.thread_time() - start

        return timed


def lower_bound(options: argparse.Namespace, base_url: str, kind: str, folder: str) -> float:
    environment = os.environ | {
        "BENCH_PORT": base_url.split(":")[2].split("/")[0], "BENCH_OUT": folder,
        "BENCH_SAMPLES": str(options.samples), "BENCH_ROUNDS": str(options.rounds), "BENCH_CONC": str(options.concurrency),
    }  # fmt: skip
    command = [sys.executable, str(options.servers / "min_loop.py"), kind]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1])["cpu_ms_call"])


def profiled(work) -> None:
    import cProfile
    import pstats

    with cProfile.Profile() as profile:
        asyncio.run(work)
    pstats.Stats(profile, stream=sys.stderr).sort_stats("tottime").print_stats(40)


def cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
