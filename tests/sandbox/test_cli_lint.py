"""`pincite lint`: output like a compiler's, JSON and SARIF, for texts, JSON Lines and runs; bad input in one sentence."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from sandbox.cli.seam import call
from sandbox.reports.lint_text import MAX_FINDINGS
from sandbox.reports.untrusted import HIDDEN

ANSWER = "背景を先に説明します。\n<sentence>両調査は\x1b[2J一致😀した。<cite>1、3</cite></sentence>\n"
TEXT = """\
answer.txt:1:1: P03 warning: prose outside the tags: 背景を先に説明します。
    背景を先に説明します。
    ^~~~~~~~~~~~~~~~~~~~~~
    fix: tag it as a sentence, or leave it out
answer.txt:2:25: C02 error: several numbers in one cite: 1、3
    <sentence>両調査は⟨U+001B⟩[2J一致😀した。<cite>1、3</cite></sentence>
                                             ^~~~~~~~~~~~~~~~~
    fix: write <cite>1</cite><cite>3</cite>
code  severity  answers  times  what
───────────────────────────────────────────────────────────
P03   warning         1      1  prose outside the tags
C02   error           1      1  several numbers in one cite

1 answer: 1 with errors, 0 with warnings or notes only, 0 clean.
Not checked: S15 (no finish reason).
Not checked: R01, R02, R03, R04, R05 (no evidence given).
Not checked: R06 (no run, or not told by it).
"""
ROWS = (
    {"id": "清", "text": "<sentence>文。<cite>1</cite></sentence>", "evidence": {"1": "本文"}, "finish_reason": "stop"},
    {"id": 7, "raw": "<sentence>文。<cite>5</cite></sentence>", "evidence": {"5": None}, "finish_reason": "stop"},
    {"raw": "<|plamo:begin_sentence:plamo|>文。<|plamo:end_sentence:plamo|>", "dialect": "plamo", "model": "x"},
    {"id": "無", "text": None},
)


def lint(*arguments: str | Path) -> int:
    return call("sandbox.cli.lint", "pincite lint", [str(argument) for argument in arguments])


def stripped(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def rows_file(folder: Path, rows: Sequence[object] = ROWS) -> Path:
    file = folder / "answers.jsonl"
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return file


def given(monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))


def test_a_text_file_is_one_answer_and_comes_out_as_from_a_compiler(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("answer.txt").write_text(ANSWER, encoding="utf-8")
    assert lint("answer.txt") == 0
    assert stripped(capsys.readouterr().out) == TEXT


def test_json_gives_a_line_an_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lint(rows_file(tmp_path), "--json") == 0
    clean, failed, plamo, nothing = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert clean == {
        "id": "清",
        "findings": [],
        "strict": [{"text": "文。", "citations": [1]}],
        "recovered": [{"text": "文。", "citations": [1]}],
        "not_checked": ["R06"],
    }
    assert failed["id"] == 7
    assert failed["findings"] == [
        {
            "code": "R02",
            "severity": "error",
            "start": 12,
            "end": 26,
            "line": 1,
            "column": 13,
            "message": "number of a page of which nothing was seen: 5",
            "fix": "cite only pages whose text was seen",
        }
    ]
    assert (plamo["id"], [finding["code"] for finding in plamo["findings"]]) == (3, ["W03"])
    assert [finding["code"] for finding in nothing["findings"]] == ["W01"]


def test_a_row_without_a_dialect_is_read_in_the_one_that_was_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = rows_file(tmp_path, [{"text": "<statement>文。<cite>[1-2]</cite></statement>"}])
    assert lint(file, "--json", "--dialect", "longcite") == 0
    assert json.loads(capsys.readouterr().out)["findings"] == []


def test_standard_input_is_read_as_rows_or_as_a_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given(monkeypatch, b'\xef\xbb\xbf\n{"id": "a", "text": "<sentence>\\ud800</sentence>"}\n')
    assert lint("-", "--json") == 0
    assert json.loads(capsys.readouterr().out)["strict"] == [{"text": "\ud800", "citations": []}]
    given(monkeypatch, '{"これは": "答えの一部"}'.encode())
    assert lint("-", "--json") == 0
    assert json.loads(capsys.readouterr().out)["id"] == "<stdin>"


def test_an_empty_text_is_a_finding(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, b"")
    assert lint("-") == 0
    assert capsys.readouterr().out.startswith("<stdin>:1:1: W01 error: empty answer\n")


def test_more_errors_than_allowed_exit_with_one(tmp_path: Path) -> None:
    file = rows_file(tmp_path)
    # R02, W03 and W01.
    assert lint(file, "--max-errors", "3") == 0
    assert lint(file, "--max-errors", "2") == 1


def test_of_one_answer_only_so_many_findings_are_printed_and_all_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "long.txt"
    file.write_text("<sentence>文。<cite>資料1</cite>" * 1_000 + "あ" * 100_000, encoding="utf-8")
    assert lint(file) == 0
    out = capsys.readouterr().out
    assert out.count("fix: ") == MAX_FINDINGS
    assert "… and 1,982 more findings in this answer" in out
    assert "C05   error           1  1,000  number with decoration" in out
    assert max(map(len, out.splitlines())) < 200


def test_no_control_character_reaches_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "answers.jsonl"
    row = {"id": "\x1b]0;\u202e", "text": "\x1b[2J\r\u202e地の文が続く\x00<Sentence>\udc80\t。"}
    file.write_text(json.dumps(row), encoding="utf-8")
    assert lint(file) == 0
    assert HIDDEN.search(capsys.readouterr().out.replace("\n", "")) is None


def test_sarif_has_what_the_schema_requires(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = rows_file(tmp_path)
    assert lint(file, "--format", "sarif") == 0
    log = json.loads(capsys.readouterr().out)
    assert (log["version"], log["$schema"]) == ("2.1.0", "https://json.schemastore.org/sarif-2.1.0.json")
    (run,) = log["runs"]
    assert run["tool"]["driver"]["name"] == "pincite"
    assert run["columnKind"] == "unicodeCodePoints"
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules) == 37
    for found in run["results"]:
        assert rules[found["ruleIndex"]]["id"] == found["ruleId"]
        assert found["level"] in ("error", "warning", "note")
        assert found["message"]["text"]
    assert [(found["ruleId"], _row_of(found)) for found in run["results"]] == [("R02", 2), ("W03", 3), ("W01", 4)]
    assert run["results"][0]["properties"] == {"answer": "7", "line": 1, "column": 13, "start": 12, "end": 26}


def _row_of(found: dict[str, list[dict[str, dict[str, dict[str, int]]]]]) -> int:
    return found["locations"][0]["physicalLocation"]["region"]["startLine"]


def test_sarif_of_a_text_file_points_into_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "答え 09:30.txt"
    file.write_text(ANSWER, encoding="utf-8")
    assert lint(file, "--format", "sarif") == 0
    place = json.loads(capsys.readouterr().out)["runs"][0]["results"][1]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].endswith("/%E7%AD%94%E3%81%88%2009%3A30.txt")
    assert place["region"] == {
        "startLine": 2,
        "startColumn": 25,
        "endLine": 2,
        "endColumn": 41,
        "charOffset": 36,
        "charLength": 16,
    }


def test_a_run_is_linted_with_its_evidence_and_what_each_code_costs(
    stored_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lint(stored_run) == 0
    out = stripped(capsys.readouterr().out)
    assert "tmg-0001:2:40: R01 error: number that no page has: 9" in out
    assert "tmg-0004:1:1: W02 error: no sentence tag that can be read" in out
    assert "W02   error           1      1        0.0  no sentence tag that can be read" in out
    assert "2 answers (2 more sessions have none): 2 with errors" in out
    assert (
        "Citation F1 15.9 %; 15.9 % if the format were right: 0.0 points lost to format,\n84.1 to evidence.\n"
    ) in out
    assert "Not checked" not in out
    assert lint(stored_run, "--json") == 0
    first, last = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (first["id"], first["repeat"], last["id"]) == ("tmg-0001", 0, "tmg-0004")
    assert first["losses"]["codes"] == {
        "R01": {"points": None, "reason": "a matter of evidence, not of format"},
    }
    assert last["losses"] == {
        "format_loss": 0.0,
        "evidence_loss": 1.0,
        "codes": {"P03": {"points": 0.0, "reason": ""}, "W02": {"points": 0.0, "reason": ""}},
    }


def test_a_run_can_be_read_in_another_dialect_without_its_verdicts(
    stored_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lint(stored_run, "--json", "--dialect", "longcite") == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert "losses" not in first
    assert {finding["code"] for finding in first["findings"]} == {"C08", "S11", "W02"}


def test_a_code_is_explained_and_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert lint("--explain", "p05") == 0
    out = capsys.readouterr().out
    assert out.startswith("# P05: citation in another style\n")
    assert out.endswith("\n\nSeverity: error.\n")
    assert lint("--explain", "all") == 0
    assert len(capsys.readouterr().out.splitlines()) == 37
    assert lint("--explain", "C01", "--json") == 0
    assert json.loads(capsys.readouterr().out)["title"] == "empty cite"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "give a run folder, a file with answers, or - for standard input (or --explain CODE)"),
        (["nowhere"], "cannot read nowhere: No such file or directory"),
        (["--explain", "P99"], "there is no code 'P99'; --explain all lists them"),
        (["-", "--format", "xml"], "there is no format 'xml'; the formats are: text, json, sarif"),
        (["-", "--dialect", "x"], "unknown dialect: 'x' (tags, longcite, plamo or plamo(SENTENCE,CITE))"),
    ],
)
def test_a_wrong_call_gets_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lint(*arguments) == 2
    assert capsys.readouterr().err == f"pincite: {sentence}\n"


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.jsonl", b"", " holds no answer"),
        ("a.jsonl", b'{"text": "x"}\n{"text":\n', ", row 2: not JSON (Expecting value: line 2 column 1 (char 9))"),
        ("a.jsonl", b'"x"\n', ", row 1: expected an object with the answer in text or raw, not str"),
        ("a.jsonl", b'{"id": 1}', ", row 1: the object has neither text nor raw"),
        ("a.jsonl", b'{"sample_id": 1}', ", row 1: the object has neither text nor raw; for a run, give its folder"),
        ("a.jsonl", b'{"text": 3}', ", row 1: text must be a string or null, not int"),
        ("a.jsonl", b'{"text": "", "dialect": []}', ", row 1: dialect must be a string or null, not list"),
        ("a.jsonl", b'{"text": "", "evidence": []}', ", row 1: evidence must be an object, number to text, not list"),
        ("a.jsonl", b'{"raw": "", "evidence": {"x": ""}}', ", row 1: evidence: the key 'x' is no citation number"),
        ("a.jsonl", b'{"raw": "", "titles": {"1": "", "01": ""}}', ", row 1: titles: number 1 stands there twice"),
        ("a.jsonl", b'{"id": 1.5, "raw": ""}', ", row 1: id must be a string or a whole number, not float"),
        ("a.jsonl", b'{"id": true, "raw": ""}', ", row 1: id must be a string or a whole number, not bool"),
        ("a.jsonl", b'{"raw": "<b>", "text": "b"}', ", row 1: text and raw are not the same; leave one out"),
        ("a.jsonl", b'{"raw": "", "evidence": {"1": 2}}', ", row 1: evidence of 1 must be a string or null, not int"),
        ("a.jsonl", '{"text": "文"}'.encode("shift_jis"), ", row 1: not UTF-8 (invalid start byte at byte 10)"),
        ("a.json", b'[\n{"text": "x"}]', " is not JSON Lines: put one object a line, with the answer in text or raw"),
        ("a.txt", "文。".encode("shift_jis"), " is not UTF-8 text (invalid start byte at byte 0)"),
    ],
)  # fmt: skip
def test_input_that_cannot_be_read_gets_one_sentence(
    name: str,
    content: bytes,
    sentence: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(content)
    assert lint(name) == 2
    assert capsys.readouterr().err == f"pincite: {name}{sentence}\n"


def test_a_run_that_is_not_whole_or_not_begun_gets_one_sentence(
    stored_run: Path, empty_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lint(empty_run) == 2
    assert capsys.readouterr().err == f"pincite: no session of {empty_run} is finished yet: there is nothing to lint\n"
    (stored_run / "run.toml").unlink()
    assert lint(stored_run) == 2
    assert capsys.readouterr().err == (
        f"pincite: {stored_run} is a half-written run folder: run.toml is missing; start the run again\n"
    )


def test_a_torn_last_record_is_passed_over(stored_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (stored_run / "records.jsonl").open("ab") as file:
        file.write(b'{"sample_id": "tmg-00')
    assert lint(stored_run, "--json") == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
