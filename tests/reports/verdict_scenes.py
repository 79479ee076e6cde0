"""Runs that one verdict a session decides, made of records: every way in which it can end, hostile texts everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sandbox.folder.provenance import provenance
from sandbox.folder.sample_file import SAMPLES, as_lines
from sandbox.folder.store import RunFolder
from sandbox.record import CriterionRow, Record, RepeatRow, RoundRow, Usage, VerdictRow
from sandbox.sample import Criterion, Gold, Sample, Script
from sandbox.settings import as_toml, resolve
from tests.reports import scenes

CRITERION = f"「です」で終わっていますか。{scenes.HOSTILE}"
AXES = ("記憶", "指示の保持")
VERDICT_REASON = f"終わりの言葉を見た。{scenes.IMG}"


def decided_record(number: int, label: str | None, repeat: int = 0, **more: Any) -> Record:
    """A session that one verdict decides: three user turns, an answer, `label` (None: the judge gave none)."""
    question = f"{number}番の問いです。{scenes.HOSTILE if number == 1 else ''}"
    turns = (f"{number}番の前置きです。", question)
    answered = {"outcome": "answered" if label is not None else "judge_error", "answer": f"{number}番の答えです。"}
    rounds = (
        RoundRow(user=turns[0], content="はい。", finish_reason="stop"),
        RoundRow(user=turns[1], content=f"{number}番の答えです。", reasoning="考えた。" * 9, finish_reason="stop"),
    )
    verdict = VerdictRow(
        label=label, reason=VERDICT_REASON, raw=f'{{"verdict": "{label}"}}', failure=None, prompt_sha256="ab" * 32
    )
    if label is None:
        verdict = VerdictRow(label=None, failure="parse", raw="???", attempts=3)
    values: dict[str, Any] = {
        "sample_id": f"mc-{number:02d}",
        "repeat": repeat,
        "task_type": AXES[number % 2],
        "question": question,
        "rounds": rounds,
        "finish_reason": "stop",
        "criterion": CriterionRow(rubric="criterion", text=CRITERION, passing=("yes",), verdict=verdict),
        "labels": {"needs_knowledge": "yes" if number % 3 == 0 else "no"},
        "model_usage": Usage(calls=2, prompt_tokens=100 * number, completion_tokens=20),
        "seconds": float(number),
        **answered,
    }
    return Record.model_validate({**values, **more})


def silent_record(number: int, reason: str, outcome: str = "generation_failed", **more: Any) -> Record:
    """A session that one verdict would have decided, had it ended in an answer."""
    made = decided_record(number, "yes", **more)
    return made.model_copy(
        update={
            "outcome": outcome,
            "outcome_reason": reason,
            "answer": None,
            "rounds": made.rounds[:1],
            "criterion": CriterionRow(rubric="criterion", text=CRITERION, passing=("yes",)),
        }
    )


def decided_records() -> list[Record]:
    """Every way in which one verdict can end; mc-04 passes in one of its two sessions."""
    other = (RepeatRow(label="yes", reason="やはり合う。"), RepeatRow(label=None, failure="parse"))
    again = VerdictRow(label="no", reason="違う。", repeats=other)
    flipped = CriterionRow(rubric="criterion", text=CRITERION, passing=("yes",), verdict=again)
    made: list[Record] = []
    for repeat in (0, 1):
        made += [decided_record(n, "yes" if n in (1, 5) else "no", repeat) for n in (1, 2, 5)]
        made += [
            decided_record(3, "no", repeat, criterion=flipped),
            decided_record(4, "yes" if repeat else "no", repeat),
            decided_record(6, None, repeat),
            silent_record(7, "output_limit: in turn 2 of 2: cut off", repeat=repeat),
            silent_record(8, "the prompt is too long", "context_overflow", repeat=repeat),
        ]
    return made


def decided_run(folder: Path, records: Sequence[Record] | None = None, model: str = "m") -> Path:
    """A run of MultiChallenge's kind with these records, and the dialogue that was there before each question."""
    records = decided_records() if records is None else records
    flags = {
        "model.name": model,
        "model.base_url": "http://127.0.0.1:9/v1",
        "repeats": 1 + max(r.repeat for r in records),
    }
    settings = resolve("multichallenge", {}, None, flags)
    history = ({"role": "system", "content": "短く。"}, {"role": "user", "content": "前の話です。"})
    samples = [
        Sample(
            id=record.sample_id,
            question=record.question,
            script=Script(turns=(record.question,), history=history, tools=False),
            gold=Gold(None, criterion=Criterion("criterion", CRITERION, ("yes",))),
            task_type=record.task_type,
        )
        for record in records
        if record.repeat == 0
    ]
    facts = {"benchmark": {"name": "multichallenge"}, "data": {"rows": len(samples)}, "model": {"name": model}}
    with RunFolder(folder) as run:
        run.begin(as_toml(settings), provenance(facts, "2026-11-30T00:00:00+00:00", ("run", "x"), {}))
        run.write_lines(SAMPLES, as_lines(samples))
        for record in records:
            run.append(record)
    return folder
