from __future__ import annotations

import asyncio

import pytest

from tools.pace import Pace, TokenBucket


class Time:
    """A clock that only moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def clock(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        until_s = self.now_s + seconds
        await asyncio.sleep(0)
        self.now_s = max(self.now_s, until_s)


def test_calls_are_spaced_and_served_in_the_order_of_arrival() -> None:
    async def scene() -> list[str]:
        time = Time()
        bucket = TokenBucket(0.5, clock=time.clock, sleep=time.sleep)
        served: list[str] = []

        async def ask(name: str) -> None:
            await bucket.acquire()
            served.append(f"{name} at {time.now_s:.1f}")

        await asyncio.gather(*(ask(name) for name in "いろは"))
        return served

    assert asyncio.run(scene()) == ["い at 100.0", "ろ at 102.0", "は at 104.0"]


def test_a_burst_goes_at_once_and_then_the_rate_holds() -> None:
    async def scene() -> list[float]:
        time = Time()
        bucket = TokenBucket(2.0, burst=3, clock=time.clock, sleep=time.sleep)
        times: list[float] = []
        for _ in range(5):
            await bucket.acquire()
            times.append(round(time.now_s, 3))
        return times

    assert asyncio.run(scene()) == [100.0, 100.0, 100.0, 100.5, 101.0]


def test_a_penalty_stops_everybody_and_is_not_followed_by_a_burst() -> None:
    async def scene() -> list[float]:
        time = Time()
        bucket = TokenBucket(1.0, burst=5, clock=time.clock, sleep=time.sleep)
        times: list[float] = []

        async def ask() -> None:
            await bucket.acquire()
            times.append(round(time.now_s, 3))

        bucket.penalise(130.0)
        bucket.penalise(110.0)  # a shorter window does not lift a longer one
        await asyncio.gather(*(ask() for _ in range(3)))
        return times

    assert asyncio.run(scene()) == [130.0, 131.0, 132.0]


def test_a_penalty_that_comes_while_somebody_waits_holds_for_them_too() -> None:
    async def scene() -> float:
        time = Time()
        bucket = TokenBucket(1.0, clock=time.clock, sleep=time.sleep)
        await bucket.acquire()
        waiting = asyncio.ensure_future(bucket.acquire())
        await asyncio.sleep(0)
        bucket.penalise(150.0)
        await waiting
        return time.now_s

    assert asyncio.run(scene()) == 150.0


def test_a_cancelled_caller_takes_no_token() -> None:
    async def scene() -> float:
        time = Time()
        bucket = TokenBucket(1.0, clock=time.clock, sleep=time.sleep)
        await bucket.acquire()
        given_up = asyncio.ensure_future(bucket.acquire())
        await asyncio.sleep(0)
        given_up.cancel()
        await asyncio.gather(given_up, return_exceptions=True)
        await bucket.acquire()
        return time.now_s

    assert asyncio.run(scene()) == 101.0


def test_hosts_do_not_wait_for_each_other() -> None:
    async def scene() -> list[str]:
        time = Time()
        pace = Pace(1.0, clock=time.clock, sleep=time.sleep)
        served: list[str] = []
        for host in ("a.example.jp", "b.example.jp", "a.example.jp"):
            await pace.acquire(host)
            served.append(f"{host} at {time.now_s:.0f}")
        pace.penalise("b.example.jp", 160.0)
        await pace.acquire("b.example.jp")
        served.append(f"b.example.jp at {time.now_s:.0f}")
        return served

    assert asyncio.run(scene()) == [
        "a.example.jp at 100",
        "b.example.jp at 100",
        "a.example.jp at 101",
        "b.example.jp at 160",
    ]


def test_idle_hosts_are_forgotten_and_busy_ones_kept() -> None:
    async def scene() -> tuple[int, float]:
        time = Time()
        pace = Pace(1.0, clock=time.clock, sleep=time.sleep)
        pace.penalise("busy.example.jp", 500.0)
        for i in range(4_095):
            await pace.acquire(f"h{i}.example.jp")
        time.now_s += 10
        await pace.acquire("new.example.jp")
        n_kept = len(pace)
        await pace.acquire("busy.example.jp")
        return n_kept, time.now_s

    assert asyncio.run(scene()) == (2, 500.0)


@pytest.mark.parametrize(("rate_per_s", "burst"), [(0.0, 1), (-1.0, 1), (1.0, 0)])
def test_a_bucket_without_rate_or_room_is_refused(rate_per_s: float, burst: int) -> None:
    with pytest.raises(ValueError, match="bucket"):
        TokenBucket(rate_per_s, burst)
