"""The report page as a file: its order, its policy, what goes into it, what the command says."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
import zlib
from pathlib import Path
from typing import Any

import pytest

from sandbox.cli import main
from sandbox.folder.store import RECORDS
from tests.reports import scenes
from tests.reports.conftest import page_of

WEB = Path(__file__).resolve().parents[2] / "sandbox" / "reports" / "web"
SCRIPT = re.compile(r"<script(?P<attributes>[^>]*)>(?P<text>.*?)</script>", re.DOTALL)


def index_of(page: Path) -> dict[str, Any]:
    text = page.read_text(encoding="utf-8")
    return json.loads(next(m["text"] for m in SCRIPT.finditer(text) if 'id="pc-index"' in m["attributes"]))


def unpacked(packed: str) -> dict[str, Any]:
    return json.loads(zlib.decompress(base64.b64decode(packed)))


def sessions_of(page: Path) -> dict[str, dict[str, Any]]:
    found = SCRIPT.finditer(page.read_text(encoding="utf-8"))
    packed = {m["attributes"].split('id="pc-')[1][:-1]: m["text"] for m in found if "x-pincite" in m["attributes"]}
    return {name: unpacked(text) for name, text in packed.items() if text}


def test_the_file_is_policy_style_summary_index_program_sessions_end(broken_page: Path) -> None:
    text = broken_page.read_text(encoding="utf-8")
    marks = (
        "Content-Security-Policy",
        "<style>",
        'id="static"',
        'id="pc-index"',
        "<script>",
        'id="pc-A-',
        'id="pc-end"',
    )
    places = [text.index(mark) for mark in marks]
    assert places == sorted(places)
    assert text.endswith('<script type="application/x-pincite" id="pc-end"></script>\n')
    sizes = [len(m["text"]) for m in SCRIPT.finditer(text) if 'id="pc-A-' in m["attributes"]]
    assert sizes == sorted(sizes)


def test_the_policy_allows_one_script_and_one_style_by_hash(broken_page: Path) -> None:
    text = broken_page.read_text(encoding="utf-8")
    policy = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)
    programs = [m["text"] for m in SCRIPT.finditer(text) if not m["attributes"]]
    style = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)

    def sha256(value: str) -> str:
        return base64.b64encode(hashlib.sha256(value.encode()).digest()).decode()

    assert [len(programs), len(style)] == [1, 1]
    assert policy == [
        f"default-src 'none'; script-src 'sha256-{sha256(programs[0])}'; style-src 'sha256-{sha256(style[0])}'; "
        "img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    ]


def test_no_hostile_text_stands_unescaped_in_the_file(broken_page: Path) -> None:
    text = broken_page.read_text(encoding="utf-8")
    for hostile in (scenes.IMG, scenes.SVG, "<script>window.pwned", "\u202e", "\x00"):
        assert hostile not in text


def test_a_session_holds_each_text_once_and_points_at_its_evidence(broken_page: Path) -> None:
    sessions = sessions_of(broken_page)
    assert len(sessions) == 41
    for session in sessions.values():
        assert len(set(session["texts"])) == len(session["texts"])
    clean = next(s for s in sessions.values() if s["id"] == "q-clean")
    first = clean["pages"][0]
    assert first["url"] == "https://www.nagimi.example/josei.txt"
    fetched = next(piece for piece in first["pieces"] if piece["kind"] == "fetch")
    text, start, end = fetched["text"]
    assert clean["texts"][text][start:end] == scenes.PAGES["josei.txt"][1]
    assert clean["texts"][text].startswith("[1] 子育て助成のご案内\n")
    assert [fetched["start_char"], fetched["end_char"], first["total_chars"]] == [0, end - start, end - start]


def test_offsets_of_the_page_are_utf16_and_shown_ones_are_characters(broken_page: Path) -> None:
    raw = scenes.ANSWERS["wide"]
    session = next(s for s in sessions_of(broken_page).values() if s["id"] == "q-wide")
    units = raw.encode("utf-16-le")
    for finding in session["findings"]:
        seen = units[2 * finding["start"] : 2 * finding["end"]].decode("utf-16-le")
        assert seen == raw[finding["start_char"] : finding["end_char"]]
    assert [f["start"] - f["start_char"] for f in session["findings"]] == [0, 2, 4]


def test_index_rows_stand_in_natural_order(tmp_path: Path) -> None:
    records = [scenes.large_record(n, rounds=2, page_chars=60) for n in (1, 2)]
    named = [r.model_copy(update={"sample_id": name}) for r, name in zip(records, ("t-10", "t-9"), strict=True)]
    page = page_of(scenes.written_run(tmp_path / "run", named), out=tmp_path / "page.html")
    assert [[row[0], row[-1]] for row in index_of(page)["runs"][0]["rows"]] == [["t-9", "A-0001"], ["t-10", "A-0002"]]


def test_the_same_run_gives_the_same_file(broken: Path, broken_page: Path, tmp_path: Path) -> None:
    assert page_of(broken, out=tmp_path / "again.html").read_bytes() == broken_page.read_bytes()


def test_only_keeps_what_fits_and_says_so(broken: Path, tmp_path: Path) -> None:
    page = page_of(broken, out=tmp_path / "page.html", options=("--only", "code:P05"))
    index = index_of(page)
    assert index["only"] == "code:P05"
    ids = [row[0] for row in index["runs"][0]["rows"]]
    assert ids == sorted(s["id"] for s in sessions_of(page).values())
    assert "q-P05" in ids
    assert index["runs"][0]["summary"]["sessions"] == 41


def test_pages_cited_cuts_pages_that_no_answer_cites(tmp_path: Path) -> None:
    record = scenes.large_record(1, rounds=12, page_chars=3_000)
    run = scenes.written_run(tmp_path / "run", [record])
    (session,) = sessions_of(page_of(run, out=tmp_path / "page.html", options=("--pages", "cited"))).values()
    left_out = {page["number"]: page["pieces"][0].get("left_out_chars", 0) for page in session["pages"]}
    assert left_out == {n: 0 if n <= 8 else 2_400 for n in range(1, 12)}
    whole = sessions_of(page_of(run, out=tmp_path / "all.html"))["A-0001"]
    assert all("left_out_chars" not in page["pieces"][0] for page in whole["pages"])


def test_a_folder_has_one_script_a_session_and_no_old_ones(broken: Path, tmp_path: Path) -> None:
    (tmp_path / "page.data").mkdir()
    (tmp_path / "page.data" / "pc-A-9999.js").write_text("old", encoding="utf-8")
    page = page_of(broken, out=tmp_path / "page.html", options=("--html-folder",))
    scripts = sorted((tmp_path / "page.data").iterdir())
    assert [script.name for script in scripts] == [f"pc-A-{n:04d}.js" for n in range(1, 42)]
    said = re.fullmatch(r'pincite\("A-0001","([A-Za-z0-9+/=]+)"\)\n', scripts[0].read_text(encoding="ascii"))
    assert said is not None
    assert unpacked(said[1])["version"] == 1
    assert index_of(page)["folder"] == "page.data"
    assert "script-src 'sha256-" in page.read_text(encoding="utf-8")
    assert "trusted-types pincite-folder" in page.read_text(encoding="utf-8")


def test_json_goes_to_stdout_and_the_page_line_beside_it(
    broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["report", str(broken), "--html", str(tmp_path / "page.html"), "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["sessions"] == 41
    assert re.fullmatch(r".*page\.html: 41 sessions, 0\.\d MB\n", said.err)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--only", "code:P05"], "they need --html FILE"),
        (["--html-folder"], "they need --html FILE"),
        (["--html", "page.html", "--only", "text:東京"], "--only: text: works in the page's search field only"),
    ],
)
def test_a_wrong_request_is_one_line_and_exit_code_2(
    arguments: list[str], words: str, broken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["report", str(broken), *arguments]) == 2
    assert words in capsys.readouterr().err


def test_a_failed_page_leaves_the_old_one(broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "damaged"
    shutil.copytree(broken, run)
    with (run / RECORDS).open("a", encoding="utf-8") as file:
        file.write("{}\n")
    target = tmp_path / "page.html"
    target.write_text("the old page", encoding="utf-8")
    assert main.run(["report", str(run), "--html", str(target)]) == 2
    assert target.read_text(encoding="utf-8") == "the old page"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["damaged", "page.html"]
    assert "cannot be read" in capsys.readouterr().err


def test_the_lock_file_names_no_place_to_download_from() -> None:
    assert '"resolved"' not in (WEB / "package-lock.json").read_text(encoding="utf-8")


def test_the_source_never_makes_html_or_style_of_a_text() -> None:
    source = {path.name: path.read_text(encoding="utf-8") for path in (WEB / "src").glob("*.ts*")}
    for forbidden in (
        "dangerouslySetInnerHTML",
        "innerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "fetch(",
    ):
        assert [name for name, text in source.items() if forbidden in text] == [], forbidden


def test_the_built_program_is_what_the_source_makes(tmp_path: Path) -> None:
    if not (WEB / "node_modules").exists() or shutil.which("node") is None:
        pytest.skip("node or the page's packages are not installed: npm ci in sandbox/reports/web")
    subprocess.run(["node", "build.mjs", str(tmp_path)], cwd=WEB, check=True, timeout=120)
    for name in ("app.js", "app.css"):
        assert (tmp_path / name).read_bytes() == (WEB / name).read_bytes()


def test_questions_that_could_not_be_asked_stand_beside_the_outcomes(unasked_page: Path) -> None:
    static = unasked_page.read_text(encoding="utf-8").partition("<p>1 sessions: ")[2]
    assert static.partition(". ")[0].endswith("0 judge error, not asked: 1 not in corpus")
