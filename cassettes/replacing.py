"""A file that appears whole or not at all.

Knows: writing beside and renaming. Must not know: what is written.

A folder that somebody else made may hold links that lead out of it: no file is written through one.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from cassettes.blobs import disk_error

TO_APPEND: Final = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
"""How a file is opened that grows; one that is a link is not (ELOOP)."""


@contextmanager
def replacing(path: Path) -> Generator[BinaryIO]:
    """A file to write to, which takes the place of `path` when the block ends well; else nothing is left of it.

    Raises TapeDiskError where the disk refuses.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with new_file(beside) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        raise disk_error(path, error) from error
    finally:
        with suppress(OSError):  # what cannot be removed was not made either, or the error above says why
            beside.unlink()


def new_file(path: Path) -> BinaryIO:
    """A file of its own at `path`, to write to; what stood there under that name is gone. Raises OSError."""
    path.unlink(missing_ok=True)
    return path.open("xb")
