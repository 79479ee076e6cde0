"""An HTML tree made ready for reading: what extractors lose or mangle is put into forms that they keep.

Knows: lxml trees; ruby, definition lists, captions, spans, layout tables, preformatted text. Must not know: which
extractor reads the tree afterwards, networks, tools' protocol beyond ToolFailure.
"""

from __future__ import annotations

import re
from itertools import pairwise
from urllib.parse import urljoin

from tools.html_node import EmptyTreeError, Node, add, new, parse_bytes, steps, unwrap
from tools.tool import ToolFailure

MAX_DEPTH = 2000
"""libxml2 drops silently what lies deeper than 2,048 elements."""

_MAX_SPAN = 100
_MAX_CELLS_ADDED = 20_000
_SHORT_DEFINITION_CHARS = 200

_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]")
_UNSEEN = ("script", "style", "noscript", "template", "rt", "rp", "rtc", "svg", "canvas", "audio", "video")
# Markers of emphasis inside a sentence would hide it from a literal search; some of these tags extractors throw away
# together with their text (time, label).
_INLINE = (
    "b", "strong", "i", "em", "u", "mark", "small", "big", "font", "tt", "kbd", "samp", "var", "cite", "q", "abbr",
    "acronym", "dfn", "bdi", "bdo", "ins", "code", "sub", "sup", "ruby", "rb", "time", "label", "output", "data", "nobr",
    "wbr", "blink", "marquee", "noindex",
)  # fmt: skip
_AS_DIV = {"figure": "div", "fieldset": "div", "legend": "p", "figcaption": "p", "address": "div", "center": "div"}
_BLOCKS = ("ul", "ol", "dl", "table", "pre", "p", "div", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6")
_WIDE = re.compile("[\u2e80-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")


def parse(text: str) -> Node:
    """The tree of an HTML text without comments. Raises ToolFailure: empty, too_complex (nested beyond MAX_DEPTH)."""
    try:
        tree = parse_bytes(_NOT_XML.sub("", text).encode("utf-8"))
    except EmptyTreeError as error:
        raise ToolFailure("empty", "ページに内容がありません（HTMLとして空です）。") from error
    if depth(tree) > MAX_DEPTH:
        raise ToolFailure("too_complex", f"HTMLの入れ子が深すぎます（{MAX_DEPTH}段を超えています）。")
    for element in tree.iter():
        # Character references (&#1;) bring back what XML forbids, and lxml does not take it from us again.
        if element.text and _NOT_XML.search(element.text):
            element.text = _NOT_XML.sub("", element.text)
        if element.tail and _NOT_XML.search(element.tail):
            element.tail = _NOT_XML.sub("", element.tail)
    return tree


def depth(tree: Node) -> int:
    """The number of elements on the longest way from the root down, counted without recursion."""
    deepest = level = 0
    for event, _ in steps(tree):
        level += 1 if event == "start" else -1
        deepest = max(deepest, level)
    return deepest


def base_url(tree: Node, url: str) -> str:
    """What relative links on the page are relative to."""
    href = next((element.get("href") for element in tree.iter("base") if element.get("href")), None)
    return joined(url, href) if href else url


def joined(base: str, href: str) -> str:
    """`href` made absolute; as it stands where it is no URL."""
    try:
        return urljoin(base, href.strip())
    except ValueError:
        return href


def prepare(tree: Node) -> None:
    """Change `tree` in place: what nobody sees is dropped (with readings of ruby and the ¶ links of headings), emphasis
    inside lines unwrapped.

    Definition lists of short entries become table rows, captions paragraphs before their table, layout tables plain
    blocks, spanned cells are repeated in every row and column that they span; lines broken between two wide characters
    (Japanese has no spaces) are joined.
    """
    for element in list(tree.iter(*_UNSEEN)):
        _drop(element)
    for element in [link for link in tree.iter("a") if words(link) == "¶"]:
        _drop(element)
    _mark_powers(tree)
    _join_broken_lines(tree)
    for element in list(tree.iter(*_AS_DIV)):
        element.tag = _AS_DIV[element.tag]
    unwrap(tree, *_INLINE)
    for definitions in list(tree.iter("dl")):
        _rebuild_definitions(definitions)
    budget = _MAX_CELLS_ADDED
    for table in list(tree.iter("table")):
        budget = _rebuild_table(table, budget)


def words(element: Node) -> str:
    """All text in `element`, white space collapsed."""
    return " ".join("".join(element.itertext()).split())


def _drop(element: Node) -> None:
    if element.getparent() is not None:
        element.drop_tree()  # keeps the tail


def _mark_powers(tree: Node) -> None:
    """10<sup>6</sup> is not 106."""
    for power in tree.iter("sup"):
        before = power.getprevious()
        parent = power.getparent()
        text = before.tail if before is not None else parent.text if parent is not None else None
        if text and text[-1].isdigit() and words(power).lstrip("-−－+").isdigit():
            power.text = "^" + (power.text or "")


def _join_broken_lines(tree: Node) -> None:
    kept = {element for pre in tree.iter("pre", "textarea") for element in pre.iter()}
    for element in tree.iter():
        if element.text and element not in kept:
            element.text = _unbroken(element.text)
        if element.tail and (element not in kept or element.tag in ("pre", "textarea")):
            element.tail = _unbroken(element.tail)


def _unbroken(text: str) -> str:
    """A line break is a space, and between two wide characters nothing; white space at both ends stays white space."""
    if "\n" not in text:
        return text
    first, *between, last = text.split("\n")
    lines = [first.rstrip(), *filter(None, (line.strip() for line in between)), last.lstrip()]
    parts = [lines[0]]
    for before, line in pairwise(lines):
        wide = before and line and _WIDE.match(before[-1]) and _WIDE.match(line)
        parts.append(line if wide else f" {line}")
    return "".join(parts)


def _rebuild_definitions(definitions: Node) -> None:
    entries = [element for element in definitions.iter("dt", "dd") if _owner(element, "dl") is definitions]
    for entry in reversed(entries):
        # libxml2 lets a dt or dd that is not closed hold the next one.
        around = entry.getparent()
        if around is not None and around.tag in ("dt", "dd"):
            around.addnext(entry)
    short = all(
        len(words(entry)) <= _SHORT_DEFINITION_CHARS and next(entry.iter(*_BLOCKS[:4]), None) is None
        for entry in entries
    )
    if not entries:
        return
    if not short or entries[0].tag != "dt" or entries[-1].tag != "dd" or definitions.getparent() is None:
        definitions.tag = "div"
        for entry in entries:
            entry.tag = "p" if entry.tag == "dt" else "div"
        return
    table = new("table")
    term: list[str] = []
    last_tag = ""
    for entry in entries:
        if entry.tag == "dt":
            term = [*term, words(entry)] if last_tag == "dt" else [words(entry)]
        else:
            row = new("tr")
            add(row, new("td", "、".join(term)))
            add(row, new("td", words(entry)))
            add(table, row)
        last_tag = entry.tag
    _replace(definitions, table)


def _rebuild_table(table: Node, budget: int) -> int:
    for caption in list(table.iter("caption")):
        if _owner(caption, "table") is table:
            caption.tail = None
            caption.tag = "p"
            table.addprevious(caption)
    rows = [row for row in table.iter("tr") if _owner(row, "table") is table]
    widest = max((len(row) for row in rows), default=0)
    nested = next(table.iterdescendants("table"), None) is not None
    if nested or table.get("role") in ("presentation", "none") or widest <= 1 or _is_navigation(table, rows):
        _unwrap_layout(table)
        return budget
    return _expand_spans(rows, budget)


def _is_navigation(table: Node, rows: list[Node]) -> bool:
    """Two or three rows of links (back, up, next) are no data; longer ones may well be a list of documents."""
    n_links = sum(len(words(link)) for link in table.iter("a"))
    return len(rows) <= 3 and n_links > 0 and n_links >= 0.8 * len(words(table))


def _unwrap_layout(table: Node) -> None:
    """Tables that place blocks on the page (old sites put the whole page into one) are not data."""
    parts = [part for part in table.iter("tbody", "thead", "tfoot", "tr", "td", "th") if _owner(part, "table") is table]
    for element in (table, *parts):
        element.tag = "div"


def _expand_spans(rows: list[Node], budget: int) -> int:
    """Repeat every cell where it reaches; returns what is left of `budget`, the cells that may be added to the page."""
    waiting: dict[int, tuple[Node, int]] = {}  # column → the cell that reaches down, rows still to go
    for row in rows:
        cells = [cell for cell in row if cell.tag in ("td", "th")]
        if not waiting and not any(cell.get("rowspan") or cell.get("colspan") for cell in cells):
            continue
        placed: list[Node] = []
        for cell in cells:
            budget -= _place_waiting(placed, waiting)
            # A line across the whole table says its text once.
            alone = len(cells) == 1 and not placed and not waiting
            across = 1 if alone or budget <= 0 else _span(cell, "colspan")
            down = 1 if budget <= 0 else _span(cell, "rowspan")
            for i in range(across):
                if down > 1:
                    waiting[len(placed)] = (cell, down - 1)
                placed.append(cell if i == 0 else _repeated(cell))
            budget -= across - 1
            for name in ("rowspan", "colspan"):
                cell.attrib.pop(name, None)
        budget -= _place_waiting(placed, waiting)
        row[:] = placed
    return budget


def _place_waiting(placed: list[Node], waiting: dict[int, tuple[Node, int]]) -> int:
    n_placed = 0
    while len(placed) in waiting:
        cell, left = waiting.pop(len(placed))
        if left > 1:
            waiting[len(placed)] = (cell, left - 1)
        placed.append(_repeated(cell))
        n_placed += 1
    return n_placed


def _span(cell: Node, name: str) -> int:
    digits = (cell.get(name) or "1").strip()
    return max(1, min(int(digits), _MAX_SPAN)) if digits.isascii() and digits.isdigit() and len(digits) < 6 else 1


def _repeated(cell: Node) -> Node:
    return new(cell.tag, words(cell))


def _owner(element: Node, tag: str) -> Node | None:
    return next(element.iterancestors(tag), None)


def _replace(old: Node, new: Node) -> None:
    new.tail, old.tail = old.tail, None
    parent = old.getparent()
    if parent is not None:
        parent.replace(old, new)
