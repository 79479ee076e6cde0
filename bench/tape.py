"""The tape beside plain vcrpy, in one run: recording, opening, replay, disk; prints one JSON line.

    uv run python bench/tape.py [--sessions 200] [--rounds 13] [--vcrpy-sessions 5] [--vcrpy-requests 100] [--profile]

Each session is a made-up research session in Japanese: per round a chat request with the whole conversation, a search and
a page; then a judge call. Pages and search results are made of words of the bundled sample's documents, no two alike;
`packed` says how well they compress (real Japanese pages: 0.15 to 0.30 at the same level). Both sides answer from the
same in-process transport when they record. Making the data is not timed. What is timed of the tape: its transport alone,
with opening the set and the sessions; every answer of a second, untimed replay is compared with what was recorded.
vcrpy (default matching) is measured twice. One cassette per session, one session at a time, on `vcrpy_sessions`: its time
includes opening the cassettes, as does ours; it cannot play several such sessions at once. And one cassette for all
interactions, which it can play at once, on `vcrpy_one_cassette_played` requests; loading that cassette is not counted.
Both are given per interaction.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import hashlib
import itertools
import json
import pstats
import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import vcr
from backports import zstd

from cassettes.context import on_channel, outgoing, taping
from cassettes.exchange import Channel
from cassettes.modes import Modes
from cassettes.redact import Redactor
from cassettes.tape import TapeSet
from cassettes.transport import TapeTransport

DOCUMENTS = Path(__file__).parents[1] / "sandbox" / "benchmarks" / "sample" / "docs"
BATCH = 20
MODEL = "http://model.example/v1/chat/completions"
SECRETS = ("sk-bench-0123456789abcdef", "BSA-bench-0123456789")


@dataclass(frozen=True)
class Call:
    channel: Channel
    place: str
    url: str
    answer: bytes
    answer_type: str
    head: bytes = b""
    messages: tuple[bytes, ...] = ()

    @property
    def body(self) -> bytes:
        return self.head + b",".join(self.messages) + b"]}" if self.head else b""

    def request(self) -> httpx2.Request:
        if not self.head:
            return httpx2.Request("GET", self.url, headers={"accept": "*/*"})
        return httpx2.Request("POST", self.url, content=self.body, headers={"content-type": "application/json"})


@dataclass
class Clock:
    wall_s: float = 0.0
    cpu_s: float = 0.0

    def __enter__(self) -> None:
        self.start = (time.perf_counter(), time.process_time())

    def __exit__(self, *error: object) -> None:
        self.wall_s += time.perf_counter() - self.start[0]
        self.cpu_s += time.process_time() - self.start[1]


class Maker:
    """Sessions by number, the same ones each time."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds
        text = "".join(path.read_text(encoding="utf-8", errors="ignore") for path in sorted(DOCUMENTS.glob("*.html")))
        words = sorted(set(re.findall(r"[一-龥]{1,4}|[ァ-ヴー]{2,8}|[ぁ-ん]{1,4}", re.sub(r"<[^>]*>", "", text))))
        random.Random(7).shuffle(words)
        self.words = words
        self.weights = list(itertools.accumulate(1 / (i + 3) for i in range(len(words))))

    def session(self, number: int) -> list[Call]:
        dice = random.Random(number)
        tools = [{"type": "function", "function": {"name": n, "description": self.text(dice, 120)}} for n in "abc"]
        head = json.dumps({"model": "m", "temperature": 0.6, "tools": tools}, ensure_ascii=False).encode()[:-1]
        messages = [
            message(role="system", content=self.text(dice, 500)),
            message(role="user", content=self.text(dice, 60)),
        ]
        calls: list[Call] = []
        for i in range(self.rounds):
            ids = [f"call_{number}_{i}_{k}" for k in range(2)]
            wanted = [
                {"id": x, "type": "function", "function": {"name": n, "arguments": self.text(dice, 12)}}
                for x, n in zip(ids, ("search", "fetch"), strict=True)
            ]
            said = {
                "role": "assistant",
                "content": None,
                "reasoning_content": self.text(dice, 700),
                "tool_calls": wanted,
            }
            answer = json.dumps({"choices": [{"message": said}], "usage": {"prompt_tokens": 9}}, ensure_ascii=False)
            frame = head + b',"messages":['
            calls.append(Call("model", f"r{i:02}", MODEL, answer.encode(), "application/json", frame, tuple(messages)))
            hits = [self.hit(dice, f"https://h{k}.example/{number}/{i}") for k in range(20)]
            found = json.dumps({"web": {"results": hits}}, ensure_ascii=False).encode()
            query = f"https://search.example/res/v1/web/search?q={number}+{i}&count=20"
            calls.append(Call("search", f"r{i:02}.c1", query, found, "application/json"))
            page = self.page(dice)
            calls.append(Call("page", f"r{i:02}.c2", f"https://h0.example/{number}/{i}", page, "text/html"))
            messages.append(json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode())
            messages.append(message(role="tool", tool_call_id=ids[0], content=self.text(dice, 900)))
            messages.append(message(role="tool", tool_call_id=ids[1], content=self.text(dice, 1_800)))
        judged = (message(role="user", content=self.text(dice, 1_500)),)
        verdict = json.dumps({"choices": [{"message": {"content": self.text(dice, 80)}}]}, ensure_ascii=False).encode()
        calls.append(Call("judge", "u01", MODEL, verdict, "application/json", b'{"model":"j","messages":[', judged))
        return calls

    def hit(self, dice: random.Random, url: str) -> dict[str, str]:
        return {"title": self.text(dice, 12), "description": self.text(dice, 90), "url": url}

    def text(self, dice: random.Random, n_words: int) -> str:
        return "".join(dice.choices(self.words, cum_weights=self.weights, k=n_words))

    def page(self, dice: random.Random) -> bytes:
        parts = ["<!DOCTYPE html><html lang=ja><head><title>", self.text(dice, 9), "</title></head><body>"]
        for _ in range(dice.randrange(30, 150)):
            parts += ['<div class="section content-block"><p class="text">', self.text(dice, 120), "</p>"]
            parts += [f'<a href="/sub/{dice.randrange(10**6)}.html">', self.text(dice, 4), "</a></div>\n"]
        return "".join(parts).encode()


def message(**fields: str) -> bytes:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()


class Source(httpx2.AsyncBaseTransport):
    """The outside: answers the calls of a batch by URL and body."""

    def __init__(self, sessions: list[list[Call]]) -> None:
        self.answers = {(call.url, call.body[-300:]): call for calls in sessions for call in calls}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        call = self.answers[str(request.url), request.content[-300:]]
        return httpx2.Response(200, headers={"content-type": call.answer_type}, content=call.answer)


async def play(transport: httpx2.AsyncBaseTransport, calls: list[Call], requests: list[httpx2.Request]) -> list[bytes]:
    bodies: list[bytes] = []
    for call, request in zip(calls, requests, strict=True):
        if call.head:
            with on_channel(call.channel, call.place), outgoing(call.head, call.messages):
                response = await transport.handle_async_request(request)
        else:
            with on_channel(call.channel, call.place):
                response = await transport.handle_async_request(request)
        bodies.append(response.content)
    return bodies


async def session(
    tapes: TapeSet | None,
    transport: httpx2.AsyncBaseTransport,
    name: str,
    calls: list[Call],
    requests: list[httpx2.Request],
) -> list[bytes]:
    if tapes is None:
        return await play(transport, calls, requests)
    with tapes.session(name) as tape, taping(tape):
        return await play(transport, calls, requests)


def batch(
    tapes: TapeSet | None, transport: httpx2.AsyncBaseTransport, first: int, sessions: list[list[Call]], clock: Clock
) -> list[list[bytes]]:
    requests = [[call.request() for call in calls] for calls in sessions]

    async def all_sessions() -> list[list[bytes]]:
        with clock:
            return await asyncio.gather(
                *(
                    session(tapes, transport, f"q{first + i:04}.r0", calls, requests[i])
                    for i, calls in enumerate(sessions)
                )
            )

    return asyncio.run(all_sessions())


def batches(maker: Maker, n_sessions: int) -> Iterator[tuple[int, list[list[Call]]]]:
    for first in range(0, n_sessions, BATCH):
        yield first, [maker.session(number) for number in range(first, min(first + BATCH, n_sessions))]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=13)
    parser.add_argument("--vcrpy-sessions", type=int, default=5)
    parser.add_argument("--vcrpy-requests", type=int, default=100)
    parser.add_argument("--profile", action="store_true", help="print the 40 costliest functions of replay to stderr")
    options = parser.parse_args()
    maker = Maker(options.rounds)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures = record(maker, options.sessions, folder / "tape")
        figures |= replay(maker, options.sessions, folder / "tape", profile=options.profile)
        figures |= plain_vcrpy(maker, options.vcrpy_sessions, folder / "vcrpy")
        figures |= one_cassette(int(figures["interactions"]), options.vcrpy_requests, folder / "one")
    figures["times_vcrpy"] = round(figures["replay_per_cpu_s"] / figures["vcrpy_replay_per_cpu_s"], 1)
    figures["times_vcrpy_one_cassette"] = round(
        figures["replay_per_cpu_s"] / figures["vcrpy_one_cassette_per_cpu_s"], 1
    )
    print(json.dumps({"sessions": options.sessions, **figures}))


def record(maker: Maker, n_sessions: int, folder: Path) -> dict[str, float]:
    bare, taped = Clock(), Clock()
    n_calls = raw = answers = packed = 0
    with TapeSet(folder, Modes.record(), redactor=Redactor(SECRETS)) as tapes:
        for first, sessions in batches(maker, n_sessions):
            calls = [call for session in sessions for call in session]
            n_calls += len(calls)
            raw += sum(len(call.body) + len(call.answer) + len(call.url) for call in calls)
            pages = [call.answer for call in calls[:9] if call.channel == "page"]
            answers += sum(map(len, pages))
            packed += sum(len(zstd.compress(page, 3)) for page in pages)
            source = Source(sessions)
            batch(None, source, first, sessions, bare)
            batch(tapes, TapeTransport(source), first, sessions, taped)
    disk = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return {
        "interactions": n_calls, "raw_mb": round(raw / 1e6, 1), "packed": round(packed / answers, 3),
        "disk_mb": round(disk / 1e6, 1), "disk_share": round(disk / raw, 4),
        "record_added_cpu_ms": round(1000 * (taped.cpu_s - bare.cpu_s) / n_calls, 3),
        "record_per_s": round(n_calls / taped.wall_s),
    }  # fmt: skip


def replay(maker: Maker, n_sessions: int, folder: Path, *, profile: bool) -> dict[str, float]:
    clock, opening = Clock(), Clock()
    profiler = cProfile.Profile()
    n_calls = wrong = 0
    with opening:
        tapes = TapeSet(folder, Modes.sealed(), redactor=Redactor(SECRETS))
    transport = TapeTransport(None)
    open_s: list[float] = []
    for first, sessions in batches(maker, n_sessions):
        for i in range(len(sessions)):
            start = time.perf_counter()
            tapes.session(f"q{first + i:04}.r0").close()
            open_s.append(time.perf_counter() - start)
        if profile:
            profiler.enable()
        played = batch(tapes, transport, first, sessions, clock)
        profiler.disable()
        for calls, bodies in zip(sessions, played, strict=True):
            n_calls += len(calls)
            wrong += sum(sha(body) != sha(call.answer) for call, body in zip(calls, bodies, strict=True))
    tapes.close()
    if profile:
        pstats.Stats(profiler, stream=sys.stderr).sort_stats("tottime").print_stats(40)
    wall, cpu = clock.wall_s + opening.wall_s, clock.cpu_s + opening.cpu_s
    return {
        "open_set_ms": round(opening.wall_s * 1000, 1), "open_session_ms": round(1000 * statistics.median(open_s), 3),
        "open_session_max_ms": round(1000 * max(open_s), 3),
        "replay_s": round(wall, 2), "replay_per_s": round(n_calls / wall), "replay_per_cpu_s": round(n_calls / cpu),
        "wrong": wrong,
    }  # fmt: skip


def sha(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()


def plain_vcrpy(maker: Maker, n_sessions: int, folder: Path) -> dict[str, float]:
    """One cassette per session, one session at a time: vcrpy at its best, and no way to run sessions at once."""
    recording, playing = Clock(), Clock()
    n_calls = raw = wrong = 0
    for number in range(n_sessions):
        calls = maker.session(number)
        n_calls += len(calls)
        raw += sum(len(call.body) + len(call.answer) + len(call.url) for call in calls)
        path = folder / f"{number}.yaml"
        through_vcrpy(calls, path, "once", recording)
        bodies = through_vcrpy(calls, path, "none", playing)
        wrong += sum(body != call.answer for call, body in zip(calls, bodies, strict=True))
    disk = sum(path.stat().st_size for path in folder.iterdir())
    return {
        "vcrpy_sessions": n_sessions, "vcrpy_disk_share": round(disk / raw, 3), "vcrpy_wrong": wrong,
        "vcrpy_record_cpu_ms": round(1000 * recording.cpu_s / n_calls, 2),
        "vcrpy_replay_per_s": round(n_calls / playing.wall_s, 1),
        "vcrpy_replay_per_cpu_s": round(n_calls / playing.cpu_s, 1),
    }  # fmt: skip


def one_cassette(n_calls: int, n_played: int, folder: Path) -> dict[str, float]:
    """All sessions in one cassette: the only way in which vcrpy plays sessions that run at once. Bodies of 100 bytes, in
    its favour; `n_played` requests spread over the cassette.
    """
    loading, playing = Clock(), Clock()
    calls = [
        Call("page", "", f"https://h{i % 20}.example/{i}", f"{i:0100}".encode(), "text/html") for i in range(n_calls)
    ]
    path = folder / "all.yaml"
    folder.mkdir()
    path.write_text(
        "interactions:\n"
        + "".join(
            f"- request: {{body: '', headers: {{}}, method: GET, uri: '{call.url}'}}\n"
            f"  response: {{body: {{string: '{call.answer.decode()}'}}, headers: {{}}, "
            "status: {code: 200, message: OK}}\n"
            for call in calls
        )
        + "version: 1\n"
    )
    through_vcrpy([], path, "none", loading)
    played = calls[:: max(n_calls // n_played, 1)]
    bodies = through_vcrpy(played, path, "none", playing)
    assert bodies == [call.answer for call in played]
    return {
        "vcrpy_one_cassette_interactions": n_calls, "vcrpy_one_cassette_played": len(played),
        "vcrpy_one_cassette_per_s": round(len(played) / (playing.wall_s - loading.wall_s), 1),
        "vcrpy_one_cassette_per_cpu_s": round(len(played) / (playing.cpu_s - loading.cpu_s), 1),
    }  # fmt: skip


def through_vcrpy(calls: list[Call], path: Path, mode: str, clock: Clock) -> list[bytes]:
    source = Source([calls])
    requests = [call.request() for call in calls]

    async def go() -> list[bytes]:
        async with httpx2.AsyncClient(transport=httpx2.MockTransport(source.handle_async_request)) as client:
            with clock, vcr.VCR(record_mode=mode).use_cassette(str(path)):
                return [(await client.send(request)).content for request in requests]

    return asyncio.run(go())


if __name__ == "__main__":
    main()
