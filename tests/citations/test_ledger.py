"""Which page gets which number, and what counts as its evidence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citations.ledger import Ledger
from citations.model import Evidence, LedgerPage, PageView, Piece, ViewKind
from citations.policy import Policy

A, B, C = "https://example.jp/子育て", "https://example.jp/b", "https://example.jp/c"


def view(kind: ViewKind, url: str, *texts: str, final_url: str | None = None, title: str = "題名") -> PageView:
    return PageView(kind, url, title, tuple(Piece(text) for text in texts), final_url)


def test_pages_are_numbered_from_one_in_order_of_first_search_result() -> None:
    ledger = Ledger()
    shown = [A, B, A, C, "http://example.jp/%E5%AD%90%E8%82%B2%E3%81%A6#top"]
    assert [ledger.record(view("search", url)) for url in shown] == [1, 2, 1, 3, 1]


def test_fetch_and_find_use_the_number_of_the_search_result() -> None:
    ledger = Ledger()
    ledger.record(view("search", A, "スニペット"))
    assert ledger.record(view("fetch", A, "本文")) == 1
    assert ledger.record(view("find", A, "一致箇所")) == 1
    assert ledger.evidence() == {1: "スニペット\n\n本文\n\n一致箇所"}


def test_a_page_remembers_what_showed_it_and_where_it_stood() -> None:
    ledger = Ledger()
    body = Piece("所得制限は撤廃された。", "ab" * 32, 10, 21)
    ledger.record(view("search", A, "所得制限は撤廃された。", title=""))
    ledger.record(PageView("fetch", A, "私立高校等の授業料支援", (body,), B))
    ledger.record(PageView("fetch", A, "別の題名", (body,), B))
    assert ledger.pages() == (
        LedgerPage(
            number=1,
            url=A,
            title="私立高校等の授業料支援",
            aliases=(B,),
            evidence=(Evidence("search", Piece("所得制限は撤廃された。")), Evidence("fetch", body)),
            n_failed=0,
        ),
    )
    assert ledger.evidence() == {1: "所得制限は撤廃された。"}


def test_failed_fetch_gets_no_number_and_adds_no_evidence() -> None:
    ledger = Ledger()
    ledger.failed(A)
    assert ledger.pages() == ()
    ledger.record(view("search", A, "スニペット"))
    ledger.record(view("search", B))
    ledger.failed(A)
    ledger.failed(B)
    ledger.failed(B)
    assert [page.n_failed for page in ledger.pages()] == [1, 2]
    assert ledger.evidence() == {1: "スニペット", 2: None}


def test_blank_text_is_evidence_and_empty_text_is_none() -> None:
    ledger = Ledger()
    ledger.record(view("search", A, "　\n"))
    ledger.record(view("search", B, ""))
    assert ledger.evidence() == {1: "　\n", 2: None}


def test_unseen_fetch_is_shown_without_number_and_evidence() -> None:
    ledger = Ledger()
    assert ledger.record(view("fetch", A, "本文")) is None
    assert ledger.record(view("find", A, "一致")) is None
    assert (ledger.pages(), ledger.may_open(A)) == ((), True)
    assert ledger.record(view("search", A, "スニペット")) == 1
    assert ledger.evidence() == {1: "スニペット"}


def test_unseen_fetch_can_be_numbered() -> None:
    ledger = Ledger(Policy(unseen_fetch="number"))
    ledger.record(view("search", A))
    assert ledger.record(view("fetch", B, "本文", final_url=C)) == 2
    assert (ledger.record(view("search", C)), ledger.evidence()) == (2, {1: None, 2: "本文"})


def test_unseen_fetch_can_be_refused() -> None:
    ledger = Ledger(Policy(unseen_fetch="refuse"))
    ledger.record(view("search", A))
    assert (ledger.may_open(A), ledger.may_open(A + "#節"), ledger.may_open(B)) == (True, True, False)
    assert ledger.record(view("fetch", B, "本文")) is None


def test_the_url_after_a_redirect_is_the_same_page() -> None:
    ledger = Ledger()
    ledger.record(view("search", A))
    ledger.record(view("fetch", A, "本文", final_url=B))
    assert (ledger.record(view("search", B)), ledger.record(view("search", C))) == (1, 2)
    assert [(page.url, page.aliases) for page in ledger.pages()] == [(A, (B,)), (C, ())]


def test_a_redirect_to_another_spelling_is_no_alias() -> None:
    ledger = Ledger()
    ledger.record(view("search", "http://example.jp/子育て"))
    ledger.record(view("fetch", A, "本文", final_url=A + "#top"))
    assert ledger.pages()[0].aliases == ()


def test_two_numbered_pages_that_turn_out_to_be_one_keep_their_first_numbers() -> None:
    ledger = Ledger()
    ledger.record(view("search", A, "スニペットA"))
    ledger.record(view("search", B, "スニペットB"))
    assert ledger.record(view("fetch", A, "本文", final_url=B)) == 1
    assert (ledger.number_of(A), ledger.number_of(B)) == (1, 2)
    assert ledger.record(view("fetch", B, "続き")) == 2
    assert ledger.evidence() == {1: "スニペットA\n\n本文", 2: "スニペットB\n\n続き"}
    assert [page.aliases for page in ledger.pages()] == [(), ()]


def test_an_unseen_url_that_redirects_to_a_numbered_page_is_that_page() -> None:
    ledger = Ledger()
    ledger.record(view("search", B, "スニペット"))
    assert ledger.record(view("fetch", A, "本文", final_url=B)) == 1
    assert (ledger.number_of(A), ledger.url_of(1), ledger.pages()[0].aliases) == (1, B, (A,))


def test_given_documents_keep_their_numbers() -> None:
    ledger = Ledger()
    ledger.given(3, A, "資料3", (Piece("一頁目"), Piece("二頁目")))
    ledger.given(1, B, "資料1")
    ledger.given(7, A, "資料7（同じ資料の別の頁）", (Piece("七頁目"),))
    assert ledger.evidence() == {1: None, 3: "一頁目\n\n二頁目", 7: "七頁目"}
    assert (ledger.number_of(A), ledger.url_of(7)) == (3, A)
    assert ledger.record(view("search", C)) == 8


def test_a_given_number_cannot_be_given_twice() -> None:
    ledger = Ledger()
    ledger.given(1, A, "資料1")
    with pytest.raises(ValueError, match="number 1 is taken"):
        ledger.given(1, B, "資料1")
    with pytest.raises(ValueError, match="cannot be negative"):
        ledger.given(-1, B, "資料")


def test_unknown_numbers_and_urls_are_none() -> None:
    ledger = Ledger()
    assert (ledger.url_of(1), ledger.number_of(A), ledger.evidence()) == (None, None, {})


def test_documents_that_differ_by_fragment_can_be_different_pages() -> None:
    ledger = Ledger(Policy(fragment="keep"))
    urls = [A + "#第一条", A + "#第二条", A + "#第一条"]
    assert [ledger.record(view("search", url)) for url in urls] == [1, 2, 1]


URLS = st.sampled_from([f"https://example.jp/{name}" for name in "あいうえおab"])
VIEWS = st.lists(
    st.builds(view, st.sampled_from(["search", "fetch", "find"]), URLS, st.sampled_from(["", " ", "一", "二"])),
    max_size=30,
)


@given(VIEWS)
def test_numbers_are_dense_from_one_stable_and_independent_of_fetches(views: list[PageView]) -> None:
    ledger, searches_only = Ledger(), Ledger()
    first_seen: dict[str, int] = {}
    for seen in views:
        number = ledger.record(seen)
        if seen.kind == "search":
            assert searches_only.record(seen) == number
        if number is not None:
            assert first_seen.setdefault(seen.url, number) == number
    assert [page.number for page in ledger.pages()] == list(range(1, len(first_seen) + 1))
    assert {page.url: page.number for page in ledger.pages()} == first_seen


@given(VIEWS)
def test_evidence_does_not_depend_on_the_order_of_fetches(views: list[PageView]) -> None:
    searches = [seen for seen in views if seen.kind == "search"]
    fetches = [seen for seen in views if seen.kind != "search"]
    ledger, other = Ledger(), Ledger()
    for seen in searches + fetches:
        ledger.record(seen)
    for seen in searches + fetches[::-1]:
        other.record(seen)
    for page, same_page in zip(ledger.pages(), other.pages(), strict=True):
        assert (page.number, page.url) == (same_page.number, same_page.url)
        assert {seen.piece for seen in page.evidence} == {seen.piece for seen in same_page.evidence}


@given(VIEWS)
def test_every_number_has_exactly_the_text_shown_of_its_page(views: list[PageView]) -> None:
    ledger = Ledger()
    expected: dict[int, list[str]] = {}
    for seen in views:
        number = ledger.record(seen)
        if number is not None:
            texts = expected.setdefault(number, [])
            texts += [piece.text for piece in seen.pieces if piece.text and piece.text not in texts]
    assert ledger.evidence() == {number: "\n\n".join(texts) or None for number, texts in expected.items()}
