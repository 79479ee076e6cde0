"""Offsets counted in characters turned into UTF-16 units, in which JavaScript counts.

Knows: characters beyond the Basic Multilingual Plane (𠮷, 😀) are two units. Must not know: what the text is.
"""

from __future__ import annotations

from bisect import bisect_left


class Utf16:
    """The map of one text. Free where the text has no character beyond U+FFFF."""

    def __init__(self, text: str) -> None:
        wide = len(text.encode("utf-16-le", "surrogatepass")) != 2 * len(text)
        self._wide = [i for i, char in enumerate(text) if char > "\uffff"] if wide else []
        self.length = len(text) + len(self._wide)
        """Of the whole text, in UTF-16 units."""

    def at(self, char: int) -> int:
        """The UTF-16 offset of the character at offset `char`, or of the text's end."""
        return char + bisect_left(self._wide, char)
