"""Folding keeps the way back to the original, and tokens are the same however the text is typed."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from tools.text import bigrams, fold, level

JAPANESE = st.text(
    st.sampled_from("かガﾊﾝｶｸﾞﾟ\u3099\u309a㍿①ｱ゙Ａａß½ー－―〜～“”　 \n\u200b\u200d👨👩\U000e0100葛東京令和６6é\u0301각ᄀ")
)
NO_SURROGATES = st.text(st.characters(exclude_categories=["Cs"]))


def test_width_case_space_and_signs_make_no_difference() -> None:
    written = (
        "ﾊﾝｶｸ Ａｂｃ",
        "㍿東京",
        "デ－タ〜１，２３４",
        "“引用”　‘る’",
        "葛\U000e0100城",
        "東\u200b京",
        "⻑野",
        "か\u3099",
    )
    assert [fold(text).text for text in written] == [
        "ハンカクabc", "株式会社東京", "デ-タ~1,234", "\"引用\"'る'", "葛城", "東京", "長野", "が",
    ]  # fmt: skip


def test_long_vowel_and_minus_fold_alike() -> None:
    assert fold("データ").text == fold("ﾃﾞｰﾀ").text == fold("デ−タ").text


def test_half_width_mark_is_part_of_its_letter() -> None:
    text = "次のﾊﾞｽ停"
    folded = fold(text)
    at = folded.text.index("バス")
    assert text[slice(*folded.span(at, at + 2))] == "ﾊﾞｽ"
    assert text[slice(*folded.span(at, at + 1))] == "ﾊﾞ"


def test_part_of_a_ligature_maps_to_the_whole_of_it() -> None:
    folded = fold("あ㍿い")
    assert folded.text == "あ株式会社い"
    assert folded.span(2, 3) == (1, 2)
    assert folded.span(0, 6) == (0, 3)


def test_dropped_characters_leave_the_map_in_step() -> None:
    text = "東　京\n都　は 令和６年"
    folded = fold(text)
    at = folded.text.index("令和6年")
    assert folded.span(at, at + 4) == (8, 12)
    assert folded.span(0, 3) == (0, 5)


def test_emoji_sequence_keeps_its_people() -> None:
    text = "家族👨\u200d👩\u200d👧です"
    folded = fold(text)
    assert folded.text == "家族👨👩👧です"
    at = folded.text.index("です")
    assert text[slice(*folded.span(at, at + 2))] == "です"


def test_empty_span_is_empty_and_wrong_span_refused() -> None:
    folded = fold("東 京")
    assert (folded.span(0, 0), folded.span(1, 1), folded.span(2, 2)) == ((0, 0), (2, 2), (3, 3))
    for start, end in ((-1, 1), (1, 0), (0, 3)):
        try:
            folded.span(start, end)
        except ValueError:
            continue
        raise AssertionError((start, end))


@given(JAPANESE | NO_SURROGATES)
def test_every_folded_stretch_comes_from_its_original_slice(text: str) -> None:
    folded = fold(text)
    for start in range(len(folded.text)):
        begin, end = folded.span(start, start + 1)
        assert 0 <= begin < end <= len(text)
        assert folded.text[start] in fold(text[begin:end]).text
    assert fold(text[slice(*folded.span(0, len(folded.text)))]).text == folded.text


@given(JAPANESE | NO_SURROGATES)
def test_map_never_runs_backwards(text: str) -> None:
    folded = fold(text)
    spans = [folded.span(i, i + 1) for i in range(len(folded.text))]
    assert spans == sorted(spans)


@given(JAPANESE)
def test_normal_forms_fold_alike(text: str) -> None:
    assert fold(unicodedata.normalize("NFD", text)).text == fold(unicodedata.normalize("NFC", text)).text


@given(JAPANESE | NO_SURROGATES)
def test_level_keeps_offsets(text: str) -> None:
    assert len(level(text)) == len(text)


def test_every_character_folds_the_same_alone_and_between_plain_ones() -> None:
    for code in range(0x20, 0x30000):
        char = chr(code)
        if not 0xD800 <= code < 0xE000 and unicodedata.category(char)[0] in "LNPSZ":
            alone = fold(char).text
            assert fold(f"京{char}都").text in (f"京{alone}都", unicodedata.normalize("NFKC", f"京{char}都")), hex(code)


def test_tokens_are_script_runs() -> None:
    assert bigrams("東京タワーのＡＢＣ-12に、行く") == [
        "東京", "タワ", "ワー", "の", "abc", "12", "に", "行", "く", "12に",
    ]  # fmt: skip


def test_number_also_comes_with_the_letters_beside_it() -> None:
    assert bigrams("第２４条の2") == ["第", "24", "条", "の", "2", "第24", "24条", "の2"]
    assert bigrams("R6年 a4") == ["r6", "年", "a4", "6年"]


def test_other_scripts_come_as_words() -> None:
    assert bigrams("Café 한국어 Пример 々") == ["café", "한국어", "пример", "々"]


def test_half_width_and_full_width_give_the_same_tokens() -> None:
    assert bigrams("ﾃﾞｰﾀ１２３") == bigrams("データ123")


def test_signs_and_spaces_give_no_tokens() -> None:
    assert bigrams("、。「」　\n!?😀") == []
