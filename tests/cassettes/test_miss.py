from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from cassettes.configuration import Configuration
from cassettes.errors import MissReport, TapeMiss
from cassettes.exchange import TapeRequest, TapeResponse
from cassettes.miss import character_diff, difference, readable
from cassettes.modes import Modes
from cassettes.redact import Redactor
from cassettes.tape import TapeSet

SYSTEM = {"role": "system", "content": "資料を調べて答える。"}
QUESTION = {"role": "user", "content": "令和５年度の制度は？"}
CALL = {"id": "call_1", "type": "function", "function": {"name": "search", "arguments": '{"query": "制度"}'}}
ASKED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
FOUND = "検索結果 1–10件目。" + "東京都の制度は令和５年度に始まった。" * 50
RESULT = {"role": "tool", "tool_call_id": "call_1", "content": FOUND}
RECORDED: dict[str, object] = {
    "model": "qwen",
    "temperature": 0.6,
    "tools": [],
    "messages": [SYSTEM, QUESTION, ASKED, RESULT],
}


def request(body: dict[str, object], place: str = "") -> TapeRequest:
    encoded = json.dumps(body, ensure_ascii=False).encode()
    return TapeRequest("model", "POST", "http://m.example/v1/chat/completions", encoded, place=place)


async def answer() -> TapeResponse:
    return TapeResponse(200, (), "答え".encode())


def missed(folder: Path, recorded: list[TapeRequest], asked: list[TapeRequest], **more: object) -> MissReport:
    async def scene() -> MissReport:
        tape = folder / "run" / "tape"
        with TapeSet(tape, Modes.resume(), **more) as tapes, tapes.session("q1.r0") as session:  # type: ignore[arg-type]
            for one in recorded:
                await session.exchange(one, answer)
        with TapeSet(tape, Modes.sealed(), **more) as tapes, tapes.session("q1.r0") as session:  # type: ignore[arg-type]
            for one in asked[:-1]:
                await session.exchange(one, None)
            with pytest.raises(TapeMiss) as raised:
                await session.exchange(asked[-1], None)
            assert session.report().channels[asked[-1].channel].misses == 1
        assert str(raised.value) == str(raised.value.report)
        return raised.value.report

    return asyncio.run(scene())


def test_the_report_names_the_first_difference_to_the_nearest_request(tmp_path: Path) -> None:
    at = FOUND.index("５", 500)
    changed = {**RESULT, "content": f"{FOUND[:at]}６{FOUND[at + 1 :]}"}
    recorded = [request({**RECORDED, "messages": [SYSTEM, QUESTION]}, "r01"), request(RECORDED, "r02")]
    asked = [recorded[0], request({**RECORDED, "messages": [SYSTEM, QUESTION, ASKED, changed]}, "r02")]
    facts = Configuration.of({"benchmark": {"name": "tmg-cqa-tool"}})
    report = missed(tmp_path, recorded, asked, configuration=facts)
    assert report == MissReport(
        session="q1.r0",
        channel="model",
        round=2,
        place="r02",
        request="POST http://m.example/v1/chat/completions",
        n_played=1,
        n_recorded=2,
        nearest="round 2 at r02, POST http://m.example/v1/chat/completions",
        path=f"messages[3].content, character {at}",
        difference=report.difference,
        cause="the result of a tool is another one: its page, its search or its wording was changed",
        mend=f"pincite run tmg-cqa-tool --fork {tmp_path / 'run'}@1 --out NEW_FOLDER",
    )
    assert report.difference.startswith("…令和５年度に始まった。東京都の制度は令和[-５-][+６+]年度に始まった。")
    assert str(report).splitlines()[1] == "  played before it: 1 of 2 recorded exchanges"


@pytest.mark.parametrize(
    ("change", "path", "cause"),
    [
        ({"model": "llama"}, "model, character 0", "the name of the model was changed"),
        ({"temperature": 1.0}, "temperature", "the sampling was changed (temperature)"),
        ({"tools": [{"type": "function"}]}, "tools[0]", "tools was changed"),
        ({"response_format": {"type": "json"}}, "response_format", "response_format was changed"),
        (
            {"messages": [{**SYSTEM, "content": "資料を調べよ。"}]},
            "messages[0].content, character 5",
            "the system prompt was",
        ),
        (
            {"messages": [SYSTEM, {**QUESTION, "content": "？"}]},
            "messages[1].content, character 0",
            "the text of the question",
        ),
        ({"messages": [SYSTEM, QUESTION, ASKED]}, "messages[3]", "the recorded conversation has more messages (4 → 3)"),
        (
            {"messages": [SYSTEM, QUESTION, {"role": "assistant", "content": "x"}]},
            "messages[2].content",
            "an earlier reply is not the recorded one",
        ),
    ],
)
def test_the_likely_cause_is_read_from_where_the_requests_differ(
    tmp_path: Path, change: dict[str, object], path: str, cause: str
) -> None:
    report = missed(tmp_path, [request(RECORDED)], [request({**RECORDED, **change})])
    assert (report.path, report.cause[: len(cause)]) == (path, cause)


def search(query: str) -> TapeRequest:
    return TapeRequest("search", "GET", f"https://s.example/search?q={query}&count=20")


@pytest.mark.parametrize(
    ("asked", "path", "cause"),
    [
        ("子育て　支援", "parameters.q, character 3", "only the form of the query differs"),
        ("ｺｿﾀﾞﾃ", "parameters.q, character 0", "another query"),
        (
            "子育て 支援&freshness=py",
            "parameters.freshness",
            "the search is set up in another way (parameters.freshness)",
        ),
    ],
)
def test_a_query_that_only_looks_different_is_told_from_another_query(
    tmp_path: Path, asked: str, path: str, cause: str
) -> None:
    report = missed(tmp_path, [search("子育て 支援")], [search(asked)])
    assert (report.path, report.cause[: len(cause)]) == (path, cause)


def test_a_page_that_was_never_asked_for(tmp_path: Path) -> None:
    pages = [TapeRequest("page", "GET", f"https://a.example/{name}") for name in ("市", "区役所")]
    report = missed(tmp_path, pages[:1], pages[1:])
    assert (report.path, report.difference) == ("url, character 18", "https://a.example/[-市-][+区役所+]")
    assert report.cause.startswith("another page is asked for")


def test_a_request_that_is_asked_more_often_than_recorded(tmp_path: Path) -> None:
    report = missed(tmp_path, [request(RECORDED)], [request(RECORDED), request(RECORDED)])
    assert (report.path, report.cause) == ("", "this request is on the tape, but fewer times than it is asked now")


def test_a_channel_on_which_nothing_was_recorded(tmp_path: Path) -> None:
    report = missed(tmp_path, [request(RECORDED)], [search("制度")])
    assert (report.nearest, report.cause) == ("", "nothing was recorded on the channel search")


def test_the_report_holds_no_key(tmp_path: Path) -> None:
    key = "BSA-secret-0123456789"
    asked = TapeRequest("search", "GET", f"https://s.example/search?q=y%20{key}&key={key}")
    report = missed(tmp_path, [search("x")], [asked], redactor=Redactor([key]))
    assert key not in str(report)
    assert report.request == "GET https://s.example/search?q=y%20***&key=***"


def test_ids_of_calls_and_orders_of_keys_are_no_difference() -> None:
    other = json.loads(json.dumps(RECORDED).replace("call_1", "x"))
    then = readable("model", "POST", "http://m.example", json.dumps(RECORDED).encode())
    now = readable("model", "POST", "http://n.example", json.dumps(dict(reversed(other.items()))).encode())
    assert difference("model", then, now) is None


def test_the_difference_is_shown_sign_by_sign() -> None:
    then, now = "前" * 30 + "令和５年度に改正。" + "後" * 80, "前" * 30 + "令和６年に改正。" + "後" * 80
    at = 32
    assert character_diff(then, now, at) == "…" + "前" * 18 + "令和[-５-][+６+]年[-度-]に改正。" + "後" * 53 + "[+後+]…"
