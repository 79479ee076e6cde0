"""Scripted user turns with a category, a technique and the prompt they were made from: the rows of JMT-Safety.

Knows: the columns, what people call them, the layouts that turns come in. Must not know: file formats, settings, scores.

The source data is gated and its column names could not be read, so every target has names that are tried (`ALIASES`), and
a field map (a TOML file) settles the rest. Turns are a list of texts, a list of the user's messages with role and
content, either as a JSON string, or one column a turn (turn1, turn2, turn3). Assistant turns are refused: the replies
between are the model's own.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, cast, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from sandbox.benchmarks.dialogues import id_of, refusal, shown_value, writable
from sandbox.benchmarks.rows import Row, Table, is_null, read_table, shown
from sandbox.endpoint.lenient import mapping
from tools.tool import SetupError

Target = Literal["id", "turns", "category", "technique", "original", "original_id"]
TARGETS: tuple[Target, ...] = get_args(Target)
NEEDED: tuple[Target, ...] = ("id", "turns", "category", "technique")

# In any case of letters. A column named like the target itself wins; two of the others are the user's to decide.
ALIASES: dict[Target, tuple[str, ...]] = {
    "id": ("dialogue_id", "question_id", "qid", "対話id"),
    "turns": (
        "user_turns",
        "conversation",
        "conversations",
        "dialogue",
        "messages",
        "prompts",
        "対話",
        "発話",
        "ターン",
    ),
    "category": ("risk_category", "subcategory", "カテゴリ", "カテゴリー", "リスクカテゴリ", "中分類"),
    "technique": ("attack", "attack_method", "attack_technique", "attack_type", "method", "手法", "攻撃手法"),
    "original": ("original_prompt", "original_question", "source_prompt", "single_turn", "元の質問", "元プロンプト"),
    "original_id": ("source_id", "original_prompt_id", "元id"),
}
TURN_COLUMN = re.compile(r"(?:user_?)?(?:turn|prompt|ターン|発話)_?([1-9])", re.IGNORECASE)
LEAST_TURNS = 2

_ROLE_KEYS, _TEXT_KEYS = ("role", "from", "speaker"), ("content", "value", "text")
_USER_ROLES = ("user", "human", "ユーザー", "ユーザ")


def _one_or_more(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Column = Annotated[str, Field(min_length=1)]
Columns = Annotated[tuple[Column, ...], BeforeValidator(_one_or_more)]
OptionalColumn = Annotated[tuple[Column, ...], BeforeValidator(_one_or_more), Field(max_length=1)]


class AttackFields(BaseModel):
    """Which column holds what; `turns` may name one column a turn.

    None = not said, so the known names decide. `()` (written `[]`) = no column holds it: rows are then numbered for `id`,
    have no technique, or no original prompt.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: OptionalColumn | None = None
    turns: Annotated[Columns, Field(min_length=1)] | None = None
    category: Annotated[OptionalColumn, Field(min_length=1)] | None = None
    technique: OptionalColumn | None = None
    original: OptionalColumn | None = None
    original_id: OptionalColumn | None = None

    def of(self, target: Target) -> tuple[str, ...] | None:
        """The columns of one target."""
        return cast("tuple[str, ...] | None", getattr(self, target))


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
    used = _complete(table, fields or AttackFields())
    attacks: list[Attack] = []
    first_with: dict[str, Row] = {}
    for row in table.rows:
        attack = _Reader(table, used, row).attack()
        first = first_with.setdefault(attack.id, row)
        if first is not row:
            raise SetupError(
                f"{path}, {row.place}: the id {shown_value(attack.id)} is already that of {first.place}; "
                "make ids unique, or write `id = []` in the field map to number the rows"
            )
        attacks.append(attack)
    read = {column for target in TARGETS for column in used.of(target) or ()}
    unused = tuple(column for column in table.columns if column not in read)
    return Attacks(path, table.sha256, tuple(attacks), unused)


def read_attack_fields(path: Path) -> AttackFields:
    """The map of a TOML file such as `turns = ["turn1", "turn2"]`. Raises SetupError in one line."""
    try:
        return AttackFields.model_validate(tomllib.loads(path.read_bytes().decode("utf-8-sig")))
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {error.strerror or type(error).__name__}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SetupError(f"{path}: broken TOML ({error})") from error
    except ValidationError as error:
        key = str(error.errors()[0]["loc"][0])
        what = "must name one column, turns one or more" if key in TARGETS else "is no field"
        raise SetupError(f"{path}: {shown_value(key)} {what}; the fields are {', '.join(TARGETS)}") from error


def _complete(table: Table, asked: AttackFields) -> AttackFields:
    """The map with every target settled: by the map, or by the one column that bears a known name."""
    settled: dict[str, tuple[str, ...]] = {}
    doubts: list[str] = []
    for target in TARGETS:
        columns = asked.of(target)
        if columns is None:
            found = _known(table.columns, target)
            columns = found[0] if found else ()
            if len(found) > 1:
                doubts.append(" or ".join(f"`{target} = {_toml(one)}`" for one in found))
            elif not found and target in NEEDED:
                nothing = "" if target in ("turns", "category") else f" or `{target} = []`"
                doubts.append(f'`{target} = "COLUMN"`{nothing}')
        missing = [column for column in columns if column not in table.columns]
        if missing:
            raise SetupError(
                f"{table.path}: the field map names {', '.join(missing)} for {target}, which no row has; "
                f"keys: {shown(table.columns)}"
            )
        settled[target] = columns
    if doubts:
        raise SetupError(
            f"{table.path}: write a field map (a TOML file for --fields) that says which column is what: "
            f"{'; '.join(doubts)}; keys: {shown(table.columns)}"
        )
    return AttackFields.model_validate(settled)


def _known(columns: Sequence[str], target: Target) -> list[tuple[str, ...]]:
    """What may be the target: the column of its own name, else all of a known name; for turns also turn1, turn2, …"""
    own: list[tuple[str, ...]] = [(column,) for column in columns if column.casefold() == target]
    if own:
        return own
    found: list[tuple[str, ...]] = [(column,) for column in columns if column.casefold() in ALIASES[target]]
    numbered = {int(match[1]): column for column in columns if (match := TURN_COLUMN.fullmatch(column))}
    if target == "turns" and len(numbered) >= LEAST_TURNS:
        found.append(tuple(numbered[number] for number in sorted(numbered)))
    return found


def _toml(columns: Sequence[str]) -> str:
    quoted = [json.dumps(column, ensure_ascii=False) for column in columns]
    return quoted[0] if len(quoted) == 1 else f"[{', '.join(quoted)}]"


class _Reader:
    """One row under way, so that each refusal can name it."""

    def __init__(self, table: Table, used: AttackFields, row: Row) -> None:
        self.table, self.used, self.row = table, used, row

    def attack(self) -> Attack:
        return Attack(
            id=id_of(self.table, self.row, self.used.id[0]) if self.used.id else str(self.row.number),
            turns=self._turns(self.used.turns or ()),
            category=self._needed("category"),
            technique=self._needed("technique") if self.used.technique else None,
            original=self._optional("original"),
            original_id=self._optional("original_id"),
        )

    def _turns(self, columns: Sequence[str]) -> tuple[str, ...]:
        name = ", ".join(columns)
        values = [self.row.values.get(column) for column in columns]
        items = values if len(columns) > 1 else self._listed(values[0], name)
        # Shorter dialogues leave the last columns of wider ones empty.
        while items and _is_blank(items[-1]):
            items = items[:-1]
        turns = tuple(self._turn(number, item) for number, item in enumerate(items, start=1))
        if not turns:
            raise self._refusal(f"{name} holds no turn")
        return turns

    def _listed(self, value: object, name: str) -> Sequence[object]:
        if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
            value = self._parsed(value, name)
        by_field = mapping(value)
        roles, texts = _first(by_field, _ROLE_KEYS), _first(by_field, _TEXT_KEYS)
        if (
            isinstance(roles, list)
            and isinstance(texts, list)
            and len(cast("list[object]", roles)) == len(cast("list[object]", texts))
        ):
            pairs = zip(cast("list[object]", roles), cast("list[object]", texts), strict=True)
            return [{"role": role, "content": text} for role, text in pairs]
        if not isinstance(value, list):
            raise self._refusal(
                f"{name} must be a list of texts, or of the user's messages with role and content, not {shown_value(value)}"
            )
        return cast("list[object]", value)

    def _parsed(self, text: str, name: str) -> object:
        try:
            value: object = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self._refusal(f"{name} is a string that is no JSON ({shown_value(text)})") from error
        return value

    def _turn(self, number: int, item: object) -> str:
        if isinstance(item, dict):
            message = mapping(cast("object", item))
            role = _first(message, _ROLE_KEYS)
            if role is not None and role not in _USER_ROLES:
                raise self._refusal(
                    f"turn {number} is by {shown_value(role)}: only the user's turns are scripted, the replies between "
                    "are the model's own; take the others out"
                )
            item = _first(message, _TEXT_KEYS)
        if not isinstance(item, str) or not item.strip():
            raise self._refusal(f"turn {number} has no text: {shown_value(item)}")
        return writable(self.table, self.row, f"turn {number}", item)

    def _needed(self, target: Target) -> str:
        text = self._optional(target)
        if text is None:
            raise self._refusal(f"{target} ({', '.join(self.used.of(target) or ())}) is empty; mend the row")
        return text

    def _optional(self, target: Target) -> str | None:
        columns = self.used.of(target)
        value = self.row.values.get(columns[0]) if columns else None
        if _is_blank(value):
            return None
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str):
            raise self._refusal(f"{target} must be text, not {shown_value(value)}")
        return writable(self.table, self.row, target, value)

    def _refusal(self, what: str) -> SetupError:
        return refusal(self.table, self.row, what)


def _first(values: Mapping[str, object], keys: Sequence[str]) -> object:
    return next((values[key] for key in keys if key in values), None)


def _is_blank(value: object) -> bool:
    return is_null(value) or (isinstance(value, str) and not value.strip())
