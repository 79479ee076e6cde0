"""Two judges on the same answers: how far they agree, and on what they do not."""

from __future__ import annotations

import io
from collections.abc import Sequence
from fractions import Fraction

from sandbox.comparing.judge_agreement import (
    Disagreement,
    JudgeAgreement,
    Judged,
    KindAgreement,
    gravest,
    judge_agreement,
    same_answers,
    told,
)
from sandbox.measuring.statistics import wilson
from sandbox.record import PageRow, PieceRow, Record, UnitRow, VerdictRow
from sandbox.reports.figures import console_for
from sandbox.reports.two_judges import agreement_text

ANSWER = "<sentence>令和６年度に撤廃された。<cite>1</cite></sentence><sentence>窓口は区役所。<cite>1</cite></sentence>"


def record(number: int, labels: Sequence[str | None], text: str = "所得制限を撤廃しました。") -> Record:
    """An answer of two sentences: what was said of the support of each, then of the relevance of the first."""
    verdicts = [
        VerdictRow(label=label, reason=f"理由{i}" if label else "", failure=None if label else "parse")
        for i, label in enumerate(labels)
    ]
    return Record(
        sample_id=f"tmg-{number:04d}",
        question="所得制限はどうなったか。",
        reference="撤廃された。",
        outcome="answered",
        answer=ANSWER,
        pages=(PageRow(number=1, url="u", title="手引き", evidence=(PieceRow(kind="search", text=text),)),),
        units=(
            UnitRow(kind="support", sentences=(0,), verdict=verdicts[0]),
            UnitRow(kind="support", sentences=(1,), verdict=verdicts[1]),
            UnitRow(kind="relevance", sentences=(0, 1), number=1, verdict=verdicts[2]),
        ),
    )


def judged(records: Sequence[Record]) -> Judged:
    collected = Judged()
    for row in records:
        collected.add(row)
    return collected


A = [record(1, ["full", "partial", "yes"]), record(2, ["full", None, "yes"]), record(4, ["full", "full", "yes"])]
B = [record(1, ["none", "full", "yes"]), record(2, ["full", "none", None]), record(3, ["full", "full", "yes"])]


def test_agreement_is_by_kind_over_what_both_judged_and_the_gravest_disagreements_come_first() -> None:
    a, b = judged(A), judged(B)
    made = judge_agreement(a, b)
    assert made is not None
    support, relevance = made.kinds["support"], made.kinds["relevance"]
    assert (support.judged, support.only_a, support.only_b) == (3, 0, 1)
    assert support.agreement == 1 / 3
    assert support.kappa == float((Fraction(1, 3) - Fraction(4, 9)) / Fraction(5, 9))
    assert support.confusion == {
        "full": {"full": 1, "partial": 0, "none": 1},
        "partial": {"full": 1, "partial": 0, "none": 0},
        "none": {"full": 0, "partial": 0, "none": 0},
    }
    one = wilson(1, 1)
    assert relevance == KindAgreement(
        judged=1, only_a=1, only_b=0, agreement=1.0, interval=(one.low, one.high), kappa=None, alpha=None,
        confusion={"yes": {"yes": 1, "no": 0}, "no": {"yes": 0, "no": 0}},
    )  # fmt: skip
    assert (made.answers, made.n_disagreements) == (2, 2)
    first = Disagreement(
        kind="support", sample_id="tmg-0001", repeat=0, sentence=0, number=None, text="令和６年度に撤廃された。",
        a="full", b="none", reason_a="理由0", reason_b="理由0",
    )  # fmt: skip
    assert told(made, A, B, gravest(a, b, 1)).disagreements == (first,)
    both = told(made, A, B, gravest(a, b, 20)).disagreements
    assert [(row.a, row.b, row.sentence) for row in both] == [("full", "none", 0), ("partial", "full", 1)]


def test_other_evidence_is_another_answer() -> None:
    assert same_answers(judged(A), judged(B))
    other = [record(1, ["full", "full", "yes"], "別の本文。"), *B[1:]]
    assert not same_answers(judged(A), judged(other))
    assert judge_agreement(judged(A), judged(other)) is None


def test_runs_without_a_common_answer_have_none_that_is_the_same() -> None:
    silent = [row.model_copy(update={"answer": None}) for row in A]
    assert not same_answers(judged(A), judged(B[2:]))
    assert not same_answers(judged(silent), judged(silent))


def test_a_person_reads_the_disagreements_before_the_figures() -> None:
    a, b = judged(A), judged(B)
    made = judge_agreement(a, b)
    assert isinstance(made, JudgeAgreement)
    out = io.StringIO()
    console_for(out).print(agreement_text(told(made, A, B, gravest(a, b, 1))))
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    assert lines[:5] == [
        "The 1 gravest of 2 judgements on which the judges disagree",
        "support: A full, B none · tmg-0001, sentence 1",
        "  令和６年度に撤廃された。",
        "  A: 理由0",
        "  B: 理由0",
    ]
    assert "support: A says ↓, B says →  full  partial  none" in lines
