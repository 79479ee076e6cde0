"""Figures in Japanese text: numbers as values with what they count, era years as western years.

Knows: notation (commas, 万 and 億, kanji numerals, 令和元年, R5.4.1). Must not know: who compares figures and why.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tools.variants import ERAS

_SMALL = {"十": 10, "百": 100, "千": 1_000}
_LARGE = {"万": 10_000, "億": 10**8, "兆": 10**12}
_DIGITS = {char: digit for digit, char in enumerate("〇一二三四五六七八九")}
_FIRST_YEAR = {era.name: era.first for era in ERAS} | {era.letter.lower(): era.first for era in ERAS}

# A kanji numeral is a figure only where something is counted: 一般, 三鷹市 and 四半期 are words.
_COUNTED = "年月日時分秒人名件円歳才回台本枚個社校館棟戸世か箇ヶカ割倍週条項号点種級階頁%割"
_KANJI = "〇一二三四五六七八九十百千"
_ARABIC = r"(?:[0-9]{1,3}(?:,[0-9]{3}){1,12}(?![0-9])|[0-9]+)(?:\.[0-9]+)?"
_FIGURE = re.compile(
    r"(?P<era>明治|大正|昭和|平成|令和|(?<![a-z])[mtshr]\.?)\s?"
    r"(?P<year>元|[0-9]{1,2}|[一二三四五六七八九十]{1,3})(?=\s?年|[./][0-9])"
    rf"|(?P<number>{_ARABIC}(?:[百千](?=[万億兆円人件名])|[万億兆])?"
    rf"(?:(?<=[百千万億兆]){_ARABIC}?(?:[百千]?[万億]|[百千](?=[円人件名])))*(?:(?<=[万億兆])[0-9]+)?)"
    rf"|(?P<kanji>[{_KANJI}][{_KANJI}万億兆]{{0,20}})(?=[{_COUNTED}])"
)
_PART = re.compile(r"([0-9.]+)|(.)")
_LONG_UNITS = {
    "年度": "年", "か月": "か月", "ヶ月": "か月", "カ月": "か月", "箇月": "か月",
    "か所": "か所", "ヶ所": "か所", "カ所": "か所", "箇所": "か所", "世帯": "世帯", "パー": "%",
}  # fmt: skip
_SAME_UNITS = {"名": "人", "才": "歳"}


@dataclass(frozen=True, slots=True)
class Figure:
    """A value and its unit ("" where none stands behind it); offsets of the numeral in the text that was read."""

    value: float
    unit: str
    start: int
    end: int

    def agrees(self, other: Figure) -> bool:
        """The same value of the same thing; a bare number may be of anything."""
        return self.value == other.value and self.same_unit(other)

    def same_unit(self, other: Figure) -> bool:
        """Whether the two may count the same thing."""
        return self.unit == other.unit or not self.unit or not other.unit

    def rounds(self, other: Figure) -> bool:
        """Whether this is `other` rounded to this one's own leading digits, two or more ("約123万" of 1,234,567)."""
        if not self.same_unit(other) or self.unit == "年" or not self.value.is_integer():
            return False
        written = str(int(self.value))
        leading = written.rstrip("0")
        step = 10 ** (len(written) - len(leading))
        return len(leading) >= 2 and abs(self.value - other.value) * 2 <= step


def figures(text: str) -> list[Figure]:
    """The figures of a text in NFKC and lower case, in order. Linear in its length."""
    found: list[Figure] = []
    for match in _FIGURE.finditer(text):
        start, end = match.span()
        if match["era"]:
            year = 1 if match["year"] == "元" else int(_value(match["year"]))
            value = float(_FIRST_YEAR[match["era"].rstrip(".")] - 1 + year)
        else:
            value = _value(match[0].replace(",", ""))
        found.append(Figure(value, _unit(text, end), start, end))
    return found


def _value(written: str) -> float:
    """The value of digits, kanji, or both mixed (1億2000万, 三千二百, 二〇二四, 1.2億)."""
    total = section = 0.0
    pending: float | None = None
    for digits, char in _PART.findall(written):
        if digits:
            pending = float(digits)
        elif char in _DIGITS:
            pending = (pending or 0.0) * 10 + _DIGITS[char]
        elif char in _SMALL:
            section += (1.0 if pending is None else pending) * _SMALL[char]
            pending = None
        else:
            total += (section + (pending or 0.0) or 1.0) * _LARGE[char]
            section, pending = 0.0, None
    # 1.15 × 10^8 is not whole in binary; six places are more than any figure of a document has.
    return round(total + section + (pending or 0.0), 6)


def _unit(text: str, at: int) -> str:
    if text[at : at + 1] == " ":
        at += 1
    two = text[at : at + 2]
    if two in _LONG_UNITS:
        return _LONG_UNITS[two]
    one = two[:1]
    counts = one == "%" or "a" <= one <= "z" or "ァ" <= one <= "ヺ" or "一" <= one <= "鿿"
    return _SAME_UNITS.get(one, one) if counts else ""
