"""Reading JSON that others wrote: a value of the wrong type is as good as none, and nothing raises.

Knows: types. Must not know: any protocol.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

Json = Mapping[str, object]


def mapping(value: object) -> Json:
    """The value if it is an object, else an empty one."""
    return cast(Json, value) if isinstance(value, dict) else {}


def items(value: object) -> list[object]:
    """The value if it is a list, else an empty one."""
    return cast("list[object]", value) if isinstance(value, list) else []


def text(value: object) -> str | None:
    """The value if it is a string."""
    return value if isinstance(value, str) else None


def parsed(source: str | bytes) -> object:
    """The JSON value, or None where the text is none (also where it nests too deep to be read)."""
    try:
        value: object = json.loads(source)
    except (ValueError, RecursionError):
        return None
    return value
