"""What format costs in a run: known where the verdicts decide it, asked for with --recovered, never part of the score."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from servers.chat_server import Answer, message, serving

from sandbox.cli.seam import call
from sandbox.folder.provenance import provenance
from sandbox.folder.store import RECORDS, RunFolder, read_records
from sandbox.linting.lint_run import CodeLoss, FormatTally, lint_record
from sandbox.linting.recovered import RECOVERED, RECOVERED_TAPE, recovered_labels
from sandbox.measuring.outcome import citation_values
from sandbox.measuring.statistics import Plan
from sandbox.record import PageRow, PieceRow, Record, ScoreRow, UnitRow, VerdictRow, digest
from sandbox.replaying.verification import verify
from sandbox.rescore import rescored
from sandbox.settings import RunSettings, as_toml, resolve

FACT = "東京都は令和６年度に私立高校の授業料支援の所得制限を撤廃した。"
CLEAN = f"<sentence>{FACT}<cite>1</cite></sentence>"
DECORATED = f"<sentence>{FACT}<cite>資料1</cite></sentence>"
CLEAN_UNITS = (
    UnitRow(kind="support", sentences=(0,), verdict=VerdictRow(label="full")),
    UnitRow(kind="relevance", sentences=(0,), number=1, verdict=VerdictRow(label="yes")),
)
SETTINGS = resolve("tmg-cqa-tool", {}, None, {"model.name": "qwen3", "model.base_url": "http://127.0.0.1:8000/v1"})


def record(sample_id: str, answer: str, units: Sequence[UnitRow] = ()) -> Record:
    """A finished session whose page 1 says what FACT says."""
    return rescored(
        Record(
            sample_id=sample_id,
            question="私立高校の授業料支援の所得制限はどうなったか。",
            outcome="answered",
            answer=answer,
            finish_reason="stop",
            pages=(
                PageRow(number=1, url="https://a.jp/1", title="助成金", evidence=(PieceRow(kind="fetch", text=FACT),)),
            ),
            units=tuple(units),
            score=ScoreRow(recall=None, precision=None, f1=None),
        )
    )


def folder_with(path: Path, *records: Record, settings: RunSettings = SETTINGS) -> Path:
    capsule = provenance({"benchmark": "tmg-cqa-tool"}, "2026-11-30T00:00:00+00:00", ("run", "x"), {})
    with RunFolder(path) as run:
        run.begin(as_toml(settings), capsule)
        for finished in records:
            run.append(finished)
    return path


def score(folder: Path, *options: str) -> None:
    assert call("sandbox.cli.score", "pincite score", [str(folder), "--json", *options]) == 0


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return folder_with(tmp_path / "run", record("清書", CLEAN, CLEAN_UNITS), record("飾り", DECORATED))


def test_without_recovered_a_loss_is_given_only_where_the_verdicts_decide_it(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    score(run)
    figures = json.loads(capsys.readouterr().out)["format"]
    assert figures["strict_f1"] == 0.5
    assert (figures["recovered_f1"], figures["format_loss"], figures["recovered_undecided"]) == (None, None, 1)
    assert figures["codes"] == {
        "C05": {"severity": "error", "answers": 1, "occurrences": 1, "points": None, "undecided": 1}
    }


def test_recovered_asks_the_judge_only_what_is_new_and_only_once(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (run / RECORDS).read_bytes()
    score(run, "--recovered")
    out, err = capsys.readouterr()
    summary = json.loads(out)
    assert err == "pincite: asked the judge 2 new questions about 1 answers\n"
    assert summary["metrics"]["citation_f1"]["value"] == 0.5
    assert summary["format"]["recovered_f1"] == 1.0
    assert summary["format"]["format_loss"] == 0.5
    assert summary["format"]["evidence_loss"] == 0.0
    assert summary["format"]["codes"]["C05"]["points"] == 0.5
    assert (run / RECORDS).read_bytes() == before
    assert summary["digest"] == digest(read_records(run))
    asked = (run / RECOVERED).read_bytes()
    score(run, "--recovered")
    out, err = capsys.readouterr()
    assert err == "pincite: asked the judge 0 new questions about 0 answers\n"
    assert json.loads(out) == summary
    assert (run / RECOVERED).read_bytes() == asked


def test_what_was_asked_once_is_known_to_every_summary(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    score(run, "--recovered")
    capsys.readouterr()
    score(run)
    assert json.loads(capsys.readouterr().out)["format"]["recovered_f1"] == 1.0


def test_a_torn_line_of_verdicts_is_passed_over_and_asked_again(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    score(run, "--recovered")
    whole = (run / RECOVERED).read_bytes()
    (run / RECOVERED).write_bytes(whole[:-20])
    assert recovered_labels(run) == {}
    score(run, "--recovered")
    assert "asked the judge 2 new questions" in capsys.readouterr().err
    assert (run / RECOVERED).read_bytes() == whole


def test_an_asking_that_was_cut_off_pays_for_no_reply_twice_and_a_failed_reply_is_asked_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = {"support": "full", "relevance": None}

    def judge(body: dict[str, Any]) -> Answer:
        known = body["response_format"]["json_schema"]["schema"]["properties"]["verdict"]["enum"]
        label = labels["support" if "full" in known else "relevance"]
        return message(json.dumps({"verdict": label or "？"}, ensure_ascii=False))

    with serving(judge) as server:
        settings = resolve(
            "tmg-cqa-tool", {}, None, {"judge.name": "j", "judge.base_url": server.base_url, "model.name": "m"}
        )
        folder = folder_with(tmp_path / "run", record("飾り", DECORATED), settings=settings)
        score(folder, "--recovered")
        assert "asked the judge 2 new questions about 1 answers; 1 got no verdict" in capsys.readouterr().err
        n_asked = len(server.requests)
        # As if it had been cut off before the line was written.
        whole = (folder / RECOVERED).read_bytes()
        (folder / RECOVERED).unlink()
        score(folder, "--recovered")
        assert (len(server.requests), (folder / RECOVERED).read_bytes()) == (n_asked, whole)
        labels["relevance"] = "yes"
        score(folder, "--recovered")
        assert len(server.requests) == n_asked + 1
    assert set(recovered_labels(folder)["飾り", 0].values()) == {"full", "yes"}


def test_a_damaged_line_of_verdicts_is_named(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / RECOVERED).write_text("{}\n", encoding="utf-8")
    assert call("sandbox.cli.score", "pincite score", [str(run)]) == 2
    assert capsys.readouterr().err == (
        f"pincite: {run / RECOVERED} line 1 cannot be read: sample_id Field required; delete the file to ask again\n"
    )


def test_a_label_that_no_rule_knows_is_named_wherever_it_stands(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    score(run, "--recovered")
    for name in (RECOVERED, RECORDS):
        path = run / name
        whole = path.read_text(encoding="utf-8")
        path.write_text(whole.replace('"label":"full"', '"label":"十分"', 1), encoding="utf-8")
        for command in ("lint", "score", "report"):
            capsys.readouterr()
            assert call(f"sandbox.cli.{command}", f"pincite {command}", [str(run)]) == 2
            assert capsys.readouterr().err.startswith(
                f"pincite: {path} line 1 cannot be read: units.0 Value error, '十分' is no support label"
            )
        path.write_text(whole, encoding="utf-8")


def test_verify_looks_at_the_tape_of_recovered_verdicts_too(run: Path) -> None:
    score(run, "--recovered")
    (run / "samples.jsonl").touch()
    before = verify(run)
    (pack,) = (run / RECOVERED_TAPE / "blobs").glob("*.pack")
    data = bytearray(pack.read_bytes())
    data[len(data) // 2] ^= 1
    pack.write_bytes(data)
    after = verify(run)
    assert before.n_exchanges == after.n_exchanges == 2
    (found,) = [problem for problem in after.problems if problem not in before.problems]
    assert found.message.startswith("damaged_blob: ")


def test_a_verdict_that_was_asked_for_and_never_came_does_not_hide_what_format_costs_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    silent = tuple(unit.model_copy(update={"verdict": VerdictRow(label=None, failure="api")}) for unit in CLEAN_UNITS)
    run = folder_with(
        tmp_path / "run",
        record("清書", CLEAN, CLEAN_UNITS),
        record("飾り", DECORATED),
        record("無言", CLEAN, silent).model_copy(update={"outcome": "judge_error"}),
    )
    score(run, "--recovered")
    out, err = capsys.readouterr()
    figures = json.loads(out)["format"]
    assert err == "pincite: asked the judge 2 new questions about 1 answers\n"
    assert (figures["recovered_f1"], figures["format_loss"], figures["evidence_loss"]) == (2 / 3, 1 / 3, 1 - 2 / 3)
    assert figures["recovered_undecided"] == 1


def test_losses_count_the_answers_that_citation_f1_counts() -> None:
    tally = FormatTally()
    lost = Record(sample_id="失敗", question="問", outcome="generation_failed")
    over = Record(sample_id="溢れ", question="問", outcome="context_overflow")
    for finished in (record("清書", CLEAN, CLEAN_UNITS), lost, over):
        tally.add(finished)
    figures = tally.figures(Plan())
    assert (figures.f1, figures.format_loss, figures.evidence_loss, figures.undecided) == (0.5, 0.0, 0.5, 0)
    assert tally.codes() == {}


def test_a_loss_below_zero_lies_within_its_interval() -> None:
    tally = FormatTally()
    # A cite behind the sentence that no page has: whoever mends it gains a wrong citation.
    tally.add(record("一", f"{CLEAN}<cite>9</cite>", CLEAN_UNITS))
    figures = tally.figures(Plan())
    assert (figures.f1, figures.format_loss) == (2 / 3, -1 / 3)
    assert figures.format_loss_interval is not None
    low, high = figures.format_loss_interval
    assert -1 <= low < -1 / 3 < high <= 1


def test_points_are_those_of_the_whole_run() -> None:
    tally = FormatTally()
    # Two unknown citations: nothing to judge, so that all is decided. Mending the list gives no evidence either.
    tally.add(record("一", "<sentence>文。<cite>8、9</cite></sentence>"))
    tally.add(record("二", CLEAN, CLEAN_UNITS))
    assert tally.codes() == {"C02": CodeLoss(severity="error", answers=1, occurrences=1, points=0.0)}


def test_a_record_says_whether_its_evidence_was_cut() -> None:
    whole = record("一", CLEAN, CLEAN_UNITS)
    report = lint_record(whole)
    assert report is not None
    assert report.not_checked == ()
    cut = whole.model_copy(update={"flags": ("evidence_cut",)})
    report = lint_record(cut)
    assert report is not None
    assert report.not_checked == ("R06",)
    report = lint_record(cut, max_evidence_chars=10)
    assert report is not None
    assert [finding.code for finding in report.findings] == ["R06"]
    assert citation_values(cut) == citation_values(whole)
