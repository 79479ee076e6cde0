"""What reading a page says of it, in English.

Knows: the sentences of the readers of HTML, PDF and text. Must not know: who is told.

A failure and a note travel through pipes, tapes and corpora as they were first said, and that is Japanese, the language
of the benchmarks. Whoever speaks English (a run in English, the command line, the ledger of links) translates here.
"""

from __future__ import annotations

import re
from typing import Final


def in_english(said: str) -> str:
    """The sentence in English; as it stands where it is none of the readers' (then it is English already)."""
    for sentence, english in _SENTENCES:
        if (found := sentence.fullmatch(said)) is not None:
            return found.expand(english)
    return said


_ENGLISH: Final = {
    r"中身のない応答です（0バイトか空白だけ）。": r"the response is empty (0 bytes, or white space alone)",
    r"(?:[^、]*、)?(\S+)には対応していません。": r"this is \1, which cannot be read",
    r"文字コードを判別できません。": r"the character encoding cannot be told",
    r"文字のない応答です。": r"the response holds no text",
    r"ページに内容がありません（HTMLとして空です）。": r"the page is empty (no HTML in it)",
    r"ページに文字がありません。": r"the page holds no text",
    r"HTMLの入れ子が深すぎます（(\d+)段を超えています）。": r"the HTML is nested too deeply (more than \1 levels)",
    r"フレームだけのページです。中身のURL: (.*)": r"the page is frames alone; what they show is at: \1",
    r"別のURLへ移動するだけのページです: (.*)": r"the page only leads on to another URL: \1",
    r"JavaScriptを実行しないと内容が現れないページです。": r"the page shows nothing unless its JavaScript is run",
    r"「ページが見つからない」という内容のページです（サーバーの応答は正常でした）。":
        r"the page says that there is no such page (although the server calls it found)",
    r"PDFが大きすぎます（ページ数または展開後の大きさ）。": r"the PDF is too large (pages, or size unpacked)",
    r"PDFが壊れていて読み取れません。": r"the PDF is broken and cannot be read",
    r"PDFの構造が複雑すぎます。": r"the structure of the PDF is too complex",
    r"PDFの暗号の方式に対応していません。": r"the PDF is encrypted in a way that is not supported",
    r"PDFはパスワードで保護されていて読めません。": r"the PDF is protected by a password",
    r"PDFの暗号（AES）を解くには cryptography パッケージが必要です。":
        r"the PDF is encrypted with AES, which needs the package cryptography",
    r"PDFの圧縮方式に対応していません。": r"the PDF is compressed in a way that is not supported",
    r"PDFのページが展開すると大きすぎます。": r"the pages of the PDF are too large when unpacked",
    r"PDFのフォントが文字コードを示していないため、本文を読み取れません。":
        r"the fonts of the PDF do not say which characters they show, so its text cannot be read",
    r"PDFのページが壊れていて読み取れません。": r"the pages of the PDF are broken and cannot be read",
    r"画像だけのPDFです（全(\d+)ページ、文字のデータなし。スキャンした文書など）。":
        r"the PDF is images alone (\1 pages without text: a scan, perhaps)",
    r"PDFに文字がありません。": r"the PDF holds no text",
    r"物理ページ ([\d–, ]+): 画像だけで、文字のデータがありません（スキャンした文書など）。":
        r"physical page \1: an image without text (a scan, perhaps)",
    r"物理ページ ([\d–, ]+): フォントが文字コードを示していないため、本文を読み取れません（省きました）。":
        r"physical page \1: left out, because its fonts do not say which characters they show",
    r"物理ページ ([\d–, ]+): 〓 は、フォントが文字コードを示していないため読み取れない文字です。":
        r"physical page \1: 〓 is a character that cannot be read, because its font does not say which it shows",
    r"物理ページ ([\d–, ]+): 壊れていて読み取れません。": r"physical page \1: broken, cannot be read",
    r"物理ページ ([\d–, ]+): 大きすぎるため省きました。": r"physical page \1: left out, because it is too large",
    r"全(\d+)物理ページのうち、先頭の(\d+)ページだけを読み取りました。":
        r"only the first \2 of \1 physical pages were read",
    r"ページの処理が([\d.e+-]+)秒以内に終わりませんでした。": r"reading the page took longer than \1 s",
    r"ページの処理中に抽出プロセスが異常終了しました。": r"the process that read the page died of it",
    r"ページの構造が複雑すぎます。": r"the structure of the page is too complex",
    r"ページの処理に使うメモリが上限を超えました。": r"reading the page took more memory than allowed",
}  # fmt: skip
_SENTENCES: Final = tuple((re.compile(said, re.DOTALL), english) for said, english in _ENGLISH.items())
