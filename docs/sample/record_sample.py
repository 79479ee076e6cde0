"""Record the sample that ships with the package: `cassettes/recorded/sample`, played by `pincite replay sample`.

    uv run python docs/sample/record_sample.py

Three questions of the bundled sample, with the embedded model and judge. To be run again whenever what the model reads
changes (tool descriptions, prompts, documents): the test of the recording says so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "cassettes" / "recorded" / "sample"
KEPT = ("run.toml", "provenance.json", "samples.jsonl", "records.jsonl", "tape.jsonl", "summary.json", "tape")


def main() -> None:
    """Run the sample in a folder of its own and put what a replay needs in place of the old recording."""
    with tempfile.TemporaryDirectory() as folder:
        # A relative folder name: the recording must hold no path of the machine that made it.
        command = [sys.executable, "-c", "from sandbox.cli.main import main; main()"]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        arguments = ["run", "sample", "--limit", "3", "--concurrency", "1", "--out", "sample", "--quiet"]
        subprocess.run([*command, *arguments], cwd=folder, env=environment, check=True)
        made = Path(folder) / "sample"
        shutil.rmtree(TARGET, ignore_errors=True)
        TARGET.mkdir(parents=True)
        for name in KEPT:
            source = made / name
            shutil.copytree(source, TARGET / name) if source.is_dir() else shutil.copy(source, TARGET / name)


if __name__ == "__main__":
    main()
