"""The citation-format debugger: what is wrong with an answer's markup, where, and how it would read if it were right.

Knows: the codes of `citations.findings` and what each needs to be judged. Must not know: verdicts and scores, files, how
findings are printed.

S, P and C codes come from the recovered reading, so that one fault is not reported as ten; W and R codes from the strict
one, which is what is scored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from citations.cite_body import title_key
from citations.findings import ONCE, Fault, Finding, Severity, located
from citations.markup import TAGS, Dialect, parse
from citations.mending import read
from citations.model import Answer
from citations.prose import FENCES
from citations.reading import Reading, Source
from citations.tag_spelling import names_seen, scan

__all__ = ["Finding", "LintReport", "Severity", "lint", "source_of"]

CUT_REASONS = frozenset({"length", "max_tokens", "max_output_tokens"})
"""Finish reasons that mean the output limit."""
MAX_CITATIONS = 3
EVIDENCE_CODES = ("R01", "R02", "R03", "R04", "R05")


@dataclass(frozen=True)
class LintReport:
    """What was found, by start and code. `strict` is the reading that is scored.

    `not_checked`: codes that nothing can be said of, because the evidence, the finish reason or the run was not given.
    """

    findings: tuple[Finding, ...]
    strict: Answer
    reading: Reading
    not_checked: tuple[str, ...]

    @property
    def recovered(self) -> Answer:
        """The answer as it was meant: shown, never scored."""
        return self.reading.answer


def lint(
    raw: str | None,
    dialect: Dialect = TAGS,
    *,
    finish_reason: str | None = None,
    evidence: Mapping[int, str | None] | None = None,
    titles: Mapping[int, str] | None = None,
    cut_evidence: Collection[int] | None = None,
) -> LintReport:
    """Everything that is wrong with an answer; never raises, whatever the text, and takes linear time.

    `evidence` maps each number that the tools gave to what was seen of its page (None or empty = nothing, blank = blank
    text); `titles` the numbers to page titles; `cut_evidence` are the numbers of which the judge read only a part.
    Without evidence a citation mark counts whatever its number (up to 999), and the R codes are not checked.
    """
    source = source_of(raw, dialect, finish_reason=finish_reason, evidence=evidence, titles=titles)
    not_checked = (
        *(() if evidence is not None else EVIDENCE_CODES),
        *(() if evidence is not None and cut_evidence is not None else ("R06",)),
        *(() if finish_reason is not None else ("S15",)),
    )
    reading = read(source)
    # Where nothing had to be mended the two readings are one, and the answer need not be read again.
    strict = parse(source.raw, dialect) if reading.faults or reading.prose else reading.answer
    if not source.raw.strip():
        why = "the output limit was reached" if source.cut else ""
        return LintReport(located(source.raw, [Fault("W01", 0, 0, why)]), strict, reading, not_checked)
    faults = [*_once_each(reading.faults), *_whole(source, strict)]
    if evidence is not None:
        faults += _against_evidence(strict, evidence, cut_evidence or ())
    faults = [_with_names(fault, source) for fault in faults] if any(f.code == "S11" for f in faults) else faults
    return LintReport(located(source.raw, faults), strict, reading, not_checked)


def source_of(
    raw: str | None,
    dialect: Dialect,
    *,
    finish_reason: str | None = None,
    evidence: Mapping[int, str | None] | None = None,
    titles: Mapping[int, str] | None = None,
) -> Source:
    """The answer with what its readings depend on, for `citations.mending.read`."""
    text = raw or ""
    known = None if evidence is None else frozenset(evidence)
    return Source(
        text,
        dialect,
        scan(text, dialect),
        cut=finish_reason in CUT_REASONS,
        # Spans are no page numbers, so no mark can stand for one.
        known=frozenset() if dialect.cite_body == "spans" else known,
        titles=_by_title(titles or {}),
    )


def _by_title(titles: Mapping[int, str]) -> dict[str, int | None]:
    """The number of each title; None for one that several pages bear."""
    found: dict[str, int | None] = {}
    for number, title in titles.items():
        if title.strip():
            key = title_key(title)
            found[key] = None if key in found else number
    return found


def _whole(source: Source, strict: Answer) -> Iterator[Fault]:
    """What is wrong with the answer as a whole."""
    if not strict.sentences:
        yield Fault("W02", 0, 0)
    elif not any(sentence.citations for sentence in strict.sentences):
        yield Fault("W03", 0, 0)
    text = source.raw.strip()
    if text.startswith(FENCES):
        lines = text.split("\n")
        n_fences = sum(line.lstrip().startswith(FENCES) for line in lines)
        if n_fences == 1 or lines[-1].strip() in FENCES:
            start = source.raw.index(text[0])
            yield Fault("S10", start, start + len(lines[0].rstrip()))


def _against_evidence(strict: Answer, evidence: Mapping[int, str | None], cut: Collection[int]) -> Iterator[Fault]:
    for sentence in strict.sentences:
        counts: Counter[int] = Counter()
        for citation in sentence.citations:
            number = citation.number
            if number is None:
                continue
            counts[number] += 1
            code = _evidence_code(number, evidence)
            if code is None and number in cut:
                code = "R06"
            if code is not None:
                yield Fault(code, citation.start, citation.end, str(number))
            if counts[number] > 1:
                yield Fault("R04", citation.start, citation.end, str(number))
        if len(sentence.citations) > MAX_CITATIONS:
            first, last = sentence.citations[MAX_CITATIONS], sentence.citations[-1]
            yield Fault("R05", first.start, last.end, f"{len(sentence.citations)}")


def _evidence_code(number: int, evidence: Mapping[int, str | None]) -> str | None:
    if number not in evidence:
        return "R01"
    text = evidence[number]
    if not text:
        return "R02"
    return "R03" if text.isspace() else None


def _with_names(fault: Fault, source: Source) -> Fault:
    """A wrong-dialect fault that names the special tokens' names, so that they can be set."""
    if fault.code != "S11":
        return fault
    names = names_seen(source.tokens)
    if not names:
        return fault
    shown = ", ".join(names[:8])
    return Fault(fault.code, fault.start, fault.end, fault.seen, f"set the dialect; names seen: {shown}")


def _once_each(faults: Iterable[Fault]) -> list[Fault]:
    """The faults, those that are found once for the whole answer only at their first place."""
    kept: list[Fault] = []
    seen: set[str] = set()
    for fault in sorted(faults, key=lambda fault: fault.start):
        if fault.code not in ONCE or fault.code not in seen:
            seen.add(fault.code)
            kept.append(fault)
    return kept
