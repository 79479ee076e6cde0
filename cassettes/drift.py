"""What has become of recorded answers: the same, changed, gone, moved.

Knows: how two answers to one request differ. Must not know: sessions, modes.
"""

from __future__ import annotations

import hashlib

from cassettes.exchange import Channel, TapeResponse
from cassettes.failures import said_by
from cassettes.report import Drift, DriftKind


def drift(channel: Channel, url: str, then: TapeResponse | None, now: TapeResponse) -> Drift:
    """How `now` differs from the recorded answer `then` (None = not recorded)."""
    if then is None:
        return Drift(channel, url, "new", _summary(now))
    kind: DriftKind
    if _place(now) != _place(then) and _place(now):
        kind = "moved"
    elif now.status >= 400 and then.status < 400:
        kind = "gone"
    elif (now.status, _sha256(now)) == (then.status, _sha256(then)) and _place(now) == _place(then):
        return Drift(channel, url, "same")
    else:
        kind = "changed"
    return Drift(channel, url, kind, f"{_summary(then)} → {_summary(now)}")


def _place(response: TapeResponse) -> bytes:
    """Where a redirect leads; empty for anything else."""
    if not 300 <= response.status < 400:
        return b""
    return next((value for name, value in response.headers if name.lower() == b"location"), b"")


def _sha256(response: TapeResponse) -> str:
    return hashlib.sha256(response.body).hexdigest()


def _summary(response: TapeResponse) -> str:
    error = said_by(response)
    if error is not None:
        return error
    place = _place(response).decode("utf-8", "backslashreplace")
    if place:
        return f"{response.status} to {place}"
    return f"{response.status}, {len(response.body)} bytes, sha256 {_sha256(response)[:16]}"
