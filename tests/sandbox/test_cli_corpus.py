"""`pincite corpus build` and `search`, as typed; what fetching is like: test_corpus_fetch.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sandbox.cli.seam import call
from tools.corpus import FILE, open_corpus

PAGE = """<!doctype html><html lang="ja"><head><meta charset="Shift_JIS"><title>子育て支援のご案内</title></head><body>
<h1>子育て支援のご案内</h1><p>０１８サポートは、令和６年度から月額５，０００円を支給する制度です。対象は都内在住の１８歳以下の子供です。</p>
<p>申請は区市町村の窓口では受け付けていません。専用のサイトから申請してください。</p></body></html>"""


def corpus(*arguments: str | Path) -> int:
    return call("sandbox.cli.corpus", "pincite corpus", [str(argument) for argument in arguments])


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A folder with a Shift_JIS page, two articles at one URL and a picture, and their manifest."""
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "kosodate.html").write_bytes(PAGE.encode("cp932"))
    (folder / "a.md").write_text("# 条例\n第五条　公園は無料とする。", encoding="utf-8")
    (folder / "b.md").write_text("# 規則\n第五条　公園の開園時間は九時とする。", encoding="utf-8")
    (folder / "c.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 50)
    rows = [
        {"doc_id": "k", "url": "https://example.jp/kosodate.html", "path": "kosodate.html", "media_type": "text/html"},
        {"doc_id": "a", "url": "https://example.jp/reiki#第5条", "path": "a.md", "media_type": "text/markdown"},
        {"doc_id": "b", "url": "https://example.jp/reiki#第5条", "path": "b.md", "media_type": "text/markdown"},
        {"doc_id": "c", "url": "https://example.jp/c.png", "path": "c.png"},
    ]
    lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    (folder / "manifest.jsonl").write_text(lines, encoding="utf-8")
    return folder


def test_build_then_search_finds_the_page(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert corpus("build", source, "--out", tmp_path / "c") == 0
    said = capsys.readouterr().out
    assert said.splitlines()[0].startswith(f"{tmp_path / 'c' / FILE}: 3 documents, ")
    assert "  b  https://example.jp/reiki#第5条&doc=b" in said.splitlines()
    assert "left out: 1" in said.splitlines()
    assert corpus("search", tmp_path / "c", "018ｻﾎﾟｰﾄ 支給額") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [" 1 子育て支援のご案内", "   https://example.jp/kosodate.html"]
    assert "０１８サポートは、令和６年度から月額５，０００円を支給する制度です。" in lines[2]


def test_what_a_page_or_a_manifest_says_cannot_steer_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"doc_id": "k\x1b[2J", "url": "corpus:k\x1b]0;x\x07", "path": "k.md", "title": "公園\n\x1b[31m\u202e逆"},
        {"doc_id": "c\x1b[2J", "path": "c.png"},
    ]
    (tmp_path / "manifest.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (tmp_path / "k.md").write_text("公園は\x1b[8m無料\u202eである。", encoding="utf-8")
    (tmp_path / "c.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 50)
    assert corpus("build", tmp_path, "--out", tmp_path / "c") == 0
    assert "  c⟨U+001B⟩[2J  unsupported_type: " in capsys.readouterr().out
    assert corpus("search", tmp_path / "c", "公園") == 0
    said = capsys.readouterr().out
    assert said.splitlines()[:2] == [" 1 公園 ⟨U+001B⟩[31m⟨U+202E⟩逆", "   corpus:k⟨U+001B⟩]0;x⟨U+0007⟩"]
    assert not any(char in said for char in "\x1b\u202e")
    assert corpus("build", tmp_path / "x\x1b[2J", "--out", tmp_path / "c") == 2
    assert "\x1b" not in capsys.readouterr().err


def test_json_is_all_there_is_on_stdout(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert corpus("build", source / "manifest.jsonl", "--out", tmp_path / "c", "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary == {
        "path": str(tmp_path / "c" / FILE),
        "documents": 3,
        "characters": summary["characters"],
        "keeps_fragments": True,
        "renamed": [
            {"doc_id": "b", "given": "https://example.jp/reiki#第5条", "url": "https://example.jp/reiki#第5条&doc=b"}
        ],
        "skipped": [
            {
                "doc_id": "c",
                "url": "https://example.jp/c.png",
                "reason": "unsupported_type: this is image/png, which cannot be read",
            }
        ],
        "digest": open_corpus(tmp_path / "c").digest,
    }
    assert corpus("search", tmp_path / "c", "公園", "--count", "1", "--json") == 0
    hits = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(hit["rank"], sorted(hit)) for hit in hits] == [(1, ["rank", "snippets", "title", "url"])]
    assert hits[0]["url"].startswith("https://example.jp/reiki#第5条")


def test_no_hits_is_no_error(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus("build", source, "--out", tmp_path / "c")
    capsys.readouterr()
    assert corpus("search", tmp_path / "c", "鯨") == 0
    assert capsys.readouterr() == ("", "no hits\n")


def test_wrong_set_up_is_one_line_and_exit_code_2(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"path": "a"}\n{', encoding="utf-8")
    corpus("build", source, "--out", tmp_path / "c")
    capsys.readouterr()
    for arguments, complaint in (
        (("search", tmp_path / "none", "税"), "there is no corpus in"),
        (("search", tmp_path / "c", "　"), "the query is blank"),
        (("search", tmp_path / "c", "あ" * 401), "the query has 401 characters; at most 400 are taken"),
        (("search", tmp_path / "c", "税\udcff"), "the query holds bytes that are no UTF-8"),
        (("build", tmp_path / "missing", "--out", tmp_path / "d"), "does not exist"),
        (("build", broken, "--out", tmp_path / "d"), "row 2: not JSON"),
    ):
        assert corpus(*arguments) == 2
        out, err = capsys.readouterr()
        assert out == ""
        lines = [line for line in err.splitlines() if line.strip()]
        assert len(lines) == 1
        assert lines[0].startswith("pincite: ")
        assert complaint in lines[0]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("build", ("--out", "--json", "sha256", "corpus:", "#doc=", "left out")),
        ("search", ("--count", "--json", "snippets", "400")),
        ("fetch", ("--data", "--fields", "--limit", "links.jsonl", "dead", "Ctrl-C", "--corpus DIR", "--json")),
        ("check-links", ("--data", "alive", "HEAD", "--json")),
    ],
)
def test_help_says_what_goes_in_and_what_comes_out(
    command: str, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert corpus(command, "--help") == 0
    said = capsys.readouterr().out
    assert [word for word in words if word not in said] == []
