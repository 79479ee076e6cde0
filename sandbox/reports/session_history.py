"""What was said before the question of a session: the messages that the run's samples begin with.

Knows: the samples of a run. Must not know: records, how a turn is shown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from sandbox.endpoint.chat import Message
from sandbox.folder.sample_file import SAMPLES, read_samples
from sandbox.folder.stored_run import StoredRun


@dataclass(frozen=True, slots=True)
class Turn:
    """One message: `role` as it was sent (user, assistant, system), and its text."""

    role: str
    text: str


def histories_of(run: StoredRun) -> Mapping[str, tuple[Turn, ...]]:
    """The messages before the question, by sample; empty where the run keeps no samples. Raises SetupError if damaged."""
    if not (run.path / SAMPLES).is_file():
        return {}
    return {
        sample.id: tuple(_turn(message) for message in sample.script.history)
        for sample in read_samples(run.path)
        if sample.script.history
    }


def _turn(message: Message) -> Turn:
    content = message.get("content")
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return Turn(str(message.get("role", "?")), text)
