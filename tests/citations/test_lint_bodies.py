"""What stands in a cite, as it was meant."""

from __future__ import annotations

import pytest

from citations.cite_body import BodyReading, read_body

LONG = "1" + "、1" * 200


@pytest.mark.parametrize(
    ("body", "code", "numbers"),
    [
        ("7", None, [7]),
        ("007", None, [7]),
        ("", "C01", []),
        ("１２", "C04", [12]),
        ("③", "C04", [3]),
        ("https://example.jp/a", "C06", []),
        ("[1](https://example.jp)", "C06", [1]),
        ("2: www.example.jp", "C06", [2]),
        ("[1-3]", "C08", []),
        ("[1-3][5-7]", "C08", []),
        ("1 p.3", "C07", [1]),
        ("1, pp. 3-5", "C07", [1]),
        ("１　３頁", "C07", [1]),
        ("資料2の12ページ", "C07", [2]),
        ("1（物理ページ 3）", "C07", [1]),
        ("1 p.3、2 p.5", "C07", [1, 2]),
        ("2〜4", "C03", [2, 3, 4]),
        ("２～４", "C03", [2, 3, 4]),
        ("1から3", "C03", [1, 2, 3]),
        ("[1]–[3]", "C03", [1, 2, 3]),
        ("1-500", "C03", list(range(1, 21))),
        ("1、3", "C02", [1, 3]),
        ("1 2", "C02", [1, 2]),
        ("1, 3-5", "C02", [1, 3, 4, 5]),
        ("[1][3]", "C02", [1, 3]),
        ("①②", "C02", [1, 2]),
        ("資料1と資料2", "C02", [1, 2]),
        ("[1]", "C05", [1]),
        ("【資料2】", "C05", [2]),
        ("#3", "C05", [3]),
        ("No. 4", "C05", [4]),
        ("Source: 5", "C05", [5]),
        ("検索結果 6", "C05", [6]),
        ("7†L2-L9", "C05", [7]),
        ("出典なし", "C08", []),
        ("令和6年", "C08", []),
        ("三", "C08", []),
        ("3-1", "C08", []),
        ("1.5", "C08", []),
        ("12ページ", "C08", []),
        ("1234567890123456789", "C08", []),
        (LONG, "C08", []),
    ],
)
def test_bodies_are_read_by_the_first_rule_that_fits(body: str, code: str | None, numbers: list[int]) -> None:
    assert read_body(body, {}) == BodyReading(code, tuple(numbers))


def test_in_a_dialect_of_spans_only_spans_are_right() -> None:
    assert read_body("[2-4] [7-7]", {}, spans=True) == BodyReading(None)
    assert read_body("2", {}, spans=True) == BodyReading("C08")
    assert read_body("", {}, spans=True) == BodyReading("C01")


@pytest.mark.parametrize("piece", ["[", "1 ", "1,", "1-", "資料", "no", "1 p.", "(1", "1†", " ", "９"])
def test_no_body_takes_long(piece: str) -> None:
    for n_chars in (199, 200, 100_000):
        read_body((piece * n_chars)[:n_chars] + "x", {})
