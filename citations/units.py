"""What a judge must be asked about an answer, each question once.

Knows: which verdicts the rules need and which are known beforehand. Must not know: prompts, labels' values, judges.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Literal

from citations.model import Answer, Unit, UnitKind
from citations.policy import Policy

_KIND_ORDER: dict[UnitKind, int] = {"support": 0, "relevance": 1, "need": 2}


def units(
    answer: Answer, evidence: Mapping[int, str | None], *, policy: Policy | None = None, f1_only: bool = False
) -> tuple[Unit, ...]:
    """The units of an answer; equal ones (same text; same number or same valid evidence) are one unit.

    `evidence` maps a citation number to its text; None, empty or absent = no evidence, blank text is evidence. No unit
    is made where the rules already say the verdict. Units with the same `evidence_numbers` stand next to each other, in
    an order in which those that begin with the same pages do too (a server's prefix cache reads each page once); need
    units come last. `f1_only` leaves out what cannot change F1: everything, where F1 is 0 whatever a judge says.
    """
    policy = policy or Policy()
    valid = numbers_with_evidence(evidence)
    cited = [tuple(citation.number for citation in sentence.citations) for sentence in answer.sentences]
    if f1_only and f1_is_zero(cited, valid, policy):
        return ()
    sharing: dict[Unit, list[int]] = {}
    for index, (sentence, numbers) in enumerate(zip(answer.sentences, cited, strict=True)):
        shown = tuple(sorted({number for number in numbers if number is not None and number in valid}))
        question = recall_question(numbers, valid, policy)
        if question == "support":
            sharing.setdefault(Unit("support", (), sentence.text, None, shown), []).append(index)
        elif question == "need":
            sharing.setdefault(Unit("need", (), sentence.text, None, ()), []).append(index)
        for number in shown:
            sharing.setdefault(Unit("relevance", (), sentence.text, number, (number,)), []).append(index)
    found = [
        Unit(unit.kind, tuple(indices), unit.text, unit.number, unit.evidence_numbers)
        for unit, indices in sharing.items()
    ]
    return tuple(sorted(found, key=_order))


def numbers_with_evidence(evidence: Mapping[int, str | None]) -> frozenset[int]:
    """The numbers of which something was seen, be it blank."""
    return frozenset(number for number, text in evidence.items() if text)


def recall_question(
    citations: Sequence[int | None], valid: Container[int], policy: Policy
) -> Literal["support", "need"] | None:
    """What the recall of a sentence with these citations hangs on; None = nothing, it is 0."""
    n_valid = sum(number is not None and number in valid for number in citations)
    if not citations:
        return "need"
    if n_valid == 0:
        return "need" if policy.all_unknown_recall == "need" else None
    if n_valid < len(citations) and policy.partly_unknown_support == "zero":
        return None
    return "support"


def f1_is_zero(cited: Iterable[Sequence[int | None]], valid: Container[int], policy: Policy) -> bool:
    """True where no verdict can lift F1 above 0: no citation has evidence, or every sentence is 0 in recall already."""
    sentences = list(cited)
    any_precision = any(number is not None and number in valid for numbers in sentences for number in numbers)
    any_recall = any(recall_question(numbers, valid, policy) is not None for numbers in sentences)
    return not (any_precision and any_recall)


def _order(unit: Unit) -> tuple[bool, tuple[int, ...], int, tuple[int, ...]]:
    return (unit.kind == "need", unit.evidence_numbers, _KIND_ORDER[unit.kind], unit.sentences)
