"""The bundled sample holds together: bytes, URLs, and every figure of every reference answer."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tools.document import Document
from tools.extract import extract

SAMPLE = Path(__file__).resolve().parents[2] / "sandbox" / "benchmarks" / "sample"
TASK_TYPES = {"comparison", "condition", "time", "numbers", "contradiction", "list", "procedure"}


@dataclass(frozen=True, slots=True)
class Row:
    """A line of manifest.jsonl."""

    doc_id: str
    url: str
    title: str
    media_type: str
    path: str
    n_bytes: int
    sha256: str
    lang: str
    note: str

    def body(self) -> bytes:
        return (SAMPLE / self.path).read_bytes()


@dataclass(frozen=True, slots=True)
class Question:
    """A line of questions.jsonl."""

    id: str
    question: str
    reference: str
    task_type: str
    citation_instruction: str
    sources: list[str]


@dataclass(frozen=True, slots=True)
class Derived:
    """A figure of a reference that is in no document: `value`, worked out from `operands`, which are."""

    id: str
    figure: str
    operands: tuple[str, ...]
    value: str


DERIVED = [
    Derived("nagihara-03", "1200", ("35400", "34200"), str(35400 - 34200)),
    Derived("nagihara-05", "1700", ("1200", "500"), str(0 + 1200 + 500)),
    Derived("nagihara-08", "1408", ("166902", "168310"), str(168310 - 166902)),
    Derived("nagihara-10", "15.1", ("52617", "348260"), str(round(52617 / 348260 * 100, 1))),
    Derived("nagihara-10", "32億400万", ("3204",), f"{3204 // 100}億{3204 % 100 * 100}万"),
    Derived("nagihara-10", "40億1800万", ("4018",), f"{4018 // 100}億{4018 % 100 * 100}万"),
    Derived("nagihara-10", "8億1400万", ("4018", "3204"), f"{(4018 - 3204) // 100}億{(4018 - 3204) % 100 * 100}万"),
    Derived("nagihara-11", "4000", ("1200", "2000", "800"), str(1200 + 2000 + 800)),
    Derived("nagihara-11", "3000", ("900", "1500", "600"), str(900 + 1500 + 600)),
    Derived(
        "nagihara-11",
        "1000",
        ("1200", "2000", "800", "900", "1500", "600"),
        str(1200 + 2000 + 800 - 900 - 1500 - 600),
    ),
    Derived("nagihara-12", "48", ("571", "523"), str(571 - 523)),
    Derived("nagihara-12", "8.4", ("571", "523"), str(round((571 - 523) / 571 * 100, 1))),
    Derived("nagihara-12", "53", ("523", "470"), str(523 - 470)),
    Derived("nagihara-15", "令和6年4月1日", ("2024年4月1日",), f"令和{2024 - 2018}年4月1日"),
    Derived("nagihara-20", "1594", ("713500", "711906"), str(713500 - 711906)),
    Derived("nagihara-26", "令和7年9月30日", ("令和7年4月14日から9月30日",), "令和7年" + "9月30日"),
    Derived("nagihara-14", "132", ("14900", "14768"), str(14900 - 14768)),
]
# Said by the questioner, so it need not be in a document.
GIVEN = {("nagihara-03", "12"), ("nagihara-15", "令和7年11月")}
# Counted in a list, not written as a figure.
COUNTED = {("nagihara-18", "5")}

ERA_DATE = r"(?:令和|平成|昭和)(?:\d+|元)年(?:度|\d+月(?:\d+日)?)?"
FIGURE = re.compile(rf"{ERA_DATE}|\d+月\d+日|\d+億\d+万|\d+(?:\.\d+)?")

PHYSICAL_PAGES = {
    "kodomo-keikaku": [
        ("第2期凪原市こども計画", "令和7年3月　凪原市"),
        ("目次", "- 1 -"),
        ("2　子どもと家庭を取り巻く現状", "- 2 -"),
        ("3　計画の目標と指標", "- 3 -"),
        ("4　保育の量の見込みと区ごとの整備", "- 4 -"),
        ("5　計画の進め方", "- 5 -"),
    ],
    "kodomo-tokei": [
        ("令和7年版　子ども・子育て統計（抜粋）", "- 24 -"),
        ("2　保育所等の利用定員と利用児童数", "- 25 -"),
        ("3　待機児童数の推移（区別）", "- 26 -"),
        ("4　子ども・子育て関係予算", "- 27 -"),
    ],
}
TABLE_ROWS = {
    ("kodomo-keikaku", 3): "出生数（人） 5,412 5,238 5,061 4,873 4,690",
    ("kodomo-keikaku", 4): "保育所等の利用定員（4月1日） 14,602人 14,900人 15,240人 15,300人",
    ("kodomo-keikaku", 5): "浜手区 3,786人 310人 4,096人",
    ("kodomo-tokei", 1): "令和6年 4,552 △138 1.21",
    ("kodomo-tokei", 2): "令和7年 14,768 14,287 14,096",
    ("kodomo-tokei", 3): "合計 47人 23人 14人",
    ("kodomo-tokei", 4): "子ども医療費助成 3,120 3,204 4,018",
}


@cache
def manifest() -> dict[str, Row]:
    lines = (SAMPLE / "manifest.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [Row(**{("n_bytes" if k == "bytes" else k): v for k, v in json.loads(line).items()}) for line in lines]
    return {row.doc_id: row for row in rows}


@cache
def questions() -> dict[str, Question]:
    lines = (SAMPLE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return {q.id: q for q in (Question(**json.loads(line)) for line in lines)}


@cache
def document(doc_id: str) -> Document:
    row = manifest()[doc_id]
    return extract(row.body(), url=row.url, header_type=row.media_type)


def physical_pages(doc_id: str) -> list[str]:
    text, starts = document(doc_id).text, document(doc_id).page_starts
    return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


def text_of(doc_id: str) -> str:
    """The document's text; the columns of a CSV file parted by 、 so that they do not look like one long number."""
    text = document(doc_id).text
    return text.replace(",", "、") if manifest()[doc_id].media_type == "text/csv" else text


def folded(text: str) -> str:
    """NFKC, without the line ends that cut sentences and the commas inside numbers."""
    return re.sub(r"(?<=\d),(?=\d)", "", unicodedata.normalize("NFKC", text).replace("\n", ""))


def figures(text: str) -> list[str]:
    return FIGURE.findall(folded(text))


def stands_in(figure: str, text: str) -> bool:
    start = r"(?<![\d.])" if figure[0].isdigit() else ""
    end = r"(?![\d.])" if figure[-1].isdigit() else ""
    return re.search(start + re.escape(figure) + end, text) is not None


def source_text(question: Question) -> str:
    by_url = {row.url: row.doc_id for row in manifest().values()}
    return "\n".join(folded(text_of(by_url[url])) for url in question.sources)


def test_manifest_agrees_with_the_bytes_of_every_document() -> None:
    found = {d: (len(r.body()), hashlib.sha256(r.body()).hexdigest()) for d, r in manifest().items()}
    assert found == {d: (r.n_bytes, r.sha256) for d, r in manifest().items()}
    on_disk = {path.relative_to(SAMPLE).as_posix() for path in (SAMPLE / "docs").iterdir()}
    assert on_disk == {row.path for row in manifest().values()}


def test_documents_are_of_the_kinds_that_the_readme_promises() -> None:
    kinds = Counter(row.media_type for row in manifest().values())
    assert kinds == {"text/html": 38, "text/plain": 1, "text/csv": 1, "application/pdf": 2}
    assert len({row.url for row in manifest().values()}) == 42
    assert all(re.match(r"https://[a-z0-9]+\.city\.nagihara\.example/", r.url) for r in manifest().values())


def test_sample_stays_small() -> None:
    sizes = {path.name: path.stat().st_size for path in SAMPLE.rglob("*") if path.is_file()}
    assert sum(sizes.values()) < 1_200_000
    assert all(size < 250_000 for name, size in sizes.items() if name.endswith(".pdf"))


def test_questions_span_the_seven_types_and_cite_documents_of_the_manifest() -> None:
    urls = {row.url for row in manifest().values()}
    types = Counter(q.task_type for q in questions().values())
    assert set(types) == TASK_TYPES
    assert min(types.values()) >= 2
    assert len(questions()) == 26
    assert all(len(set(q.sources)) >= 2 and set(q.sources) <= urls for q in questions().values())


def test_questions_share_one_citation_instruction_and_references_carry_no_tags() -> None:
    (instruction,) = {q.citation_instruction for q in questions().values()}
    assert "<sentence>" in instruction
    assert "<cite>番号</cite>" in instruction
    assert [q.id for q in questions().values() if re.search(r"[<>]", q.question + q.reference)] == []
    assert {q.id: q.reference.count("。") for q in questions().values() if not 1 <= q.reference.count("。") <= 4} == {}


@pytest.mark.parametrize("question_id", sorted(questions()))
def test_figures_of_a_reference_are_in_its_sources(question_id: str) -> None:
    question = questions()[question_id]
    text = source_text(question)
    excused = {d.figure for d in DERIVED if d.id == question_id}
    excused |= {figure for id_, figure in GIVEN | COUNTED if id_ == question_id}
    missing = [f for f in figures(question.reference) if f not in excused and not stands_in(f, text)]
    assert missing == []


@pytest.mark.parametrize("derived", DERIVED, ids=lambda d: f"{d.id}-{d.figure}")
def test_derived_figures_follow_from_the_sources(derived: Derived) -> None:
    question = questions()[derived.id]
    assert derived.value == derived.figure
    assert derived.figure in figures(question.reference)
    assert [o for o in derived.operands if not stands_in(o, source_text(question))] == []


def test_figures_that_a_question_gives_are_said_in_it() -> None:
    assert [(i, f) for i, f in sorted(GIVEN) if f not in figures(questions()[i].question)] == []


@pytest.mark.parametrize("doc_id", sorted(PHYSICAL_PAGES))
def test_pdf_text_is_found_on_its_physical_page(doc_id: str) -> None:
    lines = [page.splitlines() for page in physical_pages(doc_id)]
    assert [(page[0], page[-1]) for page in lines] == PHYSICAL_PAGES[doc_id]
    for (owner, physical_page), row in TABLE_ROWS.items():
        if owner == doc_id:
            assert [n for n, page in enumerate(lines, start=1) if row in page] == [physical_page]


@pytest.mark.parametrize(
    ("doc_id", "codec", "label", "passage"),
    [
        ("gomi-pasokon", "cp932", b"charset=Shift_JIS", "次の①～③のいずれかの方法"),
        ("gomi-pasokon", "cp932", b"charset=Shift_JIS", "㈱なぎさ資源リサイクル"),
        ("gomi-pasokon", "cp932", b"charset=Shift_JIS", "膨らんだﾘﾁｳﾑｲｵﾝ電池"),
        ("taishin-jisseki", "euc_jp", b"charset=EUC-JP", "令和７年度末の耐震化率の目標を９５％"),
    ],
)
def test_old_encodings_are_what_their_meta_says(doc_id: str, codec: str, label: bytes, passage: str) -> None:
    body = manifest()[doc_id].body()
    assert label in body
    assert passage in body.decode(codec)
    with pytest.raises(UnicodeDecodeError):
        body.decode("utf-8")
    assert passage in text_of(doc_id)


def test_csv_comes_with_a_byte_order_mark_and_its_columns_add_up() -> None:
    body = manifest()["gomi-suii"].body()
    assert body.startswith(b"\xef\xbb\xbf")
    rows = [line.split(",") for line in body.decode("utf-8-sig").split("\r\n")[1:-1]]
    assert [int(r[5]) for r in rows] == [int(r[3]) + int(r[4]) for r in rows]
    assert [int(r[6]) for r in rows] == [round(int(r[3]) * 1_000_000 / int(r[2]) / int(r[1])) for r in rows]
