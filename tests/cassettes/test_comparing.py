"""Two sessions, exchange by exchange."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from servers.tape_scene import CHAT, JSON, OTHER, SESSION, STREAM, Recorded, chat, page, record, scene

from cassettes.comparing import ExchangeDifference, SessionComparison, compare_sessions
from cassettes.exchange import TapeRequest, TapeResponse
from cassettes.reading import Tape


def compared(folder: Path, first: list[Recorded], second: list[Recorded]) -> SessionComparison:
    record(folder / "a", first)
    record(folder / "b", second, OTHER)
    with Tape(folder / "a") as one, Tape(folder / "b") as other:
        return compare_sessions(next(one.sessions()), next(other.sessions()))


def answered(one: Recorded, body: bytes) -> Recorded:
    assert isinstance(one.answer, TapeResponse)
    return replace(one, answer=replace(one.answer, body=body))


def test_the_same_session_recorded_twice_differs_in_nothing(tmp_path: Path) -> None:
    assert compared(tmp_path, scene(), scene()) == SessionComparison(SESSION, OTHER, 12, ())


def test_another_order_of_arrival_is_no_difference(tmp_path: Path) -> None:
    first, second = (
        page("https://example.jp/", b"1", "a/b", "r01.c1"),
        page("https://example.jp/", b"2", "a/b", "r01.c2"),
    )
    assert compared(tmp_path, [first, second], [second, first]) == SessionComparison(SESSION, OTHER, 2, ())


def test_a_model_that_says_the_same_with_other_ids_and_times_says_the_same(tmp_path: Path) -> None:
    request = TapeRequest("model", "POST", CHAT, b'{"model":"m","messages":[]}')

    def said(number: int) -> Recorded:
        answer = {
            "id": f"{number}",
            "created": number,
            "usage": {"n": number},
            "choices": [{"message": {"content": "都"}}],
        }
        return Recorded(request, TapeResponse(200, (JSON,), json.dumps(answer).encode()))

    def streamed(number: int) -> Recorded:
        event = json.dumps({"id": f"{number}", "created": number, "choices": [{"delta": {"content": "都"}}]})
        return Recorded(replace(request, channel="judge"), TapeResponse(200, (STREAM,), f"data: {event}\n\n".encode()))

    assert compared(tmp_path, [said(1), streamed(1)], [said(2), streamed(2)]).n_same == 2


def test_another_answer_is_shown_at_its_first_differing_character(tmp_path: Path) -> None:
    first, second = chat("所得制限は？", 1, "令和６年度に撤廃した。"), chat("所得制限は？", 1, "令和７年度に撤廃した。")
    (found,) = compared(tmp_path, [first], [second]).differences
    assert found == ExchangeDifference(
        "answer",
        "model",
        1,
        "r01",
        0,
        0,
        f"POST {CHAT}",
        "body.choices[0].message.content, character 2",
        "令和[-６-][+７+]年度に撤廃した。",
    )


def test_a_page_in_shift_jis_is_compared_as_text_and_a_pdf_by_its_hash(tmp_path: Path) -> None:
    sjis = [
        page("https://example.jp/", f"東京都の{name}".encode("cp932"), "text/html; charset=x-sjis") for name in "甲乙"
    ]
    pdf = [page("https://example.jp/a.pdf", b"%PDF-1.7\n\xff\x80" + bytes([n]), "application/pdf") for n in (0, 0xFD)]
    first, second = compared(tmp_path, [sjis[0], pdf[0]], [sjis[1], pdf[1]]).differences
    assert (first.path, first.text) == ("body, character 4", "東京都の[-甲-][+乙+]")
    assert second.path == "body.sha256, character 0"


def test_what_was_asked_in_another_way_is_paired_and_shown(tmp_path: Path) -> None:
    first = [chat("対象者は誰か。", 1, "検索"), page("https://example.jp/a", b"", "a/b", "r01.c1")]
    second = [chat("対象者は何か。", 1, "検索"), page("https://example.jp/b", b"", "a/b", "r01.c1")]
    asked, fetched = compared(tmp_path, first, second).differences
    assert (asked.kind, asked.path, asked.text) == (
        "request",
        "messages[1].content, character 4",
        "対象者は[-誰-][+何+]か。0",
    )
    assert (fetched.kind, fetched.path, fetched.text) == (
        "request",
        "url, character 19",
        "https://example.jp/[-a-][+b+]",
    )


def test_what_only_one_session_has_stands_alone(tmp_path: Path) -> None:
    shared = page("https://example.jp/", b"", "a/b")
    more = compared(tmp_path / "1", [shared], [shared, page("https://example.jp/x", b"", "a/b")])
    assert [(one.kind, one.first, one.second, one.path) for one in more.differences] == [("only_second", None, 1, "")]
    fewer = compared(tmp_path / "2", [page("https://example.jp/x", b"", "a/b"), shared], [shared])
    assert [(one.kind, one.first, one.second, one.path) for one in fewer.differences] == [("only_first", 0, None, "")]


def test_a_failure_in_place_of_a_page_is_another_answer(tmp_path: Path) -> None:
    slow = scene()[7]
    (found,) = compared(tmp_path, [slow], [replace(slow, answer=TapeResponse(200, (), b"x"))]).differences
    assert (found.kind, found.path) == ("answer", "failure")
