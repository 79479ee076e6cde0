"""Make one pack of the packs of a set, without the bodies that no journal names.

Knows: in which order files must appear and go, so that a crash in the middle loses nothing. Must not know: what a body is.

The new pack is written in a folder of its own, brought to the disk, and renamed into place; only then do the old packs
go. A crash leaves either the old packs alone, or both: a body may be there twice, and the next `pack` cleans up.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cassettes.blobs import Blobs, disk_error
from cassettes.errors import TapeBusy, TapeDamaged
from cassettes.journal import read_journal
from cassettes.naming import SUFFIX
from cassettes.recording import BLOBS

UNFINISHED: Final = "packing.tmp"
_HASH: Final = re.compile(rb"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class PackSummary:
    """What `pack` did. Bytes are those of the packs on disk."""

    n_packs_before: int
    n_packs: int
    n_kept: int
    n_dropped: int
    n_bytes_before: int
    n_bytes: int


def pack(folder: Path) -> PackSummary:
    """Pack the tape in `folder`. Nothing is touched where there is one pack and nothing to drop.

    Raises TapeBusy while one of its sessions or packs is being written, TapeDamaged where a journal, a pack or a body is
    not what was written (`verify` names all of it), TapeDiskError. Whoever calls this for a run holds the run's lock: a
    process that has the set open, and writes nothing at the moment, is not seen from here.
    """
    packs = sorted((folder / BLOBS).glob("*.pack"))
    journals = sorted(folder.glob(f"*{SUFFIX}"))
    shutil.rmtree(folder / BLOBS / UNFINISHED, ignore_errors=True)
    with _locked((*journals, *packs)):
        before = sum(path.stat().st_size for path in packs)
        blobs = Blobs(folder / BLOBS, writable=False)
        try:
            if blobs.damaged:
                raise TapeDamaged("; ".join(blobs.damaged))
            named = _named(journals)
            kept = [sha256 for sha256 in blobs if sha256 in named]
            n_dropped = len(blobs) - len(kept)
            if len(packs) <= 1 and n_dropped == 0 and not blobs.torn:
                return PackSummary(len(packs), len(packs), len(kept), 0, before, before)
            fresh = _write(folder / BLOBS, blobs, kept)
        finally:
            blobs.close()
        if sorted(folder.glob(f"*{SUFFIX}")) != journals:
            raise TapeBusy(
                f"a session began in {folder} while it was packed; the old packs stay. Pack it when no run goes on"
            )
        for path in packs:
            path.unlink()
        after = sum(path.stat().st_size for path in fresh)
    return PackSummary(len(packs), len(fresh), len(kept), n_dropped, before, after)


def _named(journals: Iterable[Path]) -> set[str]:
    """Whatever looks like a hash in a journal: a body too many is kept sooner than one too few. Raises TapeDamaged."""
    named: set[str] = set()
    for path in journals:
        journal = read_journal(path, writable=False)
        for entry in journal.entries if journal is not None else ():
            lines = journal.lines(entry) if journal is not None else None
            for said in (lines.request, lines.response) if lines is not None else ():
                named.update(found.decode() for found in _HASH.findall(said))
    return named


def _write(folder: Path, blobs: Blobs, kept: list[str]) -> list[Path]:
    """The new pack in its place and on the disk; none where nothing is kept. Raises TapeDamaged, TapeDiskError."""
    unfinished = folder / UNFINISHED
    try:
        unfinished.mkdir()  # not through a link, which would take the packs of another tape along
        fresh = Blobs(unfinished)
        for sha256 in kept:
            fresh.put(blobs.get(sha256))
        fresh.close()
        return [_placed(path, folder) for path in sorted(unfinished.glob("*.pack"))]
    except OSError as error:
        raise disk_error(folder, error) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _placed(path: Path, folder: Path) -> Path:
    target = folder / path.name
    _to_disk(path)
    path.rename(target)
    _to_disk(folder)
    return target


def _to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _locked(paths: Iterable[Path]) -> Generator[None]:
    """Nobody writes these files inside. Raises TapeBusy if somebody does already."""
    held: list[int] = []
    try:
        for path in paths:
            held.append(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
            try:
                fcntl.flock(held[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise TapeBusy(f"{path} is being written; pack it when no run goes on") from error
        yield
    finally:
        for descriptor in held:
            os.close(descriptor)
