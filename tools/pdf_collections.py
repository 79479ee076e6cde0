"""The Adobe character collections as pdfminer.six ships them: the seam to that package.

Knows: pdfminer.six's map data. Must not know: PDFs, fonts.
"""

from __future__ import annotations

from typing import cast

from pdfminer.cmapdb import CMap, CMapDB


def texts_of(collection: str) -> dict[int, str]:
    """Character id → text. Horizontal and vertical forms merged: a vertical glyph reads as what it is a form of."""
    upright = CMapDB.get_unicode_map(collection, vertical=False).cid2unichr
    vertical = CMapDB.get_unicode_map(collection, vertical=True).cid2unichr
    return vertical | upright


def characters_of(cmap: str) -> dict[int, int] | None:
    """Two-byte code → character id; None where the map is unknown or its codes are not all of two bytes."""
    try:
        found = CMapDB.get_cmap(cmap)
    except CMapDB.CMapNotFound:
        return None
    if not isinstance(found, CMap):
        return None
    characters: dict[int, int] = {}
    for first, rest in found.code2cid.items():
        if not isinstance(rest, dict):
            return None
        for second, cid in cast("dict[int, object]", rest).items():
            if not isinstance(cid, int):
                return None
            characters[first << 8 | second] = cid
    return characters
