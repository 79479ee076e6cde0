"""The lint codes that a page speaks of, each with its short page: what it checks, why it matters, how to mend it.

Knows: the code pages of the citation floor. Must not know: HTML.
"""

from __future__ import annotations

from collections.abc import Sequence

from citations.codes import all_codes, explain
from sandbox.reports.page_format import CodePage, RunShown


def code_pages(runs: Sequence[RunShown]) -> tuple[CodePage, ...]:
    """A page for every code that a row of the runs or their summaries have, in the order in which codes are listed."""
    used = {code.code for run in runs for row in run.rows for code in row.codes}
    used |= {code for run in runs for code in run.summary.format.codes}
    pages = [explain(code) for code in all_codes() if code in used]
    return tuple(CodePage(code=page.code, severity=page.severity, title=page.title, text=page.text) for page in pages)
