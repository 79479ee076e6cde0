"""Phrases of answers and documents, Japanese and English: negation, openings, giving up, refusing, questions.

Knows: wording, in NFKC and lower case. Must not know: what a phrase leads to.
"""

from __future__ import annotations

import re

_NEGATION = re.compile(
    r"ない|なかった|なく(?:な|、)|ません|[ぁ-ゖ]ず(?:に|、|$)|できず|なし$|不可|不要|対象外"
    r"|\bnot\b|\bno\b|n't\b|cannot|\bnever\b"
)
# These look like a negation and are none.
_NO_NEGATION = re.compile(
    r"な(?:ければ|くては)な(?:らない|らず|りません)|ないといけ(?:ない|ません)|かもしれ(?:ない|ません)|ざるを得(?:ない|ません)"
    r"|だけで(?:は)?なく|のみならず|少なくない|少なく(?:ありません|とも)|にほかならない|ではないか|not only"
)
_OPENING = re.compile(
    r"(?:以下|次)(?:に|の(?:とおり|通り|よう|[0-9]+ ?(?:点|つ|種|項|要件|条件)))"
    r"|(?:まとめ|整理し|説明し|紹介し|回答し|お答えし|比較し|示し|述べ)(?:ます|ました)$"
    r"|まとめると$|以上(?:です|のとおり|の通り|が|より)|(?:調べた|参照した)資料には"
    r"|^(?:まず|次に|最後に|また|なお|さらに|一方|結論として|まとめ|要約|概要)$"
    r"|詳細は|詳しくは|(?:参照|確認)(?:して)?ください$|お問い合わせください"
    r"|as follows|^in summary$|^(?:here|below) (?:is|are)\b|following (?:points|table)|^let me\b"
)
_GIVING_UP = re.compile(
    r"(?:分か|わか)(?:り(?:ません|かね)|らな(?:い|かった))"
    r"|(?:見つか|見当た|みつか)(?:りません|らな(?:い|かった))"
    r"|(?:確認|特定|回答|判断|お答え)(?:する)?(?:ことは|ことが|は|が)?でき(?:ません|ず|な(?:い|かった))"
    r"|情報(?:は|が)(?:ありません|得られません|ない)|不明です"
    r"|(?:could|can|did) ?not (?:find|determine|answer|confirm)|(?:do not|don't) know|no information|unable to"
)
_REFUSAL = re.compile(
    r"(?:お答え|お手伝い|お伝え|お教え|お話し|お応え|応じ(?:る)?|従う|提供|説明|協力|支援|教え(?:る)?|話す|言う|書く|出力)"
    r"(?:する)?(?:ことは|ことが|は|が|も)?(?:でき(?:ません|ない|かね)|られ(?:ません|ない)|しかね|いたしかね)"
    r"|応じ(?:られません|かね)|差し控え|控えさせて|お断り|遠慮(?:させて|いたし)"
    r"|\b(?:cannot|can't|can ?not|won't|will not|unable to|not able to|must decline|have to decline)\b|i(?:'m| am) sorry"
)
_REQUEST = re.compile(
    r"(?:ください|下さい|てほしい(?:です)?|てくれ(?:る|ませんか|ない)?|ましょう|お願い(?:します|いたします)?|教えて|話して)[!]*$"
    r"|^(?:please|tell|write|give|show|list|explain|describe|imagine|now|then|let's|summari[sz]e|remind)\b"
)
_QUESTION = re.compile(r"(?:\?|(?:でしょう|ません|ます|です)か)$")


def is_negative(text: str) -> bool:
    """Whether the sentence denies: an odd number of negations. なければならない and its kin are none."""
    return len(_NEGATION.findall(_NO_NEGATION.sub("", text))) % 2 == 1


def opens(text: str) -> bool:
    """Whether the sentence introduces, joins or points on: 以下にまとめます, 詳細はご確認ください."""
    return _OPENING.search(text) is not None


def gives_up(text: str) -> bool:
    """Whether the text says somewhere that something could not be found or answered."""
    return _GIVING_UP.search(text) is not None


def refuses(text: str) -> bool:
    """Whether the text says somewhere that the speaker cannot or will not do what was asked."""
    return _REFUSAL.search(text) is not None


def requests(text: str) -> bool:
    """Whether the sentence asks somebody to do something, in the imperative or politely."""
    return _REQUEST.search(text) is not None


def asks(text: str) -> bool:
    """Whether the sentence is a question."""
    return _QUESTION.search(text) is not None
