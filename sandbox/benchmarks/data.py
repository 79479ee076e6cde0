"""Questions out of a data file: which column is what, and what is wrong with a row.

Knows: the six things that a question may bring, and what people call them. Must not know: file formats, benchmarks.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, cast, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from sandbox.benchmarks.rows import Row, Table, is_null, read_table, shown
from sandbox.benchmarks.source_list import DOCUMENT_KEYS, DocumentKeys, SourceDocument, read_documents
from tools.tool import SetupError

Target = Literal["id", "question", "reference", "task_type", "citation_instruction", "sources"]
TARGETS: tuple[Target, ...] = get_args(Target)

# A column named like the target itself wins; two of the others are a question that only the user can answer.
ALIASES: dict[Target, tuple[str, ...]] = {
    "id": ("qid", "q_id", "question_id"),
    "question": ("query", "prompt"),
    "reference": ("answer", "reference_answer", "gold"),
    "task_type": ("type", "category"),
    "citation_instruction": ("instruction",),
    "sources": ("urls", "source_urls", "doc_ids", "links", "documents", "docs", "source_documents"),
}
NEEDED: tuple[Target, ...] = ("id", "question", "reference")


def _columns(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Column = Annotated[str, Field(min_length=1)]
Columns = Annotated[tuple[Column, ...], BeforeValidator(_columns)]
SomeColumns = Annotated[tuple[Column, ...], BeforeValidator(_columns), Field(min_length=1)]


class FieldMap(BaseModel):
    """Which columns hold what; several are joined by a line end.

    None = not said, so the known names decide. `()` (written `[]`) = nothing holds it: rows are then numbered for `id`,
    and questions go without a reference.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Columns | None = None
    question: SomeColumns | None = None
    reference: Columns | None = None
    task_type: Columns | None = None
    citation_instruction: Columns | None = None
    sources: Columns | None = None
    document: DocumentKeys = DocumentKeys()
    """Which keys hold what, where `sources` are objects."""

    def of(self, target: Target) -> tuple[str, ...] | None:
        """The columns of one target."""
        return cast("tuple[str, ...] | None", getattr(self, target))


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
    """A data file as questions. `fields` is complete: as used; `unused` are the columns that nothing reads."""

    path: Path
    sha256: str
    n_rows: int
    fields: FieldMap
    rows: tuple[Question, ...]
    unused: tuple[str, ...]


def load_rows(path: Path, fields: FieldMap | None = None) -> Dataset:
    """All questions of a JSON Lines, JSON or Parquet file, in its order.

    `fields` need only name what the known names (ALIASES) do not settle. Raises SetupError in one line: file, row, keys
    seen and what to do.
    """
    table = read_table(path)
    used = _complete(table, fields or FieldMap())
    questions: list[Question] = []
    first_with: dict[str, Row] = {}
    for row in table.rows:
        question = _question(table, used, row)
        first = first_with.setdefault(question.id, row)
        if first is not row:
            raise SetupError(
                f"{path}, {row.place}: the id {_quoted(question.id)} is already that of {first.place}; "
                "make ids unique, or write `id = []` in the field map to number the rows"
            )
        questions.append(question)
    read = {column for target in TARGETS for column in used.of(target) or ()}
    unused = tuple(column for column in table.columns if column not in read)
    return Dataset(path, table.sha256, len(questions), used, tuple(questions), unused)


def read_field_map(path: Path) -> FieldMap:
    """The map of a TOML file such as `question = ["question", "choices"]`. Raises SetupError in one line."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
        return FieldMap.model_validate(tomllib.loads(text))
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {error.strerror or type(error).__name__}") from error
    except UnicodeDecodeError as error:
        raise SetupError(f"{path}: not UTF-8; convert the file, e.g. iconv -f CP932 -t UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise SetupError(f"{path}: broken TOML ({error})") from error
    except ValidationError as error:
        key = ".".join(str(step) for step in error.errors()[0]["loc"][:1])
        if key == "document":
            help_text = f"[document] names keys of a source's object: {', '.join(DOCUMENT_KEYS)}"
        elif key in TARGETS:
            help_text = f"{_quoted(key)} must be a column name or a list of them"
        else:
            help_text = f"there is no field {_quoted(key)}"
        raise SetupError(f"{path}: {help_text}; the fields are {', '.join(TARGETS)}") from error


def _complete(table: Table, asked: FieldMap) -> FieldMap:
    """The map with every target settled: by the map, or by the one column that bears a known name."""
    settled: dict[str, tuple[str, ...]] = {}
    doubts: list[str] = []
    for target in TARGETS:
        columns = asked.of(target)
        if columns is None:
            found = _known(table.columns, target)
            columns = tuple(found[:1])
            if len(found) > 1:
                doubts.append(" or ".join(_toml(target, column) for column in found))
            elif not found and target in NEEDED:
                doubts.append(_missing(table.columns, target))
        for column in columns:
            if column not in table.columns:
                near = difflib.get_close_matches(column, table.columns, n=1)
                hint = f" (did you mean {_quoted(near[0])}?)" if near else ""
                raise SetupError(
                    f"{table.path}: the field map names the column {_quoted(column)} for {target}, which no row has{hint}; "
                    f"keys: {shown(table.columns)}"
                )
        settled[target] = columns
    if doubts:
        raise SetupError(
            f"{table.path}: write a field map (a TOML file for --fields) that says which column is what: "
            f"{'; '.join(doubts)}; keys: {shown(table.columns)}"
        )
    return FieldMap.model_validate({**settled, "document": asked.document})


def _known(columns: tuple[str, ...], target: Target) -> list[str]:
    """The columns that may be the target: the one of its own name, else all of a known name, in any case."""
    own = [column for column in columns if column.casefold() == target]
    return own or [column for column in columns if column.casefold() in ALIASES[target]]


def _missing(columns: tuple[str, ...], target: Target) -> str:
    guess = difflib.get_close_matches(target, columns, n=1, cutoff=0.5)
    lines = [_toml(target, guess[0] if guess else "COLUMN")]
    if target != "question":
        lines.append(f"`{target} = []`" + (" (rows are numbered)" if target == "id" else " (none)"))
    return " or ".join(lines)


def _question(table: Table, used: FieldMap, row: Row) -> Question:
    instruction = _joined(table, row, used.citation_instruction or ())
    items = _source_items(table, row, used.sources or ())
    documents = _documents(table, row, used, items)
    return Question(
        id=_needed(table, row, "id", used.id) if used.id else str(row.number),
        question=_needed(table, row, "question", used.question or ()),
        reference=_needed(table, row, "reference", used.reference) if used.reference else None,
        task_type=_joined(table, row, used.task_type or ()),
        # A blank one says nothing, and the benchmark's own stands in.
        citation_instruction=instruction if instruction and instruction.strip() else None,
        sources=tuple(
            item if isinstance(item, str) else document.url for item, document in zip(items, documents, strict=True)
        ),
        documents=documents,
    )


def _needed(table: Table, row: Row, target: Target, columns: tuple[str, ...]) -> str:
    """The text of a column that is in use: a question without it would be counted as the model's failure."""
    text = _joined(table, row, columns)
    if text and text.strip():
        return text
    why = "missing" if not any(column in row.values for column in columns) else "null" if text is None else "empty"
    way_out = "" if target == "question" else f", or write `{target} = []` in the field map to do without"
    raise SetupError(
        f"{table.path}, {row.place}: {target} ({', '.join(columns)}) is {why}; mend the row{way_out}; "
        f"keys: {shown(list(row.values))}"
    )


def _joined(table: Table, row: Row, columns: tuple[str, ...]) -> str | None:
    texts = [_text(table, row, column) for column in columns if not is_null(row.values.get(column))]
    return "\n".join(texts) if texts else None


def _text(table: Table, row: Row, column: str) -> str:
    """A string as it stands, a number as its digits, a list of strings one a line."""
    value = row.values[column]
    if isinstance(value, list):
        items = cast("list[object]", value)
        return "\n".join(_string(table, row, column, item) for item in items)
    return _string(table, row, column, value)


def _source_items(table: Table, row: Row, columns: tuple[str, ...]) -> list[object]:
    """What the columns list, one after the other: texts, and objects as they stand."""
    found: list[object] = []
    for column in columns:
        value = row.values.get(column)
        if is_null(value):
            continue
        items = cast("list[object]", value) if isinstance(value, list) else [value]
        found += [item if isinstance(item, dict) else _string(table, row, column, item) for item in items]
    return found


def _documents(table: Table, row: Row, used: FieldMap, items: list[object]) -> tuple[SourceDocument, ...]:
    def refusal(what: str) -> SetupError:
        columns = ", ".join(used.sources or ())
        return SetupError(f"{table.path}, {row.place}: {columns} {what}; keys: {shown(list(row.values))}")

    return read_documents(items, used.document, refusal)


def _string(table: Table, row: Row, column: str, value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool) and not is_null(value):
        return str(value)
    if not isinstance(value, str):
        raise SetupError(
            f"{table.path}, {row.place}: {_quoted(column)} holds {_shown_value(value)}, where text is expected; "
            f"keys: {shown(list(row.values))}"
        )
    if _SURROGATE.search(value):
        raise SetupError(
            f"{table.path}, {row.place}: {_quoted(column)} holds half a character (a lone surrogate such as \\ud83d), "
            "which no encoding can write; mend the text"
        )
    return value


_SURROGATE = re.compile("[\ud800-\udfff]")


def _toml(target: Target, column: str) -> str:
    return f"`{target} = {_quoted(column)}`"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=bool(_SURROGATE.search(text)))


def _shown_value(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
