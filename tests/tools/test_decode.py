"""Which encoding a page is really written in, whatever it says."""

from __future__ import annotations

import pytest

from tools.decode import Decoded, declared_charset, decode

TEXT = "令和６年度の①子育て支援は㈱東京で1,234件～2,000件でした。ﾊﾝｶｸも使います。"


def cp932(text: str) -> bytes:
    return text.encode("cp932")


def euc(text: str) -> bytes:
    """EUC-JP as browsers write it: NEC row 13 for ① and ㈱, which Python's codec does not know."""
    return (
        text.replace("～", "〜").encode("euc_jp", "xmlcharrefreplace")
        .replace(b"&#9312;", b"\xad\xa1")
        .replace(b"&#12849;", b"\xad\xea")
    )  # fmt: skip


def jis(text: str) -> bytes:
    """ISO-2022-JP with vendor characters and half-width katakana."""
    out, state = b"", b"(B"
    for character in text:
        pair = euc(character)
        if len(pair) == 2 and pair[0] == 0x8E:
            wanted, seven = b"(I", bytes([pair[1] & 0x7F])
        elif len(pair) == 2:
            wanted, seven = b"$B", bytes(b & 0x7F for b in pair)
        else:
            wanted, seven = b"(B", pair
        out += (b"\x1b" + wanted if wanted != state else b"") + seven
        state = wanted
    return out + (b"" if state == b"(B" else b"\x1b(B")


def page(charset: str | None, text: str = TEXT) -> str:
    meta = f'<meta charset="{charset}">' if charset else ""
    return f"<html><head>{meta}<title>お知らせ</title></head><body><p>{text}</p></body></html>"


@pytest.mark.parametrize("label", ["Shift_JIS", "shift_jis", "x-sjis", "Windows-31J"])
def test_shift_jis_labels_mean_the_vendor_encoding(label: str) -> None:
    assert decode(cp932(page(label))) == Decoded(page(label), "cp932", 0)


def test_header_label_is_enough() -> None:
    assert decode(cp932(TEXT), "Shift_JIS") == Decoded(TEXT, "cp932", 0)


def test_euc_jp_without_meta_is_recognised() -> None:
    assert decode(euc(page(None))) == Decoded(page(None), "euc-jp", 0)


def test_euc_jp_vendor_characters_and_dashes_read_as_in_shift_jis() -> None:
    assert decode(b"\xad\xa1\xad\xea\xa1\xc1\xa1\xdd\xa4\xa2\xf9\xa1", "euc-jp").text == "①㈱～－あ纊"


def test_iso_2022_jp_is_read_by_its_escapes() -> None:
    assert decode(jis(page("iso-2022-jp"))) == Decoded(page("iso-2022-jp"), "iso-2022-jp", 0)


def test_iso_2022_jp_wins_over_a_lying_header() -> None:
    assert decode(jis(page(None)), "utf-8").text == page(None)


@pytest.mark.parametrize("lie", ["utf-8", "EUC-JP", "iso-8859-1", "us-ascii", "no-such-charset", "utf-16"])
def test_shift_jis_page_that_lies_about_itself(lie: str) -> None:
    assert decode(cp932(page(lie))) == Decoded(page(lie), "cp932", 0)


@pytest.mark.parametrize("lie", ["utf-8", "Shift_JIS", "iso-8859-1"])
def test_euc_jp_page_that_lies_about_itself(lie: str) -> None:
    assert decode(euc(page(lie))) == Decoded(page(lie), "euc-jp", 0)


@pytest.mark.parametrize("lie", ["Shift_JIS", "EUC-JP", "iso-8859-1", "gb2312"])
def test_utf_8_page_that_lies_about_itself(lie: str) -> None:
    assert decode(page(lie).encode()) == Decoded(page(lie), "utf-8", 0)


def test_lying_header_is_overruled_by_an_honest_meta() -> None:
    assert decode(cp932(page("Shift_JIS")), "ISO-8859-1").text == page("Shift_JIS")


@pytest.mark.parametrize("label", ["Shift_JIS", "EUC-JP"])
@pytest.mark.parametrize("header", ["ISO-8859-1", "windows-1252"])
def test_a_table_of_names_without_kana_is_read_as_its_meta_says(label: str, header: str) -> None:
    text = page(label, "千代田区 中央区 港区 新宿区").replace("お知らせ", "名簿")
    assert decode(text.encode(label), header).text == text


def test_half_width_katakana_page_keeps_its_declared_shift_jis() -> None:
    text = page("Shift_JIS", "ﾊﾝｶｸｶﾀｶﾅﾉﾍﾟｰｼﾞ" * 5)
    assert decode(cp932(text)) == Decoded(text, "cp932", 0)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be"])
def test_unicode_with_or_without_a_mark(encoding: str) -> None:
    assert decode(page("Shift_JIS").encode(encoding)).text == page("Shift_JIS")


def test_one_broken_byte_does_not_change_the_encoding() -> None:
    assert decode(page("utf-8", "東京都" * 50).encode() + b"\xe6\x9d") == Decoded(
        page("utf-8", "東京都" * 50) + "\ufffd", "utf-8", 1
    )
    assert decode(cp932(page(None)) + b"\x81") == Decoded(page(None) + "\ufffd", "cp932", 1)


def test_western_page_is_not_taken_for_japanese() -> None:
    assert decode("<p>Le café a été fermé, où ça ?</p>".encode("cp1252")).text == "<p>Le café a été fermé, où ça ?</p>"


def test_declaration_inside_a_comment_does_not_count() -> None:
    assert declared_charset(
        b"<!-- <meta charset=utf-8> --><meta http-equiv=x content='text/html; charset=Shift_JIS'>"
    ) == ("Shift_JIS")


def test_xml_declaration_counts() -> None:
    assert declared_charset(b'<?xml version="1.0" encoding="EUC-JP"?><html/>') == "EUC-JP"


def test_empty_body_is_empty_text() -> None:
    assert decode(b"") == Decoded("", "ascii", 0)
