"""Bytes of a page into characters: which encoding a page is really written in.

Knows: byte order marks, charset labels, the Japanese encodings and how pages lie about them. Must not know: HTML
structure beyond a charset declaration, networks, tools.

Japanese vendor characters (①, ㈱, ～) are read the way browsers read them (WHATWG Encoding, index jis0208): Shift_JIS,
EUC-JP and ISO-2022-JP bytes of the same character give the same text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_HEAD_BYTES = 8192
"""How far a charset declaration is looked for; the HTML standard says 1,024, pages with long heads exceed it."""

_MIN_PLAUSIBLE = 0.8
_MAX_IMPLAUSIBLE = 0.5
_MIN_KANA_SHARE = 0.1
_MAX_ERROR_SHARE = 0.05
_SEQUENCES_PER_ERROR = 20

_LABELS = {
    "utf-8": "utf-8 utf8 unicode-1-1-utf-8 utf-8n utf-16 utf-16le utf-16be unicode",
    "cp932": "shift_jis shift-jis sjis x-sjis ms_kanji csshiftjis windows-31j ms932 cp932 shift_jis-2004",
    "euc-jp": "euc-jp eucjp x-euc-jp euc_jp eucjp-win eucjp-ms cseucpkdfmtjapanese ujis",
    "iso-2022-jp": "iso-2022-jp csiso2022jp jis iso-2022-jp-1 iso-2022-jp-ms",
    "cp1252": "iso-8859-1 iso8859-1 latin1 latin-1 l1 us-ascii ascii windows-1252 cp1252 x-cp1252",
    "iso8859-2": "iso-8859-2 latin2",
    "iso8859-15": "iso-8859-15 latin9",
    "cp1250": "windows-1250",
    "cp1251": "windows-1251 cp1251",
    "koi8-r": "koi8-r",
    "gb18030": "gb2312 gbk gb18030 x-gbk",
    "big5hkscs": "big5 big5-hkscs x-x-big5",
    "cp949": "euc-kr ks_c_5601-1987 cp949 windows-949",
}
_WESTERN = ("cp1252", "iso8859-2", "iso8859-15", "cp1250", "cp1251", "koi8-r")
# A page that says UTF-16 in bytes in which that can be read is not UTF-16 (HTML standard): the label means UTF-8.

_EUC_RUNS = re.compile(
    rb"(?P<plain>(?:[\x00-\x7f]|\x8e[\xa1-\xdf]|\x8f[\xa1-\xfe]{2}|[\xa1-\xac\xae-\xf4][\xa1-\xfe])+)"
    rb"|(?P<vendor>(?:[\xad\xf5-\xfe][\xa1-\xfe])+)"
    rb"|(?P<broken>.)",
    re.DOTALL,
)
_JIS_ESCAPE = re.compile(rb"\x1b(\$@|\$B|\$\(D|\(B|\(J|\(I)")
_JIS_KANJI = re.compile(rb"\x1b\$[@B]|\x1b\(I")
_DECLARATION = re.compile(
    rb"<meta[^>]{0,400}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:\-]+)"
    rb"|<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9_.:\-]+)"
    rb"|@charset\s+\"([A-Za-z0-9_.:\-]+)\"",
    re.IGNORECASE,
)
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_HIGH_BITS = bytes(b | 0x80 if 0x21 <= b <= 0x7E else b for b in range(256))

# Python's euc_jp follows the standard's names, the WHATWG index the vendors' full-width forms; cp932 agrees with it.
_WHATWG_FORMS = str.maketrans("〜‖−¢£¬", "～∥－￠￡￢")
_NOT_CP932 = re.compile("[\x80\uf8f0-\uf8f3]")
_LONG_SEQUENCE = re.compile("[\u0800-\ufffc\U00010000-\U0010ffff]")
_NON_ASCII = re.compile(r"[^\x00-\x7f]")
_KANA = re.compile("[ぁ-ゖァ-ヺー]")
_JAPANESE_SIGNS = re.compile("[\u3000-\u303fぁ-ゖァ-ヺー・！-～]")
_KANJI = re.compile("[\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text and the encoding it was read in (a Python codec name). `n_errors` = characters replaced by U+FFFD."""

    text: str
    encoding: str
    n_errors: int


def decode(body: bytes, header_charset: str | None = None) -> Decoded:
    """The text of `body`, never failing: what cannot be read is U+FFFD, counted in `n_errors`.

    In this order: byte order mark; ISO-2022-JP escapes; valid UTF-8 with sequences of three bytes; the encoding that
    the header, then the page declares (one of single bytes last), where the bytes obey it strictly and no other reading
    is plainly the right one; else the reading of UTF-8, Shift_JIS (cp932) and EUC-JP with the fewest errors, then the
    largest share of kana.
    """
    marked = _by_mark(body)
    if marked is not None:
        return marked
    if _JIS_KANJI.search(body) and max(body) < 0x80:
        return _counted(_iso_2022_jp(body), "iso-2022-jp")
    if body.isascii():
        return Decoded(body.decode("ascii"), "ascii", 0)
    utf_8 = _read(body, "utf-8")
    if utf_8.n_errors == 0 and _LONG_SEQUENCE.search(utf_8.text):
        # Three-byte sequences do not come out right by chance, whatever the page says.
        return utf_8
    readings = {"utf-8": utf_8, "cp932": _read(body, "cp932"), "euc-jp": _read(body, "euc-jp")}
    obeyed = [_by_label(body, label, readings) for label in (header_charset, declared_charset(body))]
    # Any bytes obey a Western label, which many servers send by default: a stricter one that they obey too is the truth.
    declared = min(filter(None, obeyed), key=lambda reading: reading.encoding in _WESTERN, default=None)
    if declared is not None:
        return _better_reading(declared, readings.values()) or declared
    if len(_LONG_SEQUENCE.findall(utf_8.text)) > _SEQUENCES_PER_ERROR * utf_8.n_errors:
        return utf_8
    return _fewest_errors(body, readings.values())


def declared_charset(body: bytes) -> str | None:
    """The charset label in the first bytes of a page (meta, XML declaration, CSS @charset), or None."""
    found = _DECLARATION.search(_COMMENT.sub(b"", body[:_HEAD_BYTES]))
    if found is None:
        return None
    return next(group for group in found.groups() if group is not None).decode("ascii")


def _by_mark(body: bytes) -> Decoded | None:
    if body.startswith(b"\xef\xbb\xbf"):
        return _counted(body[3:].decode("utf-8", "replace"), "utf-8")
    if body.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
        return _counted(body.decode("utf-32", "replace"), "utf-32")
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _counted(body.decode("utf-16", "replace"), "utf-16")
    # UTF-16 without a mark: half of the bytes of any markup or ASCII digits are zero, on one side.
    head = body[:1024]
    for encoding, first in (("utf-16-be", 0), ("utf-16-le", 1)):
        zeros, others = head[first::2].count(0), head[1 - first :: 2].count(0)
        if len(head) >= 8 and zeros * 8 >= len(head) and others * 20 <= zeros:
            return _counted(body.decode(encoding, "replace"), encoding)
    return None


def _by_label(body: bytes, label: str | None, readings: dict[str, Decoded]) -> Decoded | None:
    wanted = (label or "").strip("\"' ").lower()
    encoding = next((name for name, labels in _LABELS.items() if wanted in labels.split()), None)
    if encoding is None or encoding == "iso-2022-jp":
        return None
    reading = readings.get(encoding) or _read(body, encoding)
    return reading if reading.n_errors == 0 else None


def _better_reading(declared: Decoded, readings: Iterable[Decoded]) -> Decoded | None:
    """A reading that shows the declaration to be a lie: the bytes obey both, but only one is text."""
    strict = [reading for reading in readings if reading.n_errors == 0 and reading.encoding != declared.encoding]
    if _plausible(declared.text) >= _MAX_IMPLAUSIBLE:
        return None
    likely = [r for r in strict if _plausible(r.text) > _MIN_PLAUSIBLE and _kana_share(r.text) > _MIN_KANA_SHARE]
    return max(likely, key=lambda r: _kana_share(r.text), default=None)


def _fewest_errors(body: bytes, readings: Iterable[Decoded]) -> Decoded:
    best = min(readings, key=lambda r: (r.n_errors, -_kana_share(r.text)))
    n_high_bytes = sum(1 for byte in body if byte >= 0x80)
    if best.n_errors > _MAX_ERROR_SHARE * n_high_bytes:
        western = _read(body, "cp1252")
        return western if western.n_errors == 0 else best
    return best


def _read(body: bytes, encoding: str) -> Decoded:
    if encoding == "euc-jp":
        return _counted(_euc_jp(body), encoding)
    text = body.decode(encoding, "replace")
    if encoding == "cp932":
        # Python maps the bytes 80, A0 and FD–FF, which Shift_JIS does not use, to private characters.
        text = _NOT_CP932.sub("\ufffd", text)
    return _counted(text, encoding)


def _counted(text: str, encoding: str) -> Decoded:
    return Decoded(text, encoding, text.count("\ufffd"))


def _euc_jp(body: bytes) -> str:
    parts: list[str] = []
    for run in _EUC_RUNS.finditer(body):
        if run.lastgroup == "plain":
            parts.append(run[0].decode("euc_jp", "replace").translate(_WHATWG_FORMS))
        elif run.lastgroup == "vendor":
            # NEC row 13 and IBM's rows exist in cp932 only: the same row and cell, in the other arithmetic.
            parts.append(_rows_to_cp932(run[0]).decode("cp932", "replace"))
        else:
            parts.append("\ufffd")
    return "".join(parts)


def _rows_to_cp932(pairs: bytes) -> bytes:
    out = bytearray()
    for row_byte, cell_byte in zip(pairs[::2], pairs[1::2], strict=True):
        row, cell = row_byte - 0xA0, cell_byte - 0xA0
        out.append((row + 1) // 2 + (0x80 if row <= 62 else 0xC0))
        if row % 2 == 0:
            out.append(cell + 0x9E)
        else:
            out.append(cell + (0x3F if cell <= 63 else 0x40))
    return bytes(out)


def _iso_2022_jp(body: bytes) -> str:
    """Escapes switch the character set; inside one, a pair is a row and a cell: EUC-JP with the high bits off."""
    parts: list[str] = []
    charset, at = b"(B", 0
    for escape in [*_JIS_ESCAPE.finditer(body), None]:
        segment = body[at : escape.start() if escape else len(body)]
        if charset in (b"(B", b"(J"):
            parts.append(segment.decode("ascii", "replace"))
        elif charset == b"(I":
            parts.append(segment.translate(_HIGH_BITS).decode("cp932", "replace"))
        elif charset == b"$(D":
            pairs = segment.translate(_HIGH_BITS)
            parts.append(_euc_jp(b"".join(b"\x8f" + pairs[i : i + 2] for i in range(0, len(pairs), 2))))
        else:
            parts.append(_euc_jp(segment.translate(_HIGH_BITS)))
        if escape:
            charset, at = escape[1], escape.end()
    return "".join(parts)


def _kana_share(text: str) -> float:
    n_non_ascii = len(_NON_ASCII.findall(text))
    return len(_KANA.findall(text)) / n_non_ascii if n_non_ascii else 0.0


def _plausible(text: str) -> float:
    """Share of the characters beyond ASCII that Japanese pages are made of: kana, signs, kanji of JIS level 1."""
    n_non_ascii = len(_NON_ASCII.findall(text))
    if n_non_ascii == 0:
        return 1.0
    n_level_1 = sum(map(_is_level_1, _KANJI.findall(text)))
    return (len(_JAPANESE_SIGNS.findall(text)) + n_level_1) / n_non_ascii


def _is_level_1(kanji: str) -> bool:
    encoded = kanji.encode("euc_jp", "ignore")
    return len(encoded) == 2 and 0xB0 <= encoded[0] <= 0xCF
