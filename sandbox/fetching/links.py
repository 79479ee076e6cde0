"""The links of a data set, and the ledger of what became of each: alive, unreadable or dead.

Knows: which questions name which link, the ledger's file. Must not know: how a page is fetched.

Links die (the tmg_cqa publication checked its own on one day only); a question that lost a document is left out of an
evaluation, so a dead link is data, never an error.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from cassettes.replacing import TO_APPEND, new_file
from citations.ledger import page_identity
from citations.policy import Policy
from sandbox.folder.store import disk_error
from sandbox.loading.questions import Dataset
from sandbox.record import Row
from tools.tool import FailureKind, SetupError

LINKS = "links.jsonl"

Status = Literal["alive", "unreadable", "dead"]
"""`unreadable`: bytes came, but no text could be had of them. `dead`: nothing came."""

_ONE_PAGE = Policy(fragment="drop")


@dataclass(frozen=True, slots=True)
class Link:
    """A page to fetch, without fragment, and the ids of the questions that name it."""

    url: str
    questions: tuple[str, ...]


class Failure(Row):
    """Why a document could not be had."""

    kind: FailureKind
    message: str


class LinkRow(Row):
    """A line of the ledger. What came is None where nothing came; `physical_pages` 0 = it has none (no PDF).

    `media_type` is by what the bytes are, `header_type` the Content-Type as sent. `checked_at`: UTC, ISO 8601, when the
    server was asked (not when a recorded answer was read again).
    """

    url: str
    status: Status
    failure: Failure | None = None
    final_url: str | None = None
    sha256: str | None = None
    n_bytes: int | None = None
    media_type: str | None = None
    header_type: str | None = None
    physical_pages: int | None = None
    file: str | None = None
    checked_at: str
    questions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unaskable:
    """A question that lacks a document, with the links that are to blame."""

    id: str
    urls: tuple[str, ...]


def links_of(dataset: Dataset, limit: int | None = None) -> tuple[Link, ...]:
    """Every page that the first `limit` questions name, once each, in order of first mention.

    Two spellings of a page are one link (`page_of`), fetched as it is spelled first. Raises
    SetupError where no question names any document.
    """
    named: dict[str, str] = {}
    questions: dict[str, list[str]] = {}
    rows = dataset.rows[:limit]
    for question in rows:
        for document in question.documents:
            page = page_of(document.url)
            named.setdefault(page, document.url.strip().partition("#")[0])
            asked = questions.setdefault(page, [])
            if question.id not in asked:
                asked.append(question.id)
    if not named:
        raise SetupError(
            f"{dataset.path}: no question names a document; say in a field map (--fields) which column does: "
            '`sources = "COLUMN"`'
        )
    return tuple(Link(url, tuple(questions[page])) for page, url in named.items())


def page_of(url: str) -> str:
    """The same for all spellings of a link."""
    return page_identity(url, _ONE_PAGE)


def unaskable(links: Iterable[LinkRow]) -> tuple[Unaskable, ...]:
    """The questions that a link which is not alive takes out, in order of their links."""
    lost: dict[str, list[str]] = {}
    for row in links:
        if row.status != "alive":
            for question in row.questions:
                lost.setdefault(question, []).append(row.url)
    return tuple(Unaskable(question, tuple(urls)) for question, urls in lost.items())


def read_links(folder: Path) -> Mapping[str, LinkRow]:
    """The ledger in `folder` by URL; empty where there is none. A line that a crash cut off is passed over."""
    try:
        lines = (folder / LINKS).read_bytes().split(b"\n")
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise disk_error(error, folder / LINKS) from error
    found: dict[str, LinkRow] = {}
    for line in lines:
        try:
            row = LinkRow.model_validate_json(line)
        except ValidationError:
            continue
        found[row.url] = row
    return found


def add_link(folder: Path, row: LinkRow) -> None:
    """Append one line, in one write; behind a line that a crash cut off, on a line of its own."""
    try:
        with os.fdopen(os.open(folder / LINKS, TO_APPEND, 0o644), "a+b", buffering=0) as file:
            n_bytes = file.seek(0, os.SEEK_END)
            file.seek(max(0, n_bytes - 1))
            torn = file.read(1) not in (b"", b"\n")
            file.write((b"\n" if torn else b"") + _line(row))
    except OSError as error:
        raise disk_error(error, folder / LINKS) from error


def write_links(folder: Path, rows: Sequence[LinkRow]) -> None:
    """Replace the ledger as a whole."""
    write_whole(folder / LINKS, b"".join(_line(row) for row in rows))


def write_whole(path: Path, body: bytes) -> None:
    """A file that appears whole or not at all. Raises SetupError where the disk refuses."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with new_file(fresh) as file:
            file.write(body)
        os.replace(fresh, path)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise disk_error(error, path) from error


def _line(row: LinkRow) -> bytes:
    return row.model_dump_json().encode("utf-8", "surrogatepass") + b"\n"
