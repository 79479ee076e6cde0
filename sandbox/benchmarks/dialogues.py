"""Dialogues with one question to the judge: the rows of MultiChallenge and of data made in its form.

Knows: the columns, the layouts of a conversation that public copies have. Must not know: file formats, settings, scores.

Columns, in any case of letters: QUESTION_ID, AXIS, CONVERSATION, TARGET_QUESTION, PASS_CRITERIA (YES or NO), and where
they are there REQUIRES_EXTERNAL_KNOWLEDGE and REFERENCE_ANSWER. A conversation is a list of messages with role and
content, or one object with a list of roles and a list of contents (as column stores write it), or either as a JSON string.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

from sandbox.benchmarks.rows import Row, Table, is_null, read_table, shown
from sandbox.endpoint.lenient import mapping
from tools.tool import SetupError

Role = Literal["system", "user", "assistant"]
Answer = Literal["yes", "no"]
Column = Literal[
    "question_id",
    "axis",
    "conversation",
    "target_question",
    "pass_criteria",
    "requires_external_knowledge",
    "reference_answer",
]
OPTIONAL: tuple[Column, ...] = ("requires_external_knowledge", "reference_answer")
_ANSWERS: Mapping[str, Answer] = {"yes": "yes", "no": "no"}
_TRUTH: Mapping[str, Answer] = {"true": "yes", "1": "yes", "false": "no", "0": "no", **_ANSWERS}


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a dialogue, exactly as in the file."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One row. The last of `messages` is the user's. `passes`: what the judge must say of an answer that passes.

    `needs_knowledge` and `reference` are None where the row does not say.
    """

    id: str
    axis: str
    messages: tuple[Turn, ...]
    target_question: str
    passes: Answer
    needs_knowledge: Answer | None = None
    reference: str | None = None

    @property
    def n_messages(self) -> int:
        """All messages of the dialogue, whoever's."""
        return len(self.messages)

    @property
    def n_user_turns(self) -> int:
        """Messages of the user alone: about half of all."""
        return sum(turn.role == "user" for turn in self.messages)


@dataclass(frozen=True, slots=True)
class Dialogues:
    """A data file as dialogues, in its order. `sha256` is hex; `unused` are the columns that nothing reads."""

    path: Path
    sha256: str
    rows: tuple[Dialogue, ...]
    unused: tuple[str, ...]


def load_dialogues(path: Path) -> Dialogues:
    """All dialogues of a JSON Lines, JSON or Parquet file. Raises SetupError in one line: file, row, keys seen."""
    table = read_table(path)
    columns = _columns(table)
    dialogues: list[Dialogue] = []
    first_with: dict[str, Row] = {}
    for row in table.rows:
        dialogue = _Reader(table, columns, row).dialogue()
        first = first_with.setdefault(dialogue.id, row)
        if first is not row:
            raise SetupError(
                f"{path}, {row.place}: the id {shown_value(dialogue.id)} is already that of {first.place}; make ids unique"
            )
        dialogues.append(dialogue)
    unused = tuple(column for column in table.columns if column not in columns.values())
    return Dialogues(path, table.sha256, tuple(dialogues), unused)


def dialogue_facts(rows: Sequence[Dialogue]) -> Mapping[str, str]:
    """What the provenance says of the dialogues: messages and user turns, which are two quantities, and the axes."""
    axes: dict[str, int] = {}
    for row in rows:
        axes[row.axis] = axes.get(row.axis, 0) + 1
    return {
        "messages": _spread([row.n_messages for row in rows]),
        "user turns": _spread([row.n_user_turns for row in rows]),
        "axes": ", ".join(f"{axis} {n}" for axis, n in sorted(axes.items())),
    }


def column_named(table: Table, name: str) -> str | None:
    """The one column of that name in any case of letters; None where there is none. Raises SetupError for two."""
    found = [column for column in table.columns if column.casefold() == name]
    if len(found) > 1:
        raise SetupError(f"{table.path}: {' and '.join(found)} are both {name}; keep one; keys: {shown(table.columns)}")
    return found[0] if found else None


def id_of(table: Table, row: Row, column: str) -> str:
    """The row's id: text as it stands, a whole number as its digits. Raises SetupError."""
    value = row.values.get(column)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and value.strip():
        return writable(table, row, column, value)
    raise refusal(table, row, f"{column} must be text or a whole number, not {shown_value(value)}")


def writable(table: Table, row: Row, where: str, text: str) -> str:
    """The text as it is. Raises SetupError for a lone surrogate, which no file of a run can hold."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        what = "half a character (a lone surrogate such as \\ud83d), which no encoding can write; mend the text"
        raise refusal(table, row, f"{where} holds {what}") from error
    return text


def refusal(table: Table, row: Row, what: str) -> SetupError:
    """The error of one row: file, place, what is wrong, the keys seen."""
    return SetupError(f"{table.path}, {row.place}: {what}; keys: {shown(list(row.values))}")


def shown_value(value: object) -> str:
    """A value for a message, short."""
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _columns(table: Table) -> Mapping[Column, str]:
    found: dict[Column, str] = {}
    missing: list[str] = []
    names: tuple[Column, ...] = get_args(Column)
    for name in names:
        column = column_named(table, name)
        if column is not None:
            found[name] = column
        elif name not in OPTIONAL:
            missing.append(name.upper())
    if missing:
        raise SetupError(
            f"{table.path}: no column {' and none '.join(missing)}; rename the columns (in any case of letters); "
            f"keys: {shown(table.columns)}"
        )
    return found


class _Reader:
    """One row under way, so that each refusal can name it."""

    def __init__(self, table: Table, columns: Mapping[Column, str], row: Row) -> None:
        self.table, self.columns, self.row = table, columns, row

    def dialogue(self) -> Dialogue:
        messages = self._messages(self._value("conversation"))
        if not messages or messages[-1].role != "user" or not messages[-1].content.strip():
            last = f"its last message is the {messages[-1].role}'s" if messages else "it is empty"
            if messages and messages[-1].role == "user":
                last = "its last message is blank"
            raise self._refusal(f"{self._name('conversation')} must end with what the user asks, and {last}")
        passes = _ANSWERS.get(self._text("pass_criteria").strip().casefold())
        if passes is None:
            raise self._refusal(f"{self._name('pass_criteria')} must be YES or NO, not {self._shown('pass_criteria')}")
        return Dialogue(
            id=id_of(self.table, self.row, self._name("question_id")),
            axis=self._text("axis"),
            messages=messages,
            target_question=self._text("target_question"),
            passes=passes,
            needs_knowledge=self._needs_knowledge(),
            reference=None if self._is_absent("reference_answer") else self._text("reference_answer"),
        )

    def _messages(self, value: object) -> tuple[Turn, ...]:
        listed = _listed(self._parsed(value) if isinstance(value, str) else value)
        if listed is None:
            raise self._refusal(
                f"{self._name('conversation')} must be a list of messages with role and content, or an object with a list "
                f"of each, as long as each other; it is {shown_value(value)}"
            )
        return tuple(self._turn(number, item) for number, item in enumerate(listed, start=1))

    def _parsed(self, text: str) -> object:
        try:
            value: object = json.loads(text)
        except (ValueError, RecursionError) as error:
            name = self._name("conversation")
            raise self._refusal(f"{name} is a string that is no JSON ({shown_value(text)})") from error
        return value

    def _turn(self, number: int, item: object) -> Turn:
        # A column store fills fields that only other messages have with null.
        held: dict[str, object] = {key.casefold(): value for key, value in mapping(item).items() if not is_null(value)}
        role, content = held.pop("role", None), held.pop("content", None)
        if not isinstance(content, str):
            raise self._refusal(f"message {number} has no text under content: {shown_value(item)}")
        if role not in ("system", "user", "assistant"):
            raise self._refusal(f"the role of message {number} is {shown_value(role)}, not system, user or assistant")
        if held:
            raise self._refusal(f"message {number} holds {shown(list(held))}, which would not be sent; take it out")
        return Turn(role, writable(self.table, self.row, f"message {number}", content))

    def _needs_knowledge(self) -> Answer | None:
        if self._is_absent("requires_external_knowledge"):
            return None
        answer = _TRUTH.get(str(self._value("requires_external_knowledge")).strip().casefold())
        if answer is None:
            name = self._name("requires_external_knowledge")
            raise self._refusal(f"{name} must be true or false, not {self._shown('requires_external_knowledge')}")
        return answer

    def _is_absent(self, column: Column) -> bool:
        return column not in self.columns or is_null(self.row.values.get(self.columns[column]))

    def _text(self, column: Column) -> str:
        value = self._value(column)
        if not isinstance(value, str) or not value.strip():
            raise self._refusal(f"{self._name(column)} must be text, not {self._shown(column)}")
        return writable(self.table, self.row, self._name(column), value)

    def _value(self, column: Column) -> object:
        if self.columns[column] not in self.row.values:
            raise self._refusal(f"{self._name(column)} is missing")
        return self.row.values[self.columns[column]]

    def _name(self, column: Column) -> str:
        return self.columns[column]

    def _shown(self, column: Column) -> str:
        return shown_value(self.row.values.get(self.columns[column]))

    def _refusal(self, what: str) -> SetupError:
        return refusal(self.table, self.row, what)


def _listed(value: object) -> list[object] | None:
    """The messages one by one; None where it is neither a list nor an object of lists of one length."""
    if isinstance(value, list):
        return cast("list[object]", value)
    fields = mapping(value)
    lists = {key: cast("list[object]", held) for key, held in fields.items() if isinstance(held, list)}
    sizes = {len(values) for values in lists.values()}
    if len(lists) != len(fields) or len(sizes) != 1:
        return None
    return [{key: values[index] for key, values in lists.items()} for index in range(sizes.pop())]


def _spread(counts: Sequence[int]) -> str:
    return f"{min(counts)}–{max(counts)}, mean {sum(counts) / len(counts):.2f}, {sum(counts)} in all"
