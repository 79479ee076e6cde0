"""Where keywords stand in a text, and which stretch around them is worth showing.

Knows: matching by folding and by other spellings, sentence and line ends. Must not know: tools, models.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import nlargest
from itertools import islice
from typing import Final

from tools.text import Folded, fold, level
from tools.variants import has_two_forms, in_new_forms, variants

REACH: Final = 120
"""Characters shown on either side of a match, at most."""
LONGEST: Final = 480
"""A window of merged matches grows to so many characters, then the next one begins."""

_BREAK = re.compile(r"(?:[。！？!?]|．(?![0-9０-９]))[」』）)】”\"]*|[\n\r\f\u2028\u2029]+")


@dataclass(frozen=True, slots=True)
class Match:
    """One place of a keyword: offsets in the original text. `matched_as` is what stands there if spelled otherwise."""

    start: int
    end: int
    matched_as: str | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of the original text around one or more matches; `matched_as` names other spellings in it, in order."""

    start: int
    end: int
    matched_as: tuple[str, ...] = ()


folded_page = lru_cache(maxsize=16)(fold)
"""fold(), remembered for the last few pages: a model asks the same page for several things."""


def matches(text: str, folded: Folded, keyword: str) -> list[Match]:
    """All places of `keyword` in `text` (`folded` is its fold), in order, none inside another.

    As written first; then under other spellings, which must not touch a longer number or word. Empty where the keyword
    is empty when folded.
    """
    needle = fold(keyword).text
    if not needle:
        return []
    found = [Match(*folded.span(at, at + len(needle))) for at in _places(folded.text, needle)]
    if has_two_forms(needle):
        new_forms, new_needle = in_new_forms(folded.text), in_new_forms(needle)
        for at in _places(new_forms, new_needle):
            found.append(_as_spelled(text, *folded.span(at, at + len(needle))))
    for spelling in variants(keyword):
        other = fold(spelling).text
        for at in _places(folded.text, other):
            match = _as_spelled(text, *folded.span(at, at + len(other)))
            if _stands_alone(text, match.start, match.end):
                found.append(match)
    return _without_overlaps(found)


def _places(haystack: str, needle: str) -> Iterator[int]:
    at = haystack.find(needle) if needle else -1  # nothing stands everywhere, without end
    while at >= 0:
        yield at
        at = haystack.find(needle, at + len(needle))


def _as_spelled(text: str, start: int, end: int) -> Match:
    return Match(start, end, " ".join(text[start:end].split()))


def _without_overlaps(found: list[Match]) -> list[Match]:
    """Of matches that overlap: the literal one, else the longest, else the first."""
    if all(match.matched_as is None for match in found):
        return found  # in order and apart already
    kept: list[Match] = []
    for match in sorted(found, key=lambda match: (match.matched_as is not None, match.start - match.end, match.start)):
        i = bisect_right(kept, match.start, key=lambda other: other.start)
        free_before = i == 0 or kept[i - 1].end <= match.start
        if free_before and (i == len(kept) or match.end <= kept[i].start):
            kept.insert(i, match)
    return kept


_INSIDE_NUMBER = re.compile(r"[0-9０-９][,，.．]?\Z")
_NUMBER_GOES_ON = re.compile(r"[,，]?[0-9０-９]")
_KANJI_NUMERAL = "〇零一二三四五六七八九十百千万億兆"
_KATAKANA = re.compile(r"[ァ-ヺーｦ-ﾟ]")


def _stands_alone(text: str, start: int, end: int) -> bool:
    """False where the match is part of a longer numeral or word: R6 in R60, 5億 in 1.5億, サーバ in サーバント."""
    first, last = text[start], text[end - 1]
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    if first.isdigit() and _INSIDE_NUMBER.search(before):
        return False
    if last.isdigit() and _NUMBER_GOES_ON.match(after):
        return False
    if first in _KANJI_NUMERAL and before[-1:] and before[-1:] in _KANJI_NUMERAL:
        return False
    if last in _KANJI_NUMERAL and after[:1] and after[:1] in _KANJI_NUMERAL:
        return False
    if first.isalpha() and first.isascii() and before[-1:].isascii() and before[-1:].isalnum():
        return False
    return not (_KATAKANA.match(last) and _KATAKANA.match(after))


def windows(text: str, found: Sequence[Match], page_starts: Sequence[int] = ()) -> list[Window]:
    """A window for each match, in order: whole sentences within REACH, on one physical page; overlaps are merged."""
    merged: list[Window] = []
    for match in found:
        low, high = page_bounds(match.start, page_starts, len(text))
        start = max(low, _left(text, match.start))
        end = max(match.end, min(high, _right(text, match.end)))
        spelled = () if match.matched_as is None else (match.matched_as,)
        last = merged[-1] if merged else None
        if last is None or start >= last.end:
            merged.append(Window(start, end, spelled))
        elif match.end <= last.end or (max(end, last.end) - last.start <= LONGEST and last.start >= low):
            both = (*last.matched_as, *(label for label in spelled if label not in last.matched_as))
            # A match that is shown already must not stretch a full window: the next one would be inside again.
            grown = max(end, last.end)
            merged[-1] = Window(last.start, grown if grown - last.start <= LONGEST else last.end, both)
        else:
            merged.append(Window(min(last.end, match.start), end, spelled))
    return [trimmed(text, window) for window in merged]


def joint_windows(text: str, found: Sequence[Sequence[Match]], page_starts: Sequence[int] = ()) -> list[Window]:
    """Windows that hold a match of every list: around each match of the rarest, with the others within REACH of it."""
    anchors = min(found, key=len)
    covers: list[Match] = []
    for anchor in anchors:
        low, high = page_bounds(anchor.start, page_starts, len(text))
        low, high = max(low, anchor.start - REACH), min(high, anchor.end + REACH)
        chosen = [anchor]
        for others in found:
            if others is anchors:
                continue
            near = list(_between(others, low, high))
            if not near:
                break
            chosen.append(min(near, key=lambda match: (abs(match.start - anchor.start), match.start)))
        else:
            labels = [match.matched_as for match in chosen if match.matched_as is not None]
            start, end = min(m.start for m in chosen), max(m.end for m in chosen)
            covers.append(Match(start, end, "、".join(dict.fromkeys(labels)) or None))
    return windows(text, covers, page_starts)


def _between(found: Sequence[Match], low: int, high: int) -> Iterator[Match]:
    i = bisect_right(found, low - 1, key=lambda match: match.start)
    while i < len(found) and found[i].end <= high:
        yield found[i]
        i += 1


def page_bounds(at: int, page_starts: Sequence[int], n_chars: int) -> tuple[int, int]:
    """Start and end of the physical page on which offset `at` stands; the whole text where there are none."""
    i = bisect_right(page_starts, at)
    return (page_starts[i - 1] if i else 0), (page_starts[i] if i < len(page_starts) else n_chars)


def _left(text: str, at: int) -> int:
    """The first sentence or line start within REACH before `at`, else REACH before it."""
    low = max(0, at - REACH)
    if low == 0:
        return 0
    for found in _BREAK.finditer(text, low - 1, at):
        return found.end()
    return low


def _right(text: str, at: int) -> int:
    """The last sentence or line end within REACH after `at`, else REACH after it."""
    high = min(len(text), at + REACH)
    if high == len(text):
        return high
    last = high
    for found in _BREAK.finditer(text, at, high):
        last = found.end()
    return last


def trimmed(text: str, window: Window) -> Window:
    """The window without white space at its ends."""
    piece = text[window.start : window.end]
    start = window.start + len(piece) - len(piece.lstrip())
    return Window(start, max(start, window.start + len(piece.rstrip())), window.matched_as)


def is_cut(text: str, window: Window) -> tuple[bool, bool]:
    """Whether the window begins, and ends, in the middle of a sentence."""
    before = text[max(0, window.start - 20) : window.start].rstrip(" \t　")
    after = text[window.end : window.end + 20].lstrip(" \t　")
    begins_inside = bool(before) and not _ends_with_break(before)
    ends_inside = bool(after) and not _BREAK.match(after)
    return begins_inside, ends_inside and not _ends_with_break(text[max(0, window.end - 20) : window.end])


def _ends_with_break(tail: str) -> bool:
    return any(found.end() == len(tail) for found in _BREAK.finditer(tail))


def nearest_line(text: str, folded: Folded, keyword: str) -> str | None:
    """The line that shares most pairs of characters with `keyword` (the first of such), cut to 2 × 60 characters.

    None where no line shares a pair (a character, for a keyword of one).
    """
    needle = fold(keyword).text
    pairs = dict.fromkeys(needle[i : i + 2] for i in range(max(1, len(needle) - 1)))
    counts: dict[int, int] = {}
    where: dict[int, int] = {}
    for pair in pairs:
        lines: set[int] = set()
        line_end = -1
        for at in _places(folded.text, pair):
            origin = folded.span(at, at + 1)[0]
            if origin < line_end:
                continue  # in the line before: looking for its ends again and again takes minutes on a page of one line
            line = text.rfind("\n", 0, origin) + 1
            line_end = text.find("\n", origin)
            line_end = len(text) if line_end < 0 else line_end
            lines.add(line)
            where.setdefault(line, origin)
            if len(lines) >= 500:  # a pair that stands everywhere says little
                break
        for line in lines:
            counts[line] = counts.get(line, 0) + 1
    if not counts:
        return None
    best = max(counts, key=lambda line: (counts[line], -line))
    end = text.find("\n", best)
    low, high = max(best, where[best] - 60), min(len(text) if end < 0 else end, where[best] + 60)
    return " ".join(text[low:high].split())


# Snippets ----------------------------------------------------------------------------------------------------------

_MOST_TERMS: Final = 40
_MOST_PLACES: Final = 200


def snippets(text: str, terms: Mapping[str, float], n: int, width: int) -> list[str]:
    """At most `n` exact slices of `text`, each at most `width` characters, that hold the most weight of `terms`.

    `terms` are index tokens (tools.text.bigrams) with their weights. A term counts once in a slice, and a quarter in
    the slices after the first that holds it. In the order of the page; the page's beginning where no term stands in it.
    """
    places = _term_places(text, terms, width)
    weights = dict(terms)
    chosen: list[tuple[int, int]] = []
    while places and len(chosen) < n:
        best = _best_stretch(places, weights, width)
        start, end = _grown(text, *best, width)
        if chosen:  # never into a slice that is there already
            start = max([start, *(stop for _, stop in chosen if stop <= best[0])])
            end = min([end, *(begin for begin, _ in chosen if begin >= best[1])])
        chosen.append((start, end))
        for at, term in places:
            if start <= at < end:
                weights[term] = terms[term] / 4
        places = [(at, term) for at, term in places if not start - len(term) < at < end]
    if not chosen and text.strip():
        begin = len(text) - len(text.lstrip())
        chosen = [_grown(text, begin, begin, width)]
    return list(dict.fromkeys(piece for start, end in sorted(chosen) if (piece := text[start:end].strip())))


_levelled_page = lru_cache(maxsize=128)(level)
_levelled_term = lru_cache(maxsize=4096)(level)


def _term_places(text: str, terms: Mapping[str, float], width: int) -> list[tuple[int, str]]:
    """Offset and term of every place, in order. Single characters are asked for only where there is nothing longer."""
    levelled = _levelled_page(text)
    longer = {term: weight for term, weight in terms.items() if 1 < len(term) <= width}
    places: list[tuple[int, str]] = []
    for term in nlargest(_MOST_TERMS, longer or terms, key=lambda term: terms[term]):
        needle = _levelled_term(term)
        whole_word = needle[0].isascii() and needle[-1].isascii() and needle.isalnum()
        for at in islice(_places(levelled, needle), _MOST_PLACES):
            end = at + len(needle)
            if not (whole_word and (_is_word(levelled[at - 1 : at]) or _is_word(levelled[end : end + 1]))):
                places.append((at, term))
    places.sort()
    return places


def _is_word(char: str) -> bool:
    return char.isascii() and char.isalnum()


def _best_stretch(places: list[tuple[int, str]], weights: Mapping[str, float], width: int) -> tuple[int, int]:
    """Start and end of the matches within `width` that weigh most together; the earliest of equals."""
    inside: dict[str, int] = {}
    best_weight, best = -1.0, (0, 0)
    weight, first = 0.0, 0
    for at, term in places:
        end = at + len(term)
        while places[first][0] < end - width:
            gone = places[first][1]
            inside[gone] -= 1
            if not inside[gone]:
                weight -= weights[gone]
            first += 1
        inside[term] = inside.get(term, 0) + 1
        if inside[term] == 1:
            weight += weights[term]
        if weight > best_weight + 1e-9:
            best_weight, best = weight, (places[first][0], end)
    return best


def _grown(text: str, start: int, end: int, width: int) -> tuple[int, int]:
    """`start:end` grown to at most `width` characters: back to its sentence's beginning, on to a sentence's end."""
    spare = width - (end - start)
    low = max(0, start - spare)
    begins = [found.end() for found in _BREAK.finditer(text, low, start)]
    new_start = begins[-1] if begins else (0 if low == 0 else start - spare // 3)
    high = min(len(text), new_start + width)
    ends = [found.end() for found in _BREAK.finditer(text, end, high)]
    return new_start, (ends[-1] if ends and high < len(text) else high)
