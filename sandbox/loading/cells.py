"""The cells of a row: text and ids as they stand, and errors that name the row.

Knows: rows, what JSON and Parquet bring. Must not know: which column is what, questions.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from sandbox.loading.rows import Row, Table, is_null, shown
from tools.tool import SetupError

SHOWN_CHARS = 40


@dataclass(frozen=True, slots=True)
class Cells:
    """A row of the file `path` under way. `where` is what a message calls a cell."""

    path: Path
    row: Row

    def refusal(self, what: str) -> SetupError:
        """The error of the row: file, place, what is wrong, the keys seen."""
        return SetupError(f"{self.path}, {self.row.place}: {what}; keys: {shown(list(self.row.values))}")

    def value(self, column: str) -> object:
        """What stands in the column, None where the row lacks it."""
        return self.row.values.get(column)

    def items(self, column: str) -> list[object]:
        """What a list in the column holds, any other value as the only one; nothing where there is null."""
        value = self.value(column)
        return cast("list[object]", value) if isinstance(value, list) else [] if is_null(value) else [value]

    def text(self, where: str, value: object) -> str:
        """Text as it stands, a whole number as its digits. Raises SetupError for anything else."""
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str):
            raise self.refusal(f"{where} holds {shown_value(value)}, where text or a whole number is expected")
        return self.writable(where, value)

    def id(self, column: str) -> str:
        """The row's id, as `text` reads it. Raises SetupError, also for a blank one."""
        text = self.text(column, self.value(column))
        if not text.strip():
            raise self.refusal(f"{column} is empty; mend the row")
        return text

    def writable(self, where: str, text: str) -> str:
        """The text as it is. Raises SetupError for a lone surrogate, which no file of a run can hold."""
        try:
            text.encode()
        except UnicodeEncodeError as error:
            what = "half a character (a lone surrogate such as \\ud83d), which no encoding can write; mend the text"
            raise self.refusal(f"{where} holds {what}") from error
        return text

    def parsed(self, where: str, text: str) -> object:
        """The value of a JSON string. Raises SetupError."""
        try:
            value: object = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self.refusal(f"{where} is a string that is no JSON ({shown_value(text)})") from error
        return value


def check_unique(table: Table, ids: Sequence[str], way_out: str) -> None:
    """Raises SetupError, with both places and `way_out`, where two rows have one id; `ids` are those of the rows."""
    first_with: dict[str, Row] = {}
    for row, name in zip(table.rows, ids, strict=True):
        first = first_with.setdefault(name, row)
        if first is not row:
            what = f"the id {shown_value(name)} is already that of {first.place}; {way_out}"
            raise Cells(table.path, row).refusal(what)


def is_blank(value: object) -> bool:
    """Whether the cell says nothing: null, or white space."""
    return is_null(value) or (isinstance(value, str) and not value.strip())


def shown_value(value: object) -> str:
    """A value for a message, short."""
    text = repr(value)
    return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 3] + "..."
