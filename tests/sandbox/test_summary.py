"""From records to figures: the published denominators, and what each kind of record does to each figure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from pydantic import BaseModel

from sandbox.record import (
    Flag,
    Outcome,
    Record,
    RoundRow,
    ScoreRow,
    ToolCallRow,
    UnitRow,
    Usage,
    VerdictRow,
    digest,
)
from sandbox.summary import Metric, RunFacts, ToolCount, TypeSummary, as_json, summarise

FACTS = RunFacts(benchmark="tmg-cqa-tool", run="runs/a", model="qwen", judge="gemma-4-31b-it")
FULL = ScoreRow(recall="1", precision="1", f1="1", citation_scores=(("1",),), sentence_scores=("1",))
NOTHING = ScoreRow(recall="0", precision="0", f1="0")
CONFORMANCE = Path(__file__).resolve().parents[1] / "conformance"


def record(
    number: int,
    outcome: Outcome = "answered",
    *,
    flags: tuple[Flag, ...] = (),
    score: ScoreRow | None = FULL,
    label: str | None = "consistent",
) -> Record:
    answered = outcome == "answered"
    return Record(
        sample_id=f"tmg-{number:04d}",
        question=f"第{number}問：手続きの期限はいつか。",
        reference="令和６年６月末である。",
        outcome=outcome,
        flags=flags,
        consistency=VerdictRow(label=label) if answered else None,
        score=score if answered else None if outcome == "context_overflow" else NOTHING,
    )


def questions(counts: dict[Outcome, int]) -> Iterator[Record]:
    """Records with the given outcomes; every answer is as good as it can be."""
    outcomes: list[Outcome] = [outcome for outcome, n in counts.items() for _ in range(n)]
    return (record(number, outcome) for number, outcome in enumerate(outcomes))


def test_published_denominator_of_plamo_is_569() -> None:
    made = summarise(questions({"answered": 569, "context_overflow": 2}), FACTS).metrics["citation_f1"]
    assert (made.n, made.excluded) == (569, {"context_overflow": 2})


def test_published_counts_of_qwen_bound_its_scores() -> None:
    counts: dict[Outcome, int] = {"answered": 476, "generation_failed": 69, "context_overflow": 26, "judge_error": 0}
    made = summarise(questions(counts), FACTS)
    assert (made.samples, made.sessions, made.outcomes) == (571, 571, counts)
    f1 = made.metrics["citation_f1"]
    assert f1.interval is not None
    # Two-valued, so close to the normal interval of a rate: 0.8734 ± 0.0279.
    assert abs(f1.interval[0] - 0.8455) < 0.003
    assert abs(f1.interval[1] - 0.9013) < 0.003
    assert f1 == Metric(
        value=476 / 545,
        n=545,
        excluded={"context_overflow": 26},
        interval=f1.interval,
        bounds=(476 / 545, 476 / 545),
        questions=545,
        method="cluster-bootstrap",
    )
    consistency = made.metrics["consistency"]
    assert (consistency.n, consistency.excluded, consistency.method) == (571, {}, "wilson")
    assert consistency.value is not None
    assert consistency.value == 476 / 571
    assert f"{consistency.value:.1%}" == "83.4%"
    assert f"{476 / 545:.1%}" == "87.3%"


@pytest.mark.parametrize(
    ("asked", "unreadable", "failed", "flag", "f1"),
    [
        # gpt-oss: no citation extracted in 446 of 571, in 733 of 862 (its failed generations are among them).
        (571, 446 - 11, 11, "no_citation", "21.9%"),
        (862, 733 - 1, 1, "no_citation", "15.0%"),
        # Gemma: no sentence tag in 142, and 31 failed generations beside them.
        (571, 142, 31, "no_sentence", "69.7%"),
    ],
)
def test_published_unparsable_counts_bound_the_f1(
    asked: int, unreadable: int, failed: int, flag: Flag, f1: str
) -> None:
    bad = [record(n, flags=(flag,), score=NOTHING) for n in range(unreadable)]
    lost = [record(1_000 + n, "generation_failed") for n in range(failed)]
    good = [record(2_000 + n) for n in range(asked - unreadable - failed)]
    made = summarise(bad + lost + good, FACTS)
    assert f"{made.metrics['citation_f1'].value:.1%}" == f1
    assert made.metrics["citation_f1"].n == asked
    assert made.format.unparsable == unreadable
    assert made.format.strict_f1 == made.metrics["citation_f1"].value


def test_the_keys_of_the_product_page_are_there() -> None:
    made: dict[str, object] = json.loads(as_json(summarise([record(1)], FACTS)))
    assert {"benchmark", "run", "samples", "outcomes", "metrics", "format", "usage", "tape", "digest"} <= set(made)
    shape: dict[str, dict[str, object]] = json.loads(as_json(summarise([record(1)], FACTS)))
    assert set(shape["metrics"]) == {"consistency", "citation_recall", "citation_precision", "citation_f1"}
    intervals = {"recovered_f1_interval", "format_loss_interval", "evidence_loss_interval"}
    assert {name: value for name, value in shape["format"].items() if name not in intervals} == {
        "unparsable": 0,
        "no_sentence": 0,
        "no_citation": 0,
        "no_citation_needed": 0,
        "strict_f1": 1.0,
        "recovered_f1": 1.0,
        "format_loss": 0.0,
        "evidence_loss": 0.0,
        "recovered_undecided": 0,
        "codes": {},
    }
    assert shape["tape"] == dict.fromkeys(
        ["interactions", "misses", "lenient", "pool_hits", "pool_misses", "judge_hits"], 0
    )
    assert set(shape["usage"]) == {"model", "judge"}


def test_an_empty_run_says_nothing_instead_of_zero() -> None:
    nothing = Metric(value=None, n=0, excluded={}, interval=None, bounds=None)
    made = summarise([], FACTS)
    assert list(made.metrics.values()) == [nothing] * 4
    assert made.format.strict_f1 is None


def test_only_overflows_leave_the_citation_scores_without_a_value() -> None:
    made = summarise(questions({"context_overflow": 3}), FACTS).metrics
    assert made["citation_f1"] == Metric(value=None, n=0, excluded={"context_overflow": 3}, interval=None, bounds=None)
    assert (made["consistency"].value, made["consistency"].n) == (0.0, 3)


def test_missing_verdicts_count_as_zero_and_open_the_bounds() -> None:
    lost = record(2).model_copy(
        update={"outcome": "judge_error", "consistency": VerdictRow(label=None, failure="parse", attempts=3)}
    )
    made = summarise([record(1), lost], FACTS)
    consistency = made.metrics["consistency"]
    assert (consistency.value, consistency.bounds, consistency.undecided) == (0.5, (0.5, 1.0), 1)
    assert (made.metrics["citation_f1"].value, made.metrics["citation_f1"].bounds) == (1.0, (1.0, 1.0))
    assert (made.judging.missing, made.judging.retried) == ({"parse": 1}, 1)


def test_bounds_of_an_f1_run_from_failure_to_the_best_that_was_possible() -> None:
    score = ScoreRow(recall=None, precision=None, f1="0", recall_bounds=("1/2", "2/3"), f1_bounds=("2/3", "4/5"))
    lost = record(2, score=score).model_copy(update={"outcome": "judge_error"})
    made = summarise([record(1), lost], FACTS).metrics["citation_f1"]
    assert (made.value, made.bounds, made.undecided) == (0.5, (0.5, float(Fraction(9, 10))), 1)


def test_repeats_of_a_question_are_drawn_together_and_make_no_wilson_interval() -> None:
    runs = [
        record(n, label="consistent" if n % 2 else "contradictory").model_copy(update={"repeat": repeat})
        for n in range(20)
        for repeat in range(3)
    ]
    made = summarise(runs, FACTS)
    consistency = made.metrics["consistency"]
    assert (made.samples, made.sessions) == (20, 60)
    assert (consistency.n, consistency.questions, consistency.method) == (60, 20, "cluster-bootstrap")
    once = summarise([run for run in runs if run.repeat == 0], FACTS).metrics["consistency"]
    assert consistency.interval is not None
    assert once.interval is not None
    assert consistency.interval[1] - consistency.interval[0] > 0.9 * (once.interval[1] - once.interval[0])


def test_exact_fractions_are_added_before_anything_is_rounded() -> None:
    thirds = [record(n, score=ScoreRow(recall="1/3", precision="1/3", f1="1/3")) for n in range(3)]
    assert summarise(thirds, FACTS).metrics["citation_f1"].value == 1 / 3


def test_sources_are_a_metric_only_where_questions_carry_them() -> None:
    assert "source_found" not in summarise([record(1)], FACTS).metrics
    source = ("https://example.jp/a.html",)
    found = record(1).model_copy(update={"sources": source, "source_found": True, "source_cited": False})
    failed = record(2, "generation_failed").model_copy(update={"sources": source, "source_found": True})
    made = summarise([found, failed, record(3)], FACTS).metrics
    assert (made["source_found"].value, made["source_found"].n) == (1.0, 2)
    assert made["source_found"].excluded == {"no_sources": 1}
    assert (made["source_cited"].value, made["source_cited"].n) == (0.0, 1)
    assert made["source_cited"].excluded == {"generation_failed": 1, "no_sources": 1}


def test_break_down_by_task_type_keeps_the_untyped_apart() -> None:
    typed = [record(n).model_copy(update={"task_type": "比較"}) for n in (1, 2)]
    made = summarise([*typed, record(3, "context_overflow")], FACTS).by_task_type
    assert list(made) == ["(none)", "比較"]
    assert isinstance(made["比較"], TypeSummary)
    assert (made["比較"].samples, made["比較"].metrics["citation_f1"].value) == (2, 1.0)
    assert made["(none)"].metrics["citation_f1"].excluded == {"context_overflow": 1}
    assert summarise([record(3)], FACTS).by_task_type == {}


def test_contradicting_verdicts_on_single_citations_are_counted() -> None:
    def judged(number: int, relevance: str) -> Record:
        units = (
            UnitRow(kind="support", sentences=(0,), verdict=VerdictRow(label="partial")),
            UnitRow(kind="relevance", sentences=(0,), number=1, verdict=VerdictRow(label=relevance)),
        )
        return record(number).model_copy(update={"units": units})

    made = summarise([judged(1, "yes"), judged(2, "no")], FACTS).judging
    assert (made.verdicts, made.checked_pairs, made.contradictions) == (6, 2, 1)


def test_usage_tools_reasons_and_time_are_added_up() -> None:
    calls = (
        ToolCallRow(name="search", arguments="{}", text="検索結果 1–10件目"),
        ToolCallRow(name="fetch", arguments="{}", text="エラー（timeout）: …", failure="timeout"),
        ToolCallRow(name="検索\x1b[2J", arguments="{}", text="", failure="unknown_tool"),
    )
    first = record(1, "generation_failed").model_copy(
        update={
            "outcome_reason": "output_limit: the final message has no content (finish_reason length)",
            "rounds": (RoundRow(calls=calls), RoundRow()),
            "model_usage": Usage(calls=2, prompt_tokens=900, completion_tokens=70, reasoning_tokens=50),
            "seconds": 2.5,
        }
    )
    second = record(2).model_copy(
        update={"model_usage": Usage(calls=1, prompt_tokens=100, cached_tokens=64), "seconds": 1.25}
    )
    made = summarise([first, second], FACTS)
    assert made.usage.model == Usage(
        calls=3, prompt_tokens=1_000, completion_tokens=70, reasoning_tokens=50, cached_tokens=64
    )
    assert made.tools == {
        "search": ToolCount(calls=1, failed={}),
        "fetch": ToolCount(calls=1, failed={"timeout": 1}),
        "unknown": ToolCount(calls=1, failed={"unknown_tool": 1}),
    }
    assert made.outcome_reasons == {"generation_failed": {"output_limit": 1}}
    assert (made.rounds, made.seconds.total, made.seconds.longest) == (2, 3.75, 2.5)


def test_order_of_the_records_changes_no_byte() -> None:
    some = [
        record(n, score=ScoreRow(recall="1/3", precision=f"{n}/17", f1=f"{n}/29")).model_copy(
            update={"task_type": "要約" if n % 2 else "比較", "flags": ("cut_by_limit",) if n % 3 else ()}
        )
        for n in range(12)
    ]
    made = summarise(some, FACTS)
    assert as_json(made) == as_json(summarise(reversed(some), FACTS))
    assert made.digest == digest(some)


class Row(BaseModel):
    """One line of the data set vectors."""

    id: str
    answers: list[Given]
    expected: Expected


class Given(BaseModel):
    id: str
    status: str
    f1: float | None


class Expected(BaseModel):
    f1: float
    denominator: int
    total: int


STATUS: dict[str, Outcome] = {
    "ok": "answered",
    "format_unparsable": "answered",
    "generation_failed": "generation_failed",
    "context_overflow": "context_overflow",
}


def test_data_set_means_equal_the_conformance_vectors() -> None:
    file = CONFORMANCE / "tmg_conformance_dataset.jsonl"
    for line in file.read_text(encoding="utf-8").splitlines():
        row = Row.model_validate_json(line)
        records = [
            record(
                number,
                STATUS[answer.status],
                flags=("no_sentence",) if answer.status == "format_unparsable" else (),
                score=ScoreRow(recall="0", precision="0", f1=str(Fraction(answer.f1 or 0))),
            )
            for number, answer in enumerate(row.answers)
        ]
        made = summarise(records, FACTS)
        assert made.sessions == row.expected.total
        assert made.metrics["citation_f1"].n == row.expected.denominator
        assert abs((made.metrics["citation_f1"].value or 0) - row.expected.f1) < 1e-12
