"""The Adobe character collections as pdfminer.six ships them: the seam to that package.

Knows: pdfminer.six's map data. Must not know: PDFs, fonts. Importing it raises ImportError where the package is absent.
"""

# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false
from __future__ import annotations

from typing import cast

from pdfminer.cmapdb import CMapDB  # type: ignore[import-not-found,import-untyped,unused-ignore]


class PdfminerMaps:
    """Character id → text of a collection; code → character id of a named character map."""

    def texts(self, collection: str) -> dict[int, str]:
        """Horizontal and vertical forms merged: a vertical glyph reads as the character that it is a form of."""
        upright = cast("dict[int, str]", CMapDB.get_unicode_map(collection, vertical=False).cid2unichr)
        vertical = cast("dict[int, str]", CMapDB.get_unicode_map(collection, vertical=True).cid2unichr)
        return vertical | upright

    def characters(self, cmap: str) -> dict[int, int] | None:
        """Two-byte code → character id; None where the map is unknown or its codes are not all of two bytes."""
        try:
            by_byte = cast("dict[int, object]", CMapDB.get_cmap(cmap).code2cid)
        except CMapDB.CMapNotFound:
            return None
        characters: dict[int, int] = {}
        for first, rest in by_byte.items():
            if not isinstance(rest, dict):
                return None
            for second, cid in cast("dict[int, object]", rest).items():
                if not isinstance(cid, int):
                    return None
                characters[first << 8 | second] = cid
        return characters
