from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import TypeVar

import httpx2
import pytest

from cassettes.configuration import Configuration
from cassettes.context import on_channel, pause, taping
from cassettes.errors import (
    TapeBusy,
    TapeChanged,
    TapeDamaged,
    TapeDiskError,
    TapeExists,
    TapeMiss,
    TapeSecret,
)
from cassettes.exchange import TapeRequest, TapeResponse
from cassettes.modes import Modes
from cassettes.naming import journal_path, session_name
from cassettes.redact import Redactor
from cassettes.report import ChannelReport
from cassettes.tape import SessionTape, TapeSet

NAME = "問1/子育て.r0"
KEY = "BSA-secret-0123456789"
T = TypeVar("T")
Live = Callable[[], Awaitable[TapeResponse]]


def search(query: str, place: str = "") -> TapeRequest:
    return TapeRequest("search", "GET", f"https://api.search.example/res/v1/web/search?q={query}", place=place)


def chat(text: str, place: str = "", model: str = "m") -> TapeRequest:
    body = f'{{"model":"{model}","messages":[{{"role":"user","content":"{text}"}}]}}'
    return TapeRequest("model", "POST", "http://m.example/v1/chat/completions", body.encode(), place=place)


def page(url: str, place: str = "") -> TapeRequest:
    return TapeRequest("page", "GET", url, place=place)


def says(text: str | bytes, status: int = 200) -> Live:
    async def live() -> TapeResponse:
        await asyncio.sleep(0)
        body = text.encode() if isinstance(text, str) else text
        return TapeResponse(status, ((b"content-type", b"text/plain"),), body)

    return live


def fails(error: httpx2.RequestError) -> Live:
    async def live() -> TapeResponse:
        raise error

    return live


def within(folder: Path, modes: Modes, scene: Callable[[SessionTape], Coroutine[None, None, T]], **more: object) -> T:
    async def go() -> T:
        with TapeSet(folder, modes, **more) as tapes, tapes.session(NAME) as tape:  # type: ignore[arg-type]
            return await scene(tape)

    return asyncio.run(go())


async def text(tape: SessionTape, request: TapeRequest, live: Live | None = None) -> str:
    return (await tape.exchange(request, live)).body.decode()


def test_identical_requests_get_their_answers_in_order(tmp_path: Path) -> None:
    async def record(tape: SessionTape) -> None:
        for answer in ("一つ目", "二つ目", "三つ目"):
            await tape.exchange(search("東京"), says(answer))

    async def replay(tape: SessionTape) -> list[str]:
        return [await text(tape, search("東京")) for _ in range(3)]

    within(tmp_path, Modes.record(), record)
    assert within(tmp_path, Modes.sealed(), replay) == ["一つ目", "二つ目", "三つ目"]


def test_identical_requests_under_way_at_once_are_told_apart_by_place(tmp_path: Path) -> None:
    async def slowly(tape: SessionTape, place: str, turns: int, answer: str | None) -> str:
        async def live() -> TapeResponse:
            for _ in range(turns):
                await asyncio.sleep(0)
            return TapeResponse(200, (), f"{answer}".encode())

        for _ in range(turns):
            await asyncio.sleep(0)
        return await text(tape, search("同じ", place), live if answer else None)

    async def record(tape: SessionTape) -> list[str]:
        return await asyncio.gather(*(slowly(tape, f"r01.c{i}", 6 - i, f"答え{i}") for i in range(6)))

    async def replay(tape: SessionTape) -> list[str]:
        return await asyncio.gather(*(slowly(tape, f"r01.c{i}", i, None) for i in range(6)))

    recorded = within(tmp_path, Modes.record(), record)
    assert recorded == [f"答え{i}" for i in range(6)]
    assert within(tmp_path, Modes.sealed(), replay) == recorded


def test_six_parallel_chat_calls_that_answer_in_another_order_are_not_swapped(tmp_path: Path) -> None:
    async def ask(tape: SessionTape, i: int, turns: int, live: bool) -> str:
        async def answer() -> TapeResponse:
            for _ in range(turns):
                await asyncio.sleep(0)
            return TapeResponse(200, (), f"答え{i}".encode())

        return await text(tape, chat(f"質問{i}", f"r01.c{i}"), answer if live else None)

    async def record(tape: SessionTape) -> list[str]:
        return await asyncio.gather(*(ask(tape, i, 9 - i, live=True) for i in range(6)))

    async def replay(tape: SessionTape) -> list[str]:
        return await asyncio.gather(*(ask(tape, i, 0, live=False) for i in reversed(range(6))))

    assert within(tmp_path, Modes.record(), record) == [f"答え{i}" for i in range(6)]
    assert within(tmp_path, Modes.sealed(), replay) == [f"答え{i}" for i in reversed(range(6))]


@pytest.mark.parametrize(
    "body",
    [
        "東京都の制度。" * 300,
        "ｼﾌﾄ JIS～①".encode("cp932"),
        b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n" + bytes(range(256)) * 9,
        "\u2028\u2029 \u0085 \ufeff \ufffe 😀 \x00\x1b".encode(),
        "\ufeff<html>".encode(),
        b"\xed\xa0\x80 lone surrogate in bytes",
        b'{"text":"\\ud800 escaped"}',
        b"",
    ],
)
def test_bodies_come_back_byte_for_byte(tmp_path: Path, body: str | bytes) -> None:
    expected = body.encode() if isinstance(body, str) else body

    async def record(tape: SessionTape) -> TapeResponse:
        return await tape.exchange(page("https://a.example/頁"), says(body))

    async def replay(tape: SessionTape) -> TapeResponse:
        return await tape.exchange(page("https://a.example/頁"), None)

    assert within(tmp_path, Modes.record(), record).body == expected
    played = within(tmp_path, Modes.sealed(), replay)
    assert played == TapeResponse(200, ((b"content-type", b"text/plain"),), expected, origin="tape")


def test_an_exception_is_an_interaction_and_is_raised_again(tmp_path: Path) -> None:
    errors = [httpx2.ConnectError("refused: robots.txt が許可しない\n二行目"), httpx2.ReadTimeout("timeout: 60 s")]

    async def record(tape: SessionTape) -> None:
        for error in errors:
            with pytest.raises(type(error)):
                await tape.exchange(page("https://a.example/"), fails(error))

    async def replay(tape: SessionTape) -> list[tuple[str, str]]:
        caught: list[tuple[str, str]] = []
        for _ in errors:
            try:
                await tape.exchange(page("https://a.example/"), None)
            except httpx2.RequestError as error:
                caught.append((type(error).__name__, str(error)))
        return caught

    within(tmp_path, Modes.record(), record)
    assert within(tmp_path, Modes.sealed(), replay) == [(type(error).__name__, str(error)) for error in errors]


async def never() -> TapeResponse:
    await asyncio.sleep(3_600)
    raise AssertionError


def test_an_answer_that_the_caller_did_not_wait_for_is_a_timeout_when_played(tmp_path: Path) -> None:
    async def asked(tape: SessionTape, live: list[Live] | None) -> list[str]:
        said: list[str] = []
        for i in range(3):
            try:
                async with asyncio.timeout(0.01 if i != 1 else None):
                    said.append(await text(tape, search("東京", "r01.c1"), live[i] if live else None))
            except TimeoutError:
                said.append("timeout")
            except httpx2.TimeoutException as error:
                said.append(f"timeout ({error})")
        return said

    async def record(tape: SessionTape) -> list[str]:
        return await asked(tape, [never, says("結果"), never])

    async def replay(tape: SessionTape) -> list[str]:
        return await asked(tape, None)

    assert within(tmp_path, Modes.record(), record) == ["timeout", "結果", "timeout"]
    assert within(tmp_path, Modes.sealed(), replay) == [
        "timeout (the caller gave up waiting)",
        "結果",
        "timeout (the caller gave up waiting)",
    ]


def test_what_a_stopped_run_was_waiting_for_is_asked_again(tmp_path: Path) -> None:
    async def stopped(tape: SessionTape) -> None:
        await tape.exchange(chat("一"), says("答え一"))
        task = asyncio.create_task(tape.exchange(search("東京"), never))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def go_on(tape: SessionTape) -> list[str]:
        return [await text(tape, chat("一")), await text(tape, search("東京"), says("結果"))]

    within(tmp_path, Modes.resume(), stopped)
    assert within(tmp_path, Modes.resume(), go_on) == ["答え一", "結果"]


def test_a_recorded_429_then_200_is_replayed_without_sleeping(tmp_path: Path) -> None:
    async def waits(limit_s: float) -> bool:
        try:
            async with asyncio.timeout(limit_s):
                await pause(3_600)
        except TimeoutError:
            return True
        return False

    async def retrying(tape: SessionTape, answers: list[Live], limit_s: float) -> list[int | bool]:
        said: list[int | bool] = []
        with taping(tape), on_channel("search", "r01.c1"):
            for _ in range(2):
                response = await tape.exchange(search("東京", "r01.c1"), answers.pop(0) if answers else None)
                said.append(response.status)
                if response.status == 429:
                    said.append(await waits(limit_s))
        return said

    async def record(tape: SessionTape) -> list[int | bool]:
        return await retrying(tape, [says("待て", 429), says("結果")], 0.01)

    async def replay(tape: SessionTape) -> list[int | bool]:
        return await retrying(tape, [], 60)

    assert within(tmp_path, Modes.record(), record) == [429, True, 200]
    assert within(tmp_path, Modes.sealed(), replay) == [429, False, 200]


def test_a_resumed_session_plays_what_it_has_and_goes_on_live(tmp_path: Path) -> None:
    async def begin(tape: SessionTape) -> None:
        await tape.exchange(chat("一"), says("答え一"))
        await tape.exchange(search("東京"), says("結果"))

    async def go_on(tape: SessionTape) -> list[str]:
        answers = [await text(tape, request, says("新しい")) for request in (chat("一"), search("東京"), chat("二"))]
        assert tape.report().channels["model"] == ChannelReport(played=1, live=1, appended=1)
        return answers

    within(tmp_path, Modes.resume(), begin)
    assert within(tmp_path, Modes.resume(), go_on) == ["答え一", "結果", "新しい"]
    assert within(tmp_path, Modes.sealed(), go_on_sealed) == ["答え一", "結果", "新しい"]


async def go_on_sealed(tape: SessionTape) -> list[str]:
    answers = [await text(tape, request) for request in (chat("一"), search("東京"), chat("二"))]
    assert tape.report().total("unplayed") == 0
    return answers


def test_failures_at_the_end_are_asked_again_when_a_session_is_resumed(tmp_path: Path) -> None:
    async def begin(tape: SessionTape) -> None:
        await tape.exchange(chat("一"), says("混雑", 503))
        await tape.exchange(chat("一"), says("答え一"))
        with pytest.raises(httpx2.ConnectError):
            await tape.exchange(page("https://dead.example/"), fails(httpx2.ConnectError("network_error: なし")))
        await tape.exchange(chat("二"), says("待て", 429))
        await tape.exchange(chat("二"), says("こちらへ", 301))
        with pytest.raises(httpx2.ReadError):
            await tape.exchange(chat("二"), fails(httpx2.ReadError("切れた")))

    async def go_on(tape: SessionTape) -> list[str]:
        assert tape.report().dropped == 3
        statuses = [str((await tape.exchange(chat("一"), None)).status) for _ in range(2)]
        with pytest.raises(httpx2.ConnectError):
            await tape.exchange(page("https://dead.example/"), None)
        return [*statuses, await text(tape, chat("二"), says("答え二"))]

    within(tmp_path, Modes.resume(), begin)
    assert within(tmp_path, Modes.resume(), go_on) == ["503", "200", "答え二"]
    assert sum(line.startswith(b"- request") for line in journal_path(tmp_path, NAME).read_bytes().split(b"\n")) == 4


def test_sealed_replay_reports_what_nobody_asked_for(tmp_path: Path) -> None:
    async def record(tape: SessionTape) -> None:
        await tape.exchange(chat("一"), says("答え"))
        await tape.exchange(search("東京"), says("結果"))

    async def replay(tape: SessionTape) -> tuple[int, int]:
        await tape.exchange(chat("一"), None)
        report = tape.report()
        return report.channels["model"].unplayed, report.channels["search"].unplayed

    within(tmp_path, Modes.record(), record)
    assert within(tmp_path, Modes.sealed(), replay) == (0, 1)


def test_sealed_replay_asks_nobody_even_where_it_could(tmp_path: Path) -> None:
    async def replay(tape: SessionTape) -> None:
        await tape.exchange(search("東京"), says("外から"))

    with pytest.raises(TapeMiss, match="the session has no recording in this folder"):
        within(tmp_path, Modes.sealed(), replay)
    assert list(tmp_path.iterdir()) == []


def test_recording_over_a_recording_is_refused(tmp_path: Path) -> None:
    async def record(tape: SessionTape) -> None:
        await tape.exchange(search("東京"), says("結果"))

    within(tmp_path, Modes.record(), record)
    with pytest.raises(TapeExists, match="continue the run or remove the file"):
        within(tmp_path, Modes.record(), record)


def test_two_writers_of_one_session_are_refused(tmp_path: Path) -> None:
    async def scene(tape: SessionTape) -> None:
        with TapeSet(tmp_path, Modes.resume()) as tapes:
            with tapes.session(NAME) as other:
                await tape.exchange(search("東京"), says("結果"))
                with pytest.raises(TapeBusy):
                    await other.exchange(search("大阪"), says("結果"))
            with pytest.raises(TapeBusy, match="another process is recording"):
                tapes.session(NAME)
        with TapeSet(tmp_path, Modes.sealed()) as tapes, tapes.session(NAME) as reader:
            assert await text(reader, search("東京")) == "結果"

    within(tmp_path, Modes.resume(), scene)


def test_a_changed_configuration_is_named_before_the_first_request(tmp_path: Path) -> None:
    async def record(tape: SessionTape) -> None:
        await tape.exchange(search("東京"), says("結果"))

    then = {"model": {"name": "qwen", "decode": {"temperature": 0.6}}, "search": {"engine": "brave"}}
    now = {"model": {"name": "qwen", "decode": {"temperature": 1.0}}, "search": {"engine": "brave", "count": 20}}
    within(tmp_path, Modes.resume(), record, configuration=Configuration.of(then))
    for modes in (Modes.sealed(), Modes.resume()):
        with (
            TapeSet(tmp_path, modes, configuration=Configuration.of(now)) as tapes,
            pytest.raises(TapeChanged) as raised,
        ):
            tapes.session(NAME)
        assert str(raised.value).splitlines()[:3] == [
            f"session {NAME} was recorded under another configuration:",
            "  model.decode.temperature: 0.6 on the tape, 1.0 now",
            "  search.count: absent on the tape, 20 now",
        ]
    with TapeSet(tmp_path, Modes.sealed(), configuration=Configuration.of(then)) as tapes:
        tapes.session(NAME).close()
    with TapeSet(tmp_path, Modes.lenient(), configuration=Configuration.of(now)) as tapes:
        tapes.session(NAME).close()


def holding(folder: Path, secret: str) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]


def test_no_key_ever_reaches_the_disk(tmp_path: Path) -> None:
    redactor = Redactor([KEY])

    async def record(tape: SessionTape) -> None:
        header = ((b"X-Subscription-Token", KEY.encode()), (b"Authorization", f"Bearer {KEY}".encode()))
        url = f"https://s.example/search?q=東京&key={KEY}"
        await tape.exchange(TapeRequest("search", "GET", url, headers=header), says("結果"))
        refused = await tape.exchange(chat("誤った鍵"), says(f"Incorrect API key provided: {KEY}. 鍵が違う", 401))
        assert KEY.encode() in refused.body
        with pytest.raises(httpx2.ConnectError, match=KEY):
            await tape.exchange(chat("切断"), fails(httpx2.ConnectError(f"cannot reach https://u:{KEY}@x.example")))
        for request, answer in (
            (chat(f"鍵は{KEY}です" + "長い" * 400), "答え"),
            (chat(f"鍵は{KEY}"), "答え"),
            (page("https://a.example/"), f"<p>{KEY}</p>" * 200),
            (page("https://a.example/b"), f"<p>{KEY}</p>"),
            (page(f"https://a.example/{KEY}"), "頁"),
        ):
            with pytest.raises(TapeSecret) as raised:
                await tape.exchange(request, says(answer))
            assert KEY not in str(raised.value)
        await tape.exchange(search("続き"), says("書ける"))

    async def replay(tape: SessionTape) -> list[str]:
        refused = await tape.exchange(chat("誤った鍵"), None)
        with pytest.raises(httpx2.ConnectError, match=r"cannot reach https://u:\*\*\*@x\.example"):
            await tape.exchange(chat("切断"), None)
        searched = await text(tape, TapeRequest("search", "GET", "https://s.example/search?q=東京"))
        return [searched, refused.body.decode(), await text(tape, search("続き"))]

    within(tmp_path, Modes.resume(), record, redactor=redactor)
    assert len(list(tmp_path.rglob("*"))) >= 1
    assert holding(tmp_path, KEY) == []
    assert within(tmp_path, Modes.sealed(), replay, redactor=redactor) == [
        "結果",
        "Incorrect API key provided: ***. 鍵が違う",
        "書ける",
    ]


def test_a_flipped_blob_is_named_with_session_and_place(tmp_path: Path) -> None:
    async def record(tape: SessionTape) -> None:
        await tape.exchange(page("https://a.example/", "r02.c1"), says("東京都の制度。" * 300))

    async def replay(tape: SessionTape) -> None:
        await tape.exchange(page("https://a.example/", "r02.c1"), None)

    within(tmp_path, Modes.record(), record)
    (pack,) = (tmp_path / "blobs").iterdir()
    data = bytearray(pack.read_bytes())
    data[-3] ^= 4
    pack.write_bytes(data)
    with pytest.raises(TapeDamaged, match=rf"session {NAME}, page r02\.c1 .*the blob [0-9a-f]{{64}} .*{pack.name}"):
        within(tmp_path, Modes.sealed(), replay)


def test_a_full_disk_stops_with_a_sentence_and_what_was_recorded_stays_usable(tmp_path: Path) -> None:
    async def fill(tape: SessionTape) -> int:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
        try:
            for n in range(1_000):
                await tape.exchange(page(f"https://a.example/{n}"), says(os.urandom(3_000)))
        except TapeDiskError as error:
            said.append(str(error))
            return n
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        raise AssertionError("the disk never was full")

    async def go_on(tape: SessionTape) -> int:
        for i in range(n_recorded):
            await tape.exchange(page(f"https://a.example/{i}"), None)
        await tape.exchange(page("https://a.example/more"), says("続き"))
        return tape.report().total("played")

    said: list[str] = []
    n_recorded = within(tmp_path, Modes.resume(), fill)
    assert n_recorded > 2
    assert "make room and repeat the same command" in said[0]
    assert within(tmp_path, Modes.resume(), go_on) == n_recorded


def test_nothing_acknowledged_is_lost_by_a_kill(tmp_path: Path) -> None:
    script = (
        "import asyncio, os, sys\n"
        "from pathlib import Path\n"
        "from cassettes.exchange import TapeRequest, TapeResponse\n"
        "from cassettes.modes import Modes\n"
        "from cassettes.tape import TapeSet\n"
        "async def main():\n"
        "    with TapeSet(Path(sys.argv[1]), Modes.resume()) as tapes, tapes.session('q.r0') as tape:\n"
        "        for i in range(10**6):\n"
        "            async def live(): return TapeResponse(200, (), os.urandom(2000))\n"
        "            await tape.exchange(TapeRequest('page', 'GET', f'https://a.example/{i}'), live)\n"
        "            print(i, flush=True)\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        acknowledged = [int(process.stdout.readline()) for _ in range(40)]
        process.kill()
        acknowledged += [int(said) for said in process.stdout.read().split("\n") if said]

    async def replay() -> None:
        with TapeSet(tmp_path, Modes.sealed()) as tapes, tapes.session("q.r0") as tape:
            for i in acknowledged[:-1]:
                assert len((await tape.exchange(page(f"https://a.example/{i}"), None)).body) == 2_000

    asyncio.run(replay())


@pytest.mark.parametrize(
    "sample_id", ["q0001", "東京/大阪", "../../etc/passwd", ".hidden", "a b~c%41", "長" * 200, "x" * 300, ""]
)
def test_any_id_of_a_sample_makes_a_file_name(tmp_path: Path, sample_id: str) -> None:
    async def scene() -> list[str]:
        with TapeSet(tmp_path, Modes.resume()) as tapes:
            with tapes.session(session_name(sample_id, 3)) as tape:
                await tape.exchange(search("東京"), says("結果"))
            return tapes.sessions()

    assert asyncio.run(scene()) == [f"{sample_id}.r3"]
    (path,) = tmp_path.glob("*.yaml")
    assert (len(path.name.encode()) <= 200, path.name.startswith("."), path.name.isascii()) == (True, False, True)


def test_a_session_that_died_in_its_first_write_has_no_name(tmp_path: Path) -> None:
    (tmp_path / "a.r0.yaml").write_bytes(b'version: 1\npincite: {"format":1,"sess')
    (tmp_path / "b.r0.yaml").write_bytes(b"")
    with TapeSet(tmp_path, Modes.resume()) as tapes:
        assert tapes.sessions() == []
        with tapes.session("a.r0") as tape:
            assert asyncio.run(text(tape, search("東京"), says("結果"))) == "結果"
            torn = tape.report().torn
            assert torn is not None
            assert (torn.n_bytes, torn.cut) == (37, True)
        assert tapes.sessions() == ["a.r0"]


def test_fsync_changes_nothing_but_safety(tmp_path: Path) -> None:
    async def record(tape: SessionTape) -> None:
        await tape.exchange(page("https://a.example/"), says("長い頁" * 500))

    async def replay(tape: SessionTape) -> str:
        return await text(tape, page("https://a.example/"))

    within(tmp_path, Modes.record(), record, fsync=True)
    assert within(tmp_path, Modes.sealed(), replay) == "長い頁" * 500


def test_ids_that_differ_have_files_that_differ() -> None:
    ids = ["a", "a.r0", "A", "a~", "a%7E", "長" * 100, "長" * 100 + "い", "a/b", "a%2Fb"]
    assert len({journal_path(Path(), session_name(one)) for one in ids}) == len(ids)
