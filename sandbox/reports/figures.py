"""How figures look in the terminal: rates, ranges, names, tables of them.

Knows: Rich. Must not know: what the figures say. Rates become percent here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sandbox.reports.untrusted import one_line

NOTHING = "–"
"""Where there is no figure."""


def console_for(stream: TextIO) -> Console:
    """A console that prints texts as they are: no markup, no emoji codes, no colour where `stream` is no terminal."""
    return Console(file=stream, markup=False, emoji=False, highlight=False)


def percent(rate: float | None) -> str:
    """A rate in 0–1 as percent with one decimal, a dash where there is none."""
    return NOTHING if rate is None else f"{100 * rate:.1f}"


def percent_range(ends: tuple[float, float] | None) -> str:
    """Two rates as `12.3–45.6`."""
    return NOTHING if ends is None else f"{percent(ends[0])}–{percent(ends[1])}"


def as_words(key: str) -> str:
    """A name of the JSON summary as people read it; of somebody's data it may be, so it is made fit to show."""
    return one_line(key.replace("_", " "))


def figure_table(title: str, columns: Sequence[str]) -> Table:
    """A table that fits 80 columns: the first column may wrap, figures stay whole and stand at the right."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 0, 0, 1), header_style="")
    table.add_column(Text(title, style="bold"), overflow="fold")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table
