"""Question files as people have them: what is read, and what is said of a file that cannot be."""

import hashlib
import json
import sys
from pathlib import Path

import pytest

from sandbox.loading.questions import Dataset, FieldMap, Question, load_rows, read_field_map
from sandbox.loading.source_list import DocumentKeys, SourceDocument
from tools.tool import SetupError

LAWQA = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "corpus" / "questions_lawqa.jsonl"

NO_PYARROW = "pyarrow is in the extra `parquet` and in the group `check`"

ROWS: list[dict[str, object]] = [
    {
        "id": "問１",
        "question": " 令和６年度の補助金の上限は？\u2028（全角で）\n",
        "reference": "１，２３４万円",
        "task_type": "数値",
        "citation_instruction": "必ず <cite>番号</cite> を付けること。",
        "sources": ["https://example.jp/東京.html", "law-001"],
    },
    {"id": "問２", "question": "ﾊﾝｶｸの問い", "reference": "はい", "task_type": None, "sources": "law-002"},
]
QUESTIONS = (
    Question(
        "問１",
        " 令和６年度の補助金の上限は？\u2028（全角で）\n",
        "１，２３４万円",
        "数値",
        "必ず <cite>番号</cite> を付けること。",
        ("https://example.jp/東京.html", "law-001"),
        (SourceDocument(1, "https://example.jp/東京.html"), SourceDocument(2, "law-001")),
    ),
    Question("問２", "ﾊﾝｶｸの問い", "はい", None, None, ("law-002",), (SourceDocument(1, "law-002"),)),
)
AS_NAMED = FieldMap(
    id=("id",),
    question=("question",),
    reference=("reference",),
    task_type=("task_type",),
    citation_instruction=("citation_instruction",),
    sources=("sources",),
)


def lines(*rows: object) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def row(**changed: object) -> dict[str, object]:
    return {"id": "問１", "question": "問い", "reference": "答え"} | changed


def written(folder: Path, name: str, body: bytes) -> Path:
    path = folder / name
    path.write_bytes(body)
    return path


def loaded(folder: Path, *rows: object, fields: FieldMap | None = None) -> Dataset:
    return load_rows(written(folder, "質問.jsonl", lines(*rows)), fields)


def refusal(folder: Path, *rows: object, fields: FieldMap | None = None) -> str:
    with pytest.raises(SetupError) as error:
        loaded(folder, *rows, fields=fields)
    message = str(error.value)
    assert "\n" not in message
    return message.replace(str(folder) + "/", "")


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("質問.jsonl", lines(*ROWS)),
        ("bom.jsonl", b"\xef\xbb\xbf" + lines(*ROWS)),
        ("crlf.jsonl", lines(*ROWS).replace(b"}\n", b"}\r\n")),
        ("blank.jsonl", b"\n\r\n" + lines(*ROWS).replace(b"}\n", b"}\n \t\n")),
        ("no-last-line-end.jsonl", lines(*ROWS).rstrip()),
        ("lines-called.json", lines(*ROWS)),
        ("lines-called.txt", lines(*ROWS)),
        ("list.json", json.dumps(ROWS).encode()),
        ("pretty.json", b"\xef\xbb\xbf" + json.dumps(ROWS, ensure_ascii=False, indent=2).encode()),
        ("list-called.jsonl", json.dumps(ROWS, indent=1).encode()),
        ("object.json", json.dumps({"version": 1, "authors": ["都"], "data": ROWS}, ensure_ascii=False).encode()),
    ],
)
def test_every_form_of_json_gives_the_same_questions_unchanged(tmp_path: Path, name: str, body: bytes) -> None:
    path = written(tmp_path, name, body)
    assert load_rows(path, None) == Dataset(path, hashlib.sha256(body).hexdigest(), 2, AS_NAMED, QUESTIONS, unused=())


def test_parquet_gives_the_same_questions(tmp_path: Path) -> None:
    pyarrow, parquet = (pytest.importorskip(name, reason=NO_PYARROW) for name in ("pyarrow", "pyarrow.parquet"))
    path = tmp_path / "質問.parquet"
    as_lists = [ROWS[0], ROWS[1] | {"sources": ["law-002"], "citation_instruction": None}]
    parquet.write_table(pyarrow.Table.from_pylist(as_lists), path)
    dataset = load_rows(path, None)
    assert (dataset.rows, dataset.sha256) == (QUESTIONS, hashlib.sha256(path.read_bytes()).hexdigest())


def test_parquet_without_its_extra_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    path = written(tmp_path, "質問.parquet", b"PAR1....PAR1")
    with pytest.raises(SetupError, match=r"pip install 'pincite\[parquet\]' .*uv run --extra parquet"):
        load_rows(path)


@pytest.mark.parametrize("body", [b"PAR1", b"PAR1....PAR1", b"PAR1" + b"\0" * 100 + b"\xff\xff\xff\x7fPAR1"])
def test_broken_parquet_is_one_line(tmp_path: Path, body: bytes) -> None:
    pytest.importorskip("pyarrow.parquet", reason=NO_PYARROW)
    with pytest.raises(SetupError, match=r"^[^\n]*x\.parquet: broken Parquet \([^\n]+\)$"):
        load_rows(written(tmp_path, "x.parquet", body))


@pytest.mark.parametrize(
    "columns",
    [
        ("qid", "query", "answer", "type", "urls", "instruction"),
        ("q_id", "prompt", "reference_answer", "category", "source_urls", "instruction"),
        ("QUESTION_ID", "Question", "GOLD", "Task_Type", "Doc_IDs", "citation_instruction"),
        ("question_id", "question", "gold", "task_type", "links", "citation_instruction"),
    ],
)
def test_known_names_are_found_in_any_case(tmp_path: Path, columns: tuple[str, ...]) -> None:
    values = ("問１", "問い", "答え", "数値", ["u"], "番号を付ける")
    dataset = loaded(tmp_path, dict(zip(columns, values, strict=True)))
    documents = (SourceDocument(1, "u"),)
    assert dataset.rows == (Question("問１", "問い", "答え", "数値", "番号を付ける", ("u",), documents),)
    assert (dataset.fields.id, dataset.fields.sources) == ((columns[0],), (columns[4],))


def test_a_map_joins_columns_by_line_ends_and_settles_only_what_it_names(tmp_path: Path) -> None:
    source: dict[str, object] = {
        "q_id": 7,
        "問題": "正しいものは？",
        "choices": ["a 甲", "b 乙"],
        "note": None,
        "answer": 1,
    }
    fields = FieldMap(question=("問題", "note", "choices"))
    dataset = loaded(tmp_path, source, fields=fields)
    assert dataset.rows == (Question("7", "正しいものは？\na 甲\nb 乙", "1", None, None, ()),)
    assert dataset.fields == FieldMap(
        id=("q_id",),
        question=("問題", "note", "choices"),
        reference=("answer",),
        task_type=(),
        citation_instruction=(),
        sources=(),
    )


def test_columns_that_nothing_reads_are_named(tmp_path: Path) -> None:
    assert loaded(tmp_path, row(choices="a"), row(id="二", 備考="x")).unused == ("choices", "備考")


def test_without_a_column_of_ids_rows_are_numbered_and_without_references_there_are_none(tmp_path: Path) -> None:
    dataset = loaded(tmp_path, {"query": "一"}, {"query": "二"}, fields=FieldMap(id=(), reference=()))
    assert dataset.rows == (Question("1", "一", None, None, None, ()), Question("2", "二", None, None, None, ()))


def test_a_blank_instruction_is_none_and_sources_may_be_null(tmp_path: Path) -> None:
    dataset = loaded(tmp_path, row(citation_instruction=" \n", sources=None), row(id="二", sources=["a", "b"]))
    assert [(question.citation_instruction, question.sources) for question in dataset.rows] == [
        (None, ()),
        (None, ("a", "b")),
    ]


def test_duplicate_ids_are_refused_with_both_rows(tmp_path: Path) -> None:
    body = lines(row()) + b"\n\n" + lines(row(id="問２"), row())
    with pytest.raises(SetupError) as error:
        load_rows(written(tmp_path, "x.jsonl", body))
    assert str(error.value) == (
        f"{tmp_path}/x.jsonl, row 3 (line 5): the id '問１' is already that of row 1; "
        "make ids unique, or write `id = []` in the field map to number the rows; keys: id, question, reference"
    )


def test_the_number_1_and_the_text_1_are_one_id(tmp_path: Path) -> None:
    assert "row 2: the id '1' is already that of row 1" in refusal(tmp_path, row(id=1), row(id="1"))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"id": None}, "id (id) is null; mend the row, or write `id = []` in the field map to do without"),
        ({"id": " "}, "id (id) is empty; mend the row, or write `id = []` in the field map to do without"),
        ({"id": True}, '"id" holds True, where text or a whole number is expected'),
        ({"id": {"$oid": "6"}}, "\"id\" holds {'$oid': '6'}, where text or a whole number is expected"),
        ({"question": "　\n"}, "question (question) is empty; mend the row"),
        ({"question": ["問い", None]}, '"question" holds None, where text or a whole number is expected'),
        ({"reference": None}, "reference (reference) is null; mend the row, or write `reference = []`"),
        ({"reference": float("nan")}, "reference (reference) is null; mend the row, or write `reference = []`"),
        (
            {"reference": {"a": "あ" * 60}},
            "\"reference\" holds {'a': '" + "あ" * 30 + "..., where text or a whole number is expected",
        ),
        ({"task_type": 1.5, "sources": [["a"]]}, "\"sources\" holds ['a'], where text or a whole number is expected"),
        ({"sources": {"page": 3}}, "sources holds a document (place 1) without a URL or document id; its keys: page"),
        ({"sources": ["a", "　"]}, "sources names no document at place 2: the text is empty"),
        ({"sources": [{"url": "a", "no": 1}, {"url": "b"}]}, "sources gives a number to some of its documents only"),
        (
            {"sources": [{"url": "a", "no": "２"}, {"url": "b", "no": 2}]},
            "sources gives the number 2 to document 1 and to docume",
        ),
        (
            {"sources": [{"url": "a", "number": -1}]},
            "sources holds a document (place 1) whose number is -1; its keys: url",
        ),
        ({"sources": [{"url": "a", "number": "甲"}]}, "sources holds a document (place 1) whose number is '甲'"),
        (
            {"sources": [{"url": "a", "pages": "5-3"}]},
            "sources holds a document (place 1) whose pages are '5-3' (expected 3, [3, 5] or \"3-5\", counted fro",
        ),
        (
            {"sources": [{"url": "a", "pages": [0]}]},
            "sources holds a document (place 1) whose pages are [0] (expected 3,",
        ),
        (
            {"sources": [{"url": "a", "pages": {"from": 1}}]},
            "sources holds a document (place 1) whose pages are {'from': 1}; its",
        ),
        ({"sources": [{"url": "a", "title": 3}]}, "sources holds a document (place 1) whose title is no text"),
        # All of the document would be shown otherwise, and be evidence.
        ({"sources": ["b", "a#page=0"]}, "sources holds a document (place 2) whose pages are '0' (expected 3,"),
    ],
)
def test_a_row_that_cannot_be_asked_is_named_with_its_keys(
    tmp_path: Path, changed: dict[str, object], message: str
) -> None:
    said = refusal(tmp_path, row(id="先"), row() | changed)
    assert said.startswith(f"質問.jsonl, row 2: {message}")
    assert said.endswith(f"; keys: {', '.join(row() | changed)}")


def test_a_row_without_the_column_is_named(tmp_path: Path) -> None:
    assert refusal(tmp_path, row(), {"id": "二", "question": "問い", "answer": "答え"}) == (
        "質問.jsonl, row 2: reference (reference) is missing; mend the row, or write `reference = []` in the field map "
        "to do without; keys: id, question, answer"
    )


@pytest.mark.parametrize("column", ["id", "question", "reference", "task_type", "citation_instruction", "sources"])
def test_half_a_character_is_refused_wherever_it_stands(tmp_path: Path, column: str) -> None:
    path = written(tmp_path, "x.jsonl", json.dumps(row(**{column: "半分\ud83d"})).encode())
    with pytest.raises(SetupError, match=rf'row 1: "{column}" holds half a character') as error:
        load_rows(path)
    str(error.value).encode()


def test_two_known_names_are_a_question_for_the_user(tmp_path: Path) -> None:
    assert refusal(tmp_path, {"qid": "1", "query": "問い", "prompt": "長い問い", "answer": "答え", "gold": "x"}) == (
        "質問.jsonl: write a field map (a TOML file for --fields) that says which column is what: "
        '`question = "query"` or `question = "prompt"`; `reference = "answer"` or `reference = "gold"`; '
        "keys: qid, query, prompt, answer, gold"
    )


def test_the_column_of_the_target_s_own_name_wins(tmp_path: Path) -> None:
    assert loaded(tmp_path, row(prompt="長い問い", answer="別", question_id="9")).rows == (
        Question("問１", "問い", "答え", None, None, ()),
    )


def test_missing_columns_are_answered_with_the_map_to_write(tmp_path: Path) -> None:
    assert refusal(tmp_path, {"questions": "問い", "正解": "答え"}) == (
        "質問.jsonl: write a field map (a TOML file for --fields) that says which column is what: "
        '`id = "COLUMN"` or `id = []` (rows are numbered); `question = "questions"`; '
        '`reference = "COLUMN"` or `reference = []` (none); keys: questions, 正解'
    )


def test_a_column_that_no_row_has_is_refused_with_the_nearest(tmp_path: Path) -> None:
    assert refusal(tmp_path, row(choices="a"), fields=FieldMap(question=("question", "choice"))) == (
        '質問.jsonl: the field map names the column "choice" for question, which no row has (did you mean "choices"?); '
        "keys: id, question, reference, choices"
    )


def test_many_and_unprintable_keys_stay_one_line(tmp_path: Path) -> None:
    said = refusal(tmp_path, {f"列\n{number}": 1 for number in range(25)})
    assert said.endswith("'\\u5217\\n19' and 5 more")


@pytest.mark.parametrize(
    ("name", "body", "message"),
    [
        ("x.jsonl", lines(row()) + b'{"id": "2", "question": \n', "x.jsonl, row 2 (line 2): broken JSON at column 25"),
        ("x.jsonl", lines(row()) + b"[1]\n", "x.jsonl, row 2 (line 2): a row must be a JSON object, not a list"),
        ("x.jsonl", lines(row()) + b"null\n", "x.jsonl, row 2 (line 2): a row must be a JSON object, not null"),
        ("x.jsonl", lines(row()) + "質問,答え\n".encode(), "x.jsonl, row 2 (line 2): broken JSON at column 1"),
        (
            "x.jsonl",
            lines(row(reference="答え")).decode().encode("cp932"),
            "x.jsonl, row 1 (line 1): not UTF-8; convert",
        ),
        ("x.json", "[\n{}, \n{'id': '問'}]".encode(), "x.json: broken JSON at line 3 column 2"),
        ("x.json", '[\n{"id": "問'.encode("euc-jp"), "x.json, line 2: not UTF-8; convert the file"),
        ("x.json", b"[1, 2]", "x.json, row 1: a row must be a JSON object, not a number"),
        ("x.json", '["問い"]'.encode(), "x.json, row 1: a row must be a JSON object, not a string"),
        ("x.json", b"[{}, true]", "x.json, row 2: a row must be a JSON object, not true or false"),
        (
            "x.json",
            b'"text"',
            "x.json begins with neither { nor [: JSON Lines, JSON and Parquet are read; save its rows",
        ),
        ("x.json", b'{"a": 1}', "found none (keys: a)"),
        ("x.json", b'{"a": [{}], "b": [{}]}', "found lists under the keys a, b"),
        ("x.json", b"[" * 100_000, "x.json: JSON that cannot be read (RecursionError: too long or too deep)"),
        (
            "x.csv",
            b"id,question\n1,2\n",
            "x.csv is CSV: JSON Lines, JSON and Parquet are read; save its rows as one of them",
        ),
        ("x.csv", b'"id","question"\r\n"1","2"\r\n', "x.csv is CSV: JSON Lines, JSON and Parquet are read"),
        ("x.tsv", "番号\t問い\n1\t2\n".encode("cp932"), "x.tsv is TSV: JSON Lines, JSON and Parquet are read"),
        ("x.xlsx", b"PK\x03\x04\x14\x00\x80", "x.xlsx is a spreadsheet or a ZIP archive: JSON Lines, JSON and Parquet"),
        ("x.jsonl.zst", b"\x28\xb5\x2f\xfd\x80", "x.jsonl.zst is compressed: unpack it first, e.g. zstd -d"),
        (
            "x.jsonl",
            '{"id": "一", "question": "古い問い", "question": "新しい問い"}\n'.encode(),
            "x.jsonl, row 1 (line 1): the key question stands twice in one object; keep one",
        ),
        ("x.json", b'[{"id": "1", "d": [{"a": 1, "a": 1}]}]', "x.json: the key a stands twice in one object; keep one"),
        ("x.jsonl", b"\xff\xfe{\x00", "x.jsonl is UTF-16: convert it"),
        ("x.jsonl.gz", b"\x1f\x8b\x08", "x.jsonl.gz is compressed: unpack it first"),
        ("x.jsonl", b"", "x.jsonl holds no rows"),
        ("x.jsonl", b"\xef\xbb\xbf\r\n \n", "x.jsonl holds no rows"),
        ("x.json", b"[]", "x.json holds no rows"),
        ("x.json", b'{"data": []}', "x.json holds no rows"),
    ],
)
def test_a_broken_file_is_one_line_with_the_place(tmp_path: Path, name: str, body: bytes, message: str) -> None:
    with pytest.raises(SetupError) as error:
        load_rows(written(tmp_path, name, body))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_file_and_a_directory_say_so(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"nowhere\.jsonl: there is no such file$"):
        load_rows(tmp_path / "nowhere.jsonl")
    written(tmp_path, "test.parquet", b"")
    written(tmp_path, "README.md", b"")
    with pytest.raises(SetupError, match=r"is a directory: name the data file in it \(test\.parquet\)$"):
        load_rows(tmp_path)


def test_a_field_map_takes_a_name_or_a_list(tmp_path: Path) -> None:
    text = '# 対応表\nquestion = ["question", "選択肢"]\nid = "q_id"\nreference = []\n'
    assert read_field_map(written(tmp_path, "map.toml", b"\xef\xbb\xbf" + text.encode())) == FieldMap(
        id=("q_id",), question=("question", "選択肢"), reference=()
    )


FIELDS = "the fields are id, question, reference, task_type, citation_instruction, sources, document"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'questions = "q"', f'map.toml: there is no field "questions"; {FIELDS}'),
        (b"question = 3", f'map.toml: "question" must be a column name or a list of them; {FIELDS}'),
        (b"question = []", f'map.toml: "question" must name a column; {FIELDS}'),
        (b'id = ""', f'map.toml: "id" must be a column name or a list of them; {FIELDS}'),
        (b'id = ["a", 1]', f'map.toml: "id" must be a column name or a list of them; {FIELDS}'),
        (b'[fields]\nid = "a"', f'map.toml: there is no field "fields"; {FIELDS}'),
        (b"id = q_id", "map.toml: broken TOML ("),
        ('id = "番号"'.encode("cp932"), "map.toml: not UTF-8; convert the file"),
    ],
)
def test_a_broken_field_map_is_one_line(tmp_path: Path, body: bytes, message: str) -> None:
    with pytest.raises(SetupError) as error:
        read_field_map(written(tmp_path, "map.toml", body))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("sources", "documents", "texts"),
    [
        (
            ["https://a.example/x.pdf#page=3", "https://a.example/x.pdf#page=5-7", "https://a.example/y#節", "law-1"],
            (
                SourceDocument(1, "https://a.example/x.pdf", (3,)),
                SourceDocument(2, "https://a.example/x.pdf", (5, 6, 7)),
                SourceDocument(3, "https://a.example/y#節"),
                SourceDocument(4, "law-1"),
            ),
            ("https://a.example/x.pdf#page=3", "https://a.example/x.pdf#page=5-7", "https://a.example/y#節", "law-1"),
        ),
        (
            [
                {"資料": "x", "NO": "4", "link": "u", "physical_pages": [3, "5-6", "９"], "title": "統計"},
                {"no": 2, "source_url": "v#page=2", "page": None, "title": None},
                {"no": 7.0, "doc_id": "w", "pages": "3〜4、8", "url": None},
            ],
            (
                SourceDocument(4, "u", (3, 5, 6, 9), "統計"),
                SourceDocument(2, "v", (2,)),
                SourceDocument(7, "w", (3, 4, 8)),
            ),
            ("u", "v", "w"),
        ),
        ([{"id": 3, "url": "u"}, {"id": 1, "url": "v"}], (SourceDocument(3, "u"), SourceDocument(1, "v")), ("u", "v")),
        (
            [{"id": "law-1"}, {"id": "law-2", "page": 2}],
            (SourceDocument(1, "law-1"), SourceDocument(2, "law-2", (2,))),
            ("law-1", "law-2"),
        ),
        ({"url": "u", "pages": []}, (SourceDocument(1, "u"),), ("u",)),
        (
            [{"url": "u#page=9", "pages": "３ － ５、８"}, {"url": "v", "pages": "3 - 4 6"}],
            (SourceDocument(1, "u", (3, 4, 5, 8)), SourceDocument(2, "v", (3, 4, 6))),
            ("u", "v"),
        ),
        (
            ["https://a.example/x.pdf#page=3&zoom=100,0,0", "https://a.example/x.html#page=top"],
            (
                SourceDocument(1, "https://a.example/x.pdf", (3,)),
                SourceDocument(2, "https://a.example/x.html#page=top"),
            ),
            ("https://a.example/x.pdf#page=3&zoom=100,0,0", "https://a.example/x.html#page=top"),
        ),
    ],
)
def test_documents_come_as_texts_or_as_objects_with_numbers_and_pages(
    tmp_path: Path, sources: object, documents: tuple[SourceDocument, ...], texts: tuple[str, ...]
) -> None:
    (question,) = loaded(tmp_path, row(sources=sources)).rows
    assert question.documents == documents
    # What the Tool version is held against: texts as they stand, the URLs of objects.
    assert question.sources == texts


def test_a_field_map_names_the_keys_of_a_document(tmp_path: Path) -> None:
    text = 'sources = "資料"\n[document]\nnumber = "資料番号"\nurl = "出典"\npages = "物理ページ"\n'
    fields = read_field_map(written(tmp_path, "map.toml", text.encode()))
    assert fields == FieldMap(
        sources=("資料",), document=DocumentKeys(number="資料番号", url="出典", pages="物理ページ")
    )
    dataset = loaded(tmp_path, row(資料=[{"資料番号": 5, "出典": "u", "物理ページ": 3, "url": "x"}]), fields=fields)
    assert dataset.rows[0].documents == (SourceDocument(5, "u", (3,)),)
    assert refusal(tmp_path, row(資料=[{"url": "u"}]), fields=fields) == (
        "質問.jsonl, row 1: 資料 holds a document (place 1) without a URL or document id; its keys: url; "
        "keys: id, question, reference, 資料"
    )
    broken = written(tmp_path, "broken.toml", b'[document]\nurls = "x"\n')
    with pytest.raises(SetupError, match=r"\[document\] names keys of a source's object: number, url, pages, title"):
        read_field_map(broken)


def test_a_missing_field_map_says_so(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"map\.toml cannot be read: No such file or directory$"):
        read_field_map(tmp_path / "map.toml")


def test_real_questions_load_with_and_without_their_choices() -> None:
    if not LAWQA.exists():
        pytest.skip(f"no questions at {LAWQA}")
    plain, joined = load_rows(LAWQA), load_rows(LAWQA, FieldMap(question=("question", "choices")))
    assert (plain.n_rows, plain.unused) == (105, ("choices", "multi_doc", "licence", "origin"))
    assert joined.unused == ("multi_doc", "licence", "origin")
    listed = [json.loads(line) for line in LAWQA.read_bytes().splitlines()]
    assert [(question.question, question.reference, question.sources) for question in joined.rows] == [
        (f"{item['question']}\n{item['choices']}", item["answer"], tuple(item["doc_ids"])) for item in listed
    ]


@pytest.mark.parametrize("document", [{"url": "https://a.example/\ud83d"}, {"url": "a", "title": "半\ud83d"}])
def test_half_a_character_in_a_document_is_refused_before_any_file_has_to_hold_it(
    tmp_path: Path, document: dict[str, str]
) -> None:
    body = json.dumps(row(sources=[document])).encode()
    with pytest.raises(SetupError, match=r"row 1: sources holds a document \(place 1\) with half a character") as error:
        load_rows(written(tmp_path, "x.jsonl", body))
    str(error.value).encode()


def test_keys_of_documents_that_nothing_reads_are_told_like_columns(tmp_path: Path) -> None:
    documents = [{"no": 1, "url": "u", "物理頁": [3], "id": "a"}, {"no": 2, "url": "v", "hash": "x"}]
    assert loaded(tmp_path, row(documents=documents, メモ="x")).unused == ("メモ", "documents.物理頁", "documents.hash")


def test_a_key_that_the_map_names_and_no_document_has_is_refused(tmp_path: Path) -> None:
    fields = FieldMap(document=DocumentKeys(number="番号", pages="ページ"))
    documents = [{"番号": 4, "url": "u", "頁": 3}]
    assert refusal(tmp_path, row(documents=documents), fields=fields).endswith(
        '質問.jsonl: [document] of the field map names "ページ", which no object in documents has; keys: 番号, url, 頁'
    )
    assert "keys: none" in refusal(tmp_path, row(), fields=fields)


def test_pages_with_a_million_spaces_take_no_hours(tmp_path: Path) -> None:
    row = {
        "id": "q",
        "question": "問",
        "reference": "答",
        "sources": [{"url": "u", "pages": "3" + " " * 1_000_000 + "x"}],
    }
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row, ensure_ascii=False) + "\n", encoding="utf-8")
    with pytest.raises(SetupError, match="whose pages are"):
        load_rows(path, None)
