"""Dialogues with one question to the judge: the rows of MultiChallenge and of data made in its form.

Knows: the columns, the layouts of a conversation that public copies have. Must not know: file formats, settings, scores.

Columns, in any case of letters: QUESTION_ID, AXIS, CONVERSATION, TARGET_QUESTION, PASS_CRITERIA (YES or NO), and where
they are there REQUIRES_EXTERNAL_KNOWLEDGE and REFERENCE_ANSWER. A conversation is a list of messages with role and
content, or one object with a list of roles and a list of contents (as column stores write it), or either as a JSON string.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

from sandbox.endpoint.lenient import mapping
from sandbox.loading.cells import Cells, check_unique, shown_value
from sandbox.loading.columns import columns_named
from sandbox.loading.rows import is_null, read_table, shown
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
COLUMNS: tuple[Column, ...] = get_args(Column)
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
    columns = columns_named(table, COLUMNS, OPTIONAL)
    dialogues = tuple(_Reader(Cells(path, row), columns).dialogue() for row in table.rows)
    check_unique(table, [dialogue.id for dialogue in dialogues], "make ids unique")
    _check_axes(path, dialogues)
    unused = tuple(column for column in table.columns if column not in columns.values())
    return Dialogues(path, table.sha256, dialogues, unused)


def _check_axes(path: Path, dialogues: Sequence[Dialogue]) -> None:
    """Refuse two spellings of one axis: each would weigh as much as a whole axis in their mean."""
    spelled: dict[str, str] = {}
    for dialogue in dialogues:
        letters = unicodedata.normalize("NFKC", dialogue.axis).casefold()
        first = spelled.setdefault("".join(char for char in letters if char.isalnum()) or letters, dialogue.axis)
        if first != dialogue.axis:
            raise SetupError(
                f"{path}: {shown_value(first)} and {shown_value(dialogue.axis)} (question {shown_value(dialogue.id)}) are "
                "one axis in two spellings, which would count as two; write it in one"
            )


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


class _Reader:
    """One row under way, so that each refusal can name it."""

    def __init__(self, cells: Cells, columns: Mapping[Column, str]) -> None:
        self.cells, self.columns = cells, columns

    def dialogue(self) -> Dialogue:
        messages = self._messages(self._value("conversation"))
        if not messages or messages[-1].role != "user" or not messages[-1].content.strip():
            last = f"its last message is the {messages[-1].role}'s" if messages else "it is empty"
            if messages and messages[-1].role == "user":
                last = "its last message is blank"
            raise self.cells.refusal(f"{self.columns['conversation']} must end with what the user asks, and {last}")
        criteria = self._text("pass_criteria")
        passes = _ANSWERS.get(criteria.strip().casefold())
        if passes is None:
            raise self.cells.refusal(f"{self.columns['pass_criteria']} must be YES or NO, not {shown_value(criteria)}")
        return Dialogue(
            id=self.cells.id(self.columns["question_id"]),
            axis=self._text("axis"),
            messages=messages,
            target_question=self._text("target_question"),
            passes=passes,
            needs_knowledge=self._needs_knowledge(),
            reference=None if self._is_absent("reference_answer") else self._text("reference_answer"),
        )

    def _messages(self, value: object) -> tuple[Turn, ...]:
        listed = _listed(self.cells.parsed(self.columns["conversation"], value) if isinstance(value, str) else value)
        if listed is None:
            raise self.cells.refusal(
                f"{self.columns['conversation']} must be a list of messages with role and content, or an object with a "
                f"list of each, as long as each other; it is {shown_value(value)}"
            )
        return tuple(self._turn(number, item) for number, item in enumerate(listed, start=1))

    def _turn(self, number: int, item: object) -> Turn:
        # A column store fills fields that only other messages have with null.
        held: dict[str, object] = {key.casefold(): value for key, value in mapping(item).items() if not is_null(value)}
        role, content = held.pop("role", None), held.pop("content", None)
        if not isinstance(content, str):
            raise self.cells.refusal(f"message {number} has no text under content: {shown_value(item)}")
        if role not in ("system", "user", "assistant"):
            raise self.cells.refusal(
                f"the role of message {number} is {shown_value(role)}, not system, user or assistant"
            )
        if held:
            raise self.cells.refusal(
                f"message {number} holds {shown(list(held))}, which would not be sent; take it out"
            )
        return Turn(role, self.cells.writable(f"message {number}", content))

    def _needs_knowledge(self) -> Answer | None:
        if self._is_absent("requires_external_knowledge"):
            return None
        value = self._value("requires_external_knowledge")
        answer = _TRUTH.get(str(value).strip().casefold())
        if answer is None:
            name = self.columns["requires_external_knowledge"]
            raise self.cells.refusal(f"{name} must be true or false, not {shown_value(value)}")
        return answer

    def _is_absent(self, column: Column) -> bool:
        return column not in self.columns or is_null(self.cells.value(self.columns[column]))

    def _text(self, column: Column) -> str:
        value = self._value(column)
        if not isinstance(value, str) or not value.strip():
            raise self.cells.refusal(f"{self.columns[column]} must be text, not {shown_value(value)}")
        return self.cells.writable(self.columns[column], value)

    def _value(self, column: Column) -> object:
        if self.columns[column] not in self.cells.row.values:
            raise self.cells.refusal(f"{self.columns[column]} is missing")
        return self.cells.value(self.columns[column])


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
