"""A plain walk over an HTML tree: everything on the page in reading order, with its headings, rows, lists and links.

Knows: lxml trees prepared by html_tree. Must not know: which text is the article; that is the extractor's guess, and
this walk is what the guess is measured against and replaced by.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

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


def walk(tree: Node, *, links_from: str | None, around: bool) -> Walked:
    """The whole page as lines. `links_from` = base URL of links, None to show none; `around` = with menus and footers.

    Headings begin with #, list items with - or their number, table rows are `| a | b |`. The walk needs no recursion:
    depth costs nothing.
    """
    writer = _Writer(links_from)
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


def _is_around(element: Node) -> bool:
    if element.tag in _AROUND or element.get("role") in ("navigation", "banner", "contentinfo"):
        # A header inside an article holds its title.
        return element.tag != "header" or next(element.iterancestors("article", "main"), None) is None
    names = f"{element.get('class') or ''} {element.get('id') or ''}"
    return element.tag in ("div", "ul", "p", "section", "ol") and _AROUND_NAMES.search(names) is not None


@dataclass(slots=True)
class _Writer:
    links_from: str | None
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
    _links: list[int] = field(default_factory=list[int])

    def open(self, element: Node) -> None:
        tag = element.tag
        if tag == "a":
            self._links.append(len(self._inline))
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
        elif tag == "img" and self._links and element.get("alt"):
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
                self._inline = [line]
                self.flush(verbatim=True)
            self._inline = [rest]

    def flush(self, *, verbatim: bool = False) -> None:
        text = "".join(self._inline).rstrip() if verbatim or self._n_pre else " ".join("".join(self._inline).split())
        self._inline.clear()
        self._links.clear()
        if text.strip():
            self._write(self._mark + text)
            self._mark = " " * len(self._mark) if self._mark.strip() in ("-",) else ""

    def _break(self) -> None:
        if self._in_cell:
            self._inline.append(" ")
        else:
            self.flush()

    def _write(self, line: str) -> None:
        self.lines.append(line)
        self.n_chars += len("".join(line.split()))

    def _taken(self) -> str:
        text = " ".join("".join(self._inline).split())
        self._inline.clear()
        self._links.clear()
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
        start = self._links.pop() if self._links else len(self._inline)
        text = " ".join("".join(self._inline[start:]).split())
        self.n_link_chars += len("".join(text.split()))
        href = element.get("href")
        if (
            self.links_from is not None
            and text
            and href
            and not href.lower().startswith(("#", "javascript:", "mailto:"))
        ):
            self._inline[start:] = [f"[{text}]({joined(self.links_from, href)})"]

    def _item_mark(self) -> str:
        indent = "  " * min(max(0, len(self._lists) - 1), _MAX_INDENT)
        number = self._lists[-1] if self._lists else None
        if number is None:
            return f"{indent}- "
        self._lists[-1] = number + 1
        return f"{indent}{number}. "
