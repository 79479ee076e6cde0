"""A PDF's text by physical pages, and what becomes of pages that cannot be read."""

from __future__ import annotations

import zlib
from io import BytesIO
from pathlib import Path

import pytest
from pypdf import PdfWriter

from tools.pdf import PdfText, read_pdf
from tools.pdf_collections import texts_of
from tools.tool import ToolFailure

ENGINE = "pypdf 7.1.1 r1"
CORPUS = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "corpus" / "docs"
HELVETICA = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"


def cid_font(encoding: str, ordering: str = "Japan1") -> str:
    return (
        f"<</Type/Font/Subtype/Type0/BaseFont/Ryumin-Light/Encoding{encoding}/DescendantFonts[<</Type/Font"
        "/Subtype/CIDFontType0/BaseFont/Ryumin-Light"
        f"/CIDSystemInfo<</Registry(Adobe)/Ordering({ordering})/Supplement 2>>>>]>>"
    )


def shown(*lines: str, font: str = "/F1") -> bytes:
    """A content stream; a line in <…> is hexadecimal, else it is plain text."""
    parts = [f"{line if line.startswith('<') else f'({line})'} Tj 0 -20 Td" for line in lines]
    return f"BT {font} 12 Tf 50 700 Td {' '.join(parts)} ET".encode("ascii")


def hexed(text: str, encoding: str) -> str:
    return f"<{text.encode(encoding).hex()}>"


def pdf(*contents: bytes, fonts: str = f"/F1 {HELVETICA}", more: str = "", title: str = "", form: str = "") -> bytes:
    """A PDF with one page per content stream, all with the same resources; `form` becomes object 9."""
    kids = " ".join(f"{10 + 2 * i} 0 R" for i in range(len(contents)))
    objects = {1: b"<</Type/Catalog/Pages 2 0 R>>", 2: f"<</Type/Pages/Count {len(contents)}/Kids[{kids}]>>".encode()}
    objects[3] = f"<</Font<<{fonts}>>{more}>>".encode()
    objects[4] = b"<</Title " + (b"\xfe\xff" + title.encode("utf-16-be")).hex().join("<>").encode() + b">>"
    if form:
        objects[9] = form.encode()
    for i, content in enumerate(contents):
        at = 10 + 2 * i
        page = f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources 3 0 R/Contents {at + 1} 0 R>>"
        objects[at] = page.encode()
        packed = zlib.compress(content, 9)
        objects[at + 1] = f"<</Length {len(packed)}/Filter/FlateDecode>>\nstream\n".encode() + packed + b"\nendstream"
    return assembled(objects)


def assembled(objects: dict[int, bytes]) -> bytes:
    out, offsets = bytearray(b"%PDF-1.5\n"), dict[int, int]()
    for number, content in objects.items():
        offsets[number] = len(out)
        out += f"{number} 0 obj\n".encode() + content + b"\nendobj\n"
    start, size = len(out), max(objects) + 1
    rows = (f"{offsets[n]:010d} 00000 n \n" if n in offsets else "0000000000 65535 f \n" for n in range(size))
    out += f"xref\n0 {size}\n{''.join(rows)}trailer\n<</Size {size}/Root 1 0 R/Info 4 0 R>>\n".encode()
    return bytes(out + f"startxref\n{start}\n%%EOF\n".encode())


def failure(body: bytes) -> tuple[str, str]:
    with pytest.raises(ToolFailure) as caught:
        read_pdf(body)
    return caught.value.kind, caught.value.message


def test_pages_are_physical_and_counted_from_one() -> None:
    read = read_pdf(pdf(shown("First", "page"), b"", shown("Third"), title="令和６年度 報告書"))
    assert read == PdfText("令和６年度 報告書", "First\npage\n\nThird\n", (0, 11, 12), ENGINE, ())
    assert [read.text[start:].split("\n")[0] for start in read.page_starts] == ["First", "", "Third"]


def test_title_is_the_first_line_where_the_metadata_name_a_file() -> None:
    assert read_pdf(pdf(shown("Report", "2024"), title="Microsoft Word - 報告書.doc")).title == "Report"


def test_shift_jis_font_without_map_is_read() -> None:
    fonts = f"/F1 {cid_font('/90ms-RKSJ-H')}"
    assert read_pdf(pdf(shown(hexed("令和６年①子育て", "cp932")), fonts=fonts)).text == "令和６年①子育て\n"


def test_font_in_a_relative_of_shift_jis_is_read_as_shift_jis() -> None:
    fonts = f"/F1 {cid_font('/90pv-RKSJ-H')}"
    assert read_pdf(pdf(shown(hexed("東京都の人口", "cp932")), fonts=fonts)).text == "東京都の人口\n"


def test_unicode_font_without_map_is_read() -> None:
    fonts = f"/F1 {cid_font('/UniJIS2004-UTF16-V')}"
    assert read_pdf(pdf(shown(hexed("縦書き、髙﨑", "utf-16-be")), fonts=fonts)).text == "縦書き、髙﨑\n"


def test_identity_font_of_a_known_collection_is_repaired() -> None:
    fonts = f"/F1 {cid_font('/Identity-H')}"
    ids = {text: cid for cid, text in sorted(texts_of("Adobe-Japan1").items(), reverse=True)}
    codes = "".join(f"{ids[sign]:04x}" for sign in "令和６年①の児童手当")
    assert read_pdf(pdf(shown(f"<{codes}>"), fonts=fonts)).text == "令和６年①の児童手当\n"


@pytest.mark.parametrize(
    "font",
    [
        cid_font("/Identity-H", "Identity"),
        cid_font("/Identity-H", "Unheard1"),
        cid_font("/EUC-H"),
        cid_font("/Identity-H", "Identity").replace("/DescendantFonts", "/ToUnicode/Identity-H/DescendantFonts"),
        "<</Type/Font/Subtype/Type0/Encoding/Identity-H>>",
    ],
)
def test_codes_that_nothing_explains_are_never_taken_for_text(font: str) -> None:
    kind, message = failure(pdf(shown("<2f712f712f712f71>"), fonts=f"/F1 {font}"))
    assert (kind, message) == ("undecodable", "PDFのフォントが文字コードを示していないため、本文を読み取れません。")


def test_unreadable_font_inside_a_form_is_found() -> None:
    inner = f"<</Font<</F9 {cid_font('/Identity-H', 'Identity')}>>>>"
    stream = shown("<2f712f712f712f71>", font="/F9").decode()
    head = f"<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources {inner}/Length {len(stream)}>>"
    body = pdf(
        shown("Readable"), b"q /X1 Do Q", more="/XObject<</X1 9 0 R>>", form=f"{head}\nstream\n{stream}\nendstream"
    )
    assert read_pdf(body).notes == (
        "物理ページ 2: フォントが文字コードを示していないため、本文を読み取れません（省きました）。",
    )


def test_font_that_a_page_lists_but_does_not_use_does_no_harm() -> None:
    fonts = f"/F1 {HELVETICA}/F2 {cid_font('/Identity-H', 'Identity')}"
    assert read_pdf(pdf(shown("Readable"), fonts=fonts)).notes == ()


def test_a_single_unreadable_sign_is_shown_as_geta() -> None:
    fonts = f"/F1 {HELVETICA}/F2 {cid_font('/Identity-H', 'Identity')}"
    content = shown("Readable " * 10) + shown("<2f71>", font="/F2")
    read = read_pdf(pdf(content, fonts=fonts))
    assert read.text.count("〓") == 1
    assert read.notes == ("物理ページ 1: 〓 は、フォントが文字コードを示していないため読み取れない文字です。",)


def test_vertical_lines_of_one_character_are_joined() -> None:
    fonts = f"/F1 {cid_font('/90ms-RKSJ-H')}"
    column = [hexed(sign, "cp932") for sign in "東京都の条例"]
    assert read_pdf(pdf(shown(*column), fonts=fonts)).text == "東京都の条例\n"


def test_scanned_page_is_named_and_a_scanned_file_has_no_text() -> None:
    image = "<</Type/XObject/Subtype/Image/Width 1/Height 1/ColorSpace/DeviceGray/BitsPerComponent 8/Length 1>>"
    more = f"/XObject<</Im0 {image}>>"
    read = read_pdf(pdf(shown("Cover"), b"q /Im0 Do Q", b"q /Im0 Do Q", more=more))
    assert read.notes == ("物理ページ 2–3: 画像だけで、文字のデータがありません（スキャンした文書など）。",)
    assert failure(pdf(b"q /Im0 Do Q", more=more)) == (
        "empty",
        "画像だけのPDFです（全1ページ、文字のデータなし。スキャンした文書など）。",
    )


@pytest.mark.parametrize("broken", ["pointer", "cut", "table"])
def test_broken_cross_references_are_rebuilt(broken: str) -> None:
    body = pdf(shown("Still here"), shown("and here"))
    if broken == "pointer":
        body = body[: body.rindex(b"startxref")] + b"startxref\n99999\n%%EOF\n"
    elif broken == "cut":
        body = body[: body.index(b"xref")] + b"trailer\n<</Root 1 0 R>>\n"
    else:
        body = body.replace(b" 00000 n ", b" 00000 x ")
    assert read_pdf(body).text == "Still here\nand here\n"


def test_a_page_in_a_way_of_packing_that_is_no_longer_read_takes_no_other_with_it() -> None:
    packed, short = b"/Filter/FlateDecode", b"/Filter/Fl         "
    read = read_pdf(pdf(shown("Old"), shown("New")).replace(packed, short, 1))
    assert (read.text, read.notes) == ("\nNew\n", ("物理ページ 1: 壊れていて読み取れません。",))


@pytest.mark.parametrize("body", [b"%PDF-1.7\n", b"%PDF-1.7\n" + b"\x00\xff" * 500, pdf(shown("x"))[:60]])
def test_file_beyond_repair_is_undecodable(body: bytes) -> None:
    assert failure(body) == ("undecodable", "PDFが壊れていて読み取れません。")


def test_decompression_bomb_is_stopped() -> None:
    assert failure(pdf(b" " * 60_000_000)) == ("too_large", "PDFのページが展開すると大きすぎます。")


def test_page_tree_that_claims_200000_pages_is_not_walked() -> None:
    assert failure(pdf(shown("x")).replace(b"/Count 1/", b"/Count 200000/"))[0] == "too_large"


def test_page_tree_that_goes_round_in_circles_is_refused() -> None:
    body = pdf(shown("x")).replace(b"/Kids[10 0 R]", b"/Kids[2 0 R 2 0 R]")
    assert failure(body)[0] in ("undecodable", "empty", "too_large")


def test_only_the_first_600_pages_are_read() -> None:
    read = read_pdf(pdf(*[shown(f"p{i}") for i in range(1, 603)]))
    assert len(read.page_starts) == 600
    assert read.text.endswith("p600\n")
    assert read.notes == ("全602物理ページのうち、先頭の600ページだけを読み取りました。",)


@pytest.mark.parametrize(("password", "outcome"), [("", "Public"), ("秘密", "encrypted")])
def test_empty_password_opens_others_are_refused(password: str, outcome: str) -> None:
    writer = PdfWriter(clone_from=BytesIO(pdf(shown("Public"))))
    writer.encrypt(user_password=password, owner_password="owner", algorithm="RC4-128")
    held = BytesIO()
    writer.write(held)
    if outcome == "encrypted":
        assert failure(held.getvalue()) == ("encrypted", "PDFはパスワードで保護されていて読めません。")
    else:
        assert read_pdf(held.getvalue()).text == "Public\n"


def test_strong_encryption_is_refused_or_asks_for_its_package() -> None:
    keys = f"/U<{'00' * 48}>/O<{'00' * 48}>/UE<{'00' * 32}>/OE<{'00' * 32}>/Perms<{'00' * 16}>"
    method = "/CF<</StdCF<</CFM/AESV3/Length 32>>>>/StmF/StdCF/StrF/StdCF"
    dictionary = f"<</Filter/Standard/V 5/R 6/Length 256/P -4{keys}{method}>>"
    body = pdf(shown("Secret")).replace(b"/Root 1 0 R", f"/Root 1 0 R/Encrypt {dictionary}".encode())
    assert failure(body)[0] == "encrypted"


def test_real_vertical_and_unmapped_files() -> None:
    if not CORPUS.is_dir():
        pytest.skip("the shared corpus is not here")
    found: dict[str, str] = {}
    for name in ("pdfjs-90ms_rksj_h_sample", "pdfjs-noembed-eucjp", "pdfjs-noembed-jis7", "pdfjs-vertical"):
        try:
            found[name] = read_pdf((CORPUS / f"{name}.pdf").read_bytes()).text.strip()
        except ToolFailure as error:
            found[name] = error.kind
    assert found == {
        "pdfjs-90ms_rksj_h_sample": "Hello ASCII\n日本語テスト",
        "pdfjs-noembed-eucjp": "undecodable",
        "pdfjs-noembed-jis7": "ABC あいうえお 123\n1",
        "pdfjs-vertical": "あいうえお日本語",
    }
