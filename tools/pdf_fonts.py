"""Which fonts of a PDF pypdf would turn into plausible garbage, and their repair.

Knows: composite fonts, character collections, what pypdf 7.1.1 reads without being told. Must not know: pages' text.

The defect (py-pdf/pypdf#2295): a composite font without a ToUnicode map whose codes are no Unicode is decoded as if
they were: リリース becomes ϦϦʔε, without a warning. Repair: a ToUnicode map made from the Adobe character collection
that the font names (ISO 32000-1, 9.10.2), which pdfminer.six ships.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from pypdf.generic import ArrayObject, DecodedStreamObject, DictionaryObject, NameObject, PdfObject, StreamObject

from tools.pdf_collections import characters_of, texts_of

_MAX_FORMS = 5_000
_COLLECTIONS = {"Japan1": "Adobe-Japan1", "GB1": "Adobe-GB1", "CNS1": "Adobe-CNS1", "Korea1": "Adobe-Korea1"}
_BY_CODE = re.compile(
    # What pypdf's own table holds, and names whose codes are UTF-16, which is what it falls back to.
    r"/(?:GB-EUC|GBpc-EUC|GBK-EUC|GBK2K|ETen-B5|ETenms-B5|90ms-RKSJ|Uni\w+-UTF16|Uni\w+-UCS2)(?:-HW)?-[HV]"
)
_SHIFT_JIS = re.compile(r"/(?:(?:90pv|90msp|83pv|78ms|78|Add|Ext)-)?RKSJ-([HV])")


class FontAudit:
    """The fonts of one PDF, looked at once each; repairs happen in the reader's own objects."""

    def __init__(self) -> None:
        self._verdicts: dict[int, bool] = {}
        self._maps: dict[str, bytes | None] = {}

    def unreadable(self, page: DictionaryObject) -> list[DictionaryObject]:
        """The fonts that the page or its forms may use, whose text would be garbage even after repair."""
        return [font for font in _fonts(page) if not self._readable(font)]

    def _readable(self, font: DictionaryObject) -> bool:
        if id(font) not in self._verdicts:
            self._verdicts[id(font)] = not _is_defective(font) or self._repair(font)
        return self._verdicts[id(font)]

    def _repair(self, font: DictionaryObject) -> bool:
        encoding = font.get("/Encoding")
        name = encoding.get_object() if isinstance(encoding, PdfObject) else None
        if not isinstance(name, str):
            return False
        if (shift_jis := _SHIFT_JIS.fullmatch(name)) is not None:
            font[NameObject("/Encoding")] = NameObject(f"/90ms-RKSJ-{shift_jis[1]}")
            return True
        collection = _COLLECTIONS.get(_ordering(font))
        if collection is None:
            return False
        key = f"{collection} {name}"
        if key not in self._maps:
            self._maps[key] = _to_unicode(collection, name.removeprefix("/"))
        made = self._maps[key]
        if made is None:
            return False
        stream = DecodedStreamObject()
        stream.set_data(made)
        font[NameObject("/ToUnicode")] = stream
        return True


def _fonts(page: DictionaryObject) -> Iterator[DictionaryObject]:
    """The composite fonts in the resources of a page and of the forms in it, each once."""
    seen: set[int] = set()
    waiting: list[DictionaryObject] = [page]
    while waiting and len(seen) < _MAX_FORMS:
        resources = _dictionary(waiting.pop(), "/Resources")
        for font in _values(resources, "/Font"):
            if id(font) not in seen and font.get("/Subtype") == "/Type0":
                seen.add(id(font))
                yield font
        for form in _values(resources, "/XObject"):
            if id(form) not in seen and form.get("/Subtype") == "/Form":
                seen.add(id(form))
                waiting.append(form)


def _is_defective(font: DictionaryObject) -> bool:
    given = font.get("/ToUnicode")
    if given is not None and isinstance(given.get_object(), StreamObject):
        return False
    encoding = font.get("/Encoding")
    name = encoding.get_object() if encoding is not None else None
    return not isinstance(name, str) or _BY_CODE.fullmatch(name) is None


def _ordering(font: DictionaryObject) -> str:
    descendants = font.get("/DescendantFonts")
    listed = descendants.get_object() if descendants is not None else None
    if not isinstance(listed, ArrayObject) or not listed:
        return ""
    descendant = listed[0].get_object()
    system = _dictionary(descendant, "/CIDSystemInfo") if isinstance(descendant, DictionaryObject) else None
    return str(system.get("/Ordering")) if system is not None else ""


def _dictionary(owner: DictionaryObject, key: str) -> DictionaryObject | None:
    value = owner.get(key)
    found = value.get_object() if value is not None else None
    return found if isinstance(found, DictionaryObject) else None


def _values(resources: DictionaryObject | None, key: str) -> Iterator[DictionaryObject]:
    group = _dictionary(resources, key) if resources is not None else None
    for value in list(group.values()) if group is not None else []:
        found = cast("PdfObject", value).get_object()
        if isinstance(found, DictionaryObject):
            yield found


def _to_unicode(collection: str, cmap: str) -> bytes | None:
    """A ToUnicode stream for two-byte codes, or None where none can be made."""
    texts = texts_of(collection)
    if cmap in ("Identity-H", "Identity-V"):
        by_code = texts
    else:
        characters = characters_of(cmap)
        if characters is None:
            return None
        by_code = {code: texts[cid] for code, cid in characters.items() if cid in texts}
    return _ranges({code: text for code, text in by_code.items() if code <= 0xFFFF})


def _ranges(by_code: dict[int, str]) -> bytes:
    """Runs of codes in one line each: pypdf reads the map anew on every page, and this form twice as fast."""
    lines: list[str] = []
    codes = sorted(by_code)
    start = 0
    for i, code in enumerate(codes):
        if i + 1 < len(codes) and codes[i + 1] == code + 1:
            continue
        run = codes[start : i + 1]
        texts = " ".join(f"<{by_code[c].encode('utf-16-be').hex()}>" for c in run)
        lines.append(f"<{run[0]:04x}> <{run[-1]:04x}> [{texts}]")
        start = i + 1
    return "\n".join(["beginbfrange", *lines, "endbfrange"]).encode("ascii")
