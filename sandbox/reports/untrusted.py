"""Text of models and web pages made fit for a terminal.

Knows: which characters a terminal obeys instead of showing. Must not know: where a text came from.

Page and model texts are hostile: an escape sequence can clear the screen or rename the window, a bidirectional override
can make an answer read as its opposite.
"""

from __future__ import annotations

import json
import re

from rich.cells import cell_len

HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)
ELLIPSIS = "…"


def visible(text: str) -> str:
    """`text` with control, bidirectional, zero-width and tag characters written out (`⟨U+001B⟩`); CR LF becomes LF."""
    return HIDDEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text.replace("\r\n", "\n"))


def safe_json(json_text: str) -> str:
    """The same JSON values with such characters as escapes: what is printed may be read on a terminal."""
    return HIDDEN.sub(lambda found: json.dumps(found[0])[1:-1], json_text)


def one_line(text: str, max_cells: int | None = None) -> str:
    """`visible` text on one line, runs of white space as one space; at most `max_cells` terminal cells, … included."""
    # A word that long says nothing more; the bound keeps megabytes of reasoning out of the cell counter.
    flat = " ".join(visible(text if max_cells is None else text[: 4 * max_cells]).split())
    shortened = max_cells is not None and len(text) > 4 * max_cells
    if max_cells is None or (not shortened and cell_len(flat) <= max_cells):
        return flat
    return cut(flat, max_cells - 1) + ELLIPSIS


def cut(text: str, max_cells: int) -> str:
    """The longest beginning of `text` that fills at most `max_cells` terminal cells (a kanji fills two)."""
    used = 0
    for index, char in enumerate(text):
        used += cell_len(char)
        if used > max_cells:
            return text[:index]
    return text
