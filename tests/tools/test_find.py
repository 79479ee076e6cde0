"""find: what the model reads and what becomes evidence."""

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from citations.model import PageView, Piece
from tools.document import Document
from tools.find import FindArguments, FindTool, Mode, find_in
from tools.tool import Language, ToolFailure
from tools.windows import LONGEST, REACH, snippets

URL = "https://example.jp/kosodate.html"
TEXT = (
    "東京都の子育て支援について。\n"
    "０１８サポートは、令和６年度から月額５，０００円を支給します。対象は都内在住の18歳以下の子供です。\n"
    "ｻｰﾊﾞの更新は３ヶ月ごと、霞ヶ関の國學院で行う。"
)


class Numbered:
    """Page 3 is URL; `closed` refuses pages that no search has shown."""

    def __init__(self, closed: bool = False) -> None:
        self.closed = closed

    def url_of(self, number: int) -> str | None:
        return URL if number == 3 else None

    def may_open(self, url: str) -> bool:
        return not self.closed or url == URL


class OnePage:
    """A source with one page."""

    def __init__(self, text: str, page_starts: tuple[int, ...] = ()) -> None:
        self.document = Document(URL, URL, "子育て支援", "text/html", text, "ab" * 32, "test 1", page_starts)

    async def get(self, url: str) -> Document:
        if url != URL:
            raise ToolFailure("not_found", url)
        return self.document


def run(
    text: str,
    keywords: list[str] | str,
    mode: Mode = "any",
    *,
    target: int | str = 3,
    start: int = 0,
    number: int | None = 3,
    page_starts: tuple[int, ...] = (),
    language: Language = "ja",
) -> tuple[str, tuple[PageView, ...]]:
    tool = FindTool(OnePage(text, page_starts), language)
    said = FindArguments.model_validate({"url_or_number": target, "keywords": keywords, "mode": mode, "start": start})
    result = asyncio.run(tool.call(said, Numbered()))
    return result.text([number]), result.seen


def shown(text: str, *keywords: str, mode: Mode = "any") -> list[str]:
    return [text[w.start : w.end] for hits in find_in(text, keywords, mode).keywords for w in hits.shown]


def test_hit_is_shown_with_its_sentences_and_is_evidence_word_for_word() -> None:
    text = "始まり。" + "あ" * 130 + "。前の文。子育てを支援する。後の文。" + "い" * 130 + "。"
    said, seen = run(text, "子育て")
    assert said == (f"[3] 子育て支援\nURL: {URL}\n「子育て」: 1件\n- 135文字目: 前の文。子育てを支援する。後の文。")
    assert seen == (
        PageView("find", URL, "子育て支援", (Piece("前の文。子育てを支援する。後の文。", "ab" * 32, 135, 152),)),
    )


def test_window_without_sentence_ends_is_cut_and_says_so() -> None:
    text = "あ" * 200 + "子育て" + "い" * 200
    said, seen = run(text, "子育て")
    assert said.splitlines()[-1] == "- 80文字目: …" + "あ" * 120 + "子育て" + "い" * 120 + "…"
    assert seen[0].pieces == (Piece("あ" * 120 + "子育て" + "い" * 120, "ab" * 32, 80, 323),)


@pytest.mark.parametrize(
    ("keyword", "found"),
    [
        ("018サポート", None),
        ("5,000円", None),
        ("令和6年度", None),
        ("2024年度", "令和６年度"),
        ("5000円", "５，０００円"),
        ("五千円", "５，０００円"),
        ("１８歳", None),
        ("サーバー", "ｻｰﾊﾞ"),
        ("3か月", "３ヶ月"),
        ("霞が関", "霞ヶ関"),
        ("国学院", "國學院"),
    ],
)
def test_other_spellings_are_found_and_named(keyword: str, found: str | None) -> None:
    (hits,) = find_in(TEXT, [keyword]).keywords
    assert [window.matched_as for window in hits.shown] == [() if found is None else (found,)]


def test_other_spelling_is_printed_with_the_hit() -> None:
    said, _ = run("令和６年の予算。", "2024年")
    assert said.splitlines()[-1] == "- 0文字目（一致: 令和６年）: 令和６年の予算。"


@pytest.mark.parametrize(
    ("text", "keyword"),
    [
        ("R60の型番", "令和6年"),
        ("PR6号", "令和6年"),
        ("115,000円", "5000円"),
        ("二十五条", "第5条"),
        ("サーバント", "サーバー"),
    ],
)
def test_other_spelling_inside_a_longer_number_or_word_is_no_match(text: str, keyword: str) -> None:
    assert shown(text, keyword) == []


def test_keyword_is_literal_and_no_pattern() -> None:
    assert shown("費用は1.5倍（約）です", "1.5倍（約）") == ["費用は1.5倍（約）です"]
    assert shown("費用は1x5倍です", "1.5倍") == []
    assert shown("あいうえお", ".*") == []


def test_keyword_across_a_line_end_is_found() -> None:
    assert shown("東京都の子育\nて支援。", "子育て支援") == ["東京都の子育\nて支援。"]


def test_miss_shows_the_nearest_line_and_is_no_evidence() -> None:
    said, seen = run(TEXT, ["子供手当", "鯨"])
    assert said == (
        f"[3] 子育て支援\nURL: {URL}\n"
        "「子供手当」: 一致なし（近い行・一致ではない: "
        "０１８サポートは、令和６年度から月額５，０００円を支給します。対象は都内在住の18歳以下の子供です。）\n"
        "「鯨」: 一致なし"
    )
    assert seen == (PageView("find", URL, "子育て支援"),)


def test_missed_keyword_with_spaces_says_how_to_ask_for_the_words() -> None:
    said, _ = run(TEXT, "子育て　令和6年度")
    assert said.splitlines()[-1] == '注: 空白で区切った語を別々に探すには keywords=["子育て", "令和6年度"]'


def test_more_hits_come_with_a_cursor_that_leads_on() -> None:
    text = "".join(f"{i}番目の子育て。" + "あ" * 150 + "。\n" for i in range(12))
    said, seen = run(text, "子育て")
    assert said.splitlines()[2] == '「子育て」: 12件（他7件: find(url_or_number=3, keywords=["子育て"], start=5)）'
    assert len(seen[0].pieces) == 5
    said, more = run(text, "子育て", start=10)
    assert said.splitlines()[2] == "「子育て」: 12件"
    assert ["10番目" in more[0].pieces[0].text, "11番目" in more[0].pieces[1].text] == [True, True]
    said, none = run(text, "子育て", start=12)
    assert said.splitlines()[2] == "「子育て」: 12件（start=12 以降はありません）"
    assert none[0].pieces == ()


def test_all_in_a_window_needs_the_words_close_together() -> None:
    near = "支給額は月額5,000円。" + "あ" * 300 + "。支給の対象。" + "い" * 300 + "。支給額は年額。"
    assert shown(near, "支給額", "月額", mode="window") == ["支給額は月額5,000円。"]
    said, seen = run(near, ["月額", "年額"], "window")
    assert said.splitlines()[2] == (
        '「月額」＋「年額」: 0件（どの語もありますが、近くにそろう箇所がありません。mode="any" で1語ずつ見られます）'
    )
    assert seen[0].pieces == ()


def test_continued_window_search_keeps_its_mode() -> None:
    text = ("月額と支給。" + "あ" * 200 + "。\n") * 7
    said, _ = run(text, ["月額", "支給"], "window")
    assert said.splitlines()[2] == (
        '「月額」＋「支給」: 7件（他2件: find(url_or_number=3, keywords=["月額", "支給"], mode="window", start=5)）'
    )


def test_all_in_the_page_shows_nothing_where_a_word_is_missing() -> None:
    said, seen = run(TEXT, ["子育て", "鯨"], "page")
    assert said.splitlines()[2:] == [
        '「子育て」: 1件（他の語が無いため表示なし。1語ずつ見るには mode="any"）',
        "「鯨」: 一致なし",
    ]
    assert seen[0].pieces == ()
    assert len(shown(TEXT, "子育て", "対象", mode="page")) == 2


def test_physical_page_is_named_and_bounds_the_window() -> None:
    said, seen = run("一頁目の文。\n二頁目の子育て。\n三頁目の文。", "子育て", page_starts=(0, 7, 16))
    assert said.splitlines()[-1] == "- 7文字目（物理ページ 2）: 二頁目の子育て。"
    assert seen[0].pieces == (Piece("二頁目の子育て。", "ab" * 32, 7, 15),)


def test_page_without_number_is_called_by_its_url() -> None:
    said, _ = run(("子育て。" + "あ" * 200 + "。") * 6, "子育て", target=URL, number=None)
    assert said.splitlines()[0] == "[番号なし] 子育て支援"
    assert said.splitlines()[2] == (
        f'「子育て」: 6件（他1件: find(url_or_number="{URL}", keywords=["子育て"], start=5)）'
    )


def test_english_wording() -> None:
    said, _ = run(TEXT, ["子育て", "鯨"], language="en")
    assert said.splitlines()[2] == '"子育て": 1 hits'
    assert said.splitlines()[-1] == '"鯨": no match'


@pytest.mark.parametrize("target", [3, "3", "[3]", "３", "【3】"])
def test_number_may_be_written_as_models_write_it(target: int | str) -> None:
    assert run(TEXT, "子育て", target=target)[0].startswith("[3] ")


def test_unknown_number_and_closed_page_are_failures() -> None:
    tool = FindTool(OnePage(TEXT), "ja")
    with pytest.raises(ToolFailure, match="番号 9") as unknown:
        asyncio.run(tool.call(FindArguments(url_or_number=9, keywords=["子"]), Numbered()))
    with pytest.raises(ToolFailure) as refused:
        asyncio.run(tool.call(FindArguments(url_or_number="https://b.jp/", keywords=["子"]), Numbered(closed=True)))
    assert (unknown.value.kind, refused.value.kind) == ("unknown_page", "refused")


@pytest.mark.parametrize("keywords", ["子育て", ["子育て"], '["子育て"]'])
def test_one_keyword_may_be_a_string_or_a_list(keywords: list[str] | str) -> None:
    assert FindArguments.model_validate({"url_or_number": 3, "keywords": keywords}).keywords == ["子育て"]


@pytest.mark.parametrize(
    "broken",
    [
        {"keywords": []},
        {"keywords": ["　"]},
        {"keywords": ["あ"] * 9},
        {"keywords": ["あ" * 201]},
        {"keywords": ["あ"], "mode": "regex"},
        {"keywords": ["あ"], "start": -1},
        {"keywords": ["あ"], "limit": 3},
    ],
)
def test_wrong_arguments_are_refused(broken: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        FindArguments.model_validate({"url_or_number": 3, **broken})


# Repeated, because windows can grow beyond their bound only where matches are dense.
LONG = st.builds(
    str.__mul__, st.text(st.sampled_from("子育て支援。！\n　ｶﾞ令和6年2024,０あいう"), max_size=400), st.integers(1, 40)
)


@given(
    LONG,
    st.lists(st.text(st.sampled_from("子育て令和6年2024ガ"), min_size=1, max_size=4), min_size=1, max_size=3),
    st.sampled_from(["any", "window", "page"]),
)
def test_windows_are_in_order_apart_and_bounded(text: str, keywords: list[str], mode: Mode) -> None:
    for hits in find_in(text, keywords, mode).keywords:
        spans = [(window.start, window.end) for window in hits.shown]
        assert spans == sorted(spans)
        assert all(before[1] <= after[0] for before, after in pairwise(spans))
        assert all(0 <= start < end <= len(text) and end - start <= LONGEST + 4 * REACH for start, end in spans)


def test_a_word_of_every_line_does_not_show_the_whole_page() -> None:
    text = "2024年の統計。\n" * 1_000
    for keyword in ("統計", "令和6年"):
        (hits,) = find_in(text, [keyword]).keywords
        assert [(window.start, window.end) for window in hits.shown[:3]] == [(0, 479), (480, 959), (960, 1439)]
        assert (hits.n, hits.next) == (21, 5)


def test_all_hits_come_out_once_along_the_cursor() -> None:
    text = "".join(f"{i}番目の子育て。" + "あ" * 150 + "。\n" for i in range(12))
    spans: list[tuple[int, int]] = []
    start: int | None = 0
    while start is not None:
        (hits,) = find_in(text, ["子育て"], start=start).keywords
        spans += [(window.start, window.end) for window in hits.shown]
        start = hits.next
    assert len(spans) == len(set(spans)) == 12


def test_real_law_texts_give_exact_slices() -> None:
    folder = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "corpus" / "docs"
    if not folder.is_dir():
        pytest.skip("no ../shared/data/corpus beside the checkout")
    text = (folder / "law-001.md").read_text(encoding="utf-8")
    (first, second) = find_in(text, ["第五条", "届出書提出外国会社"]).keywords
    assert (first.n > 0, second.n > 0) == (True, True)
    for window in (*first.shown, *second.shown):
        assert text[window.start : window.end].strip() == text[window.start : window.end]


def test_snippets_hold_the_rare_terms_and_are_slices() -> None:
    text = "まえがき。" + "あ" * 300 + "。支給額は月額５，０００円である。" + "い" * 300 + "。支給の手続は窓口で行う。"
    found = snippets(text, {"支給": 1.0, "月額": 3.0, "窓口": 2.0}, 2, 60)
    assert [("月額" in found[0], "窓口" in found[1])] == [(True, True)]
    assert all(piece in text and len(piece) <= 60 for piece in found)


def test_page_that_only_its_title_brought_shows_its_beginning() -> None:
    assert snippets("　はじめの文。" + "あ" * 200, {"題名": 1.0}, 2, 50) == ["はじめの文。"]
    assert snippets("", {"題名": 1.0}, 2, 50) == []


@given(
    st.text(st.sampled_from("支給額は月。\n 5５0０ABC"), max_size=300),
    st.dictionaries(st.sampled_from(["支給", "給額", "月", "50", "abc"]), st.floats(0.1, 9), min_size=1),
    st.integers(1, 3),
    st.integers(10, 80),
)
def test_snippets_are_exact_bounded_slices(text: str, terms: dict[str, float], n: int, width: int) -> None:
    found = snippets(text, terms, n, width)
    assert len(found) <= n
    assert all(piece and piece in text and len(piece) <= width for piece in found)


def test_brackets_without_end_are_a_keyword_and_no_crash() -> None:
    with pytest.raises(ValidationError, match="longer than 200 characters"):
        FindArguments.model_validate({"url_or_number": 3, "keywords": "[" * 100_000})


@pytest.mark.parametrize("keyword", ["絵文字\ud83d", "\udfff"])
def test_half_a_character_is_told_the_model_before_a_tape_or_an_index_sees_it(keyword: str) -> None:
    for arguments in ({"url_or_number": 3, "keywords": [keyword]}, {"url_or_number": keyword, "keywords": ["税"]}):
        with pytest.raises(ValidationError, match="lone surrogate"):
            FindArguments.model_validate(arguments)
