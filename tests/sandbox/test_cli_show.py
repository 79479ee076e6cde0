"""`pincite show`: one session told so that a person can follow it, and safe to print."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from sandbox.cli.seam import call
from sandbox.folder.store import read_records
from sandbox.folder.tape_reports import TapeRow
from sandbox.record import Record, RepeatRow, VerdictRow
from sandbox.reports.overlap import Span, densest_window, shared

TOLD = """\
tmg-0001 · repeat 0 · 制度の変更 · answered
Question
  私立高校の授業料支援の所得制限はどうなったか。⟨U+001B⟩[2J
Reference answer
  令和６年度に撤廃された。

Findings · 1 error
  2:40 R01 error: number that no page has: 9
    …<cite>2</cite><cite>9</cite></sentence>
                   ^~~~~~~~~~~~~~
    fix: cite only numbers that stood with a page

Round 1 · finish tool_calls
  reasoning (700 characters):
  まず検索する。まず検索する。まず検索する。まず検索する。まず検索する。まず検索
  する。まず検索する。まず検索する。まず検索する。まず検索する。まず検索する。ま
  ず検索する。まず検索する。まず検索する。まず検索する。まず検索する。まず検索す
  る。まず検索する。まず検索する。まず検索する。まず検索する。まず検索する。まず
  検索する… (+540 characters)
  → search {"query": "東京都 授業料 所得制限"}
    numbers [1] [2]
    検索結果 1–2件目（検索語: 東京都 授業料 所得制限）
    [1] 私立高等学校等授業料軽減助成金
  → fetch {"url_or_number": 2}
    ✕ failed (timeout)
    エラー（timeout）: 60秒以内に応答がありません

Round 2 · finish stop
  final message, 163 characters (see the answer below)

Answer · finish stop · dialect tags · 3 sentences
  ● 1. 東京都は令和６年度に私立高校の授業料支援の所得制限を撤廃した。 [1]
      support: full — 資料に明記がある。
      [1] ✓ 私立高等学校等授業料軽減助成金 · https://www.example.jp/shien.html
          relevance: yes
          fetch 0–245:
          …す。この助成金は、都内在住の保護者の方を対象とします。この助成金は、
          都内在住の保護者の方を対象とします。この助成金は、都内在住の保護者の方
          を対象とします。この助成金は、都内在住の保護者の方を対象とします。この
          助成金は、都内在住の保護者の方を対象とします。この助成金は、都内在住の
          保護者の方を対象とします。⟦東京都は⟧、⟦令和６年度⟧（2024⟦年度⟧）から、
          ｼﾘﾂ⟦高校の授業料支援⟧について⟦所得制限を撤廃し⟧ました。
          search: ⟦令和6年度⟧から⟦所得制限を撤廃し⟧ました。
  ◐ 2. 申請期間は6月から7月である。 [2][9]
      support: partial — 7月の記載がない。
      [2] ✕ 申請の手引き · https://www.example.jp/a.html
          relevance: no — 別の制度。
          search: ⟦申請⟧は六⟦月から⟧。
      [9] ✕ no page has this number
  ● 3. 以上のとおりである。
      need: no

Pages · 2 numbered
  [1] 私立高等学校等授業料軽減助成金 · https://www.example.jp/shien.html · 2
  pieces, cited
  [2] 申請の手引き · https://www.example.jp/a.html · 1 pieces, 1 failed calls,
  cited

Score
  consistency: consistent — 撤廃の時期が一致する。
  recall 83.3 % (5/6)
  precision 33.3 % (1/3)
  F1 47.6 % (10/21)
"""


def show(*arguments: str | Path) -> int:
    return call("sandbox.cli.show", "pincite show", [str(argument) for argument in arguments])


def told(capsys: pytest.CaptureFixture[str]) -> str:
    return "".join(f"{line.rstrip()}\n" for line in capsys.readouterr().out.splitlines())


def test_a_session_is_told_round_by_round_with_evidence_and_verdicts(
    stored_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert show(stored_run, "tmg-0001") == 0
    assert told(capsys) == TOLD


def rewritten(run: Path, change: Callable[[Record], Record]) -> None:
    """The run's first record, changed."""
    first, *others = read_records(run)
    lines = [row.model_dump_json() for row in (change(first), *others)]
    (run / "records.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def judged(record: Record, kind: str, sentence: int, verdict: VerdictRow) -> Record:
    units = tuple(
        unit.model_copy(update={"verdict": verdict}) if unit.kind == kind and sentence in unit.sentences else unit
        for unit in record.units
    )
    return record.model_copy(update={"units": units})


def test_verdicts_that_contradict_one_another_come_before_the_rounds(
    stored_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rewritten(stored_run, lambda record: judged(record, "relevance", 0, VerdictRow(label="no")))
    assert show(stored_run, "tmg-0001") == 0
    assert (
        "\n\nThe judge contradicts itself · 1 of 1 single citations\n"
        "  sentence 1: support full, yet relevance of [1] no\n\nRound 1"
    ) in told(capsys)


def test_a_verdict_that_did_not_stay_the_same_is_marked(stored_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def again(*labels: str | None) -> tuple[RepeatRow, ...]:
        return tuple(RepeatRow(label=label) for label in labels)

    def change(record: Record) -> Record:
        steady = VerdictRow(label="full", reason="明記がある。", repeats=again("full", "full"))
        flipped = VerdictRow(label="partial", repeats=again("none", "partial"))
        lost = VerdictRow(label="no", repeats=again(None, "no"))
        return judged(judged(judged(record, "support", 0, steady), "support", 1, flipped), "need", 2, lost)

    rewritten(stored_run, change)
    assert show(stored_run, "tmg-0001") == 0
    text = told(capsys)
    assert "      support: full (3 of 3) — 明記がある。\n" in text
    assert "      support: partial ⇄ (2 partial, 1 none)\n" in text
    assert "      need: no (2 no, 1 no verdict)\n" in text


def test_what_the_tape_did_is_told_in_a_line(stored_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = TapeRow(
        sample_id="tmg-0001", repeat=0, interactions=31, played=12, live=4, misses=0, lenient=0, pool_hits=7,
        pool_misses=2, judge_hits=8,
    )  # fmt: skip
    (stored_run / "tape.jsonl").write_text(row.model_dump_json() + "\n", encoding="utf-8")
    assert show(stored_run, "tmg-0001") == 0
    text = told(capsys).replace("\n  ", " ")
    assert (
        "tape: 31 exchanges: 12 recorded, 4 live, 7 searches and pages from other runs, 8 verdicts from other runs, "
        "2 searches and pages that no run had\n"
    ) in text


def test_a_long_tool_result_keeps_its_first_lines_as_lines(
    stored_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def change(record: Record) -> Record:
        first = record.rounds[0]
        text = "\n\n".join(f"[{n}] {'頁' * 50}" for n in range(1, 11))
        call = first.calls[0].model_copy(update={"text": text})
        return record.model_copy(update={"rounds": (first.model_copy(update={"calls": (call,)}), *record.rounds[1:])})

    rewritten(stored_run, change)
    assert show(stored_run, "tmg-0001") == 0
    lines = [f"    [{n}] {'頁' * 34}…" for n in range(1, 7)]
    assert "\n".join([*lines, "    … (+4 lines, 559 characters in all)", "", "Round 2"]) in told(capsys)


def test_an_excerpt_fits_the_terminal_and_its_caret_stands_under_the_fault(
    stored_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = f"<sentence>{'あ' * 60}<cite>1</cite><cite>{'９' * 3}</cite>{'い' * 60}</sentence>"
    rewritten(stored_run, lambda record: record.model_copy(update={"answer": answer, "units": ()}))
    assert show(stored_run, "tmg-0001") == 0
    lines = told(capsys).splitlines()
    start = lines.index(next(line for line in lines if "^" in line))
    shown, caret = lines[start - 1 : start + 1]
    assert max(cell_len(line) for line in lines[: start + 1]) <= 80
    assert cell_len(shown[: shown.index("<cite>９９９")]) == caret.index("^")


def test_full_shortens_nothing_and_adds_the_raw_answer(stored_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert show(stored_run, "tmg-0001", "--full") == 0
    text = "".join(line.strip() for line in told(capsys).splitlines())
    assert "まず検索する。" * 100 in text
    assert "</cite></sentence>" in text
    assert "characters)…" not in text


def test_no_terminal_command_of_a_page_reaches_the_terminal(
    stored_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert show(stored_run, "tmg-0001", "--full") == 0
    assert "\x1b" not in capsys.readouterr().out


def test_a_failed_generation_shows_its_reason_and_last_words(
    stored_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert show(stored_run, "tmg-0002") == 0
    text = told(capsys)
    assert "  reason: output_limit: the final message has no content (finish_reason length)\n" in text
    assert "こで切れ\n" in text
    assert text.endswith("\nScore\n  citation scores: counted as 0\n")


def test_an_overflow_says_that_it_is_left_out(stored_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert show(stored_run, "tmg-0003") == 0
    text = told(capsys)
    assert "No answer\n  the model said nothing\n" in text
    assert text.endswith("\nScore\n  citation scores: left out of the denominator\n")


def test_an_answer_without_tags_is_shown_as_it_stands(stored_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert show(stored_run, "tmg-0004") == 0
    assert (
        "Answer · finish stop · dialect tags · 0 sentences\n"
        "  no sentence can be read; the raw text:\n"
        "  都内在住の保護者が対象です【1†L2】。\n"
    ) in told(capsys)


def test_json_is_the_stored_record(stored_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert show(stored_run, "tmg-0001", "--json") == 0
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert Record.model_validate_json(out) == next(read_records(stored_run))


def test_an_unknown_sample_lists_the_nearest_ids(stored_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert show(stored_run, "tmg-004") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        f"pincite: {stored_run} has no finished sample 'tmg-004'; "
        "the nearest ids: tmg-0004, tmg-0003, tmg-0002, tmg-0001\n"
    )


def test_an_unknown_repeat_lists_those_that_are_there(stored_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert show(stored_run, "tmg-0001", "--repeat", "3") == 2
    assert capsys.readouterr().err == (
        f"pincite: sample tmg-0001 has no finished repeat 3 in {stored_run}; finished: 0\n"
    )


def test_nothing_finished_is_said(empty_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert show(empty_run, "tmg-0001") == 2
    assert capsys.readouterr().err == f"pincite: no session of {empty_run} is finished yet\n"


def test_shared_words_are_found_across_width_and_spaces() -> None:
    evidence = "私立 高校のﾃﾞｰﾀは、していることについて"
    spans = shared("私立高校のデータについて公表している。", evidence)
    assert [evidence[span.start : span.end] for span in spans] == ["私立 高校のﾃﾞｰﾀ", "している", "について"]


def test_grammar_alone_is_no_shared_word() -> None:
    assert shared("対象である。", "資料である。") == ()


def test_the_densest_part_of_a_long_page_is_shown() -> None:
    spans = (Span(10, 14), Span(500, 520), Span(530, 545), Span(900, 905))
    assert densest_window(spans, 1_000, 80) == Span(490, 570)
    assert densest_window((), 1_000, 80) == Span(0, 80)
    assert densest_window((Span(0, 5_000),), 6_000, 80) == Span(0, 80)


@given(st.text(max_size=60), st.text(max_size=200), st.integers(1, 100))
def test_marks_stand_in_order_inside_the_text(sentence: str, evidence: str, width: int) -> None:
    spans = shared(sentence, evidence)
    ends = [end for span in spans for end in (span.start, span.end)]
    assert ends == sorted(ends)
    assert all(0 <= span.start < span.end <= len(evidence) for span in spans)
    window = densest_window(spans, len(evidence), width)
    assert 0 <= window.start <= window.end <= len(evidence)
    assert window.end - window.start == min(width, len(evidence))
