"""A file of answers that exist already: what counts as a response, and what is said of ids that do not fit."""

import json
from collections import Counter
from pathlib import Path

import pytest

from sandbox.loading.dialogues import load_dialogues
from sandbox.loading.locate import locate
from sandbox.loading.responses import read_responses, response_notes, sessions_of
from tools.tool import SetupError

DATA = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "multichallenge"
ERROR = "Error: 400 Client Error: Bad Request for url: http://localhost:6767/v1/chat/completions"
ASKED = ("問一", "問二", "問三")


def written(folder: Path, *rows: dict[str, object]) -> Path:
    path = folder / "回答.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def answers(**by_id: object) -> list[dict[str, object]]:
    return [{"QUESTION_ID": name, "RESPONSE": value} for name, value in by_id.items()]


def refusal(path: Path, n_sessions: int = 1) -> str:
    with pytest.raises(SetupError) as error:
        sessions_of(read_responses(path, ASKED), n_sessions)
    message = str(error.value)
    assert "\n" not in message
    return message.replace(str(path), "FILE")


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ([" 卵なしの\n献立です。 "], (" 卵なしの\n献立です。 ",)),
        ("No", ("No",)),
        ("梅味", ("梅味",)),
        (["a", None, ""], ("a", None, "")),
        ([], ()),
        (None, ()),
        ("", ("",)),
    ],
)
def test_a_text_is_one_response_and_a_list_one_for_each_text(
    tmp_path: Path, given: object, read: tuple[str | None, ...]
) -> None:
    path = written(tmp_path, {"question_id": "問一", "Response": given, "model": "m"})
    assert read_responses(path, ("問一",)).by_id == {"問一": read}


def test_a_question_keeps_its_place_without_a_response(tmp_path: Path) -> None:
    path = written(tmp_path, *answers(問一=[], 問二=None))
    read = read_responses(path, ASKED)
    assert sessions_of(read, 1) == {"問一": (None,), "問二": (None,), "問三": (None,)}
    assert read.missing == ("問三",)


def test_every_question_gets_one_entry_a_session(tmp_path: Path) -> None:
    path = written(tmp_path, *answers(問一=["一", "二", "三"], 問二="一", 問三=[None, "二"]))
    read = read_responses(path, ASKED)
    assert sessions_of(read, 2) == {"問一": ("一", "二"), "問二": ("一", None), "問三": (None, "二")}
    assert sessions_of(read, 1) == {"問一": ("一",), "問二": ("一",), "問三": (None,)}


def test_more_sessions_than_any_question_has_responses_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, *answers(問一=["一", "二"], 問二="一", 問三=[]))
    assert refusal(path, 3) == (
        "FILE holds at most 2 responses a question, and 3 sessions a question are asked for: --repeats 2 "
        "(multichallenge: --attempts)"
    )


def test_a_file_of_a_larger_set_is_read_for_what_is_asked(tmp_path: Path) -> None:
    path = written(tmp_path, *answers(問一="一", 問二="二", 問三="三", 問四="四"))
    read = read_responses(path, ASKED)
    assert (tuple(read.by_id), read.missing, read.unknown) == (ASKED, (), ("問四",))


def test_missing_and_unknown_ids_together_are_two_versions_of_the_data(tmp_path: Path) -> None:
    assert refusal(written(tmp_path, *answers(問一="一", 問ニ="二", 問三="三"))) == (
        "FILE answers other questions: 1 of 3 questions have no row: 問二; 1 ids are no question: 問ニ; "
        "name the data that it was made from, or mend the ids"
    )


def test_an_id_that_stands_twice_is_refused(tmp_path: Path) -> None:
    rows = [*answers(問一="一", 問二="二"), *answers(問一="壱")]
    assert refusal(written(tmp_path, *rows)) == (
        "FILE, row 3: the id '問一' is already that of row 1; keep one row a question; keys: QUESTION_ID, RESPONSE"
    )


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"QUESTION_ID": "問一"},
            "FILE: no column RESPONSE; rename the columns (in any case of letters); keys: QUESTION_ID",
        ),
        (
            {"id": "問一", "text": "一"},
            "FILE: no column QUESTION_ID and none RESPONSE; rename the columns (in any case of letters); keys: id, text",
        ),
        (
            {"QUESTION_ID": "問一", "RESPONSE": ["一", ["二"]]},
            "FILE, row 1: RESPONSE must be a list of texts, a text or null, and holds ['二']; keys: QUESTION_ID, RESPONSE",
        ),
        (
            {"QUESTION_ID": "問一", "RESPONSE": {"text": "一"}},
            "FILE, row 1: RESPONSE must be a list of texts, a text or null, and holds {'text': '一'}; "
            "keys: QUESTION_ID, RESPONSE",
        ),
    ],
)
def test_what_is_no_response_is_refused(tmp_path: Path, row: dict[str, object], message: str) -> None:
    assert refusal(written(tmp_path, row)) == message


def test_a_row_without_the_column_is_refused_where_null_would_say_it(tmp_path: Path) -> None:
    assert refusal(written(tmp_path, *answers(問一="一"), {"QUESTION_ID": "問二"})) == (
        "FILE, row 2: RESPONSE is missing; write null or [] where there is no response; keys: QUESTION_ID"
    )


def test_what_a_file_lacks_and_what_of_it_is_not_read_is_said(tmp_path: Path) -> None:
    first = written(tmp_path, *answers(問一=[ERROR, "二"], 問二=[" "]))
    assert response_notes(read_responses(first, ASKED), 1, ASKED) == (
        f"{first}: 1 of 3 questions have no row and count as not answered: 問三",
        f"{first}: 1 of 3 questions have a row without a response and count as not answered: 問二",
        f"{first}: 1 responses are the text of an HTTP error and count as failed generations",
        f"{first}: 1 questions have more than 1 responses; the rest are not read",
    )
    second = written(tmp_path, *answers(問一="一", 問二="二", 問三="三", a="", b="", c="", d=""))
    assert response_notes(read_responses(second, ASKED), 1, ASKED) == (
        f"{second}: 4 ids are no question of the data and are not read: a, b, c…",
    )


def test_of_a_run_of_the_first_questions_only_what_these_lack_is_said(tmp_path: Path) -> None:
    path = written(tmp_path, *answers(問一=["一"], 問二=ERROR))
    assert response_notes(read_responses(path, ASKED), 1, ASKED[:1]) == ()
    assert response_notes(read_responses(path, ASKED), 1, ASKED[:2]) == (
        f"{path}: 1 responses are the text of an HTTP error and count as failed generations",
    )


@pytest.mark.skipif(not DATA.is_dir(), reason="the published MultiChallenge answers are not on this machine")
def test_the_published_answers_of_all_twelve_models_join_the_questions() -> None:
    asked = [row.id for row in load_dialogues(DATA / "benchmark_questions.jsonl").rows]
    files = sorted((DATA / "final_model_responses").glob("*.jsonl"))
    assert len(files) == 12
    n_errors: Counter[str] = Counter()
    n_no = 0
    for path in files:
        read = read_responses(path, asked)
        given = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        assert sessions_of(read, 1) == {row["QUESTION_ID"]: tuple(row["RESPONSE"]) for row in given}
        assert (read.most, read.missing, read.unknown) == (1, (), ())
        n_no += sum(texts == ("No",) for texts in read.by_id.values())
        for note in response_notes(read, 1, tuple(read.by_id)):
            words = note.removeprefix(f"{path}: ")
            assert words == "7 responses are the text of an HTTP error and count as failed generations"
            n_errors[path.stem] += 7
    assert n_errors == {"qwen2-5_14b": 7, "qwen2-5_72b": 7, "qwen2_72b": 7}
    # “No” is an answer, and stays one.
    assert n_no == 8


def test_the_bundled_answers_hold_each_of_these_cases() -> None:
    asked = [row.id for row in load_dialogues(locate("mini:multichallenge.jsonl")).rows]
    path = locate("mini:multichallenge_responses.jsonl")
    read = read_responses(path, asked)
    assert read.missing == read.unknown == ()
    assert Counter(len(texts) for texts in read.by_id.values()) == {0: 2, 1: 2, 2: 8}
    assert response_notes(read, 2, tuple(read.by_id)) == (
        f"{path}: 2 of 12 questions have a row without a response and count as not answered: mini-en-08, mini-en-10",
        f"{path}: 1 responses are the text of an HTTP error and count as failed generations",
    )
