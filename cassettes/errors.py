"""What can go wrong with a tape.

```
TapeError                 the command ends with exit code 3
├─ TapeMiss               a request that the tape does not answer
├─ TapeChanged            the tape was recorded under another configuration
├─ TapeDamaged            bytes on disk are not what was written
├─ TapeSecret             what was to be written holds a key
├─ TapeBusy               another process writes this session
├─ TapeExists             a session that is already there was to be recorded anew
└─ TapeDiskError          the disk takes no more
```
None of them derives from an exception of httpx2 or openai: a client would take it for a lost connection and try again.
"""

from __future__ import annotations

from dataclasses import dataclass


class TapeError(Exception):
    """The tape cannot do what was asked; the message says on which session and what to do."""


@dataclass(frozen=True, slots=True)
class MissReport:
    """Which request has no answer, and why as far as one can tell. All texts are redacted."""

    session: str
    channel: str
    round: int
    place: str
    request: str
    n_played: int
    n_recorded: int
    """Of all channels of the session."""
    nearest: str
    """The nearest recorded request of the channel ("" if there is none)."""
    path: str
    """Where the two first differ (`messages[7].content, character 1204`)."""
    difference: str
    """The text around it, `[-recorded-]` and `[+asked+]`."""
    cause: str
    mend: str
    """The command that records from here."""

    def __str__(self) -> str:
        place = f" at {self.place}" if self.place else ""
        lines = [
            f"session {self.session}: the tape has no answer to this {self.channel} request{place}, round {self.round}: "
            f"{self.request}",
            f"  played before it: {self.n_played} of {self.n_recorded} recorded exchanges",
        ]
        if self.nearest:
            lines.append(f"  nearest recorded request: {self.nearest}")
        if self.path:
            lines.append(f"  first difference: {self.path}")
        if self.difference:
            lines.append(f"    {self.difference}")
        return "\n".join([*lines, f"  likely cause: {self.cause}", f"  to record from here: {self.mend}"])


class TapeMiss(TapeError):
    """The tape has no answer to a request; the message is the whole miss report. Never worth a retry."""

    def __init__(self, report: MissReport) -> None:
        super().__init__(str(report))
        self.report = report


class TapeChanged(TapeError):
    """The configuration is not the one that was recorded; the message names the fields that differ."""


class TapeDamaged(TapeError):
    """A journal line or a blob is not what was written; the message names file, place and hash."""


class TapeSecret(TapeError):
    """A write was refused because it holds the value of a key. The message does not hold it."""


class TapeBusy(TapeError):
    """Another process is recording the same session."""


class TapeExists(TapeError):
    """The session is on the tape already, and the mode records from the beginning."""


class TapeDiskError(TapeError):
    """A write failed (disk full, file size limit). What was recorded before stays usable."""
