"""MultiChallenge and J-MultiChallenge: what is asked, what passes, what the figures are called, the published numbers."""

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sandbox.baseline.judge import support
from sandbox.baseline.verdicts import criterion
from sandbox.benchmarks import j_multichallenge, multichallenge
from sandbox.benchmarks.benchmark import Benchmark, Loaded
from sandbox.folder.store import read_records
from sandbox.loading.locate import locate
from sandbox.measuring.measures import criterion_value
from sandbox.measuring.outcome import ONE, ZERO
from sandbox.record import CriterionRow, Outcome, Record, VerdictRow
from sandbox.reports.progress import Progress
from sandbox.run import Occasion, run
from sandbox.sample import Criterion, Gold, Sample, Script
from sandbox.settings import Overrides, RunSettings, resolve
from sandbox.summary import RunFacts, Summary, summarise
from tools.tool import SetupError

DATA = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "multichallenge"
MC, JMC = multichallenge.BENCHMARK, j_multichallenge.BENCHMARK
AXES = {"INSTRUCTION_RETENTION": 69, "INFERENCE_MEMORY": 113, "RELIABLE_VERSION_EDITING": 41, "SELF_COHERENCE": 50}


def settings_of(benchmark: Benchmark, **flags: Any) -> RunSettings:
    given: Overrides = {name.replace("__", "."): value for name, value in flags.items()}
    return resolve(benchmark.name, benchmark.defaults, None, given)


def loaded(benchmark: Benchmark, **flags: Any) -> Loaded:
    return benchmark.load(settings_of(benchmark, **flags), None)


def written(folder: Path, name: str, *rows: Mapping[str, Any]) -> str:
    path = folder / name
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def record(name: str, axis: str, label: str | None, *, repeat: int = 0, outcome: Outcome = "answered") -> Record:
    """A session whose answer got this label; None = the judge gave none, or there was nothing to judge."""
    verdict = None if outcome in ("generation_failed", "context_overflow") else VerdictRow(label=label)
    asked = CriterionRow(rubric="criterion", text="「卵」を避けていますか？", passing=("yes",), verdict=verdict)
    return Record(
        sample_id=name,
        repeat=repeat,
        task_type=axis,
        question="献立は？",
        outcome=outcome,
        criterion=asked,
        answer="献立",
    )


def summary(benchmark: Benchmark, records: Sequence[Record], **flags: Any) -> Summary:
    measures = benchmark.measures(settings_of(benchmark, **flags))
    return summarise(
        records, RunFacts(benchmark.name, "run", "m", "j", measures=measures, type_name=benchmark.type_name)
    )


def value(made: Summary, name: str) -> float | None:
    return made.metrics[name].value


def test_the_history_goes_as_it_stands_and_the_last_user_turn_is_the_one_that_is_asked(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "  卵は使わないで。\n"},
        {"role": "assistant", "content": "はい。\n\n"},
        {"role": "user", "content": " 献立は？ "},
    ]
    row = {
        "question_id": "問一", "axis": "INFERENCE_MEMORY", "conversation": messages,
        "target_question": "「卵」を避けていますか？", "pass_criteria": "No", "requires_external_knowledge": True,
    }  # fmt: skip
    made = loaded(JMC, data=written(tmp_path, "対話.jsonl", row))
    assert made.samples == (
        Sample(
            id="問一",
            question=" 献立は？ ",
            script=Script(turns=(" 献立は？ ",), history=tuple(messages[:2]), tools=False),
            gold=Gold(None, (), Criterion("criterion", "「卵」を避けていますか？", ("no",))),
            task_type="INFERENCE_MEMORY",
            labels={"needs_knowledge": "yes"},
        ),
    )
    assert (made.n_rows, made.path, made.unused) == (1, str(tmp_path / "対話.jsonl"), ())


def test_the_published_settings_are_the_defaults() -> None:
    mc, jmc = settings_of(MC), settings_of(JMC)
    others = ("top_p", "top_k", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty")
    assert (mc.model.decode.temperature, mc.model.decode.omit) == (0.0, others)
    assert jmc.model.decode.omit == ("temperature", *others)
    assert [(one.repeats, one.search.engine, one.language, one.judge.language) for one in (mc, jmc)] == [
        (1, "none", "en", "en"),
        (3, "none", "ja", "ja"),
    ]
    assert [(one.model.max_output_tokens, one.judge.max_output_tokens) for one in (mc, jmc)] == [
        (16_384, 4_096),
        (16_384, 8_192),
    ]


@pytest.mark.parametrize("benchmark", [MC, JMC])
def test_without_data_or_with_a_field_map_the_message_says_what_is_read(benchmark: Benchmark) -> None:
    with pytest.raises(SetupError, match=f"^{benchmark.name} needs the dialogues: --data PATH "):
        loaded(benchmark)
    with pytest.raises(SetupError, match=f"^{benchmark.name} reads no field map: name the columns QUESTION_ID, AXIS"):
        loaded(benchmark, data="mini:multichallenge.jsonl", fields="map.toml")


@pytest.mark.parametrize(("benchmark", "needing"), [(MC, {}), (JMC, {"no": 10, "yes": 2})])
def test_the_bundled_rows_have_a_full_marks_answer_each_and_all_four_axes(
    benchmark: Benchmark, needing: dict[str, int]
) -> None:
    made = loaded(benchmark, **(benchmark.mini or {}))
    assert made.n_rows == 12
    assert {axis: sum(one.task_type == axis for one in made.samples) for axis in AXES} == dict.fromkeys(AXES, 3)
    labels = [one.labels["needs_knowledge"] for one in made.samples if one.labels]
    assert {label: labels.count(label) for label in sorted(set(labels))} == needing
    failing = []
    for one in made.samples:
        asked, reference = one.gold.criterion, one.gold.reference
        assert asked is not None
        assert reference is not None
        if criterion(asked.text, reference, support).label not in asked.passing:
            failing.append(one.id)
    assert failing == []
    # The rule is equality: one row passes by NO.
    assert sorted({one.gold.criterion.passing for one in made.samples if one.gold.criterion}) == [("no",), ("yes",)]


def test_responses_are_what_is_judged_and_a_question_without_one_stays(tmp_path: Path) -> None:
    file = written(tmp_path, "回答.jsonl", {"QUESTION_ID": "mini-en-01", "RESPONSE": "No"})
    made = loaded(MC, data="mini:multichallenge.jsonl", responses=file)
    assert made.n_rows == len(made.samples) == 12
    assert [one.script.responses for one in made.samples] == [("No",), *[(None,)] * 11]


def test_more_attempts_than_the_responses_hold_are_refused() -> None:
    file = str(locate("mini:multichallenge_responses.jsonl"))
    with pytest.raises(
        SetupError, match="holds at most 2 responses a question, and 3 sessions a question are asked for"
    ):
        loaded(MC, data="mini:multichallenge.jsonl", responses=file, repeats=3)


def test_one_attempt_is_called_neither_pass_at_k_nor_pass_hat_k() -> None:
    assert [(one.name, one.title, one.headline) for one in MC.measures(settings_of(MC))] == [
        ("axis_mean", "Pass rate, mean of the axes", True),
        ("pass_rate", "Pass rate, all questions", False),
    ]


def test_k_attempts_are_called_by_what_is_made_of_them() -> None:
    made = MC.measures(settings_of(MC, repeats=3))
    assert [(one.name, one.title, one.fold, one.average, one.headline) for one in made] == [
        ("axis_mean_pass_at_3", "pass@3, mean of the axes", "any", "types", True),
        ("axis_mean", "Mean of 3 attempts, mean of the axes", "mean", "types", True),
        ("axis_mean_pass_hat_3", "pass^3, mean of the axes", "all", "types", False),
        ("pass_at_3", "pass@3, all questions", "any", "questions", False),
        ("pass_rate", "Mean of 3 attempts, all questions", "mean", "questions", False),
        ("pass_hat_3", "pass^3, all questions", "all", "questions", False),
    ]


def test_three_runs_of_j_multichallenge_are_a_mean_and_no_attempts() -> None:
    assert [(one.name, one.title, one.fold, one.average, one.headline) for one in JMC.measures(settings_of(JMC))] == [
        ("pass_rate", "Pass rate, all questions", "mean", "questions", True),
        ("axis_mean", "Pass rate, mean of the axes", "mean", "types", False),
    ]


def test_any_attempt_all_attempts_and_their_mean() -> None:
    labels = {"問一": ("yes", "no"), "問二": ("no", "no"), "問三": ("yes", "yes")}
    records = [
        record(name, "SELF_COHERENCE" if name == "問一" else "INFERENCE_MEMORY", label, repeat=repeat)
        for name, both in labels.items()
        for repeat, label in enumerate(both)
    ]
    made = summary(MC, records, repeats=2)
    assert {name: (metric.value, metric.n) for name, metric in made.metrics.items()} == {
        "axis_mean_pass_at_2": (0.75, 3),
        "axis_mean": (0.5, 6),
        "axis_mean_pass_hat_2": (0.25, 3),
        "pass_at_2": (float(Fraction(2, 3)), 3),
        "pass_rate": (0.5, 6),
        "pass_hat_2": (float(Fraction(1, 3)), 3),
    }


def test_the_mean_of_the_axes_weighs_41_questions_like_113() -> None:
    passed = {"INSTRUCTION_RETENTION": 40, "INFERENCE_MEMORY": 47, "RELIABLE_VERSION_EDITING": 16, "SELF_COHERENCE": 17}
    records = [
        record(f"{axis}-{i}", axis, "yes" if i < passed[axis] else "no") for axis, n in AXES.items() for i in range(n)
    ]
    made = summary(MC, records)
    by_axis = Fraction(40, 69), Fraction(47, 113), Fraction(16, 41), Fraction(17, 50)
    assert value(made, "axis_mean") == float(sum(by_axis, Fraction(0)) / 4)
    assert value(made, "pass_rate") == float(Fraction(120, 273))
    assert {axis: (part.samples, part.metrics["pass_rate"].value) for axis, part in made.by_task_type.items()} == {
        axis: (AXES[axis], float(Fraction(passed[axis], AXES[axis]))) for axis in AXES
    }
    # o1-preview's published rate on this axis, of 41 questions.
    assert round(100 * 16 / 41, 1) == 39.0


def test_a_judge_error_stays_on_its_axis_and_is_undecided() -> None:
    records = [record(f"{axis}-{i}", axis, "yes") for axis in AXES for i in range(2)]
    records[-1] = record("SELF_COHERENCE-1", "SELF_COHERENCE", None, outcome="judge_error")
    made = summary(MC, records)
    assert set(made.by_task_type) == set(AXES)
    assert made.by_task_type["SELF_COHERENCE"].metrics["pass_rate"].n == 2
    metric = made.metrics["axis_mean"]
    assert (metric.value, metric.n, metric.undecided, metric.bounds) == (0.875, 8, 1, (0.875, 1.0))


@pytest.mark.parametrize("outcome", ["generation_failed", "context_overflow"])
def test_a_question_without_an_answer_is_one_that_did_not_pass(outcome: Outcome) -> None:
    assert criterion_value(record("問一", "SELF_COHERENCE", None, outcome=outcome)) == ZERO
    made = summary(
        MC, [record("問一", "SELF_COHERENCE", None, outcome=outcome), record("問二", "SELF_COHERENCE", "yes")]
    )
    assert (made.metrics["pass_rate"].value, made.metrics["pass_rate"].n) == (0.5, 2)


def test_passing_is_equality_with_the_criterion_also_where_it_is_no() -> None:
    asked = CriterionRow(
        rubric="criterion", text="卵を入れていますか？", passing=("no",), verdict=VerdictRow(label="no")
    )
    said_no = record("問一", "SELF_COHERENCE", "no").model_copy(update={"criterion": asked})
    said_yes = said_no.model_copy(update={"criterion": asked.model_copy(update={"verdict": VerdictRow(label="yes")})})
    assert (criterion_value(said_no), criterion_value(said_yes)) == (ONE, ZERO)


# Section 3.1's table and footnote 11 of the J-MultiChallenge article.
PUBLISHED = (
    0.662, 0.620, 0.648, 0.564, 0.645, 0.479, 0.680, 0.530, 0.354, 0.347,
    0.231, 0.466, 0.341, 0.261, 0.272, 0.280, 0.353, 0.206, 0.386, 0.357,
)  # fmt: skip


def test_every_published_value_of_j_multichallenge_is_a_rate_over_all_questions_and_runs() -> None:
    reachable = {round(k / 819, 3): k for k in range(820)}
    assert [one for one in PUBLISHED if one not in reachable] == []
    # It says something: 181 of the 1,001 values with three places are no k/819.
    assert len(reachable) == 820


@pytest.mark.parametrize("published", [PUBLISHED[0], PUBLISHED[-3]])
def test_three_runs_of_273_questions_give_the_published_value(published: float) -> None:
    (k,) = (k for k in range(820) if round(k / 819, 3) == published)
    axes = [axis for axis, n in AXES.items() for _ in range(n)]
    records = [
        record(f"j-{i:03}", axis, "yes" if 273 * repeat + i < k else "no", repeat=repeat).model_copy(
            update={"labels": {"needs_knowledge": "yes" if i < 53 else "no"}}
        )
        for repeat in range(3)
        for i, axis in enumerate(axes)
    ]
    made = summary(JMC, records)
    metric = made.metrics["pass_rate"]
    assert metric.value is not None
    assert (round(metric.value, 3), metric.n, metric.questions) == (published, 819, 273)
    by_knowledge = made.by_label["needs_knowledge"]
    assert {label: (part.samples, part.metrics["pass_rate"].n) for label, part in by_knowledge.items()} == {
        "no": (220, 660),
        "yes": (53, 159),
    }
    assert made.type_name == "axis"


def _run(folder: Path, settings: RunSettings) -> list[Record]:
    occasion = Occasion(("run", "multichallenge"), {}, "2026-11-30T00:00:00+00:00")
    asyncio.run(run(MC, settings, folder, occasion, Progress(sys.stderr, quiet=True)))
    return sorted(read_records(folder), key=lambda one: (one.sample_id, one.repeat))


def test_a_run_on_existing_answers_generates_nothing_and_counts_what_is_missing(tmp_path: Path) -> None:
    file = str(locate("mini:multichallenge_responses.jsonl"))
    settings = settings_of(MC, data="mini:multichallenge.jsonl", responses=file, repeats=2)
    records = _run(tmp_path / "run", settings)
    made = summary(MC, records, repeats=2)
    assert (made.samples, made.sessions, made.usage.model.calls) == (12, 24, 0)
    assert made.outcomes == {"answered": 17, "generation_failed": 7, "context_overflow": 0, "judge_error": 0}
    assert made.outcome_reasons["generation_failed"] == {"no_response": 6, "error_text": 1}
    assert {name: made.metrics[name].n for name in ("pass_at_2", "pass_rate")} == {"pass_at_2": 12, "pass_rate": 24}
    # A response that is a text is one answer, and is judged whole.
    biscuit = [one for one in records if one.sample_id == "mini-en-05"]
    assert [(one.outcome, one.answer, criterion_value(one)) for one in biscuit] == [
        ("answered", "Biscuit", ONE),
        ("generation_failed", None, ZERO),
    ]


def test_the_baseline_passes_some_bundled_rows_and_fails_others(tmp_path: Path) -> None:
    records = _run(tmp_path / "run", settings_of(MC, **(MC.mini or {})))
    passed = [one.sample_id for one in records if criterion_value(one) == ONE]
    assert passed == ["mini-en-03", "mini-en-05", "mini-en-08", "mini-en-10", "mini-en-12"]


@pytest.mark.skipif(not DATA.is_dir(), reason="the published MultiChallenge data is not on this machine")
def test_a_published_model_is_scored_over_273_questions_on_four_axes_with_its_seven_errors_named(
    tmp_path: Path,
) -> None:
    settings = settings_of(
        MC,
        data=str(DATA / "benchmark_questions.jsonl"),
        responses=str(DATA / "final_model_responses" / "qwen2_72b.jsonl"),
    )
    made = summary(MC, _run(tmp_path / "run", settings))
    assert {axis: part.samples for axis, part in made.by_task_type.items()} == AXES
    assert (made.metrics["axis_mean"].n, made.metrics["pass_rate"].n) == (273, 273)
    assert made.outcomes == {"answered": 266, "generation_failed": 7, "context_overflow": 0, "judge_error": 0}
    assert made.outcome_reasons == {"generation_failed": {"error_text": 7}}
