"""What a judge is asked: everything that is needed, nothing that is known, nothing twice."""

from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st

from citations.markup import parse
from citations.model import Answer, Unit
from citations.policy import Policy
from citations.units import units

EVIDENCE = {1: "本文1", 2: "本文2", 3: " ", 5: None, 6: ""}


def written(*sentences: tuple[str, list[int | str]]) -> Answer:
    return parse(
        "".join(
            f"<sentence>{text}{''.join(f'<cite>{body}</cite>' for body in bodies)}</sentence>"
            for text, bodies in sentences
        )
    )


def test_each_kind_of_sentence_asks_its_own_questions() -> None:
    answer = written(("以下にまとめる。", []), ("上限は484,000円である。", [2, 1]), ("対象は都民である。", [1]))
    assert units(answer, EVIDENCE) == (
        Unit("support", (2,), "対象は都民である。", None, (1,)),
        Unit("relevance", (1,), "上限は484,000円である。", 1, (1,)),
        Unit("relevance", (2,), "対象は都民である。", 1, (1,)),
        Unit("support", (1,), "上限は484,000円である。", None, (1, 2)),
        Unit("relevance", (1,), "上限は484,000円である。", 2, (2,)),
        Unit("need", (0,), "以下にまとめる。", None, ()),
    )


def test_no_call_is_spent_on_numbers_without_evidence() -> None:
    answer = written(("甲。", [9, 5, 6, "資料"]), ("乙。", [9, 1, "資料"]))
    assert units(answer, EVIDENCE) == (
        Unit("support", (1,), "乙。", None, (1,)),
        Unit("relevance", (1,), "乙。", 1, (1,)),
    )


def test_blank_evidence_is_judged() -> None:
    assert [unit.kind for unit in units(written(("甲。", [3])), EVIDENCE)] == ["support", "relevance"]


def test_equal_units_are_asked_once_for_all_sentences() -> None:
    answer = written(("甲。", [1, 1]), ("甲。", [1]), ("甲。", [2, 1]), ("甲。", [1, 9, 2]), ("甲。", []), ("甲。", []))
    assert units(answer, EVIDENCE) == (
        Unit("support", (0, 1), "甲。", None, (1,)),
        Unit("relevance", (0, 1, 2, 3), "甲。", 1, (1,)),
        Unit("support", (2, 3), "甲。", None, (1, 2)),
        Unit("relevance", (2, 3), "甲。", 2, (2,)),
        Unit("need", (4, 5), "甲。", None, ()),
    )


def test_f1_only_asks_nothing_where_f1_is_zero_anyway() -> None:
    uncited = written(("甲。", []), ("乙。", [9]))
    assert [unit.kind for unit in units(uncited, EVIDENCE)] == ["need"]
    assert units(uncited, EVIDENCE, f1_only=True) == ()
    cited = written(("甲。", []), ("乙。", [1]))
    assert units(cited, EVIDENCE, f1_only=True) == units(cited, EVIDENCE)


def test_a_sentence_with_unknown_numbers_alone_can_be_asked_for_need() -> None:
    answer = written(("甲。", [9]), ("乙。", [1]))
    assert units(answer, EVIDENCE, policy=Policy(all_unknown_recall="need"))[-1] == Unit("need", (0,), "甲。", None, ())


def test_support_can_be_zero_where_one_number_is_unknown() -> None:
    answer = written(("甲。", [1, 9]))
    policy = Policy(partly_unknown_support="zero")
    assert units(answer, EVIDENCE, policy=policy) == (Unit("relevance", (0,), "甲。", 1, (1,)),)
    assert units(answer, EVIDENCE, policy=policy, f1_only=True) == ()


SENTENCES = st.lists(
    st.tuples(
        st.sampled_from(["甲。", "乙。", "丙。"]), st.lists(st.sampled_from([0, 1, 2, 3, 5, "資料"]), max_size=4)
    ),
    max_size=12,
)


@given(SENTENCES)
def test_every_position_is_asked_exactly_once_or_known(sentences: list[tuple[str, list[int | str]]]) -> None:
    found = units(written(*sentences), EVIDENCE)
    asked = [(unit.kind, index, unit.number) for unit in found for index in unit.sentences]
    expected = set[tuple[str, int, int | None]]()
    for index, (_, bodies) in enumerate(sentences):
        valid = {body for body in bodies if isinstance(body, int) and EVIDENCE.get(body)}
        expected |= {("relevance", index, number) for number in valid}
        if valid:
            expected.add(("support", index, None))
        elif not bodies:
            expected.add(("need", index, None))
    assert len(asked) == len(set(asked))
    assert set(asked) == expected


@given(SENTENCES)
def test_units_on_the_same_evidence_stand_together(sentences: list[tuple[str, list[int | str]]]) -> None:
    found = units(written(*sentences), EVIDENCE)
    assert len({(unit.kind, unit.text, unit.number, unit.evidence_numbers) for unit in found}) == len(found)
    runs = [numbers for numbers, _ in groupby(found, key=lambda unit: unit.evidence_numbers)]
    assert len(runs) == len(set(runs))
