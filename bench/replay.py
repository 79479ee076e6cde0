"""A sealed replay of a whole benchmark's size: 571 sessions of 12 model calls each; prints one JSON line.

    uv run python bench/replay.py --servers PATH [--sessions 571] [--rounds 11] [--workers 2]

PATH is a folder with `fake_server.py`. The run is recorded first (a search per round over the bundled sample's documents,
the embedded judge), then replayed with scores; the time is that of the whole command `pincite replay`, start included.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import fake_server

PROGRAM = [sys.executable, "-c", "from sandbox.cli.main import main; main()"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--servers", type=Path, required=True)
    parser.add_argument("--sessions", type=int, default=571)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, fake_server(options) as base_url:
        folder = Path(name)
        record(options, base_url, folder)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        done = pincite("replay", str(folder / "run"), "--workers", str(options.workers), "--json", "--quiet")
        wall = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        summary = json.loads(done)
        size = sum(path.stat().st_size for path in (folder / "run" / "tape").rglob("*") if path.is_file())
    print(
        json.dumps(
            {
                "sessions": summary["sessions"],
                "model_calls": summary["usage"]["model"]["calls"],
                "interactions": summary["tape"]["interactions"],
                "identical": summary["replay"]["identical"],
                "workers": options.workers,
                "wall_s": round(wall, 2),
                "cpu_s": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2),
                "tape_mb": round(size / 1e6, 1),
            }
        )
    )


def record(options: argparse.Namespace, base_url: str, folder: Path) -> None:
    pincite("run", "sample", "--limit", "1", "--quiet", "--out", str(folder / "sample"))
    rows = [
        {"id": f"q{i}", "question": f"質問 {i}: 制度は何年に改正されたか。", "reference": "2026年"}
        for i in range(options.sessions)
    ]
    data = folder / "questions.jsonl"
    data.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    corpus = ["--corpus", str(folder / "sample" / "corpus")]
    model = ["--model", "m", "--base-url", base_url]
    pincite("run", "tmg-cqa-tool", "--data", str(data), *corpus, *model, "--quiet", "--out", str(folder / "run"))


def pincite(*arguments: str) -> str:
    root = Path(__file__).resolve().parent.parent
    environment = os.environ | {"PYTHONPATH": str(root)}
    return subprocess.run([*PROGRAM, *arguments], env=environment, check=True, capture_output=True, text=True).stdout


main()
