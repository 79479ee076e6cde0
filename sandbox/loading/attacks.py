"""Scripted user turns with a category, a technique and the prompt they were made from: the rows of JMT-Safety.

Knows: the columns, what people call them, the layouts that turns come in. Must not know: file formats, settings, scores.

The source data is gated and its column names could not be read, so every target has names that are tried (`KNOWN`), and
a field map (a TOML file) settles the rest. Turns are a list of texts, a list of the user's messages with role and
content, either as a JSON string, or one column a turn (turn1, turn2, turn3). Assistant turns are refused: the replies
between are the model's own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, cast

from pydantic import BaseModel, ConfigDict, Field

from sandbox.endpoint.lenient import items, mapping
from sandbox.loading.cells import Cells, check_unique, is_blank, shown_value
from sandbox.loading.columns import UNIQUE_OR_NUMBERED, Known, OneColumn, SomeColumns, read_map, settled, unread
from sandbox.loading.rows import Table, read_table

Target = Literal["id", "turns", "category", "technique", "original", "original_id"]

KNOWN: Mapping[Target, Known] = {
    "id": Known(("dialogue_id", "question_id", "qid", "対話id"), needed=True, without="rows are numbered"),
    "turns": Known(
        ("user_turns", "conversation", "conversations", "dialogue", "messages", "prompts", "対話", "発話", "ターン"),
        needed=True,
        without=None,
        numbered=re.compile(r"(?:user_?)?(?:turn|prompt|ターン|発話)_?([1-9])", re.IGNORECASE),
    ),
    "category": Known(
        ("risk_category", "subcategory", "カテゴリ", "カテゴリー", "リスクカテゴリ", "中分類"),
        needed=True,
        without=None,
    ),
    "technique": Known(
        ("attack", "attack_method", "attack_technique", "attack_type", "method", "手法", "攻撃手法"), needed=True
    ),
    "original": Known(
        ("original_prompt", "original_question", "source_prompt", "single_turn", "元の質問", "元プロンプト")
    ),
    "original_id": Known(("source_id", "original_prompt_id", "元id")),
}
LEAST_TURNS = 2

_ROLE_KEYS, _TEXT_KEYS = ("role", "from", "speaker"), ("content", "value", "text")
_USER_ROLES = ("user", "human", "ユーザー", "ユーザ")


class AttackFields(BaseModel):
    """Which column holds what; `turns` may name one column a turn.

    None = not said, so the known names decide. `()` (written `[]`) = no column holds it: rows are then numbered for `id`,
    have no technique, or no original prompt.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: OneColumn | None = None
    turns: SomeColumns | None = None
    category: Annotated[OneColumn, Field(min_length=1)] | None = None
    technique: OneColumn | None = None
    original: OneColumn | None = None
    original_id: OneColumn | None = None


@dataclass(frozen=True, slots=True)
class Attack:
    """One row; every text exactly as in the file. `turns` are the user's, at least one; None where the row says nothing."""

    id: str
    turns: tuple[str, ...]
    category: str
    technique: str | None
    original: str | None
    original_id: str | None


@dataclass(frozen=True, slots=True)
class Attacks:
    """A data file as attacks, in its order. `sha256` is hex; `unused` are the columns that nothing reads."""

    path: Path
    sha256: str
    rows: tuple[Attack, ...]
    unused: tuple[str, ...]


def load_attacks(path: Path, fields: AttackFields | None = None) -> Attacks:
    """All rows of a JSON Lines, JSON or Parquet file. Raises SetupError in one line: file, row, keys seen, what to do."""
    table = read_table(path)
    used = settled(table, KNOWN, fields or AttackFields())
    attacks = tuple(_Reader(Cells(path, row), used).attack() for row in table.rows)
    check_unique(table, [attack.id for attack in attacks], UNIQUE_OR_NUMBERED)
    return Attacks(path, table.sha256, attacks, (*unread(table, used), *_unread_keys(table, used["turns"])))


def read_attack_fields(path: Path) -> AttackFields:
    """The map of a TOML file such as `turns = ["turn1", "turn2"]`. Raises SetupError in one line."""
    return read_map(path, AttackFields)


def _unread_keys(table: Table, columns: Sequence[str]) -> tuple[str, ...]:
    """The keys of messages, as `turns.KEY`, that nothing reads: what stands there is not sent."""
    turns = (item for row in table.rows for column in columns for item in Cells(table.path, row).items(column))
    seen = dict.fromkeys(key for turn in turns for key in mapping(turn))
    return tuple(f"{', '.join(columns)}.{key}" for key in seen if key not in (*_ROLE_KEYS, *_TEXT_KEYS))


class _Reader:
    """One row under way, so that each refusal can name it."""

    def __init__(self, cells: Cells, used: Mapping[Target, tuple[str, ...]]) -> None:
        self.cells, self.used = cells, used

    def attack(self) -> Attack:
        return Attack(
            id=self.cells.id(self.used["id"][0]) if self.used["id"] else str(self.cells.row.number),
            turns=self._turns(self.used["turns"]),
            category=self._needed("category"),
            technique=self._needed("technique") if self.used["technique"] else None,
            original=self._optional("original"),
            original_id=self._optional("original_id"),
        )

    def _turns(self, columns: Sequence[str]) -> tuple[str, ...]:
        name = ", ".join(columns)
        values = [self.cells.value(column) for column in columns]
        listed = values if len(columns) > 1 else self._listed(values[0], name)
        # Shorter dialogues leave the last columns of wider ones empty.
        while listed and is_blank(listed[-1]):
            listed = listed[:-1]
        turns = tuple(self._turn(number, item) for number, item in enumerate(listed, start=1))
        if not turns:
            raise self.cells.refusal(f"{name} holds no turn")
        return turns

    def _listed(self, value: object, name: str) -> Sequence[object]:
        if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
            value = self.cells.parsed(name, value)
        by_field = mapping(value)
        roles, texts = items(_first(by_field, _ROLE_KEYS)), items(_first(by_field, _TEXT_KEYS))
        if roles and len(roles) == len(texts):
            return [{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)]
        if not isinstance(value, list):
            raise self.cells.refusal(
                f"{name} must be a list of texts, or of the user's messages with role and content, not {shown_value(value)}"
            )
        return cast("list[object]", value)

    def _turn(self, number: int, item: object) -> str:
        if isinstance(item, dict):
            message = mapping(cast("object", item))
            role = _first(message, _ROLE_KEYS)
            if role is not None and str(role).casefold() not in _USER_ROLES:
                raise self.cells.refusal(
                    f"turn {number} is by {shown_value(role)}: only the user's turns are scripted, the replies between "
                    "are the model's own; take the others out"
                )
            item = _first(message, _TEXT_KEYS)
        if not isinstance(item, str) or not item.strip():
            raise self.cells.refusal(f"turn {number} has no text: {shown_value(item)}")
        return self.cells.writable(f"turn {number}", item)

    def _needed(self, target: Target) -> str:
        text = self._optional(target)
        if text is None:
            raise self.cells.refusal(f"{target} ({', '.join(self.used[target])}) is empty; mend the row")
        return text

    def _optional(self, target: Target) -> str | None:
        values = [self.cells.value(column) for column in self.used[target]]
        return None if all(map(is_blank, values)) else self.cells.text(target, values[0])


def _first(values: Mapping[str, object], keys: Sequence[str]) -> object:
    return next((values[key] for key in keys if key in values), None)
