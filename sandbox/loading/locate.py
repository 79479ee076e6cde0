"""Where a data file is: on this disk, bundled with the project, or on the Hugging Face hub.

Knows: the three ways to name a file. Must not know: benchmarks, file formats.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from sandbox.loading.hub import Hub, fetch, read_spec
from sandbox.loading.rows import shown
from tools.tool import SetupError

MINI, HF = "mini:", "hf:"
SAMPLE = "tmg_cqa_tool.jsonl"
"""The name under which the questions of the bundled sample are the mini set of tmg_cqa's Tool version."""


@dataclass(frozen=True, slots=True)
class Located:
    """A file on this machine. `source` is its name for the provenance: the path as given, `mini:FILE`, or
    `hf:OWNER/NAME@COMMIT:FILE`, which names the same bytes for ever; `revision` is that commit, else None.
    """

    path: Path
    source: str
    revision: str | None = None


def locate(spec: str) -> Path:
    """The path of what `spec` names; see `located`."""
    return located(spec).path


def located(spec: str) -> Located:
    """What `spec` names: a path, `mini:FILE` (bundled), or `hf:OWNER/NAME[@REVISION][:FILE]` (a data set of the hub).

    `hf:` asks the hub at HF_ENDPOINT and keeps files in HF_HUB_CACHE, both as huggingface_hub has them by default. A path
    is not looked at: whoever reads it says what is wrong with it. Raises SetupError.
    """
    if spec.startswith(MINI):
        return Located(_bundled(spec.removeprefix(MINI)), spec)
    if spec.startswith(HF):
        cache = os.environ.get("HF_HUB_CACHE")
        hub = Hub(os.environ.get("HF_ENDPOINT") or None, Path(cache) if cache else None)
        pinned = fetch(read_spec(spec.removeprefix(HF)), hub)
        return Located(pinned.path, f"{HF}{pinned.repo}@{pinned.commit}:{pinned.file}", pinned.commit)
    return Located(Path(spec), spec)


def _bundled(name: str) -> Path:
    folder = Path(str(files("sandbox.benchmarks"))) / "mini"
    if name == SAMPLE:
        return folder.parent / "sample" / "questions.jsonl"
    there = sorted(item.name for item in folder.iterdir()) if folder.is_dir() else []
    if name not in there:
        raise SetupError(f"{MINI}{name}: no such file comes with pincite; there are: {shown(there) or 'none'}")
    return folder / name
