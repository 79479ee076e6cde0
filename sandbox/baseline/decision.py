"""What a lexical decider says.

Knows: nothing but its two fields. Must not know: how anything is decided.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Decision:
    """A label and the measured reason for it."""

    label: str
    reason: str
