"""The configuration under which a tape was recorded, and in what another one differs.

Knows: names and values of settings as text. Must not know: what any of them means.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self, cast

from cassettes.errors import TapeChanged
from cassettes.journal import Header
from cassettes.keys import canonical

MAX_VALUE_CHARS: Final = 120


@dataclass(frozen=True, slots=True)
class Configuration:
    """What is compared between a tape and the run that uses it. `fields` are flat: `model.decode.temperature` → `0.6`."""

    sha256: str = ""
    fields: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of(cls, compared: Mapping[str, object]) -> Self:
        """From nested settings (JSON values). Long values are kept as their hash."""
        return cls(hashlib.sha256(canonical(compared)).hexdigest(), _flat("", compared))

    def check(self, header: Header, where: str) -> None:
        """Raises TapeChanged, naming each field that differs, if the tape was recorded under another configuration.

        Nothing is compared where one of the two does not say.
        """
        lines = self.differences(header)
        if lines:
            what = "\n".join(f"  {one}" for one in lines)
            raise TapeChanged(
                f"{where} was recorded under another configuration:\n{what}\n"
                "Replay with the recorded settings, or record into another folder (--out)."
            )

    def differences(self, header: Header) -> list[str]:
        """In what the tape's configuration is another one, a line a field; nothing where one of the two does not say."""
        if not self.sha256 or not header.config or self.sha256 == header.config:
            return []
        then, now = header.fields or {}, self.fields
        lines = [
            f"{name}: {then.get(name, 'absent')} on the tape, {now.get(name, 'absent')} now"
            for name in sorted({*then, *now})
            if then.get(name) != now.get(name)
        ]
        return lines or ["(the tape does not say which field)"]


def _flat(name: str, value: object) -> dict[str, str]:
    inner = _mapping(value)
    if not inner:
        return {name: _said(value)}
    fields: dict[str, str] = {}
    for key, held in inner.items():
        fields |= _flat(f"{name}.{key}" if name else key, held)
    return fields


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _said(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if len(text) <= MAX_VALUE_CHARS:
        return text
    return f"sha256:{hashlib.sha256(canonical(value)).hexdigest()[:16]} ({len(text)} characters)"
