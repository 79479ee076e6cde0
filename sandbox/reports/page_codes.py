"""The lint codes that a page speaks of, each with its short page: what it checks, why it matters, how to mend it.

Knows: the code pages of the citation floor. Must not know: HTML.
"""

from __future__ import annotations

from collections.abc import Sequence

from sandbox.reports.page_format import CodePage, RunShown


def code_pages(runs: Sequence[RunShown]) -> tuple[CodePage, ...]:
    """A page for every code that a row of the runs has, in order of the codes."""
    return ()
