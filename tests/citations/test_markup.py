"""The strict reading: what is a sentence, what is a citation, where each stands."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from citations.markup import (
    LONGCITE,
    TAGS,
    Dialect,
    PlamoName,
    dialect_named,
    flags,
    parse,
    plamo,
    plamo_names,
    untagged,
)
from citations.model import Answer, Citation, Sentence


class ReadSentence(BaseModel):
    text: str
    citations: list[int | None]


class Diagnostic(BaseModel):
    code: str


class ExpectedReading(BaseModel):
    strict: list[ReadSentence]
    diagnostics: list[Diagnostic]


class FormatCase(BaseModel):
    id: str
    raw: str
    dialect: str
    expected: ExpectedReading


PATH = Path(__file__).parents[1] / "conformance" / "format_cases.jsonl"
CASES = [FormatCase.model_validate_json(line) for line in PATH.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_strict_reading_of_the_worked_cases(case: FormatCase) -> None:
    answer = parse(case.raw, dialect_named(case.dialect))
    assert [
        ReadSentence(text=sentence.text, citations=[citation.number for citation in sentence.citations])
        for sentence in answer.sentences
    ] == case.expected.strict


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_flags_agree_with_the_codes_of_the_worked_cases(case: FormatCase) -> None:
    codes = {finding.code for finding in case.expected.diagnostics}
    flag_of = {"W02": "no_sentence", "W03": "no_citation"}
    expected = tuple(flag for code, flag in flag_of.items() if code in codes)
    assert flags(parse(case.raw, dialect_named(case.dialect))) == expected


def test_offsets_are_code_points_of_the_whole_element() -> None:
    raw = "😀前<sentence> 上々😀です。<cite> 03 </cite></sentence>"
    assert parse(raw) == Answer(raw, "tags", (Sentence("上々😀です。", (Citation(3, "03", 19, 36),), 2, 47),))
    assert (raw[19:36], raw[2:47]) == ("<cite> 03 </cite>", raw.removeprefix("😀前"))


@pytest.mark.parametrize(
    ("body", "number"),
    [
        ("1", 1),
        ("007", 7),
        ("　2\n", 2),
        ("9" * 18, 10**18 - 1),
        ("9" * 19, None),
        ("１", None),
        ("一", None),
        ("1, 2", None),
        ("+1", None),
        ("1_0", None),
        ("²", None),
        ("[1]", None),
        ("1.", None),
    ],
)
def test_a_number_is_one_to_eighteen_ascii_digits(body: str, number: int | None) -> None:
    (sentence,) = parse(f"<sentence>文<cite>{body}</cite></sentence>").sentences
    assert [citation.number for citation in sentence.citations] == [number]


@pytest.mark.parametrize("body", ["", " ", "　\t\n"])
def test_an_empty_cite_is_no_citation(body: str) -> None:
    assert parse(f"<sentence>文<cite>{body}</cite></sentence>").sentences[0].citations == ()


def test_a_sentence_of_cites_alone_is_left_out_with_its_citations() -> None:
    assert parse("<sentence> <cite>1</cite>　</sentence><sentence></sentence>").sentences == ()


def test_nothing_outside_sentences_is_read() -> None:
    raw = "前<cite>1</cite><sentence>文</sentence><cite>2</cite>後<sentence>切れた<cite>3</cite>"
    assert [(s.text, s.citations) for s in parse(raw).sentences] == [("文", ())]


def test_a_cite_never_closes_in_another_sentence() -> None:
    raw = "<sentence>甲<cite>1</sentence><sentence>乙</cite><cite>2</cite></sentence>"
    assert [(s.text, [c.number for c in s.citations]) for s in parse(raw).sentences] == [
        ("甲<cite>1", []),
        ("乙</cite>", [2]),
    ]


def test_longcite_spans_are_citations_without_page_number() -> None:
    (sentence,) = parse("<statement>文<cite>[2-4][6-6]</cite><cite>3</cite></statement>", LONGCITE).sentences
    assert [(citation.number, citation.body) for citation in sentence.citations] == [(None, "[2-4][6-6]"), (None, "3")]


def test_plamo_names_are_settings() -> None:
    raw = "<|plamo:begin_s:plamo|>文<|plamo:begin_c:plamo|>2<|plamo:end_c:plamo|><|plamo:end_s:plamo|>"
    assert parse(raw, plamo()).sentences == ()
    answer = parse(raw, plamo("s", "c"))
    assert (answer.dialect, [(s.text, s.citations[0].number) for s in answer.sentences]) == ("plamo(s,c)", [("文", 2)])


def test_plamo_names_seen_are_listed() -> None:
    raw = "<|plamo:end_x:plamo|><|plamo:begin_文:plamo|><|plamo:begin_s:plamo|><|plamo:begin_s:plamo|><|plamo:end_s:plamo|>"
    assert plamo_names(raw) == (PlamoName("x", 0, 1), PlamoName("s", 2, 1))
    assert plamo_names("<|plamo:begin_tool:plam") == ()


@pytest.mark.parametrize(
    ("sentence", "cite"), [("", "cite"), ("a|b", "cite"), ("s", "s"), ("文", "cite"), ("s\n", "c")]
)
def test_impossible_plamo_names_are_refused(sentence: str, cite: str) -> None:
    with pytest.raises(ValueError):
        plamo(sentence, cite)


def test_dialects_have_names() -> None:
    names = ["tags", "longcite", "plamo", "plamo(s,c)"]
    assert [dialect_named(name).name for name in names] == names
    assert dialect_named("plamo(sentence, cite)") == plamo()
    for name in ("", "TAGS", "plamo(s)", "plamo(s,c", "xml"):
        with pytest.raises(ValueError):
            dialect_named(name)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("", ()),
        (" 　\n", ()),
        ("文", ("no_sentence",)),
        ("<sentence><cite>1</cite></sentence>", ("no_sentence",)),
        ("<sentence>文<cite></cite></sentence>", ("no_citation",)),
        ("<sentence>文<cite>出典なし</cite></sentence>", ()),
    ],
)
def test_flags_say_why_an_answer_is_unparsable(raw: str, expected: tuple[str, ...]) -> None:
    assert flags(parse(raw)) == expected


def test_untagged_is_the_whole_answer_as_prose() -> None:
    raw = "はじめに。\n<sentence>甲<cite>1</cite>乙。<cite>2</sentence>\n</cite>終<cite>3</cite><sentence>丙"
    assert untagged(parse(raw)) == "はじめに。\n甲乙。2\n終丙"


Cite = tuple[str, int, int]
Element = tuple[str, list[Cite], int, int]


def naive_reading(raw: str, dialect: Dialect) -> list[Element]:
    """The rules of the design, word for word, with str.find."""
    sentences: list[Element] = []
    position = 0
    while (start := raw.find(dialect.sentence_open, position)) >= 0:
        body_start = start + len(dialect.sentence_open)
        body_end = raw.find(dialect.sentence_close, body_start)
        if body_end < 0:
            break
        position = body_end + len(dialect.sentence_close)
        cites: list[Cite] = []
        text, inside = "", body_start
        while (cite := raw.find(dialect.cite_open, inside, body_end)) >= 0:
            cite_start = cite + len(dialect.cite_open)
            cite_end = raw.find(dialect.cite_close, cite_start, body_end)
            if cite_end < 0:
                break
            text += raw[inside:cite]
            inside = cite_end + len(dialect.cite_close)
            if body := raw[cite_start:cite_end].strip():
                cites.append((body, cite, inside))
        text = (text + raw[inside:body_end]).strip()
        if text:
            sentences.append((text, cites, start, position))
    return sentences


DIALECTS = [TAGS, LONGCITE, plamo(), plamo("a", "b")]
FRAGMENTS = [
    tag
    for dialect in DIALECTS
    for tag in (dialect.sentence_open, dialect.sentence_close, dialect.cite_open, dialect.cite_close)
]
ANSWERS = st.lists(
    st.one_of(
        st.sampled_from(FRAGMENTS), st.sampled_from(["1", "文。", " ", "<", ">", "</", "😀", "\ud800"]), st.text()
    ),
    max_size=25,
).map("".join)


@given(ANSWERS, st.sampled_from(DIALECTS))
def test_the_reading_is_the_rules_word_for_word(raw: str, dialect: Dialect) -> None:
    assert [
        (s.text, [(c.body, c.start, c.end) for c in s.citations], s.start, s.end) for s in parse(raw, dialect).sentences
    ] == naive_reading(raw, dialect)


@given(ANSWERS, st.sampled_from(DIALECTS))
def test_every_element_stands_where_its_offsets_say(raw: str, dialect: Dialect) -> None:
    end = 0
    for sentence in parse(raw, dialect).sentences:
        assert end <= sentence.start
        element = raw[sentence.start : sentence.end]
        assert element.startswith(dialect.sentence_open)
        assert element.endswith(dialect.sentence_close)
        for citation in sentence.citations:
            cite = raw[citation.start : citation.end]
            assert cite.removeprefix(dialect.cite_open).removesuffix(dialect.cite_close).strip() == citation.body
        end = sentence.end


@given(
    st.lists(
        st.tuples(st.sampled_from(["文。", "題は「甲」である。"]), st.lists(st.integers(0, 10**18 - 1))), max_size=8
    )
)
def test_what_is_written_by_the_rules_is_read_back(written: list[tuple[str, list[int]]]) -> None:
    raw = "\n".join(
        f"<sentence>{text}{''.join(f'<cite>{number}</cite>' for number in numbers)}</sentence>"
        for text, numbers in written
    )
    assert [(s.text, [c.number for c in s.citations]) for s in parse(raw).sentences] == written


HOSTILE = {
    "opens": "<sentence>",
    "cites": "<cite>",
    "mixed": "<sentence><cite>",
    "unclosed cites in one sentence": "<cite>1",
    "empty sentences": "<sentence></sentence>",
    "reopened": "<sentence>文<cite>1</sentence><cite>",
    "closes": "</sentence></cite>",
    "angle brackets": "<",
    "plamo heads": "<|plamo:begin_",
    "white space": "<sentence> ",
}


@pytest.mark.parametrize("pattern", HOSTILE)
@pytest.mark.parametrize("dialect", [TAGS, plamo()], ids=["tags", "plamo"])
def test_no_input_makes_the_reading_quadratic(pattern: str, dialect: Dialect) -> None:
    """Sixteen times the text takes about 16 times the CPU time; a quadratic reading takes 256 times."""

    def cpu_s(n_chars: int) -> float:
        piece = HOSTILE[pattern]
        raw = f"<sentence>{piece * (n_chars // len(piece))}</sentence>"
        spent: list[float] = []
        for _ in range(3):
            start = time.process_time()
            flags(parse(raw, dialect))
            spent.append(time.process_time() - start)
        return min(spent)

    assert cpu_s(320_000) < 100 * max(cpu_s(20_000), 1e-4)


def test_prose_for_the_judge_keeps_no_number_of_a_cite_outside_a_sentence() -> None:
    raw = "人口は10人。<cite>3</cite>\n<sentence>面積は5。<cite>1</cite><cite>2</cite></sentence> 余談<cite>4"
    assert untagged(parse(raw)) == "人口は10人。\n面積は5。 余談4"
