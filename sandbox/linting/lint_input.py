"""Answers to be linted: from a plain text, from JSON Lines, or from a run folder.

Knows: how each of them is told and read, one answer at a time. Must not know: what is found in an answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import BinaryIO, cast

from citations.markup import Dialect, dialect_named
from citations.verdict_rows import by_number
from sandbox.endpoint.lenient import mapping, parsed
from sandbox.folder.stored_run import StoredRun
from sandbox.record import Record
from tools.tool import SetupError

JSON_LINES = (".jsonl", ".ndjson")
BLANK = b" \t\r\n\xef\xbb\xbf"
"""White space and the byte-order mark."""
TEXT_KEYS = ("text", "raw")


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """An answer with what is known of it. `row`: its line in a JSON Lines file or in a run's records, from 1.

    `record` is set for an answer of a run, and then holds evidence, titles and verdicts.
    """

    id: str | int
    raw: str | None
    dialect: Dialect
    row: int | None = None
    finish_reason: str | None = None
    evidence: Mapping[int, str | None] | None = None
    titles: Mapping[int, str] | None = None
    record: Record | None = None


def answers_in(file: BinaryIO, name: str, dialect: Dialect) -> Iterator[GivenAnswer]:
    """The answers of a file: one a line if it is JSON Lines (by its name, or by its first line), else the whole of it.

    `dialect` holds where a row names none. Raises SetupError, in one sentence, for what cannot be read.
    """
    head, first = _first_line(file)
    if name.endswith(JSON_LINES) or _is_row(first):
        found = 0
        for number, line in enumerate(chain(head, file), 1):
            if line.strip(BLANK):
                found += 1
                yield _row(line, f"{name}, row {number}", number, dialect)
        if not found:
            raise SetupError(f"{name} holds no answer")
        return
    if name.endswith(".json"):
        raise SetupError(f"{name} is not JSON Lines: put one object a line, with the answer in text or raw")
    try:
        text = b"".join([*head, file.read()]).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SetupError(f"{name} is not UTF-8 text ({error.reason} at byte {error.start})") from error
    yield GivenAnswer(name, text, dialect)


def answers_of_run(run: StoredRun, dialect: Dialect | None) -> Iterator[GivenAnswer]:
    """The answers of a run, in the order of its records; a session without an answer has None for `raw`.

    With `dialect` they are read in that one, whatever the run read them in. Raises SetupError where there is no record.
    """
    n_records = 0
    for record in run.records():
        n_records += 1
        yield GivenAnswer(
            id=record.sample_id if record.repeat == 0 else f"{record.sample_id} (repeat {record.repeat})",
            raw=record.answer,
            dialect=dialect or dialect_named(record.dialect),
            row=n_records,
            finish_reason=record.finish_reason,
            record=record,
        )
    if n_records == 0:
        raise SetupError(f"no session of {run.path} is finished yet: there is nothing to lint")


def open_file(path: Path) -> BinaryIO:
    """The file, to be read as bytes. Raises SetupError where it cannot be opened."""
    try:
        return path.open("rb")
    except OSError as error:
        raise SetupError(f"cannot read {path}: {error.strerror or error}") from error


def _first_line(file: BinaryIO) -> tuple[list[bytes], bytes]:
    """The lines up to the first that is not blank, and that one."""
    head: list[bytes] = []
    for line in file:
        head.append(line)
        if line.strip(BLANK):
            return head, line
    return head, b""


def _is_row(line: bytes) -> bool:
    if not line.lstrip(BLANK).startswith(b"{"):
        return False
    return not mapping(parsed(_decoded(line, ""))).keys().isdisjoint((*TEXT_KEYS, "sample_id"))


def _decoded(line: bytes, where: str) -> str:
    try:
        return line.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if not where:
            return ""
        raise SetupError(f"{where}: not UTF-8 ({error.reason} at byte {error.start})") from error


def _row(line: bytes, where: str, number: int, dialect: Dialect) -> GivenAnswer:
    try:
        value: object = json.loads(_decoded(line, where))
    except ValueError as error:
        raise SetupError(f"{where}: not JSON ({error})") from error
    except RecursionError as error:
        raise SetupError(f"{where}: nested too deep to be read") from error
    if not isinstance(value, dict):
        raise SetupError(f"{where}: expected an object with the answer in text or raw, not {type(value).__name__}")
    row = cast("dict[str, object]", value)
    key = next((key for key in TEXT_KEYS if key in row), None)
    if key is None:
        hint = "; for a run, give its folder" if "sample_id" in row else ""
        raise SetupError(f"{where}: the object has neither text nor raw{hint}")
    if any(row.get(other, row[key]) != row[key] for other in TEXT_KEYS):
        raise SetupError(f"{where}: text and raw are not the same; leave one out")
    return GivenAnswer(
        id=_identity(row, number, where),
        raw=_text(row, key, where),
        dialect=_dialect(_text(row, "dialect", where), where) or dialect,
        row=number,
        finish_reason=_text(row, "finish_reason", where),
        evidence=_by_number(row, "evidence", where),
        titles={n: title for n, title in (_by_number(row, "titles", where) or {}).items() if title},
    )


def _identity(row: Mapping[str, object], number: int, where: str) -> str | int:
    """The row's id, or its number where it names none."""
    value = row.get("id")
    if value is None:
        return number
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise SetupError(f"{where}: id must be a string or a whole number, not {type(value).__name__}")


def _text(row: Mapping[str, object], key: str, where: str) -> str | None:
    value = row.get(key)
    if value is None or isinstance(value, str):
        return value
    raise SetupError(f"{where}: {key} must be a string or null, not {type(value).__name__}")


def _dialect(name: str | None, where: str) -> Dialect | None:
    try:
        return None if name is None else dialect_named(name)
    except ValueError as error:
        raise SetupError(f"{where}: {error}") from error


def _by_number(row: Mapping[str, object], key: str, where: str) -> Mapping[int, str | None] | None:
    value = row.get(key)
    if value is None:
        return None
    if not isinstance(value, dict):
        raise SetupError(f"{where}: {key} must be an object, number to text, not {type(value).__name__}")
    try:
        numbered = by_number(cast("dict[str, object]", value))
    except ValueError as error:
        raise SetupError(f"{where}: {key}: {error}") from error
    found: dict[int, str | None] = {}
    for number, text in numbered.items():
        if text is not None and not isinstance(text, str):
            raise SetupError(f"{where}: {key} of {number} must be a string or null, not {type(text).__name__}")
        found[number] = text
    return found
