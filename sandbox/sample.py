"""What a benchmark hands to the engine: a sample, its script, its gold.

Knows: the values. Must not know: any benchmark, any model.
"""

from __future__ import annotations

from dataclasses import dataclass

from sandbox.endpoint.chat import Message


@dataclass(frozen=True, slots=True)
class Script:
    """What the engine plays: `history` as it is sent, then each user turn in order; `tools` whether tools are offered."""

    turns: tuple[str, ...]
    history: tuple[Message, ...] = ()
    tools: bool = True


@dataclass(frozen=True, slots=True)
class Gold:
    """What an answer is held against. `sources`: URLs as the ledger knows them; empty where the data set gives none."""

    reference: str | None
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """One question of a benchmark."""

    id: str
    question: str
    script: Script
    gold: Gold
    task_type: str | None = None
