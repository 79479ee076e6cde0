"""What a session's tape did, by channel.

Knows: counts. Must not know: how they came about.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from cassettes.blobs import Torn
from cassettes.exchange import Channel

DriftKind = Literal["same", "changed", "gone", "moved", "new"]


@dataclass(slots=True)
class ChannelReport:
    """Counts of exchanges. Every answered request is in exactly one of `played`, `pool_hits`, `pool_empty`, `live`."""

    played: int = 0
    """Answered by the session's own recording (or by that of the session it was forked from)."""
    forked: int = 0
    """Of `played`: the rounds that a fork takes from its source, also where a resumed fork has copied them already."""
    same_messages: int = 0
    """Of `played`: only the messages were the same."""
    same_position: int = 0
    """Of `played`: only the position was the same."""
    pool_hits: int = 0
    """Answered by another session's recording."""
    pool_misses: int = 0
    """Not in the pool, whatever was done then (on the judge's channel: asked live)."""
    pool_empty: int = 0
    """Of `pool_misses`: answered with an empty result."""
    live: int = 0
    """Asked outside."""
    appended: int = 0
    """Written to the tape now."""
    misses: int = 0
    """Ended in TapeMiss."""
    unplayed: int = 0
    """On the tape and not asked for."""

    @property
    def lenient(self) -> int:
        """How many answers belong to a request that was not quite this one."""
        return self.same_messages + self.same_position


@dataclass(frozen=True, slots=True)
class Drift:
    """How a live answer differs from the recorded one; `new` = the tape has none."""

    channel: Channel
    url: str
    kind: DriftKind
    detail: str = ""


@dataclass(frozen=True, slots=True)
class SessionReport:
    """The counts of one session. `torn` = what its journal lost at its end; `dropped` = failed exchanges made again."""

    session: str
    channels: Mapping[Channel, ChannelReport]
    torn: Torn | None = None
    dropped: int = 0
    drifts: tuple[Drift, ...] = ()

    def total(self, name: str) -> int:
        """The sum of one count over all channels."""
        return sum(int(getattr(report, name)) for report in self.channels.values())
