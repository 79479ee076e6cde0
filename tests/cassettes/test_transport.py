from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import TypeVar

import brotli  # type: ignore[import-untyped]
import httpx2
import pytest
from backports import zstd
from openai import AsyncOpenAI, AuthenticationError

from cassettes.context import on_channel, outgoing, taping
from cassettes.errors import TapeError, TapeMiss
from cassettes.modes import Modes
from cassettes.redact import Redactor
from cassettes.tape import TapeSet
from cassettes.transport import TapeTransport

T = TypeVar("T")
JAPANESE = "東京都の子育て支援制度は、令和6年に改正された。ｶﾀｶﾅ".encode() * 30
Answer = Callable[[httpx2.Request], httpx2.Response]


def client(transport: httpx2.AsyncBaseTransport | None) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=TapeTransport(transport))


def within(
    folder: Path,
    modes: Modes,
    live: httpx2.AsyncBaseTransport | None,
    scene: Callable[[httpx2.AsyncClient], Coroutine[None, None, T]],
) -> T:
    async def go() -> T:
        async with TapeSet(folder, modes) as tapes, client(live) as http:
            with tapes.session("q1.r0") as tape, taping(tape):
                return await scene(http)

    return asyncio.run(go())


async def get(http: httpx2.AsyncClient, url: str = "https://a.example/頁") -> httpx2.Response:
    with on_channel("page", "r01.c1"):
        return await http.get(url)


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd", "deflate", "identity"])
@pytest.mark.parametrize("body", [JAPANESE, JAPANESE.decode().encode("cp932"), b"%PDF-1.7\n" + bytes(range(256)) * 8])
def test_packed_bodies_are_stored_unpacked_and_come_back_byte_for_byte(
    tmp_path: Path, coding: str, body: bytes
) -> None:
    packed = {
        "gzip": gzip.compress,
        "br": brotli.compress,
        "zstd": zstd.compress,
        "deflate": zlib.compress,
        "identity": bytes,
    }[coding](body)

    def answer(_: httpx2.Request) -> httpx2.Response:
        headers = {"content-encoding": coding, "content-type": "text/html; charset=shift_jis", "set-cookie": "a=b"}
        return httpx2.Response(200, headers=headers, content=packed)

    recorded = within(tmp_path, Modes.record(), httpx2.MockTransport(answer), get)
    played = within(tmp_path, Modes.sealed(), None, get)
    assert recorded.content == played.content == body
    assert dict(played.headers) == {"content-type": "text/html; charset=shift_jis", "content-length": str(len(body))}
    assert b"a=b" not in (tmp_path / "q1.r0.yaml").read_bytes()


def test_each_hop_of_a_redirect_is_an_exchange(tmp_path: Path) -> None:
    places = {"/a": b"/b%8E%73", "/b%8E%73": "/市".encode(), "/市": b""}

    def answer(request: httpx2.Request) -> httpx2.Response:
        place = places.get(request.url.raw_path.decode(), b"")
        return httpx2.Response(302 if place else 200, headers=[(b"location", place)] if place else [], content=b"end")

    async def follow(http: httpx2.AsyncClient) -> list[tuple[int, bytes]]:
        seen: list[tuple[int, bytes]] = []
        url = "https://a.example/a"
        while True:
            response = await get(http, url)
            location = dict(response.headers.raw).get(b"location", b"")
            seen.append((response.status_code, location))
            if not location:
                return seen
            url = str(httpx2.URL(url).join(location.decode()))

    recorded = within(tmp_path, Modes.record(), httpx2.MockTransport(answer), follow)
    assert [status for status, _ in recorded] == [302, 302, 200]
    assert within(tmp_path, Modes.sealed(), None, follow) == recorded


def test_a_sealed_transport_has_nothing_behind_it(tmp_path: Path) -> None:
    with pytest.raises(TapeMiss, match="the session has no recording"):
        within(tmp_path, Modes.resume(), None, get)

    async def outside() -> None:
        async with client(None) as http:
            with pytest.raises(TapeError, match=r"the network is blocked, and GET a\.example belongs to no session"):
                await http.get("https://a.example/")

    asyncio.run(outside())


def test_a_call_without_a_channel_is_refused(tmp_path: Path) -> None:
    async def scene(http: httpx2.AsyncClient) -> None:
        with pytest.raises(TapeError, match=r"no channel is set for GET a\.example"):
            await http.get("https://a.example/")

    within(tmp_path, Modes.resume(), httpx2.MockTransport(lambda _: httpx2.Response(200)), scene)


def test_outside_of_a_session_calls_go_straight_through(tmp_path: Path) -> None:
    async def scene() -> int:
        async with client(httpx2.MockTransport(lambda _: httpx2.Response(204))) as http:
            return (await http.get("https://a.example/v1/models")).status_code

    assert asyncio.run(scene()) == 204


EVENTS = [
    'data: {"choices":[{"index":0,"delta":{"content":"東京都の"}}]}\n\n'.encode(),
    'data: {"choices":[{"index":0,"delta":{"content":"制度data: [DONE]"}}]}\n\nda'.encode(),
    b"ta: [DONE]\n\n",
]


class Events(httpx2.AsyncByteStream):
    """A server that sends events, then ends, breaks off, or goes on for ever."""

    def __init__(self, chunks: list[bytes], error: httpx2.RequestError | None = None, endless: bool = False) -> None:
        self.chunks, self.error, self.endless, self.closed = chunks, error, endless, False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self.chunks:
            await asyncio.sleep(0)
            yield chunk
        if self.error is not None:
            raise self.error
        if self.endless:
            await asyncio.sleep(3_600)

    async def aclose(self) -> None:
        self.closed = True

    def transport(self) -> httpx2.MockTransport:
        head = {"content-type": "text/event-stream"}
        return httpx2.MockTransport(lambda _: httpx2.Response(200, headers=head, stream=self))


def openai(http: httpx2.AsyncClient) -> AsyncOpenAI:
    return AsyncOpenAI(api_key="sk-x", base_url="http://m.example/v1", http_client=http, max_retries=0)


async def streamed(http: httpx2.AsyncClient) -> list[str]:
    with on_channel("model", "r01"):
        stream = await openai(http).chat.completions.create(
            model="m", messages=[{"role": "user", "content": "制度は？"}], stream=True
        )
        return [chunk.choices[0].delta.content or "" async for chunk in stream]


@pytest.mark.parametrize("endless", [False, True])
def test_a_stream_reaches_the_caller_as_it_comes_and_the_tape_as_a_whole(tmp_path: Path, endless: bool) -> None:
    events = Events(EVENTS, endless=endless)
    recorded = within(tmp_path, Modes.record(), events.transport(), streamed)
    assert recorded == ["東京都の", "制度data: [DONE]"]
    assert events.closed
    assert within(tmp_path, Modes.sealed(), None, streamed) == recorded
    data = (tmp_path / "q1.r0.yaml").read_bytes()
    assert (data.count(b"- request: "), b"broken" in data) == (1, False)


def test_a_broken_stream_breaks_again_at_the_same_byte(tmp_path: Path) -> None:
    async def read(http: httpx2.AsyncClient) -> tuple[bytes, str]:
        body = b""
        try:
            with on_channel("model", "r01"):
                async with http.stream(
                    "POST", "http://m.example/v1/chat/completions", json={"messages": []}
                ) as response:
                    async for chunk in response.aiter_bytes():
                        body += chunk
        except httpx2.ReadError as error:
            return body, str(error)
        return body, "no error"

    broken = Events(EVENTS[:2], httpx2.ReadError("the connection was lost 切断"))
    recorded = within(tmp_path, Modes.record(), broken.transport(), read)
    assert recorded == (b"".join(EVENTS[:2]), "the connection was lost 切断")
    assert within(tmp_path, Modes.sealed(), None, read) == recorded
    line = (tmp_path / "q1.r0.yaml").read_text().splitlines()[-1]
    assert '"x-pincite-broken":["ReadError: the connection was lost 切断"]' in line


def test_a_stream_that_the_caller_leaves_is_marked(tmp_path: Path) -> None:
    async def leave(http: httpx2.AsyncClient) -> bytes:
        with on_channel("model", "r01"):
            async with http.stream("POST", "http://m.example/v1/chat/completions", json={"messages": []}) as response:
                async for chunk in response.aiter_bytes():
                    return chunk
        return b""

    assert within(tmp_path, Modes.record(), Events(EVENTS, endless=True).transport(), leave) == EVENTS[0]
    assert "StreamLeft" in (tmp_path / "q1.r0.yaml").read_text()
    assert within(tmp_path, Modes.sealed(), None, leave) == EVENTS[0]


def test_a_request_in_parts_is_played_to_one_sent_whole_by_the_sdk(tmp_path: Path) -> None:
    def answer(_: httpx2.Request) -> httpx2.Response:
        reply = {"id": "x", "choices": [{"index": 0, "message": {"role": "assistant", "content": "答え"}}]}
        return httpx2.Response(200, json=reply)

    messages = (
        '{"role":"system","content":"資料を調べて答える。"}'.encode(),
        ('{"role":"user","content":"' + "質問\u2028" * 200 + '"}').encode(),
        b'{"$blob":"looks like a reference"}',
    )
    head = b'{"model":"m","messages":['

    async def in_parts(http: httpx2.AsyncClient) -> str:
        body = head + b",".join(messages) + b"]}"
        with on_channel("model", "r01"), outgoing(head, messages):
            response = await openai(http).post("/chat/completions", cast_to=httpx2.Response, content=body)
        return str(response.json()["choices"][0]["message"]["content"])

    async def whole(http: httpx2.AsyncClient) -> str:
        sent = [json.loads(message) for message in messages]
        with on_channel("model", "r01"):
            completion = await openai(http).chat.completions.create(model="m", messages=sent)
        return str(completion.choices[0].message.content)

    assert within(tmp_path, Modes.record(), httpx2.MockTransport(answer), in_parts) == "答え"
    assert within(tmp_path, Modes.sealed(), None, whole) == "答え"
    with TapeSet(tmp_path, Modes.sealed()) as tapes, tapes.session("q1.r0") as tape:
        (entry,) = tape.recording.playlist.entries
        assert tape.recording.request(entry).body == head + b",".join(messages) + b"]}"


def test_sixty_four_sessions_at_once_stay_apart(tmp_path: Path) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        said = json.loads(request.content)["messages"][0]["content"] if request.content else request.url.params["q"]
        reply = {"id": "x", "choices": [{"index": 0, "message": {"role": "assistant", "content": said}}]}
        return httpx2.Response(200, json=reply)

    class Jittery(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            for _ in range(hash(request.url) % 5):
                await asyncio.sleep(0)
            return answer(request)

    async def searched(http: httpx2.AsyncClient, name: str, place: str) -> str:
        with on_channel("search", place):
            response = await http.get("https://s.example/search", params={"q": name})
        return str(response.json()["choices"][0]["message"]["content"])

    async def one(tapes: TapeSet, http: httpx2.AsyncClient, name: str) -> bool:
        with tapes.session(name) as tape, taping(tape):
            said: list[str | None] = []
            for i in range(4):
                with on_channel("model", f"r{i:02}"):
                    asked = await openai(http).chat.completions.create(
                        model="m", messages=[{"role": "user", "content": f"{name} {i}"}]
                    )
                said.append(asked.choices[0].message.content)
                async with asyncio.TaskGroup() as group:
                    tasks = [group.create_task(searched(http, f"{name} {i}", f"r{i:02}.c{k}")) for k in range(3)]
                nested = await asyncio.gather(
                    asyncio.gather(*(searched(http, f"{name} {i}", f"r{i:02}.c{k}") for k in range(3, 6))),
                    asyncio.create_task(searched(http, f"{name} {i}", f"r{i:02}.c6")),
                )
                said += [*(task.result() for task in tasks), *nested[0], nested[1]]
            return said == [f"{name} {i}" for i in range(4) for _ in range(8)]

    async def all_sessions(modes: Modes, live: httpx2.AsyncBaseTransport | None) -> list[bool]:
        async with TapeSet(tmp_path, modes) as tapes, client(live) as http:
            return await asyncio.gather(*(one(tapes, http, f"問{n}.r0") for n in range(64)))

    assert asyncio.run(all_sessions(Modes.record(), Jittery())) == [True] * 64
    with TapeSet(tmp_path, Modes.sealed()) as tapes:
        for n in range(64):
            with tapes.session(f"問{n}.r0") as tape:
                recording = tape.recording
                requests = [recording.request(entry) for entry in recording.playlist.entries]
                assert len(requests) == 4 * 8
                for request in requests:
                    said = request.body.decode() if request.body else httpx2.URL(request.url).params["q"]
                    assert f"問{n}.r0 " in said
    assert asyncio.run(all_sessions(Modes.sealed(), None)) == [True] * 64


def test_what_a_thread_asks_for_belongs_to_its_session(tmp_path: Path) -> None:
    async def scene(http: httpx2.AsyncClient) -> list[bytes]:
        def in_thread() -> bytes:
            return asyncio.run(in_loop())

        async def in_loop() -> bytes:
            return (await get(http)).content

        return [await asyncio.to_thread(in_thread), await in_loop()]

    answer = httpx2.MockTransport(lambda _: httpx2.Response(200, content=JAPANESE))
    assert within(tmp_path, Modes.record(), answer, scene) == [JAPANESE, JAPANESE]
    assert within(tmp_path, Modes.sealed(), None, scene) == [JAPANESE, JAPANESE]


def test_no_key_of_the_sdk_reaches_the_tape(tmp_path: Path) -> None:
    key = "sk-x-123456"

    async def scene() -> None:
        refusal = {"error": {"message": f"bad key {key}"}}
        http = client(httpx2.MockTransport(lambda _: httpx2.Response(401, json=refusal)))
        sdk = AsyncOpenAI(api_key=key, base_url="http://m.example/v1", http_client=http, max_retries=0)
        async with TapeSet(tmp_path, Modes.record(), redactor=Redactor([key])) as tapes, http:
            with tapes.session("q1.r0") as tape, taping(tape), on_channel("model"):
                call = sdk.chat.completions.create(model="m", messages=[{"role": "user", "content": "質問"}])
                with pytest.raises(AuthenticationError, match=key):
                    await call

    asyncio.run(scene())
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 1
    assert (key.encode() in files[0].read_bytes(), b"bad key ***" in files[0].read_bytes()) == (False, True)
