"""The small parts that every text of a session is made of.

Knows: Rich, how foreign text is made safe. Must not know: records, files.
"""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from sandbox.reports.untrusted import visible

REASONING_CHARS = 160
QUESTION_CHARS = 2_000
ANSWER_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class View:
    """How to show it. `full`: nothing is shortened. `brackets`: shared words in ⟦⟧, where the output has no bold."""

    full: bool = False
    brackets: bool = False


def shorten(text: str, chars: int, view: View) -> str:
    """`text` made visible, cut to `chars` characters unless the view is full, with how much is missing."""
    if view.full or len(text) <= chars:
        return visible(text)
    return f"{visible(text[:chars])}… (+{len(text) - chars:,} characters)"


def indented(depth: int, text: Text | str) -> RenderableType:
    """`text` indented as a block, so that wrapped lines stay under their first one."""
    return Padding(Text(text) if isinstance(text, str) else text, (0, 0, 0, 2 * depth), expand=False)


def title(text: str) -> Text:
    """A heading."""
    return Text(text, style="bold")


def flat(text: str, chars: int, view: View) -> str:
    """Shortened and, unless the view is full, on one line."""
    short = shorten(text, chars, view)
    return short if view.full else " ".join(short.split())
