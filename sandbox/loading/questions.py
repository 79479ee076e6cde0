"""Questions out of a data file: the six things that one may bring, and what is wrong with a row.

Knows: what people call the columns, how cells make a question. Must not know: file formats, benchmarks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from pydantic import BaseModel, ConfigDict, Field

from sandbox.loading.cells import Cells, check_unique
from sandbox.loading.columns import (
    UNIQUE_OR_NUMBERED,
    Columns,
    Known,
    SomeColumns,
    quoted,
    read_map,
    settled,
    unread,
)
from sandbox.loading.rows import Table, is_null, read_table, shown
from sandbox.loading.source_list import DOCUMENT_KEYS, DocumentKeys, SourceDocument, read_documents
from tools.tool import SetupError

Keyed = Mapping[object, object]
Target = Literal["id", "question", "reference", "task_type", "citation_instruction", "sources"]

KNOWN: Mapping[Target, Known] = {
    "id": Known(("qid", "q_id", "question_id"), needed=True, without="rows are numbered"),
    "question": Known(("query", "prompt"), needed=True, without=None),
    "reference": Known(("answer", "reference_answer", "gold"), needed=True),
    "task_type": Known(("type", "category")),
    "citation_instruction": Known(("instruction",)),
    "sources": Known(("urls", "source_urls", "doc_ids", "links", "documents", "docs", "source_documents")),
}


class FieldMap(BaseModel):
    """Which columns hold what; several are joined by a line end.

    None = not said, so the known names decide. `()` (written `[]`) = nothing holds it: rows are then numbered for `id`,
    and questions go without a reference. `document`: which keys hold what, where `sources` are objects.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Columns | None = None
    question: SomeColumns | None = None
    reference: Columns | None = None
    task_type: Columns | None = None
    citation_instruction: Columns | None = None
    sources: Columns | None = None
    document: DocumentKeys = Field(
        default=DocumentKeys(), description=f"[document] names keys of a source's object: {', '.join(DOCUMENT_KEYS)}"
    )


@dataclass(frozen=True, slots=True)
class Question:
    """A row as a question; every text exactly as in the file, None (or empty `sources`) where the row has none.

    `documents` are the sources with the numbers and physical pages that the row gives them.
    """

    id: str
    question: str
    reference: str | None
    task_type: str | None
    citation_instruction: str | None
    sources: tuple[str, ...]
    documents: tuple[SourceDocument, ...] = ()


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data file as questions. `fields` is complete: as used; `unused` are the columns that nothing reads, and the keys
    of sources' objects (`documents.KEY`).
    """

    path: Path
    sha256: str
    n_rows: int
    fields: FieldMap
    rows: tuple[Question, ...]
    unused: tuple[str, ...]


def load_rows(path: Path, fields: FieldMap | None = None) -> Dataset:
    """All questions of a JSON Lines, JSON or Parquet file, in its order.

    `fields` need only name what the known names (KNOWN) do not settle. Raises SetupError in one line: file, row, keys
    seen and what to do.
    """
    table = read_table(path)
    asked = fields or FieldMap()
    used = settled(table, KNOWN, asked)
    questions = tuple(_question(Cells(path, row), used, asked.document) for row in table.rows)
    check_unique(table, [question.id for question in questions], UNIQUE_OR_NUMBERED)
    complete = FieldMap.model_validate({**used, "document": asked.document})
    unused = (*unread(table, used), *_unread_keys(table, used["sources"], asked.document))
    return Dataset(path, table.sha256, len(questions), complete, questions, unused)


def read_field_map(path: Path) -> FieldMap:
    """The map of a TOML file such as `question = ["question", "choices"]`. Raises SetupError in one line."""
    return read_map(path, FieldMap)


def _question(cells: Cells, used: Mapping[Target, tuple[str, ...]], keys: DocumentKeys) -> Question:
    instruction = _joined(cells, used["citation_instruction"])
    items = _source_items(cells, used["sources"])
    named = ", ".join(used["sources"])
    documents = read_documents(items, keys, lambda what: cells.refusal(f"{named} {what}"))
    return Question(
        id=_needed(cells, "id", used["id"]) if used["id"] else str(cells.row.number),
        question=_needed(cells, "question", used["question"]),
        reference=_needed(cells, "reference", used["reference"]) if used["reference"] else None,
        task_type=_joined(cells, used["task_type"]),
        # A blank one says nothing, and the benchmark's own stands in.
        citation_instruction=instruction if instruction and instruction.strip() else None,
        sources=tuple(
            item if isinstance(item, str) else document.url for item, document in zip(items, documents, strict=True)
        ),
        documents=documents,
    )


def _unread_keys(table: Table, columns: tuple[str, ...], keys: DocumentKeys) -> tuple[str, ...]:
    """The keys of sources' objects that nothing reads. Raises SetupError where the map names one that no object has:
    documents would be numbered by their place, or shown whole, and nobody would know.
    """
    listed = [item for row in table.rows for column in columns for item in Cells(table.path, row).items(column)]
    seen = list(dict.fromkeys(str(key) for item in listed if isinstance(item, dict) for key in cast("Keyed", item)))
    unseen = keys.unseen(seen)
    if unseen:
        raise SetupError(
            f"{table.path}: [document] of the field map names {', '.join(map(quoted, unseen))}, which no object in "
            f"{', '.join(columns) or 'a column of sources'} has; keys: {shown(seen) or 'none'}"
        )
    return tuple(f"{', '.join(columns)}.{key}" for key in keys.unread(seen))


def _needed(cells: Cells, target: Target, columns: tuple[str, ...]) -> str:
    """The text of a column that is in use: a question without it would be counted as the model's failure."""
    text = _joined(cells, columns)
    if text and text.strip():
        return text
    why = "null" if text is None else "empty"
    if not any(column in cells.row.values for column in columns):
        why = "missing"
    way_out = "" if target == "question" else f", or write `{target} = []` in the field map to do without"
    raise cells.refusal(f"{target} ({', '.join(columns)}) is {why}; mend the row{way_out}")


def _joined(cells: Cells, columns: tuple[str, ...]) -> str | None:
    """What the columns hold, the texts of a list one a line; None where all are null."""
    held = [column for column in columns if not is_null(cells.value(column))]
    texts = ["\n".join(_text(cells, column, item) for item in cells.items(column)) for column in held]
    return "\n".join(texts) if texts else None


def _source_items(cells: Cells, columns: tuple[str, ...]) -> list[object]:
    """What the columns list, one after the other: texts, and objects as they stand."""
    listed = [(column, item) for column in columns for item in cells.items(column)]
    return [item if isinstance(item, dict) else _text(cells, column, item) for column, item in listed]


def _text(cells: Cells, column: str, item: object) -> str:
    """A text as it stands, a number as its digits."""
    return cells.text(quoted(column), str(item) if isinstance(item, float) and not is_null(item) else item)
