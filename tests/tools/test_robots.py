from __future__ import annotations

import pytest

from tools.robots import parse_robots

TEXT = """\ufeff# 案内
User-agent: OtherBot
Disallow: /

User-agent: *
User-agent: Somebody/2.0
Disallow: /private/   # 非公開
Allow: /private/open.html
Disallow: /*.pdf$
Disallow: /検索
Disallow: /a*b*c$
Disallow:
Crawl-delay: 5
Sitemap: https://example.jp/sitemap.xml
"""


@pytest.mark.parametrize(
    ("target", "allowed"),
    [
        ("/", True),
        ("/private/", False),
        ("/private/x?y=1", False),
        ("/private/open.html", True),
        ("/doc/a.pdf", False),
        ("/doc/a.pdf?download=1", True),
        ("/%E6%A4%9C%E7%B4%A2?q=1", False),
        ("/%e6%a4%9c%e7%b4%a2", False),
        ("/a1b2c", False),
        ("/a1b2cd", True),
        ("/abbc", False),
        ("/ac", True),
        ("/robots.txt", True),
    ],
)
def test_the_longest_rule_decides(target: str, allowed: bool) -> None:
    assert parse_robots(TEXT, "pincite").allow(target) is allowed


def test_a_group_that_names_us_stands_alone() -> None:
    text = "User-agent: *\nDisallow: /\n\nUser-agent: Pincite\nDisallow: /x\nAllow: /x\n"
    robots = parse_robots(text, "pincite")
    assert [robots.allow(target) for target in ("/", "/x")] == [True, True]
    assert parse_robots("User-agent: pincite\nDisallow:\nUser-agent: *\nDisallow: /", "pincite").allow("/a")


@pytest.mark.parametrize("text", ["", "<html>404</html>", "Disallow: /", "\x00\x01", "User-agent: *"])
def test_a_file_without_rules_for_us_allows_everything(text: str) -> None:
    assert parse_robots(text, "pincite").allow("/a")


def test_a_pattern_of_many_stars_is_quick() -> None:
    text = "User-agent: *\nDisallow: /" + "a*" * 2_000 + "b$"
    assert parse_robots(text, "pincite").allow("/" + "a" * 4_000)
