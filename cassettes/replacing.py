"""A file that appears whole or not at all.

Knows: writing beside and renaming. Must not know: what is written.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from cassettes.blobs import disk_error


@contextmanager
def replacing(path: Path) -> Generator[BinaryIO]:
    """A file to write to, which takes the place of `path` when the block ends well; else nothing is left of it.

    Raises TapeDiskError where the disk refuses.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        raise disk_error(path, error) from error
    finally:
        with suppress(OSError):  # what cannot be removed was not made either, or the error above says why
            beside.unlink()
