"""Other ways to write a keyword: era years, numerals, long vowels, small ke, old kanji.

Knows: Japanese spelling habits. Must not know: pages, offsets, how a keyword is searched for.

Every rule rewrites the whole keyword once; rules are not combined. A rule may give nonsense ("第三者" becomes "第3者"):
that is harmless, because it is found in no page, and what is found is shown under the spelling that stands in the page.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

LIMIT: Final = 60
"""At most so many other spellings of one keyword are searched for."""


class Era(NamedTuple):
    """An era: `first` is the western year of its year 1, `last` of its last year."""

    name: str
    letter: str
    first: int
    last: int


ERAS: Final = (
    Era("明治", "M", 1868, 1912),
    Era("大正", "T", 1912, 1926),
    Era("昭和", "S", 1926, 1989),
    Era("平成", "H", 1989, 2019),
    Era("令和", "R", 2019, 2099),
)

_KANJI_DIGITS = "〇一二三四五六七八九"
_DIGIT_OF = {**{char: i for i, char in enumerate(_KANJI_DIGITS)}, "零": 0, "元": 1}
_SMALL_UNITS = {"十": 10, "百": 100, "千": 1000}
_LARGE_UNITS = {"兆": 10**12, "億": 10**8, "万": 10**4}
_TOO_LARGE = 10**16
"""What has no name with these units (17 digits are some record's number, no quantity) is spelled in one way only."""

# What a numeral counts where one kanji alone may be read as a number ("第一", "六条", but not "一般" or "千葉").
_COUNTERS = "条項号章節款編目年月日円人件名個台回階巻期世代歳才割点位級類種次部"


def variants(keyword: str) -> tuple[str, ...]:
    """Other spellings of `keyword`, the likeliest first, without itself and without repeats; at most LIMIT.

    They are text to search for after folding (tools.text.fold), so width, case and spacing do not matter here.
    """
    plain = unicodedata.normalize("NFKC", keyword)
    seen = {plain: None}
    for rule in _RULES:
        for spelling in rule(plain):
            seen.setdefault(spelling)
    return tuple(seen)[1 : LIMIT + 1]


# Era years ---------------------------------------------------------------------------------------------------------

_NUMBER = r"(?:[0-9]{1,2}|元|[〇一二三四五六七八九十]{1,3})"
_ERA_YEAR = re.compile(
    rf"(?:(?P<name>明治|大正|昭和|平成|令和)\s*(?P<n>{_NUMBER})|(?<![A-Za-z])(?P<letter>[MTSHR])\.?\s*(?P<m>[0-9]{{1,2}}|元))"
    r"(?![0-9])(?P<unit>年度|年|(?=\D|$))",
    re.IGNORECASE,
)
_WESTERN_YEAR = re.compile(
    r"(?<![0-9,.])(?:(?P<y>1[89][0-9]{2}|20[0-9]{2})|(?P<k>[一二][〇一二三四五六七八九]{3}))(?P<unit>年度|年|(?![0-9,.]))"
)
_DATE_TAIL = re.compile(r"\s*([0-9]{1,2})\s*月(?:\s*([0-9]{1,2})\s*日)?")


def _years(keyword: str) -> Iterator[str]:
    """The same year in the other calendars, and a whole date also in the forms that tables use (R6.4.1, 2024/4/1)."""
    if (match := _ERA_YEAR.search(keyword)) is not None:
        era = next(era for era in ERAS if era.name == match["name"] or era.letter == (match["letter"] or "").upper())
        year = era.first - 1 + (_whole(match["n"] or match["m"]) or 0)
        if year > era.last:
            return
    elif (match := _WESTERN_YEAR.search(keyword)) is not None:
        year = int(match["y"]) if match["y"] else int("".join(str(_DIGIT_OF[char]) for char in match["k"]))
    else:
        return
    before, after = keyword[: match.start()], keyword[match.end() :]
    for spelling in _spellings_of_year(year, match["unit"], alone=after == ""):
        yield f"{before}{spelling}{after}"
    date = _DATE_TAIL.match(after)
    if match["unit"] == "年" and date is not None:
        for spelling in _spellings_of_date(year, int(date[1]), int(date[2]) if date[2] else None):
            yield f"{before}{spelling}{after[date.end() :]}"


def _spellings_of_year(year: int, unit: str, *, alone: bool) -> Iterator[str]:
    in_eras = [(era, year - era.first + 1) for era in reversed(ERAS) if era.first <= year <= era.last]
    yield f"{year}{unit or '年'}"
    for era, n in in_eras:
        for number in ("元", "1") if n == 1 else (str(n), _positional(n)):
            yield f"{era.name}{number}{unit or '年'}"
        yield f"{era.letter}{n}{unit}"
        if alone:
            yield f"{era.letter}{n}"
    if unit == "年度":
        yield f"FY{year}"
    if unit == "年":
        yield "".join(_KANJI_DIGITS[int(digit)] for digit in str(year)) + unit


def _spellings_of_date(year: int, month: int, day: int | None) -> Iterator[str]:
    rests = [f"{month}", f"{month:02}"] if day is None else [f"{month}S{day}", f"{month:02}S{day:02}"]
    heads = [f"{year}"] + [f"{e.letter}{year - e.first + 1}" for e in reversed(ERAS) if e.first <= year <= e.last]
    for head in heads:
        for sign in "./-":
            for rest in rests:
                yield f"{head}{sign}{rest.replace('S', sign)}"


# Numerals ----------------------------------------------------------------------------------------------------------

_NUMERAL = re.compile(
    r"(?<![A-Za-z0-9])[0-9][0-9,]*(?:\.[0-9]+)?(?:[兆億万千百][0-9,]*)*(?![A-Za-z0-9])|[〇零一二三四五六七八九十百千万億兆]+"
)


def _numerals(keyword: str) -> Iterator[str]:
    """All numerals of the keyword in one other style: digits, with commas, with 万 and 億, kanji by place or digit."""
    found = [
        (match.span(), value) for match in _NUMERAL.finditer(keyword) if (value := _value(keyword, match)) is not None
    ]
    if not found:
        return
    for style in _STYLES:
        parts: list[str] = []
        done = 0
        for (start, end), value in found:
            parts += [keyword[done:start], style(value)]
            done = end
        parts.append(keyword[done:])
        if (spelling := "".join(parts)) != keyword:
            yield spelling


def _value(keyword: str, match: re.Match[str]) -> int | None:
    """The number written at `match`, or None where it is not surely one."""
    written = match[0]
    in_kanji = not written[0].isascii()
    value = _whole(written)
    if value is not None and value >= _TOO_LARGE:
        return None
    if value is None or (in_kanji and len(written) > 1):
        return value
    if value <= 10 or in_kanji:  # one kanji there or back: only where something is counted
        before, after = keyword[: match.start()][-1:], keyword[match.end() :][:1]
        near_counter = before in ("第", "の") or (after != "" and after in _COUNTERS)
        return value if near_counter else None
    return value


def _whole(written: str) -> int | None:
    """The value of digits, kanji, or both (1億2,000万, 一億二千万, 二〇二四, 1.2億); None if no whole number."""
    if written[:1].isascii() and "." in written:
        match = re.fullmatch(r"([0-9,]+)\.([0-9]+)([兆億万])", written)
        if match is None:
            return None
        scale, places = _LARGE_UNITS[match[3]], 10 ** len(match[2])
        value = int(match[1].replace(",", "") + match[2]) * scale
        return value // places if value % places == 0 else None
    total = section = 0
    digits = ""
    for char in written.replace(",", ""):
        if char in _SMALL_UNITS:
            section += (int(digits) if digits else 1) * _SMALL_UNITS[char]
            digits = ""
        elif char in _LARGE_UNITS:
            count = section + (int(digits) if digits else 0)
            if count == 0:
                return None
            total, section, digits = total + count * _LARGE_UNITS[char], 0, ""
        else:
            digits += str(_DIGIT_OF[char]) if char in _DIGIT_OF else char
    return total + section + (int(digits) if digits else 0)


def _positional(value: int) -> str:
    """Kanji by place: 1234 is 千二百三十四."""
    if value == 0:
        return "〇"
    out: list[str] = []
    for sign, unit in (*_LARGE_UNITS.items(), ("", 1)):
        section, value = divmod(value, unit)
        if section == 0:
            continue
        for small, size in (("千", 1000), ("百", 100), ("十", 10), ("", 1)):
            digit, section = divmod(section, size)
            if digit:
                # 一千万 is written with its 一, 千二百 without.
                out.append(
                    ("" if digit == 1 and small and not (small == "千" and sign) else _KANJI_DIGITS[digit]) + small
                )
        out.append(sign)
    return "".join(out)


def _by_digit(value: int) -> str:
    return "".join(_KANJI_DIGITS[int(digit)] for digit in str(value)) if value < 10_000 else _positional(value)


def _mixed(value: int, *, comma: bool) -> str:
    """Digits with 万, 億 and 兆: 120000000 is 1億2000万."""
    out: list[str] = []
    for sign, unit in (*_LARGE_UNITS.items(), ("", 1)):
        section, value = divmod(value, unit)
        if section:
            out.append((f"{section:,}" if comma else str(section)) + sign)
    return "".join(out) or "0"


def _fractional(value: int) -> str:
    """Digits with one large unit and a decimal point where that is short: 120000000 is 1.2億."""
    for sign, unit in _LARGE_UNITS.items():
        if value >= unit and value * 100 % unit == 0 and value % unit:
            return f"{value / unit:.2f}".rstrip("0").rstrip(".") + sign
    return str(value)


_STYLES: Final[tuple[Callable[[int], str], ...]] = (
    str,
    lambda value: f"{value:,}",
    _positional,
    _by_digit,
    lambda value: _mixed(value, comma=False),
    lambda value: _mixed(value, comma=True),
    _fractional,
)


# Spelling ----------------------------------------------------------------------------------------------------------

_KATAKANA_WORD = re.compile(r"[ァ-ヺ][ァ-ヺー]{2,}")
_SMALL_KE = re.compile(r"(?<=[0-9〇一二三四五六七八九十百千数何々㐀-䶿一-鿿])[ヶヵケカかが箇個](?=[々㐀-䶿一-鿿])")


def _long_vowels(keyword: str) -> Iterator[str]:
    """Katakana words with or without their last long-vowel sign: サーバー and サーバ."""
    without = _KATAKANA_WORD.sub(lambda match: match[0].rstrip("ー"), keyword)
    with_sign = _KATAKANA_WORD.sub(lambda match: match[0].rstrip("ー") + "ー", keyword)
    yield from (without, with_sign)


def _small_ke(keyword: str) -> Iterator[str]:
    """3ヶ月, 3か月, 3箇月; 霞ヶ関, 霞が関. が is mostly a particle and becomes only what place names have for it."""
    found = _SMALL_KE.search(keyword)
    if found is not None:
        yield from (_SMALL_KE.sub(sign, keyword) for sign in ("ヶケヵ" if found[0] == "が" else "ヶケかヵカが箇個"))


_RULES: Final[tuple[Callable[[str], Iterator[str]], ...]] = (_years, _numerals, _long_vowels, _small_ke)


# Old and new kanji -------------------------------------------------------------------------------------------------

# Old form, new form. One way: where one new letter has swallowed several old ones (弁: 辨 瓣 辯), all lead to it.
_OLD_NEW = (
    "亞亜惡悪壓圧圍囲爲為醫医壹壱稻稲飮飲隱隠營営榮栄衞衛驛駅圓円緣縁艷艶鹽塩奧奥應応橫横歐欧毆殴黃黄溫温穩穏"
    "假仮價価畫画會会壞壊懷懐繪絵擴拡殼殻覺覚學学嶽岳樂楽勸勧卷巻寬寛歡歓罐缶觀観關関陷陥巖巌顏顔歸帰氣気龜亀"
    "僞偽戲戯犧犠舊旧據拠擧挙峽峡挾挟狹狭曉暁區区驅駆勳勲薰薫徑径惠恵溪渓經経繼継莖茎螢蛍輕軽鷄鶏藝芸缺欠儉倹"
    "劍剣圈圏檢検權権獻献縣県險険顯顕驗験嚴厳效効廣広恆恒鑛鉱號号國国黑黒濟済碎砕齋斎劑剤櫻桜册冊雜雑參参慘惨"
    "棧桟蠶蚕贊賛殘残絲糸齒歯兒児辭辞濕湿實実舍舎寫写釋釈壽寿收収從従澁渋獸獣縱縦肅粛處処敍叙奬奨將将燒焼稱称"
    "證証乘乗剩剰壤壌孃嬢條条淨浄疊畳穰穣讓譲釀醸觸触囑嘱寢寝愼慎晉晋眞真盡尽圖図粹粋醉酔隨随髓髄數数樞枢聲声"
    "靜静齊斉攝摂竊窃專専戰戦淺浅潛潜纖繊踐践錢銭禪禅雙双壯壮搜捜插挿爭争總総聰聡莊荘裝装騷騒臟臓藏蔵屬属續続"
    "墮堕體体對対帶帯滯滞臺台瀧滝擇択澤沢單単擔担膽胆團団彈弾斷断癡痴遲遅晝昼蟲虫鑄鋳廳庁聽聴敕勅鎭鎮遞逓鐵鉄"
    "轉転點点傳伝黨党盜盗燈灯當当鬪闘德徳獨独讀読屆届繩縄貳弐惱悩腦脳霸覇廢廃拜拝賣売麥麦發発髮髪拔抜蠻蛮祕秘"
    "濱浜甁瓶拂払佛仏變変邊辺邉辺辨弁瓣弁辯弁寶宝襃褒豐豊沒没飜翻槇槙每毎萬万滿満默黙藥薬譯訳豫予餘余與与譽誉"
    "搖揺樣様謠謡來来賴頼亂乱覽覧龍竜兩両獵猟綠緑壘塁勵励禮礼隸隷靈霊齡齢戀恋爐炉勞労樓楼郞郎祿禄灣湾瑤瑶彌弥"
    "遙遥凜凛堯尭髙高﨑崎嵜崎嶋島嶌島槗橋濵浜鄕郷靑青淸清曾曽頰頬剝剥塡填𠮟叱噓嘘籠篭麵麺攜携敎教產産硏研戶戸"
    "內内"
)
_TO_NEW: Final = {ord(old): new for old, new in zip(_OLD_NEW[::2], _OLD_NEW[1::2], strict=True)}
_WITH_TWO_FORMS: Final = frozenset(_OLD_NEW)


def has_two_forms(folded: str) -> bool:
    """Whether any letter of `folded` has an old or a new form beside it."""
    return not _WITH_TWO_FORMS.isdisjoint(folded)


def in_new_forms(folded: str) -> str:
    """`folded` with every old kanji form in its new one; the length stays."""
    return folded.translate(_TO_NEW)
