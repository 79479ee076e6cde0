"""Local search: what is ranked first, in which order, and what it costs."""

import asyncio
import hashlib
import json
from pathlib import Path

import pytest

from tools.corpus import build, open_corpus
from tools.document import Document
from tools.engines.local import EngineStats, LocalEngine
from tools.search import Hit

SHARED = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "corpus"


def as_text(body: bytes, *, url: str, header_type: str | None) -> Document:
    return Document(url, url, "", "text/plain", body.decode(), hashlib.sha256(body).hexdigest(), "as-text 1")


def engine(folder: Path, texts: dict[str, str], *, cache_size: int = 512) -> LocalEngine:
    source = folder / "source"
    source.mkdir()
    rows = [{"path": f"{i}.txt", "url": url} for i, url in enumerate(texts)]
    for row, text in zip(rows, texts.values(), strict=True):
        (source / row["path"]).write_text(text, encoding="utf-8")
    (source / "manifest.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    build(source, folder / "corpus", extract=as_text)
    return LocalEngine(open_corpus(folder / "corpus"), cache_size=cache_size)


def search(engine: LocalEngine, query: str, count: int = 10, page: int = 1) -> list[Hit]:
    return asyncio.run(engine.search(query, count, page))


def urls(engine: LocalEngine, query: str, count: int = 10, page: int = 1) -> list[str]:
    return [hit.url for hit in search(engine, query, count, page)]


TEXTS = {
    "https://a.jp/": "東京都の子育て支援。０１８サポートは月額５，０００円を支給する。",
    "https://b.jp/": "大阪府の観光案内。お城と公園。",
    "https://c.jp/": "子育ての心得。東京の公園。",
}


def test_best_page_comes_first_with_its_snippets(tmp_path: Path) -> None:
    hits = search(engine(tmp_path, TEXTS), "子育て支援 018サポート")
    assert hits[0] == Hit(
        "https://a.jp/", "0.txt", ("東京都の子育て支援。０１８サポートは月額５，０００円を支給する。",)
    )
    assert [hit.url for hit in hits] == ["https://a.jp/", "https://c.jp/"]


def test_width_and_case_of_the_query_make_no_difference(tmp_path: Path) -> None:
    local = engine(tmp_path, {**TEXTS, "https://d.jp/": "Debian のﾊﾟｯｹｰｼﾞ"})
    assert urls(local, "ＤＥＢＩＡＮ パッケージ") == ["https://d.jp/"]
    assert urls(local, "018ｻﾎﾟｰﾄ")[0] == "https://a.jp/"


def test_equal_pages_come_in_the_order_of_their_urls(tmp_path: Path) -> None:
    local = engine(tmp_path, {f"https://{name}.jp/": "同じ本文。" for name in "dbca"})
    assert urls(local, "本文") == [f"https://{name}.jp/" for name in "abcd"]


def test_result_pages_follow_on(tmp_path: Path) -> None:
    local = engine(tmp_path, {f"https://a.jp/{i}": "本文。" + "長い" * i for i in range(5)})
    whole = urls(local, "本文")
    assert [urls(local, "本文", 2, page) for page in (1, 2, 3, 4)] == [whole[:2], whole[2:4], whole[4:], []]


@pytest.mark.parametrize("query", ["鯨", "！？", '"OR" NOT *', "' ; --"])
def test_query_without_a_known_term_finds_nothing(tmp_path: Path, query: str) -> None:
    assert urls(engine(tmp_path, TEXTS), query) == []


def test_query_is_never_read_as_a_search_language(tmp_path: Path) -> None:
    local = engine(tmp_path, {**TEXTS, "https://d.jp/": "near and or not"})
    assert urls(local, '"near" OR (NOT {title}: a*)') == ["https://d.jp/"]


def test_small_corpus_keeps_its_common_terms(tmp_path: Path) -> None:
    local = engine(tmp_path, {f"https://a.jp/{i:02}": "条例の本文。" for i in range(24)})
    assert len(urls(local, "条例", 30)) == 24


def test_common_terms_are_not_asked_for_in_a_larger_corpus(tmp_path: Path) -> None:
    texts = {f"https://a.jp/{i:03}": "条例の本文。" + ("罰則" if i == 7 else "") for i in range(300)}
    local = engine(tmp_path, texts)
    assert urls(local, "条例の本文の罰則と罰金、付則", 30)[0] == "https://a.jp/007"
    assert len(urls(local, "条例", 30)) == 30  # nothing else is left: the term comes back


def test_repeated_query_comes_from_the_cache(tmp_path: Path) -> None:
    local = engine(tmp_path, TEXTS, cache_size=1)
    first = search(local, "子育て")
    cpu_s = local.stats().cpu_s
    assert search(local, "子育て") == first
    assert local.stats() == EngineStats(2, 1, cpu_s)
    search(local, "公園")
    assert search(local, "子育て") == first
    assert (local.stats().n_searches, local.stats().n_cached) == (4, 1)


def test_real_questions_find_the_articles_that_answer_them(tmp_path: Path) -> None:
    """105 questions with their choices over 276 pages; the figures are what the rules of this index give."""
    if not SHARED.is_dir():
        pytest.skip("no ../shared/data/corpus beside the checkout")
    rows = [json.loads(line) for line in (SHARED / "manifest.jsonl").read_text(encoding="utf-8").splitlines()]
    laws = [row for row in rows if row["group"] == "law"]
    (tmp_path / "docs").mkdir()
    for row in laws:
        (tmp_path / row["path"]).write_bytes((SHARED / row["path"]).read_bytes())
    (tmp_path / "manifest.jsonl").write_text("\n".join(map(json.dumps, laws)), encoding="utf-8")
    build(tmp_path, tmp_path / "corpus", extract=as_text)
    corpus = open_corpus(tmp_path / "corpus")
    local = LocalEngine(corpus)
    questions = [json.loads(line) for line in (SHARED / "questions_lawqa.jsonl").read_text("utf-8").splitlines()]
    ranks: list[int] = []
    for question in questions:
        gold = {corpus.url_of(doc_id) for doc_id in question["doc_ids"]}
        found = local.rank(f"{question['question']}\n{question['choices']}"[:400], 10, 1)
        ranks.append(next((i for i, place in enumerate(found) if corpus.page(place.page).url in gold), 99))
    assert sum(rank == 0 for rank in ranks) / len(ranks) >= 0.94
    assert sum(rank < 5 for rank in ranks) / len(ranks) >= 0.97
