"""When two URLs are one page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citations.ledger import page_identity
from citations.policy import Policy

POLICY = Policy()


def same(one: str, other: str, policy: Policy = POLICY) -> bool:
    return page_identity(one, policy) == page_identity(other, policy)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://www.metro.tokyo.lg.jp/a.html", "http://www.metro.tokyo.lg.jp/a.html"),
        ("HTTPS://WWW.Metro.Tokyo.LG.JP/a.html", "https://www.metro.tokyo.lg.jp/a.html"),
        ("https://example.jp:443/a", "https://example.jp/a"),
        ("http://example.jp:80/a", "https://example.jp/a"),
        ("https://example.jp:/a", "https://example.jp/a"),
        ("https://example.jp/", "https://example.jp"),
        ("https://example.jp/?q=1", "https://example.jp?q=1"),
        ("https://example.jp/a#第三章", "https://example.jp/a"),
        ("https://example.jp/%e5%ad%90", "https://example.jp/子"),
        ("https://example.jp/?q=子育て", "https://example.jp/?q=%E5%AD%90%E8%82%B2%E3%81%A6"),
        ("https://example.jp/%7Euser/%41", "https://example.jp/~user/A"),
        ("https://example.jp/a b", "https://example.jp/a%20b"),
        ("https://example.jp/?a[]=1", "https://example.jp/?a%5B%5D=1"),
        ("https://例え.jp/", "https://例え.JP"),
        (" https://example.jp/a\n", "https://example.jp/a"),
        ("https://[2001:DB8::1]:443/", "https://[2001:db8::1]"),
    ],
)
def test_spellings_of_one_page_are_one_page(one: str, other: str) -> None:
    assert page_identity(one, POLICY) == page_identity(other, POLICY)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://example.jp/a", "https://example.jp/a/"),
        ("https://example.jp/A", "https://example.jp/a"),
        ("https://example.jp/?a=1&b=2", "https://example.jp/?b=2&a=1"),
        ("https://example.jp/?q=a+b", "https://example.jp/?q=a%2Bb"),
        ("https://example.jp/a%2Fb", "https://example.jp/a/b"),
        ("https://example.jp:8080/", "https://example.jp/"),
        ("https://example.jp:80/", "https://example.jp/"),
        ("https://www.example.jp/", "https://example.jp/"),
        ("https://example.jp/%8Eq", "https://example.jp/子"),
        ("ftp://example.jp/a", "https://example.jp/a"),
    ],
)
def test_different_pages_stay_different(one: str, other: str) -> None:
    assert page_identity(one, POLICY) != page_identity(other, POLICY)


def test_kept_fragments_tell_documents_of_a_corpus_apart() -> None:
    keep = Policy(fragment="keep")
    one, other = "https://elaws.example.jp/law/1#第一条", "https://elaws.example.jp/law/1#第二条"
    assert (same(one, other), same(one, other, keep)) == (True, False)
    assert same(one, "http://elaws.example.jp/law/1#%E7%AC%AC%E4%B8%80%E6%9D%A1", keep)


def test_document_ids_stay_as_they_are() -> None:
    assert page_identity("資料/令和6年度%41#2", POLICY) == "資料/令和6年度%41"
    assert page_identity("資料/令和6年度%41#2", Policy(fragment="keep")) == "資料/令和6年度%41#2"


def test_http_and_https_can_be_kept_apart() -> None:
    apart = Policy(http_is_https=False)
    assert not same("http://example.jp/a", "https://example.jp/a", apart)
    assert same("http://example.jp:80/a", "http://example.jp/a", apart)


URL_LIKE = st.one_of(
    st.text(),
    st.text(alphabet="aA%2F4E~ 子#?&=:/@[].\\\ud83d", max_size=30),
    st.builds(
        "{}://{}{}".format,
        st.sampled_from(["http", "HTTPS", "ftp", "x"]),
        st.text(alphabet="aB.:80[]@子%41 ", max_size=12),
        st.text(alphabet="/aA%2f41子?#&= +", max_size=30),
    ),
)


@given(URL_LIKE, st.sampled_from([Policy(), Policy(fragment="keep"), Policy(http_is_https=False)]))
def test_an_identity_is_its_own_identity(url: str, policy: Policy) -> None:
    identity = page_identity(url, policy)
    assert page_identity(identity, policy) == identity
