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


class TapeError(Exception):
    """The tape cannot do what was asked; the message says on which session and what to do."""


class TapeMiss(TapeError):
    """The tape has no answer to a request; the message is the whole miss report. Never worth a retry."""


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
