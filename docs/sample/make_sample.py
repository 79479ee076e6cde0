# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "fpdf2==2.8.9",
#   "fonttools==4.68.0",
#   "matplotlib-fontja==1.1.0",  # only for the IPAexGothic font file that it carries
# ]
# ///
"""Writes the documents and the manifest of the bundled sample benchmark from the sources beside this script.

    uv run --script docs/sample/make_sample.py            write sandbox/benchmarks/sample/docs and manifest.jsonl
    uv run --script docs/sample/make_sample.py --check    write nothing; exit 1 if a file would change

Knows: the city's page furniture, the encodings, and a small line-based markup for the PDF documents. Must not know:
the questions (`questions.jsonl` is written by hand) and anything of the package itself.

The same sources give the same bytes: no clock, no random ids. A PDF's streams are deflated, so the bytes of the PDFs
also depend on the deflate library that Python was built with; CPython with the ordinary zlib made these.

A source file is `key: value` lines, an empty line, and the body. `template` chooses how the body is dressed: `modern`,
`press`, `reiki` and `legacy` are HTML furniture; `text` and `csv` are taken as they are; `pdf` is the markup below:

    ---              next physical page        !cover A|B|C     a cover page
    # title          ## heading                ### small heading
    - item           | cell | cell |           a table; its first row is the heading
"""

from __future__ import annotations

import argparse
import hashlib
import html
import importlib.util
import json
import re
import sys
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from string import Template

from fpdf import FPDF
from fpdf.enums import XPos, YPos

HERE = Path(__file__).resolve().parent
TARGET = HERE.parents[1] / "sandbox" / "benchmarks" / "sample"
MEDIA_TYPES = {".html": "text/html", ".txt": "text/plain", ".csv": "text/csv", ".pdf": "application/pdf"}
HTML_CHARSETS = {"utf-8": "UTF-8", "cp932": "Shift_JIS", "euc_jp": "EUC-JP"}

PAGE_WIDTH_MM = 210.0
MARGIN_MM = 22.0
BODY_PT = 11
LINE_MM = 7.4
# Kinsoku: what may not begin or end a printed line. Numbers stay whole, with their era name and their unit.
NOT_AT_START = "、。，．・：；？！）」』】〉》％%ー々ぁぃぅぇぉっゃゅょァィゥェォッャュョ人件円年度月日歳"
NOT_AT_END = "（「『【〈《"
UNBREAKABLE = re.compile(r"(?:令和|平成)?(?:[0-9０-９][0-9０-９,，.．]*[億万]?)+|[A-Za-z]+|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Source:
    """One source file: its id, its header fields and its body."""

    doc_id: str
    suffix: str
    fields: dict[str, str]
    body: str


def read_source(path: Path) -> Source:
    """The source in `path`. Raises ValueError for a header line without a colon."""
    head, _, body = path.read_text(encoding="utf-8").partition("\n\n")
    fields: dict[str, str] = {}
    for line in head.splitlines():
        key, colon, value = line.partition(": ")
        if not colon:
            raise ValueError(f"{path.name}: header line without a colon: {line!r}")
        fields[key] = value.strip()
    suffix = ".pdf" if fields["template"] == "pdf" else path.suffix
    return Source(path.stem, suffix, fields, body)


def render(source: Source) -> bytes:
    """The document's bytes as a server of the city would send them."""
    match source.fields["template"]:
        case "pdf":
            return render_pdf(source)
        case "text":
            return source.body.encode()
        case "csv":
            return b"\xef\xbb\xbf" + source.body.replace("\n", "\r\n").encode()
        case template:
            return render_html(source, template)


def render_html(source: Source, template: str) -> bytes:
    """The body in its furniture, in the encoding that the header names (default UTF-8)."""
    fields = source.fields
    encoding = fields.get("encoding", "utf-8")
    year, month, day = re.findall(r"\d+", fields["updated"])
    crumbs = "".join(f' &gt; <a href="./">{html.escape(c)}</a>' for c in fields["crumbs"].split(" > "))
    page = Template((HERE / "furniture" / f"{template}.html").read_text(encoding="utf-8")).substitute(
        title=html.escape(fields["title"]),
        crumbs=crumbs,
        updated=f"{year}年{month}月{day}日",
        page_id=fields.get("page_id", ""),
        section=fields["section"],
        tel=fields["tel"],
        charset=HTML_CHARSETS[encoding],
        body=source.body.strip(),
    )
    return page.encode(encoding)


def render_pdf(source: Source) -> bytes:
    """A PDF with an embedded font subset and a text layer; one `---` block a physical page, labels as the header says."""
    made = date.fromisoformat(source.fields["updated"])
    pdf = FPDF(format="A4")
    pdf.set_creation_date(datetime(made.year, made.month, made.day, tzinfo=UTC))
    pdf.set_title(source.fields["title"])
    pdf.set_author("凪原市（架空の市）")
    pdf.set_lang("ja")
    pdf.set_margins(MARGIN_MM, 20, MARGIN_MM)
    pdf.set_auto_page_break(auto=False)
    pdf.add_font("ipaexg", "", font_file())
    first_label = int(source.fields["first_label"])
    for index, block in enumerate(source.body.strip("\n").split("\n---\n")):
        pdf.add_page()
        lines = block.strip("\n").splitlines()
        if lines[0].startswith("!cover "):
            draw_cover(pdf, lines[0].removeprefix("!cover ").split("|"))
            continue
        draw_block(pdf, lines)
        if pdf.get_y() > pdf.h - 22:
            raise ValueError(f"{source.doc_id}: physical page {index + 1} runs over its foot")
        pdf.set_y(pdf.h - 16)
        pdf.set_font("ipaexg", size=9)
        pdf.cell(0, 6, f"- {first_label + index} -", align="C")
    return bytes(pdf.output())


def font_file() -> Path:
    """IPAexGothic inside the installed font package (found, not imported: importing it would start matplotlib)."""
    spec = importlib.util.find_spec("matplotlib_fontja")
    if spec is None or spec.origin is None:
        raise SystemExit("matplotlib-fontja is not installed; run this script with: uv run --script")
    return Path(spec.origin).parent / "fonts" / "ipaexg.ttf"


def draw_cover(pdf: FPDF, lines: list[str]) -> None:
    """A coloured band with the title lines."""
    pdf.set_fill_color(28, 92, 138)
    pdf.rect(0, 70, PAGE_WIDTH_MM, 4, style="F")
    pdf.set_y(86)
    for number, line in enumerate(lines):
        write_line(pdf, line, size_pt=26 if number == 0 else 16, height_mm=16, align="C")
    pdf.rect(0, 158, PAGE_WIDTH_MM, 4, style="F")


def draw_block(pdf: FPDF, lines: list[str]) -> None:
    """The lines of one physical page, from its top."""
    table: list[list[str]] = []
    for line in [*lines, ""]:
        if line.startswith("|"):
            table.append([cell.strip() for cell in line.strip("|").split("|")])
            continue
        if table:
            draw_table(pdf, table)
            table = []
        draw_line(pdf, line)


def draw_line(pdf: FPDF, line: str) -> None:
    """A heading, an item or a paragraph."""
    if line.startswith("### "):
        pdf.ln(2)
        write_line(pdf, line[4:], size_pt=11.5, height_mm=8)
    elif line.startswith("## "):
        pdf.ln(3)
        pdf.set_fill_color(222, 234, 243)
        pdf.rect(MARGIN_MM, pdf.get_y(), PAGE_WIDTH_MM - 2 * MARGIN_MM, 10, style="F")
        write_line(pdf, line[3:], size_pt=14, height_mm=10)
        pdf.ln(2)
    elif line.startswith("# "):
        write_line(pdf, line[2:], size_pt=18, height_mm=13)
    elif line.startswith("- "):
        write_wrapped(pdf, "・" + line[2:])
    elif line:
        write_wrapped(pdf, "　" + line if not line.startswith("（") else line)
        pdf.ln(1)
    else:
        pdf.ln(3)


def write_wrapped(pdf: FPDF, text: str) -> None:
    """A paragraph, broken by our own rules so that a number is never cut."""
    pdf.set_font("ipaexg", size=BODY_PT)
    width_mm = PAGE_WIDTH_MM - 2 * MARGIN_MM - 2
    line = ""
    for piece in unbreakable_pieces(text):
        if line and pdf.get_string_width(line + piece) > width_mm:
            write_line(pdf, line, size_pt=BODY_PT, height_mm=LINE_MM)
            line = ""
        line += piece
    write_line(pdf, line, size_pt=BODY_PT, height_mm=LINE_MM)


def unbreakable_pieces(text: str) -> list[str]:
    """The text cut where a line may break."""
    pieces: list[str] = []
    for piece in UNBREAKABLE.findall(text):
        if pieces and (piece[0] in NOT_AT_START or pieces[-1][-1] in NOT_AT_END):
            pieces[-1] += piece
        else:
            pieces.append(piece)
    return pieces


def write_line(pdf: FPDF, text: str, *, size_pt: float, height_mm: float, align: str = "L") -> None:
    """One printed line."""
    pdf.set_font("ipaexg", size=size_pt)
    pdf.cell(0, height_mm, text, align=align, new_x=XPos.LMARGIN, new_y=YPos.NEXT)


def draw_table(pdf: FPDF, rows: list[list[str]]) -> None:
    """A ruled table; column widths follow the longest cell; the first row is shaded."""
    pdf.set_font("ipaexg", size=9.5)
    natural = [max(pdf.get_string_width(cell) for cell in column) + 6 for column in zip(*rows, strict=True)]
    scale = (PAGE_WIDTH_MM - 2 * MARGIN_MM) / sum(natural)
    if scale < 0.96:
        raise ValueError(f"a table is too wide for its page: {rows[0]}")
    pdf.set_fill_color(236, 236, 236)
    for number, row in enumerate(rows):
        for column, (width, cell) in enumerate(zip(natural, row, strict=True)):
            figure = column > 0 and re.match(r"[△0-9―]", cell) is not None
            align = "C" if number == 0 else "R" if figure else "L"
            pdf.cell(width * scale, 7.4, cell, border=1, align=align, fill=number == 0)
        pdf.ln(7.4)
    pdf.ln(2)


def manifest_line(source: Source, body: bytes) -> str:
    """The document's line in manifest.jsonl."""
    return json.dumps(
        {
            "doc_id": source.doc_id,
            "url": source.fields["url"],
            "title": source.fields["title"],
            "media_type": MEDIA_TYPES[source.suffix],
            "path": f"docs/{source.doc_id}{source.suffix}",
            "bytes": len(body),
            "sha256": hashlib.sha256(body).hexdigest(),
            "lang": "ja",
            "note": source.fields["note"],
        },
        ensure_ascii=False,
    )


def main() -> int:
    """Writes or checks the files; 0 when all is as it should be."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file would change")
    check: bool = parser.parse_args().check
    files: dict[Path, bytes] = {}
    lines: list[str] = []
    for path in sorted((HERE / "pages").iterdir()):
        source = read_source(path)
        body = render(source)
        files[TARGET / "docs" / f"{source.doc_id}{source.suffix}"] = body
        lines.append(manifest_line(source, body))
    files[TARGET / "manifest.jsonl"] = "".join(line + "\n" for line in lines).encode()
    stale = [p for p, body in files.items() if not p.exists() or p.read_bytes() != body]
    stray = [p for p in (TARGET / "docs").glob("*") if p not in files]
    for path in stale + stray:
        sys.stdout.write(f"{'differs' if path in files else 'has no source'}: {path.relative_to(TARGET)}\n")
    if not check:
        (TARGET / "docs").mkdir(parents=True, exist_ok=True)
        for path in stale:
            path.write_bytes(files[path])
    sys.stdout.write(f"{len(files) - 1} documents, {sum(map(len, files.values()))} bytes\n")
    return 1 if check and (stale or stray) else 0


if __name__ == "__main__":
    sys.exit(main())
