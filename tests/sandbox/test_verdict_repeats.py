"""What it says of a judge that it was asked several times."""

from __future__ import annotations

import asyncio

from cassettes.context import current_channel
from sandbox.judging.repeats import ask_repeatedly
from sandbox.judging.rubric import Asked
from sandbox.measuring.statistics import Plan, wilson
from sandbox.record import CriterionRow, Record, RepeatRow, ScoreRow, UnitRow, Usage, VerdictRow, canonical
from sandbox.verdict_counts import VerdictCounter
from sandbox.verdict_repeats import KindRepeats, RepeatCounter, Repeats, as_repeated

ANSWER = "<sentence>令和６年度に撤廃された。<cite>1</cite></sentence>"


def verdict(*labels: str | None) -> VerdictRow:
    """A verdict with its repeats; None = the judge could not be read."""
    rows = tuple(RepeatRow(label=label, failure=None if label else "parse") for label in labels[1:])
    return VerdictRow(label=labels[0], failure=None if labels[0] else "parse", repeats=rows)


def record(number: int, support: VerdictRow, relevance: VerdictRow, consistency: VerdictRow) -> Record:
    page = {
        "number": 1,
        "url": "https://www.example.jp/",
        "title": "手引き",
        "evidence": [{"kind": "search", "text": "本文"}],
    }
    judged = Record.model_validate(
        {
            "sample_id": f"tmg-{number:04d}",
            "question": "いつ撤廃されたか。",
            "reference": "令和６年度。",
            "outcome": "answered" if support.label and relevance.label else "judge_error",
            "answer": ANSWER,
            "pages": [page],
            "consistency": consistency,
            "units": [
                UnitRow(kind="support", sentences=(0,), verdict=support),
                UnitRow(kind="relevance", sentences=(0,), number=1, verdict=relevance),
            ],
            "score": ScoreRow(recall=None, precision=None, f1=None),
        }
    )  # fmt: skip
    return as_repeated(judged, 1)


YES, SURE = verdict("yes"), verdict("consistent")


def test_flips_are_counted_by_kind_and_each_repeat_has_its_scores() -> None:
    counter = VerdictCounter()
    counter.add(
        record(
            1,
            verdict("full", "full", "partial"),
            verdict("yes", "yes", "yes"),
            verdict("consistent", "contradictory", None),
        )
    )
    counter.add(
        record(
            2,
            verdict("none", "full", None),
            verdict("yes", None, None),
            verdict("consistent", "consistent", "consistent"),
        )
    )
    counter.add(
        Record(
            sample_id="tmg-0003",
            question="？",
            reference="答え",
            outcome="generation_failed",
            score=ScoreRow(recall="0", precision="0", f1="0"),
        )
    )
    made = counter.counts(Plan(resamples=100))
    all_, none = wilson(2, 2), wilson(0, 1)
    assert made.repeats == Repeats(
        asked=3,
        kinds={
            "support": KindRepeats(judgements=2, flipped=2, rate=1.0, interval=(all_.low, all_.high), missing=1),
            "relevance": KindRepeats(judgements=1, flipped=0, rate=0.0, interval=(none.low, none.high), missing=2),
            "consistency": KindRepeats(judgements=2, flipped=1, rate=0.5, interval=(0.0, 1.0), missing=1),
        },
        # First: 1, 0, 0. Second: 1, 1, 0. Third: 2/3, then the first verdict where the judge said nothing.
        citation_f1=(1 / 3, 2 / 3, 2 / 9),
        consistency=(2 / 3, 1 / 3, 2 / 3),
    )  # fmt: skip
    assert made.missing == {}
    assert made.verdicts == 6


def test_a_repeat_stands_in_where_the_verdict_that_counts_is_missing() -> None:
    lost = record(1, verdict(None, "full"), verdict("yes", "yes"), verdict("consistent", "consistent"))
    counter = VerdictCounter()
    counter.add(lost)
    made = counter.counts()
    assert made.missing == {"parse": 1}
    assert made.repeats is not None
    assert made.repeats.citation_f1 == (0.0, 1.0)
    assert made.repeats.kinds["support"] == KindRepeats(judgements=0, flipped=0, rate=None, interval=None, missing=0)


def test_without_repeats_there_is_nothing_to_say_and_nothing_stored() -> None:
    once = record(1, verdict("full"), YES, SURE)
    counter = VerdictCounter()
    counter.add(once)
    assert counter.counts().repeats is None
    assert "repeats" not in canonical(once)
    assert "repeats" not in once.model_dump_json()
    twice = record(1, verdict("full", "full"), YES, SURE)
    assert canonical(twice) != canonical(once)
    assert Record.model_validate_json(twice.model_dump_json()) == twice


def test_the_first_verdict_counts_and_each_repeat_has_a_place_of_its_own() -> None:
    places: list[str] = []

    async def ask() -> Asked:
        on = current_channel()
        assert on is not None
        places.append(on.place)
        n = len(places)
        await asyncio.sleep(0)
        failure = "api" if n == 3 else None
        return Asked(VerdictRow(label=None if failure else f"l{n}", failure=failure, reason=f"理由{n}"), Usage(calls=1))

    asked = asyncio.run(ask_repeatedly("u003", 3, ask))
    assert places == ["u003", "u003.k2", "u003.k3"]
    assert asked.usage == Usage(calls=3)
    assert asked.verdict == VerdictRow(
        label="l1",
        reason="理由1",
        repeats=(RepeatRow(label="l2", reason="理由2"), RepeatRow(label=None, reason="理由3", failure="api")),
    )


def test_where_one_verdict_decides_no_figure_of_citations_or_of_a_reference_is_made() -> None:
    judged = Record(
        sample_id="m1",
        question="三語で答えてください。",
        reference="春 夏 秋",
        outcome="answered",
        answer="春 夏 秋",
        criterion=CriterionRow(
            rubric="criterion", text="三語か。", passing=("yes",), verdict=verdict("yes", "no", "yes")
        ),
    )
    counter = RepeatCounter()
    counter.add(judged)
    made = counter.figures(Plan(resamples=200))
    assert made is not None
    assert (made.citation_f1, made.consistency, made.passed) == ((None,) * 3, (None,) * 3, (1.0, 0.0, 1.0))
