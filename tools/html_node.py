"""The seam to lxml, which has no types: the part of its element that we use, and the functions that make elements.

Knows: lxml. Must not know: what pages mean.
"""

# lxml is compiled without types: everything of it is unknown to pyright, here and nowhere else.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Literal, Protocol, cast

from lxml import etree
from lxml.html import HTMLParser, document_fromstring


class Node(Protocol):
    """An element of an HTML tree; comments and processing instructions never occur (parse_bytes drops them)."""

    tag: str
    text: str | None
    tail: str | None

    @property
    def attrib(self) -> MutableMapping[str, str]:
        """The attributes, live."""
        ...

    def get(self, key: str) -> str | None:
        """An attribute's value, or None."""
        ...

    def iter(self, *tags: str) -> Iterator[Node]:
        """The element and all in it that have one of the tags (all without tags), in document order."""
        ...

    def iterdescendants(self, *tags: str) -> Iterator[Node]:
        """As iter, without the element itself."""
        ...

    def iterancestors(self, *tags: str) -> Iterator[Node]:
        """From the parent up to the root."""
        ...

    def itertext(self) -> Iterator[str]:
        """The texts in the element, in document order."""
        ...

    def getparent(self) -> Node | None:
        """The parent, None for the root."""
        ...

    def getprevious(self) -> Node | None:
        """The sibling before, or None."""
        ...

    def addprevious(self, element: Node) -> None:
        """Move `element` (with its tail) before this one."""
        ...

    def addnext(self, element: Node) -> None:
        """Move `element` (with its tail) behind this one."""
        ...

    def replace(self, old: Node, new: Node) -> None:
        """Put `new` where the child `old` is."""
        ...

    def drop_tree(self) -> None:
        """Take the element out of its tree; its tail stays."""
        ...

    def __iter__(self) -> Iterator[Node]: ...

    def __len__(self) -> int: ...

    def __setitem__(self, where: slice, children: list[Node]) -> None: ...


class Walk(Protocol):
    """The steps of a walk through a tree."""

    def __iter__(self) -> Iterator[tuple[Literal["start", "end"], Node]]: ...

    def skip_subtree(self) -> None:
        """After a start: go on behind the element's children; its end still comes."""
        ...


class EmptyTreeError(Exception):
    """There is no element in what was to be parsed."""


def parse_bytes(body: bytes) -> Node:
    """The tree of an HTML document in UTF-8; never fails but with EmptyTreeError."""
    parser = HTMLParser(
        encoding="utf-8",
        collect_ids=False,
        remove_comments=True,
        remove_pis=True,
        huge_tree=True,
        default_doctype=False,
    )
    try:
        return cast("Node", document_fromstring(body, parser=parser))
    except (etree.ParserError, etree.XMLSyntaxError) as error:
        raise EmptyTreeError from error


def steps(tree: Node) -> Walk:
    """Start and end of every element below and including `tree`, without recursion."""
    return cast("Walk", etree.iterwalk(tree, events=("start", "end")))


def unwrap(tree: Node, *tags: str) -> None:
    """Take the tags away and keep what is in them."""
    etree.strip_tags(tree, *tags)


def new(tag: str, text: str | None = None) -> Node:
    """An element outside any tree."""
    node = cast("Node", HTMLParser().makeelement(tag))
    node.text = text
    return node


def add(parent: Node, child: Node) -> None:
    """Append `child` to `parent`."""
    parent[len(parent) :] = [child]
