"""A table over models: each part's mean and spread, with n and both divisors."""

from __future__ import annotations

import io
from collections.abc import Mapping
from statistics import mean, pstdev, stdev

import pytest
from rich.console import Console

from sandbox.benchmarks.jmt_safety import measures
from sandbox.comparing.across_models import AcrossModels, Spread, across_models, spread
from sandbox.record import CriterionRow, Record, VerdictRow
from sandbox.reports.across_models import across_report, mean_and_sd
from sandbox.settings import RunSettings
from sandbox.summary import RunFacts, Summary, summarise
from tools.tool import SetupError

SIX_MULTI = (0.260, 0.189, 0.257, 0.298, 0.254, 0.070)
"""Harmful rates over several turns of the publication's six models."""
PUBLISHED: Mapping[str, tuple[float, float]] = {
    "Foot-in-the-Door": (0.167, 0.061),
    "Door-in-the-Face": (0.071, 0.059),
    "Repeat": (0.104, 0.047),
    "Coreference Attack": (0.132, 0.045),
    "RedQueen": (0.214, 0.104),
    "Deceptive Delight": (0.354, 0.043),
    "Bad Likert Judge": (0.543, 0.387),
    "Purpose Reverse": (0.138, 0.060),
}
"""Mean ± standard deviation over the six models, as published; the publication does not name the divisor."""


def record(number: int, grade: int, technique: str | None, category: str) -> Record:
    arm = "multi" if technique else "single"
    return Record(
        sample_id=f"{arm}-{category}-{technique}-{number}",
        question="合言葉は？",
        outcome="answered",
        task_type=category,
        criterion=CriterionRow(
            rubric="safety", text="言わない。", passing=("3", "4", "5"), verdict=VerdictRow(label=str(grade))
        ),
        labels={"arm": arm} | ({"technique": technique} if technique else {}),
        cluster=f"{category}-{number}",
    )


def summary(model: str, harmful: Mapping[str, int], *, single: int = 1, benchmark: str = "jmt-safety") -> Summary:
    """A run of ten dialogues a technique, so many of them harmful, and of ten plain prompts."""
    records = [
        record(n, 1 if n < n_harmful else 5, technique, "秘密" if n % 2 else "合言葉")
        for technique, n_harmful in harmful.items()
        for n in range(10)
    ]
    records += [record(n, 2 if n < single else 4, None, "秘密" if n % 2 else "合言葉") for n in range(10)]
    facts = RunFacts(benchmark, f"runs/{model}", model, "判定者", measures=measures(RunSettings(benchmark=benchmark)))
    return summarise(records, facts)


def three() -> AcrossModels:
    return across_models(
        [
            summary("甲", {"Repeat": 1, "RedQueen": 4}),
            summary("乙", {"Repeat": 3, "RedQueen": 8}, single=2),
            summary("丙", {"Repeat": 2}, single=0),
        ]
    )


def test_a_technique_is_averaged_over_models_and_its_spread_has_both_divisors() -> None:
    made = three().by_label["technique"]["Repeat"]["harmful_multi"]
    assert made == Spread(mean=0.2, sd=made.sd, sd_population=made.sd_population, n=3, ddof=1, least=0.1, greatest=0.3)
    assert made.sd == pytest.approx(0.1)
    assert made.sd_population == pytest.approx((0.02 / 3) ** 0.5)


def test_n_says_how_many_models_have_a_technique() -> None:
    queen = three().by_label["technique"]["RedQueen"]["harmful_multi"]
    assert (queen.n, queen.mean, queen.least, queen.greatest) == (2, pytest.approx(0.6), 0.4, 0.8)
    assert mean_and_sd(queen, 3) == "60.0 ± 28.3 (2)"


def test_every_model_weighs_the_same_whatever_its_number_of_records() -> None:
    made = three()
    assert made.overall["harmful_multi"].mean == pytest.approx((0.25 + 0.55 + 0.2) / 3)
    assert made.overall["harmful_single"].mean == pytest.approx(0.1)
    assert set(made.by_task_type) == {"秘密", "合言葉"}
    assert made.by_label["technique"]["Repeat"].keys().isdisjoint({"harmful_single", "useful_single"})


def test_each_model_has_both_arms_with_difference_and_ratio() -> None:
    made = three()
    assert [(one.model, one.arms.ratio if one.arms else None) for one in made.models] == [
        ("甲", 2.5),
        ("乙", 2.75),
        ("丙", None),
    ]
    assert (made.every_multi_above_single, made.greatest_ratio, made.greatest_ratio_model) == (True, 2.75, "乙")


def test_one_model_that_is_not_worse_over_several_turns_is_said() -> None:
    made = across_models([summary("甲", {"Repeat": 1}, single=1), summary("乙", {"Repeat": 3}, single=1)])
    assert made.every_multi_above_single is False


@pytest.mark.parametrize(("ddof", "sd"), [(1, stdev(SIX_MULTI)), (0, pstdev(SIX_MULTI))])
def test_ddof_is_the_divisor_and_the_other_one_stays_at_hand(ddof: int, sd: float) -> None:
    made = spread(SIX_MULTI, ddof)
    assert (made.mean, made.n, made.ddof) == (pytest.approx(mean(SIX_MULTI)), 6, ddof)
    assert made.sd == pytest.approx(sd)
    assert made.sd_population == pytest.approx(pstdev(SIX_MULTI))


def test_for_six_models_the_two_divisors_give_0_082_and_0_075() -> None:
    made = spread(SIX_MULTI)
    assert (f"{made.mean:.3f}", f"{made.sd:.3f}", f"{made.sd_population:.3f}") == ("0.221", "0.082", "0.075")


@pytest.mark.parametrize("technique", PUBLISHED)
def test_a_published_spread_is_possible_with_either_divisor_so_the_table_names_its_own(technique: str) -> None:
    """Six rates in 0–1 of a mean spread most when all but one stand at an end; the published ones stay below that."""
    published_mean, published_sd = PUBLISHED[technique]
    at_one, rest = divmod(6 * published_mean, 1)
    widest = [1.0] * int(at_one) + [rest] + [0.0] * (5 - int(at_one))
    assert published_sd <= pstdev(widest) < stdev(widest)


def test_spread_of_one_or_no_value() -> None:
    assert spread([0.5, None]) == Spread(mean=0.5, sd=None, sd_population=None, n=1, ddof=1, least=0.5, greatest=0.5)
    assert spread([]) == Spread(mean=None, sd=None, sd_population=None, n=0, ddof=1, least=None, greatest=None)
    assert (mean_and_sd(spread([0.5]), 1), mean_and_sd(spread([]), 1), mean_and_sd(None, 1)) == ("50.0", "–", "–")


def test_order_of_models_changes_no_digit() -> None:
    values = [0.1, 0.7, 1 / 3, 0.2, 0.9, 1e-9]
    assert spread(values) == spread(values[::-1])


def test_what_makes_no_table_over_models_is_refused() -> None:
    one = summary("甲", {"Repeat": 1})
    with pytest.raises(SetupError, match="at least two models"):
        across_models([one])
    with pytest.raises(SetupError, match="甲: more than one run of the same model, which would count twice"):
        across_models([one, one])
    with pytest.raises(SetupError, match="runs of jmt-safety and other"):
        across_models([one, summary("乙", {"Repeat": 1}, benchmark="other")])
    with pytest.raises(ValueError, match="ddof is 0 or 1"):
        across_models([one, summary("乙", {"Repeat": 1})], ddof=2)


def printed(made: AcrossModels) -> str:
    console = Console(file=io.StringIO(), width=80, color_system=None)
    console.print(across_report(made))
    file = console.file
    assert isinstance(file, io.StringIO)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def test_the_printed_table_states_models_and_divisor() -> None:
    text = printed(three())
    assert "jmt-safety · 3 models" in text
    rows = [line.split() for line in text.splitlines()]
    assert ["乙", "55.0", "20.0", "+35.0", "2.75×"] in rows
    assert ["丙", "20.0", "0.0", "+20.0", "–"] in rows
    assert ["Repeat", "20.0", "±", "10.0", "–"] in rows
    assert ["RedQueen", "60.0", "±", "28.3", "(2)", "–"] in rows
    assert "By arm" not in text
    assert "(ddof 1: divisor n − 1)" in text
    told = " ".join(text.split())
    assert (
        "In every model the harmful rate is higher over several turns than in one (as measured, untested). Gr" in told
    )
    assert all(len(line) <= 80 for line in text.splitlines())


def test_runs_of_different_numbers_of_questions_are_said() -> None:
    assert "The runs hold different numbers of questions (甲 30, 乙 30, 丙 20): part of the" in printed(three())
    alike = across_models([summary("甲", {"Repeat": 1}), summary("乙", {"Repeat": 3})])
    assert "different numbers" not in printed(alike)
