"""The provenance capsule: what a run was made of, and whether two runs were made of the same.

Knows: which facts are compared and which are only listed. Must not know: how a run goes.

Compared (a folder that would mix two of them is refused): data, benchmark, model, decode settings, limits, judge settings,
prompt and tool-schema hashes, search engine and parameters. Listed per start: everything else.
"""

from __future__ import annotations

import hashlib
import platform
import secrets
import subprocess
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from sandbox.endpoint.chat import encode

PACKAGES = ("pincite", "openai", "httpx2", "aiohttp", "pydantic", "trafilatura", "pypdf")

Facts = dict[str, JsonValue]


class Start(BaseModel):
    """One start of the command on this folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    started: str
    """UTC, ISO 8601."""
    command: tuple[str, ...]
    python: str
    packages: dict[str, str]
    git_commit: str | None
    git_dirty: bool | None
    data: str | None = None
    """A data set of the hub, at the commit and file that were read."""
    servers: Facts = {}
    """What the model's and the judge's server told of themselves; hosts only, never credentials."""


class Provenance(BaseModel):
    """All that must be the same for two results to be comparable, and each start beside it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    compared: Facts
    nonce: str
    """Delimits tool results in what the model reads; made anew for each run, the same for all its sessions."""
    starts: tuple[Start, ...]
    played: str | None = Field(default=None, exclude_if=lambda played: played is None)
    """What is played of recorded runs, in words ("a fork after round 2"); empty in an ordinary run, None where the run was
    begun by a version that did not say. Two runs that differ in it may be compared, but one run cannot be both.
    """
    played_run: str | None = Field(default=None, exclude_if=lambda run: run is None)
    """Which recorded run is played: how that one was begun. None where none is, or where the version did not say."""

    def continued(self, now: Provenance) -> Provenance:
        """This run with the starts of `now` added."""
        return self.model_copy(update={"starts": (*self.starts, *now.starts)})

    @property
    def begun(self) -> str:
        """Time and command of the first start. They tell two forks of a run apart, which have its nonce both."""
        return "".join(f"{start.started} {' '.join(start.command)}" for start in self.starts[:1])

    @property
    def config_sha256(self) -> str:
        """Hash of what is compared."""
        return hashlib.sha256(encode(self.compared)).hexdigest()


def provenance(
    compared: Facts,
    started: str,
    command: Sequence[str],
    servers: Facts,
    nonce: str | None = None,
    data: str | None = None,
) -> Provenance:
    """The capsule of a run that starts now; `nonce` where it plays a recorded run, whose requests hold that one."""
    root = Path(__file__).resolve().parents[2]
    commit = _git(root, "rev-parse", "HEAD")
    status = _git(root, "status", "--porcelain", "--untracked-files=no") if commit else None
    start = Start(
        started=started,
        command=tuple(command),
        python=platform.python_version(),
        packages={name: found for name in PACKAGES if (found := _version(name))},
        git_commit=commit,
        git_dirty=None if status is None else bool(status),
        data=data,
        servers=servers,
    )
    return Provenance(compared=compared, nonce=nonce or secrets.token_hex(6), starts=(start,))


def mixed(old: Mapping[str, JsonValue], new: Mapping[str, JsonValue], prefix: str = "") -> list[str]:
    """What differs, in words: "model.decode.temperature was 0.6, is 0.0"."""
    found: list[str] = []
    for name in sorted(old.keys() | new.keys()):
        before, after = old.get(name), new.get(name)
        if isinstance(before, dict) and isinstance(after, dict):
            found += mixed(before, after, f"{prefix}{name}.")
        elif before != after:
            found.append(f"{prefix}{name} was {_short(before)}, is {_short(after)}")
    return found


def _short(value: JsonValue) -> str:
    text = encode(value).decode()
    return text if len(text) <= 60 else text[:57] + "..."


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _git(root: Path, *arguments: str) -> str | None:
    """Output of git in the project's own checkout; None where it is no checkout (an installed wheel) or there is no git."""
    if not (root / ".git").exists():
        return None
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
