"""Opening the page that a model means: what fetch and find have in common.

Knows: how a page is named, and how a failure is told. Must not know: where pages come from, what is done with one.
"""

from __future__ import annotations

import re
from typing import Final

from tools.document import Document, PageSource
from tools.english import in_english
from tools.text import fold
from tools.tool import FailureKind, Language, PageNumbers, ToolFailure

_MAX_DIGITS: Final = 18
_MAX_FAILURE_CHARS: Final = 2_000
_JAPANESE: Final = re.compile(r"[ぁ-んァ-ヶ一-龥]")

_KINDS_JA: Final[dict[FailureKind, str]] = {
    "bad_arguments": "URLが正しくありません",
    "refused": "このページは開けません",
    "blocked": "公開されていないアドレスなので開けません",
    "not_found": "ページがありません",
    "http_error": "サーバーがページを返しませんでした",
    "network_error": "サーバーに接続できませんでした",
    "timeout": "時間内に取得できませんでした",
    "too_large": "ページが大きすぎます",
    "unsupported_type": "この形式は読めません",
    "empty": "ページに本文がありません",
    "undecodable": "ページの文字を読み取れません",
    "rate_limited": "サーバーがアクセスを制限しています",
}
"""Said before the cause where that is in English only: a Japanese benchmark's model is told in Japanese."""


async def open_page(source: PageSource, url_or_number: int | str, pages: PageNumbers, language: Language) -> Document:
    """The document that the model means. Raises ToolFailure, naming the page, for everything that can go wrong."""
    url = open_target(url_or_number, pages, language)
    try:
        return await source.get(url)
    except ToolFailure as failure:
        # Addresses that a page names (of its frames, of where it leads) are as long as the page likes.
        raise ToolFailure(failure.kind, _in(language, failure)[:_MAX_FAILURE_CHARS], url) from failure


def open_target(url_or_number: int | str, pages: PageNumbers, language: Language) -> str:
    """The URL that the model means. A string of digits, also in brackets or full-width, is a number.

    Raises ToolFailure: unknown_page for a number that no page has, refused for a page that the run does not open.
    """
    said = fold(str(url_or_number)).text.strip("[]【】()")
    if said.isascii() and said.isdigit():
        # Python refuses to read numbers of thousands of digits; no run has so many pages.
        url = pages.url_of(int(said)) if len(said) <= _MAX_DIGITS else None
        if url is None:
            raise ToolFailure(
                "unknown_page",
                f"番号 {said[:_MAX_DIGITS]} のページはありません。検索結果に出た番号かURLを指定してください。"
                if language == "ja"
                else f"no page has the number {said[:_MAX_DIGITS]}; give a number from the search results, or a URL",
            )
        return url
    url = str(url_or_number).strip()
    if not pages.may_open(url):
        raise ToolFailure(
            "refused",
            "検索結果に出ていないページは開けません。先に search を使ってください。"
            if language == "ja"
            else "pages that no search has shown cannot be opened; search first",
        )
    return url


def _in(language: Language, failure: ToolFailure) -> str:
    if language == "en":
        return in_english(failure.message)
    words = _KINDS_JA.get(failure.kind)
    if words is None or _JAPANESE.search(failure.message):
        return failure.message
    return f"{words}: {failure.message}"
