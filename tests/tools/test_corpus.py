"""Building and opening a local corpus."""

import asyncio
import hashlib
import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tools.corpus import FILE, Corpus, CorpusPages, CorpusSummary, Skipped, build, open_corpus
from tools.document import Document
from tools.manifest import Renamed
from tools.tool import SetupError, ToolFailure

LAW = "https://laws.example.jp/law/323"


def as_text(body: bytes, *, url: str, header_type: str | None) -> Document:
    """Bytes of UTF-8 as they stand; a PDF is one that cannot be read, and form feeds part physical pages."""
    if header_type == "application/pdf":
        raise ToolFailure("encrypted", "パスワードが必要です")
    text = body.decode("utf-8")
    starts = tuple(i + 1 for i, char in enumerate(text) if char == "\f")
    return Document(
        url, url, "", header_type or "text/plain", text, hashlib.sha256(body).hexdigest(), "as-text 1",
        (0, *starts) if starts else (), ("注記",) if "注記" in text else (),
    )  # fmt: skip


def manifest(folder: Path, *rows: dict[str, object]) -> Path:
    """A manifest whose rows have `text` in place of a file; the file is written."""
    (folder / "docs").mkdir(parents=True, exist_ok=True)
    lines: list[str] = []
    for i, row in enumerate(rows, start=1):
        text = str(row.pop("text", f"文書{i}の本文。"))
        row.setdefault("path", f"docs/{i}.txt")
        (folder / str(row["path"])).write_text(text, encoding="utf-8")
        lines.append(json.dumps(row, ensure_ascii=False))
    (folder / "manifest.jsonl").write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    return folder


def built(folder: Path, *rows: dict[str, object]) -> tuple[CorpusSummary, Corpus]:
    summary = build(manifest(folder / "source", *rows), folder / "corpus", extract=as_text)
    return summary, open_corpus(folder / "corpus")


def test_documents_come_back_as_they_were_extracted(tmp_path: Path) -> None:
    text = "一頁目。注記\f二頁目。"
    summary, corpus = built(tmp_path, {"doc_id": "a", "url": "https://a.jp/x", "title": "題名", "text": text})
    assert corpus.document("https://a.jp/x") == Document(
        "https://a.jp/x", "https://a.jp/x", "題名", "text/plain", text,
        hashlib.sha256(text.encode()).hexdigest(), "as-text 1", (0, 7), ("注記",),
    )  # fmt: skip
    assert summary == CorpusSummary(tmp_path / "corpus" / FILE, 1, 11, (), (), False, corpus.digest)
    assert (corpus.n_documents, corpus.keeps_fragments, corpus.url_of("a"), corpus.url_of("b")) == (
        1, False, "https://a.jp/x", None,
    )  # fmt: skip


def test_documents_that_differ_by_fragment_stay_apart(tmp_path: Path) -> None:
    summary, corpus = built(
        tmp_path,
        {"doc_id": "l5", "url": f"{LAW}#第5条", "text": "五条"},
        {"doc_id": "l24", "url": f"{LAW}#第24条", "text": "二十四条"},
        {"doc_id": "wide", "url": f"{LAW}#第５条", "text": "全角の五条"},
    )
    assert summary.keeps_fragments
    assert [getattr(corpus.document(f"{LAW}#{part}"), "text", None) for part in ("第5条", "第24条", "第５条")] == [
        "五条", "二十四条", "全角の五条",
    ]  # fmt: skip


def test_later_document_at_the_same_url_gets_one_of_its_own(tmp_path: Path) -> None:
    summary, corpus = built(
        tmp_path,
        {"doc_id": "a", "url": f"{LAW}#第13条", "text": "法"},
        {"doc_id": "b", "url": f"{LAW}#第13条", "text": "令"},
        {"doc_id": "c", "url": "https://data.jp/set", "text": "一"},
        {"doc_id": "d", "url": "http://DATA.jp/set", "text": "二"},
    )
    assert summary.renamed == (
        Renamed("b", f"{LAW}#第13条", f"{LAW}#第13条&doc=b"),
        Renamed("d", "http://DATA.jp/set", "http://DATA.jp/set#doc=d"),
    )
    assert summary.keeps_fragments
    texts = [getattr(corpus.document(str(corpus.url_of(doc_id))), "text", None) for doc_id in "abcd"]
    assert texts == ["法", "令", "一", "二"]


def test_page_is_found_by_other_spellings_of_its_url(tmp_path: Path) -> None:
    _, corpus = built(
        tmp_path,
        {"doc_id": "a", "url": f"{LAW}#第5条"},
        {"doc_id": "b", "url": "https://b.jp/日本.html#節"},
    )
    for url in (f"{LAW}#%E7%AC%AC5%E6%9D%A1", LAW, "http://LAWS.example.jp:80/law/323"):
        assert getattr(corpus.document(url), "url", None) == f"{LAW}#第5条"
    assert getattr(corpus.document("https://b.jp/%e6%97%a5本.html"), "url", None) == "https://b.jp/日本.html#節"


def test_url_without_fragment_names_no_page_where_several_share_it(tmp_path: Path) -> None:
    _, corpus = built(tmp_path, {"doc_id": "a", "url": f"{LAW}#第5条"}, {"doc_id": "b", "url": f"{LAW}#第6条"})
    assert corpus.document(LAW) is None
    with pytest.raises(ToolFailure) as failure:
        asyncio.run(CorpusPages(corpus).get(f"{LAW}#第7条"))
    assert (failure.value.kind, failure.value.message) == (
        "not_found",
        f"このURLの文書はありません: {LAW}#第7条。近いURL: {LAW}#第5条 {LAW}#第6条",
    )


def test_pages_come_from_the_corpus_alone(tmp_path: Path) -> None:
    _, corpus = built(tmp_path, {"doc_id": "a", "url": "https://a.jp/", "text": "本文"})
    assert asyncio.run(CorpusPages(corpus).get("https://a.jp")).text == "本文"
    with pytest.raises(ToolFailure, match="search") as failure:
        asyncio.run(CorpusPages(corpus, "en").get("https://nowhere.jp/"))
    assert failure.value.kind == "not_found"


def test_what_cannot_be_extracted_is_listed_not_fatal(tmp_path: Path) -> None:
    summary, corpus = built(
        tmp_path,
        {"doc_id": "a", "url": "https://a.jp/"},
        {"doc_id": "pdf", "url": "https://a.jp/b.pdf", "media_type": "application/pdf"},
        {"doc_id": "blank", "url": "https://a.jp/c", "text": " \n"},
    )
    assert summary.skipped == (
        Skipped("pdf", "https://a.jp/b.pdf", "encrypted: パスワードが必要です"),
        Skipped("blank", "https://a.jp/c", "empty: there is no text in it"),
    )
    assert (summary.n_documents, corpus.document("https://a.jp/c")) == (1, None)


def test_folder_without_manifest_gives_corpus_urls(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "規程").mkdir(parents=True)
    (source / "規程" / "一.txt").write_text("就業規則", encoding="utf-8")
    (source / "b.txt").write_text("本文", encoding="utf-8")
    (source / ".hidden").write_text("隠し", encoding="utf-8")
    summary = build(source, tmp_path / "corpus", extract=as_text)
    document = open_corpus(tmp_path / "corpus").document("corpus:規程/一.txt")
    assert summary.n_documents == 2
    assert document is not None
    assert (document.url, document.title, document.text) == ("corpus:規程/一.txt", "一.txt", "就業規則")


def test_progress_names_each_document(tmp_path: Path) -> None:
    seen: list[tuple[int, int, str]] = []
    source = manifest(tmp_path / "s", {"id": 1, "url": "https://a.jp/1"}, {"id": 2, "url": "https://a.jp/2"})
    build(source, tmp_path / "c", extract=as_text, progress=lambda done, n, doc_id: seen.append((done, n, doc_id)))
    assert seen == [(1, 2, "1"), (2, 2, "2")]


def test_same_documents_give_the_same_bytes_and_other_order_the_same_digest(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"doc_id": name, "url": f"https://{name}.jp/", "title": name, "text": f"{name}の本文"} for name in "abc"
    ]
    for folder, chosen in (("1", rows), ("2", rows), ("3", rows[::-1])):
        build(manifest(tmp_path / folder, *[dict(row) for row in chosen]), tmp_path / f"c{folder}", extract=as_text)
    first, second, third = (tmp_path / f"c{i}" / FILE for i in "123")
    assert first.read_bytes() == second.read_bytes()
    assert open_corpus(first).digest == open_corpus(third).digest


def test_changed_text_changes_the_digest(tmp_path: Path) -> None:
    digests = {
        build(manifest(tmp_path / text, {"doc_id": "a", "text": text}), tmp_path / "c", extract=as_text).digest
        for text in ("令和6年", "令和7年")
    }
    assert len(digests) == 2


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "row 2: not JSON"),
        ("[" * 200_000, "row 2: not JSON that can be read"),
        ("[1]", "row 2: not an object but list"),
        ('{"path": "docs/1.txt", "title": "絵文字の半分\\ud83d"}', "row 2: half a character"),
        ('{"path": "docs/1\\u0000.txt"}', "row 2: .* cannot be the name of a file: embedded null byte"),
        ('{"url": "https://a.jp/"}', r"row 2: path: Field required \(keys of the row: url\)"),
        ('{"path": "../x.txt"}', "row 2: the path '../x.txt' leaves the folder"),
        ('{"path": "/etc/x"}', "row 2: the path '/etc/x' leaves the folder"),
        ('{"path": "docs/1.txt", "doc_id": "a"}', "row 2: the document 'a' was named before"),
        ('{"path": "docs/9.txt"}', "row 2: cannot read"),
        ('{"path": "docs/1.txt", "sha256": "' + "0" * 64 + '"}', "row 2: the sha256 of"),
        ('{"path": "docs/1.txt", "sha256": "abc"}', "row 2: sha256: String should match"),
    ],
)
def test_broken_row_is_refused_with_its_number(tmp_path: Path, line: str, complaint: str) -> None:
    folder = manifest(tmp_path, {"doc_id": "a", "url": "https://a.jp/"})
    path = folder / "manifest.jsonl"
    path.write_text(path.read_text(encoding="utf-8").strip() + "\n" + line + "\n", encoding="utf-8")
    with pytest.raises(SetupError, match=complaint):
        build(folder, tmp_path / "corpus", extract=as_text)
    assert not (tmp_path / "corpus" / FILE).exists()


def test_a_row_ends_at_its_line_end_and_at_no_other_sign(tmp_path: Path) -> None:
    folder = manifest(tmp_path, {"doc_id": "a", "title": "前\u2028中\x85後"}, {"doc_id": "b", "url": "https://b.jp/"})
    assert build(folder, tmp_path / "corpus", extract=as_text).n_documents == 2


def test_sources_that_hold_nothing_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "x.txt").write_text("x", encoding="utf-8")
    (tmp_path / "pdfs").mkdir()
    (tmp_path / "pdfs" / "a.pdf").write_bytes(b"%PDF")
    for source, complaint in (
        ("missing", "does not exist"),
        ("empty", "holds no documents"),
        ("x.txt", "neither a folder nor a manifest"),
        ("pdfs", "no document of .* has text"),
    ):
        with pytest.raises(SetupError, match=complaint):
            build(tmp_path / source, tmp_path / "corpus", extract=as_text)


def test_failed_build_leaves_the_corpus_that_was_there(tmp_path: Path) -> None:
    _, corpus = built(tmp_path, {"doc_id": "a", "url": "https://a.jp/", "text": "本文"})
    with pytest.raises(SetupError):
        build(tmp_path / "missing", tmp_path / "corpus", extract=as_text)
    assert open_corpus(tmp_path / "corpus").digest == corpus.digest


def test_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    source = manifest(tmp_path / "s", {"doc_id": "a", "url": "https://a.jp/"})
    (tmp_path / "file").write_text("x", encoding="utf-8")
    (tmp_path / "full" / f"{FILE}.unfinished" / "x").mkdir(parents=True)
    for out in ("file", "full"):
        with pytest.raises(SetupError, match="cannot write"):
            build(source, tmp_path / out, extract=as_text)


def test_opening_what_is_no_corpus_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"there is no corpus in .*; build one: pincite corpus build"):
        open_corpus(tmp_path)
    (tmp_path / FILE).write_bytes(b"not a database" * 100)
    with pytest.raises(SetupError, match="is no corpus"):
        open_corpus(tmp_path)


def test_corpus_of_another_version_is_refused(tmp_path: Path) -> None:
    summary, _ = built(tmp_path, {"doc_id": "a", "url": "https://a.jp/"})
    connection = sqlite3.connect(summary.path)
    with connection:
        connection.execute("UPDATE meta SET value = '0' WHERE key = 'rules'")
    connection.close()
    with pytest.raises(SetupError, match="another version of pincite; build it again"):
        open_corpus(tmp_path / "corpus")


def test_many_threads_read_at_once(tmp_path: Path) -> None:
    rows = [{"doc_id": str(i), "url": f"https://a.jp/{i}", "text": f"{i}番"} for i in range(20)]
    _, corpus = built(tmp_path, *[dict[str, object](row) for row in rows])
    with ThreadPoolExecutor(8) as threads:
        found = list(
            threads.map(lambda i: getattr(corpus.document(f"https://a.jp/{i % 20}"), "text", None), range(200))
        )
    assert found == [f"{i % 20}番" for i in range(200)]
    corpus.close()


def test_every_document_of_a_real_manifest_stays_a_page_of_its_own(tmp_path: Path) -> None:
    source = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "corpus"
    if not source.is_dir():
        pytest.skip("no ../shared/data/corpus beside the checkout")
    rows = [json.loads(line) for line in (source / "manifest.jsonl").read_text(encoding="utf-8").splitlines()]

    def any_text(body: bytes, *, url: str, header_type: str | None) -> Document:
        text = body.decode("utf-8", "replace")
        return Document(url, url, "", header_type or "", text, hashlib.sha256(body).hexdigest(), "any 1")

    summary = build(source, tmp_path, extract=any_text)
    corpus = open_corpus(tmp_path)
    assert (summary.n_documents, len(summary.renamed), summary.keeps_fragments) == (294, 10, True)
    documents = [corpus.document(str(corpus.url_of(row["doc_id"]))) for row in rows]
    assert [getattr(document, "body_sha256", None) for document in documents] == [row["sha256"] for row in rows]
