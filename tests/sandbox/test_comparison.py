"""Two runs paired by question: what counts, what is tested how, where a difference comes from, which questions moved."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.comparing.comparable import differences, refusal
from sandbox.comparing.comparison import Comparison, Occasion, Side, as_json, compare
from sandbox.comparing.metric_change import AsZero
from sandbox.comparing.pairing import gather
from sandbox.folder.provenance import Facts, Provenance
from sandbox.folder.sample_file import SAMPLES, as_lines, count_sessions
from sandbox.measuring.statistics import Plan, holm, mcnemar_exact, paired_bootstrap, tango
from sandbox.record import CriterionRow, Flag, Outcome, Record, ScoreRow, VerdictRow
from sandbox.sample import Gold, Sample, Script

QUICK = Plan(resamples=200)


def record(
    number: int,
    f1: str = "1",
    label: str | None = "consistent",
    *,
    outcome: Outcome = "answered",
    flags: tuple[Flag, ...] = (),
    repeat: int = 0,
) -> Record:
    """Question `number` with recall = precision = F1, or with what its outcome leaves of that."""
    scored = outcome in ("answered", "judge_error")
    return Record(
        sample_id=f"tmg-{number:04d}",
        repeat=repeat,
        task_type="比較" if number % 2 else "制度の変更",
        question=f"令和{number}年度の所得制限はどうなったか。",
        reference="撤廃された。",
        outcome=outcome,
        outcome_reason="output_limit: 16384" if outcome == "generation_failed" else "",
        flags=flags,
        consistency=VerdictRow(label=label) if scored else None,
        score=ScoreRow(recall=f1, precision=f1, f1=f1) if scored else None,
    )


def side(name: str, n: int, expected: int | None = None) -> Side:
    return Side(
        run=f"runs/{name}",
        benchmark="tmg-cqa-tool",
        model=name,
        judge="gemma-4-31b-it",
        started="2026-11-30T00:00:00+00:00",
        questions=n,
        sessions=n,
        expected_sessions=expected,
        contradictions=0,
        checked_pairs=0,
    )


def compared(a: Sequence[Record], b: Sequence[Record], n_moved: int = 20) -> Comparison:
    occasion = Occasion(side("qwen3", len(a)), side("gemma-4", len(b)))
    return compare(gather(a), gather(b), occasion, n_moved=n_moved, plan=QUICK, by_type=QUICK)


def right(number: int, yes: bool) -> Record:
    return record(number, label="consistent" if yes else "contradictory")


def test_a_rate_with_one_session_a_question_is_tested_by_mcnemar() -> None:
    a = [right(n, yes=n < 70) for n in range(100)]
    b = [right(n, yes=n >= 10 or n < 3) for n in range(100)]
    made = compared(a, b).metrics["consistency"]
    assert (made.a, made.b, made.pairs) == (0.7, 0.93, 100)
    assert (made.higher_in_a, made.higher_in_b, made.equal) == (7, 30, 63)
    assert made.difference == pytest.approx(0.23)
    interval = tango(7, 30, 100)
    assert (made.test, made.p, made.interval) == (
        "mcnemar-exact", mcnemar_exact(7, 30), (interval.low, interval.high),
    )  # fmt: skip


def test_a_mean_is_tested_by_drawing_questions() -> None:
    a = [record(n, "1/2") for n in range(40)]
    b = [record(n, str(Fraction(n % 5, 4))) for n in range(40)]
    made = compared(a, b).metrics["citation_f1"]
    expected = paired_bootstrap([n % 5 / 4 - 0.5 for n in range(40)], QUICK)
    assert (made.test, made.method, made.p) == ("paired-bootstrap", "paired-bootstrap", expected.p)
    assert made.interval == (expected.interval.low, expected.interval.high)


def test_repeats_are_one_value_a_question_and_no_mcnemar() -> None:
    a = [right(n, yes=repeat == 0) for n in range(6) for repeat in range(3)]
    a = [old.model_copy(update={"repeat": i % 3}) for i, old in enumerate(a)]
    b = [right(n, yes=n > 0) for n in range(6)]
    made = compared(a, b).metrics["consistency"]
    assert (made.pairs, made.test, made.higher_in_a, made.higher_in_b) == (6, "paired-bootstrap", 1, 5)
    assert made.a == pytest.approx(1 / 3)


def test_p_values_are_adjusted_for_all_metrics_that_are_tested() -> None:
    a = [record(n, "1/2", "contradictory" if n < 12 else "consistent") for n in range(40)]
    b = [record(n, str(Fraction(n % 5, 4))) for n in range(40)]
    made = compared(a, b)
    names = ["consistency", "citation_recall", "citation_precision", "citation_f1"]
    assert list(made.metrics) == names == list(made.statistics.tested)
    p_values = [change.p for change in made.metrics.values() if change.p is not None]
    assert [change.p_holm for change in made.metrics.values()] == holm(p_values)


def test_context_overflow_leaves_the_pair_out_of_f1_and_is_shown_as_zero_beside_it() -> None:
    a = [record(0, "1"), record(1, "1"), record(2, outcome="context_overflow"), record(3, "1/2")]
    b = [record(0, "1/2"), record(1, outcome="context_overflow"), record(2, "1"), record(3, "1/2")]
    made = compared(a, b).metrics
    f1 = made["citation_f1"]
    assert (f1.pairs, f1.a, f1.b, f1.difference) == (2, 0.75, 0.5, -0.25)
    assert (f1.left_out.a, f1.left_out.b) == ({"context_overflow": 1}, {"context_overflow": 1})
    assert f1.left_out_as_zero == AsZero(a=0.625, b=0.5, difference=-0.125, pairs=4)
    assert (made["consistency"].pairs, made["consistency"].left_out_as_zero) == (4, None)


def test_what_was_not_asked_is_not_counted_as_zero() -> None:
    def unasked(number: int) -> Record:
        score = ScoreRow(recall=None, precision=None, f1="0", f1_bounds=("0", "0"))
        return record(number).model_copy(update={"score": score})

    made = compared([record(0), unasked(1)], [record(0), record(1)]).metrics
    assert (made["citation_recall"].pairs, made["citation_recall"].left_out.a) == (1, {"not_asked": 1})
    assert made["citation_recall"].left_out_as_zero is None
    assert made["citation_f1"].pairs == 2


def test_missing_verdicts_bound_the_difference() -> None:
    a = [record(0, label=None, outcome="judge_error"), right(1, yes=True)]
    b = [right(0, yes=True), right(1, yes=True)]
    made = compared(a, b).metrics
    assert (made["consistency"].difference, made["consistency"].bounds) == (0.5, (0.0, 0.5))
    assert made["citation_f1"].bounds is None


def test_only_the_same_question_in_the_same_words_is_a_pair() -> None:
    changed = record(2).model_copy(update={"reference": "緩和された。"})
    made = compared([record(0), record(1), record(2)], [record(1), changed, record(3), record(4)]).questions
    assert made.model_dump() == {"compared": 1, "only_a": 1, "only_b": 2, "changed": 1}


def test_another_yes_no_question_about_the_same_last_turn_is_another_question() -> None:
    asked = CriterionRow(rubric="criterion", text="「卵」を避けていますか？", passing=("yes",))
    ours = record(0).model_copy(update={"criterion": asked})
    theirs = ours.model_copy(update={"criterion": asked.model_copy(update={"text": "「乳」を避けていますか？"})})
    assert compared([ours], [ours]).questions.compared == 1
    assert compared([ours], [theirs]).questions.changed == 1


def test_changes_of_state_add_up_to_the_difference() -> None:
    a = [
        record(0, "0", flags=("no_sentence",)),
        record(1, "0", flags=("no_citation",)),
        record(2, outcome="generation_failed"),
        record(3, "1/2"),
        record(4, outcome="context_overflow"),
    ]
    b = [record(0, "1"), record(1, "1/2"), record(2, "1"), record(3, "1"), record(4, "1")]
    made = compared(a, b)
    assert [(change.a, change.b, change.questions, change.share["citation_f1"]) for change in made.changes] == [
        ("answered", "answered", 1, 0.125),
        ("context_overflow", "answered", 1, 0.0),
        ("generation_failed", "answered", 1, 0.25),
        ("no_citation", "answered", 1, 0.125),
        ("no_sentence", "answered", 1, 0.25),
    ]
    assert made.metrics["citation_f1"].difference == 0.75


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=25))
def test_whatever_happened_the_shares_add_up(kinds: list[tuple[int, int]]) -> None:
    def made_of(number: int, kind: int) -> Record:
        outcomes: tuple[Outcome, ...] = ("generation_failed", "context_overflow")
        if kind < 2:
            return record(number, outcome=outcomes[kind])
        return record(number, f"{kind - 2}/4", "consistent" if kind % 2 else "insufficient")

    a = [made_of(n, kind) for n, (kind, _) in enumerate(kinds)]
    b = [made_of(n, kind) for n, (_, kind) in enumerate(kinds)]
    made = compared(a, b)
    for name, change in made.metrics.items():
        if change.difference is not None:
            assert sum(part.share[name] for part in made.changes) == pytest.approx(change.difference)
    turned = compared(b, a)
    assert turned.metrics["consistency"].p == made.metrics["consistency"].p


def test_the_questions_that_moved_most_come_first_with_both_values_and_why() -> None:
    a = [record(0, "1"), record(1, "1/2"), record(2, "1"), record(3, "1/4")]
    b = [
        record(0, "1"),
        record(1, "1"),
        record(2, outcome="generation_failed"),
        record(3, "1/2", flags=("cut_by_limit",)),
    ]
    made = compared(a, b).moved
    assert [(row.sample_id, row.movement) for row in made] == [("tmg-0002", 2.0), ("tmg-0001", 0.5), ("tmg-0003", 0.25)]
    first = made[0]
    assert (first.a.state, first.b.state, first.b.causes) == ("answered", "generation_failed", ("output_limit",))
    assert (first.a.values["citation_f1"], first.b.values["citation_f1"]) == (1.0, 0.0)
    assert made[2].b.flags == ("cut_by_limit",)
    assert [row.sample_id for row in compared(a, b, n_moved=1).moved] == ["tmg-0002"]


def test_task_types_have_differences_and_no_tests() -> None:
    a, b = [record(n, "1/2") for n in range(4)], [record(n, "1" if n % 2 else "1/2") for n in range(4)]
    made = compared(a, b).by_task_type
    assert [(name, row.questions, row.metrics["citation_f1"].difference) for name, row in made.items()] == [
        ("制度の変更", 2, 0.0),
        ("比較", 2, 0.5),
    ]


def test_power_says_how_many_questions_two_points_need() -> None:
    a = [right(n, yes=n % 2 == 0) for n in range(200)]
    b = [right(n, yes=n % 2 == 0 or n < 40) for n in range(200)]
    strength = compared(a, b).metrics["consistency"].strength
    assert strength is not None
    assert strength.questions_for_target == 1_960
    assert strength.detectable == pytest.approx(0.0623, abs=1e-4)
    assert compared(a, a).metrics["consistency"].strength is None


def test_equal_runs_show_nothing_and_claim_nothing() -> None:
    same = [record(n, "1/2") for n in range(50)]
    made = compared(same, same)
    assert {change.p for change in made.metrics.values()} == {1.0}
    assert all(change.interval and change.interval[0] < 0 < change.interval[1] for change in made.metrics.values())
    assert made.moved == ()


def test_the_same_runs_give_the_same_bytes_in_any_order() -> None:
    a, b = [record(n, "1/2") for n in range(9)], [record(n, f"{n}/9") for n in range(9)]
    assert as_json(compared(a, b)) == as_json(compared(a[::-1], b[::-1]))
    assert json.loads(as_json(compared(a, b)))["metrics"]["citation_f1"]["pairs"] == 9


def capsule(**changed: Facts) -> Provenance:
    facts: Facts = {
        "benchmark": {"name": "tmg-cqa-tool", "version": "1"},
        "data": {"sha256": "0" * 64, "rows": 571},
        "model": {"name": "qwen3", "decode": {"temperature": 0.6}},
        "judge": {"name": "gemma-4-31b-it"},
        "search": {"engine": "brave", "count": 10},
        "texts": {"tool_schemas": "1" * 64},
    }
    return Provenance(compared={**facts, **changed}, nonce="n", starts=())


def test_another_model_and_its_decode_settings_may_differ() -> None:
    found = differences(capsule(), capsule(model={"name": "gemma-4", "decode": {"temperature": 0.0}}))
    assert found.model == ("model.decode.temperature was 0.6, is 0.0", 'model.name was "qwen3", is "gemma-4"')
    assert (found.spoiling, refusal(found)) == ((), None)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"judge": {"name": "gpt-4o"}}, 'more than the model differs: judge.name was "gemma-4-31b-it", is "gpt-4o"'),
        ({"search": {"engine": "brave", "count": 5}}, "search.count was 10, is 5"),
        ({"texts": {"tool_schemas": "2" * 64}}, "texts.tool_schemas was"),
        ({"benchmark": {"name": "tmg-cqa-tool", "version": "2"}}, 'benchmark.version was "1", is "2"'),
        ({"data": {"sha256": "0" * 64, "rows": 570}}, "A and B are runs of different data (data.rows was 571, is 570)"),
    ],
)  # fmt: skip
def test_whatever_else_differs_is_refused_in_words(changed: dict[str, Facts], sentence: str) -> None:
    assert sentence in (refusal(differences(capsule(), capsule(**changed))) or "")


def test_a_run_that_does_not_say_what_it_was_made_of_is_refused() -> None:
    assert "run B has no provenance.json" in (refusal(differences(capsule(), None)) or "")


def test_the_size_of_the_whole_run_comes_from_its_samples(tmp_path: Path) -> None:
    assert count_sessions(tmp_path, None, 1) is None
    script = Script(turns=("問い",))
    some = Script(turns=("問い",), responses=("一", None))
    none = Script(turns=("問い",), responses=())
    samples = [Sample(str(i), "問い", one, Gold("答え")) for i, one in enumerate((script, some, none))]
    (tmp_path / SAMPLES).write_text("".join(as_lines(samples)), encoding="utf-8")
    # A sample with responses has a session for each of them, and one where there is none.
    assert count_sessions(tmp_path, None, 3) == 3 + 2 + 1
    assert count_sessions(tmp_path, 2, 1) == 1 + 2
    assert count_sessions(tmp_path, 100, 1) == 4


def test_another_judge_is_no_doubt_where_the_answers_are_the_same() -> None:
    other = capsule(judge={"name": "another"})
    words = 'judge.name was "gemma-4-31b-it", is "another"'
    found = differences(capsule(judge={"name": "gemma-4-31b-it"}), other, same_answers=True)
    assert (found.model, found.spoiling, found.judge, refusal(found)) == ((), (), (words,), None)


def test_how_often_a_verdict_was_asked_for_moves_no_score() -> None:
    asked = {"name": "gemma-4-31b-it", "attempts": 3}
    found = differences(capsule(judge=asked), capsule(judge={**asked, "repeats": 5}))
    assert (found.model, found.spoiling, found.judge) == ((), (), ())
