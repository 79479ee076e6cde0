"""The look of a table of figures in the terminal.

Knows: Rich. Must not know: what the figures say.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text


def figure_table(title: str, columns: Sequence[str]) -> Table:
    """A table that fits 80 columns: the first column may wrap, figures stay whole and stand at the right."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 0, 0, 1), header_style="")
    table.add_column(Text(title, style="bold"), overflow="fold")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table
