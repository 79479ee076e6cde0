"""Sheets on disk: CSV that a spreadsheet opens and saves, or JSON Lines; written with an empty label, read back with one.

Knows: columns, encodings, what spreadsheet programs do to a file. Must not know: records, what a label is worth.
"""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.endpoint.lenient import mapping, parsed, text
from sandbox.judging.sheet import SheetRow, labels_of
from sandbox.reports.untrusted import one_line
from tools.tool import SetupError

TEXTS = ("question", "reference", "criterion", "answer", "dialogue", "sentence", "evidence")
"""Columns that stand in a sheet only where some row fills them."""
JUDGE_COLUMNS = ("judge", "judge_reason")
LABEL = "label"
LABEL_COLUMN = re.compile(r"label(?:_(?P<number>\d{1,3})| *: *(?P<name>.*\S))?", re.IGNORECASE)
"""`label`, or one column for each person: `label_1`, `label:佐藤`."""
MAX_CELL_CHARS = 30_000
"""Spreadsheet programs cut cells at 32,767 characters without a word."""
FORMULA_STARTS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""A cell that begins like this is run as a formula: text of a web page must not be."""
DELIMITERS = ",;\t"


@dataclass(frozen=True, slots=True)
class Label:
    """One label that came back. `row` is its number as the spreadsheet shows it (the header is 1; JSON Lines: the line).

    `column`: what follows `label` in the name of its column ("" for the only one). `rater`: the person whom the column
    names, None where it names nobody.
    """

    row: int
    key: str
    label: str
    note: str
    column: str = ""
    rater: str | None = None


@dataclass(frozen=True, slots=True)
class Blank:
    """What a new sheet has beside its rows: the judge's verdicts, and a column to be labelled for each of `n_raters`."""

    show_judge: bool = False
    n_raters: int = 1


def write_sheet(path: Path, rows: Sequence[SheetRow], blank: Blank | None = None) -> None:
    """Write a new sheet, CSV unless `path` ends in .jsonl. Raises SetupError where a file is there already."""
    cells = [_cells(row) for row in rows]
    columns = columns_of(cells, blank or Blank())
    is_jsonl = path.suffix.lower() == ".jsonl"
    content = _as_jsonl(columns, cells) if is_jsonl else _as_csv(columns, cells)
    try:
        with path.open("x", encoding="utf-8" if is_jsonl else "utf-8-sig", newline="") as file:
            file.write(content)
    except FileExistsError as error:
        raise SetupError(f"{path} is there already and may hold labels: choose another --out") from error
    except OSError as error:
        raise SetupError(f"{path} cannot be written: {error.strerror or error}") from error


def read_sheet(path: Path) -> list[Label]:
    """Every row of a sheet, in order, labelled or not. Raises SetupError, with the row, for what cannot be read.

    Reads what spreadsheets make of a CSV file: UTF-8 with or without mark, UTF-16, Shift_JIS; comma, semicolon or tab.
    """
    try:
        content = _decoded(path.read_bytes(), path)
    except OSError as error:
        raise SetupError(f"cannot read the sheet {path}: {error.strerror or error}") from error
    if path.suffix.lower() == ".jsonl":
        return list(_jsonl_rows(content, path))
    return list(_csv_rows(content, path))


def columns_of(cells: Sequence[Mapping[str, str]], blank: Blank) -> list[str]:
    """The columns of a sheet with these cells, in order."""
    texts = [name for name in TEXTS if any(row[name] for row in cells)]
    many = blank.n_raters > 1
    labels = [f"{LABEL}_{number}" for number in range(1, blank.n_raters + 1)] if many else [LABEL]
    judge = JUDGE_COLUMNS if blank.show_judge else ()
    return ["key", "kind", "task", *texts, "allowed", *labels, "note", *judge]


def _cells(row: SheetRow) -> Mapping[str, str]:
    return {
        "key": row.key,
        "kind": row.kind,
        "task": row.task,
        "question": row.question,
        "reference": row.reference,
        "criterion": row.criterion,
        "answer": row.answer,
        "dialogue": row.dialogue,
        "sentence": row.sentence,
        "evidence": row.evidence,
        "allowed": " / ".join(labels_of(row.kind)),
        "note": "",
        "judge": row.judgement.verdict.label or "",
        "judge_reason": row.judgement.verdict.reason,
    }


def _as_jsonl(columns: Sequence[str], rows: Iterable[Mapping[str, str]]) -> str:
    lines = [json.dumps({name: row.get(name, "") for name in columns}, ensure_ascii=False) for row in rows]
    return "".join(f"{line}\n" for line in lines)


def _as_csv(columns: Sequence[str], rows: Iterable[Mapping[str, str]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row.get(name, "")) for name in columns])
    return buffer.getvalue()


def _cell(value: str) -> str:
    safe = f"'{value}" if value.lstrip().startswith(FORMULA_STARTS) else value
    if len(safe) <= MAX_CELL_CHARS:
        return safe
    # Both ends stay: of a dialogue the last reply is what is judged above all.
    half = MAX_CELL_CHARS // 2
    return f"{safe[:half]}\n… ({len(safe) - 2 * half:,} / {len(safe):,}) …\n{safe[-half:]}"


def _decoded(body: bytes, path: Path) -> str:
    encodings = ["utf-16"] if body.startswith((b"\xff\xfe", b"\xfe\xff")) else ["utf-8-sig", "cp932"]
    for encoding in encodings:
        try:
            return body.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise SetupError(f"the sheet {path} is neither UTF-8 nor Shift_JIS: save it as CSV (UTF-8)")


def _csv_rows(content: str, path: Path) -> Iterator[Label]:
    header_line = content.partition("\n")[0]
    delimiter = max(DELIMITERS, key=header_line.count)
    reader = csv.reader(io.StringIO(content, newline=""), delimiter=delimiter)
    try:
        first: list[str] = next(reader, list[str]())
        header = [_column(name) for name in first]
        missing = [name for name in ("key",) if name not in header]
        missing += [] if any(LABEL_COLUMN.fullmatch(name) for name in header) else [LABEL]
        if missing:
            raise SetupError(
                f"the sheet {path} has no column {' and no '.join(missing)}; its first row reads: "
                f"{one_line(', '.join(header), 200) or '(nothing)'}"
            )
        twice = next((name for name in header if LABEL_COLUMN.fullmatch(name) and header.count(name) > 1), None)
        if twice is not None:
            raise SetupError(f"the sheet {path} has the column {one_line(twice, 60)} twice: name each person once")
        for number, cells in enumerate(reader, 2):
            row = dict(zip(header, cells, strict=False))
            if any(cell.strip() for cell in cells):
                yield from _labels(number, row, path)
    except csv.Error as error:
        raise SetupError(f"the sheet {path} cannot be read near line {reader.line_num}: {error}") from error


def _jsonl_rows(content: str, path: Path) -> Iterator[Label]:
    for number, line in enumerate(content.split("\n"), 1):
        if not line.strip():
            continue
        row = mapping(parsed(line))
        if "key" not in row:
            raise SetupError(f"the sheet {path}, row {number}: not a JSON object with a key")
        cells = {_column(name): _said(name, value, f"the sheet {path}, row {number}") for name, value in row.items()}
        yield from _labels(number, cells, path)


def _said(name: str, value: object, where: str) -> str:
    """A cell of a JSON row: text, nothing for null, a whole number as its digits (who grades writes 3, not "3").

    Raises SetupError where a label is anything else: passed over, it would be missing without a word.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    said = text(value)
    if said is None and value is not None and LABEL_COLUMN.fullmatch(_column(name)):
        raise SetupError(
            f"{where}: {one_line(name, 60)} is {one_line(json.dumps(value), 40)}; a label is a text or a whole number"
        )
    return said or ""


def _column(name: str) -> str:
    """A column's name as it is looked up; of `label:NAME` the person's name stays as it is."""
    found = LABEL_COLUMN.fullmatch(unicodedata.normalize("NFKC", name).strip())
    if found is not None and found["name"]:
        return f"{LABEL}:{found['name']}"
    return name.strip().lower()


def _labels(number: int, row: Mapping[str, str], path: Path) -> Iterator[Label]:
    """One for each label column, filled or not; a JSON row without any counts as one that is empty."""
    key = row.get("key", "").strip()
    if not key:
        raise SetupError(f"the sheet {path}, row {number}: the key is empty; keys must stay as they were exported")
    note = row.get("note", "").strip()
    columns = [found for name in row if (found := LABEL_COLUMN.fullmatch(name)) is not None]
    for found in columns:
        yield Label(number, key, row[found[0]].strip(), note, found["number"] or found["name"] or "", found["name"])
    if not columns:
        yield Label(number, key, "", note)
