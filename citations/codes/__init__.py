"""A short page for every code of the citation-format debugger: what it checks, why it matters, an example, the fix.

Knows: where the pages are and how they are laid out. Must not know: how a code is found.

The pages are text files in this folder, one a code; severity and title are those of `citations.findings`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files

from citations.findings import CODES, Severity

SECTIONS = ("What it checks", "Why it matters", "Example", "Fix")
_SECTION = re.compile(r"^## (.+)\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CodePage:
    """The page of one code. The four sections are Markdown without their headings; `text` is the page as a whole."""

    code: str
    severity: Severity
    title: str
    what: str
    why: str
    example: str
    fix: str
    text: str


def all_codes() -> tuple[str, ...]:
    """Every code, in the order in which they are listed: S, W, P, C, R."""
    return tuple(CODES)


def explain(code: str) -> CodePage:
    """The page of a code, whatever its case. Raises KeyError for a code that there is not."""
    name = code.strip().upper()
    facts = CODES[name]
    text = files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8")
    parts = _SECTION.split(text)
    section = dict(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True))
    what, why, example, fix = (section[heading] for heading in SECTIONS)
    return CodePage(name, facts.severity, facts.title, what, why, example, fix, text)
