"""The body of a cite as it was meant: which page numbers stand in it, and which code tells what is wrong with it.

Knows: how models write citation numbers (lists, ranges, brackets, prefixes, pages). Must not know: tags, sentences,
evidence.

Every pattern is matched against at most 200 characters, so no body takes long whatever it holds.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

MAX_BODY_CHARS = 200
MAX_RANGE = 20
"""A range gives at most so many numbers: `1-9999` is no list of sources."""


@dataclass(frozen=True, slots=True)
class BodyReading:
    """`code` None = a plain number (or, in a dialect of spans, plain spans). `numbers` in the order written."""

    code: str | None
    numbers: tuple[int, ...] = ()


EMPTY, UNREADABLE, SPANS = BodyReading("C01"), BodyReading("C08"), BodyReading(None)

_PREFIX = (
    r"(?:参考文献|参考資料|参考|参照|資料|文献|出典|出所|引用元|引用|脚注|注釈|注|根拠|情報源|ソース|検索結果|結果|文書|文章|記事|"
    r"番号|第|№|"
    r"search ?results?|results?|sources?|src|references?|refs?|documents?|docs?|citations?|cites?|"
    r"footnotes?|notes?|index|ids?|numbers?|num|no)"
)
_OPEN, _CLOSE = r"[\[(<{【〔〈「『\"']", r"[\])>}】〕〉」』\"']"
_ONE = (
    rf"(?:{_OPEN}\s*){{0,2}}+(?:{_PREFIX}[\s.:=_\-]*+){{0,2}}+(?:{_OPEN}\s*)?+[#^@]?+\s*+"
    rf"([0-9]{{1,18}}+)(?![0-9])(?:\s*†[^\[\]【】]*+)?+\s*+(?:番目|番|号)?+(?:\s*{_CLOSE}){{0,3}}+(?:\.\Z)?+"
)
_DASH = r"\s*(?:[-‐‑‒–—―−~〜:]|から|to)\s*"
_SEPARATOR = r"\s*(?:[,、，;；・/|&＆+]|\s|と|及び|および|and)?\s*"

ONE = re.compile(_ONE, re.IGNORECASE)
RANGE = re.compile(rf"{_ONE}{_DASH}{_ONE}", re.IGNORECASE)
SEPARATOR = re.compile(_SEPARATOR, re.IGNORECASE)
NUMBER = re.compile(r"[0-9]{1,18}")
SPAN_BODY = re.compile(r"(?:\[[0-9]+-[0-9]+\]\s*)+")
_PAGES = r"[0-9]{1,6}(?:\s*[-‐–—~〜]\s*[0-9]{1,6})?"
PAGE = re.compile(
    rf"{_ONE}[\s,、:;(/の·・\-]*+(?:(?:pages?|pp?)[.\s]*{_PAGES}|(?:物理)?(?:ページ|頁)\s*{_PAGES}"
    rf"|(?:第|物理)?\s*{_PAGES}\s*(?:ページ|頁|pages?|p)(?:目)?)\s*[\])】〕]*\.?",
    re.IGNORECASE,
)
CIRCLED = re.compile("[①-⑳]")
NUMBERED = re.compile(rf"{_ONE}\s*[:(,、 \-]", re.IGNORECASE)
"""A number in front of an address: `[1](https://…)`, `1: https://…`."""
ADDRESS = re.compile(r"://|www\.", re.IGNORECASE)


def read_body(body: str, titles: Mapping[str, int | None], *, spans: bool = False) -> BodyReading:
    """What a cite body (trimmed) says. `titles` maps a page's title, as `title_key` gives it, to its number, and
    one that several pages bear to None: which of them is meant cannot be told.

    First match, after NFKC: C01 empty, C04 digits only, C06 address or title, C08 a span `[a-b]`, C07 page, C03 range,
    C02 list, C05 decorated number, C08 anything else. `spans`: the dialect's bodies are spans, and nothing else is.
    """
    if not body:
        return EMPTY
    if spans:
        return SPANS if SPAN_BODY.fullmatch(body) else UNREADABLE
    if len(body) <= 18 and body.isascii() and body.isdigit():
        return BodyReading(None, (int(body),))
    if len(body) > MAX_BODY_CHARS:
        return UNREADABLE
    bare = CIRCLED.sub(_bracketed, body) if len(body) > 1 else body
    plain = unicodedata.normalize("NFKC", bare).strip()[:MAX_BODY_CHARS]
    if NUMBER.fullmatch(plain):
        return BodyReading("C04", (int(plain),))
    key = title_key(plain) if titles else ""
    if key in titles:
        number = titles[key]
        return BodyReading("C06", () if number is None else (number,))
    if ADDRESS.search(plain):
        numbered = NUMBERED.match(plain)
        return BodyReading("C06", (int(numbered[1]),) if numbered else ())
    if SPAN_BODY.fullmatch(plain):
        return UNREADABLE
    return _decorated(plain)


def title_key(title: str) -> str:
    """A title as it is compared: NFKC, case and white space set aside."""
    return " ".join(unicodedata.normalize("NFKC", title).casefold().split())


def read_mark(inner: str) -> tuple[int, ...]:
    """The numbers of a mark such as `[1]` or `【2†L5】`, given what stands in its brackets; none = it is no citation."""
    if inner.isascii() and inner.isdigit():
        return (int(inner),) if len(inner) <= 18 else ()
    if not any(map(str.isdigit, inner)):
        return ()
    reading = read_body(inner.strip(), {})
    return () if reading.code == "C06" else reading.numbers


def _decorated(plain: str) -> BodyReading:
    page = PAGE.fullmatch(plain)
    if page:
        return BodyReading("C07", (int(page[1]),))
    found = _range(plain)
    if found:
        return BodyReading("C03", found)
    return _list(plain)


def _range(plain: str) -> tuple[int, ...]:
    found = RANGE.fullmatch(plain)
    return _numbers_between(int(found[1]), int(found[2])) if found else ()


def _numbers_between(first: int, last: int) -> tuple[int, ...]:
    return tuple(range(first, min(last, first + MAX_RANGE - 1) + 1))


def _list(plain: str) -> BodyReading:
    """Decorated numbers, ranges and numbers with pages, one after the other; unreadable unless the whole body is that."""
    numbers: list[int] = []
    code = "C05"
    position = 0
    while position < len(plain):
        if page := PAGE.match(plain, position):
            code, end = "C07", page.end()
            numbers.append(int(page[1]))
        elif between := RANGE.match(plain, position):
            end = between.end()
            numbers += _numbers_between(int(between[1]), int(between[2]))
        elif one := ONE.match(plain, position):
            end = one.end()
            numbers.append(int(one[1]))
        else:
            return UNREADABLE
        separator = SEPARATOR.match(plain, end)
        position = separator.end() if separator else end
    if not numbers:
        return UNREADABLE
    return BodyReading("C02" if code == "C05" and len(numbers) > 1 else code, tuple(numbers))


def _bracketed(circled: re.Match[str]) -> str:
    """A circled number keeps its bounds: `①②` is 1 and 2, not 12."""
    return f"[{unicodedata.normalize('NFKC', circled[0])}]"
