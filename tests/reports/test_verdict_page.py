"""The report page of runs that one verdict a session decides, in a real browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sandbox.folder.stored_run import open_run
from sandbox.record import Record
from sandbox.reports.figures import percent
from sandbox.reports.page_filter import Context, flips, matches, words
from sandbox.reports.page_format import Decided, Row
from tests.reports import scenes
from tests.reports.chromium import Chromium, Page
from tests.reports.conftest import page_of
from tests.reports.test_html import index_of, sessions_of
from tests.reports.test_page_in_chromium import AXE, COUNT, INDEX, NAMED, VIOLATIONS, clean
from tests.reports.verdict_scenes import decided_record, decided_records, decided_run


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return decided_run(tmp_path_factory.mktemp("decided") / "run")


@pytest.fixture(scope="module")
def decided_page(decided: Path) -> Path:
    return page_of(decided, out=decided.parent / "decided.html")


@pytest.fixture(scope="module")
def two(decided: Path) -> Path:
    """Another model, which got mc-02 right."""
    return decided_run(decided.parent / "two", [_mended(record) for record in decided_records()], "other")


def _mended(record: Record) -> Record:
    return decided_record(2, "yes", record.repeat) if record.sample_id == "mc-02" else record


def test_the_session_holds_dialogue_criterion_and_repeats_and_nothing_of_citations(decided_page: Path) -> None:
    session = next(s for s in sessions_of(decided_page).values() if s["id"] == "mc-03" and not s.get("repeat"))
    texts = session["texts"]
    assert [(turn["role"], texts[turn["text"][0]]) for turn in session["history"]] == [
        ("system", "短く。"),
        ("user", "前の話です。"),
    ]
    assert [texts[round_["user"][0]] for round_ in session["rounds"]] == ["3番の前置きです。", "3番の問いです。"]
    criterion = session["criterion"]
    assert [criterion["passing"], criterion["verdict"]["label"]] == [["yes"], "no"]
    assert criterion["verdict"]["repeats"] == [{"label": "yes", "reason": "やはり合う。"}, {"failure": "parse"}]
    assert {"sentences", "findings", "recovered", "units", "score", "pages"} & set(session) == set()


def test_the_index_counts_the_whole_run_also_where_the_page_holds_a_part(decided: Path, tmp_path: Path) -> None:
    page = page_of(decided, out=tmp_path / "page.html", options=("--only", "is:passed flip"))
    (run,) = index_of(page)["runs"]
    assert [(row[0], row[1]) for row in run["rows"]] == [("mc-04", 1)]
    assert run["decisions"] == {
        "passed": 5,
        "failed": 9,
        "undecided": 2,
        "left_out": {},
        "labels": {"no": 5, "yes": 5},
    }


def test_a_cited_run_carries_next_to_nothing_of_this(broken_page: Path) -> None:
    (run,) = index_of(broken_page)["runs"]
    assert [run["decisions"], {row[-2] for row in run["rows"]}] == [None, {None}]
    assert all(
        {"criterion", "history", "labels"} & set(session) == set() for session in sessions_of(broken_page).values()
    )


def test_figures_are_those_of_the_summary_and_nothing_speaks_of_citations(
    browser: Chromium, decided: Path, decided_page: Path
) -> None:
    page = browser.open(decided_page)
    summary = open_run(decided).summary()
    rows = page.run(
        "[...document.querySelectorAll('.sc tbody tr')].map(r => [r.querySelector('.name').textContent,"
        " r.querySelector('.value').textContent, r.querySelectorAll('td')[3].textContent])"
    )
    metrics = summary.metrics
    assert rows == [[m.title, percent(metrics[m.name].value), str(metrics[m.name].n)] for m in summary.measures]
    flow = page.run("document.querySelector('.flow svg').getAttribute('aria-label')")
    assert flow == (
        "16 asked: 10 answered, 2 judge error, 2 generation failed, 2 context overflow. "
        "Of the answers, 5 pass, 5 do not pass, 2 undecided."
    )
    parts = page.run(
        "[...document.querySelectorAll('.by tr[data-part]')].map(r => [r.dataset.part, r.querySelector('td').textContent])"
    )
    assert parts == [["記憶", "8"], ["指示の保持", "8"], ["yes", "4"], ["no", "12"]]
    text = page.run("document.body.innerText").lower()
    assert re.findall(r"\bf1\b|citation|recall|precision|consisten|unparsable", text) == []
    assert page.run("document.querySelector('.bar, .cd')") is None
    clean(page)
    page.close()


def test_each_strip_filters_to_as_many_sessions_as_it_says(browser: Chromium, decided_page: Path) -> None:
    page = browser.open(decided_page)
    strips = page.run(
        "[...document.querySelectorAll('.flow a.strip')].map(a => [a.getAttribute('href'), a.textContent])"
    )
    for href, told in strips:
        page.run(f"location.hash = {json.dumps(href)}")
        page.settle()
        assert [href, page.run(COUNT).split(" ")[0]] == [href, told.split(" ")[0]]
    assert len(strips) == 7
    page.close()


QUERIES = (
    "",
    "verdict:no",
    "verdict:none",
    "-verdict:yes",
    "type:記憶",
    "label:needs_knowledge=yes",
    "label:yes is:passed",
    "is:passed",
    "is:failed",
    "is:undecided",
    "is:judge_flip",
    "flip",
    "cause:output_limit",
    "outcome:overflow",
    "loss>50 tokens>300",
    "f1>=0",
    "code:P",
)


def rows_of(index: dict[str, Any]) -> list[Row]:
    made = [Row(*values) for values in index["runs"][0]["rows"]]
    return [row._replace(decided=Decided(*(row.decided or ()))) for row in made]


def test_each_filter_lets_through_what_the_same_filter_does_in_python(browser: Chromium, decided_page: Path) -> None:
    page = browser.open(decided_page)
    rows = rows_of(page.run(INDEX))
    context = Context((), flips(rows))
    counts = {}
    for query in QUERIES:
        page.run(f"location.hash = '#q=' + encodeURIComponent({json.dumps(query)})")
        page.settle()
        counts[query] = page.run(COUNT)
    assert counts == {query: f"{sum(matches(row, words(query), context) for row in rows)} of 16" for query in QUERIES}
    page.close()


def ids(page: Page) -> list[str]:
    return page.run("[...document.querySelectorAll('.qt tbody tr td.id')].map(c => c.textContent.slice(0, 5))")


def test_every_column_sorts_and_a_part_filters(browser: Chromium, decided_page: Path) -> None:
    page = browser.open(decided_page)
    heads = page.run("[...document.querySelectorAll('.qt th')].map(h => h.textContent.trim())")
    assert heads == ["id", "question", "verdict ▾", "axis", "needs knowledge", "passed", "outcome", "tokens"]
    first = {}
    for place in range(1, len(heads) + 1):
        page.click(f".qt th:nth-child({place}) button")
        first[heads[place - 1]] = [page.run("location.hash"), ids(page)[0]]
    assert first == {
        "id": ["#sort=id", "mc-01"],
        "question": ["#sort=question", "mc-01"],
        "verdict ▾": ["", "mc-02"],
        "axis": ["#sort=type", "mc-01"],
        "needs knowledge": ["#sort=labels", "mc-01"],
        "passed": ["#sort=passed", "mc-02"],
        "outcome": ["#sort=outcome", "mc-01"],
        "tokens": ["#sort=-tokens", "mc-08"],
    }
    page.click(".by tr[data-part='yes'] button")
    assert [page.run("decodeURIComponent(location.hash)"), page.run(COUNT)] == [
        "#q=label:needs_knowledge=yes&sort=-tokens",
        "4 of 16",
    ]
    page.close()


def test_a_session_shows_its_dialogue_and_its_verdict(browser: Chromium, decided_page: Path) -> None:
    page = browser.open(decided_page, "#question=mc-03")
    page.wait_for("document.querySelector('.turn.answer')")
    turns = page.run(
        "[...document.querySelectorAll('.turn')].map(t => [t.getAttribute('aria-label'), t.querySelector('.ev').innerText])"
    )
    assert turns == [
        ["system", "短く。"],
        ["user", "前の話です。"],
        ["user", "3番の前置きです。"],
        ["assistant", "はい。"],
        ["user", "3番の問いです。"],
        ["answer", "3番の答えです。"],
    ]
    verdict = page.run("document.querySelector('.one-verdict').innerText")
    for told in (
        "does not pass",
        "違う。",
        "passes with: yes",
        "asked 3 times",
        "やはり合う。",
        "passed in 0 of 2 sessions",
    ):
        assert told in verdict
    page.key("v")
    assert page.run("document.querySelector('.raw-verdict pre').innerText") == "(the raw verdict is empty)"
    for key in ("r", "e", "]", "1"):
        page.key(key)
    assert page.run("document.querySelector('.turn.answer') !== null")
    page.click(".attempts .button:nth-child(2)")
    page.wait_for("document.querySelector('.q-id').textContent === 'mc-03 r1'")
    page.click(".rounds .call.thought")
    page.wait_for("document.querySelector('.verdict-col .page-title')")
    assert page.run("document.querySelector('.one-verdict') !== null")
    page.run("location.hash = '#question=mc-07'")
    page.wait_for("document.querySelector('.unread')")
    assert "No answer: generation failed." in page.run("document.querySelector('.dialogue').innerText")
    assert page.run("document.querySelector('.turn.answer')") is None
    clean(page)
    page.close()


def test_hostile_texts_are_shown_and_never_run(browser: Chromium, decided_page: Path) -> None:
    page = browser.open(decided_page, "#question=mc-01")
    page.wait_for("document.querySelector('.turn.answer')")
    assert page.run("document.querySelectorAll('#app img, #app script, #app iframe').length") == 0
    assert page.run("document.querySelector('.criterion').innerText").count(scenes.IMG) == 1
    assert page.run("document.querySelector('.qq').innerText").count("⟨U+202E⟩逆さ⟨U+202C⟩⟨U+0000⟩終わり") == 1
    assert page.run("window.pwned") is None
    clean(page)
    page.close()


def test_two_such_runs_are_compared(browser: Chromium, decided: Path, two: Path, tmp_path: Path) -> None:
    page = browser.open(page_of(decided, two, out=tmp_path / "two.html"))
    page.wait_for("document.querySelector('.delta b')")
    deltas = page.run(
        "[...document.querySelectorAll('.sc tr[data-run=B]')].filter(r => r.querySelector('.delta b'))"
        ".map(r => [r.dataset.metric, r.querySelector('.delta b').textContent])"
    )
    assert ["pass_rate", "+12.5"] in deltas
    for query, count in (("only:B", "2 of 16"), ("only:A", "0 of 16"), ("moved", "2 of 16"), ("differs", "0 of 16")):
        page.run(f"location.hash = '#q={query}'")
        page.settle()
        assert [query, page.run(COUNT)] == [query, count]
    page.run("location.hash = '#question=mc-02&tab=compare'")
    page.wait_for("document.querySelectorAll('.side .ev').length === 2")
    assert page.run("[...document.querySelectorAll('.side .sign')].map(s => s.textContent.slice(1))") == ["no", "yes"]
    page.key("c")
    assert page.run("location.hash") == "#question=mc-02"
    clean(page)
    page.close()


def test_a_cited_run_beside_it_keeps_its_own_measures_and_its_own_view(
    browser: Chromium, decided: Path, sample: Path, tmp_path: Path
) -> None:
    page = browser.open(page_of(sample, decided, out=tmp_path / "both.html"))
    page.wait_for("document.querySelector('.refusal')")
    names = (
        "[...document.querySelectorAll('.sc tbody tr')]"
        ".map(r => r.dataset.run + ' ' + r.querySelector('.name')?.textContent)"
    )
    titles = [f"B {measure.title}" for measure in open_run(decided).summary().measures]
    assert page.run(names)[-len(titles) :] == titles
    assert page.run("document.querySelector('.bar') !== null")
    assert page.run("document.querySelector('.qt td.answer').textContent").endswith("consistent")
    page.run("location.hash = '#run=B'")
    page.wait_for("document.querySelector('.by')")
    assert page.run("document.querySelector('.bar')") is None
    page.key("?")
    words_ = page.run("document.querySelector('dialog').innerText")
    assert all(word in words_ for word in ("code:P05", "verdict:no", "label:technique=Repeat"))
    page.key("Escape")
    page.run("location.hash = '#run=B&question=mc-01&tab=compare'")
    page.wait_for("document.querySelector('.turn.answer')")
    clean(page)
    page.close()


PLACES = ("", "#question=mc-01", "#question=mc-03&round=2", "#question=mc-07")


@pytest.mark.parametrize("width", [320, 420, 1000, 1440])
def test_nothing_scrolls_sideways(
    browser: Chromium, decided: Path, two: Path, decided_page: Path, tmp_path: Path, width: int
) -> None:
    both = page_of(decided, two, out=tmp_path / "two.html")
    places = [(decided_page, hash_) for hash_ in PLACES]
    for file, hash_ in [*places, (both, ""), (both, "#question=mc-02&tab=compare")]:
        page = browser.open(file, hash_, width=width)
        page.settle()
        wide = page.run("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert [hash_, wide] == [hash_, 0]
        page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_and_everything_has_a_name(browser: Chromium, decided_page: Path, scheme: str) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is not installed: npm ci in sandbox/reports/web")
    for hash_ in PLACES:
        page = browser.open(decided_page, hash_)
        page.colours(scheme)
        page.settle()
        page.browser.wait(0.3)
        page.run(AXE.read_text(encoding="utf-8") + ";0")
        assert [hash_, page.run(VIOLATIONS)] == [hash_, []]
        tree = page.call("Accessibility.getFullAXTree")["nodes"]
        asked = [n for n in tree if not n.get("ignored") and n["role"]["value"] in NAMED]
        assert [n["role"]["value"] for n in asked if not n.get("name", {}).get("value")] == []
        page.close()


def test_the_first_screen_fits_a_laptop(browser: Chromium, decided_page: Path) -> None:
    page = browser.open(decided_page)
    page.settle()
    assert page.run("document.querySelector('.g2').getBoundingClientRect().bottom") <= 900
    page.close()
