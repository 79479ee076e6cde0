"""tmg_cqa, RAG version: which questions are asked, with what evidence, and what counts."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pypdf
import pytest

from sandbox.benchmarks.benchmark import Loaded
from sandbox.benchmarks.sample import FOLDER
from sandbox.benchmarks.table import benchmark_named, measures_of
from sandbox.benchmarks.tmg_cqa_rag import BENCHMARK, load
from sandbox.cli.main import run
from sandbox.folder.store import read_records
from sandbox.record import Flag, Outcome, Record, ScoreRow, VerdictRow
from sandbox.settings import resolve
from sandbox.summary import RunFacts, summarise
from tests.sandbox.conftest import Output
from tools.corpus import build
from tools.extract import extract
from tools.tool import SetupError

DOCS = FOLDER / "docs"
TOKEI = "https://www.city.nagihara.example/tokei.pdf"
PARK = "https://www.city.nagihara.example/koen.html"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A PDF of four physical pages and an empty fifth, and a page of HTML."""
    source = tmp_path_factory.mktemp("source")
    writer = pypdf.PdfWriter(clone_from=io.BytesIO((DOCS / "kodomo-tokei.pdf").read_bytes()))
    writer.add_blank_page(595, 842)
    writer.write(source / "tokei.pdf")
    notice = (
        "<!doctype html><title>公園</title><h1>公園</h1><p>凪原中央公園は午前９時から午後５時まで開いています。</p>"
    )
    (source / "koen.html").write_text(notice, encoding="utf-8")
    rows = [
        {"doc_id": "tokei", "url": TOKEI, "path": "tokei.pdf"},
        {"doc_id": "koen", "url": PARK, "path": "koen.html", "media_type": "text/html; charset=utf-8"},
    ]
    (source / "manifest.jsonl").write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    made = tmp_path_factory.mktemp("corpus")
    build(source, made, extract=extract)
    return made


def loaded(corpus: Path, folder: Path, *rows: Mapping[str, object], **settings: object) -> Loaded:
    data = folder / "質問.jsonl"
    data.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    flags = {"data": str(data), "search.corpus": str(corpus), **settings}
    return load(resolve("tmg-cqa-rag", BENCHMARK.defaults, None, flags), None)


def row(name: str, *documents: object, **more: object) -> dict[str, object]:
    asked = {"id": name, "question": "公園は何時に開きますか。", "reference": "午前9時です。", "task_type": "統合"}
    return asked | {"documents": list(documents)} | more


def evidence(made: Loaded, index: int = 0) -> dict[int, str]:
    script = made.samples[index].script
    return {page.number: script.turns[0][page.start : page.end] for page in script.given}


def test_a_question_is_one_turn_without_tools_and_numbers_are_those_of_the_row(corpus: Path, tmp_path: Path) -> None:
    instruction = "各文の末尾に <cite>番号</cite> を付けること。{x}\n"
    documents = ({"no": 4, "url": PARK}, {"no": 2, "url": TOKEI, "pages": [1]})
    made = loaded(corpus, tmp_path, row("問", *documents, instruction=instruction))
    (sample,) = made.samples
    (turn,) = sample.script.turns
    assert (sample.script.tools, sample.script.history, sample.script.responses) == (False, (), None)
    assert [page.number for page in sample.script.given] == [4, 2]
    assert turn.endswith(f"〔資料 2 おわり〕\n\n{instruction}\n\n質問:\n公園は何時に開きますか。")
    assert (sample.question, sample.gold.reference, sample.gold.sources) == (
        "公園は何時に開きますか。",
        "午前9時です。",
        (),
    )
    assert sample.task_type == "統合"
    assert [page.url for page in sample.script.given] == [PARK, f"{TOKEI}#page=1"]


def test_evidence_of_a_number_is_its_listed_physical_pages_or_else_all(corpus: Path, tmp_path: Path) -> None:
    made = loaded(
        corpus,
        tmp_path,
        row("問", f"{TOKEI}#page=3", "tokei", f"{PARK}#riyo"),
        row("二", {"no": 1, "url": "tokei", "pages": "4, 1"}, {"no": 2, "url": PARK, "page": 1}),
    )
    first, second = evidence(made), evidence(made, 1)
    assert first[1].startswith("3　待機児童数の推移（区別）")
    assert "【物理ページ" not in first[1]
    assert [first[2].count(f"\n【物理ページ {page}】\n") for page in range(1, 6)] == [0, 1, 1, 1, 1]
    assert "午前９時から午後５時まで開いています。" in first[3]
    assert second[1].startswith("令和7年版")
    assert second[1].count("【物理ページ") == second[1].count("【物理ページ 4】\n4　子ども・子育て関係予算") == 1
    assert second[2] == first[3]


def test_one_file_may_stand_under_two_numbers_with_pages_of_its_own(corpus: Path, tmp_path: Path) -> None:
    made = loaded(corpus, tmp_path, row("問", f"{TOKEI}#page=2", f"{TOKEI}#page=3"))
    assert [text[:8] for text in evidence(made).values()] == ["2　保育所等の利", "3　待機児童数の"]
    # A record, and what is shown of it, tells the two apart.
    assert [page.url for page in made.samples[0].script.given] == [f"{TOKEI}#page=2", f"{TOKEI}#page=3"]


def test_a_question_that_lacks_a_document_or_a_page_is_left_out_and_counted(corpus: Path, tmp_path: Path) -> None:
    gone = "https://www.city.nagihara.example/gone.html"
    made = loaded(
        corpus,
        tmp_path,
        row("一", PARK),
        row("二", PARK, gone),
        row("三", f"{TOKEI}#page=6"),
        row("四", {"url": PARK, "pages": [2]}),
        row("五", f"{TOKEI}#page=5"),
        row("六", {"url": TOKEI, "pages": [4, 5]}),
    )
    assert [sample.id for sample in made.samples] == ["一", "六"]
    assert (made.n_rows, made.left_out) == (6, {"missing_page": 2, "no_text": 1, "not_in_corpus": 1})
    assert made.left_out_lines == (
        f"二: not_in_corpus: document 2, {gone}: not in the corpus, and not asked for by `pincite corpus fetch`",
        f"三: missing_page: document 1, {TOKEI}: physical page 6 of 5",
        f"四: missing_page: document 1, {PARK}: physical pages 2 of a document that has none",
        f"五: no_text: document 1, {TOKEI}: no text on physical pages 5",
    )


def test_a_line_that_says_why_a_question_is_left_out_is_one_line_without_escapes(corpus: Path, tmp_path: Path) -> None:
    made = loaded(corpus, tmp_path, row("一", PARK), row("二\x1b[2J", "https://a.example/\n\x1b[31m赤"))
    assert [line.partition(": not in")[0] for line in made.left_out_lines] == [
        "二⟨U+001B⟩[2J: not_in_corpus: document 1, https://a.example/ ⟨U+001B⟩[31m赤"
    ]


def test_the_facts_name_the_corpus_and_our_own_words(corpus: Path, tmp_path: Path) -> None:
    ja, en = (loaded(corpus, tmp_path, row("一", PARK), language=language).facts for language in ("ja", "en"))
    assert ja.keys() == {"corpus", "prompt"}
    assert ja["corpus"] == en["corpus"]
    assert ja["prompt"] != en["prompt"]


def test_what_is_missing_is_said_in_one_line(corpus: Path, tmp_path: Path) -> None:
    settings = resolve("tmg-cqa-rag", BENCHMARK.defaults, None, {})
    with pytest.raises(SetupError, match="tmg-cqa-rag needs the question file: --data PATH"):
        load(settings, None)
    data = tmp_path / "q.jsonl"
    data.write_text(json.dumps(row("一", PARK)), encoding="utf-8")
    with pytest.raises(SetupError, match=r"pincite corpus fetch --data \S*q\.jsonl --out DIR, then --corpus DIR"):
        load(resolve("tmg-cqa-rag", BENCHMARK.defaults, None, {"data": str(data)}), None)
    with pytest.raises(SetupError, match="no question names a document; say in a field map"):
        loaded(corpus, tmp_path, row("一"))
    with pytest.raises(
        SetupError, match=r"no question of .* has all of its documents in the corpus \(一: not_in_corpus: "
    ):
        loaded(corpus, tmp_path, row("一", "https://a.example/"))


def test_the_mini_set_runs_without_key_network_or_corpus_and_replays(output: Output, tmp_path: Path) -> None:
    assert run(["run", "tmg-cqa-rag", "--mini", "--json", "--out", "mini"]) == 0
    summary = json.loads(output().out)
    assert (summary["samples"], summary["outcomes"]["answered"]) == (10, 10)
    assert summary["metrics"].keys() == {"consistency", "citation_recall", "citation_precision", "citation_f1"}
    assert summary["metrics"]["citation_f1"]["value"] >= 0.8
    assert summary["usage"]["model"]["calls"] == 10
    records = list(read_records(tmp_path / "mini"))
    assert all(record.rounds and not record.rounds[0].calls for record in records)
    assert all(4 <= len(record.pages) <= 6 for record in records)
    assert run(["replay", "mini", "--json"]) == 0
    assert json.loads(output().out)["digest"] == summary["digest"]
    assert run(["verify", "mini"]) == 0


def test_every_mini_question_names_what_the_bundled_documents_hold() -> None:
    settings = resolve("tmg-cqa-rag", {**BENCHMARK.defaults, **(BENCHMARK.mini or {})}, None, {})
    made = load(settings, None)
    assert (len(made.samples), made.n_rows, dict(made.left_out), made.unused) == (10, 10, {}, ())
    types = {sample.task_type for sample in made.samples}
    assert types == {
        "multi_document_integration", "temporal_integration", "conditional_branching", "contradiction_detection",
        "numerical_reasoning",
    }  # fmt: skip


def published(n: int, outcome: Outcome, *flags: Flag, label: str = "consistent") -> list[Record]:
    """`n` records of the public set; every answer that can be read is as good as it can be."""
    good = ScoreRow(recall="1", precision="1", f1="1")
    nothing = ScoreRow(recall="0", precision="0", f1="0")
    answered = outcome in ("answered", "judge_error")
    score = None if outcome == "context_overflow" else good if answered and not flags else nothing
    verdict = VerdictRow(label=None, failure="parse") if outcome == "judge_error" else VerdictRow(label=label)
    return [
        Record(
            sample_id=f"{outcome}{flags}{number}",
            question="何人か。",
            reference="14人。",
            outcome=outcome,
            flags=flags,
            consistency=verdict if answered else None,
            score=score,
        )
        for number in range(n)
    ]


def metrics(records: list[Record]) -> Any:
    settings = resolve("tmg-cqa-rag", BENCHMARK.defaults, None, {})
    facts = RunFacts(
        benchmark="tmg-cqa-rag", run="r", model="m", judge="gemma-4-31b-it", measures=measures_of(settings)
    )
    return summarise(records, facts).metrics


def test_published_counts_of_gpt_oss_bound_its_f1() -> None:
    """No citation extracted in 733 of 862 answers, one generation failed: at most 15.0 %."""
    made = metrics(
        published(732, "answered", "no_citation") + published(1, "generation_failed") + published(129, "answered")
    )
    f1 = made["citation_f1"]
    assert (f1.n, f1.value, f"{f1.value:.1%}") == (862, 129 / 862, "15.0%")
    assert (made["consistency"].n, made["consistency"].value) == (862, 861 / 862)


@pytest.mark.parametrize(("model", "failed", "unread"), [("gemma", 1, 0), ("mistral", 5, 0), ("plamo 3.1", 0, 1)])
def test_published_failures_stay_in_both_denominators(model: str, failed: int, unread: int) -> None:
    made = metrics(
        published(862 - failed - unread, "answered")
        + published(failed, "generation_failed")
        + published(unread, "judge_error")
    )
    consistency, f1 = made["consistency"], made["citation_f1"]
    assert (consistency.n, consistency.value, consistency.excluded) == (862, (862 - failed - unread) / 862, {})
    # A verdict that cannot be read counts as inconsistent; what it could have been opens the bounds.
    assert consistency.bounds == ((862 - failed - unread) / 862, (862 - failed) / 862)
    assert (f1.n, f1.value) == (862, (862 - failed) / 862)


def test_an_overflow_leaves_the_citation_denominator_only() -> None:
    made = metrics(published(860, "answered") + published(2, "context_overflow"))
    assert (made["consistency"].n, made["consistency"].value) == (862, 860 / 862)
    assert (made["citation_f1"].n, made["citation_f1"].excluded) == (860, {"context_overflow": 2})


def test_the_benchmark_is_in_the_table_and_measures_no_search() -> None:
    settings = resolve("tmg-cqa-rag", BENCHMARK.defaults, None, {})
    assert benchmark_named("tmg-cqa-rag") is BENCHMARK
    assert [measure.name for measure in BENCHMARK.measures(settings)] == [
        "consistency", "citation_recall", "citation_precision", "citation_f1",
    ]  # fmt: skip
    assert (settings.search.engine, settings.model.count_tokens) == ("none", "auto")
    assert (settings.model.decode.temperature, settings.model.max_output_tokens) == (0.6, 16_384)


def test_a_row_that_names_no_document_is_left_out_and_the_others_are_asked(corpus: Path, tmp_path: Path) -> None:
    found = loaded(corpus, tmp_path, row("一", PARK), row("二"))
    assert [sample.id for sample in found.samples] == ["一"]
    assert (found.left_out, found.left_out_lines) == ({"no_document": 1}, ("二: no_document: its row names none",))
