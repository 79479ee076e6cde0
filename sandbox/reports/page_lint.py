"""What the citation lint says of one answer, in the shape of the report page.

Knows: records, the lint of a run, what format costs an answer. Must not know: HTML, files.
"""

from __future__ import annotations

from dataclasses import dataclass

from citations.findings import CODES
from citations.lint import LintReport
from citations.losses import Losses, unit_key
from citations.model import Score, Verdict
from citations.scoring import score
from citations.units import units
from sandbox.linting.lint_run import lint_record, record_labels, record_losses
from sandbox.record import Record
from sandbox.reports.page_format import CodePoints, FindingShown, RecoveredShown
from sandbox.reports.page_sentences import exact, points, sentences_shown
from sandbox.reports.utf16 import Utf16
from sandbox.rescore import evidence_of
from sandbox.summary import RunFacts

SEVERITY_ORDER = {"error": 0, "warning": 1, "note": 2}


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Findings in the order of the text, the recovered reading, and what each code of the answer costs, costliest first."""

    findings: tuple[FindingShown, ...] = ()
    not_checked: tuple[str, ...] = ()
    recovered: RecoveredShown | None = None
    codes: tuple[CodePoints, ...] = ()


NO_DIAGNOSIS = Diagnosis()


def diagnose(record: Record, facts: RunFacts) -> Diagnosis:
    """The diagnosis of the record's answer with the verdicts there are; empty where there is no answer."""
    report = lint_record(record, facts.max_evidence_chars)
    if report is None or record.answer is None:
        return NO_DIAGNOSIS
    asked = facts.recovered.get((record.sample_id, record.repeat))
    cost = record_losses(record, report, asked)
    evidence, labels = evidence_of(record), record_labels(record, report, asked)
    mended = score(
        report.recovered,
        evidence,
        [Verdict(u.kind, u.sentences, u.number, labels.get(unit_key(u))) for u in units(report.recovered, evidence)],
    )
    return Diagnosis(
        findings=_findings(record.answer, report, cost),
        not_checked=report.not_checked,
        recovered=_recovered(report, mended),
        codes=_codes(cost),
    )


def _findings(raw: str, report: LintReport, cost: Losses) -> tuple[FindingShown, ...]:
    units16 = Utf16(raw)
    cost_of = {code.code: points(code.points) for code in cost.codes}
    # A code's points are those of all its findings together: they stand at the first.
    return tuple(
        FindingShown(
            code=finding.code,
            severity=finding.severity,
            start=units16.at(finding.start),
            end=units16.at(finding.end),
            start_char=finding.start,
            end_char=finding.end,
            line=finding.line,
            column=finding.column,
            message=finding.message,
            fix=finding.fix,
            points=cost_of.pop(finding.code, None),
        )
        for finding in report.findings
    )


def _recovered(report: LintReport, mended: Score) -> RecoveredShown:
    return RecoveredShown(
        sentences=sentences_shown(
            report.recovered,
            tuple(exact(value) for value in mended.sentence_scores),
            tuple(tuple(exact(value) for value in values) for values in mended.citation_scores),
        ),
        recall=points(mended.recall),
        precision=points(mended.precision),
        f1=points(mended.f1_bounds.low) if mended.f1_decided else None,
    )


def _codes(cost: Losses) -> tuple[CodePoints, ...]:
    found = [CodePoints(code.code, points(code.points)) for code in cost.codes]
    return tuple(
        sorted(found, key=lambda code: (-(code.points or 0), SEVERITY_ORDER[CODES[code.code].severity], code.code))
    )
