"""Other spellings of a keyword: what must be among them, and what must not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.text import fold
from tools.variants import LIMIT, has_two_forms, in_new_forms, variants


@pytest.mark.parametrize(
    ("keyword", "expected"),
    [
        ("令和6年", {"2024年", "R6年", "R6", "令和六年"}),
        ("令和６年度", {"2024年度", "R6年度", "FY2024"}),
        ("R6", {"令和6年", "2024年"}),
        ("2024年", {"令和6年", "R6年", "二〇二四年"}),
        ("2024", {"令和6年", "R6"}),
        ("二〇二四年", {"2024年", "令和6年"}),
        ("令和元年", {"2019年", "令和1年", "平成31年", "R1"}),
        ("平成31年度", {"2019年度", "令和元年度"}),
        ("平成元年", {"1989年", "平成1年", "昭和64年"}),
        ("昭和六十四年", {"1989年", "平成元年"}),
        ("令和6年4月1日", {"2024年4月1日", "R6.4.1", "2024/04/01", "令和六年四月一日"}),
    ],
)
def test_years_cross_calendars(keyword: str, expected: set[str]) -> None:
    assert expected <= set(variants(keyword))


@pytest.mark.parametrize(
    ("keyword", "expected"),
    [
        ("１，２３４", {"1234", "千二百三十四"}),
        ("千二百三十四", {"1,234", "1234"}),
        ("1億2,000万円", {"120,000,000円", "120000000円", "1億2000万円", "一億二千万円", "1.2億円"}),
        ("1.2億円", {"1億2,000万円", "120,000,000円"}),
        ("5000円", {"5,000円", "五千円"}),
        ("第5条第6項", {"第五条第六項"}),
        ("第二十三条の二", {"第23条の2"}),
    ],
)
def test_numerals_cross_styles(keyword: str, expected: set[str]) -> None:
    assert expected <= set(variants(keyword))


@pytest.mark.parametrize(
    ("keyword", "expected"),
    [
        ("サーバー", {"サーバ"}),
        ("サーバ室", {"サーバー室"}),
        ("3ヶ月", {"3か月", "3カ月", "3箇月"}),
        ("霞が関", {"霞ヶ関", "霞ケ関"}),
    ],
)
def test_spelling_habits(keyword: str, expected: set[str]) -> None:
    assert expected <= set(variants(keyword))


@pytest.mark.parametrize("keyword", ["十分", "一般", "千葉県", "昭和", "子育て", "H"])
def test_words_that_only_look_like_numbers_have_no_variants(keyword: str) -> None:
    assert variants(keyword) == ()


def test_particle_ga_does_not_become_ka() -> None:
    assert set(variants("東京が好き")) == {"東京ヶ好き", "東京ケ好き", "東京ヵ好き"}


def test_old_forms_become_new_ones_in_place() -> None:
    assert in_new_forms("國學院大學の髙橋") == "国学院大学の高橋"
    assert has_two_forms("学校")
    assert has_two_forms("學校")
    assert not has_two_forms("山川")


@pytest.mark.parametrize("keyword", ["ーーー", "ｰｰｰ", "12345678901234567", "九千兆九千兆", "99999999兆"])
def test_lines_and_numbers_beyond_all_names_have_no_variants(keyword: str) -> None:
    assert variants(keyword) == ()


@given(st.text(st.sampled_from("令和平成R6元年度月日１2,.億万千百十一二〇第条のヶ月サーバー円 "), max_size=40))
def test_variants_are_few_and_differ_from_the_keyword(keyword: str) -> None:
    found = variants(keyword)
    assert len(found) <= LIMIT
    assert len(set(found)) == len(found)
    assert keyword not in found
    assert all(fold(spelling).text for spelling in found if keyword.strip())
