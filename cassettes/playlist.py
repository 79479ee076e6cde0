"""The recorded interactions of one session, handed out once each.

Knows: which interaction answers which request, and which have been used. Must not know: modes, bodies.

Identical requests get their answers in the order of recording; those that were under way at once are told apart by
place, so that an answer does not depend on which of them arrives first.
"""

from __future__ import annotations

from collections.abc import Iterable

from cassettes.exchange import Channel
from cassettes.journal import Entry, Key


class Playlist:
    """Entries of one journal, in the order of the file; `n_*` of a request count from 1."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries: tuple[Entry, ...] = tuple(entries)
        self._waiting: dict[tuple[Channel, str], list[Entry]] = {}
        self._counts: dict[tuple[Channel, str], int] = {}
        self._played: set[int] = set()
        for entry in sorted(self.entries, key=lambda entry: entry.key.n):
            name = (entry.key.channel, entry.key.id)
            self._waiting.setdefault(name, []).append(entry)
            self._counts[name] = entry.key.n

    def take(self, channel: Channel, identity: str, place: str) -> Entry | None:
        """The next answer to the request of that identity: one recorded at `place` first, else the oldest."""
        waiting = self._waiting.get((channel, identity))
        if not waiting:
            return None
        at = next((i for i, entry in enumerate(waiting) if entry.key.place == place), 0)
        entry = waiting.pop(at)
        self._played.add(entry.start)
        return entry

    def take_same_messages(self, channel: Channel, messages: str, place: str) -> Entry | None:
        """The next answer to a chat request with the same messages, whatever its model, tools and sampling."""
        found = [entry for entry in self.unplayed(channel) if entry.key.messages == messages and messages]
        found.sort(key=lambda entry: (entry.key.place != place, entry.key.n))
        return self.take(channel, found[0].key.id, found[0].key.place) if found else None

    def take_same_position(self, channel: Channel, place: str) -> Entry | None:
        """The first unused answer that was recorded at `place`; without a place, the first one of the channel."""
        found = next((entry for entry in self.unplayed(channel) if place in ("", entry.key.place)), None)
        return self.take(channel, found.key.id, found.key.place) if found is not None else None

    def unplayed(self, channel: Channel) -> list[Entry]:
        """What was not handed out yet, in the order of the file."""
        return [entry for entry in self.entries if entry.key.channel == channel and entry.start not in self._played]

    def next_n(self, channel: Channel, identity: str) -> int:
        """The number of a new request of that identity; it counts as given."""
        n = self._counts[channel, identity] = self._counts.get((channel, identity), 0) + 1
        return n

    def give_back(self, channel: Channel, identity: str, n: int) -> None:
        """The request with that number was not recorded; the number is free if no later one was given."""
        if self._counts.get((channel, identity)) == n:
            self._counts[channel, identity] = n - 1


def unfinished(entries: Iterable[Entry]) -> frozenset[int]:
    """The starts of failed exchanges that were no finished calls, so that a resumed session must make them again.

    A failure is finished once the session went on from it: the same request succeeded later; another request to the
    model succeeded (or, for a judge, one at the same place: without a format that was refused, say); or, for a search or
    a page, the model was asked again, for it has then read the failure.
    """
    failures: list[Entry] = []
    for entry in entries:
        failures = [failure for failure in failures if not _finished(failure.key, entry.key)]
        if entry.key.failed:
            failures.append(entry)
    return frozenset(failure.start for failure in failures)


def _finished(failure: Key, later: Key) -> bool:
    """True if `later`, which was recorded after `failure`, shows that the session went on from it."""
    if later.channel == "model" and failure.channel in ("search", "page"):
        return True
    if later.failed or later.channel != failure.channel:
        return False
    return (
        later.id == failure.id
        or later.channel == "model"
        or (later.channel == "judge" and later.place == failure.place != "")
    )
