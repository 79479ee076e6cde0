"""`pincite compare`: what a person reads, what is refused in words, what --force marks."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from sandbox.cli.seam import call
from sandbox.folder.provenance import Facts, provenance
from sandbox.folder.sample_file import SAMPLES, as_lines
from sandbox.folder.store import PROVENANCE, RECORDS, SETTINGS
from sandbox.record import Flag, Outcome, Record, ScoreRow, VerdictRow
from sandbox.reports.compare import p_value, points
from sandbox.sample import Gold, Sample, Script
from sandbox.settings import as_toml, resolve

WriteRun = Callable[..., Path]


def record(
    number: int, f1: str = "1/2", *, yes: bool = True, outcome: Outcome = "answered", flags: tuple[Flag, ...] = ()
) -> Record:
    answered = outcome == "answered"
    return Record(
        sample_id=f"tmg-{number:04d}",
        task_type=None if number == 7 else ("比較" if number % 2 else "制度の変更"),
        question=f"令和{number}年度の私立高校の授業料支援について、所得制限はどうなったか。\x1b[2J",
        reference="令和６年度に撤廃された。",
        outcome=outcome,
        outcome_reason="output_limit: 16384" if outcome == "generation_failed" else "",
        flags=flags,
        consistency=VerdictRow(label="consistent" if yes else "contradictory") if answered else None,
        score=ScoreRow(recall=f1, precision=f1, f1=f1) if answered else None,
    )


RUN_A = [record(n, "1/2", yes=n % 2 == 0) for n in range(10)]
RUN_B = [
    record(0, "1"), record(1, "0", yes=False, flags=("no_sentence",)), record(2, outcome="generation_failed"),
    record(3, outcome="context_overflow"), *(record(n, "1") for n in range(4, 10)),
]  # fmt: skip


@pytest.fixture
def write(tmp_path: Path) -> WriteRun:
    """Writes a run folder of the records; keywords change the compared facts."""

    def written(name: str, records: Sequence[Record], model: str, **changed: Facts) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        flags = {"model.name": model, "model.base_url": "http://127.0.0.1:8000/v1", "judge.name": "gemma-4-31b-it"}
        settings = resolve("tmg-cqa-tool", {}, None, {**flags, "judge.base_url": "http://127.0.0.1:8001/v1"})
        facts: Facts = {"data": {"rows": 10, "sha256": "0" * 64}, "model": {"name": model}, "judge": {"name": "j"}}
        capsule = provenance({**facts, **changed}, "2026-11-30T00:00:00+00:00", ("run", "x"), {})
        (folder / SETTINGS).write_text(as_toml(settings), encoding="utf-8")
        (folder / PROVENANCE).write_text(capsule.model_dump_json(), encoding="utf-8")
        lines = "".join(record.model_dump_json() + "\n" for record in records)
        (folder / RECORDS).write_text(lines, encoding="utf-8")
        samples = (Sample(one.sample_id, one.question, Script((one.question,)), Gold(one.reference)) for one in RUN_A)
        (folder / SAMPLES).write_text("".join(as_lines(samples)), encoding="utf-8")
        return folder

    return written


def compare(*arguments: str | Path) -> int:
    return call("sandbox.cli.compare", "pincite compare", [str(argument) for argument in arguments])


def told(capsys: pytest.CaptureFixture[str]) -> str:
    return "".join(f"{line.rstrip()}\n" for line in capsys.readouterr().out.splitlines())


TOLD = """\
A  tmg-cqa-tool · qwen3 · 10 questions
   judge gemma-4-31b-it · a · started 2026-11-30
B  tmg-cqa-tool · gemma-4 · 10 questions
   judge gemma-4-31b-it · b · started 2026-11-30

10 questions are in both runs and compared one by one.
From A to B: model.name was "qwen3", is "gemma-4"

Difference, points   A %   B %  B − A   95 % interval      p   Holm   n
───────────────────────────────────────────────────────────────────────
Consistency         50.0  70.0  +20.0  −21.7 to +55.1  0.625  0.625  10
Citation recall     50.0  77.8  +27.8   −5.6 to +50.0  0.061  0.244   9
Citation precision  50.0  77.8  +27.8   −5.6 to +50.0  0.061  0.244   9
Citation F1         50.0  77.8  +27.8   −5.6 to +50.0  0.061  0.244   9

Not shown to differ: Consistency, Citation recall, Citation precision, Citation
F1. That is not shown to be equal.
Consistency: 10 questions can show 61.6 points (80 % power); 2 points would need
7,847 questions.
Citation F1: 9 questions can show 41.2 points (80 % power); 2 points would need
3,816 questions.

Questions  A higher  B higher  equal  left out A  B
───────────────────────────────────────────────────
Consist.          1         3      6           0  0
Recall            2         7      0           0  1
Precision         2         7      0           0  1
F1                2         7      0           0  1

B − A with…  left out as 0  missing verdicts either way
───────────────────────────────────────────────────────
Recall        +20.0 (n 10)
Precision     +20.0 (n 10)
F1            +20.0 (n 10)

Where it comes from: A → B    questions  Consist.  Recall  Precision     F1
───────────────────────────────────────────────────────────────────────────
answered, both                        7     +30.0   +38.9      +38.9  +38.9
answered → context overflow           1       0.0     0.0        0.0    0.0
answered → generation failed          1     −10.0    −5.6       −5.6   −5.6
answered → no sentence                1       0.0    −5.6       −5.6   −5.6

all                                  10     +20.0   +27.8      +27.8  +27.8

By task type, B − A  n  Consist.                      F1
────────────────────────────────────────────────────────────────────────
(none)               1    +100.0  −58.7 to +100.0  +50.0  −69.0 to +89.7
制度の変更           5     −20.0   −62.4 to +32.1  +30.0  −10.0 to +50.0
比較                 4     +50.0   −23.5 to +85.0  +16.7  −50.0 to +50.0

The 4 questions that moved most
tmg-0002 · Consist. 100.0 → 0.0 · F1 50.0 → 0.0
  answered → generation failed (output limit)
  令和2年度の私立高校の授業料支援について、所得制限はどうなったか。⟨U+001B⟩…
tmg-0005 · Consist. 0.0 → 100.0 · F1 50.0 → 100.0
  citation recall 50.0 → 100.0; citation precision 50.0 → 100.0
  令和5年度の私立高校の授業料支援について、所得制限はどうなったか。⟨U+001B⟩…
tmg-0007 · Consist. 0.0 → 100.0 · F1 50.0 → 100.0
  citation recall 50.0 → 100.0; citation precision 50.0 → 100.0
  令和7年度の私立高校の授業料支援について、所得制限はどうなったか。⟨U+001B⟩…
tmg-0009 · Consist. 0.0 → 100.0 · F1 50.0 → 100.0
  citation recall 50.0 → 100.0; citation precision 50.0 → 100.0
  令和9年度の私立高校の授業料支援について、所得制限はどうなったか。⟨U+001B⟩…

Rates: McNemar's exact test, Tango's interval.
Means: bootstrap by question, 10,000 draws, seed 20260101.
By type: intervals only; so many would need a stricter test.
"""


def test_a_comparison_says_what_is_real_where_it_comes_from_and_what_moved(
    write: WriteRun, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write("a", RUN_A, "qwen3")
    write("b", RUN_B, "gemma-4")
    monkeypatch.chdir(tmp_path)
    assert compare("a", "b", "--moved", "4") == 0
    text = told(capsys)
    assert text == TOLD
    assert "\x1b" not in text


WITH_GAPS = """
B − A with…  left out as 0  missing verdicts either way
───────────────────────────────────────────────────────
Consist.                                 +10.0 to +20.0
Recall        +25.0 (n 10)               +22.2 to +33.3
Precision     +20.0 (n 10)
F1            +25.0 (n 10)               +25.9 to +33.3
"""


def test_what_missing_verdicts_could_change_keeps_its_row_names_within_80_columns(
    write: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    undecided = record(9, outcome="judge_error").model_copy(
        update={
            "outcome_reason": "support",
            "score": ScoreRow(recall="0", precision="1/2", f1="0", f1_bounds=("0", "2/3"), recall_bounds=("0", "1")),
        }
    )
    a, b = write("a", [*RUN_A[:9], undecided], "a"), write("b", RUN_B, "b")
    assert compare(str(a), str(b)) == 0
    assert WITH_GAPS in told(capsys)


def test_json_holds_the_same_figures_and_nothing_else_is_printed(
    write: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(write("a", RUN_A, "qwen3"), write("b", RUN_B, "gemma-4"), "--json") == 0
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    made = json.loads(out)
    assert made["metrics"]["citation_f1"]["pairs"] == 9
    assert made["metrics"]["citation_f1"]["left_out"] == {"a": {}, "b": {"context_overflow": 1}}
    assert (made["forced_over"], made["unfinished"]) == ([], False)
    assert len(made["moved"]) == 10


def test_another_judge_is_refused_and_force_marks_the_result(
    write: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = write("a", RUN_A, "qwen3"), write("b", RUN_B, "gemma-4", judge={"name": "gpt-oss-120b"})
    assert compare(a, b) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        'pincite: from A to B more than the model differs: judge.name was "j", is "gpt-oss-120b". That alone could '
        "move the scores: judge one of the runs again with the other's judge, or compare all the same with --force, "
        "which marks the result\n"
    )
    assert compare(a, b, "--force") == 0
    assert 'FORCED  judge.name was "j", is "gpt-oss-120b"\n' in told(capsys)
    assert compare(a, b, "--force", "--json") == 0
    assert json.loads(capsys.readouterr().out)["forced_over"] == ['judge.name was "j", is "gpt-oss-120b"']


def test_different_data_is_refused_plainly_and_force_pairs_equal_questions_only(
    write: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    other = [row.model_copy(update={"question": "別の質問"}) if i else row for i, row in enumerate(RUN_B)]
    a, b = write("a", RUN_A, "qwen3"), write("b", other, "gemma-4", data={"rows": 10, "sha256": "1" * 64})
    assert compare(a, b) == 2
    assert "A and B are runs of different data (data.sha256 was " in capsys.readouterr().err
    assert compare(a, b, "--force") == 0
    assert (
        "1 question is in both runs and compared one by one; not compared: 9 with the\nsame id but other words.\n"
    ) in told(capsys)


def test_a_half_written_run_is_compared_as_far_as_it_goes_and_marked(
    write: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = write("a", RUN_A, "qwen3"), write("b", RUN_B[:4], "gemma-4")
    with (b / RECORDS).open("a", encoding="utf-8") as file:
        file.write('{"sample_id": "tmg-0004", "que')
    assert compare(a, b) == 0
    text = told(capsys)
    assert "UNFINISHED  B has 4 of 10 sessions: what is missing may be unlike the rest\n" in text
    assert "4 questions are in both runs and compared one by one; not compared: 6 only in A.\n" in text


def test_runs_without_a_common_question_are_refused(write: WriteRun, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = write("a", RUN_A[:4], "qwen3"), write("b", RUN_B[4:], "gemma-4")
    assert compare(a, b) == 2
    assert "no question is finished in both runs" in capsys.readouterr().err


def test_what_is_no_run_is_one_line(write: WriteRun, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    a, empty = write("a", RUN_A, "qwen3"), write("empty", [], "qwen3")
    for other, sentence in (
        (a, "are the same run"),
        (tmp_path / "nowhere", "does not exist"),
        (empty, "no session of"),
    ):
        assert compare(a, other) == 2
        err = capsys.readouterr().err
        assert sentence in err
        assert err.count("\n") == 1


def test_a_lost_capsule_is_refused(write: WriteRun, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = write("a", RUN_A, "qwen3"), write("b", RUN_B, "gemma-4")
    (b / PROVENANCE).unlink()
    assert compare(a, b) == 2
    assert "run B has no provenance.json" in capsys.readouterr().err
    assert compare(a, b, "--force") == 0


def test_figures_are_rounded_for_people() -> None:
    assert [points(d) for d in (0.0, 0.0004, -0.0004, 0.012, -0.0555, None)] == [
        "0.0",
        "0.0",
        "0.0",
        "+1.2",
        "−5.5",
        "–",
    ]
    assert [p_value(p) for p in (0.0004, 0.0334, 1.0, None)] == ["<.001", "0.033", "1.000", "–"]
