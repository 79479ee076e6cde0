"""Tables, progress and `pincite report`: what people see of a run."""

from __future__ import annotations

import asyncio
import io
import json
from pathlib import Path

import pytest
from rich.cells import cell_len

from sandbox.cli.seam import call
from sandbox.folder.stored_run import open_run
from sandbox.folder.tape_reports import TapeRow
from sandbox.record import Outcome, Record, Usage, VerdictRow
from sandbox.reports.figures import console_for
from sandbox.reports.progress import Progress
from sandbox.reports.terminal import baseline_note, print_report
from sandbox.reports.untrusted import one_line, visible
from sandbox.summary import RunFacts, summarise

TABLES = """\
tmg-cqa-tool · qwen3 · 4 questions
judge baseline · {folder}

Scores                   %  95 % interval  n  left out
────────────────────────────────────────────────────────────────
Consistency           50.0      15.0–85.0  4
Citation recall       27.8       0.0–83.3  3  1 context overflow
Citation precision    11.1       0.0–33.3  3  1 context overflow
Citation F1           15.9       0.0–47.6  3  1 context overflow

Outcomes           sessions      consistency  citation scores
─────────────────────────────────────────────────────────────
answered                  2        as judged        as judged
generation failed         1                0                0
  output limit            1
context overflow          1                0         left out
judge error               0  0 where missing  0 where missing

Citation format                                answers
──────────────────────────────────────────────────────
unparsable (F1 0)                                    1
  no sentence tag                                    1
cut by the output limit                              1
F1 if the format were right, % (never scored)     15.9
F1 points lost to format                           0.0
F1 points lost to evidence                        84.1
  P03                                          1 (0.0)
  R01                                                1
  W02                                          1 (0.0)

By task type, %  n  Consist.  Recall  Precision    F1
─────────────────────────────────────────────────────
制度の変更       1     100.0    83.3       33.3  47.6
比較             3      33.3     0.0        0.0   0.0

Work
──────────────────────────────────────
answers with reasoning               1
rounds per session                 0.8
model calls                          2
  tokens in                      4,000
  tokens out                       500
judge calls                          0
verdicts                             7
  missing                            0
  contradict one another        0 of 1
fetch calls               1 (1 failed)
search calls                         1

Citation scores count 4 − 1 (context overflow) = 3 answers.
Consistency is agreement with the reference answer, not a truth check of every
added claim.
The judge of this run is the embedded baseline: these scores compare with
nothing published.
"""
FACTS = RunFacts(benchmark="tmg-cqa-tool", run="runs/a", model="qwen3", judge="gemma-4-31b-it")


def report(*arguments: str | Path) -> int:
    return call("sandbox.cli.report", "pincite report", [str(argument) for argument in arguments])


def stripped(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def record(number: int, outcome: Outcome = "answered") -> Record:
    return Record(sample_id=f"q{number}", question="対象は誰か。", reference="都民。", outcome=outcome)


def test_the_tables_of_a_run(
    stored_run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(stored_run.parent)
    assert report("run") == 0
    assert stripped(capsys.readouterr().out) == TABLES.format(folder="run")


def test_json_is_one_summary_a_line(stored_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(stored_run, stored_run, "--json") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["samples"] for line in lines] == [4, 4]


def test_several_runs_stand_side_by_side_and_fit_80_columns(
    stored_run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(stored_run.parent)
    assert report("run", "run", "run") == 0
    text = capsys.readouterr().out
    assert max(cell_len(line.rstrip()) for line in text.splitlines()) <= 80
    assert "\x1b" not in text
    assert "Citation F1         A  15.9" in text
    assert "                    B  15.9" in text
    assert "generation failed  1  1  1  " in text
    assert "The judge of at least one of these runs is the embedded baseline" in text


def test_undecided_verdicts_get_a_column_with_bounds() -> None:
    lost = record(1, "judge_error").model_copy(update={"consistency": VerdictRow(label=None, failure="parse")})
    sure = record(2).model_copy(update={"consistency": VerdictRow(label="consistent")})
    stream = io.StringIO()
    print_report([summarise([lost, sure], FACTS)], console_for(stream))
    lines = [line.split() for line in stream.getvalue().splitlines()]
    assert ["Consistency", "50.0", "9.5–90.5", "2", "50.0–100.0"] in lines
    assert ["missing", "1", "parse"] in lines


def test_what_cannot_be_said_is_a_dash_and_not_a_zero() -> None:
    stream = io.StringIO()
    print_report([summarise([record(1, "context_overflow")], FACTS)], console_for(stream))
    assert ["Citation", "F1", "–", "–", "0", "1", "context", "overflow"] in [
        line.split() for line in stream.getvalue().splitlines()
    ]


@pytest.mark.parametrize(
    ("model", "judge", "note"),
    [
        ("qwen3", "gemma-4-31b-it", None),
        ("baseline", "gemma-4-31b-it", "The model of this run is the embedded baseline"),
        ("baseline", "baseline", "The model and the judge of this run are the embedded baseline"),
    ],
)
def test_a_baseline_compares_with_nothing_published(model: str, judge: str, note: str | None) -> None:
    made = baseline_note([summarise([], RunFacts("sample", "runs/a", model, judge))])
    assert made == (note and f"{note}: these scores compare with nothing published.")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nowhere", "{path} does not exist: expected a run folder, as written by pincite run --out DIR"),
        ("file", "{path} is a file: expected a run folder, as written by pincite run --out DIR"),
        ("other", "{path} is no run folder: it has neither run.toml nor records.jsonl"),
        ("half", "{path} is a half-written run folder: records.jsonl is missing; start the run again"),
    ],
)
def test_what_is_no_run_folder_gets_one_sentence(
    name: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    (tmp_path / "other").mkdir()
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "run.toml").write_text('benchmark = "sample"\n', encoding="utf-8")
    assert report(tmp_path / name) == 2
    assert capsys.readouterr() == ("", f"pincite: {sentence.format(path=tmp_path / name)}\n")


def test_a_run_of_which_nothing_is_finished_says_how_to_go_on(
    empty_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report(empty_run) == 2
    assert capsys.readouterr().err == (
        f"pincite: no session of {empty_run} is finished yet: continue it with pincite run … --out {empty_run}\n"
    )


def test_settings_of_another_version_are_named(stored_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (stored_run / "run.toml").open("a", encoding="utf-8") as file:
        file.write("[later]\nx = 1\n")
    assert report(stored_run) == 2
    assert capsys.readouterr().err == (
        f"pincite: {stored_run / 'run.toml'} is not of this version of pincite: "
        "there is no setting later; the run.toml of any run names all of them\n"
    )


def test_a_torn_last_line_is_passed_over(stored_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (stored_run / "records.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"sample_id": "tmg-0005", "question": "途中で')
    assert report(stored_run, "--json") == 0
    assert json.loads(capsys.readouterr().out)["samples"] == 4


def test_a_damaged_line_is_named(stored_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (stored_run / "records.jsonl").open("a", encoding="utf-8") as file:
        file.write("{}\n")
    assert report(stored_run) == 2
    assert capsys.readouterr().err.startswith(f"pincite: {stored_run / 'records.jsonl'} line 5 cannot be read")


def test_a_session_that_stands_there_twice_is_refused(stored_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = stored_run / "records.jsonl"
    first = records.read_text(encoding="utf-8").splitlines(keepends=True)[0]
    with records.open("a", encoding="utf-8") as file:
        file.write(first)
    assert report(stored_run) == 2
    assert capsys.readouterr().err == (
        f"pincite: {records} holds sample tmg-0001, repeat 0, twice; "
        f"pincite report {stored_run} --rebuild makes the records anew from the tapes\n"
    )


def test_what_the_tape_did_is_the_sum_over_the_last_row_of_each_session(stored_run: Path) -> None:
    row = TapeRow(
        sample_id="q1", repeat=0, interactions=30, played=1, live=29, misses=2, lenient=0, pool_hits=0, pool_misses=0
    )
    again, torn = row.model_copy(update={"interactions": 31}), '{"sample_id"'
    lines = [row.model_dump_json(), again.model_dump_json(), torn]
    (stored_run / "tape.jsonl").write_text("\n".join(lines), encoding="utf-8")
    made = open_run(stored_run).summary().tape
    assert (made.interactions, made.misses, made.lenient) == (31, 2, 0)


def test_control_and_bidirectional_characters_are_written_out() -> None:
    assert visible("安全\x1b]0;x\x07です\u202e。\r\n次") == "安全⟨U+001B⟩]0;x⟨U+0007⟩です⟨U+202E⟩。\n次"


def test_a_line_is_cut_by_terminal_cells() -> None:
    assert one_line("複数の資料を\n比べる", 11) == "複数の資料…"
    assert one_line("複数の資料", 10) == "複数の資料"
    assert one_line("あ" * 1_000_000, 5) == "ああ…"


class Time:
    """A clock that is set by hand, in seconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def finished(number: int, outcome: Outcome = "answered") -> Record:
    usage = Usage(prompt_tokens=12_000, completion_tokens=700)
    return record(number, outcome).model_copy(update={"model_usage": usage})


def test_progress_in_a_log_is_a_line_now_and_then() -> None:
    stream, time = io.StringIO(), Time()
    progress = Progress(stream, clock=time)
    progress.start(total=10, done=4)
    for number in range(4):
        progress.sample_started(f"q{number}")
    for number, outcome in enumerate[Outcome](("answered", "answered", "context_overflow")):
        time.now += 20
        progress.sample_finished(finished(number, outcome))
    progress.close()
    progress.close()
    assert stream.getvalue() == (
        "pincite: 4/10 (40 %) · 0:00 gone · finished before 4 · under way 0 · no question finished yet"
        " · tokens in 0, out 0\n"
        "pincite: 6/10 (60 %) · 0:40 gone, about 1:20 left · finished before 4 · answered 2 · under way 2"
        " · 3.0 questions/min · tokens in 24.0k, out 1.4k\n"
        "pincite: 7/10 (70 %) · 1:00 gone, about 1:00 left · finished before 4 · answered 2 · context overflow 1"
        " · under way 1 · 3.0 questions/min · tokens in 36.0k, out 2.1k\n"
    )


def test_progress_of_judging_again_counts_the_judges_tokens() -> None:
    stream, time = io.StringIO(), Time()
    progress = Progress(stream, is_judging=True, clock=time)
    progress.start(total=1, done=0)
    progress.sample_started("q1")
    time.now += 20
    asked = Usage(prompt_tokens=900, completion_tokens=50)
    progress.sample_finished(finished(1).model_copy(update={"judge_usage": asked}))
    progress.close()
    assert stream.getvalue().splitlines()[-1].endswith(" · tokens in 900, out 50")


def test_a_long_wait_for_a_server_is_told_of_while_it_lasts() -> None:
    stream, time = io.StringIO(), Time()
    progress = Progress(stream, clock=time)
    progress.start(total=2, done=0)
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        time.now += seconds + 2  # a busy machine wakes late
        progress.sample_finished(finished(1))

    async def scene() -> None:
        time.now = 40.0
        await progress.watched(sleep)(114.0)
        await progress.watched(sleep)(4.0)

    asyncio.run(scene())
    progress.close()
    assert slept == [114.0, 4.0]
    asked, ended, _ = stream.getvalue().splitlines()[1:]
    assert asked.endswith("· 1 waiting for a server that failed or asked for time, up to 1:54")
    assert ended.endswith("· 1 waiting for a server that failed or asked for time, up to 0:00")
    assert "waiting" not in stream.getvalue().splitlines()[-1]


def test_quiet_progress_says_nothing_and_close_needs_no_start() -> None:
    stream = io.StringIO()
    quiet = Progress(stream, quiet=True)
    quiet.start(total=1, done=0)
    quiet.sample_started("q1")
    quiet.sample_finished(finished(1))
    quiet.close()
    Progress(stream).close()
    assert stream.getvalue() == ""


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_on_a_terminal_gives_the_cursor_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    progress = Progress(stream, clock=Time())
    progress.start(total=2, done=0)
    progress.sample_started("q1")
    progress.sample_finished(finished(1))
    progress.close()
    progress.close()
    text = stream.getvalue()
    assert "1/2 (50 %)" in text
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1


def test_a_log_in_colour_is_still_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    stream = io.StringIO()
    progress = Progress(stream, clock=Time())
    progress.start(total=1, done=0)
    progress.close()
    assert "\x1b" not in stream.getvalue()
