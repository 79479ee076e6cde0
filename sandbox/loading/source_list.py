"""The documents that a row names: a list of URLs or document ids, or of objects with number, URL, pages and title.

Knows: the keys of such objects, how page numbers are written. Must not know: files, columns, what a document is read for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, cast, get_args

from pydantic import BaseModel, ConfigDict, Field

from sandbox.loading.cells import shown_value
from sandbox.loading.rows import is_null, shown
from tools.tool import SetupError

DocumentKey = Literal["number", "url", "pages", "title"]
DOCUMENT_KEYS: tuple[DocumentKey, ...] = get_args(DocumentKey)

KNOWN_KEYS: Mapping[DocumentKey, tuple[str, ...]] = {
    "number": ("number", "no", "doc_number", "index", "id"),
    "url": ("url", "link", "source_url", "doc_id"),
    "pages": ("pages", "page", "physical_pages", "physical_page"),
    "title": ("title",),
}
"""Read in this order, in any case; the first that holds something wins. An `id` that is no number is a document's id."""

MAX_PAGE = 100_000
"""A greater page number is a slip, and a range up to it would fill the memory."""


class DocumentKeys(BaseModel):
    """Which key of a document's object holds what (`[document]` of a field map); None = one of the known names."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: Annotated[str, Field(min_length=1)] | None = None
    url: Annotated[str, Field(min_length=1)] | None = None
    pages: Annotated[str, Field(min_length=1)] | None = None
    title: Annotated[str, Field(min_length=1)] | None = None

    def names(self, key: DocumentKey) -> tuple[str, ...]:
        """The names under which a value is looked for."""
        own = cast("str | None", getattr(self, key))
        return (own.casefold(),) if own is not None else KNOWN_KEYS[key]

    def unread(self, seen: Sequence[str]) -> tuple[str, ...]:
        """Which of the keys `seen` nothing reads."""
        read = {name for key in DOCUMENT_KEYS for name in self.names(key)} | {"id"}
        return tuple(key for key in seen if key.casefold() not in read)

    def unseen(self, seen: Sequence[str]) -> tuple[str, ...]:
        """Which of the keys that are named here are none of those `seen`."""
        there = {key.casefold() for key in seen}
        named = cast("dict[str, str]", self.model_dump(exclude_none=True))
        return tuple(name for name in named.values() if name.casefold() not in there)


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """A document of a row. `number` is its citation number; `url` a URL, or a document's id in a corpus, without `#page=`.

    `pages`: physical pages from 1, ascending; empty = all of it. `title` None = its own.
    """

    number: int
    url: str
    pages: tuple[int, ...] = ()
    title: str | None = None


Refusal = Callable[[str], SetupError]
"""Makes the error of a row from what is wrong with it."""


def read_documents(items: Sequence[object], keys: DocumentKeys, refusal: Refusal) -> tuple[SourceDocument, ...]:
    """The documents in their order; `items` are texts or objects, as a row holds them.

    A text gets its place (from 1) as number, and its pages from `#page=3` or `#page=3-5`; what a PDF viewer is told
    behind that (`&zoom=100`) is dropped. So do objects of which none has a number; their own pages go before those of
    the URL. Raises what `refusal` makes: no URL, a number twice, numbers for some only, pages that are none, half a
    character.
    """
    found = [_document(place, item, keys, refusal) for place, item in enumerate(items, start=1)]
    numbered = [document for document in found if document.numbered]
    if numbered and len(numbered) < len(found):
        raise refusal("gives a number to some of its documents only")
    first_with: dict[int, int] = {}
    for place, document in enumerate(found, start=1):
        first = first_with.setdefault(document.value.number, place)
        if first != place:
            raise refusal(f"gives the number {document.value.number} to document {first} and to document {place}")
    return tuple(document.value for document in found)


@dataclass(frozen=True, slots=True)
class _Read:
    value: SourceDocument
    numbered: bool


def _document(place: int, item: object, keys: DocumentKeys, refusal: Refusal) -> _Read:
    if isinstance(item, str):
        if not item.strip():
            raise refusal(f"names no document at place {place}: the text is empty")
        url, pages = _without_pages(item, lambda what: refusal(f"holds a document (place {place}) {what}"))
        return _Read(SourceDocument(place, url, pages), numbered=False)
    if not isinstance(item, dict):
        raise refusal(f"holds {shown_value(item)} at place {place}, where a URL or an object is expected")
    written = {str(key): value for key, value in cast("dict[object, object]", item).items()}
    fields = {key.casefold(): value for key, value in written.items()}

    def wrong(what: str) -> SetupError:
        return refusal(f"holds a document (place {place}) {what}; its keys: {shown(list(written))}")

    number = _number(fields, keys, wrong)
    url, of_url = _without_pages(_url(fields, keys, wrong), wrong)
    said = _first(fields, keys.names("pages"))
    pages = of_url if said is None else _pages(said, wrong)
    title = _first(fields, keys.names("title"))
    if title is not None and not isinstance(title, str):
        raise wrong("whose title is no text")
    for text in (url, title or ""):
        if any("\ud800" <= char <= "\udfff" for char in text):
            raise wrong(f"with half a character (a lone surrogate), which no encoding can write: {ascii(text)[:60]}")
    return _Read(SourceDocument(place if number is None else number, url, pages, title), number is not None)


def _first(fields: Mapping[str, object], names: Sequence[str]) -> object | None:
    return next((fields[name] for name in names if not is_null(fields.get(name))), None)


def _number(fields: Mapping[str, object], keys: DocumentKeys, wrong: Refusal) -> int | None:
    for name in keys.names("number"):
        value = fields.get(name)
        if is_null(value):
            continue
        number = _whole(value)
        if number is not None and number >= 0:
            return number
        if name != "id" or keys.number is not None:
            raise wrong(f"whose number is {shown_value(value)}")
    return None


def _url(fields: Mapping[str, object], keys: DocumentKeys, wrong: Refusal) -> str:
    value = _first(fields, keys.names("url"))
    if value is None and keys.url is None:
        name = fields.get("id")
        value = name if isinstance(name, str) and _whole(name) is None else None
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        raise wrong("without a URL or document id")
    return value


_PAGE_FRAGMENT = re.compile(r"#page=([0-9][^&#]*)(?:&[^#]*)?$", re.IGNORECASE)
_DASH = re.compile(r"(?<!\s)\s*+[-‐‑–—−~〜ー]\s*")
_RANGE = re.compile(r"([0-9]+)(?:-([0-9]+))?")


def _without_pages(url: str, wrong: Refusal) -> tuple[str, tuple[int, ...]]:
    """The URL without `#page=…`, and the pages that it named; another fragment stays."""
    found = _PAGE_FRAGMENT.search(url)
    return (url[: found.start()], _pages(found[1], wrong)) if found else (url, ())


def _pages(value: object, wrong: Refusal) -> tuple[int, ...]:
    """Ascending and each once. An empty list or text says nothing: all of the document."""
    held = shown_value(value)
    parts = cast("list[object]", value) if isinstance(value, list) else [value]
    found: set[int] = set()
    for part in parts:
        whole = _whole(part)
        if whole is not None:
            part = str(whole)
        if not isinstance(part, str):
            raise wrong(f"whose pages are {held}")
        # Full-width digits, commas and dashes become plain ones.
        for text in re.split(r"[,、\s]+", _DASH.sub("-", unicodedata.normalize("NFKC", part))):
            if not text:
                continue
            match = _RANGE.fullmatch(text)
            pages = _range(match[1], match[2]) if match else None
            if pages is None:
                raise wrong(f'whose pages are {held} (expected 3, [3, 5] or "3-5", counted from 1)')
            found.update(pages)
    return tuple(sorted(found))


def _range(first: str, last: str | None) -> tuple[int, ...] | None:
    if max(len(first), len(last or "")) > len(str(MAX_PAGE)):
        return None
    start, end = int(first), int(last or first)
    return tuple(range(start, end + 1)) if 1 <= start <= end <= MAX_PAGE else None


def _whole(value: object) -> int | None:
    """A whole number, also as digits or as 3.0, which table tools make of a column with gaps."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, str):
        return int(value) if value.strip().isdecimal() and len(value) < 10 else None
    return value if isinstance(value, int) else None
