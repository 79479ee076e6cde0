"""Records made anew from the tapes: for a folder whose records were lost or damaged.

Knows: that a session is finished where its tape answers every request, or it makes none. Must not know: how sessions are
played.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from cassettes.replacing import new_file
from sandbox.folder.store import RECORDS, SUMMARY, RunFolder, disk_error
from sandbox.folder.stored_run import StoredRun
from sandbox.folder.tape_reports import REPORTS, read_rows
from sandbox.record import Record
from sandbox.replaying.replay import Key, ReplayPlan, play_all
from sandbox.summary import as_json


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """How many records were made, how many stay as they were, and how many sessions have neither (the run goes on with
    them).
    """

    n_records: int = 0
    n_kept: int = 0
    n_unfinished: int = 0


def rebuild(stored: StoredRun, on_done: Callable[[], None]) -> Rebuilt:
    """Write `records.jsonl` anew from the tapes, in place of what is there once all are played.

    A record that can be read stays where its session cannot be played to its end: its tape is lost, or tools of this
    version answer otherwise. So does what `tape.jsonl` says: who answered a session cannot be seen afterwards.
    A summary that is there is written anew too. Raises SetupError, and TapeError for a tape that is damaged.
    """
    with RunFolder(stored.path) as folder:
        rebuilt = asyncio.run(_rebuild(stored, on_done))
        if (stored.path / SUMMARY).exists():
            folder.write(SUMMARY, as_json(stored.summary()))
        return rebuilt


async def _rebuild(stored: StoredRun, on_done: Callable[[], None]) -> Rebuilt:
    told = {(row.sample_id, row.repeat): row for row in read_rows(stored.path)}
    made: set[Key] = set()
    unfinished: set[Key] = set()
    fresh = {name: stored.path / f".{name}.new" for name in (RECORDS, REPORTS)}
    try:
        with new_file(fresh[RECORDS]) as records, new_file(fresh[REPORTS]) as tapes:
            async for played in play_all(stored, ReplayPlan(stored.path)):
                on_done()
                if played.record is None:
                    unfinished.add(played.key)
                    continue
                made.add(played.key)
                records.write(played.record.model_dump_json().encode() + b"\n")
                told.setdefault(played.key, played.tape)
            kept: set[Key] = set()
            for key, line in _readable(stored.path / RECORDS):
                if key not in made and key not in kept:
                    kept.add(key)
                    records.write(line)
            tapes.writelines(row.model_dump_json().encode() + b"\n" for key, row in told.items() if key in made | kept)
        for name, path in fresh.items():
            os.replace(path, stored.path / name)
    except OSError as error:
        raise disk_error(error, Path(error.filename or stored.path)) from error
    finally:
        for path in fresh.values():
            path.unlink(missing_ok=True)
    return Rebuilt(len(made), len(kept), len(unfinished - kept))


def _readable(path: Path) -> Iterator[tuple[Key, bytes]]:
    """The lines of the file that are records; none where there is no file."""
    try:
        with path.open("rb") as file:
            for line in file:
                with suppress(ValidationError):
                    record = Record.model_validate_json(line)
                    yield (record.sample_id, record.repeat), line.rstrip(b"\n") + b"\n"
    except FileNotFoundError:
        return
