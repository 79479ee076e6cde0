"""Recorded answers to the requests of one session, found as the rule of each channel says.

Knows: own recording, source, pools, and in which order they are asked. Must not know: what happens where none answers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cassettes.exchange import Channel, TapeResponse
from cassettes.journal import Entry
from cassettes.modes import Modes
from cassettes.recorder import Asked, Recorder
from cassettes.recording import Pool, Recording, empty_answer
from cassettes.report import ChannelReport
from cassettes.verdict_pool import SessionVerdicts


@dataclass(slots=True)
class Player:
    """What a session may be answered from. `namesakes` are the recordings of the same session in the given sets, the
    source's first; what they and the pool answer is written by `recorder`.
    """

    modes: Modes
    own: Recording
    source: Recording | None
    namesakes: list[Recording]
    pool: Pool
    verdicts: SessionVerdicts
    recorder: Recorder
    counts: dict[Channel, ChannelReport]

    def is_forked(self, asked: Asked) -> bool:
        """True for what a fork must take from its source."""
        after = self.modes.fork_round
        return asked.channel == "model" and after is not None and asked.round <= after

    def may_go_live(self, asked: Asked) -> bool:
        """True if a request without a recorded answer may be asked outside."""
        match self.modes.rule(asked.channel):
            case "tape" | "lenient":
                return False
            case "pool":
                return asked.channel == "judge" or self.modes.on_pool_miss == "live"
            case "live" | "tape_then_live" | "compare":
                return not self.is_forked(asked)

    def n_unplayed(self, channel: Channel) -> int:
        """How many recorded answers of a channel were not asked for."""
        n = len(self.own.playlist.unplayed(channel))
        if self.source is not None and self.modes.rule(channel) in ("tape", "lenient", "compare"):
            n += len(self.source.playlist.unplayed(channel))
        return n

    def played(self, asked: Asked) -> TapeResponse | None:
        """The recorded answer, as the channel's rule finds it."""
        answer = self._found(asked)
        if answer is not None and self.is_forked(asked):
            self.counts[asked.channel].forked += 1
        return answer

    def _found(self, asked: Asked) -> TapeResponse | None:
        rule = self.modes.rule(asked.channel)
        if rule in ("live", "compare"):
            return None
        if asked.channel == "judge":
            self.verdicts.count(asked.identity.id, asked.request.place)
        exact = self._exact(self.own, asked)
        if exact is not None and self.source is not None:
            # Copied before the session was cut off: the source keeps step, or its next answer would come twice.
            self.source.playlist.take(asked.channel, asked.identity.id, asked.request.place)
        if exact is not None or rule == "tape_then_live":
            return exact if exact is not None or not self.is_forked(asked) else self._forked(asked)
        if rule == "pool":
            return self._verdict(asked) if asked.channel == "judge" else self._pooled(asked)
        if exact is None and self.source is not None:
            exact = self._exact(self.source, asked)
            if exact is not None and self.modes.name == "rejudge":
                return self._copied(asked, exact)
        return exact if exact is not None or rule != "lenient" else self._leniently(asked)

    def _exact(self, recording: Recording, asked: Asked) -> TapeResponse | None:
        entry = recording.playlist.take(asked.channel, asked.identity.id, asked.request.place)
        return self._answer(recording, entry, asked) if entry is not None else None

    def _answer(self, recording: Recording, entry: Entry, asked: Asked) -> TapeResponse:
        self.counts[asked.channel].played += 1
        return recording.answer(entry)

    def _forked(self, asked: Asked) -> TapeResponse | None:
        """The source's answer; another model or sampling does not matter, for it is the source's model that speaks."""
        source = self.source
        if source is None:
            return None
        answer = self._exact(source, asked)
        if answer is None:
            entry = source.playlist.take_same_messages(asked.channel, asked.identity.messages, asked.request.place)
            answer = self._answer(source, entry, asked) if entry is not None else None
        return self._copied(asked, answer) if answer is not None else None

    def _leniently(self, asked: Asked) -> TapeResponse | None:
        counts, place = self.counts[asked.channel], asked.request.place
        recordings = [self.own, *([self.source] if self.source is not None else [])]
        for recording in recordings:
            entry = recording.playlist.take_same_messages(asked.channel, asked.identity.messages, place)
            if entry is not None:
                counts.same_messages += 1
                return self._answer(recording, entry, asked)
        for recording in recordings:
            entry = recording.playlist.take_same_position(asked.channel, place)
            if entry is not None:
                counts.same_position += 1
                return self._answer(recording, entry, asked)
        return None

    def _pooled(self, asked: Asked) -> TapeResponse | None:
        """The session's namesakes answer first, each recording once, so that a fork sees what its source saw."""
        counts = self.counts[asked.channel]
        for recording in self.namesakes:
            entry = recording.playlist.take(asked.channel, asked.identity.id, asked.request.place)
            if entry is not None:
                counts.pool_hits += 1
                return self._copied(asked, replace(recording.answer(entry), origin="pool"))
        answer = self.pool.answer(asked.channel, asked.identity.id)
        if answer is not None:
            counts.pool_hits += 1
            return self._copied(asked, answer)
        counts.pool_misses += 1
        match self.modes.on_pool_miss:
            case "error" | "live":
                return None
            case "empty":
                counts.pool_empty += 1
                return self._copied(asked, empty_answer(asked.request))

    def _verdict(self, asked: Asked) -> TapeResponse | None:
        """What a judge said to the same request in another run."""
        counts = self.counts["judge"]
        answer = self.verdicts.answer(asked.identity.id, asked.request.place)
        if answer is None:
            counts.pool_misses += 1
            return None
        counts.pool_hits += 1
        return self._copied(asked, answer)

    def _copied(self, asked: Asked, answer: TapeResponse) -> TapeResponse:
        """The answer, now on the own tape too, so that this run can be replayed alone."""
        with self.recorder.number(asked) as n:
            self.recorder.append(asked, n, answer)
        return answer
