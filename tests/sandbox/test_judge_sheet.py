"""`pincite judge-sheet`: what people get to label, what comes back from their spreadsheets, and how far they agree."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path

import pytest

from sandbox.cli.seam import call
from sandbox.comparing.agreement import cohen_kappa_of
from sandbox.folder.store import RECORDS, read_records
from sandbox.judging.human_labels import HUMAN_LABELS, HumanLabel, human_agreement, read_human_labels
from sandbox.judging.sheet import Draw, Judgement, Population, draw_places, judgements, sheet_rows
from sandbox.judging.sheet_file import write_sheet
from sandbox.record import PageRow, PieceRow, Record, UnitRow, VerdictRow

Fill = Callable[[dict[str, str]], str]


def sheet(*arguments: str | Path) -> int:
    return call("sandbox.cli.judge_sheet", "pincite judge-sheet", [str(argument) for argument in arguments])


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")))


def fill(path: Path, label: Fill, *, encoding: str = "utf-8-sig", delimiter: str = ",") -> list[dict[str, str]]:
    """Labels the sheet as a person would, and saves it as a spreadsheet would."""
    rows = rows_of(path)
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows([{**row, "label": label(row)} for row in rows])
    path.write_bytes(buffer.getvalue().encode(encoding, "replace"))
    return rows


def saying(label: str, of: Callable[[dict[str, str]], bool] = lambda _: True) -> Fill:
    """Somebody who gives one label to the rows they know and leaves the others empty."""
    return lambda row: label if of(row) else ""


@pytest.fixture
def exported(stored_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A sheet of the stored run."""
    path = tmp_path / "sheet.csv"
    assert sheet("export", stored_run, "--out", path) == 0
    assert capsys.readouterr().out.startswith(f"{path}: 7 rows (2 support, 2 relevance, 1 need, 2 consistency)\n")
    return path


def test_a_row_holds_what_the_judge_read_and_nothing_of_what_it_said(exported: Path) -> None:
    rows = rows_of(exported)
    assert [row["key"].rpartition("|")[0] for row in rows] == [
        "support|tmg-0001|r0|s0", "support|tmg-0001|r0|s1", "relevance|tmg-0001|r0|s0|n1",
        "relevance|tmg-0001|r0|s1|n2", "need|tmg-0001|r0|s2", "consistency|tmg-0001|r0", "consistency|tmg-0004|r0",
    ]  # fmt: skip
    assert list(rows[0]) == [
        "key", "kind", "task", "question", "reference", "answer", "sentence", "evidence", "allowed", "label", "note",
    ]  # fmt: skip
    second = rows[1]
    assert second | {"key": "", "task": ""} == {
        "key": "",
        "kind": "support",
        "task": "",
        "question": "私立高校の授業料支援の所得制限はどうなったか。⟨U+001B⟩[2J",
        "reference": "",
        "answer": "",
        "sentence": "申請期間は6月から7月である。",
        "evidence": "[2] 申請の手引き — https://www.example.jp/a.html\n申請は六月から。",
        "allowed": "full / partial / none",
        "label": "",
        "note": "",
    }
    assert "full 十分" in second["task"]
    assert (rows[5]["reference"], rows[5]["sentence"]) == ("令和６年度に撤廃された。", "")
    assert rows[5]["answer"].startswith("東京都は令和６年度に")
    assert "<cite>" not in rows[5]["answer"]
    assert "別の制度。" not in exported.read_text(encoding="utf-8-sig")


def test_the_judges_verdict_is_shown_only_when_asked_for(stored_run: Path, tmp_path: Path) -> None:
    path = tmp_path / "open.csv"
    assert sheet("export", stored_run, "--out", path, "--show-judge", "--kind", "relevance") == 0
    assert [(row["judge"], row["judge_reason"]) for row in rows_of(path)] == [("yes", ""), ("no", "別の制度。")]


def test_long_evidence_is_cut_where_it_shares_most(stored_run: Path, tmp_path: Path) -> None:
    path = tmp_path / "short.csv"
    assert sheet("export", stored_run, "--out", path, "--kind", "support", "--evidence-chars", "60") == 0
    evidence = rows_of(path)[0]["evidence"]
    assert "令和６年度（2024年度）" in evidence
    assert "…" in evidence
    assert evidence.endswith("(60 / 269)")


def test_json_lines_go_out_and_come_back(stored_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sheet.jsonl"
    assert sheet("export", stored_run, "--out", path, "--kind", "need", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "sheet": str(path), "run": str(stored_run), "rows": 1, "kinds": {"need": 1}, "seed": 1,
    }  # fmt: skip
    row = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**row, "label": "no"}, ensure_ascii=False) + "\n", encoding="utf-8")
    assert sheet("import", stored_run, path, "--json") == 0
    made = json.loads(capsys.readouterr().out)
    assert made["kinds"]["need"]["agreement"] == 1.0
    assert made["kinds"]["need"]["kappa"] is None


def test_page_text_is_never_a_formula(tmp_path: Path) -> None:
    evil = PageRow(number=1, url="x", title="t", evidence=(PieceRow(kind="search", text="ok"),))
    record = Record(
        sample_id="=1",
        question='=HYPERLINK("http://x","押す")',
        reference="＝1",
        outcome="answered",
        answer="<sentence>@SUM(A1)<cite>1</cite></sentence>",
        pages=(evil,),
        consistency=VerdictRow(label="consistent"),
        units=(UnitRow(kind="support", sentences=(0,), verdict=VerdictRow(label="full")),),
    )
    draw = Draw()
    write_sheet(tmp_path / "s.csv", sheet_rows([record], draw_places([record], draw), draw))
    cells = [cell for row in rows_of(tmp_path / "s.csv") for cell in row.values()]
    assert '\'=HYPERLINK("http://x","押す")' in cells
    assert {"'@SUM(A1)", "'＝1"} <= set(cells)
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "＝"))]


def test_a_sheet_that_is_there_is_not_overwritten(
    stored_run: Path, exported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sheet("export", stored_run, "--out", exported) == 2
    assert capsys.readouterr().err == (
        f"pincite: {exported} is there already and may hold labels: choose another --out\n"
    )


def judged(label: str, number: int) -> Record:
    return Record(
        sample_id=f"tmg-{number:04d}",
        question="問",
        outcome="answered",
        answer="<sentence>文。</sentence>",
        units=(UnitRow(kind="need", sentences=(0,), verdict=VerdictRow(label=label)),),
    )


def test_rows_are_drawn_evenly_from_the_verdicts_the_same_in_any_order() -> None:
    records = [judged("yes" if n % 20 == 0 else "no", n) for n in range(200)]
    draw = Draw(per_verdict=8)
    places = draw_places(records, draw)
    rows = sheet_rows(records, places, draw)
    assert sorted(row.judgement.verdict.label or "" for row in rows) == ["no"] * 8 + ["yes"] * 8
    assert [row.judgement.sample_id for row in rows] == sorted(row.judgement.sample_id for row in rows)
    assert draw_places(records[::-1], draw) == places
    assert draw_places(records, Draw(per_verdict=8, seed=2)) != places


def test_a_judgement_without_verdict_is_not_drawn() -> None:
    missing = judged("no", 1).model_copy(
        update={"units": (UnitRow(kind="need", sentences=(0,), verdict=VerdictRow(label=None, failure="parse")),)}
    )
    assert draw_places([missing], Draw()) == frozenset()


TOLD = """\
5 labels of 7 rows kept in run/human_labels.jsonl

People and judge  n  agree %  95 % interval     κ     α  in the run %     κ
───────────────────────────────────────────────────────────────────────────
support           2     50.0       5.5–94.5  0.00  0.00          50.0  0.00
relevance         2     50.0       5.5–94.5  0.00  0.00          50.0  0.00
need              1    100.0     20.7–100.0     –     –         100.0     –

support: people say ↓, judge says →  full  partial  none
────────────────────────────────────────────────────────
full                                    1        1     0
partial                                 0        0     0
none                                    0        0     0

relevance: people say ↓, judge says →  yes  no
──────────────────────────────────────────────
yes                                      1   1
no                                       0   0

need: people say ↓, judge says →  yes  no
─────────────────────────────────────────
yes                                 0   0
no                                  0   1

Who                      kind  labels  agree %     κ
────────────────────────────────────────────────────
佐藤 and the judge    support       2     50.0  0.00
佐藤 and the judge  relevance       2     50.0  0.00
佐藤 and the judge       need       1    100.0     –

κ: Cohen. α: Krippendorff, ordinal for support and safety. A dash: the labels at
hand cannot tell.
In the run: weighted to how often the run has each verdict; the sheet draws rare
ones as often.
The judge contradicted itself in 0 of 1 single citations (supports, yet not
relevant).
No score has changed.
"""


def test_agreement_is_told_by_kind_and_no_score_changes(
    stored_run: Path, exported: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (stored_run / RECORDS).read_bytes()
    answers = {"support": "full", "relevance": "ＹＥＳ", "need": " No ", "consistency": ""}
    fill(exported, lambda row: answers[row["kind"]])
    monkeypatch.chdir(stored_run.parent)
    assert sheet("import", "run", "sheet.csv", "--rater", "佐藤") == 0
    text = "".join(f"{line.rstrip()}\n" for line in capsys.readouterr().out.splitlines())
    assert text == TOLD
    assert (stored_run / RECORDS).read_bytes() == before
    kept = read_human_labels(stored_run)
    assert [(row.rater, row.kind, row.label, row.judge) for row in kept] == [
        ("佐藤", "need", "no", "no"),
        ("佐藤", "relevance", "yes", "yes"),
        ("佐藤", "relevance", "yes", "no"),
        ("佐藤", "support", "full", "full"),
        ("佐藤", "support", "full", "partial"),
    ]


@pytest.mark.parametrize(("encoding", "delimiter"), [("cp932", ","), ("utf-8", ";"), ("utf-16", "\t")])
def test_sheets_come_back_as_spreadsheets_save_them(
    stored_run: Path, exported: Path, capsys: pytest.CaptureFixture[str], encoding: str, delimiter: str
) -> None:
    fill(exported, lambda row: "yes" if row["kind"] == "relevance" else "", encoding=encoding, delimiter=delimiter)
    assert sheet("import", stored_run, exported, "--json") == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["labels"], made["empty"], made["raters"]) == (2, 5, ["sheet"])
    assert made["kinds"]["relevance"]["confusion"] == {"yes": {"yes": 1, "no": 1}, "no": {"yes": 0, "no": 0}}


def refused(run: Path, path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert sheet("import", run, path) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert not (run / HUMAN_LABELS).exists()
    return err


def test_an_unknown_label_is_refused_with_its_row(
    stored_run: Path, exported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(exported, lambda row: "maybe" if "s1|n2" in row["key"] else "")
    assert refused(stored_run, exported, capsys) == (
        f"pincite: {exported}, row 5: 'maybe' is no label of relevance; allowed: yes, no\n"
    )


def test_a_sheet_of_other_answers_is_refused(
    stored_run: Path, exported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(exported, lambda row: "yes" if row["kind"] == "relevance" else "")
    lines = [record.model_dump_json() for record in read_records(stored_run)]
    (stored_run / RECORDS).write_text(
        "\n".join(lines).replace("申請は六月から。", "申請は七月から。") + "\n", encoding="utf-8"
    )
    assert "row 5: the run has no judgement 'relevance|tmg-0001|r0|s1|n2|" in refused(stored_run, exported, capsys)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "has no column key and no label; its first row reads: (nothing)"),
        ("鍵,label\nx,yes\n", "has no column key; its first row reads: 鍵, label"),
        ("key,label\n", "holds no label: fill in the column 'label'"),
        ("key,label\n,yes\n", "row 2: the key is empty"),
        ("key,label\nsupport|?|r0|s0|x,full\n", "row 2: the run has no judgement 'support|?|r0|s0|x'"),
    ],
)
def test_what_is_no_sheet_is_one_line(
    stored_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, sentence: str
) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(content, encoding="utf-8")
    assert sentence in refused(stored_run, path, capsys)


def test_a_judgement_labelled_twice_is_refused(
    stored_run: Path, exported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = fill(exported, lambda row: "full" if row["kind"] == "support" else "")
    with exported.open("a", encoding="utf-8", newline="") as file:
        csv.writer(file).writerow([rows[0]["key"], *[""] * 8, "none", ""])
    assert "row 9: 'support|tmg-0001|r0|s0|" in refused(stored_run, exported, capsys)


def test_broken_bytes_and_missing_files_are_one_line(
    stored_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bytes.csv").write_bytes(b"key,label\n\xff\xff\x80,\x81")
    assert "is neither UTF-8 nor Shift_JIS" in refused(stored_run, tmp_path / "bytes.csv", capsys)
    assert "cannot read the sheet" in refused(stored_run, tmp_path / "nowhere.csv", capsys)
    (tmp_path / "x.jsonl").write_text("[1]\n", encoding="utf-8")
    assert "row 1: not a JSON object with a key" in refused(stored_run, tmp_path / "x.jsonl", capsys)


def test_a_run_without_verdicts_has_nothing_to_label(
    empty_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sheet("export", empty_run, "--out", tmp_path / "s.csv") == 2
    assert "there is nothing to label" in capsys.readouterr().err
    assert sheet("export", empty_run, "--out", tmp_path / "s.csv", "--kind", "tone") == 2
    assert (
        "there is no kind 'tone'; the kinds are: support, relevance, need, consistency, criterion, safety"
        in capsys.readouterr().err
    )


def test_raters_stay_side_by_side_and_the_majority_meets_the_judge(
    stored_run: Path, exported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for rater, label in (("a", "yes"), ("b", "no"), ("c", "no"), ("a", "no")):
        fill(exported, saying(label, lambda row: row["kind"] == "relevance"))
        assert sheet("import", stored_run, exported, "--rater", rater, "--json") == 0
        made = json.loads(capsys.readouterr().out)
    assert made["raters"] == ["a", "b", "c"]
    relevance = made["kinds"]["relevance"]
    assert (relevance["labelled"], relevance["ties"], relevance["agreement"]) == (2, 0, 0.5)
    assert relevance["between_raters"] == {
        "judgements": 2, "raters": 3, "agreement": 1.0, "unanimous": 1.0, "fleiss": None, "alpha": None,
    }  # fmt: skip
    assert len(read_human_labels(stored_run)) == 6


def test_a_second_sheet_of_one_person_leaves_the_labels_of_the_first(
    stored_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for kind in ("support", "relevance"):
        path = tmp_path / f"{kind}.csv"
        assert sheet("export", stored_run, "--out", path, "--kind", kind) == 0
        fill(path, saying("full" if kind == "support" else "yes"))
        assert sheet("import", stored_run, path, "--rater", "佐藤") == 0
    assert [label.kind for label in read_human_labels(stored_run)] == ["relevance", "relevance", "support", "support"]
    # What the sheet itself no longer says is gone.
    left = iter(["yes", ""])
    fill(tmp_path / "relevance.csv", lambda _: next(left))
    assert sheet("import", stored_run, tmp_path / "relevance.csv", "--rater", "佐藤") == 0
    assert [label.kind for label in read_human_labels(stored_run)] == ["relevance", "support", "support"]


def test_two_people_who_differ_are_a_tie_and_left_out(
    stored_run: Path, exported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for rater, label in (("a", "yes"), ("b", "no")):
        fill(exported, saying(label, lambda row: "|n2|" in row["key"]))
        assert sheet("import", stored_run, exported, "--rater", rater, "--json") == 0
        made = json.loads(capsys.readouterr().out)
    relevance = made["kinds"]["relevance"]
    assert (relevance["labelled"], relevance["ties"], relevance["agreement"], relevance["interval"]) == (
        1,
        1,
        None,
        None,
    )


def labelled(pairs: Iterable[tuple[str, str]]) -> tuple[list[HumanLabel], dict[str, Judgement]]:
    labels: list[HumanLabel] = []
    known: dict[str, Judgement] = {}
    for n, (human, judge) in enumerate(pairs):
        (judgement,) = judgements(judged(judge, n))
        known[str(n)] = judgement
        labels.append(
            HumanLabel(
                key=str(n), kind="need", sample_id=judgement.sample_id, repeat=0, rater="a", label=human, judge=judge
            )
        )
    return labels, known


def test_agreement_in_the_run_weighs_each_verdict_by_how_often_the_run_has_it() -> None:
    # The judge is right on 9 of 10 "no", but on 5 of 10 "yes"; the run says "no" in 950 of 1,000.
    pairs = [("no", "no")] * 9 + [("yes", "no")] + [("yes", "yes")] * 5 + [("no", "yes")] * 5
    labels, known = labelled(pairs)
    made = human_agreement(labels, known, Population({"need": {"no": 950, "yes": 50}}, missing=0))["need"]
    assert (made.agreement, made.kappa) == (0.7, 0.4)
    assert made.agreement_in_run == pytest.approx(0.95 * 0.9 + 0.05 * 0.5)
    weights = {("no", "no"): 855, ("yes", "no"): 95, ("yes", "yes"): 25, ("no", "yes"): 25}
    assert made.kappa_in_run == cohen_kappa_of({pair: Fraction(n) for pair, n in weights.items()})


def test_a_verdict_that_nobody_labelled_leaves_the_run_unsaid() -> None:
    labels, known = labelled([("no", "no")] * 3)
    made = human_agreement(labels, known, Population({"need": {"no": 10, "yes": 1}}, missing=0))["need"]
    assert (made.agreement, made.agreement_in_run, made.kappa_in_run) == (1.0, None, None)
