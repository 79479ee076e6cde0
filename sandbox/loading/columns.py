"""Which column of a data file holds what: by fixed names, or by a field map with known names for what it leaves open.

Knows: names of columns, the TOML of a field map. Must not know: what a cell holds, a benchmark's own targets.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from sandbox.loading.rows import Table, shown
from tools.tool import SetupError

Target = TypeVar("Target", bound=str)
"""The Literal of what a benchmark's rows bring; each has a field of its name in the benchmark's field map."""
Map = TypeVar("Map", bound=BaseModel)


def _listed(value: object) -> object:
    return (value,) if isinstance(value, str) else value


UNIQUE_OR_NUMBERED = "make ids unique, or write `id = []` in the field map to number the rows"
"""What to do about an id that stands twice, where a field map is read."""

Column = Annotated[str, Field(min_length=1)]
Columns = Annotated[tuple[Column, ...], BeforeValidator(_listed)]
"""Fields of a map, as written: a name, or a list of them (`SomeColumns`: not an empty one; `OneColumn`: one at most)."""
SomeColumns = Annotated[tuple[Column, ...], BeforeValidator(_listed), Field(min_length=1)]
OneColumn = Annotated[tuple[Column, ...], BeforeValidator(_listed), Field(max_length=1)]


@dataclass(frozen=True, slots=True)
class Known:
    """What people call the column of one target, in any case of letters.

    A column named like the target itself wins; two of the others are a question that only the user can answer, and so is
    a `needed` target without any. `without`: what `[]` makes of it, None where no row can do without. `numbered`: names of
    columns that hold it together, one part each, by their number.
    """

    aliases: tuple[str, ...]
    needed: bool = False
    without: str | None = "none"
    numbered: re.Pattern[str] | None = None


def columns_named(table: Table, names: Sequence[Target], optional: Sequence[Target] = ()) -> Mapping[Target, str]:
    """The one column of each name, in any case of letters; the `optional` ones may lack. Raises SetupError in one line."""
    found: dict[Target, str] = {}
    missing: list[str] = []
    for name in names:
        columns = [column for column in table.columns if column.casefold() == name]
        if len(columns) > 1:
            both = " and ".join(columns)
            raise SetupError(f"{table.path}: {both} are both {name}; keep one; keys: {shown(table.columns)}")
        if columns:
            found[name] = columns[0]
        elif name not in optional:
            missing.append(name.upper())
    if missing:
        raise SetupError(
            f"{table.path}: no column {' and none '.join(missing)}; rename the columns (in any case of letters); "
            f"keys: {shown(table.columns)}"
        )
    return found


def settled(table: Table, known: Mapping[Target, Known], asked: BaseModel) -> dict[Target, tuple[str, ...]]:
    """The columns of every target: by the map `asked`, or by the one column that bears a known name; () = none.

    Raises SetupError in one line: all doubts with what to write, or a column of the map that no row has.
    """
    found: dict[Target, tuple[str, ...]] = {}
    doubts: list[str] = []
    for target, names in known.items():
        columns = cast("tuple[str, ...] | None", getattr(asked, target))
        if columns is None:
            candidates = _candidates(table.columns, target, names)
            columns = candidates[0] if candidates else ()
            if len(candidates) > 1:
                doubts.append(" or ".join(_toml(target, one) for one in candidates))
            elif not candidates and names.needed:
                doubts.append(_missing(table.columns, target, names))
        for column in columns:
            if column not in table.columns:
                near = difflib.get_close_matches(column, table.columns, n=1)
                hint = f" (did you mean {quoted(near[0])}?)" if near else ""
                raise SetupError(
                    f"{table.path}: the field map names the column {quoted(column)} for {target}, which no row has{hint}; "
                    f"keys: {shown(table.columns)}"
                )
        found[target] = columns
    if doubts:
        raise SetupError(
            f"{table.path}: write a field map (a TOML file for --fields) that says which column is what: "
            f"{'; '.join(doubts)}; keys: {shown(table.columns)}"
        )
    return found


def unread(table: Table, used: Mapping[Target, Sequence[str]]) -> tuple[str, ...]:
    """The columns that nothing reads."""
    return tuple(column for column in table.columns if not any(column in columns for columns in used.values()))


def read_map(path: Path, model: type[Map]) -> Map:
    """The field map of a TOML file such as `question = ["question", "choices"]`. Raises SetupError in one line.

    A field of `model` that names no columns says in its description what it takes.
    """
    try:
        return model.model_validate(tomllib.loads(path.read_bytes().decode("utf-8-sig")))
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {error.strerror or type(error).__name__}") from error
    except UnicodeDecodeError as error:
        raise SetupError(f"{path}: not UTF-8; convert the file, e.g. iconv -f CP932 -t UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise SetupError(f"{path}: broken TOML ({error})") from error
    except ValidationError as error:
        fields = {name: field.description for name, field in model.model_fields.items()}
        first = error.errors()[0]
        name = str(first["loc"][0])
        must = _MUST.get(first["type"], "be a column name or a list of them")
        what = fields.get(name) or f"{quoted(name)} must {must}"
        if name not in fields:
            what = f"there is no field {quoted(name)}"
        raise SetupError(f"{path}: {what}; the fields are {', '.join(fields)}") from error


_MUST: Mapping[str, str] = {"too_long": "name one column only", "too_short": "name a column"}


def quoted(text: str) -> str:
    """A name as TOML has it; half a character, which cannot be printed, as its escape."""
    return json.dumps(text, ensure_ascii=any("\ud800" <= char <= "\udfff" for char in text))


def _candidates(columns: Sequence[str], target: str, names: Known) -> list[tuple[str, ...]]:
    """What may be the target: the column of its own name, else all of a known name, and the numbered ones together."""
    own: list[tuple[str, ...]] = [(column,) for column in columns if column.casefold() == target]
    if own:
        return own
    found: list[tuple[str, ...]] = [(column,) for column in columns if column.casefold() in names.aliases]
    matches = [match for column in columns if names.numbered and (match := names.numbered.fullmatch(column))]
    numbered = {int(match[1]): match[0] for match in matches}
    return [*found, tuple(numbered[number] for number in sorted(numbered))] if len(numbered) > 1 else found


def _missing(columns: Sequence[str], target: str, names: Known) -> str:
    guess = difflib.get_close_matches(target, columns, n=1, cutoff=0.5)
    to_write = _toml(target, guess or ["COLUMN"])
    return to_write if names.without is None else f"{to_write} or `{target} = []` ({names.without})"


def _toml(target: str, columns: Sequence[str]) -> str:
    listed = ", ".join(map(quoted, columns))
    return f"`{target} = {listed}`" if len(columns) == 1 else f"`{target} = [{listed}]`"
