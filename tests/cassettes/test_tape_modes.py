from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import httpx2
import pytest

from cassettes.errors import TapeError, TapeMiss
from cassettes.exchange import TapeRequest, TapeResponse
from cassettes.modes import Modes
from cassettes.recording import Others
from cassettes.report import ChannelReport, Drift, SessionReport
from cassettes.tape import SessionTape, TapeSet

T = TypeVar("T")
Live = Callable[[], Awaitable[TapeResponse]]


def search(query: str, place: str = "") -> TapeRequest:
    return TapeRequest("search", "GET", f"https://api.search.example/search?q={query}", place=place)


def page(url: str, place: str = "") -> TapeRequest:
    return TapeRequest("page", "GET", url, place=place)


def chat(text: str, place: str = "", model: str = "m", temperature: float = 0.6) -> TapeRequest:
    body = f'{{"model":"{model}","temperature":{temperature},"messages":[{{"role":"user","content":"{text}"}}]}}'
    return TapeRequest("model", "POST", "http://m.example/v1/chat/completions", body.encode(), place=place)


def judge(text: str, place: str = "", model: str = "j") -> TapeRequest:
    body = f'{{"model":"{model}","messages":[{{"role":"user","content":"{text}"}}]}}'
    return TapeRequest("judge", "POST", "http://j.example/v1/chat/completions", body.encode(), place=place)


def says(text: str, status: int = 200, **headers: str) -> Live:
    async def live() -> TapeResponse:
        return TapeResponse(
            status, tuple((name.encode(), value.encode()) for name, value in headers.items()), text.encode()
        )

    return live


def fails(text: str) -> Live:
    async def live() -> TapeResponse:
        raise httpx2.ConnectError(text)

    return live


class Silent:
    """A live end that must not be reached."""

    async def __call__(self) -> TapeResponse:
        raise AssertionError("asked outside")


def within(
    folder: Path,
    modes: Modes,
    scene: Callable[[SessionTape], Coroutine[None, None, T]],
    others: Others | None = None,
    session: str = "q1.r0",
) -> T:
    async def go() -> T:
        with TapeSet(folder, modes, others=others) as tapes, tapes.session(session) as tape:
            return await scene(tape)

    return asyncio.run(go())


async def text(tape: SessionTape, request: TapeRequest, live: Live | None = None) -> str:
    return (await tape.exchange(request, live)).body.decode()


def recorded(folder: Path, session: str, exchanges: Sequence[tuple[TapeRequest, Live]]) -> Path:
    async def scene(tape: SessionTape) -> None:
        for request, live in exchanges:
            try:
                await tape.exchange(request, live)
            except httpx2.ConnectError:
                continue

    within(folder, Modes.record(), scene, session=session)
    return folder


def run_of_two_rounds(folder: Path) -> Path:
    return recorded(
        folder,
        "q1.r0",
        [
            (chat("一", "r01"), says("検索せよ")),
            (search("東京", "r01.c1"), says("結果")),
            (page("https://a.example/", "r01.c2"), fails("network_error: なし")),
            (chat("二", "r02"), says("答え")),
            (judge("正しいか"), says("はい")),
        ],
    )


def test_judging_again_plays_the_agent_and_asks_the_judge(tmp_path: Path) -> None:
    source = run_of_two_rounds(tmp_path / "a")

    async def scene(tape: SessionTape) -> list[str]:
        return [
            await text(tape, chat("一", "r01"), Silent()),
            await text(tape, search("東京", "r01.c1"), Silent()),
            await text(tape, judge("正しいか"), says("いいえ")),
        ]

    async def missing(tape: SessionTape) -> None:
        await tape.exchange(search("大阪"), Silent())

    own = tmp_path / "b"
    assert within(own, Modes.rejudge(), scene, Others(source)) == ["検索せよ", "結果", "いいえ"]
    with pytest.raises(TapeMiss):
        within(own, Modes.rejudge(), missing, Others(source))
    assert within(own, Modes.sealed(), scene, Others(source)) == ["検索せよ", "結果", "いいえ"]
    with pytest.raises(TapeError, match="rejudge plays from one folder and writes to another"):
        TapeSet(source, Modes.rejudge())


def test_the_recorded_web_answers_whatever_session_asks(tmp_path: Path) -> None:
    run_of_two_rounds(tmp_path / "a")
    recorded(tmp_path / "a", "q2.r0", [(search("大阪"), says("大阪の結果")), (search("東京"), says("後の結果"))])
    recorded(tmp_path / "c", "q9.r0", [(page("https://a.example/"), says("頁"))])
    others = Others(pool=(tmp_path / "a", tmp_path / "c"))

    async def scene(tape: SessionTape) -> tuple[list[str], ChannelReport]:
        answers = [
            await text(tape, chat("別の質問"), says("新しい答え")),
            await text(tape, search("大阪"), Silent()),
            await text(tape, search("東京"), Silent()),
            await text(tape, search("東京"), Silent()),
            await text(tape, page("https://a.example/"), Silent()),
        ]
        return answers, tape.report().channels["search"]

    answers, report = within(tmp_path / "new", Modes.web_replay(), scene, others, session="q7.r0")
    assert answers == ["新しい答え", "大阪の結果", "結果", "結果", "頁"]
    assert report == ChannelReport(pool_hits=3, appended=3)

    async def alone(tape: SessionTape) -> list[str]:
        return [await text(tape, search("東京")), await text(tape, page("https://a.example/"))]

    assert within(tmp_path / "new", Modes.sealed(), alone, session="q7.r0") == ["結果", "頁"]


def test_a_session_of_the_same_name_answers_first_and_in_its_order(tmp_path: Path) -> None:
    recorded(tmp_path / "a", "q0.r0", [(search("東京"), says("よその結果"))])
    recorded(tmp_path / "a", "q1.r0", [(search("東京"), says("一度目")), (search("東京"), says("二度目"))])

    async def scene(tape: SessionTape) -> list[str]:
        return [await text(tape, search("東京")) for _ in range(3)]

    others = Others(pool=(tmp_path / "a",))
    assert within(tmp_path / "new", Modes.web_replay(), scene, others) == ["一度目", "二度目", "よその結果"]


def test_a_pool_miss_is_an_error_an_empty_result_or_a_live_call(tmp_path: Path) -> None:
    others = Others(pool=(run_of_two_rounds(tmp_path / "a"),))

    async def scene(tape: SessionTape) -> tuple[list[tuple[int, str, str]], ChannelReport]:
        answers: list[tuple[int, str, str]] = []
        for request in (search("京都"), page("https://new.example/")):
            response = await tape.exchange(request, says("外の結果"))
            marks = [value.decode() for name, value in response.headers if name == b"x-pincite-empty"]
            answers.append((response.status, response.body.decode(), "".join(marks)))
        return answers, tape.report().channels["search"]

    with pytest.raises(TapeMiss, match="京都"):
        within(tmp_path / "error", Modes.web_replay("error"), scene, others)
    answers, report = within(tmp_path / "empty", Modes.web_replay("empty"), scene, others)
    assert answers == [(200, "{}", "not on any given tape"), (404, "", "not on any given tape")]
    assert report == ChannelReport(pool_misses=1, pool_empty=1, appended=1)
    answers, report = within(tmp_path / "live", Modes.web_replay("live"), scene, others)
    assert answers == [(200, "外の結果", ""), (200, "外の結果", "")]
    assert report == ChannelReport(pool_misses=1, live=1, appended=1)


def test_a_fork_plays_another_model_to_its_round_and_then_goes_live(tmp_path: Path) -> None:
    source = run_of_two_rounds(tmp_path / "a")

    async def scene(tape: SessionTape) -> tuple[list[str], ChannelReport]:
        answers = [
            await text(tape, chat("一", "r01", model="new"), Silent()),
            await text(tape, search("東京", "r01.c1"), Silent()),
        ]
        with pytest.raises(httpx2.ConnectError, match="network_error: なし"):
            await tape.exchange(page("https://a.example/", "r01.c2"), Silent())
        answers.append(await text(tape, chat("二", "r02", model="new"), says("新しい答え")))
        answers.append(await text(tape, search("京都", "r02.c1"), says("外の結果")))
        return answers, tape.report().channels["model"]

    answers, report = within(tmp_path / "b", Modes.fork(1), scene, Others(source))
    assert answers == ["検索せよ", "結果", "新しい答え", "外の結果"]
    assert report == ChannelReport(played=1, forked=1, live=1, appended=2)

    async def alone(tape: SessionTape) -> list[str]:
        return [
            await text(tape, chat("一", "r01", model="new")),
            await text(tape, search("東京", "r01.c1")),
            await text(tape, chat("二", "r02", model="new")),
        ]

    assert within(tmp_path / "b", Modes.sealed(), alone) == ["検索せよ", "結果", "新しい答え"]


def test_a_fork_that_does_not_meet_its_source_is_an_error(tmp_path: Path) -> None:
    source = run_of_two_rounds(tmp_path / "a")

    async def scene(tape: SessionTape) -> None:
        await tape.exchange(chat("別の質問", "r01"), Silent())

    with pytest.raises(TapeMiss, match="the text of the question or prompt was changed"):
        within(tmp_path / "b", Modes.fork(1), scene, Others(source))


def test_lenient_replay_counts_each_step_away_from_the_recording(tmp_path: Path) -> None:
    run_of_two_rounds(tmp_path / "a")

    async def scene(tape: SessionTape) -> tuple[list[str], ChannelReport, ChannelReport]:
        answers = [
            await text(tape, chat("一", "r01"), Silent()),
            await text(tape, search("東京都", "r01.c1"), Silent()),
            await text(tape, chat("二", "r02", temperature=1.0), Silent()),
        ]
        channels = tape.report().channels
        return answers, channels["model"], channels["search"]

    answers, model, found = within(tmp_path / "a", Modes.lenient(), scene)
    assert answers == ["検索せよ", "結果", "答え"]
    assert (model.played, model.same_messages, model.same_position, model.lenient) == (2, 1, 0, 1)
    assert (found.played, found.same_messages, found.same_position, found.lenient) == (1, 0, 1, 1)

    async def elsewhere(tape: SessionTape) -> None:
        await tape.exchange(search("京都", "r09.c1"), Silent())

    with pytest.raises(TapeMiss):
        within(tmp_path / "a", Modes.lenient(), elsewhere)


def test_a_refresh_says_which_pages_changed_are_gone_or_moved(tmp_path: Path) -> None:
    urls = [f"https://a.example/{n}" for n in range(5)]
    recorded(tmp_path / "a", "q1.r0", [(page(url), says("元の頁")) for url in urls])
    before = (tmp_path / "a" / "q1.r0.yaml").read_bytes()
    now = [says("元の頁"), says("新しい頁"), says("", 404), says("", 301, location="/市"), fails("timeout: 遅い")]

    async def scene(tape: SessionTape) -> tuple[Drift, ...]:
        for url, live in zip(urls, now, strict=True):
            try:
                await tape.exchange(page(url), live)
            except httpx2.ConnectError:
                continue
        await tape.exchange(page("https://b.example/"), says("初めて"))
        return tape.report().drifts

    drifts = within(tmp_path / "a", Modes.refresh(), scene)
    assert [(drift.url[-1], drift.kind) for drift in drifts] == [
        ("0", "same"),
        ("1", "changed"),
        ("2", "gone"),
        ("3", "moved"),
        ("4", "gone"),
        ("/", "new"),
    ]
    assert drifts[3].detail.endswith("→ 301 to /市")
    assert drifts[4].detail.endswith("→ ConnectError: timeout: 遅い")
    assert (tmp_path / "a" / "q1.r0.yaml").read_bytes() == before

    within(tmp_path / "b", Modes.refresh(), scene, Others(tmp_path / "a"))

    async def new_tape(tape: SessionTape) -> str:
        return await text(tape, page(urls[1]))

    assert within(tmp_path / "b", Modes.sealed(), new_tape) == "新しい頁"


def test_a_resumed_fork_goes_on_from_its_own_tape(tmp_path: Path) -> None:
    source = run_of_two_rounds(tmp_path / "a")

    async def begin(tape: SessionTape) -> None:
        await tape.exchange(chat("一", "r01"), Silent())
        await tape.exchange(chat("二", "r02"), says("新しい答え"))

    async def go_on(tape: SessionTape) -> tuple[list[str], ChannelReport]:
        answers = [await text(tape, chat("一", "r01"), Silent()), await text(tape, chat("二", "r02"), Silent())]
        return answers, tape.report().channels["model"]

    within(tmp_path / "b", Modes.fork(1), begin, Others(source))
    answers, report = within(tmp_path / "b", Modes.fork(1), go_on, Others(source))
    assert answers == ["検索せよ", "新しい答え"]
    assert report == ChannelReport(played=2, forked=1)


def test_what_a_judge_said_in_another_run_is_not_asked_again(tmp_path: Path) -> None:
    recorded(tmp_path / "a", "q1.r0", [(judge("正しいか", "u001"), says("はい")), (search("東京"), says("結果"))])
    others = Others(verdicts=(tmp_path / "a",))
    changed = [judge("正しいか", "u001", model="k"), judge("正しいですか", "u001")]

    async def scene(tape: SessionTape) -> tuple[list[str], SessionReport]:
        answers = [await text(tape, judge("正しいか", place), Silent()) for place in ("u007", "u008")]
        answers += [await text(tape, request, says("いいえ")) for request in changed]
        answers.append(await text(tape, search("東京"), says("外の結果")))
        return answers, tape.report()

    modes = Modes.resume().with_verdicts()
    answers, report = within(tmp_path / "new", modes, scene, others, session="q9.r0")
    assert answers == ["はい", "はい", "いいえ", "いいえ", "外の結果"]
    assert report.channels["judge"] == ChannelReport(pool_hits=2, pool_misses=2, live=2, appended=4)
    assert report.channels["search"] == ChannelReport(live=1, appended=1)

    async def alone(tape: SessionTape) -> list[str]:
        requests = [judge("正しいか", "u007"), judge("正しいか", "u008"), *changed]
        return [await text(tape, request) for request in requests]

    assert within(tmp_path / "new", Modes.sealed(), alone, session="q9.r0") == answers[:4]


def test_a_second_opinion_is_never_the_first_one_again(tmp_path: Path) -> None:
    said = [(judge("正しいか", "u001"), says("はい")), (judge("正しいか", "u001.k2"), says("いいえ"))]
    recorded(tmp_path / "a", "q1.r0", said)

    async def scene(tape: SessionTape) -> list[str]:
        # The first opinion comes last: what each gets does not depend on who asks first.
        places = ("u003.k3", "u003.k2", "u003")
        return [await text(tape, judge("正しいか", place), says("外のはい")) for place in places]

    others = Others(verdicts=(tmp_path / "a",))
    assert within(tmp_path / "new", Modes.resume().with_verdicts(), scene, others) == ["外のはい", "いいえ", "はい"]


def test_a_judge_asked_again_at_one_place_gets_the_next_recorded_answer_and_no_failure(tmp_path: Path) -> None:
    said = [says("", 503), says("？"), says("はい")]
    recorded(tmp_path / "a", "q1.r0", [(judge("正しいか", "u001"), live) for live in said])
    recorded(tmp_path / "b", "q2.r0", [(judge("正しいか", "u001"), says("同じ名の答え"))])

    async def scene(tape: SessionTape) -> list[str]:
        return [await text(tape, judge("正しいか", "u001"), says("外の答え")) for _ in range(3)]

    others = Others(verdicts=(tmp_path / "a", tmp_path / "b"))
    modes = Modes.resume().with_verdicts()
    assert within(tmp_path / "new", modes, scene, others, session="q3.r0") == ["？", "はい", "外の答え"]
    assert within(tmp_path / "new", modes, scene, others, session="q2.r0") == ["同じ名の答え", "外の答え", "外の答え"]


def test_a_session_that_was_cut_off_goes_on_with_the_next_recorded_verdict(tmp_path: Path) -> None:
    recorded(tmp_path / "a", "q1.r0", [(judge("正しいか", "u001"), says(said)) for said in ("？", "はい")])
    others = Others(verdicts=(tmp_path / "a",))
    modes = Modes.rejudge().with_verdicts()
    source = replace(others, source=run_of_two_rounds(tmp_path / "source"))

    async def begin(tape: SessionTape) -> list[str]:
        return [await text(tape, chat("一", "r01"), Silent()), await text(tape, judge("正しいか", "u001"), Silent())]

    async def go_on(tape: SessionTape) -> list[str]:
        return [*await begin(tape), await text(tape, judge("正しいか", "u001"), Silent())]

    assert within(tmp_path / "new", modes, begin, source) == ["検索せよ", "？"]
    assert within(tmp_path / "new", modes, go_on, source) == ["検索せよ", "？", "はい"]
