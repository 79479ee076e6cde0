"""The pages: one for each code, and what their examples say is what the debugger finds."""

from __future__ import annotations

import re

import pytest

from citations.codes import all_codes, explain
from citations.findings import CODES
from citations.lint import lint

FENCED = re.compile(r"^~~~~\n(.*?)\n?~~~~$", re.MULTILINE | re.DOTALL)


def found(raw: str, code: str) -> set[str]:
    """Codes found in an example; the answer of S15 was cut, and the judge read page 4 in part."""
    report = lint(
        raw,
        finish_reason="length" if code == "S15" else "stop",
        evidence={1: "本文1", 2: "本文2", 3: "本文3", 4: "本文4", 5: None, 6: " "},
        cut_evidence={4},
    )
    return {finding.code for finding in report.findings}


def test_every_code_has_a_page() -> None:
    assert len(all_codes()) == 37
    for code in all_codes():
        page = explain(code)
        assert page.text.startswith(f"# {code}: {CODES[code].title}\n")
        assert (page.severity, page.title) == (CODES[code].severity, CODES[code].title)
        assert page.fix.startswith(CODES[code].fix[0].upper() + CODES[code].fix[1:])


@pytest.mark.parametrize("code", all_codes())
def test_the_example_of_a_page_has_its_fault_and_the_fix_has_not(code: str) -> None:
    page = explain(code)
    (bad,), (good,) = FENCED.findall(page.example), FENCED.findall(page.fix)
    assert code in found(bad, code)
    assert found(good, "") <= ({"W03"} if code in ("C01", "W01") else set())


def test_a_page_is_found_whatever_the_case_and_an_unknown_code_is_a_key_error() -> None:
    assert explain(" p05 ").code == "P05"
    with pytest.raises(KeyError):
        explain("X99")
