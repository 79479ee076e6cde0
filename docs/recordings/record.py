"""Record what ships with the package: one run of each benchmark's bundled rows, played by `pincite replay NAME`.

    uv run python docs/recordings/record.py [NAME…]

With the embedded model and judge. To be run again whenever what the model or the judge reads changes (tool descriptions,
prompts, rows, documents) or a record does: the test of the recordings says so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "cassettes" / "recorded"
KEPT = ("run.toml", "provenance.json", "samples.jsonl", "records.jsonl", "tape.jsonl", "summary.json", "tape")
RUNS = {
    "sample": ["--limit", "3"],
    "tmg-cqa-tool": ["--mini", "--limit", "1"],
    "tmg-cqa-rag": ["--mini", "--limit", "4"],
    "multichallenge": ["--mini"],
    "j-multichallenge": ["--mini", "--limit", "6"],
    "jmt-safety": ["--mini"],
}


def main(names: list[str]) -> None:
    """Record the benchmarks named, all of them without a name."""
    for name in names or RUNS:
        record(name, RUNS[name])


def record(name: str, options: list[str]) -> None:
    """Run the benchmark in a folder of its own and put what a replay needs in place of the old recording."""
    with tempfile.TemporaryDirectory() as folder:
        # A relative folder name: the recording must hold no path of the machine that made it.
        command = [sys.executable, "-c", "from sandbox.cli.main import main; main()"]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        arguments = ["run", name, *options, "--concurrency", "1", "--out", name, "--quiet"]
        subprocess.run([*command, *arguments], cwd=folder, env=environment, check=True)
        made, target = Path(folder) / name, TARGET / name
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for kept in KEPT:
            source = made / kept
            shutil.copytree(source, target / kept) if source.is_dir() else shutil.copy(source, target / kept)


if __name__ == "__main__":
    main(sys.argv[1:])
