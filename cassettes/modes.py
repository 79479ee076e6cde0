"""Where the answers of a run come from, channel by channel.

Knows: the table of modes. Must not know: how a rule is carried out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Self

from cassettes.exchange import Channel

Rule = Literal["live", "tape", "tape_then_live", "pool", "lenient", "compare"]
"""`live`: asked, and recorded. `tape`: recorded answers only. `tape_then_live`: recorded, then live and appended.
`pool`: the session's own tape, then any session of the given sets by identity, then as `on_pool_miss` says; on the judge's
channel a miss always goes live.
`lenient`: exact; else same messages; else same position. `compare`: asked, and compared with what is recorded.
"""

PoolMiss = Literal["error", "empty", "live"]
ModeName = Literal["record", "resume", "sealed", "rejudge", "lenient", "web_replay", "fork", "refresh"]


@dataclass(frozen=True, slots=True)
class Modes:
    """A rule per channel. `fork_round`: the model answers from the tape up to this round (from 1), then live."""

    name: ModeName
    model: Rule
    judge: Rule
    search: Rule
    page: Rule
    fork_round: int | None = None
    on_pool_miss: PoolMiss = "error"

    def rule(self, channel: Channel) -> Rule:
        """The rule of one channel."""
        match channel:
            case "model":
                return self.model
            case "judge":
                return self.judge
            case "search":
                return self.search
            case "page":
                return self.page

    @property
    def writes(self) -> bool:
        """True if a session may be appended to."""
        return not all(self.rule(channel) in ("tape", "lenient") for channel in _ALL)

    def with_verdicts(self) -> Self:
        """The same, but what judges said in other runs is played before this run's judge is asked."""
        return replace(self, judge="pool")

    @property
    def needs_source(self) -> bool:
        """True if the mode plays another set than the one that it writes."""
        return self.name in ("rejudge", "fork")

    @property
    def checks_config(self) -> bool:
        """True if the own tape must have been recorded under the same configuration."""
        return self.name not in ("rejudge", "lenient", "refresh")

    @classmethod
    def record(cls) -> Self:
        """Everything live; a session that is on the tape already is refused."""
        return cls("record", "live", "live", "live", "live")

    @classmethod
    def resume(cls) -> Self:
        """Each session plays what it has and goes on live: how every run records and continues."""
        return cls("resume", "tape_then_live", "tape_then_live", "tape_then_live", "tape_then_live")

    @classmethod
    def sealed(cls) -> Self:
        """Nothing but the tape."""
        return cls("sealed", "tape", "tape", "tape", "tape")

    @classmethod
    def rejudge(cls) -> Self:
        """The agent's side from the tape, the judge live."""
        return cls("rejudge", "tape", "tape_then_live", "tape", "tape")

    @classmethod
    def lenient(cls) -> Self:
        """The tape, also for requests that are not quite the recorded ones; each such step is counted."""
        return cls("lenient", "lenient", "lenient", "lenient", "lenient")

    @classmethod
    def web_replay(cls, on_miss: PoolMiss = "error") -> Self:
        """A live model on the recorded web."""
        return cls("web_replay", "tape_then_live", "tape_then_live", "pool", "pool", None, on_miss)

    @classmethod
    def fork(cls, after_round: int, on_miss: PoolMiss = "live") -> Self:
        """The recorded session up to and with `after_round`, then a live model on the recorded web."""
        return cls("fork", "tape_then_live", "tape_then_live", "pool", "pool", after_round, on_miss)

    @classmethod
    def refresh(cls) -> Self:
        """Everything live and compared with the tape."""
        return cls("refresh", "compare", "compare", "compare", "compare")


_ALL: tuple[Channel, ...] = ("model", "judge", "search", "page")
