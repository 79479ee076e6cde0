"""Findings as SARIF 2.1.0, for editors and code-review tools.

Knows: the format's required fields. Must not know: where answers came from, how anything is found.

Source: OASIS SARIF 2.1.0 (§3.13 log, §3.14 run, §3.19 tool component, §3.27 result, §3.30 region). Columns count Unicode
code points, as everywhere in pincite. An answer inside a JSON Lines file has no lines of its own in that file: its finding
points at its row, and says in its properties where in the answer it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from citations.codes import explain
from citations.findings import CODES, Severity
from citations.lint import Finding

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS: dict[Severity, str] = {"error": "error", "warning": "warning", "note": "note"}
RULE_INDEX = {code: index for index, code in enumerate(CODES)}

Json = dict[str, object]


def sarif(results: Sequence[Json], version: str) -> Json:
    """The log of one run of the debugger."""
    driver: Json = {"name": "pincite", "version": version, "rules": [_rule(code) for code in CODES]}
    run: Json = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": list(results)}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def result(finding: Finding, answer_id: str | int, file: str, row: int | None, raw: str) -> Json:
    """One finding. `row` None = the file is the answer, and the region is the finding's own."""
    made: Json = {
        "ruleId": finding.code,
        "ruleIndex": RULE_INDEX[finding.code],
        "level": LEVELS[finding.severity],
        "message": {"text": _whole(f"{finding.message}. Fix: {finding.fix}.")},
    }
    region = _region(finding, raw) if row is None else {"startLine": row}
    place: Json = {"physicalLocation": {"artifactLocation": {"uri": _uri(file)}, "region": region}}
    if row is not None:
        place["logicalLocations"] = [{"fullyQualifiedName": _whole(str(answer_id)), "kind": "object"}]
        made["properties"] = {
            "answer": _whole(str(answer_id)),
            "line": finding.line,
            "column": finding.column,
            "start": finding.start,
            "end": finding.end,
        }
    made["locations"] = [place]
    return made


def _region(finding: Finding, raw: str) -> Json:
    n_lines = raw.count("\n", finding.start, finding.end)
    if n_lines:
        end_column = finding.end - raw.rindex("\n", finding.start, finding.end)
    else:
        end_column = finding.column + finding.end - finding.start
    return {
        "startLine": finding.line,
        "startColumn": finding.column,
        "endLine": finding.line + n_lines,
        "endColumn": end_column,
        "charOffset": finding.start,
        "charLength": finding.end - finding.start,
    }


def _rule(code: str) -> Json:
    page = explain(code)
    return {
        "id": code,
        "name": "".join(word.capitalize() for word in "".join(c if c.isalnum() else " " for c in page.title).split()),
        "shortDescription": {"text": page.title},
        "fullDescription": {"text": page.what},
        "help": {"text": page.text, "markdown": page.text},
        "defaultConfiguration": {"level": LEVELS[page.severity]},
    }


def _uri(file: str) -> str:
    # A colon too: in the first part of a relative path it would end the name of a scheme.
    return quote(file.replace("\\", "/"), safe="/", errors="replace")


def _whole(text: str) -> str:
    """The text without half surrogates, which no JSON reader need accept."""
    return text.encode("utf-8", "replace").decode("utf-8")
