"""What the citation-format debugger can find: its codes, and a finding with its place in the raw text.

Knows: every code with its severity, its title and its one-line fix; how offsets become lines and columns. Must not
know: how anything is found, how a finding is printed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]
"""`error`: the strict score can be lower because of it; `warning`: it may be; `note`: it is not."""


@dataclass(frozen=True, slots=True)
class Code:
    """One thing that can be wrong. `fix` says in one line what to write instead."""

    severity: Severity
    title: str
    fix: str


CODES: Mapping[str, Code] = {
    "S01": Code("error", "sentence never closed", "close the sentence where it ends"),
    "S02": Code("warning", "closing sentence tag without an opening one", "open the sentence, or drop this tag"),
    "S03": Code("error", "sentence not closed before the next one opens", "close the sentence before opening the next"),
    "S04": Code(
        "warning", "sentence inside a sentence", "put the sentences one after the other, not inside each other"
    ),
    "S05": Code(
        "warning", "empty sentence, or one that holds only a cite", "put the cite into the sentence it supports"
    ),
    "S06": Code("error", "cite never closed", "close the cite right after its number"),
    "S07": Code("error", "tag in another spelling", "write the tag exactly, in lower case and without attributes"),
    "S08": Code("error", "full-width tag", "write < and > as half-width characters"),
    "S09": Code("error", "HTML-escaped tag", "write < and > as they are, not as entities"),
    "S10": Code("note", "whole answer in a code fence", "leave the fence out"),
    "S11": Code("error", "tag of another dialect", "use one dialect only, the one that the answer is read in"),
    "S12": Code("error", "broken special-token tag", "write the special token whole"),
    "S13": Code("error", "cite opened inside a cite", "close each cite before opening the next"),
    "S14": Code("warning", "closing cite tag without an opening one", "open the cite before its number"),
    "S15": Code("error", "answer cut by the output limit", "allow more output tokens, or ask for a shorter answer"),
    "W01": Code("error", "empty answer", "make the model write an answer"),
    "W02": Code("error", "no sentence tag that can be read", "put each sentence into its tags"),
    "W03": Code("error", "sentences are tagged, but nothing is cited", "put a cite into each sentence with a fact"),
    "P01": Code("error", "cite outside the sentence", "move the cite in front of the sentence's closing tag"),
    "P02": Code("note", "cite before the text that it supports", "put the cite after the text"),
    "P03": Code("warning", "prose outside the tags", "tag it as a sentence, or leave it out"),
    "P04": Code("note", "several sentences in one tag", "give each sentence its own tag"),
    "P05": Code("error", "citation in another style", "write the number in a cite tag"),
    "C01": Code("note", "empty cite", "write the number, or leave the cite out"),
    "C02": Code("error", "several numbers in one cite", "write one cite for each number"),
    "C03": Code("error", "range of numbers in one cite", "write one cite for each number"),
    "C04": Code("error", "number in full-width digits", "write the number in half-width digits"),
    "C05": Code("error", "number with decoration", "write the bare number"),
    "C06": Code("error", "URL or title instead of a number", "write the number that the tools gave the page"),
    "C07": Code("error", "page inside the cite", "write the number alone, without page"),
    "C08": Code("error", "not a number", "write the number that the tools gave the page"),
    "R01": Code("error", "number that no page has", "cite only numbers that stood with a page"),
    "R02": Code("error", "number of a page of which nothing was seen", "cite only pages whose text was seen"),
    "R03": Code("warning", "what was seen of the page is blank", "cite a page with text"),
    "R04": Code("note", "number repeated in one sentence", "cite each number once in a sentence"),
    "R05": Code("note", "more than three citations in one sentence", "cite only what supports the main information"),
    "R06": Code("warning", "evidence was cut for the judge", "raise the judge's limit of evidence characters"),
}
"""Every code: S tags, W whole answer, P places, C bodies of cites, R numbers against the evidence."""

ONCE = frozenset({"S09", "S10", "S11", "S12"})
"""Found once for the whole answer, at the first place: what they tell of is done throughout or not at all."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A code at a stretch of the raw text; `seen` is what a message quotes, `fix` a fix that fits better than the usual."""

    code: str
    start: int
    end: int
    seen: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault of an answer. Offsets are code points in the raw text; line and column count from 1."""

    code: str
    severity: Severity
    start: int
    end: int
    line: int
    column: int
    message: str
    fix: str


def located(raw: str, faults: Iterable[Fault]) -> tuple[Finding, ...]:
    """The faults as findings, ordered by start and code. Lines end at line feeds; the text is walked through once."""
    return tuple(_located(raw, sorted(faults, key=lambda fault: (fault.start, fault.code))))


SEEN_CHARS = 60


def quoted(text: str) -> str:
    """The text for a message: at most 60 characters of it."""
    return text if len(text) <= SEEN_CHARS else text[:SEEN_CHARS] + "…"


def _located(raw: str, faults: Iterable[Fault]) -> Iterator[Finding]:
    line, line_start = 1, 0
    next_end = raw.find("\n")
    for fault in faults:
        while 0 <= next_end < fault.start:
            line += 1
            line_start = next_end + 1
            next_end = raw.find("\n", line_start)
        code = CODES[fault.code]
        message = f"{code.title}: {quoted(fault.seen)}" if fault.seen else code.title
        yield Finding(
            fault.code,
            code.severity,
            fault.start,
            fault.end,
            line,
            fault.start - line_start + 1,
            message,
            fault.fix or code.fix,
        )
