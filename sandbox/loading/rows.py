"""Rows out of a data file: JSON Lines, JSON or Parquet, told apart by what is in it.

Knows: file formats and what goes wrong in files that people make. Must not know: questions, or what a column means.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

from tools.tool import SetupError

MAX_KEYS_SHOWN = 20

READ = "JSON Lines, JSON and Parquet are read"
NOT_JSON: Mapping[bytes, str] = {
    b"\xff\xfe": "is UTF-16: convert it, e.g. iconv -f UTF-16 -t UTF-8",
    b"\xfe\xff": "is UTF-16: convert it, e.g. iconv -f UTF-16 -t UTF-8",
    b"\x1f\x8b": "is compressed: unpack it first, e.g. gzip -d",
    b"\x28\xb5\x2f\xfd": "is compressed: unpack it first, e.g. zstd -d",
    b"PK\x03\x04": f"is a spreadsheet or a ZIP archive: {READ}; save its rows as one of them",
    b"\xd0\xcf\x11\xe0": f"is a spreadsheet: {READ}; save its rows as one of them",
}
"""What files of other kinds begin with, and what to do about them."""

PARQUET_EXTRA = (
    "reading Parquet needs pyarrow: pip install 'pincite[parquet]' (in a checkout: uv run --extra parquet …), "
    "or convert the file to JSON Lines"
)


@dataclass(frozen=True, slots=True)
class Row:
    """One row as it stands in the file. `number` counts rows from 1; `line` is set where it is another number."""

    number: int
    values: Mapping[str, object]
    line: int | None = None

    @property
    def place(self) -> str:
        """`row 3`, or `row 3 (line 5)`."""
        return f"row {self.number}" if self.line in (None, self.number) else f"row {self.number} (line {self.line})"


@dataclass(frozen=True, slots=True)
class Table:
    """A data file. `sha256` is hex over its bytes, `columns` all keys that occur, in order of appearance."""

    path: Path
    sha256: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def read_table(path: Path) -> Table:
    """Every row of the file. Raises SetupError, in one line with the file and the place, where there is none to read."""
    try:
        sha256 = _sha256(path)
        rows = _parquet_rows(path) if _starts_with(path, b"PAR1") else _json_rows(path, path.read_bytes())
    except FileNotFoundError as error:
        raise SetupError(f"{path}: there is no such file") from error
    except IsADirectoryError as error:
        raise SetupError(f"{path} is a directory: name the data file in it{_candidates(path)}") from error
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {error.strerror or type(error).__name__}") from error
    if not rows:
        raise SetupError(f"{path} holds no rows")
    return Table(path, sha256, tuple(dict.fromkeys(key for row in rows for key in row.values)), rows)


def shown(keys: tuple[str, ...] | list[str]) -> str:
    """Keys for a message: the first twenty, and how many more."""
    more = f" and {len(keys) - MAX_KEYS_SHOWN} more" if len(keys) > MAX_KEYS_SHOWN else ""
    return ", ".join(key if key.isprintable() else ascii(key) for key in keys[:MAX_KEYS_SHOWN]) + more


def is_null(value: object) -> bool:
    """None, and the NaN that table tools write for it."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _json_rows(path: Path, body: bytes) -> tuple[Row, ...]:
    for magic, what in NOT_JSON.items():
        if body.startswith(magic):
            raise SetupError(f"{path} {what}")
    # By "\n" alone: U+2028 and U+0085 stand inside JSON strings, where splitlines() would break them.
    lines = body.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    numbered = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    if not numbered:
        return ()
    if not numbered[0][1].lstrip().startswith((b"{", b"[")):
        suffix = path.suffix.lower()
        kind = f"is {suffix[1:].upper()}" if suffix in (".csv", ".tsv") else "begins with neither { nor ["
        raise SetupError(f"{path} {kind}: {READ}; save its rows as one of them")
    if _is_json_lines(path, numbered):
        return tuple(
            Row(row, _json_object(path, f"row {row} (line {number})", line), number)
            for row, (number, line) in enumerate(numbered, start=1)
        )
    listed = _listed(path, _parsed(path, "", b"\n".join(lines)))
    return tuple(Row(row, _as_object(path, f"row {row}", item)) for row, item in enumerate(listed, start=1))


def _is_json_lines(path: Path, numbered: list[tuple[int, bytes]]) -> bool:
    """By content: public `.json` files are often JSON Lines. One object alone is a row only in a `.jsonl`."""
    first = numbered[0][1].strip()
    if first.startswith(b"["):
        return False
    if path.suffix in (".jsonl", ".ndjson"):
        return True
    return len(numbered) > 1 and first.endswith(b"}") and numbered[1][1].lstrip().startswith(b"{")


def _json_object(path: Path, place: str, text: bytes) -> Mapping[str, object]:
    return _as_object(path, place, _parsed(path, place, text))


def _parsed(path: Path, place: str, text: bytes) -> object:
    where = f"{path}, {place}" if place else f"{path}"
    try:
        value: object = json.loads(text.decode("utf-8"), object_pairs_hook=_each_once)
    except _TwiceError as error:
        raise SetupError(f"{where}: the key {shown([str(error)])} stands twice in one object; keep one") from error
    except UnicodeDecodeError as error:
        at = text[: error.start].count(b"\n") + 1
        where = where if place else f"{path}, line {at}"
        raise SetupError(f"{where}: not UTF-8; convert the file, e.g. iconv -f CP932 -t UTF-8") from error
    except json.JSONDecodeError as error:
        at_line = "" if place else f"line {error.lineno} "
        raise SetupError(f"{where}: broken JSON at {at_line}column {error.colno} ({error.msg})") from error
    except (ValueError, RecursionError) as error:
        raise SetupError(f"{where}: JSON that cannot be read ({type(error).__name__}: too long or too deep)") from error
    return value


class _TwiceError(Exception):
    """A key stands twice in one object: one of its values would be dropped without a word."""


def _each_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _TwiceError(next(key for key in keys if keys.count(key) > 1))
    return found


def _listed(path: Path, value: object) -> list[object]:
    if isinstance(value, list):
        return cast("list[object]", value)
    fields = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    lists = [key for key, item in fields.items() if _is_list_of_objects(item)]
    if len(lists) != 1:
        found = f"lists under the keys {shown(lists)}" if lists else f"none (keys: {shown(list(fields)) or 'none'})"
        raise SetupError(f"{path}: expected a list of rows, or an object with one such list in it; found {found}")
    return cast("list[object]", fields[lists[0]])


def _is_list_of_objects(value: object) -> bool:
    return isinstance(value, list) and (not value or isinstance(cast("list[object]", value)[0], dict))


def _as_object(path: Path, place: str, value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise SetupError(f"{path}, {place}: a row must be a JSON object, not {_kind(value)}")
    return cast("dict[str, object]", value)


class _ParquetTable(Protocol):
    def to_pylist(self) -> list[dict[str, object]]: ...


class _Parquet(Protocol):
    """What we use of `pyarrow.parquet`."""

    def read_table(self, source: str) -> _ParquetTable: ...


def _parquet_rows(path: Path) -> tuple[Row, ...]:
    try:
        parquet = cast("_Parquet", importlib.import_module("pyarrow.parquet"))
    except ImportError as error:
        raise SetupError(f"{path}: {PARQUET_EXTRA}") from error
    try:
        listed = parquet.read_table(str(path)).to_pylist()
    except (OSError, ValueError, NotImplementedError) as error:  # pyarrow's own errors derive from these
        raise SetupError(f"{path}: broken Parquet ({' '.join(str(error).split())[:200]})") from error
    return tuple(Row(number, values) for number, values in enumerate(listed, start=1))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _starts_with(path: Path, magic: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(magic)) == magic


def _candidates(folder: Path) -> str:
    names = sorted(item.name for item in folder.iterdir() if item.suffix in (".jsonl", ".ndjson", ".json", ".parquet"))
    return f" ({shown(names)})" if names else ""


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case str():
            return "a string"
        case list():
            return "a list"
        case bool():
            return "true or false"
        case _:
            return "a number"
