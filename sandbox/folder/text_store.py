"""Extracted page text in the run folder: a page has one text in a run, whatever extractor is installed later.

Knows: files by (bytes, URL, content type), with the extraction rules inside. Must not know: extraction itself.

A file holds the document, or the failure that extraction ended in. A run that goes on under another version takes it as
it is, too: finished sessions have read it, and their tapes hold it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic import ValidationError

from cassettes.replacing import new_file
from sandbox.record import Row
from tools.document import Document
from tools.tool import FailureKind, SetupError, ToolFailure

TEXT = "text"


class Extract(Protocol):
    """Bytes to a document (`tools.workers.ExtractionPool.extract`)."""

    def __call__(self, body: bytes, *, url: str, header_type: str) -> Awaitable[Document]:
        """Raises ToolFailure for what cannot be read."""
        ...


class TextRow(Row):
    """What one extraction gave. `failure` instead of the rest where it ended in one."""

    rules: str
    failure: tuple[FailureKind, str] | None = None
    title: str = ""
    media_type: str = ""
    text: str = ""
    engine: str = ""
    page_starts: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TextStore:
    """`extract` with a memory on disk. `renews`: text that other rules have made is made anew. Without `keeps` nothing is
    written: a replay leaves the text that the run has read. `recorded`: such folders of the runs that are played, whose
    text comes before any that is made now.
    """

    folder: Path
    extract: Extract
    rules: Callable[[], str]
    renews: bool = False
    keeps: bool = True
    recorded: tuple[Path, ...] = ()

    async def __call__(self, body: bytes, *, url: str, header_type: str) -> Document:
        """The document in `body`, from the folder where it is there. Raises ToolFailure as `extract` does."""
        sha256 = hashlib.sha256(body).hexdigest()
        name = _name(sha256, url, header_type)
        row = self._kept(name)
        if row is None:
            played = filter(None, (_read(folder / name) for folder in self.recorded))
            row = next(played, None) or await self._made(body, url, header_type)
            if self.keeps:
                _write(self.folder / name, row)
        return _document(row, url, sha256)

    def stored(self, body: bytes, *, url: str, header_type: str) -> Document | None:
        """The same from the folder alone; None where it is not there. Raises ToolFailure for a stored failure."""
        sha256 = hashlib.sha256(body).hexdigest()
        row = self._kept(_name(sha256, url, header_type))
        return None if row is None else _document(row, url, sha256)

    def _kept(self, name: Path) -> TextRow | None:
        row = _read(self.folder / name)
        return None if row is None or (self.renews and row.rules != self.rules()) else row

    async def _made(self, body: bytes, url: str, header_type: str) -> TextRow:
        rules = self.rules()
        try:
            document = await self.extract(body, url=url, header_type=header_type)
        except ToolFailure as failure:
            return TextRow(rules=rules, failure=(failure.kind, failure.message))
        return TextRow(
            rules=rules,
            title=document.title,
            media_type=document.media_type,
            text=document.text,
            engine=document.engine,
            page_starts=document.page_starts,
            notes=document.notes,
        )


def _name(sha256: str, url: str, header_type: str) -> Path:
    name = hashlib.sha256(f"{sha256}\n{url}\n{header_type}".encode("utf-8", "surrogatepass")).hexdigest()
    return Path(name[:2]) / f"{name[2:]}.json"


def _document(row: TextRow, url: str, sha256: str) -> Document:
    if row.failure is not None:
        raise ToolFailure(*row.failure)
    return Document(
        url=url,
        final_url=url,
        title=row.title,
        media_type=row.media_type,
        text=row.text,
        body_sha256=sha256,
        engine=row.engine,
        page_starts=row.page_starts,
        notes=row.notes,
    )


def _read(path: Path) -> TextRow | None:
    try:
        return TextRow.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError:
        # A file that a crash left half written, or one of another version: made anew.
        return None


def _write(path: Path, row: TextRow) -> None:
    fresh = path.with_suffix(f".{os.getpid()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with new_file(fresh) as file:
            file.write(row.model_dump_json().encode("utf-8"))
        os.replace(fresh, path)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise SetupError(
            f"cannot keep page text at {path}: {error.strerror}; free some space and repeat the command"
        ) from error
