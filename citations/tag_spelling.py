"""Every tag of an answer as it was meant: exact, misspelt, full-width, escaped, or of another dialect.

Knows: how models write tags. Must not know: which tag belongs to which, what stands between them.

One pass of one pattern finds whatever could be a tag; the classification looks at each find once. All repetitions in the
pattern are bounded or cannot give back, so that a text of opening brackets alone costs no more than any other.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from citations.cite_body import MAX_BODY_CHARS, read_body
from citations.markup import LONGCITE, TAGS, Dialect, TagKind, plamo

TokenKind = Literal[TagKind, "cite", "debris"]
"""`cite`: a self-closed cite. `debris`: the remains of a tag that cannot be told, which are no text either."""


@dataclass(frozen=True, slots=True)
class Token:
    """A tag, or its remains. `fault` None = spelled exactly; `attribute` is the first attribute's value."""

    kind: TokenKind
    start: int
    end: int
    fault: str | None = None
    attribute: str = ""
    seen: str = ""


def scan(raw: str, dialect: Dialect) -> tuple[Token, ...]:
    """Every tag in order, never overlapping. Those without `fault` are the tags that `citations.markup.tags` finds."""
    spelling = _spelling(dialect)
    if not any(opening in raw for opening in spelling.openings):
        return ()
    wide = any(opening in raw for opening in WIDE_OPENINGS)
    found = _Scan(raw, spelling, spelling.wide if wide else spelling.narrow)
    return tuple(found.tokens())


WIDE_OPENINGS = ("＜", "〈", "&lt;", "&amp;lt;", "&#")
_ENTITY_OPEN, _ENTITY_CLOSE = r"&(?:amp;)?(?:lt|#60|#[xX]3[cC]);", r"&(?:amp;)?(?:gt|#62|#[xX]3[eE]);"
_LENIENT = (
    r"\s{0,3}+(?P<slash>[/／\\]?+)\s{0,3}+(?P<name>[A-Za-zＡ-Ｚａ-ｚ]{1,20}+)"
    r"(?P<rest>[^<>＜＞〈〉&\n]{0,200}+)"
    rf"(?:(?P<close>[>＞〉]|{_ENTITY_CLOSE})|(?=[\n<＜]|\Z))"
)
_SPECIAL = (
    r"\|?plamo[:_]?+(?:(?P<side>begin|end)_?+(?P<token>[A-Za-z0-9_\-]{0,64}+))?+(?::[a-z]{0,5}+)?+(?P<bar>\|?+>?+)"
)
_TAG_NAME = re.compile(r"</?([A-Za-z]{1,20})>")
_SPECIAL_NAME = re.compile(r"<\|plamo:(?:begin|end)_([A-Za-z0-9_\-]{1,64}):plamo\|>")
CITE_NAMES = frozenset(
    {"ref", "refs", "reference", "source", "src", "citation", "cites", "cited", "doc", "document", "footnote", "note"}
)
"""What models write for `cite`; taken for it only around something that reads as a number."""
MIN_TYPO_CHARS = 3


@dataclass(frozen=True, slots=True)
class _Name:
    """What a tag's name means. `foreign`: it belongs to another dialect. `doubtful`: a cite only where one would stand."""

    what: Literal["sentence", "cite"]
    foreign: bool = False
    doubtful: bool = False


@dataclass(frozen=True, slots=True)
class _Spelling:
    exact: Mapping[str, TagKind]
    names: Mapping[str, _Name]
    """By lower-case name, for tags in angle brackets."""
    tokens: Mapping[str, _Name]
    """By name, for special tokens."""
    openings: tuple[str, ...]
    narrow: re.Pattern[str]
    wide: re.Pattern[str]


@lru_cache(maxsize=64)
def _spelling(dialect: Dialect) -> _Spelling:
    exact: dict[str, TagKind] = {
        dialect.sentence_open: "sentence_open",
        dialect.sentence_close: "sentence_close",
        dialect.cite_open: "cite_open",
        dialect.cite_close: "cite_close",
    }
    names: dict[str, _Name] = {}
    tokens: dict[str, _Name] = {}
    for other in (dialect, TAGS, LONGCITE, plamo()):
        tags: tuple[tuple[str, Literal["sentence", "cite"]], ...] = (
            (other.sentence_open, "sentence"),
            (other.cite_open, "cite"),
        )
        for tag, what in tags:
            name = _Name(what, foreign=other is not dialect)
            if found := _TAG_NAME.fullmatch(tag):
                names.setdefault(found[1].lower(), name)
            elif found := _SPECIAL_NAME.fullmatch(tag):
                tokens.setdefault(found[1], name)
    odd = [tag for tag in exact if not _TAG_NAME.fullmatch(tag) and not _SPECIAL_NAME.fullmatch(tag)]
    literal = "".join(f"(?P<odd{i}>{re.escape(tag)})|" for i, tag in enumerate(odd))
    return _Spelling(
        exact,
        names,
        tokens,
        ("<", *WIDE_OPENINGS, *odd),
        re.compile(f"{literal}<(?:{_SPECIAL}|{_LENIENT})"),
        re.compile(f"{literal}(?:[<＜〈]|{_ENTITY_OPEN})(?:{_SPECIAL}|{_LENIENT})"),
    )


@dataclass(slots=True)
class _Scan:
    raw: str
    spelling: _Spelling
    pattern: re.Pattern[str]
    names: dict[str, _Name | None] = field(default_factory=dict[str, "_Name | None"])

    def tokens(self) -> Iterator[Token]:
        """The tokens in order; a doubtful cite waits for the next tag, which must close it."""
        waiting: list[Token] = []
        for token, doubtful in self._found():
            if waiting:
                opened = waiting.pop()
                if token.kind == "cite_close" and self._numeric(self.raw[opened.end : token.start]):
                    yield opened
                    yield token
                    continue
            if not doubtful:
                yield token
            elif token.kind == "cite_open":
                waiting.append(token)
            elif token.kind == "cite" and self._numeric(token.attribute):
                yield token

    def _found(self) -> Iterator[tuple[Token, bool]]:
        exact, raw = self.spelling.exact, self.raw
        after_cite = False
        for match in self.pattern.finditer(raw):
            text = match[0]
            kind = exact.get(text)
            if kind is not None:
                token, doubtful = Token(kind, match.start(), match.end()), False
            else:
                read = self._special(match) if match["name"] is None else self._misspelt(match)
                if read is None:
                    continue
                token, doubtful = read
                # A cite that was opened exactly and closed by a near miss: the opening tag settles what is meant.
                doubtful = doubtful and not (after_cite and token.kind == "cite_close")
            after_cite = token.kind == "cite_open" and not doubtful
            yield token, doubtful

    def _numeric(self, body: str) -> bool:
        return len(body) <= MAX_BODY_CHARS and bool(read_body(body.strip(), {}).numbers)

    def _misspelt(self, match: re.Match[str]) -> tuple[Token, bool] | None:
        name = self._meaning(match["name"])
        rest, close = match["rest"].strip(), match["close"]
        if name is None or (close is None and rest) or (rest and match["rest"][0] not in AFTER_A_NAME):
            return None
        closing = bool(match["slash"])
        self_closed = rest.endswith(("/", "／"))
        attribute = _first_value(rest.rstrip("/／"))
        if name.what == "sentence":
            kind: TokenKind = "sentence_close" if closing or self_closed else "sentence_open"
        elif closing:
            kind = "cite_close"
        else:
            kind = "cite" if self_closed else "cite_open"
        start = match.start()
        end = match.end() if close is not None else match.end("name")
        text = self.raw[start:end]
        return Token(kind, start, end, self._fault(text, name), attribute, text), name.doubtful

    def _fault(self, text: str, name: _Name) -> str:
        if text[0] == "&" or text[-1] == ";":
            return "S09"
        if not text.isascii() and unicodedata.normalize("NFKC", text).translate(ANGLES) != text:
            return "S08"
        return "S11" if name.foreign else "S07"

    def _meaning(self, written: str) -> _Name | None:
        if written not in self.names:
            self.names[written] = self._look_up(unicodedata.normalize("NFKC", written).lower())
        return self.names[written]

    def _look_up(self, name: str) -> _Name | None:
        known = self.spelling.names.get(name)
        if known is not None:
            return known
        if name in CITE_NAMES:
            return _Name("cite", doubtful=True)
        for right, meaning in self.spelling.names.items():
            if min(len(name), len(right)) >= MIN_TYPO_CHARS and one_slip_apart(name, right):
                return _Name(meaning.what, meaning.foreign, doubtful=meaning.what == "cite")
        return None

    def _special(self, match: re.Match[str]) -> tuple[Token, bool]:
        """A special token that is not one of the dialect's own, or is broken."""
        side, written = match["side"], match["token"] or ""
        whole = _SPECIAL_NAME.fullmatch(match[0]) is not None
        name = self.spelling.tokens.get(written)
        fault = "S11" if whole else "S12"
        if name is None or side is None:
            return Token("debris", match.start(), match.end(), fault, "", match[0]), False
        if name.what == "sentence":
            kind: TokenKind = "sentence_open" if side == "begin" else "sentence_close"
        else:
            kind = "cite_open" if side == "begin" else "cite_close"
        return Token(kind, match.start(), match.end(), fault, "", match[0]), False


AFTER_A_NAME = frozenset(" \t\u3000=:：/／0123456789")
ANGLES = str.maketrans("〈〉", "<>")
_VALUE = re.compile(r"""=?[\s:]*["'“”‘’]?([^"'“”‘’\s/>=]+)""")


def _first_value(attributes: str) -> str:
    """The value of the first attribute: `1` of `id="1"`, of `=1`, of `:1` and of a bare `1`."""
    before, sign, after = attributes.partition("=")
    found = _VALUE.match((after if sign else before).strip())
    return found[1] if found else ""


def one_slip_apart(left: str, right: str) -> bool:
    """Whether one letter added, lost, changed or swapped with its neighbour turns one word into the other."""
    if left == right or abs(len(left) - len(right)) > 1:
        return False
    i = 0
    while i < min(len(left), len(right)) and left[i] == right[i]:
        i += 1
    if len(left) == len(right):
        swapped = left[i : i + 2] == right[i : i + 2][::-1] and left[i + 2 :] == right[i + 2 :]
        return swapped or left[i + 1 :] == right[i + 1 :]
    short, long = sorted((left[i:], right[i:]), key=len)
    return short == long[1:]


def unfinished_tag(raw: str, dialect: Dialect) -> int:
    """Where the last tag of the text begins if the text breaks off in the middle of it, else the length of the text."""
    longest = max(map(len, _spelling(dialect).exact))
    start = raw.rfind("<", max(0, len(raw) - longest + 1))
    if start >= 0 and len(raw) - start >= 2:
        tail = raw[start:]
        if any(tag.startswith(tail) for tag in _spelling(dialect).exact):
            return start
    return len(raw)


def names_seen(tokens: Sequence[Token]) -> tuple[str, ...]:
    """The names of whole special tokens of another dialect, in order of appearance."""
    found = (_SPECIAL_NAME.fullmatch(token.seen) for token in tokens if token.fault == "S11")
    return tuple(dict.fromkeys(match[1] for match in found if match))
