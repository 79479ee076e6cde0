"""The find tool: keywords in a page, each with what stands around it.

Knows: modes, cursors, and how hits are shown. Must not know: where pages come from, how a page gets its number.
"""

from __future__ import annotations

import asyncio
import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field, field_validator

from citations.model import PageView, Piece
from tools.document import Document, PageSource
from tools.opening import open_page
from tools.text import fold
from tools.tool import Arguments, Language, PageNumbers, ToolResult, Traffic
from tools.windows import (
    Window,
    folded_page,
    is_cut,
    joint_windows,
    matches,
    nearest_line,
    windows,
)
from tools.windows import snippets as snippets

Mode = Literal["any", "window", "page"]

MAX_KEYWORDS: Final = 8
SLOW_CHARS: Final = 200_000
"""A page longer than this is searched in a thread, so that other questions go on meanwhile."""


@dataclass(frozen=True, slots=True)
class KeywordHits:
    """What one keyword (in mode `window`: all of them together) gave.

    `n` counts the windows of the page, `shown` are those from number `first` (from 0) on. `nearest` is the nearest
    line of a keyword that has no match at all; it is no evidence. `withheld` = there are matches, but not what the
    mode asks for.
    """

    keywords: tuple[str, ...]
    n: int
    first: int = 0
    shown: tuple[Window, ...] = ()
    nearest: str | None = None
    withheld: bool = False

    @property
    def next(self) -> int | None:
        """The `start` that shows the windows after these; None where there are no more."""
        last = self.first + len(self.shown)
        return last if self.shown and last < self.n else None


@dataclass(frozen=True, slots=True)
class FindHits:
    """The hits of a find in one page, in the order of the keywords."""

    mode: Mode
    keywords: tuple[KeywordHits, ...]


def find_in(
    text: str, keywords: Sequence[str], mode: Mode = "any", *, start: int = 0, page_starts: Sequence[int] = ()
) -> FindHits:
    """Where `keywords` stand in `text`; windows are exact slices of it.

    Mode `any` takes each keyword by itself, `window` only places where all stand close together, `page` shows nothing
    unless all are in the page. `start` skips so many windows of each keyword. Never raises for a miss.
    """
    folded = folded_page(text)
    keywords = tuple(dict.fromkeys(keywords))
    found = [matches(text, folded, keyword) for keyword in keywords]
    missing = [not places for places in found]

    def miss(keyword: str) -> KeywordHits:
        return KeywordHits((keyword,), 0, nearest=nearest_line(text, folded, keyword))

    if mode == "window" and not any(missing):
        joint = joint_windows(text, found, page_starts)
        n_shown = _n_shown(1)
        return FindHits(
            mode, (KeywordHits(keywords, len(joint), start, tuple(joint[start : start + n_shown]), withheld=not joint),)
        )
    n_shown = _n_shown(len(keywords))
    withheld = mode != "any" and any(missing)
    hits: list[KeywordHits] = []
    for keyword, places in zip(keywords, found, strict=True):
        if not places:
            hits.append(miss(keyword))
            continue
        around = windows(text, places, page_starts)
        shown = () if withheld else tuple(around[start : start + n_shown])
        hits.append(KeywordHits((keyword,), len(around), start, shown, withheld=withheld))
    return FindHits(mode, tuple(hits))


def _n_shown(n_keywords: int) -> int:
    """Windows shown of each keyword: results stay short however many keywords there are."""
    return 5 if n_keywords <= 2 else 3 if n_keywords <= 4 else 2


def _listed(value: object) -> object:
    """Models also write one keyword as a string, or the whole list as a string of JSON."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        try:
            read: object = json.loads(value)
        except (ValueError, RecursionError):
            return [value]
        return read
    return [value]


class FindArguments(Arguments):
    """Arguments of find."""

    url_or_number: int | str
    keywords: Annotated[list[str], BeforeValidator(_listed), Field(min_length=1, max_length=MAX_KEYWORDS)]
    mode: Mode = "any"
    start: int = Field(default=0, ge=0)

    @field_validator("keywords")
    @classmethod
    def _not_blank(cls, keywords: list[str]) -> list[str]:
        for keyword in keywords:
            if not fold(keyword).text:
                raise ValueError("a keyword is blank / 空のキーワードがあります")
            if len(keyword) > 200:
                raise ValueError("a keyword is longer than 200 characters / キーワードが200文字を超えています")
        return keywords


@dataclass(frozen=True, slots=True)
class Words:
    """The words of the result, in one language."""

    number: str
    hits: str
    more: str
    at: str
    on_page: str
    spelled: str
    miss: str
    near: str
    beyond: str
    withheld: str
    together: str
    apart: str
    split: str


_WORDS: Final[dict[Language, Words]] = {
    "ja": Words(
        number="番号なし",
        hits="「{keywords}」: {n}件",
        more="（他{n}件: {call}）",
        at="- {at}文字目{label}: {text}",
        on_page="物理ページ {page}",
        spelled="一致: {spelled}",
        miss="「{keywords}」: 一致なし",
        near="（近い行・一致ではない: {line}）",
        beyond="（start={start} 以降はありません）",
        withheld="（他の語が無いため表示なし。1語ずつ見るには mode=\"any\"）",
        together="」＋「",
        apart="（どの語もありますが、近くにそろう箇所がありません。mode=\"any\" で1語ずつ見られます）",
        split="注: 空白で区切った語を別々に探すには keywords={keywords}",
    ),
    "en": Words(
        number="no number",
        hits="\"{keywords}\": {n} hits",
        more=" ({n} more: {call})",
        at="- character {at}{label}: {text}",
        on_page="physical page {page}",
        spelled="matched as: {spelled}",
        miss="\"{keywords}\": no match",
        near=" (nearest line, not a match: {line})",
        beyond=" (none from start={start} on)",
        withheld=" (not shown, because another keyword is missing; mode=\"any\" shows each by itself)",
        together="\" + \"",
        apart=" (each keyword is there, but nowhere close together; mode=\"any\" shows each by itself)",
        split="Note: to search for the words one by one, keywords={keywords}",
    ),
}  # fmt: skip

_DESCRIPTION: Final[dict[Language, str]] = {
    "ja": (
        "ページ内でキーワードを探し、その前後の文を返します。長いページから必要な箇所を見つけるのに使います。"
        "url_or_number は検索結果の番号かURLです。keywords は1〜8個の文字列で、正規表現ではありません。"
        "全角・半角、大文字・小文字、空白の違いは無視し、和暦と西暦、数字の書き方、新旧の漢字などの別表記でも探します。"
        "mode は any（どれか）、window（全語が近くにそろう箇所）、page（全語がページにある場合だけ）です。"
        "続きは、結果に示された start を指定して呼び出します。「近い行・一致ではない」とある行は証拠になりません。"
    ),
    "en": (
        "Searches one page for keywords and returns the sentences around them; use it for a passage in a long page. "
        "url_or_number is a number from the search results or a URL. keywords are 1 to 8 strings, not regular "
        "expressions. Differences of width, case and spacing are ignored, and other Japanese spellings (era years, "
        "numerals, old kanji) are tried. mode is any (each keyword), window (places where all stand close together) or "
        "page (only if all are in the page). For more hits, call again with the start that the result names. A line "
        'marked "nearest line, not a match" is no evidence.'
    ),
}


class FindTool:
    """find(url_or_number, keywords, mode, start) over a source of pages."""

    name = "find"
    traffic: Traffic = "page"
    arguments = FindArguments

    def __init__(self, source: PageSource, language: Language) -> None:
        self._source = source
        self._language: Language = language
        self.description = _DESCRIPTION[language]

    async def call(self, arguments: Arguments, pages: PageNumbers) -> ToolResult:
        """The hits as text and as evidence. Raises ToolFailure for a page that cannot be opened."""
        assert isinstance(arguments, FindArguments)
        document = await open_page(self._source, arguments.url_or_number, pages, self._language)

        def search() -> FindHits:
            return find_in(
                document.text,
                arguments.keywords,
                arguments.mode,
                start=arguments.start,
                page_starts=document.page_starts,
            )

        hits = await asyncio.to_thread(search) if len(document.text) > SLOW_CHARS else search()
        return FindResult(document, hits, str(arguments.url_or_number).strip(), _WORDS[self._language])


@dataclass(frozen=True, slots=True)
class FindResult:
    """A finished find: the page with the windows shown as its evidence."""

    document: Document
    hits: FindHits
    said: str
    words: Words

    @property
    def seen(self) -> tuple[PageView, ...]:
        """The one page; without pieces where nothing matched."""
        text, sha256 = self.document.text, self.document.body_sha256
        shown = dict.fromkeys((window.start, window.end) for keyword in self.hits.keywords for window in keyword.shown)
        pieces = tuple(Piece(text[start:end], sha256, start, end) for start, end in shown)
        final_url = self.document.final_url if self.document.final_url != self.document.url else None
        return (PageView("find", self.document.url, self.document.title, pieces, final_url),)

    def text(self, numbers: Sequence[int | None]) -> str:
        """Heading, then each keyword with its windows."""
        number = numbers[0]
        head = self.words.number if number is None else str(number)
        target = json.dumps(self.document.url, ensure_ascii=False) if number is None else str(number)
        lines = [f"[{head}] {_one_line(self.document.title)}", f"URL: {_one_line(self.document.url)}"]
        for keyword in self.hits.keywords:
            lines.append(self._heading(keyword, target))
            lines.extend(self._hit(window) for window in keyword.shown)
            if keyword.n == 0 and len(keyword.keywords[0].split()) > 1:
                words = json.dumps(keyword.keywords[0].split()[:MAX_KEYWORDS], ensure_ascii=False)
                lines.append(self.words.split.format(keywords=words))
        return "\n".join(lines)

    def _heading(self, hits: KeywordHits, target: str) -> str:
        words = self.words
        names = words.together.join(map(_one_line, hits.keywords))
        if hits.n == 0 and not hits.withheld:
            near = words.near.format(line=hits.nearest) if hits.nearest is not None else ""
            return words.miss.format(keywords=names) + near
        heading = words.hits.format(keywords=names, n=hits.n)
        if hits.withheld:
            return heading + (words.withheld if len(hits.keywords) == 1 and hits.n else words.apart)
        if not hits.shown:
            return heading + words.beyond.format(start=hits.first)
        if hits.next is None:
            return heading
        mode = f', mode="{self.hits.mode}"' if self.hits.mode == "window" else ""
        keywords = json.dumps(list(hits.keywords), ensure_ascii=False)
        call = f"find(url_or_number={target}, keywords={keywords}{mode}, start={hits.next})"
        return heading + words.more.format(n=hits.n - hits.next, call=call)

    def _hit(self, window: Window) -> str:
        words, document = self.words, self.document
        labels: list[str] = []
        if document.page_starts:
            labels.append(words.on_page.format(page=max(1, bisect_right(document.page_starts, window.start))))
        if window.matched_as:
            labels.append(words.spelled.format(spelled="、".join(window.matched_as)))
        bracket = f"（{'、'.join(labels)}）" if labels else ""
        before, after = is_cut(document.text, window)
        shown = _one_line(document.text[window.start : window.end])
        return words.at.format(
            at=window.start, label=bracket, text=f"{'…' if before else ''}{shown}{'…' if after else ''}"
        )


def _one_line(text: str) -> str:
    """`text` with line ends shown as spaces."""
    return (
        " ".join(part.strip() for part in text.splitlines() if part.strip()) if "\n" in text or "\r" in text else text
    )
