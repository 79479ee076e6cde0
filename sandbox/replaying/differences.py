"""Where two JSON texts first differ, in words.

Knows: JSON values. Must not know: what they stand for.
"""

from __future__ import annotations

from sandbox.endpoint.lenient import items, mapping, parsed

AROUND = 30


def first_difference(old: str, new: str) -> str:
    """`units[3].verdict.label: "full" → "partial"`; for long texts the character where they part. Empty if equal."""
    return _values(parsed(old), parsed(new), "") or ""


def _values(old: object, new: object, path: str) -> str | None:
    if old == new:
        return None
    kinds = {type(old), type(new)}
    before, after = mapping(old), mapping(new)
    if kinds == {dict}:
        for name in sorted(before.keys() | after.keys()):
            where = f"{path}.{name}" if path else name
            if name not in before or name not in after:
                return f"{where}: only {'recorded' if name in before else 'now'}"
            found = _values(before[name], after[name], where)
            if found:
                return found
    before_items, after_items = items(old), items(new)
    if kinds == {list}:
        for index, (one, other) in enumerate(zip(before_items, after_items, strict=False)):
            found = _values(one, other, f"{path}[{index}]")
            if found:
                return found
        return f"{path}: {len(before_items)} recorded, {len(after_items)} now"
    if isinstance(old, str) and isinstance(new, str):
        at = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
        start = max(0, at - AROUND)
        return f"{path}, character {at}: …{old[start : at + AROUND]!r} → …{new[start : at + AROUND]!r}"
    return f"{path}: {old!r} → {new!r}"
