"""One data file of a Hugging Face data set, at a revision that cannot move.

Knows: `OWNER/NAME[@REVISION][:FILE]`, the client library. Must not know: benchmarks, what is in the file.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol, cast

import httpx2

from sandbox.loading.rows import shown
from tools.tool import SetupError

DATA_SUFFIXES = (".parquet", ".jsonl", ".ndjson", ".json")
DESCRIPTIONS = ("dataset_infos.json", "dataset_info.json", "dataset_dict.json", "state.json")
"""Files of a data set that end like data and hold none."""
HUB_EXTRA = (
    "reading hf:OWNER/NAME needs huggingface_hub: pip install 'pincite[hub]' (in a checkout: uv run --extra hub …), "
    "or download the file and name its path"
)
_PART = r"[\w][\w.-]*"
_SPEC = re.compile(rf"(?P<repo>{_PART}/{_PART})(?:@(?P<revision>[^:@\s]+))?(?::(?P<file>\S(?:.*\S)?))?")
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a data set as somebody named it: `revision` a branch, tag or commit; None = the default, the only one."""

    repo: str
    revision: str | None
    file: str | None


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """A file on this machine and what it is: `commit` is 40 hex digits."""

    path: Path
    repo: str
    commit: str
    file: str


@dataclass(frozen=True, slots=True)
class Hub:
    """Where the hub is and where files are kept; None = as huggingface_hub has it (its own HF_… variables)."""

    endpoint: str | None = None
    cache: Path | None = None


class _Sibling(Protocol):
    rfilename: str


class _Info(Protocol):
    sha: str | None
    siblings: Sequence[_Sibling] | None


class _Api(Protocol):
    def dataset_info(self, repo_id: str, *, revision: str | None) -> _Info: ...

    def hf_hub_download(
        self, repo_id: str, filename: str, *, repo_type: str, revision: str, cache_dir: Path | None
    ) -> str: ...


class _MakeApi(Protocol):
    def __call__(self, endpoint: str | None) -> _Api: ...


class _Client(Protocol):
    """What we use of `huggingface_hub`."""

    HfApi: _MakeApi


class _Errors(Protocol):
    """What we use of `huggingface_hub.errors`."""

    GatedRepoError: type[Exception]
    RepositoryNotFoundError: type[Exception]
    RevisionNotFoundError: type[Exception]
    EntryNotFoundError: type[Exception]


def read_spec(text: str) -> HubFile:
    """`OWNER/NAME[@REVISION][:FILE]` in its parts. Raises SetupError for anything else."""
    found = _SPEC.fullmatch(text)
    if found is None:
        raise SetupError(f"hf:{text} is no data set of the hub: write hf:OWNER/NAME, hf:OWNER/NAME@REVISION:FILE")
    return HubFile(found["repo"], found["revision"], found["file"])


def fetch(wanted: HubFile, hub: Hub) -> PinnedFile:
    """The file on this machine, downloaded where it is not there yet.

    The revision is resolved to a commit first, and that commit is what is read. Without a file named, the data set must
    hold exactly one that can be data. A commit with a file that is here already needs no network. Raises SetupError in
    one line.
    """
    client, errors = _client()
    name = f"hf:{wanted.repo}" + (f"@{wanted.revision}" if wanted.revision else "")
    try:
        api = client.HfApi(endpoint=hub.endpoint)
        commit, file = wanted.revision or "", wanted.file
        if not _COMMIT.fullmatch(commit) or file is None:
            info = api.dataset_info(wanted.repo, revision=wanted.revision)
            commit = info.sha or ""
            if not _COMMIT.fullmatch(commit):
                raise SetupError(f"{name}: the hub does not say which commit this is; name one: @COMMIT")
            file = _chosen(name, [item.rfilename for item in info.siblings or ()], file)
        path = api.hf_hub_download(wanted.repo, file, repo_type="dataset", revision=commit, cache_dir=hub.cache)
    except (httpx2.HTTPError, OSError, ValueError) as error:
        raise SetupError(f"{name}: {_said(error, errors)}") from error
    return PinnedFile(Path(path), wanted.repo, commit, file)


def _client() -> tuple[_Client, _Errors]:
    try:
        return (
            cast("_Client", importlib.import_module("huggingface_hub")),
            cast("_Errors", importlib.import_module("huggingface_hub.errors")),
        )
    except ImportError as error:
        raise SetupError(HUB_EXTRA) from error


def _chosen(name: str, there: Sequence[str], asked: str | None) -> str:
    if asked is not None:
        if asked not in there:
            raise SetupError(f"{name} has no file {asked}; it holds: {shown(sorted(there)) or 'nothing'}")
        return asked
    found = sorted(file for file in there if _is_data(PurePosixPath(file)))
    if len(found) != 1:
        many = f"holds {len(found)} data files" if found else "holds no JSON Lines, JSON or Parquet file"
        raise SetupError(f"{name} {many}: name one with :FILE; there are: {shown(found or sorted(there)) or 'none'}")
    return found[0]


def _is_data(file: PurePosixPath) -> bool:
    hidden = any(part.startswith(".") for part in file.parts)
    return file.suffix in DATA_SUFFIXES and file.name not in DESCRIPTIONS and not hidden


def _said(error: Exception, errors: _Errors) -> str:
    """What went wrong and what to do, in one line; a gated data set is also one that is not found, so it comes first."""
    if isinstance(error, errors.GatedRepoError):
        return "access is gated: accept its terms on its page, then set HF_TOKEN to a token that may read it"
    if isinstance(error, errors.RepositoryNotFoundError):
        return "there is no such data set, or it is private: check the name, or set HF_TOKEN"
    if isinstance(error, errors.RevisionNotFoundError):
        return "there is no such revision: leave @REVISION out, or name a branch, tag or commit"
    if isinstance(error, (errors.EntryNotFoundError, httpx2.TransportError, ConnectionError)):
        return (
            "the hub cannot be reached, or has no such file; with @COMMIT:FILE a file that was downloaded before is "
            "read without the network"
        )
    if isinstance(error, httpx2.HTTPStatusError):
        return f"the hub answered HTTP {error.response.status_code}; try again, or download the file and name its path"
    return f"{' '.join(str(error).split())[:200] or type(error).__name__}; or download the file and name its path"
