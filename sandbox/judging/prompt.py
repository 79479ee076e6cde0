"""The judge's prompts: text files with named places, filled so that no value can pass for a part of the prompt.

Knows: where prompt files lie, which places each needs, how a value is made harmless. Must not know: models, verdicts,
what a judgement is for.

A prompt file is UTF-8 text. `{evidence}`, `{question}`, `{sentence}`, `{answer}`, `{reference}` stand for values; all other
braces are plain text. Ours keep each value in a block

    <<<EVIDENCE
    {evidence}
    EVIDENCE>>>

Lines `#label full = Fully supported` at the head of a file are not sent: they say which words the prompt asks for instead
of our labels (for a wording that is not ours).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

from tools.tool import Language, SetupError

PLACES: Mapping[str, tuple[str, ...]] = {
    "support": ("evidence", "question", "sentence"),
    "relevance": ("evidence", "question", "sentence"),
    "need": ("question", "answer", "sentence"),
    "consistency": ("question", "reference", "answer"),
}
"""Which values each prompt is filled with; each must stand in its file."""

BLOCKS = ("EVIDENCE", "QUESTION", "SENTENCE", "ANSWER", "REFERENCE")

_PLACE = re.compile(r"\{(" + "|".join(name.lower() for name in BLOCKS) + r")\}")


def _any_width(word: str) -> str:
    """A pattern for the word in half or full width; case is left to the flag."""
    return "".join(f"[{letter}{chr(ord(letter) + 0xFEE0)}]" for letter in word)


_NAMES = "(?:" + "|".join(_any_width(name) for name in BLOCKS) + ")"
_DELIMITER = re.compile(rf"[<＜]{{3}}(?=[ \t　]{{0,8}}{_NAMES})|(?<={_NAMES[3:-1].split('|')[0]})\Z", re.IGNORECASE)
