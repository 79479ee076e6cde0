"""What the citation lint says of one answer, in the shape of the report page.

Knows: records, the lint, the recovered reading. Must not know: HTML, files.
"""

from __future__ import annotations

from dataclasses import dataclass

from sandbox.record import Record
from sandbox.reports.page_format import CodePoints, FindingShown, RecoveredShown


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Findings in the order of the text, the recovered reading, and what each code of the answer costs there."""

    findings: tuple[FindingShown, ...] = ()
    not_checked: tuple[str, ...] = ()
    recovered: RecoveredShown | None = None
    codes: tuple[CodePoints, ...] = ()


NO_DIAGNOSIS = Diagnosis()


def diagnose(record: Record) -> Diagnosis:
    """The diagnosis of the record's answer; empty where there is none."""
    return NO_DIAGNOSIS
