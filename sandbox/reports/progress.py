"""How far a run is: a live display on a terminal, a plain line now and then anywhere else.

Knows: finished records as they come. Must not know: how they are made. Everything goes to stderr; stdout belongs to
results.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TextIO, get_args

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.text import Text

from sandbox.record import Outcome, Record, Usage
from tools.pace import Clock, Sleep

LINE_EVERY_S = 30.0
REDRAWS_PER_S = 2
LONG_WAIT_S = 5.0
"""Shorter waits are the ordinary pace of a search engine, or a first retry."""
BAR_CELLS = 40


@dataclass(slots=True)
class State:
    """What the displays show. Times are those of `Clock`, in seconds; `usage` is that of who is asked live."""

    started_at: float
    total: int = 0
    done_before: int = 0
    under_way: int = 0
    finished: int = 0
    outcomes: Counter[Outcome] = field(default_factory=Counter[Outcome])
    usage: Usage = field(default_factory=Usage)
    is_judging: bool = False
    waits: list[float] = field(default_factory=list[float])
    """When the waits that are under way end."""

    @property
    def done(self) -> int:
        """Finished sessions, those of earlier starts included."""
        return self.done_before + self.finished

    def take(self, record: Record) -> None:
        """Count a finished session."""
        self.finished += 1
        self.under_way = max(0, self.under_way - 1)
        self.outcomes[record.outcome] += 1
        self.usage += record.judge_usage if self.is_judging else record.model_usage

    def lines(self, now: float) -> tuple[str, ...]:
        """What there is to say: how far and how long; outcomes, rate and tokens (of this start, and how many sessions were
        finished before it); who waits for a server.
        """
        elapsed = max(now - self.started_at, 1e-9)
        share = f"{100 * self.done / self.total:.0f} %" if self.total else "0 %"
        times = f"{duration(elapsed)} gone"
        if self.finished and self.done < self.total:
            times += f", about {duration((self.total - self.done) * elapsed / self.finished)} left"
        known: tuple[Outcome, ...] = get_args(Outcome)
        outcomes = [f"finished before {self.done_before}"] if self.done_before else []
        outcomes += [f"{name.replace('_', ' ')} {self.outcomes[name]}" for name in known if self.outcomes[name]]
        rate = f"{60 * self.finished / elapsed:.1f} questions/min" if self.finished else "no question finished yet"
        tokens = f"tokens in {short(self.usage.prompt_tokens)}, out {short(self.usage.completion_tokens)}"
        lines = [
            f"{self.done}/{self.total} ({share}) · {times}",
            " · ".join([*outcomes, f"under way {self.under_way}"]),
            f"{rate} · {tokens}",
        ]
        if self.waits:
            longest = duration(max(0.0, max(self.waits) - now))  # a busy loop wakes late
            lines.append(f"{len(self.waits)} waiting for a server that failed or asked for time, up to {longest}")
        return tuple(lines)


class Progress:
    """Where a run says how far it is: live on a terminal, plain lines elsewhere, nothing where `quiet`.

    `close` may be called twice and without `start`; it leaves the terminal as it was found, also after Ctrl-C.
    """

    def __init__(
        self, stream: TextIO, *, quiet: bool = False, is_judging: bool = False, clock: Clock = time.monotonic
    ) -> None:
        """`is_judging`: answers that a tape has are judged again, so that the tokens are the judge's."""
        self._clock = clock
        self._is_judging = is_judging
        self._state = State(clock())
        self._display = _display(stream, self._lines_now, self._bar_now, clock, quiet=quiet)

    def start(self, total: int, done: int) -> None:
        """`total` sessions in all, `done` of them finished in earlier starts."""
        self._state = State(self._clock(), total, done, is_judging=self._is_judging)
        self._display.open()

    def sample_started(self, sample_id: str) -> None:  # noqa: ARG002  part of the interface; the display counts only
        """A session is under way."""
        self._state.under_way += 1

    def sample_finished(self, record: Record) -> None:
        """A session is finished, in whatever way. Costs a few additions; drawing is the display's own affair."""
        self._state.take(record)
        self._display.changed()

    def sample_broken_off(self, sample_id: str) -> None:  # noqa: ARG002  as above
        """A session ended in a fault of ours: it is no longer under way, and it is not finished."""
        self._state.under_way -= 1
        self._display.changed()

    def watched(self, sleep: Sleep) -> Sleep:
        """`sleep`, told of while it lasts: a run whose servers ask for minutes must not look like one that hangs."""

        async def wait(seconds: float) -> None:
            if seconds < LONG_WAIT_S:
                return await sleep(seconds)
            waits, until = self._state.waits, self._clock() + seconds
            waits.append(until)
            self._display.changed()
            try:
                await sleep(seconds)
            finally:
                waits.remove(until)

        return wait

    def close(self) -> None:
        """The last word, and the end of the display."""
        self._display.close()

    def _lines_now(self) -> tuple[str, ...]:
        return self._state.lines(self._clock())

    def _bar_now(self) -> ProgressBar:
        return ProgressBar(total=max(1, self._state.total), completed=self._state.done, width=BAR_CELLS)


class Display(Protocol):
    """Where progress is shown."""

    def open(self) -> None:
        """Begin to show."""
        ...

    def changed(self) -> None:
        """Something is finished."""
        ...

    def close(self) -> None:
        """Show the last state and end."""
        ...


def _display(
    stream: TextIO, lines: Callable[[], tuple[str, ...]], bar: Callable[[], ProgressBar], clock: Clock, *, quiet: bool
) -> Display:
    if quiet:
        return Silence()
    console = Console(file=stream, markup=False, emoji=False, highlight=False)
    # Not console.is_terminal: FORCE_COLOR, as CI services set it, makes no terminal of a log.
    if stream.isatty() and not console.is_dumb_terminal:
        return LiveLines(console, lines, bar)
    return PlainLines(stream, lines, clock)


class LiveLines:
    """A bar and a few lines that stay at the bottom of the terminal."""

    def __init__(self, console: Console, lines: Callable[[], tuple[str, ...]], bar: Callable[[], ProgressBar]) -> None:
        self._lines = lines
        self._bar = bar
        # Redrawn by Rich's own thread: a sample that takes minutes must not look like a stopped clock. What others
        # write to stderr meanwhile is printed above; stdout is left alone, it may be a file of results.
        self._live = Live(
            get_renderable=self._draw, console=console, refresh_per_second=REDRAWS_PER_S, redirect_stdout=False
        )

    def open(self) -> None:
        """See Display."""
        self._live.start()

    def changed(self) -> None:
        """See Display."""

    def close(self) -> None:
        """See Display."""
        self._live.stop()

    def _draw(self) -> RenderableType:
        return Group(self._bar(), *(Text(line, no_wrap=True, overflow="ellipsis") for line in self._lines()))


class PlainLines:
    """One line at the start, one every 30 seconds at most, and one at the end: fit for logs and CI."""

    def __init__(self, stream: TextIO, lines: Callable[[], tuple[str, ...]], clock: Clock) -> None:
        self._stream = stream
        self._lines = lines
        self._clock = clock
        self._said_at: float | None = None

    def open(self) -> None:
        """See Display."""
        self._say()

    def changed(self) -> None:
        """See Display."""
        if self._said_at is not None and self._clock() - self._said_at >= LINE_EVERY_S:
            self._say()

    def close(self) -> None:
        """See Display."""
        if self._said_at is not None:
            self._say()
        self._said_at = None

    def _say(self) -> None:
        self._said_at = self._clock()
        print("pincite:", " · ".join(self._lines()), file=self._stream, flush=True)


class Silence:
    """Shows nothing."""

    def open(self) -> None:
        """See Display."""

    def changed(self) -> None:
        """See Display."""

    def close(self) -> None:
        """See Display."""


def duration(seconds: float) -> str:
    """`3:07` or `1:02:03`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def short(n: int) -> str:
    """A count in three or four figures: `950`, `12.3k`, `4.56M`."""
    if n < 1_000:
        return str(n)
    if n < 1_000_000:
        return f"{n / 1_000:.1f}k"
    return f"{n / 1_000_000:.2f}M"
