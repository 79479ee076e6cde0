"""The arithmetic of profile `tmg`: verdicts in, exact recall, precision and F1 out.

Knows: what each label is worth and what a missing one could have been worth. Must not know: who judged, or how.

    recall     = mean over sentences of support (full 1, partial 1/2, none 0), or 1 − need where nothing is cited
    precision  = mean over single citations of relevance (1, 0); a citation without evidence is 0
    F1         = 2 · recall · precision / (recall + precision), 0 where both are 0; per answer, then averaged

Source: tmg_cqa publication, "Evaluating the quality of citations", after LongBench-Cite; open points by `Policy`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from citations.model import Answer, Bounds, JudgedSentence, Score, UnitKind, Verdict
from citations.policy import Policy
from citations.units import numbers_with_evidence, recall_question

ZERO, HALF, ONE = Fraction(0), Fraction(1, 2), Fraction(1)

LABEL_VALUES: Mapping[UnitKind, Mapping[str, Fraction]] = {
    "support": {"full": ONE, "partial": HALF, "none": ZERO},
    "relevance": {"yes": ONE, "no": ZERO},
    "need": {"yes": ZERO, "no": ONE},
}
"""What a label adds to its mean."""


def score(
    answer: Answer,
    evidence: Mapping[int, str | None],
    verdicts: Iterable[Verdict],
    *,
    policy: Policy | None = None,
) -> Score:
    """The score of an answer from the verdicts on its units; a unit without verdict is a missing verdict.

    Raises ValueError for a verdict on a sentence that the answer does not have, for a second verdict on the same unit,
    and for an unknown label.
    """
    return score_sentences(judged(answer, verdicts), numbers_with_evidence(evidence), policy=policy)


def judged(answer: Answer, verdicts: Iterable[Verdict]) -> tuple[JudgedSentence, ...]:
    """The sentences of an answer with the verdicts that belong to each. Raises ValueError as `score` does."""
    recall_label: dict[tuple[UnitKind, int], str | None] = {}
    relevance_label: dict[tuple[int, int | None], str | None] = {}
    for verdict in verdicts:
        for index in verdict.sentences:
            if not 0 <= index < len(answer.sentences):
                raise ValueError(f"a verdict speaks of sentence {index}; there are {len(answer.sentences)}")
            if verdict.kind == "relevance":
                known = (index, verdict.number) in relevance_label
                relevance_label[index, verdict.number] = verdict.label
            else:
                known = (verdict.kind, index) in recall_label
                recall_label[verdict.kind, index] = verdict.label
            if known:
                raise ValueError(f"two {verdict.kind} verdicts for sentence {index}")
    return tuple(
        JudgedSentence(
            citations=tuple(citation.number for citation in sentence.citations),
            support=recall_label.get(("support", index)),
            need=recall_label.get(("need", index)),
            relevance=tuple(relevance_label.get((index, citation.number)) for citation in sentence.citations),
        )
        for index, sentence in enumerate(answer.sentences)
    )


def score_sentences(
    sentences: Sequence[JudgedSentence], valid: Container[int], *, policy: Policy | None = None
) -> Score:
    """The score of sentences with their verdicts by position; `valid` are the numbers that have evidence.

    No sentence: all 0. No citation: precision 0, F1 0. Raises ValueError for an unknown label.

    The bounds are exact without trying the combinations. A missing verdict stands either in recall (support, need) or
    in precision (relevance), never in both, so the two means vary independently. Each is a sum, with weights ≥ 0, of
    values from 0 to 1 that may take both ends, also where one verdict is shared by several positions: it is least with
    every missing value 0 and greatest with every one 1. F1 does not fall when recall or precision rises (its derivative
    by recall is 2 · precision² / (recall + precision)²), so it is least and greatest at the same corners, and these are
    reached. No verdict binds another: a judge may call a page irrelevant and the sentence supported by it.
    """
    policy = policy or Policy()
    recall_values = tuple(_recall_value(sentence, valid, policy) for sentence in sentences)
    citation_values = tuple(_citation_values(sentence, valid) for sentence in sentences)
    counted = [
        value
        for sentence, values in zip(sentences, citation_values, strict=True)
        for value in (values if policy.repeated_number == "each" else _first_of_each(sentence.citations, values))
    ]
    recall, precision = _mean_bounds(recall_values), _mean_bounds(counted)
    f1 = Bounds(harmonic_mean(recall.low, precision.low), harmonic_mean(recall.high, precision.high))
    n_missing = sum(value is None for value in (*recall_values, *counted))
    missing_f1 = ZERO if policy.missing_verdict == "zero" else None
    return Score(
        recall=None if n_missing else recall.low,
        precision=None if n_missing else precision.low,
        f1=missing_f1 if n_missing else f1.low,
        recall_bounds=recall,
        precision_bounds=precision,
        f1_bounds=f1,
        sentence_scores=recall_values,
        citation_scores=citation_values,
        n_missing=n_missing,
        no_citation_needed=bool(sentences)
        and not any(sentence.citations for sentence in sentences)
        and all(value == ONE for value in recall_values),
    )


def label_value(kind: UnitKind, label: str | None) -> Fraction | None:
    """What the label is worth; None for a missing one. An unknown label is a ValueError, never a default."""
    if label is None:
        return None
    values = LABEL_VALUES[kind]
    if label not in values:
        raise ValueError(f"{label!r} is no {kind} label ({', '.join(values)})")
    return values[label]


def harmonic_mean(recall: Fraction, precision: Fraction) -> Fraction:
    """F1 of one answer; 0 where both are 0."""
    total = recall + precision
    return 2 * recall * precision / total if total else ZERO


@dataclass(frozen=True, slots=True)
class SetF1:
    """F1 of a data set: `value` is the mean of the `n` answers that count, of `n_total`; None where n is 0."""

    value: Fraction | None
    n: int
    n_total: int


def set_f1(answers: Sequence[Fraction | None]) -> SetF1:
    """The flat mean of the answers' F1; None = left out of the denominator (context overflow). Not F1 of the means."""
    counted = [f1 for f1 in answers if f1 is not None]
    return SetF1(sum(counted, ZERO) / len(counted) if counted else None, len(counted), len(answers))


@dataclass(frozen=True, slots=True)
class Contradictions:
    """Of `n_checked` supported sentences with a single citation, `n_found` have that citation called irrelevant."""

    n_found: int
    n_checked: int


def contradictions(sentences: Iterable[JudgedSentence]) -> Contradictions:
    """A free measure of judge noise: what is supported by its only page cannot be unrelated to it."""
    checked = [
        sentence.relevance[0]
        for sentence in sentences
        if len(sentence.citations) == 1
        and sentence.support in ("full", "partial")
        and sentence.relevance[:1] not in ((), (None,))
    ]
    return Contradictions(checked.count("no"), len(checked))


def _recall_value(sentence: JudgedSentence, valid: Container[int], policy: Policy) -> Fraction | None:
    question = recall_question(sentence.citations, valid, policy)
    if question is None:
        return ZERO
    return label_value(question, sentence.support if question == "support" else sentence.need)


def _citation_values(sentence: JudgedSentence, valid: Container[int]) -> tuple[Fraction | None, ...]:
    labels = sentence.relevance or (None,) * len(sentence.citations)
    return tuple(
        label_value("relevance", label) if number is not None and number in valid else ZERO
        for number, label in zip(sentence.citations, labels, strict=True)
    )


def _first_of_each(citations: tuple[int | None, ...], values: tuple[Fraction | None, ...]) -> Iterator[Fraction | None]:
    """The values without those of repeated numbers; unreadable numbers are all different."""
    seen: set[int] = set()
    for number, value in zip(citations, values, strict=True):
        if number is None or number not in seen:
            yield value
        if number is not None:
            seen.add(number)


def _mean_bounds(values: Sequence[Fraction | None]) -> Bounds:
    if not values:
        return Bounds(ZERO, ZERO)
    known = sum((value for value in values if value is not None), ZERO)
    n_missing = sum(value is None for value in values)
    return Bounds(known / len(values), (known + n_missing) / len(values))
