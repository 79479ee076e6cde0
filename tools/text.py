"""Japanese text as search sees it: folded with a map back to the original, or cut into tokens for an index.

Knows: characters. Must not know: pages, queries, tools.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

RULES: Final = 1
"""Revision of the folding and token rules; an index says which one it was built with."""

# One sign for what writers use interchangeably. The long-vowel sign stands with the dashes because "デ－タ", written
# with a minus, is common in older Japanese documents.
_DASHES = "‐‑‒–—―−─━﹘﹣－ー⁃"
_TILDES = "〜～∼∿⁓˜"
_SINGLE_QUOTES = "‘’‚‛′＇`´"
_DOUBLE_QUOTES = "“”„‟″＂〝〞〟"
_DOTS = "·‧•∙⋅・"
# Radicals that word processors put into PDFs in place of the letters; NFKC leaves these alone.
_RADICALS = (
    "⺠民⺟母⻁虎⻄西⻅見⻆角⻑長⻘青⻝食⻤鬼⻩黄⻭歯⻯竜⻲亀⻨麦⻫斉⻢馬⻣骨⻥魚⻦鳥⻚頁⻛風⻜飛⻉貝⻋車⻓長⻔門"
)


def _pairs(signs: str, sign: str) -> dict[int, str]:
    return {ord(other): sign for other in signs}


_LETTERS: Final = {ord(_RADICALS[i]): _RADICALS[i + 1] for i in range(0, len(_RADICALS), 2)}
_SIGNS: Final = {
    **_pairs(_DASHES, "-"),
    **_pairs(_TILDES, "~"),
    **_pairs(_SINGLE_QUOTES, "'"),
    **_pairs(_DOUBLE_QUOTES, '"'),
    **_pairs(_DOTS, "・"),
    **_LETTERS,
}

# Characters that fold to themselves and join with nothing before them; every other one is looked at singly.
_PLAIN = r"!#-&(-,./0-9:-@\[-_a-z{-}、。「-】ぁ-ゖゝゞァ-ヺヽヾ々〆〇㐀-䶿一-鿿"
_SPECIAL_RUN = re.compile(f"[^{_PLAIN}]+")


@dataclass(frozen=True, slots=True)
class Folded:
    """Folded text and the way back.

    The map is sparse: a stretch begins only where folded and original offsets stop running in step. Stretch i begins
    at `starts[i]` of `text` and at `origins[i]` of the original; `widths[i]` is 0 where both run in step, else the
    number of original characters that became the whole stretch together.
    """

    text: str
    n_original: int
    starts: tuple[int, ...]
    origins: tuple[int, ...]
    widths: tuple[int, ...]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The original offsets of `text[start:end]`; the slice there folds to at least that text.

        An empty span gives an empty span. Offsets outside the text raise ValueError.
        """
        if not 0 <= start <= end <= len(self.text):
            raise ValueError(f"no span {start}:{end} in {len(self.text)} folded characters")
        if start == end:
            place = self._original(start)[0] if start < len(self.text) else self.n_original
            return place, place
        return self._original(start)[0], self._original(end - 1)[1]

    def _original(self, offset: int) -> tuple[int, int]:
        """Where the folded character at `offset` came from."""
        i = bisect_right(self.starts, offset) - 1
        if width := self.widths[i]:
            return self.origins[i], self.origins[i] + width
        begin = self.origins[i] + offset - self.starts[i]
        return begin, begin + 1


def fold(text: str) -> Folded:
    """`text` without differences of width, case, spacing, dashes, tildes, quotes and middle dots, in linear time.

    NFKC and case folding by cluster (a character with the marks that follow it), so that "ﾊﾞ" and "ハ゛" with a
    combining mark become one "バ"; white space and zero-width characters are dropped.
    """
    parts: list[str] = []
    starts, origins, widths = [0], [0], [0]
    n_folded = 0  # length of parts so far
    done = 0  # original characters dealt with
    for run in _SPECIAL_RUN.finditer(text):
        begin, stop = run.span()
        if begin > done and joins(text[begin]):
            begin -= 1  # the plain character before it carries the mark
        parts.append(text[done:begin])
        n_folded += begin - done
        while begin < stop:
            end = begin + 1
            while end < stop and joins(text[end]):
                end += 1
            folded = _fold_cluster(text[begin:end])
            if folded:
                parts.append(folded)
            if len(folded) != 1 or end - begin != 1:
                if folded:
                    _stretch(starts, origins, widths, n_folded, begin, end - begin)
                n_folded += len(folded)
                _stretch(starts, origins, widths, n_folded, end, 0)
            else:
                n_folded += 1
            begin = end
        done = stop
    parts.append(text[done:])
    return Folded("".join(parts), len(text), tuple(starts), tuple(origins), tuple(widths))


def _stretch(starts: list[int], origins: list[int], widths: list[int], at: int, origin: int, width: int) -> None:
    if starts[-1] == at:  # nothing stood in the stretch before: it is replaced
        origins[-1], widths[-1] = origin, width
    else:
        starts.append(at)
        origins.append(origin)
        widths.append(width)


@lru_cache(maxsize=1 << 15)
def joins(char: str) -> bool:
    """Whether `char` may combine with what stands before it: marks, half-width voicing marks, Hangul parts."""
    if unicodedata.category(char)[0] == "M":
        return True
    return char in "ﾞﾟ" or "\u1161" <= char <= "\u1175" or "\u11a8" <= char <= "\u11c2"


@lru_cache(maxsize=1 << 16)
def _fold_cluster(cluster: str) -> str:
    normal = unicodedata.normalize("NFKC", cluster.translate(_SIGNS)).casefold()
    normal = unicodedata.normalize("NFKC", normal).translate(_SIGNS)
    return "".join(char for char in normal if not _is_blank(char))


def _is_blank(char: str) -> bool:
    """White space, control and format characters, variation selectors, Hangul fillers and the grapheme joiner."""
    return (
        char.isspace()
        or unicodedata.category(char) in ("Cc", "Cf")
        or "\ufe00" <= char <= "\ufe0f"
        or "\U000e0100" <= char <= "\U000e01ef"
        or char in "\u034f\u115f\u1160\u3164\uffa0\u2800"
    )


class _Level(dict[int, str]):
    """Folding by character for str.translate, filled as characters turn up (at most one entry a character)."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        folded = _fold_cluster(char)
        self[code] = folded if len(folded) == 1 else char
        return self[code]


_LEVEL: Final = _Level()


def level(text: str) -> str:
    """`text` folded one character at a time: exactly as long as the original, so that offsets are the same in both.

    Coarser than fold(): "ﾊﾞ" stays two characters and white space stays. Long-vowel signs become "-".
    """
    return text.translate(_LEVEL)


_TOKEN = re.compile(
    r"[0-9a-zß-öø-ɏ]+"
    r"|[ぁ-ゖゝゞー]+"
    r"|[ァ-ヺヽヾー]+"
    r"|[々〆〇㐀-䶿一-鿿豈-﫿\U00020000-\U0003ffff]+"
    r"|[^\W_0-9a-zß-öø-ɏぁ-ゖゝゞァ-ヺヽヾー々〆〇㐀-䶿一-鿿豈-﫿\U00020000-\U0003ffff]+"
)


_COUNTED = re.compile(r"([^\W_0-9a-z])?([0-9]+)([^\W_0-9a-z])?")


def bigrams(text: str) -> list[str]:
    """Index tokens of `text`: NFKC, lower case; runs of ASCII letters and digits whole; runs of hiragana, of katakana
    and of kanji as pairs of neighbouring characters (a run of one as itself); other scripts' words whole.

    Runs are not joined (東京タワー is 東京, タワ, ワー), but a number also comes with the letter on either side, after
    all others: 第24条 is 第, 24, 条, 第24, 24条. Without that an article or a date is found by its digits alone (on 105
    questions about law articles: best hit right .94 → .96, all pages among the first ten .91 → .97). Signs and spaces
    give nothing.
    """
    tokens: list[str] = []
    normal = unicodedata.normalize("NFKC", text).lower().translate(_LETTERS)
    for run in _TOKEN.findall(normal):
        if len(run) <= 2 or run[0] < "\u3005" or "\uac00" <= run[0] <= "\ud7ff":
            tokens.append(run)
        else:
            tokens.extend([run[i : i + 2] for i in range(len(run) - 1)])
    for before, number, after in _COUNTED.findall(normal):
        if before:
            tokens.append(before + number)
        if after:
            tokens.append(number + after)
    return tokens
