"""How fast we may ask: token buckets, one per search engine and one per web host.

Knows: rates, waiting in line, and windows in which a server asked to be left alone. Must not know: HTTP, or who is
asking. The clock and the sleep are passed in. One bucket is shared by all sessions of a run; nothing here runs during
a replay, because a replay asks nobody.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]

MAX_KEYS = 4_096


@dataclass(slots=True)
class TokenBucket:
    """At most `burst` calls at once and `rate_per_s` calls a second in the long run, first come, first served.

    Times are seconds on the scale of `clock`, which must never go backwards.
    """

    rate_per_s: float
    burst: int = 1
    clock: Clock = time.monotonic
    sleep: Sleep = asyncio.sleep
    _tokens: float = field(init=False)
    _filled_at_s: float = field(init=False)
    _penalty_until_s: float = field(init=False, default=float("-inf"))
    _line: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        if self.rate_per_s <= 0 or self.burst < 1:
            raise ValueError("a bucket needs a rate above 0 and room for one call at least")
        self._tokens = float(self.burst)
        self._filled_at_s = self.clock()

    async def acquire(self) -> None:
        """Return when the caller may go. Who called first goes first; a cancelled caller leaves the line."""
        async with self._line:  # an asyncio lock hands on in the order of arrival
            while (wait_s := self._wait_s()) > 0:
                await self.sleep(wait_s)
            self._tokens -= 1

    def penalise(self, until_s: float) -> None:
        """Let nobody go before `until_s` (a 429 window), and let the calls after it go one by one, not in a burst."""
        if until_s > max(self._penalty_until_s, self.clock()):
            self._penalty_until_s = until_s

    def is_idle(self) -> bool:
        """True if forgetting this bucket would change nothing: it is full, nobody waits and no penalty runs."""
        return not self._line.locked() and self._wait_s() <= 0 and self._tokens >= self.burst

    def _wait_s(self) -> float:
        now_s = self.clock()
        if now_s < self._penalty_until_s:
            self._tokens, self._filled_at_s = 1.0, self._penalty_until_s
            return self._penalty_until_s - now_s
        if now_s > self._filled_at_s:
            self._tokens = min(self.burst, self._tokens + (now_s - self._filled_at_s) * self.rate_per_s)
            self._filled_at_s = now_s
        # A float sum of tokens may stop a hair below one; waiting for that hair could take forever on a coarse clock.
        return 0.0 if self._tokens >= 1 - 1e-9 else (1 - self._tokens) / self.rate_per_s


@dataclass(slots=True)
class Pace:
    """One bucket a key (a host, an engine), all with the same rate."""

    rate_per_s: float
    burst: int = 1
    clock: Clock = time.monotonic
    sleep: Sleep = asyncio.sleep
    _buckets: dict[str, TokenBucket] = field(init=False, default_factory=dict[str, TokenBucket])

    async def acquire(self, key: str) -> None:
        """Return when the caller may ask `key`."""
        await self._bucket(key).acquire()

    def penalise(self, key: str, until_s: float) -> None:
        """Let nobody ask `key` before `until_s` on the scale of the clock."""
        self._bucket(key).penalise(until_s)

    def __len__(self) -> int:
        """How many keys are remembered; idle ones are forgotten when there are many."""
        return len(self._buckets)

    def _bucket(self, key: str) -> TokenBucket:
        bucket = self._buckets.get(key)
        if bucket is None:
            if len(self._buckets) >= MAX_KEYS:
                self._buckets = {name: kept for name, kept in self._buckets.items() if not kept.is_idle()}
            bucket = self._buckets[key] = TokenBucket(self.rate_per_s, self.burst, self.clock, self.sleep)
        return bucket
