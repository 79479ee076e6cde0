"""`pincite corpus fetch` and `check-links`, as typed, against a web of our own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from servers.web_server import Page, WebServer, serving_pages

from sandbox.benchmarks.sample import FOLDER
from sandbox.cli.main import run
from sandbox.fetching.links import LinkRow, add_link, read_links
from sandbox.folder.store import RunFolder
from tests.sandbox.conftest import Output
from tools.corpus import open_corpus

ROOT = Path(__file__).resolve().parents[2]
PDF = (FOLDER / "docs" / "kodomo-tokei.pdf").read_bytes()
SHIFT_JIS = (FOLDER / "docs" / "gomi-pasokon.html").read_bytes()
NOTICE = """<!doctype html><html lang="ja"><head><meta charset="utf-8"><title>公園のご案内</title></head><body>
<h1>公園のご案内</h1><p>凪原中央公園の利用時間は、午前９時から午後５時までです。利用料はかかりません。</p></body></html>""".encode()

HTML = ("Content-Type: text/html; charset=utf-8",)
PAGES = {
    "/tokei.pdf": Page(PDF, headers=("Content-Type: application/pdf",)),
    "/pc.html": Page(SHIFT_JIS, headers=("Content-Type: text/html",)),
    "/old/park.html": Page(status=301, headers=("Location: /park.html",)),
    "/park.html": Page(NOTICE, headers=HTML),
    "/busy": Page(b"", status=503, headers=HTML),
    "/form.xlsx": Page(
        b"PK\x03\x04" + b"xl/workbook" + b"\0" * 40, headers=("Content-Type: application/vnd.ms-excel",)
    ),
}
# Whoever starts the suite in the background may have it ignore Ctrl-C, and a child would inherit that.
MAIN = "import signal; signal.signal(2, signal.default_int_handler); from sandbox.cli.main import main; main()"


@pytest.fixture
def web(tmp_path: Path) -> Iterator[WebServer]:
    """The pages on loopback, with settings in `web.toml` that let them be fetched, as fast as asked."""
    with serving_pages(PAGES) as server:
        ports = f"[80, 443, {server.port}]"
        settings = f"[fetch]\nallow_loopback = true\nports = {ports}\nrobots = false\nhost_interval_s = 0\n"
        (tmp_path / "web.toml").write_text(settings, encoding="utf-8")
        yield server


def at(web: WebServer, target: str) -> str:
    return web.url(target, host="127.0.0.1")


def question(name: str, *documents: object) -> dict[str, object]:
    asked = "凪原中央公園は何時まで利用できますか。"
    return {"id": name, "question": asked, "reference": "午後5時までです。", "documents": list(documents)}


def data(web: WebServer, folder: Path) -> Path:
    """Five questions: two that can be asked, three that lack a document each."""
    park, old, tokei, pc = (at(web, name) for name in ("/park.html", "/old/park.html", "/tokei.pdf", "/pc.html"))
    rows = [
        question("問１", {"no": 1, "url": old}, {"no": 2, "url": tokei, "pages": "3-4"}, {"no": 5, "url": pc}),
        question("問２", {"no": 1, "url": f"{tokei}#page=1"}, {"no": 2, "url": f"{park}#riyo"}),
        question("問３", {"no": 1, "url": park}, {"no": 2, "url": at(web, "/gone.html")}),
        question("問４", {"no": 1, "url": at(web, "/busy")}, {"no": 2, "url": at(web, "/form.xlsx")}),
        question("問５", {"no": 1, "url": tokei, "page": 9}),
    ]
    path = folder / "質問.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def fetch(path: Path, *more: str) -> int:
    return run(["corpus", "fetch", "--data", str(path), "--out", "docs", "--settings", "web.toml", *more])


def ledger(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "links.jsonl").read_text(encoding="utf-8").splitlines()]


def test_each_link_is_fetched_once_and_a_dead_one_is_data(web: WebServer, output: Output, tmp_path: Path) -> None:
    assert fetch(data(web, tmp_path), "--json") == 0
    summary = json.loads(output().out)
    # The page at the end of the redirect is a link of its own too.
    assert sorted(web.targets()) == sorted([*PAGES, "/gone.html"])
    assert {name: summary[name] for name in ("links", "alive", "unreadable", "dead", "asked", "questions")} == {
        "links": 7, "alive": 4, "unreadable": 1, "dead": 2, "asked": 7, "questions": 5,
    }  # fmt: skip
    assert summary["left_out"] == [
        {"id": "問３", "urls": [at(web, "/gone.html")]},
        {"id": "問４", "urls": [at(web, "/busy"), at(web, "/form.xlsx")]},
    ]
    assert summary["corpus"]["documents"] == 4
    rows = {row["url"].partition(str(web.port))[2]: row for row in ledger(Path("docs"))}
    assert list(rows) == ["/old/park.html", "/tokei.pdf", "/pc.html", "/park.html", "/gone.html", "/busy", "/form.xlsx"]
    assert [(row["status"], (row["failure"] or {}).get("kind")) for row in rows.values()] == [
        ("alive", None), ("alive", None), ("alive", None), ("alive", None),
        ("dead", "not_found"), ("dead", "http_error"), ("unreadable", "unsupported_type"),
    ]  # fmt: skip
    assert rows["/form.xlsx"]["failure"]["message"] == (
        "this is application/vnd.openxmlformats-officedocument.spreadsheetml.sheet, which cannot be read"
    )
    tokei = rows["/tokei.pdf"]
    assert (tokei["media_type"], tokei["physical_pages"], tokei["questions"]) == (
        "application/pdf", 4, ["問１", "問２", "問５"],
    )  # fmt: skip
    assert (Path("docs") / tokei["file"]).read_bytes() == PDF
    assert tokei["file"] == f"documents/{tokei['sha256']}.pdf"
    assert rows["/old/park.html"]["final_url"] == at(web, "/park.html")
    assert rows["/gone.html"]["sha256"] is None


def test_the_corpus_is_read_by_link_and_by_where_redirects_led(web: WebServer, output: Output, tmp_path: Path) -> None:
    assert fetch(data(web, tmp_path)) == 0
    said = output().out.splitlines()
    assert said[0] == "links: 7 (alive 4, unreadable 1, dead 2)"
    assert "questions that lack a document: 2 of 5" in said
    corpus = open_corpus(Path("docs"))
    park = corpus.document(at(web, "/old/park.html"))
    tokei = corpus.document(at(web, "/tokei.pdf"))
    pc = corpus.document(at(web, "/pc.html"))
    corpus.close()
    assert park is not None
    assert tokei is not None
    assert pc is not None
    assert (park.final_url, "午前９時から午後５時まで" in park.text) == (at(web, "/park.html"), True)
    assert len(tokei.page_starts) == 4
    assert "㈱" in pc.text
    # The manifest alone makes the same corpus.
    first = json.loads((tmp_path / "docs" / "manifest.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert first["media_type"] == "text/html; charset=utf-8"
    assert run(["corpus", "build", "docs", "--out", "again", "--json"]) == 0
    assert json.loads(output().out)["documents"] == 4


def test_a_second_start_asks_for_nothing_that_came(web: WebServer, output: Output, tmp_path: Path) -> None:
    path = data(web, tmp_path)
    assert fetch(path, "--json") == 0
    first, rows = json.loads(output().out), ledger(Path("docs"))
    web.seen.clear()
    assert fetch(path, "--json") == 0
    second = json.loads(output().out)
    # 503 is a passing fault: worth another try. 404 is an answer.
    assert web.targets() == ["/busy"]
    assert second["asked"] == 1
    assert second["corpus"]["digest"] == first["corpus"]["digest"]
    kept = [row for row in ledger(Path("docs")) if not row["url"].endswith("/busy")]
    assert kept == [row for row in rows if not row["url"].endswith("/busy")]


def test_a_line_that_a_crash_cut_off_takes_no_other_with_it(tmp_path: Path) -> None:
    row = LinkRow(url="https://a.jp/公園", status="dead", checked_at="2026-10-01T00:00:00Z")
    (tmp_path / "links.jsonl").write_bytes(b'{"url":"https://a.jp/')
    add_link(tmp_path, row)
    add_link(tmp_path, row.model_copy(update={"url": "https://b.jp/"}))
    assert list(read_links(tmp_path)) == ["https://a.jp/公園", "https://b.jp/"]


def test_a_start_for_fewer_questions_forgets_nothing_that_the_ledger_knows(
    web: WebServer, output: Output, tmp_path: Path
) -> None:
    path = data(web, tmp_path)
    assert fetch(path) == 0
    long_ago = "2026-10-01T00:00:00+00:00"
    rows = [row | {"checked_at": long_ago} for row in ledger(Path("docs"))]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (tmp_path / "docs" / "links.jsonl").write_text(lines, encoding="utf-8")
    output()
    assert fetch(path, "--limit", "1", "--json") == 0
    summary = json.loads(output().out)
    assert (summary["links"], summary["asked"], summary["corpus"]["documents"]) == (3, 0, 3)
    assert [row["url"] for row in ledger(Path("docs"))] == [row["url"] for row in rows]
    assert fetch(path) == 0
    checked = {row["url"]: row["checked_at"] for row in ledger(Path("docs"))}
    # When the server was asked; only the one that was busy was asked again.
    assert {url for url, at_ in checked.items() if at_ != long_ago} == {at(web, "/busy")}


def test_a_question_whose_documents_were_never_asked_for_is_no_dead_link(
    web: WebServer, output: Output, tmp_path: Path
) -> None:
    path = data(web, tmp_path)
    assert fetch(path, "--limit", "2") == 0
    output()
    options = ["--data", str(path), "--corpus", "docs", "--limit", "2", "--out", "lauf", "--quiet"]
    assert run(["run", "tmg-cqa-rag", *options, "--json"]) == 0
    summary = json.loads(output().out)
    assert (summary["samples"], summary["left_out"]) == (2, {"missing_page": 1, "not_in_corpus": 2})


def test_a_page_that_we_would_not_take_or_that_was_busy_is_no_dead_link(output: Output, tmp_path: Path) -> None:
    big = Page(b"x" * 3_000, headers=HTML)
    pages = {"/da.html": Page(NOTICE, headers=HTML), "/busy": Page(status=429), "/big": big, "/gone": Page(status=404)}
    with serving_pages(pages) as web:
        rules = f"[fetch]\nallow_loopback = true\nports = [{web.port}]\nrobots = false\nmax_body_bytes = 2000\n"
        Path("web.toml").write_text(rules + "host_interval_s = 0\n", encoding="utf-8")
        rows = [question(f"問{n}", at(web, "/da.html"), at(web, target)) for n, target in enumerate(pages)]
        Path("x.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        assert run(["corpus", "fetch", "--data", "x.jsonl", "--out", "docs", "--settings", "web.toml"]) == 0
    output()
    assert run(["run", "tmg-cqa-rag", "--data", "x.jsonl", "--corpus", "docs", "--json", "--quiet"]) == 0
    assert json.loads(output().out)["left_out"] == {"dead_link": 1, "not_fetched": 2}


def test_two_fetches_into_one_folder_are_refused_in_one_line(web: WebServer, output: Output, tmp_path: Path) -> None:
    path = data(web, tmp_path)
    with RunFolder(Path("docs")):
        assert fetch(path) == 2
    said = output().err
    assert said == "pincite: docs is in use by another pincite run; wait for it or use another --out\n"
    assert web.seen == []


def test_ctrl_c_loses_nothing_and_the_same_command_goes_on(output: Output, tmp_path: Path) -> None:
    targets = [f"/{number}.html" for number in range(12)]
    pages = {target: Page(NOTICE, headers=HTML) for target in targets}
    # The signal comes while the fourth page is waited for, however fast the machine is.
    pages[targets[3]] = Page(NOTICE, headers=HTML, silent_s=600)
    with serving_pages(pages) as web:
        settings = f"[fetch]\nallow_loopback = true\nports = [{web.port}]\nrobots = false\nhost_interval_s = 0\n"
        (tmp_path / "web.toml").write_text(settings, encoding="utf-8")
        path = tmp_path / "x.jsonl"
        path.write_text(json.dumps(question("問", *(at(web, target) for target in targets))), encoding="utf-8")
        options = ["--data", str(path), "--out", "docs", "--settings", "web.toml", "--concurrency", "1"]
        command = [sys.executable, "-c", MAIN, "corpus", "fetch", *options]
        child = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=-1, stderr=-1, text=True)
        deadline = time.monotonic() + 60
        while len(web.seen) < 4 and time.monotonic() < deadline:
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
        assert (child.returncode, out) == (130, "")
        assert "stopped; what came is kept in docs. The same command goes on." in err
        assert len(ledger(Path("docs"))) == 3
        pages[targets[3]] = Page(NOTICE, headers=HTML)
        assert run(["corpus", "fetch", *options, "--json"]) == 0
        summary = json.loads(output().out)
        assert (summary["alive"], summary["asked"]) == (12, 9)
        # Only the one that was under way when the signal came was asked for twice.
        assert web.targets() == [*targets[:4], *targets[3:]]


def test_check_links_says_what_is_alive_and_keeps_nothing(web: WebServer, output: Output, tmp_path: Path) -> None:
    path = data(web, tmp_path)
    before = sorted(tmp_path.iterdir())
    command = ["corpus", "check-links", "--data", str(path), "--settings", "web.toml"]
    assert run([*command, "--json"]) == 0
    rows = [json.loads(line) for line in output().out.splitlines()]
    assert [row["status"] for row in rows] == ["alive"] * 4 + ["dead", "dead", "alive"]
    assert {request.method for request in web.seen} == {"GET"}
    assert sorted(tmp_path.iterdir()) == before
    assert run([*command, "--limit", "3"]) == 0
    assert output().out.splitlines() == [
        "links: 5 (alive 4, dead 1)",
        f"  dead  {at(web, '/gone.html')}  not_found: 127.0.0.1 says that there is no such page (HTTP 404)",
        "questions that lack a document: 1 of 3",
        f"  問３  {at(web, '/gone.html')}",
    ]


def test_where_every_link_is_dead_there_is_no_corpus_and_no_error(
    web: WebServer, output: Output, tmp_path: Path
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(question("問", at(web, "/gone.html"), "law-001")), encoding="utf-8")
    assert fetch(path) == 0
    said = output().out
    assert "links: 2 (dead 2)" in said
    assert said.endswith("docs: no document could be read, so there is no corpus\n")
    assert not (tmp_path / "docs" / "corpus.sqlite").exists()


def test_loopback_is_out_of_reach_without_leave(web: WebServer, output: Output, tmp_path: Path) -> None:
    path = data(web, tmp_path)
    assert run(["corpus", "fetch", "--data", str(path), "--out", "docs", "--json"]) == 0
    summary = json.loads(output().out)
    assert (summary["alive"], summary["dead"], web.seen) == (0, 7, [])


def test_a_data_set_without_documents_is_refused_in_one_line(output: Output, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"id": "1", "question": "問い", "reference": "答え"}\n', encoding="utf-8")
    for command in (["fetch", "--out", "docs"], ["check-links"]):
        assert run(["corpus", *command, "--data", str(path)]) == 2
        said = output()
        assert said.out == ""
        lines = [line for line in said.err.splitlines() if line.strip()]
        assert lines == [
            f"pincite: {path}: no question names a document; say in a field map (--fields) which column does: "
            '`sources = "COLUMN"`'
        ]


def test_a_run_on_what_was_fetched_leaves_out_and_counts_what_lacks_a_document(
    web: WebServer, output: Output, tmp_path: Path
) -> None:
    path = data(web, tmp_path)
    assert fetch(path) == 0
    output()
    web.seen.clear()
    options = ["--data", str(path), "--corpus", "docs", "--out", "lauf", "--quiet"]
    assert run(["run", "tmg-cqa-rag", *options, "--json"]) == 0
    said = output()
    summary = json.loads(said.out)
    assert (summary["samples"], summary["outcomes"]["answered"]) == (2, 2)
    assert summary["left_out"] == {"dead_link": 2, "missing_page": 1}
    assert "3 of 5 questions are left out for want of a document; left-out.txt in the run folder says why" in said.err
    assert web.seen == []
    capsule = json.loads((tmp_path / "lauf" / "provenance.json").read_text(encoding="utf-8"))["compared"]
    assert capsule["data"]["left_out"] == {"dead_link": 2, "missing_page": 1}
    assert capsule["data"]["corpus"].startswith("sha256:")
    assert capsule["search"] == {"engine": "none"}
    lines = (tmp_path / "lauf" / "left-out.txt").read_text(encoding="utf-8").splitlines()
    assert [line.partition(": document")[0] for line in lines] == [
        "問３: dead_link",
        "問４: dead_link",
        "問５: missing_page",
    ]
    assert at(web, "/gone.html") in lines[0]
    assert "not_found: 127.0.0.1 says that there is no such page (HTTP 404)" in lines[0]
    assert lines[2].endswith("physical page 9 of 4")
    records = [json.loads(line) for line in (tmp_path / "lauf" / "records.jsonl").read_text("utf-8").splitlines()]
    (first,) = (record for record in records if record["sample_id"] == "問１")
    assert [page["number"] for page in first["pages"]] == [1, 2, 5]
    pages_3_4 = first["pages"][1]["evidence"][0]["text"]
    assert pages_3_4.startswith("3　待機児童数の推移")
    assert "\n【物理ページ 4】\n4　子ども・子育て関係予算" in pages_3_4
    assert run(["replay", "lauf", "--json"]) == 0
    assert json.loads(output().out)["digest"] == summary["digest"]
