"""Several runs in one table: the publications' forms, thinking off and on, English and Japanese."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO

from rich.console import Console

from sandbox.benchmarks.table import BENCHMARKS
from sandbox.measuring.statistics import Plan
from sandbox.record import CriterionRow, Record, RoundRow, VerdictRow
from sandbox.reports.side_by_side import judge_notes, side_by_side
from sandbox.settings import resolve
from sandbox.summary import RunFacts, Summary, summarise

PLAN = Plan(resamples=50)
AXES = ("INFERENCE_MEMORY", "SELF_COHERENCE")


def run(
    benchmark: str, model: str, passed: Sequence[int], *, judge: str = "j", thinking: bool = False, repeats: int = 1
) -> Summary:
    """A run of eight questions on two axes, of which the first `passed[axis]` pass."""
    records = [
        Record(
            sample_id=f"{axis}-{n}",
            repeat=repeat,
            task_type=axis,
            question="最後の問い",
            outcome="answered",
            rounds=(RoundRow(content="答え", reasoning="考え" if thinking else None),),
            criterion=CriterionRow(
                rubric="criterion",
                text="問い",
                passing=("yes",),
                verdict=VerdictRow(label="yes" if n < n_passed else "no"),
            ),
        )
        for axis, n_passed in zip(AXES, passed, strict=True)
        for n in range(4)
        for repeat in range(repeats)
    ]
    chosen = BENCHMARKS[benchmark]
    settings = resolve(benchmark, chosen.defaults, None, {"repeats": repeats})
    facts = RunFacts(benchmark, "run", model, judge, measures=chosen.measures(settings), type_name=chosen.type_name)
    return summarise(records, facts, PLAN)


def text(summaries: Sequence[Summary]) -> str:
    stream = StringIO()
    console = Console(file=stream, width=80, markup=False, highlight=False)
    for table in side_by_side(summaries):
        console.print(table)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


def test_multichallenge_has_a_column_an_axis_and_the_mean_of_them() -> None:
    assert (
        text([run("multichallenge", "a", (1, 2)), run("multichallenge", "b", (4, 0))])
        == """\
                               INFERENCE       SELF
As published · multichallenge     MEMORY  COHERENCE  Pass (axes)
────────────────────────────────────────────────────────────────
a                                   25.0       50.0         37.5
b                                  100.0        0.0         50.0"""
    )


def test_with_several_attempts_the_published_column_is_pass_at_k_and_says_so() -> None:
    assert "pass@2 (axes)" in text([run("multichallenge", "a", (1, 2), repeats=2)])


def test_runs_of_other_numbers_of_attempts_share_no_column_and_no_difference() -> None:
    runs = [run("multichallenge", "m", (1, 2)), run("multichallenge", "m", (2, 2), repeats=2, thinking=True)]
    assert (
        text(runs)
        == """\
                               INFERENCE       SELF
As published · multichallenge     MEMORY  COHERENCE  Pass (axes)
────────────────────────────────────────────────────────────────
m                                   25.0       50.0         37.5
                                        INFERENCE       SELF
As published · multichallenge · pass@2     MEMORY  COHERENCE  pass@2 (axes)
───────────────────────────────────────────────────────────────────────────
m                                            50.0       50.0           50.0"""
    )


def test_the_difference_that_thinking_makes_to_pass_at_k_is_called_so() -> None:
    runs = [run("multichallenge", "m", (1, 1), repeats=2), run("multichallenge", "m", (2, 2), repeats=2, thinking=True)]
    assert "m · multichallenge · pass@2  25.0  50.0       +25.0" in text(runs)


def test_j_multichallenge_is_a_fraction_with_thinking_and_the_mean_of_axes_beside_it() -> None:
    runs = [
        run("j-multichallenge", "m", (1, 1), repeats=3),
        run("j-multichallenge", "m", (3, 2), repeats=3, thinking=True),
    ]
    assert (
        text(runs)
        == """\
As published · j-multichallenge  thinking  Pass (all)  Pass (axes)
──────────────────────────────────────────────────────────────────
m                                       –       0.250        0.250
m                                       o       0.625        0.625
Thinking off → on, %   off    on  difference
────────────────────────────────────────────
m · j-multichallenge  25.0  62.5       +37.5
  INFERENCE_MEMORY    25.0  75.0       +50.0
  SELF_COHERENCE      25.0  50.0       +25.0"""
    )


def test_a_model_that_reasons_before_some_answers_only_is_not_told_as_one_that_always_does() -> None:
    some = run("j-multichallenge", "m", (1, 1), thinking=True).model_copy(update={"thinking": 3})
    assert text([some]).splitlines()[-1].split() == ["m", "o", "3/8", "0.250", "0.250"]


def test_the_same_model_in_english_and_japanese_stands_by_both_averages() -> None:
    runs = [run("multichallenge", "m", (2, 0)), run("j-multichallenge", "m", (1, 0), repeats=3)]
    assert text(runs).splitlines()[-5:] == [
        "English → Japanese, %  English  Japanese  difference",
        "────────────────────────────────────────────────────",
        "m",
        "  all questions           25.0      12.5       −12.5",
        "  mean of the axes        25.0      12.5       −12.5",
    ]
    assert "English" not in text([runs[0], run("j-multichallenge", "other", (1, 0))])


def test_a_language_is_not_held_against_the_other_with_thinking_on_in_one_of_them() -> None:
    runs = [
        run(name, "m", (n, 0), thinking=thinking)
        for name, n in (("multichallenge", 2), ("j-multichallenge", 1))
        for thinking in (False, True)
    ]
    lines = [line.split("  ")[0] for line in text(runs).partition("English → Japanese")[2].splitlines()[2:]]
    assert [line for line in lines if line] == ["m", "m · thinking"]


def test_another_judge_than_the_published_one_is_said() -> None:
    assert judge_notes([run("multichallenge", "m", (1, 1), judge="openai/GPT-4o-2024-08-06")]) == []
    assert judge_notes([run("j-multichallenge", "m", (1, 1), judge="gpt-4o")]) == [
        "Published figures of j-multichallenge are gpt-oss-120b's verdicts: another judge's compare with care."
    ]


def test_every_benchmark_with_a_publication_has_its_table_and_its_judge() -> None:
    judges = {name: chosen.published.judge for name, chosen in BENCHMARKS.items() if chosen.published is not None}
    assert judges == {
        "tmg-cqa-tool": "gemma-4-31b-it",
        "tmg-cqa-rag": "gemma-4-31b-it",
        "multichallenge": "gpt-4o-2024-08-06",
        "j-multichallenge": "gpt-oss-120b",
        "jmt-safety": "gpt-oss-120b",
    }
