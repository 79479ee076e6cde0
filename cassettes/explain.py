"""The report of a request that the tape does not answer.

Knows: recordings and how to find the nearest request in them. Must not know: modes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cassettes.errors import MissReport, TapeDamaged
from cassettes.exchange import CHANNELS
from cassettes.interaction import without_keys
from cassettes.journal import Entry
from cassettes.miss import Difference, difference, readable
from cassettes.recorder import Asked
from cassettes.recording import Recording
from cassettes.redact import Redactor

MAX_COMPARED: Final = 200


@dataclass(frozen=True, slots=True)
class Mending:
    """What the command that records from here needs: the benchmark's name and the folder of the tapes."""

    benchmark: str
    folder: Path


@dataclass(frozen=True, slots=True)
class _Near:
    entry: Entry
    difference: Difference | None


def explain(asked: Asked, session: str, recording: Recording, mending: Mending, redactor: Redactor) -> MissReport:
    """Why `recording` has no answer. Reads recorded requests: milliseconds to seconds, once per miss."""
    request, redact = asked.request, redactor.redact
    entries = recording.playlist.entries
    n_unplayed = sum(len(recording.playlist.unplayed(channel)) for channel in CHANNELS)
    near = _nearest(recording, asked)
    found = near.difference if near is not None else None
    folder = recording.journal.path.parent if recording.journal is not None else mending.folder
    return MissReport(
        session=redact(session),
        channel=asked.channel,
        round=asked.round,
        place=request.place,
        request=redact(f"{request.method} {without_keys(request.url)}"),
        n_played=len(entries) - n_unplayed,
        n_recorded=len(entries),
        nearest=redact(_name(recording, near.entry)) if near is not None else "",
        path=redact(found.path) if found is not None else "",
        difference=redact(found.text) if found is not None else "",
        cause=_cause(asked, recording, near),
        mend=f"pincite run {mending.benchmark} {_from_here(folder.parent, asked.round)}--out NEW_FOLDER",
    )


def _cause(asked: Asked, recording: Recording, near: _Near | None) -> str:
    if not recording.playlist.entries:
        return "the session has no recording in this folder"
    torn = recording.journal.torn if recording.journal is not None else None
    if torn is not None:
        return f"the last {torn.n_bytes} bytes of {torn.path} are no whole exchange: its end was lost or changed"
    if near is None:
        return f"nothing was recorded on the channel {asked.channel}"
    if near.difference is None:
        return "this request is on the tape, but fewer times than it is asked now"
    return near.difference.cause


def _nearest(recording: Recording, asked: Asked) -> _Near | None:
    """The request of the same channel that differs latest; among equals one not yet played, at the same place, early."""
    channel, request = asked.channel, asked.request
    unplayed = {entry.start for entry in recording.playlist.unplayed(channel)}
    entries = [entry for entry in recording.playlist.entries if entry.key.channel == channel]
    entries.sort(key=lambda entry: (entry.key.place != request.place, abs(entry.key.round - asked.round), entry.start))
    now = readable(channel, request.method, request.url, request.body)
    best: _Near | None = None
    best_rank = (-1, False, False)
    for entry in entries[:MAX_COMPARED]:
        try:
            then = recording.request(entry)
        except TapeDamaged:
            continue
        found = difference(channel, readable(channel, then.method, then.url, then.body), now)
        rank = (
            found.n_equal if found is not None else 1_000_000,
            entry.start in unplayed,
            entry.key.place == request.place,
        )
        if rank > best_rank:
            best, best_rank = _Near(entry, found), rank
    return best


def _name(recording: Recording, entry: Entry) -> str:
    request = recording.request(entry)
    place = f" at {entry.key.place}" if entry.key.place else ""
    return f"round {entry.key.round}{place}, {request.method} {request.url}"


def _from_here(run: Path, n_round: int) -> str:
    """The option that keeps the rounds before the missing one; none where it is the first."""
    return f"--fork {run}@{n_round - 1} " if n_round > 1 else ""
