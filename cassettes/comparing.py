"""Two recorded sessions, exchange by exchange: what was asked in another way, what was answered in another way.

Knows: which exchanges of two sessions belong together, and which parts of an answer are chance. Must not know: terminals.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, cast

from pydantic import TypeAdapter, ValidationError

from cassettes.exchange import CHANNELS, Channel, TapeResponse
from cassettes.failures import said_by
from cassettes.journal import Entry
from cassettes.miss import difference, readable
from cassettes.playlist import Playlist
from cassettes.reading import Session, header

DifferenceKind = Literal["answer", "request", "only_first", "only_second"]

CHANCE: Final = frozenset({"id", "created", "created_at", "system_fingerprint", "service_tier", "usage", "timings"})
"""Fields of a model's answer that differ from call to call and say nothing."""
_CHARSET: Final = re.compile(r"charset=[\"']?([\w.:-]+)", re.IGNORECASE)
_TEXT: Final = re.compile(r"^text/|html|xml|json|javascript", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ExchangeDifference:
    """One exchange that is not the same. `first`, `second`: its position in each session, None where it is not there.

    `path` is where the two differ first (`messages[7].content, character 1204`), `text` what stands there,
    `[-first-][+second+]`; both are empty for an exchange that only one session has.
    """

    kind: DifferenceKind
    channel: Channel
    round: int
    place: str
    first: int | None
    second: int | None
    request: str
    path: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class SessionComparison:
    """How many exchanges are the same in both sessions, and the rest in the order of the first."""

    first: str
    second: str
    n_same: int
    differences: tuple[ExchangeDifference, ...]


def compare_sessions(first: Session, second: Session) -> SessionComparison:
    """Both sessions side by side. Raises TapeDamaged.

    The same request is looked for first (at its place, else in the order of recording) and the answers are compared; what
    is left of each channel is paired in order, and the requests are compared.
    """
    others = Playlist(second.journal.entries)
    pair = _Pair(first, second)
    unmatched: list[Entry] = []
    differences: list[ExchangeDifference] = []
    for entry in first.journal.entries:
        other = others.take(entry.key.channel, entry.key.id, entry.key.place)
        if other is None:
            unmatched.append(entry)
            continue
        found = pair.answers(entry, other)
        differences += [found] if found is not None else []
    n_same = len(first.journal.entries) - len(unmatched) - len(differences)
    for channel in CHANNELS:
        mine = [entry for entry in unmatched if entry.key.channel == channel]
        theirs = others.unplayed(channel)
        differences += [pair.requests(entry, other) for entry, other in zip(mine, theirs, strict=False)]
        n_paired = min(len(mine), len(theirs))
        differences += [pair.alone("only_first", entry) for entry in mine[n_paired:]]
        differences += [pair.alone("only_second", entry) for entry in theirs[n_paired:]]
    return SessionComparison(first.name, second.name, n_same, tuple(sorted(differences, key=_order)))


class _Pair:
    def __init__(self, first: Session, second: Session) -> None:
        self._first, self._second = first, second
        self._first_at = _positions(first.journal.entries)
        self._second_at = _positions(second.journal.entries)

    def answers(self, entry: Entry, other: Entry) -> ExchangeDifference | None:
        """How the answers to the same request differ; None where they say the same."""
        then, now = self._first.recording.answer(entry), self._second.recording.answer(other)
        found = difference("page", _state(then), _state(now))
        if found is None and then.body != now.body:
            channel = entry.key.channel
            found = difference("page", {"body": _body(then, channel)}, {"body": _body(now, channel)})
        return None if found is None else self._of("answer", entry, other, found.path, found.text)

    def requests(self, entry: Entry, other: Entry) -> ExchangeDifference:
        """How two requests that stand in the same place differ."""
        channel = entry.key.channel
        asked = [
            readable(channel, request.method, request.url, request.body)
            for request in (self._first.recording.request(entry), self._second.recording.request(other))
        ]
        found = difference(channel, asked[0], asked[1])
        return self._of("request", entry, other, found.path if found else "", found.text if found else "")

    def alone(self, kind: Literal["only_first", "only_second"], entry: Entry) -> ExchangeDifference:
        """An exchange that only one session has."""
        return self._of(kind, entry, None, "", "") if kind == "only_first" else self._of(kind, None, entry, "", "")

    def _of(
        self, kind: DifferenceKind, entry: Entry | None, other: Entry | None, path: str, text: str
    ) -> ExchangeDifference:
        session, shown = (self._first, entry) if entry is not None else (self._second, other)
        assert shown is not None
        request = session.recording.request(shown)
        return ExchangeDifference(
            kind,
            shown.key.channel,
            shown.key.round,
            shown.key.place,
            self._first_at[entry.start] if entry is not None else None,
            self._second_at[other.start] if other is not None else None,
            f"{request.method} {request.url}",
            path,
            text,
        )


def _positions(entries: Iterable[Entry]) -> dict[int, int]:
    return {entry.start: position for position, entry in enumerate(entries)}


def _order(found: ExchangeDifference) -> list[int]:
    first = found.first if found.first is not None else 2**62
    return [first, found.second if found.second is not None else -1]


def _state(response: TapeResponse) -> dict[str, object]:
    return {"status": response.status, "failure": said_by(response) or response.broken}


def _body(response: TapeResponse, channel: Channel) -> object:
    """The body as JSON values as far as it can be read; of what is no text, the hash."""
    read = _readable_body(response.body, header(response.headers, "content-type"))
    return _without_chance(read) if channel in ("model", "judge") else read


def _readable_body(body: bytes, media_type: str) -> object:
    if body.startswith(b"data:"):
        return [_json(line[5:]) for line in body.splitlines() if line.startswith(b"data:")]
    value = _json(body)
    if not isinstance(value, bytes):
        return value
    declared = _CHARSET.search(media_type)
    # Only what says that it is text is tried as Shift_JIS: almost any bytes can be read that way.
    codings = (
        (declared[1] if declared else "utf-8", "utf-8", "cp932", "euc_jp") if _TEXT.search(media_type) else ("utf-8",)
    )
    for coding in codings:
        try:
            return body.decode(coding)
        except (UnicodeDecodeError, LookupError):
            continue
    return {"sha256": hashlib.sha256(body).hexdigest(), "bytes": len(body)}


def _json(body: bytes) -> object:
    """The JSON value; the bytes themselves where there is none."""
    try:
        return _VALUE.validate_json(body)
    except ValidationError:
        return body


_VALUE: Final = TypeAdapter(object)


def _without_chance(value: object) -> object:
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        return {name: _without_chance(inner) for name, inner in fields.items() if name not in CHANCE}
    if isinstance(value, list):
        return [_without_chance(inner) for inner in cast("list[object]", value)]
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return value
