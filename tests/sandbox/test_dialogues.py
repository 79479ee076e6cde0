"""Dialogues in the layouts of the public copies: one reading of all of them, nothing stripped, and what is refused."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sandbox.loading.dialogues import Dialogue, Turn, dialogue_facts, load_dialogues
from tools.tool import SetupError

DATA = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "multichallenge" / "benchmark_questions.jsonl"
NO_PYARROW = "pyarrow is in the extra `parquet` and in the group `check`"

TEXTS = ("  卵は使わないでください。\n", "承知しました。\u2028卵なしで作ります。", " 献立を一つ（全角）　")
TURNS = (Turn("user", TEXTS[0]), Turn("assistant", TEXTS[1]), Turn("user", TEXTS[2]))
AS_LIST = [{"role": turn.role, "content": turn.content} for turn in TURNS]
AS_LISTS = {"role": [turn.role for turn in TURNS], "content": [turn.content for turn in TURNS]}
READ = Dialogue("問１", "INFERENCE_MEMORY", TURNS, "献立は「卵」を使わない ものですか？", "yes")


def row(**changed: Any) -> dict[str, Any]:
    given = {
        "QUESTION_ID": "問１",
        "AXIS": "INFERENCE_MEMORY",
        "CONVERSATION": AS_LIST,
        "TARGET_QUESTION": "献立は「卵」を使わない ものですか？",
        "PASS_CRITERIA": "YES",
    }
    return given | changed


def written(folder: Path, *rows: Mapping[str, Any]) -> Path:
    path = folder / "対話.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    return path


def refusal(folder: Path, *rows: Mapping[str, Any]) -> str:
    path = written(folder, *rows)
    with pytest.raises(SetupError) as error:
        load_dialogues(path)
    message = str(error.value)
    assert "\n" not in message
    return message.replace(f"{path}, ", "").replace(f"{path}: ", "")


@pytest.mark.parametrize(
    "conversation",
    [
        AS_LIST,
        AS_LISTS,
        json.dumps(AS_LIST, ensure_ascii=False),
        json.dumps(AS_LISTS),
        [{"Role": turn.role, "CONTENT": turn.content, "name": None} for turn in TURNS],
    ],
    ids=["list of messages", "object of lists", "list as text", "object as text", "other letters, filled with null"],
)
def test_every_layout_of_a_conversation_is_the_same_dialogue(tmp_path: Path, conversation: object) -> None:
    assert load_dialogues(written(tmp_path, row(CONVERSATION=conversation))).rows == (READ,)


@pytest.mark.parametrize("name", [str.lower, str.title, str.upper])
def test_columns_are_found_in_any_case_of_letters(tmp_path: Path, name: Any) -> None:
    given = {name(key): value for key, value in row(extra=1).items()}
    read = load_dialogues(written(tmp_path, given))
    assert (read.rows, read.unused) == ((READ,), (name("extra"),))


@pytest.mark.parametrize("layout", ["struct", "lists", "text"])
def test_parquet_is_read_alike(tmp_path: Path, layout: str) -> None:
    pa = pytest.importorskip("pyarrow", reason=NO_PYARROW)
    parquet = pytest.importorskip("pyarrow.parquet", reason=NO_PYARROW)
    conversation = {"struct": AS_LIST, "lists": AS_LISTS, "text": json.dumps(AS_LISTS)}[layout]
    given = row(CONVERSATION=conversation, REQUIRES_EXTERNAL_KNOWLEDGE=True)
    path = tmp_path / "対話.parquet"
    parquet.write_table(pa.Table.from_pylist([given]), path)
    assert load_dialogues(path).rows == (
        Dialogue(READ.id, READ.axis, TURNS, READ.target_question, "yes", needs_knowledge="yes"),
    )


def test_a_json_array_is_read_and_a_system_message_stays_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "対話.json"
    path.write_text(json.dumps([row(CONVERSATION=[{"role": "system", "content": "短く。"}, AS_LIST[2]])], indent=1))
    (read,) = load_dialogues(path).rows
    assert read.messages == (Turn("system", "短く。"), TURNS[2])
    assert (read.n_messages, read.n_user_turns) == (2, 1)


@pytest.mark.parametrize(
    ("given", "passes"), [("YES", "yes"), ("yes", "yes"), (" Yes\n", "yes"), ("NO", "no"), ("no", "no")]
)
def test_what_passes_is_read_in_any_case_of_letters(tmp_path: Path, given: str, passes: str) -> None:
    assert load_dialogues(written(tmp_path, row(PASS_CRITERIA=given))).rows[0].passes == passes


@pytest.mark.parametrize(
    ("given", "needs"),
    [(True, "yes"), (False, "no"), (1, "yes"), (0, "no"), ("TRUE", "yes"), ("False", "no"), ("no", "no"), (None, None)],
)
def test_the_label_for_knowledge_is_read_as_people_write_it(tmp_path: Path, given: object, needs: str | None) -> None:
    read = load_dialogues(written(tmp_path, row(REQUIRES_EXTERNAL_KNOWLEDGE=given), row(QUESTION_ID=2)))
    assert [one.needs_knowledge for one in read.rows] == [needs, None]
    assert read.rows[1].id == "2"


def test_messages_and_user_turns_are_two_quantities(tmp_path: Path) -> None:
    one = row(QUESTION_ID="問２", AXIS="SELF_COHERENCE", CONVERSATION=AS_LIST[2:])
    assert dialogue_facts(load_dialogues(written(tmp_path, row(), one)).rows) == {
        "messages": "1–3, mean 2.00, 4 in all",
        "user turns": "1–2, mean 1.50, 3 in all",
        "axes": "INFERENCE_MEMORY 1, SELF_COHERENCE 1",
    }


KEYS = "keys: QUESTION_ID, AXIS, CONVERSATION, TARGET_QUESTION, PASS_CRITERIA"
SHAPE = (
    "CONVERSATION must be a list of messages with role and content, or an object with a list of each, as long as each "
    "other; it is "
)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"CONVERSATION": AS_LIST[:2]},
            "CONVERSATION must end with what the user asks, and its last message is the assistant's",
        ),
        ({"CONVERSATION": []}, "CONVERSATION must end with what the user asks, and it is empty"),
        (
            {"CONVERSATION": [{"role": "user", "content": " \n"}]},
            "CONVERSATION must end with what the user asks, and its last message is blank",
        ),
        ({"CONVERSATION": None}, SHAPE + "None"),
        ({"CONVERSATION": {"role": ["user"], "content": []}}, SHAPE + "{'role': ['user'], 'content': []}"),
        ({"CONVERSATION": "[user] こんにちは"}, "CONVERSATION is a string that is no JSON ('[user] こんにちは')"),
        (
            {"CONVERSATION": [{"role": "human", "content": "問い"}]},
            "the role of message 1 is 'human', not system, user or assistant",
        ),
        (
            {"CONVERSATION": [AS_LIST[0], {"role": "user", "content": ["問い"]}]},
            "message 2 has no text under content: {'role': 'user', 'content': ['問い']}",
        ),
        ({"CONVERSATION": ["問い"]}, "message 1 has no text under content: '問い'"),
        (
            {"CONVERSATION": [{"role": "user", "content": "問い", "tool_calls": []}]},
            "message 1 holds tool_calls, which would not be sent; take it out",
        ),
        ({"PASS_CRITERIA": "TRUE"}, "PASS_CRITERIA must be YES or NO, not 'TRUE'"),
        ({"PASS_CRITERIA": True}, "PASS_CRITERIA must be text, not True"),
        ({"AXIS": " "}, "AXIS must be text, not ' '"),
        ({"TARGET_QUESTION": None}, "TARGET_QUESTION must be text, not None"),
        ({"QUESTION_ID": 1.5}, "QUESTION_ID holds 1.5, where text or a whole number is expected"),
        (
            {"TARGET_QUESTION": "半\ud83d"},
            "TARGET_QUESTION holds half a character (a lone surrogate such as \\ud83d), which no encoding can write; "
            "mend the text",
        ),
    ],
)
def test_a_row_that_cannot_be_asked_is_refused_with_its_place_and_keys(
    tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    bad = row(QUESTION_ID="問２") | changed
    assert refusal(tmp_path, row(), bad) == f"row 2: {message}; {KEYS}"


def test_a_row_without_a_column_that_others_have_is_refused(tmp_path: Path) -> None:
    bad = row(QUESTION_ID="問２")
    del bad["AXIS"]
    keys = "keys: QUESTION_ID, CONVERSATION, TARGET_QUESTION, PASS_CRITERIA"
    assert refusal(tmp_path, row(), bad) == f"row 2: AXIS is missing; {keys}"


def test_a_file_of_other_columns_is_refused_with_those_it_has(tmp_path: Path) -> None:
    assert refusal(tmp_path, {"id": 1, "axis": "a", "conversation": AS_LIST, "target_question": "問い"}) == (
        "no column QUESTION_ID and none PASS_CRITERIA; rename the columns (in any case of letters); "
        "keys: id, axis, conversation, target_question"
    )


def test_one_column_in_two_spellings_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path, row(axis="別")) == f"AXIS and axis are both axis; keep one; {KEYS}, axis"


def test_one_axis_in_two_spellings_is_refused_for_it_would_weigh_twice_in_the_mean(tmp_path: Path) -> None:
    rows = row(), row(QUESTION_ID="問２", AXIS="SELF_COHERENCE"), row(QUESTION_ID="問３", AXIS="inference_memory ")
    assert refusal(tmp_path, *rows) == (
        "'INFERENCE_MEMORY' and 'inference_memory ' (question '問３') are one axis in two spellings, which would count as "
        "two; write it in one"
    )


@pytest.mark.parametrize("other", ["INFERENCE-MEMORY", "Inference Memory", "ＩＮＦＥＲＥＮＣＥ＿ＭＥＭＯＲＹ"])
def test_width_and_joints_make_no_second_axis(tmp_path: Path, other: str) -> None:
    message = refusal(tmp_path, row(QUESTION_ID="一", AXIS="INFERENCE_MEMORY"), row(QUESTION_ID="二", AXIS=other))
    assert f"'INFERENCE_MEMORY' and {other!r} (question '二') are one axis in two spellings" in message


def test_an_id_that_stands_twice_is_refused(tmp_path: Path) -> None:
    message = f"row 2: the id '問１' is already that of row 1; make ids unique; {KEYS}"
    assert refusal(tmp_path, row(), row()) == message


@pytest.mark.skipif(not DATA.is_file(), reason="the published MultiChallenge questions are not on this machine")
def test_the_published_questions_have_the_published_counts() -> None:
    read = load_dialogues(DATA)
    assert len(read.rows) == 273
    assert read.unused == ()
    assert {one.passes for one in read.rows} == {"yes"}
    assert dialogue_facts(read.rows) == {
        "messages": "3–19, mean 9.12, 2489 in all",
        "user turns": "2–10, mean 5.06, 1381 in all",
        "axes": "INFERENCE_MEMORY 113, INSTRUCTION_RETENTION 69, RELIABLE_VERSION_EDITING 41, SELF_COHERENCE 50",
    }
    given = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]
    assert [[(turn.role, turn.content) for turn in one.messages] for one in read.rows] == [
        [(message["role"], message["content"]) for message in one["CONVERSATION"]] for one in given
    ]
