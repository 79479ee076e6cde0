"""The recordings that come with the package.

Knows: where they lie. Must not know: what is done with one.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path


def recorded_run(name: str) -> Path:
    """The run folder called `name`: a path that exists, else the bundled recording of that name, else the path as given."""
    path = Path(name)
    bundled = Path(str(files("cassettes"))) / "recorded" / name
    return bundled if not path.exists() and "/" not in name and bundled.is_dir() else path
