"""Names of sessions and of their files.

Knows: what a file system bears. Must not know: what is in the files.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final
from urllib.parse import quote

MAX_NAME_BYTES: Final = 180
SUFFIX: Final = ".yaml"


def session_name(sample_id: str, repeat: int = 0) -> str:
    """The session of a sample's repeat (from 0). The id may be any text."""
    return f"{sample_id}.r{repeat}"


def journal_path(folder: Path, session: str) -> Path:
    """Where the session's journal is, for any name: signs that a file system may refuse or fold are percent-encoded,
    and a name that gets too long ends in its hash.
    """
    name = quote(session.encode("utf-8", "surrogatepass"), safe="").replace("~", "%7E")
    if name.startswith("."):
        name = f"%2E{name[1:]}"
    if len(name) > MAX_NAME_BYTES:
        digest = hashlib.sha256(session.encode("utf-8", "surrogatepass")).hexdigest()[:24]
        name = f"{name[: MAX_NAME_BYTES - 40]}~{digest}"
    return folder / f"{name}{SUFFIX}"
