"""An HTML page into text: trafilatura's reading where it holds the page, a plain walk over the tree where it does not.

Knows: trafilatura's settings and manners, when a page is no page (frames, a shell for scripts, "not found" served as
found). Must not know: how the page came here, encodings, PDFs.

Why two trafilatura runs: its default MIN_EXTRACTED_SIZE of 250 characters is an English threshold that drops tables
from short Japanese notices, while 20 loses text on other pages. The run that holds more of the page is kept.
"""

from __future__ import annotations

import re
from copy import deepcopy
from dataclasses import dataclass
from importlib.metadata import version
from typing import cast

import trafilatura
from lxml.html import HtmlElement
from trafilatura.settings import use_config

from tools.html_node import Node
from tools.html_tree import base_url, depth, joined, parse, prepare, words
from tools.html_walk import Walked, walk
from tools.tool import ToolFailure

HTML_RULES = "r1"
"""Revision of the rules of this module, html_tree and html_walk: a change that changes any page's text raises it."""

_SIZES = (250, 20)
_MAX_TRAFILATURA_ELEMENTS = 50_000
_MAX_TRAFILATURA_DEPTH = 200
_MIN_CHARS_KEPT = 0.5
_MIN_ROWS_KEPT = 0.8
_MIN_HEADINGS_KEPT = 0.5
_MIN_INSIDE_SHARE = 0.3
_SHELL_CHARS = 100
_SOFT_404_CHARS = 2_000

_SOFT_404 = re.compile(
    r"(?:^|\D)404(?:\D|$)|not\s+found|ページ(?:が|は)(?:見つかりません|見つかりませんでした|存在しません|ありません|削除)"
    r"|お探しの(?:ページ|情報|コンテンツ|記事)|見つかりませんでした|(?:page|file)\s+(?:does\s+not|doesn.t)\s+exist",
    re.IGNORECASE,
)
_JS_WORDS = re.compile(r"java\s*script|ジャバスクリプト", re.IGNORECASE)
_MOUNT_POINTS = frozenset(
    {"root", "app", "__next", "__nuxt", "___gatsby", "react-root", "app-root", "main-app", "q-app"}
)
_REFRESH = re.compile(r"url\s*=\s*['\"]?([^'\"\s;>]+)", re.IGNORECASE)

# Characters that trafilatura's Markdown writer escapes or rewrites (mathematics, entities), and the white space of
# preformatted text, travel through it as signs of Linear A, which no page uses, and come back as what they were.
_STAND_INS = {"\\": "\U00010600", "$": "\U00010601", "&": "\U00010602"}
_PRE_STAND_INS = {"\n": "\U00010603", " ": "\U00010604", "\t": "\U00010605"}
_BACK = str.maketrans({sign: plain for plain, sign in (_STAND_INS | _PRE_STAND_INS).items()})
_AWAY = str.maketrans(_STAND_INS)
_PRE_AWAY = str.maketrans(_PRE_STAND_INS)
_ESCAPE = re.compile(r"\\(.)")
_MARKUP = re.compile(r"[\s|#>*\\-]+")


@dataclass(frozen=True, slots=True)
class HtmlPage:
    """A page read: its title ("" where it has none), its text, what read it, lines for the model."""

    title: str
    text: str
    engine: str
    notes: tuple[str, ...] = ()


def read_html(text: str, url: str) -> HtmlPage:
    """The page's text as Markdown lines: headings, lists, table rows; links where the page is an index of links.

    Raises ToolFailure: empty, needs_js, frameset (with the addresses of the frames), too_complex.
    """
    tree = parse(text)
    base = base_url(tree, url)
    title = _title(tree)
    shell = _shell(tree, base)
    prepare(tree)
    whole = walk(tree, around=True)
    if shell is not None and whole.n_chars < _SHELL_CHARS:
        raise shell
    if whole.n_chars == 0:
        raise ToolFailure("empty", "ページに文字がありません。")
    inside = walk(tree, around=False)
    around = inside.n_chars < _MIN_INSIDE_SHARE * whole.n_chars
    reference = whole if around else inside
    article = None if reference.is_index else _best_article(tree, reference)
    if article is not None:
        body, engine = article, f"trafilatura {version('trafilatura')} {HTML_RULES}"
    else:
        body = walk(tree, around=around, links="all" if reference.is_index else "entries", base=base).text
        engine = f"lxml {version('lxml')} walk {HTML_RULES}"
    return HtmlPage(title, body, engine, _notes(title, tree, whole))


def _title(tree: Node) -> str:
    for tag in ("title", "h1"):
        for element in tree.iter(tag):
            if next(element.iterancestors("svg"), None) is None and (found := words(element)):
                return found
    return ""


def _shell(tree: Node, base: str) -> ToolFailure | None:
    """Why the page would hold nothing although it is one; None where nothing hints at that."""
    frames = [joined(base, src) for frame in tree.iter("frame", "iframe") if (src := frame.get("src"))]
    frames = [address for address in dict.fromkeys(frames) if address.startswith(("http:", "https:"))]
    if frames:
        return ToolFailure("frameset", "フレームだけのページです。中身のURL: " + " ".join(frames[:10]))
    for meta in tree.iter("meta"):
        target = _REFRESH.search(meta.get("content") or "")
        if (meta.get("http-equiv") or "").lower() == "refresh" and target:
            return ToolFailure("empty", f"別のURLへ移動するだけのページです: {joined(base, target[1])}")
    n_scripts = sum(1 for _ in tree.iter("script"))
    asks = any(_JS_WORDS.search(words(element)) for element in tree.iter("noscript"))
    mounts = any(
        (element.get("id") or "").lower() in _MOUNT_POINTS and not words(element) for element in tree.iter("div")
    )
    without = sum(len(words(element)) for element in tree.iter("body")) - sum(
        len(words(element)) for element in tree.iter("script", "noscript", "style")
    )
    if n_scripts and (asks or mounts or without <= 0):
        return ToolFailure("needs_js", "JavaScriptを実行しないと内容が現れないページです。")
    return None


def _notes(title: str, tree: Node, whole: Walked) -> tuple[str, ...]:
    heads = [title, *(words(head) for head in tree.iter("h1", "h2"))]
    if whole.n_chars < _SOFT_404_CHARS and any(_SOFT_404.search(head) for head in heads):
        return ("「ページが見つからない」という内容のページです（サーバーの応答は正常でした）。",)
    return ()


def _best_article(tree: Node, reference: Walked) -> str | None:
    """What trafilatura makes of the page, the better of both settings, or None where it leaves too much out."""
    n_elements = sum(1 for _ in tree.iter())
    if n_elements > _MAX_TRAFILATURA_ELEMENTS or depth(tree) > _MAX_TRAFILATURA_DEPTH:
        return None
    _send_away(tree)
    readings = [_brought_back(_trafilatura(tree, size)) for size in _SIZES]
    _bring_back(tree)
    measured = [(_kept(reading, reference), reading) for reading in dict.fromkeys(readings) if reading]
    if not measured:
        return None
    kept, best = max(measured, key=lambda pair: pair[0].score)  # the first of equals: the larger threshold
    return best if kept.enough else None


@dataclass(frozen=True, slots=True)
class _Kept:
    """Shares, 0–1, of the page's headings, rows and characters that a reading holds; 1 where there are none."""

    headings: float
    rows: float
    chars: float

    @property
    def score(self) -> float:
        return self.headings + self.rows + self.chars

    @property
    def enough(self) -> bool:
        return (
            self.chars >= _MIN_CHARS_KEPT and self.rows >= _MIN_ROWS_KEPT and self.headings >= _MIN_HEADINGS_KEPT
        )  # fmt: skip


def _kept(reading: str, reference: Walked) -> _Kept:
    wanted = reference.text.split("\n")
    read = reading.split("\n")
    headings = _share(_marked(wanted, "#"), _marked(read, "#"))
    rows = _share(_marked(wanted, "|"), _marked(read, "|"))
    # Menus that nothing marks as such may go: text of links is not missed.
    n_wanted = reference.n_chars - reference.n_link_chars
    n_read = len("".join(reading.split()))
    return _Kept(headings, rows, min(1.0, n_read / n_wanted) if n_wanted else 1.0)


def _marked(lines: list[str], mark: str) -> list[str]:
    """Headings or table rows without their markup; one that came out as plain text is lost as what it was."""
    return [bare for line in lines if line.startswith(mark) and (bare := _MARKUP.sub("", line))]


def _share(wanted: list[str], read: list[str]) -> float:
    known = set(read)
    return sum(line in known for line in wanted) / len(wanted) if wanted else 1.0


def _trafilatura(tree: Node, min_extracted_size: int) -> str:
    config = use_config()
    config.set("DEFAULT", "MIN_EXTRACTED_SIZE", str(min_extracted_size))
    config.set("DEFAULT", "EXTENSIVE_DATE_SEARCH", "off")
    # deduplicate stays off: with it, a page's text would depend on the pages read before.
    text = trafilatura.extract(
        cast("HtmlElement", deepcopy(tree)),
        output_format="markdown",
        favor_recall=True,
        include_tables=True,
        deduplicate=False,
        config=config,
    )
    return text or ""


def _send_away(tree: Node) -> None:
    preformatted = {element for pre in tree.iter("pre") for element in pre.iter()}
    for element in tree.iter():
        if element.text:
            text = element.text.translate(_AWAY)
            element.text = text.strip("\r\n").translate(_PRE_AWAY) if element in preformatted else text
        if element.tail:
            tail = element.tail.translate(_AWAY)
            inside = element in preformatted and element.tag != "pre"
            element.tail = tail.translate(_PRE_AWAY) if inside else tail
    for pre in list(tree.iter("pre")):
        pre.tag = "p"
        pre.attrib["data-pre"] = "1"


def _bring_back(tree: Node) -> None:
    for element in tree.iter():
        if element.text:
            element.text = element.text.translate(_BACK)
        if element.tail:
            element.tail = element.tail.translate(_BACK)
        if element.attrib.pop("data-pre", None):
            element.tag = "pre"


def _brought_back(reading: str) -> str:
    """Without escapes: every backslash that is still one was put there by the Markdown writer."""
    text = _ESCAPE.sub(r"\1", reading).translate(_BACK)
    lines = "\n".join(line.rstrip(" \t") for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", lines).strip("\n")
