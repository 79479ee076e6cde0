"""What a corpus is built from: a manifest of documents, or a plain folder of files.

Knows: rows, files, and which URL a document gets. Must not know: extraction, indexes.
"""

from __future__ import annotations

import hashlib
import json
import mimetypes
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Final, cast

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import PydanticSerializationError

from citations.ledger import page_identity
from citations.policy import Policy
from tools.tool import SetupError

MANIFEST: Final = "manifest.jsonl"
KEEP: Final = Policy(fragment="keep")
DROP: Final = Policy(fragment="drop")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A document before extraction. `where` names it in messages; `sha256` (hex) is checked where it is given."""

    where: str
    doc_id: str
    url: str
    path: Path
    title: str | None = None
    media_type: str | None = None
    sha256: str | None = None

    def body(self) -> bytes:
        """The bytes of the file. Raises SetupError where it is missing or not what the manifest says."""
        try:
            body = self.path.read_bytes()
        except OSError as error:
            raise SetupError(f"{self.where}: cannot read {self.path}: {error.strerror}") from error
        except ValueError as error:
            raise SetupError(f"{self.where}: {str(self.path)!r} cannot be the name of a file: {error}") from error
        found = hashlib.sha256(body).hexdigest()
        if self.sha256 is not None and self.sha256.lower() != found:
            raise SetupError(
                f"{self.where}: the sha256 of {self.path} is {found}, but the manifest says {self.sha256}; "
                "restore the file or mend the row"
            )
        return body


@dataclass(frozen=True, slots=True)
class Renamed:
    """A document whose URL another document has already: it is known as `url`, `given` is what the manifest says."""

    doc_id: str
    given: str
    url: str


class _Row(BaseModel):
    """A line of the manifest as people write it; further keys (licence, language, notes) are theirs."""

    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)

    path: str = Field(min_length=1, validation_alias=AliasChoices("path", "file", "filename"))
    doc_id: str | None = Field(default=None, min_length=1, validation_alias=AliasChoices("doc_id", "id"))
    url: str | None = Field(default=None, min_length=1)
    title: str | None = None
    media_type: str | None = Field(
        default=None, validation_alias=AliasChoices("media_type", "content_type", "mime_type", "mime")
    )
    sha256: str | None = Field(default=None, pattern=r"^[0-9a-fA-F]{64}$")


def source_files(source: Path) -> list[SourceFile]:
    """The documents of a manifest (a .jsonl file, or a folder with manifest.jsonl in it) or of a plain folder, in order.

    Where there is no URL it is `corpus:` and the path of the file below the folder, with `/` between. Raises SetupError,
    with the row number, for a row that is broken, names a document twice or leaves the manifest's folder.
    """
    if source.is_dir():
        manifest = source / MANIFEST
        found = _from_manifest(manifest) if manifest.is_file() else _from_folder(source)
    elif source.is_file():
        if source.suffix not in (".jsonl", ".ndjson"):
            raise SetupError(f"{source} is neither a folder nor a manifest (.jsonl)")
        found = _from_manifest(source)
    else:
        raise SetupError(f"{source} does not exist; give a folder of documents or a manifest.jsonl")
    if not found:
        raise SetupError(f"{source} holds no documents")
    return found


def _from_manifest(manifest: Path) -> list[SourceFile]:
    try:
        # By "\n" alone: U+2028 and U+0085 stand inside JSON strings, where splitlines() would break them.
        lines = manifest.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"cannot read {manifest}: {error}") from error
    folder = manifest.parent
    found: dict[str, SourceFile] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{manifest}, row {number}"
        row = _row(line, where)
        path = PurePosixPath(row.path)
        if path.is_absolute() or ".." in path.parts:
            raise SetupError(f"{where}: the path {row.path!r} leaves the folder of the manifest")
        doc_id = row.doc_id or str(path)
        if doc_id in found:
            raise SetupError(f"{where}: the document {doc_id!r} was named before ({found[doc_id].where})")
        found[doc_id] = SourceFile(
            where, doc_id, row.url or f"corpus:{path}", folder / path, row.title, row.media_type, row.sha256
        )
    return list(found.values())


def _row(line: str, where: str) -> _Row:
    try:
        value: object = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SetupError(f"{where}: not JSON that can be read ({error})") from error
    if not isinstance(value, dict):
        raise SetupError(f"{where}: not an object but {type(value).__name__}")
    row = cast(dict[str, object], value)
    try:
        found = _Row.model_validate(row)
        found.model_dump_json()
    except PydanticSerializationError as error:
        raise SetupError(f"{where}: half a character (a lone surrogate), which no encoding can write") from error
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or "row"
        keys = ", ".join(row)
        raise SetupError(f"{where}: {key}: {first['msg']} (keys of the row: {keys})") from error
    return found


def _from_folder(folder: Path) -> list[SourceFile]:
    found: list[SourceFile] = []
    for path in sorted(folder.rglob("*"), key=lambda path: path.relative_to(folder).parts):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not any(part.startswith(".") for part in PurePosixPath(name).parts):
            found.append(SourceFile(name, name, f"corpus:{name}", path, None, mimetypes.guess_type(name)[0]))
    return found


def with_own_urls(files: Iterable[SourceFile]) -> tuple[list[SourceFile], tuple[Renamed, ...]]:
    """The files with no two at one URL: a later one at a URL that is taken gets `doc=<doc_id>` into its fragment."""
    taken: set[str] = set()
    kept: list[SourceFile] = []
    renamed: list[Renamed] = []
    for file in files:
        url = file.url
        if page_identity(url, KEEP) in taken:
            url = f"{url}{'&' if '#' in url else '#'}doc={file.doc_id}"
            renamed.append(Renamed(file.doc_id, file.url, url))
        if page_identity(url, KEEP) in taken:
            raise SetupError(f"{file.where}: the URL {url} belongs to another document")
        taken.add(page_identity(url, KEEP))
        kept.append(replace(file, url=url))
    return kept, tuple(renamed)


def differ_by_fragment(urls: Iterable[str]) -> bool:
    """Whether dropping fragments would make two of these pages one."""
    urls = list(urls)
    return len({page_identity(url, DROP) for url in urls}) < len(urls)
