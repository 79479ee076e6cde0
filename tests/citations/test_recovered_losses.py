"""What faults of format cost: per code, in all, and what is left to the evidence."""

from __future__ import annotations

from fractions import Fraction

from citations.lint import lint
from citations.losses import (
    NOT_FORMAT,
    NOT_JUDGED,
    STRICT_UNDECIDED,
    CodeCost,
    UnitKey,
    labels_of,
    losses,
    new_units,
)
from citations.model import Bounds, Unit, Verdict

EVIDENCE = {1: "本文1", 2: "本文2", 3: None}
HALF = Fraction(1, 2)


def exactly(value: Fraction | int) -> Bounds:
    return Bounds(Fraction(value), Fraction(value))


def test_a_code_costs_what_mending_it_alone_would_bring() -> None:
    raw = "<sentence>甲。<cite>1</cite></sentence><sentence>乙。<cite>資料2</cite></sentence>"
    report = lint(raw, evidence=EVIDENCE, finish_reason="stop")
    labels = {
        UnitKey("support", "甲。", None, (1,)): "full",
        UnitKey("relevance", "甲。", 1, (1,)): "yes",
        UnitKey("support", "乙。", None, (2,)): "partial",
        UnitKey("relevance", "乙。", 2, (2,)): "yes",
    }
    found = losses(report, EVIDENCE, labels)
    # Strict: recall (1 + 0) / 2, precision 1/2. Mended: recall 3/4, precision 1, F1 6/7.
    assert found.strict == exactly(HALF)
    assert found.recovered == exactly(Fraction(6, 7))
    assert found.codes == (CodeCost("C05", Fraction(5, 14)),)
    assert found.format_loss == Fraction(5, 14)
    assert found.evidence_loss == Fraction(1, 7)


def test_what_was_not_judged_is_not_guessed() -> None:
    raw = "<sentence>甲。<cite>1</cite></sentence><sentence>乙。<cite>資料2</cite></sentence>"
    report = lint(raw, evidence=EVIDENCE, finish_reason="stop")
    labels = {UnitKey("support", "甲。", None, (1,)): "full", UnitKey("relevance", "甲。", 1, (1,)): "yes"}
    found = losses(report, EVIDENCE, labels)
    assert found.codes == (CodeCost("C05", None, NOT_JUDGED),)
    assert (found.format_loss, found.evidence_loss) == (None, None)
    assert found.recovered == Bounds(HALF, Fraction(1))
    assert new_units(report, EVIDENCE, labels) == (
        Unit("support", (1,), "乙。", None, (2,)),
        Unit("relevance", (1,), "乙。", 2, (2,)),
    )


def test_a_known_verdict_holds_in_every_reading() -> None:
    # The mark and the cite say the same: mending changes the sentence's text, so it is a new unit; the other is not.
    raw = "<sentence>甲[1]。<cite>1</cite></sentence>\n<sentence>乙。<cite>2</cite></sentence>"
    report = lint(raw, evidence=EVIDENCE, finish_reason="stop")
    verdicts = [
        Verdict("support", (0,), None, "full"),
        Verdict("relevance", (0,), 1, "yes"),
        Verdict("support", (1,), None, "none"),
        Verdict("relevance", (1,), 2, "no"),
    ]
    labels = labels_of(report.strict, EVIDENCE, verdicts)
    assert labels[UnitKey("support", "乙。", None, (2,))] == "none"
    assert [(unit.kind, unit.text) for unit in new_units(report, EVIDENCE, labels)] == [
        ("support", "甲。"),
        ("relevance", "甲。"),
    ]


def test_what_mending_does_not_change_costs_nothing_whatever_is_known() -> None:
    raw = "前置きとして背景を述べる。<sentence><cite>1</cite>甲。</sentence>"
    report = lint(raw, evidence=EVIDENCE, finish_reason="stop")
    assert losses(report, EVIDENCE, {}).codes == (CodeCost("P02", Fraction(0)), CodeCost("P03", Fraction(0)))


def test_evidence_codes_are_no_loss_of_format() -> None:
    raw = "<sentence>甲。<cite>3</cite></sentence>"
    found = losses(lint(raw, evidence=EVIDENCE, finish_reason="stop"), EVIDENCE, {})
    assert found.codes == (CodeCost("R02", None, NOT_FORMAT),)
    assert (found.format_loss, found.evidence_loss) == (Fraction(0), Fraction(1))


def test_an_undecided_strict_score_leaves_its_codes_undecided() -> None:
    raw = "<sentence>甲。<cite>1</cite></sentence><sentence>乙。<cite>資料2</cite></sentence>"
    report = lint(raw, evidence=EVIDENCE, finish_reason="stop")
    assert losses(report, EVIDENCE, {}).codes == (CodeCost("C05", None, STRICT_UNDECIDED),)


def test_an_answer_without_tags_loses_all_of_it_to_one_code() -> None:
    report = lint("甲[1]。\n乙。", evidence=EVIDENCE, finish_reason="stop")
    labels = {
        UnitKey("support", "甲。", None, (1,)): "full",
        UnitKey("relevance", "甲。", 1, (1,)): "yes",
        UnitKey("need", "乙。", None, ()): "yes",
    }
    found = losses(report, EVIDENCE, labels)
    assert found.codes == (CodeCost("P03", Fraction(0)), CodeCost("W02", Fraction(2, 3)))
    assert found.evidence_loss == Fraction(1, 3)


def test_mending_one_fault_alone_can_make_it_worse() -> None:
    # The cite outside is brought in, but its body is no number yet: one more citation of an unknown page.
    raw = "<sentence>甲。<cite>1</cite></sentence><cite>資料2</cite>"
    report = lint(raw, evidence=EVIDENCE, finish_reason="stop")
    labels = {
        UnitKey("support", "甲。", None, (1,)): "full",
        UnitKey("relevance", "甲。", 1, (1,)): "yes",
        UnitKey("support", "甲。", None, (1, 2)): "full",
        UnitKey("relevance", "甲。", 2, (2,)): "yes",
    }
    found = losses(report, EVIDENCE, labels)
    assert found.codes == (CodeCost("C05", Fraction(0)), CodeCost("P01", Fraction(-1, 3)))
    assert found.format_loss == Fraction(0)
