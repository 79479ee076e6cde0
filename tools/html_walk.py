"""A plain walk over an HTML tree: everything on the page in reading order, with its headings, rows, lists and links.

Knows: lxml trees prepared by html_tree. Must not know: which text is the article; that is the extractor's guess, and
this walk is what the guess is measured against and replaced by.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from tools.html_node import Node, steps
from tools.html_tree import joined

_SKIPPED = frozenset(
    {"head", "script", "style", "noscript", "template", "svg", "select", "button", "input", "textarea"}
)
_AROUND = frozenset({"nav", "header", "footer", "aside", "menu"})
_AROUND_NAMES = re.compile(
    r"(?:^|[\s_-])(?:g?nav|navi|navigation|menu|bread-?crumbs?|topicpath|pankuzu|footer|sidebar|side|sns|share|banner|pager|"
    r"sphinxsidebar|related)(?:$|[\s_-])",
    re.IGNORECASE,
)
_MAX_INDENT = 8
_INDEX_SHARE = 0.6
_INLINE = frozenset({"a", "span", "img", "del", "s", "strike", "abbr", "iframe", "object", "embed", "math"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})


@dataclass(frozen=True, slots=True)
class Walked:
    """The text and what it is made of: characters (without white space), and how many of them are text of links."""

    text: str
    n_chars: int
    n_link_chars: int

    @property
    def is_index(self) -> bool:
        """A page whose content is its links: without their addresses it would be of no use."""
        return self.n_link_chars >= _INDEX_SHARE * self.n_chars


Links = Literal["none", "entries", "all"]


def walk(tree: Node, *, around: bool, links: Links = "none", base: str = "") -> Walked:
    """The whole page as lines; `around` = with menus and footers.

    Headings begin with #, list items with - or their number, table rows are `| a | b |`. `links` says where addresses
    (relative to `base`) are shown: nowhere, in lines and cells that are entries (they begin with a link and are no
    sentence; inside a sentence an address would hide it from a literal search), or everywhere. The walk needs no
    recursion: depth costs nothing.
    """
    writer = _Writer(links, base)
    events = steps(tree)
    for event, element in events:
        if event == "end":
            writer.close(element)
            if element.tail and element is not tree:
                writer.add(element.tail)
        elif element.tag in _SKIPPED or (not around and _is_around(element)):
            events.skip_subtree()
            writer.skipped.add(element)
        else:
            writer.open(element)
    writer.flush()
    return Walked("\n".join(writer.lines).strip("\n"), writer.n_chars, writer.n_link_chars)


def _collapsed(parts: list[str]) -> str:
    return " ".join("".join(parts).split())


def _is_around(element: Node) -> bool:
    if element.tag in _AROUND or element.get("role") in ("navigation", "banner", "contentinfo"):
        # A header inside an article holds its title.
        return element.tag != "header" or next(element.iterancestors("article", "main"), None) is None
    names = f"{element.get('class') or ''} {element.get('id') or ''}"
    return element.tag in ("div", "ul", "p", "section", "ol") and _AROUND_NAMES.search(names) is not None


@dataclass(frozen=True, slots=True)
class _Span:
    """The inline parts that are the text of a link."""

    start: int
    end: int
    address: str


@dataclass(slots=True)
class _Writer:
    links: Links
    base: str
    lines: list[str] = field(default_factory=list[str])
    n_chars: int = 0
    n_link_chars: int = 0
    skipped: set[Node] = field(default_factory=set[Node])
    _inline: list[str] = field(default_factory=list[str])
    _mark: str = ""
    _lists: list[int | None] = field(default_factory=list[int | None])
    _cells: list[str] | None = None
    _in_cell: bool = False
    _row_heads: bool = False
    _n_pre: int = 0
    _open_links: list[int] = field(default_factory=list[int])
    _spans: list[_Span] = field(default_factory=list[_Span])

    def open(self, element: Node) -> None:
        tag = element.tag
        if tag == "a":
            self._open_links.append(len(self._inline))
        elif tag not in _INLINE:
            self._break()
        if tag in _HEADINGS:
            self._mark = "#" * int(tag[1]) + " "
        elif tag in ("ul", "ol"):
            self._lists.append(1 if tag == "ol" else None)
        elif tag == "li":
            self._mark = self._item_mark()
        elif tag == "tr" and self._cells is None:
            self._cells, self._row_heads = [], False
        elif tag in ("td", "th") and self._cells is not None:
            self._in_cell = True
            self._row_heads = self._row_heads or tag == "th"
        elif tag == "pre":
            self._n_pre += 1
        elif tag == "img" and self._open_links and element.get("alt"):
            self.add(element.get("alt") or "")
        if element.text:
            self.add(element.text)

    def close(self, element: Node) -> None:
        tag = element.tag
        if element in self.skipped:
            self._break()
            return
        if tag == "a":
            self._close_link(element)
            return
        if tag in _INLINE:
            return
        if tag in ("td", "th") and self._cells is not None:
            self._cells.append(self._taken())
            self._in_cell = False
            return
        if tag == "tr" and self._cells is not None and not self._in_cell:
            self._close_row(self._cells)
            return
        self._break()
        if tag in ("ul", "ol") and self._lists:
            self._lists.pop()
        elif tag == "pre":
            self._n_pre -= 1
        if tag in ("li", *_HEADINGS):
            self._mark = ""

    def add(self, text: str) -> None:
        self._inline.append(text)
        if self._n_pre and not self._in_cell and "\n" in text:
            *whole, rest = "".join(self._inline).split("\n")
            for line in whole:
                self._write(line.rstrip())
            self._forget()
            self._inline = [rest]

    def flush(self) -> None:
        text = "".join(self._inline).rstrip() if self._n_pre else self._with_links()
        self._forget()
        if text.strip():
            self._write(self._mark + text)
            self._mark = " " * len(self._mark) if self._mark.strip() == "-" else ""

    def _break(self) -> None:
        if self._in_cell:
            self._inline.append(" ")
        else:
            self.flush()

    def _write(self, line: str) -> None:
        self.lines.append(line)
        self.n_chars += len("".join(line.split()))

    def _forget(self) -> None:
        self._inline.clear()
        self._open_links.clear()
        self._spans.clear()

    def _with_links(self) -> str:
        """What is inline now, white space collapsed, with addresses where they are wanted."""
        plain = _collapsed(self._inline)
        first = self._spans[0].start if self._spans else 0
        entry = "。" not in plain and not _collapsed(self._inline[:first])
        if self._spans and (self.links == "all" or (self.links == "entries" and entry)):
            for span in reversed(self._spans):
                text = _collapsed(self._inline[span.start : span.end])
                self._inline[span.start : span.end] = [f"[{text}]({span.address})"]
            return _collapsed(self._inline)
        return plain

    def _taken(self) -> str:
        text = self._with_links()
        self._forget()
        return text

    def _close_row(self, cells: list[str]) -> None:
        stray = self._taken()
        cells = [*cells, stray] if stray else cells
        if any(cells):
            self._write("| " + " | ".join(cells) + " |")
            if self._row_heads:
                self.lines.append("|" + "---|" * len(cells))
        self._cells = None

    def _close_link(self, element: Node) -> None:
        start = self._open_links.pop() if self._open_links else len(self._inline)
        text = _collapsed(self._inline[start:])
        self.n_link_chars += len("".join(text.split()))
        href = element.get("href")
        if text and href and not href.lower().startswith(("#", "javascript:", "mailto:")):
            self._spans.append(_Span(start, len(self._inline), joined(self.base, href)))

    def _item_mark(self) -> str:
        indent = "  " * min(max(0, len(self._lists) - 1), _MAX_INDENT)
        number = self._lists[-1] if self._lists else None
        if number is None:
            return f"{indent}- "
        self._lists[-1] = number + 1
        return f"{indent}{number}. "
