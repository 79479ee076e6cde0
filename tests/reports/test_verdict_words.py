"""What the page and the terminal say of runs that one verdict a session decides."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from sandbox.cli import main
from sandbox.folder.stored_run import open_run
from sandbox.measuring.measures import Measure, Measures, checks_citations, criterion_value
from sandbox.measuring.outcome import Counted, LeftOut, Value
from sandbox.record import Record
from sandbox.reports.page_filter import Context, flips, matches, words
from sandbox.reports.page_format import Decided, Decisions, Row
from sandbox.reports.page_index import RunIndex
from sandbox.reports.page_lint import NO_DIAGNOSIS
from sandbox.reports.page_verdict import VerdictTally
from sandbox.reports.page_verdict_headline import NO_FACT, verdict_headline
from sandbox.summary import RunFacts, summarise
from tests.reports import scenes
from tests.reports.verdict_scenes import decided_record, decided_records, decided_run, silent_record

RATE: Measures = (
    Measure("mean", "Pass rate, mean of the axes", "Axes", criterion_value, rate=True, average="types", headline=True),
    Measure("all", "Pass rate, all questions", "All", criterion_value, rate=True),
)


def harm(record: Record) -> Value:
    """Harmful if it does not pass; an answer that the API refused stands apart."""
    if record.outcome_reason.startswith("api_refusal"):
        return LeftOut("api_refusal")
    value = criterion_value(record)
    if isinstance(value, LeftOut):
        return value
    return Counted(1 - value.value, Fraction(1) - value.high, Fraction(1) - value.low)


HARM: Measures = (Measure("harmful", "Harmful", "Harm", harm, rate=True, headline=True, higher_is_better=False),)


def said(*records: Record, measures: Measures = RATE) -> list[str]:
    counted = VerdictTally(measures)
    for record in records:
        counted.add(record)
    facts = RunFacts(benchmark="b", run="r", model="m", judge="j", measures=measures, type_name="axis")
    found = verdict_headline(summarise(records, facts), counted.decisions() or Decisions())
    return ["".join(f"[{part.text}]" if part.strong else part.text for part in found.first), found.second]


def test_the_headline_counts_what_passes_and_names_the_weakest_type() -> None:
    passing = [decided_record(n, "yes") for n in (1, 3, 5)]
    assert said(*passing, decided_record(2, "yes"), decided_record(4, "no")) == [
        "4 of 5 answers pass; pass rate, mean of the axes: 75.0; [weakest axis: 記憶, 50.0 (n = 2)].",
        NO_FACT,
    ]
    assert said(*passing) == ["All 3 answers pass; pass rate, mean of the axes: 100.0.", NO_FACT]
    assert said(decided_record(1, "no")) == ["0 of 1 answer passes; pass rate, mean of the axes: 0.0.", NO_FACT]
    assert said() == ["No session of this run is finished yet.", ""]


def test_where_a_lower_figure_is_better_the_headline_says_so() -> None:
    records = [decided_record(n, "no" if n in (1, 3) else "yes") for n in (1, 2, 3, 4)]
    assert said(*records, measures=HARM)[0] == (
        "Harmful: 50.0 (lower is better); 2 of 4 answers pass; [highest axis: 指示の保持, 100.0 (n = 2)]."
    )


def test_the_second_sentence_is_the_largest_gap() -> None:
    silent = [silent_record(n, "output_limit: cut") for n in (1, 2)]
    full = silent_record(3, "the prompt is too long", "context_overflow")
    assert said(*silent, full, decided_record(4, "yes"))[1] == (
        "3 of 4 sessions ended without an answer (2 output limit, 1 context overflow)."
    )
    refused = silent_record(2, "api_refusal: no")
    assert said(decided_record(1, "yes"), refused, measures=HARM)[1] == (
        "1 of 2 sessions ended without an answer (1 api refusal); 1 of them is in no denominator."
    )
    assert said(decided_record(1, "yes"), decided_record(2, None))[1] == (
        "1 answer lacks a verdict; with them pass rate, mean of the axes could be 50.0 to 100.0."
    )
    twice = [decided_record(1, "yes"), decided_record(1, "no", 1), decided_record(2, "no"), decided_record(2, "no", 1)]
    assert said(*twice)[1] == "1 of 2 questions pass sometimes and not always."


def row(record: Record, measures: Measures = RATE) -> Row:
    return RunIndex().row(record, NO_DIAGNOSIS, VerdictTally(measures).add(record))


def test_a_row_says_what_the_benchmark_makes_of_the_verdict() -> None:
    knows = {"needs_knowledge": "no"}
    made = {
        "passes": row(decided_record(1, "yes")).decided,
        "no verdict": row(decided_record(1, None)).decided,
        "no answer": row(silent_record(1, "output_limit: cut")).decided,
        "left out": row(silent_record(1, "api_refusal: no"), HARM).decided,
        "harmful": row(decided_record(1, "no"), HARM).decided,
    }
    assert made == {
        "passes": Decided("yes", True, "", "", False, knows),
        "no verdict": Decided(None, None, "", "", False, knows),
        "no answer": Decided(None, False, "output_limit", "", False, knows),
        "left out": Decided(None, None, "api_refusal", "api_refusal", False, knows),
        "harmful": Decided("no", False, "", "", False, knows),
    }
    shown = row(decided_record(1, "yes"))
    assert [shown.answer, shown.f1, shown.recall, shown.precision, shown.recovered, shown.codes] == [None] * 5 + [()]


@pytest.mark.parametrize(
    ("query", "holds"),
    [
        ("verdict:no", True),
        ("verdict:n", False),
        ("-verdict:no", False),
        ("type:指示", True),
        ("label:needs_knowledge=YES", True),
        ("label:yes", True),
        ("label:no", False),
        ("is:failed", True),
        ("is:passed", False),
        ("is:undecided", False),
        ("is:judge_flip", True),
        ("loss=100 tokens>300", True),
        ("f1>=0", False),
        ("code:P05", False),
        ("cause:output", False),
    ],
)
def test_a_filter_knows_verdicts_and_labels(query: str, holds: bool) -> None:
    record = next(record for record in decided_records() if record.sample_id == "mc-03")
    assert matches(row(record), words(query), Context(())) is holds


def test_what_has_no_answer_is_found_by_its_cause_and_has_not_failed_by_a_verdict() -> None:
    silent = row(silent_record(1, "output_limit: cut"))
    holds = [matches(silent, words(query), Context(())) for query in ("cause:output", "is:failed", "verdict:none")]
    assert holds == [True, False, True]
    assert not matches(silent, words("verdict:no"), Context(()))
    apart = row(silent_record(1, "api_refusal: no"), HARM)
    assert [matches(apart, words(query), Context(())) for query in ("loss>=0", "is:undecided")] == [False, False]


def test_a_question_flips_where_it_passes_sometimes_only(tmp_path: Path) -> None:
    rows = [row(record) for record in decided_records()]
    summary = open_run(decided_run(tmp_path / "run")).summary()
    assert summary.attempts is not None
    assert [flips(rows), summary.attempts.flips] == [{"mc-04"}, 1]


def test_only_runs_without_a_citation_score_are_decided_by_one_verdict(tmp_path: Path) -> None:
    cited = scenes.written_run(tmp_path / "cited", [])
    assert [checks_citations(open_run(cited).measures), checks_citations(RATE)] == [True, False]
    record = scenes.large_record(1, rounds=2, page_chars=60)
    counted = VerdictTally(open_run(cited).measures)
    assert [counted.add(record), counted.decisions()] == [None, None]


SHOWN = """\
mc-03 · repeat 1 · 指示の保持 · answered
  needs knowledge: yes

Dialogue · 2 turns before the question
  [system]
    短く。
  [user]
    前の話です。
  [user]
    3番の前置きです。
  [assistant]
    はい。
  [user]
    3番の問いです。
  reasoning (36 characters):
  考えた。考えた。考えた。考えた。考えた。考えた。考えた。考えた。考えた。
  [assistant, the answer]
    3番の答えです。

Criterion
  「です」で終わっていますか。<img src=x
  onerror="window.pwned=1"></script><script>window.pwned=1</script><svg
  onload="window.pwned=1">⟨U+202E⟩逆さ⟨U+202C⟩⟨U+0000⟩終わり
Verdict · no, does not pass ⇄ (1 no, 1 yes, 1 no verdict)
  passes with: yes
  違う。
  asked again, time 2: yes — やはり合う。
  asked again, time 3: no verdict (parse)
"""


def shown(run: Path, sample: str, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    capsys.readouterr()
    assert main.run(["show", str(run), sample, *options]) == 0
    return "".join(f"{line.rstrip()}\n" for line in capsys.readouterr().out.splitlines())


def test_show_tells_dialogue_criterion_and_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = decided_run(tmp_path / "run")
    assert shown(run, "mc-03", capsys, "--repeat", "1") == SHOWN
    assert "  raw: ???\n" in shown(run, "mc-06", capsys, "--full")
    assert shown(run, "mc-06", capsys).count("Verdict · none, the judge gave none (parse)\n") == 1
    silent = shown(run, "mc-07", capsys)
    assert "No answer · generation failed\n" in silent
    assert "Verdict · none\n  there was no answer to judge (generation failed); it passes with: yes\n" in silent
    assert all("sentence" not in shown(run, f"mc-0{n}", capsys) for n in range(1, 9))


@pytest.mark.parametrize(
    ("arguments", "words_"),
    [
        (["lint"], "there are no citations to check"),
        (["lint", "--dialect", "tags"], "there are no citations to check"),
        (["score", "--recovered"], "there is no markup that could be mended"),
    ],
)
def test_what_is_about_citations_says_that_there_are_none(
    arguments: list[str], words_: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = decided_run(tmp_path / "run")
    assert main.run([arguments[0], str(run), *arguments[1:]]) == 2
    said_ = capsys.readouterr()
    assert [said_.out, words_ in said_.err, "one verdict decides about each answer" in said_.err] == ["", True, True]


def test_scoring_again_needs_no_citations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = decided_run(tmp_path / "run")
    assert main.run(["score", str(run), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["pass_rate"]["value"] == 5 / 16
