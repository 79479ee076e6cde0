"""`pincite cassette`, as typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from servers.tape_scene import (
    CHAT,
    OTHER,
    SESSION,
    SHIFT_JIS,
    chat,
    page,
    record,
    record_encoded,
    scene,
)

from cassettes.naming import journal_path
from sandbox.cli.main import run
from sandbox.cli.seam import call
from sandbox.folder.store import RunFolder
from sandbox.reports.untrusted import HIDDEN

KEY = "sk-secret-0123456789"
LISTED = """\
問1/子育て.r0  12 exchanges: model 2, judge 1, search 1, page 8
   0  r01      model  200    4.5 kB →    100 B  POST https://llm.example.jp/v1/chat/completions
      まず検索します。
   1  r01      search 200       0 B →   4.5 kB  GET https://api.search.example/res/v1/web/search?q=東京都
      1 hits: 子育て支援のご案内
   2  r01.c1   page   200       0 B →   3.1 kB  GET https://example.jp/sjis.html
      子育て支援①㈱～
   3  r01.c2   page   200       0 B →   2.6 kB  GET https://example.jp/a.pdf
      (PDF)
"""
LISTED_AT_THE_END = """\
   7  r01.c6   page     –       0 B →      0 B  GET https://example.jp/slow
      ✕ ReadTimeout: 60秒以内に応答がありません
   8  r01.c7   page   200       0 B →   2.6 kB  GET https://example.jp/a.pdf
      (number 2 of the same request) (PDF)
   9  r01      page   200       0 B →   8.9 kB  GET local:page?url=条例
      条例
"""


def cassette(*arguments: str | Path) -> int:
    return call("sandbox.cli.cassette", "pincite cassette", [str(argument) for argument in arguments])


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """A run whose tape has one exchange of each kind, and pages that travelled encoded."""
    record(tmp_path / "run" / "tape", scene())
    record_encoded(tmp_path / "run" / "tape")
    return tmp_path / "run"


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_show_lists_the_sessions_and_then_the_exchanges_of_one(
    run_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cassette("show", run_folder) == 0
    assert capsys.readouterr().out.splitlines() == [
        "問1/子育て.r0  12 exchanges: model 2, judge 1, search 1, page 8",
        "encoded.r0  2 exchanges: page 2",
    ]
    assert cassette("show", run_folder, SESSION) == 0
    told = capsys.readouterr().out
    assert told.startswith(LISTED)
    assert LISTED_AT_THE_END in told
    assert told.splitlines()[-1] == "      (broke off: ReadError: 切れた) 都は撤廃した。"
    assert cassette("show", journal_path(run_folder / "tape", SESSION)) == 0
    assert capsys.readouterr().out == told


def test_show_prints_a_whole_exchange_without_what_a_terminal_obeys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record(tmp_path, [page("https://example.jp/", "東京\x1b[2J都\x9b\u202e".encode(), "text/plain; charset=utf-8")])
    assert cassette("show", tmp_path, SESSION, "--exchange", "0") == 0
    said = (
        "GET https://example.jp/\n\n200\ncontent-type: text/plain; charset=utf-8\n\n東京⟨U+001B⟩[2J都⟨U+009B⟩⟨U+202E⟩\n"
    )
    assert capsys.readouterr().out == said
    assert cassette("show", tmp_path, "--exchange", "0", "--json") == 0
    printed = capsys.readouterr().out
    assert HIDDEN.search(printed) is None
    row = json.loads(printed)
    assert (row["request_body"], row["response_body"]) == ("", "東京\x1b[2J都\x9b\u202e")
    assert cassette("show", tmp_path, "--exchange", "1") == 2


def test_show_as_json_gives_a_line_an_exchange(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cassette("show", run_folder, SESSION, "--json") == 0
    row = lines(capsys)[2]
    assert len(str(row.pop("identity"))) == 32
    assert row == {
        "session": SESSION,
        "position": 2,
        "channel": "page",
        "round": 1,
        "place": "r01.c1",
        "n": 1,
        "method": "GET",
        "url": "https://example.jp/sjis.html",
        "status": 200,
        "failed": False,
        "exception": None,
        "broken": None,
        "request_bytes": 0,
        "response_bytes": len(SHIFT_JIS),
        "media_type": "text/html; charset=Shift_JIS",
        "first_words": "子育て支援①㈱～",
    }
    assert cassette("show", run_folder, "--json") == 0
    assert lines(capsys)[1] == {
        "session": "encoded.r0",
        "exchanges": 2,
        "torn": False,
        "channels": {"model": 0, "judge": 0, "search": 0, "page": 2},
    }


def test_what_is_not_there_ends_with_exit_code_3_and_names_what_is(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cassette("show", tmp_path / "nothing") == 3
    assert "is no tape: neither a run folder with tape/" in capsys.readouterr().err
    assert cassette("show", run_folder, "q9") == 3
    assert capsys.readouterr().err == (
        f"pincite: there is no session 'q9' on the tape {run_folder / 'tape'}; there are: {SESSION}, encoded.r0\n"
    )


def test_diff_shows_the_first_differing_path_and_characters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shared = page("https://example.jp/", b"1", "text/plain")
    record(tmp_path / "a", [chat("対象者は誰か。", 1, "令和６年度"), shared])
    record(tmp_path / "b", [chat("対象者は誰か。", 1, "令和７年度"), shared])
    record(tmp_path / "b", [shared], OTHER)
    assert cassette("diff", tmp_path / "a", tmp_path / "b") == 1
    assert capsys.readouterr().out.splitlines() == [
        "問1/子育て.r0: 1 the same, 1 another answer",
        f"    0/0  r01      model  another answer: POST {CHAT}",
        "         body.choices[0].message.content, character 2",
        "         令和[-６-][+７+]年度",
        "1 sessions only in the second: q0002.r0",
    ]
    assert cassette("diff", tmp_path / "a", tmp_path / "b", "--session", SESSION, "--json") == 1
    (row,) = lines(capsys)
    assert (row["first"], row["n_same"]) == (SESSION, 1)
    (found,) = row["differences"]  # type: ignore[misc]
    assert found["text"] == "令和[-６-][+７+]年度"  # type: ignore[has-type]


def test_diff_of_two_journals_compares_two_sessions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(tmp_path, scene())
    record(tmp_path, scene(), OTHER)
    assert cassette("diff", journal_path(tmp_path, SESSION), journal_path(tmp_path, OTHER)) == 0
    assert capsys.readouterr().out == "問1/子育て.r0 and q0002.r0: 12 the same\n"


def test_verify_says_all_is_well_or_what_is_not(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cassette("verify", run_folder) == 0
    assert capsys.readouterr().out == "2 sessions, 14 exchanges, 7 bodies (28.1 kB): all is well\n"
    path = journal_path(run_folder / "tape", SESSION)
    path.write_bytes(path.read_bytes().replace("まず検索".encode(), "まず検束".encode()))
    assert cassette("verify", run_folder) == 3
    first, problem = capsys.readouterr().out.splitlines()
    assert first == "2 sessions, 14 exchanges, 7 bodies (28.1 kB): 1 problems"
    assert problem.startswith(f"  damaged_exchange  {path} exchange 0: ")
    assert cassette("verify", run_folder, "--json") == 3
    (row,) = lines(capsys)
    assert [found["kind"] for found in row["problems"]] == ["damaged_exchange"]  # type: ignore[attr-defined]


def test_another_lab_can_tell_whether_it_fetched_the_same_pages(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = tmp_path / "pages.jsonl"
    assert cassette("export", run_folder, "--manifest", manifest) == 0
    assert capsys.readouterr().out == f"{manifest}: 8 hashes; 1 calls brought no whole page\n"
    assert cassette("verify", run_folder, "--against", manifest) == 0
    assert capsys.readouterr().out.splitlines()[1] == (
        "against the manifest: 8 pages the same, 0 changed, 0 missing, 0 added"
    )
    record(tmp_path / "theirs", [page("https://example.jp/sjis.html", SHIFT_JIS + b"\n", "text/html")])
    assert cassette("verify", tmp_path / "theirs", "--against", manifest) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[1] == "against the manifest: 0 pages the same, 1 changed, 7 missing, 0 added"
    assert "  changed  https://example.jp/sjis.html" in told
    assert cassette("verify", tmp_path / "theirs", "--against", manifest, "--json") == 1
    (row,) = lines(capsys)
    assert row["against"]["n_same"] == 0  # type: ignore[index]


def test_pack_tells_what_it_dropped_and_waits_for_no_run(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal_path(run_folder / "tape", "encoded.r0").unlink()
    record(run_folder / "tape", [page("https://example.jp/x", b"\xff" * 4000, "image/png")], OTHER)
    journal_path(run_folder / "tape", OTHER).unlink()
    (run_folder / "run.toml").write_text("", encoding="utf-8")
    with RunFolder(run_folder):
        assert cassette("pack", run_folder) == 2
    assert "in use by another pincite run" in capsys.readouterr().err
    assert cassette("pack", run_folder, "--json") == 0
    (row,) = lines(capsys)
    assert (row["n_packs_before"], row["n_packs"], row["n_kept"], row["n_dropped"]) == (2, 1, 7, 1)
    assert cassette("verify", run_folder) == 0


def test_one_command_exports_all_formats(run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    formats = ("--vcr", out / "vcr", "--warc", out / "web.warc.gz", "--manifest", out / "m.jsonl")
    assert cassette("export", run_folder, *formats, "--json") == 0
    size = (out / "web.warc.gz").stat().st_size
    warc = {"n_responses": 8, "n_revisits": 1, "n_resources": 1, "n_left_out": 1, "n_bytes": size}
    assert lines(capsys) == [
        {"vcr": str(out / "vcr"), "files": 2, "exchanges": 14},
        {"warc": str(out / "web.warc.gz"), **warc},
        {"manifest": str(out / "m.jsonl"), "pages": 8, "left_out": 1},
    ]
    assert cassette("export", run_folder) == 2
    assert cassette("export", run_folder, "--warc", out / "x.warc", "--channel", "web") == 2
    assert cassette("export", run_folder, "--vcr", out / "x", "--channel", "page") == 2


@pytest.mark.parametrize("target", ["--vcr", "--warc", "--manifest"])
def test_no_export_contains_the_value_of_a_key(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    record(tmp_path / "tape", [page("https://example.jp/", f"鍵は{KEY}".encode(), "text/plain")])
    monkeypatch.setenv("SOME_API_KEY", KEY)
    assert cassette("export", tmp_path, target, tmp_path / "out") == 3
    said = capsys.readouterr()
    assert "holds the value of a key" in said.err
    assert KEY not in said.err + said.out
    assert not [path for path in tmp_path.rglob("out*") if path.is_file()]


def test_what_is_exported_is_imported_and_shown(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cassette("export", run_folder, "--vcr", tmp_path / "vcr", "--session", "encoded.r0")
    capsys.readouterr()
    assert cassette("import", tmp_path / "vcr" / "encoded.r0.yaml", "--out", tmp_path / "again", "--json") == 0
    journal = tmp_path / "again" / "tape" / "encoded.r0.yaml"
    assert lines(capsys) == [{"session": "encoded.r0", "journal": str(journal), "exchanges": {"page": 2}}]
    assert cassette("diff", run_folder, tmp_path / "again", "--session", "encoded.r0") == 0
    assert capsys.readouterr().out == "encoded.r0: 2 the same\n"


def test_a_second_import_under_the_same_name_and_a_foreign_format_are_refused(
    run_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    foreign = tmp_path / "f.yaml"
    foreign.write_text(
        "interactions:\n- request: {method: GET, uri: u, parsed_body: {a: 1}}\n  response: {status: {code: 200}}",
        encoding="utf-8",
    )
    assert cassette("import", foreign, "--out", tmp_path / "out") == 3
    assert "a request in it has `parsed_body`" in capsys.readouterr().err
    cassette("export", run_folder, "--vcr", tmp_path / "vcr", "--session", "encoded.r0")
    again = (
        "import",
        tmp_path / "vcr" / "encoded.r0.yaml",
        "--out",
        tmp_path / "out",
        "--session",
        "条例",
        "--channel",
    )
    assert cassette(*again, "judges") == 2
    assert cassette(*again, "judge") == 0
    assert cassette(*again, "judge") == 3


def test_the_command_is_in_the_table_and_says_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    assert "look at tapes" in capsys.readouterr().out
    for command in ("show", "diff", "verify", "pack", "export", "import"):
        assert run(["cassette", command, "--help"]) == 0
        assert "--json" in capsys.readouterr().out
