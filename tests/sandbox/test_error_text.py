"""An HTTP error stored as an answer is told from an answer, however short or odd, and from one that quotes an error."""

import json
from pathlib import Path

import pytest

from sandbox.endpoint.error_text import is_error_text

DATA = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "multichallenge"
URL = "http://localhost:6767/v1/chat/completions"
STORED = f"Error: 400 Client Error: Bad Request for url: {URL}"


@pytest.mark.parametrize(
    "text",
    [
        STORED,
        f"  {STORED}\n",
        f"400 Client Error: Bad Request for url: {URL}",
        f"requests.exceptions.HTTPError: 503 Server Error: Service Unavailable for url: {URL}",
        f"Error: 413 Client Error: 本文が長すぎます for url: {URL}",
        f"Client error '400 Bad Request' for url '{URL}'",
        f"httpx.HTTPStatusError: Server error '500 Internal Server Error' for url '{URL}'\n"
        "For more information check: https://developer.mozilla.org/en-US/docs/Web/HTTP/Status/500",
        "Error code: 400 - {'error': {'message': \"This model's maximum context length is 8192 tokens.\", 'code': 400}}",
        "openai.BadRequestError: Error code: 400 - {'object': 'error',\n 'message': '入力が長すぎます'}",
    ],
)
def test_a_text_that_is_nothing_but_a_clients_error_message_is_an_error(text: str) -> None:
    assert is_error_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "No",
        "VIOLATION",
        "400",
        "400円です。",
        "Error",
        "Error: no",
        "400 Bad Request",
        f"Your log says “{STORED}”: the prompt is too long for the server.",
        f"{STORED}\n\nThis means that the prompt is too long.",
        f"{STORED} です。サーバーの上限を確かめてください。",
        f"サーバーは次のように答えています。\n{STORED}",
        f"Error: 200 Client Error: OK for url: {URL}",
        "Error code: 400 - this means that the request was malformed.",
        "Error code: 400 - {} means nothing to me",
        "A 404 Client Error: Not Found for url: points at a wrong address",
        f"`{STORED}`",
    ],
)
def test_an_answer_that_is_short_or_speaks_of_an_error_is_an_answer(text: str) -> None:
    assert not is_error_text(text)


def test_a_long_answer_is_read_in_time_that_grows_with_its_length() -> None:
    assert not is_error_text("Error" * 200_000)
    assert not is_error_text("Error code: 400 - {" + "}" * 200_000 + "終")


@pytest.mark.skipif(not DATA.is_dir(), reason="the published MultiChallenge answers are not on this machine")
def test_of_the_published_answers_exactly_seven_of_each_of_three_models_are_errors() -> None:
    found: dict[str, list[str]] = {}
    n_answers = 0
    for file in sorted((DATA / "final_model_responses").glob("*.jsonl")):
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        n_answers += len(rows)
        ids = [row["QUESTION_ID"] for row in rows if is_error_text(row["RESPONSE"][0])]
        if ids:
            found[file.stem] = ids
    # Dialogues longer than the context of those three servers.
    too_long = [
        "6745621c36ef48ba06006265",
        "6765fc5e7e4dcd5e214337c8",
        "6765fcbbd0cf10a192c5a702",
        "6781aad81acc7401a3fe95cc",
        "6781aad8ba6672cf895d1344",
        "6781ad8b7d5d4b7679627100",
        "6781adc5d2b793f40a8cd766",
    ]
    assert n_answers == 12 * 273
    assert found == {"qwen2-5_14b": too_long, "qwen2-5_72b": too_long, "qwen2_72b": too_long}
