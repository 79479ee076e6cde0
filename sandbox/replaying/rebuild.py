"""Records made anew from the tapes: for a folder whose records were lost or damaged.

Knows: that a session is finished where its tape answers every request, or it makes none. Must not know: how sessions are
played.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sandbox.folder.store import RECORDS, RunFolder, disk_error
from sandbox.folder.stored_run import StoredRun
from sandbox.folder.tape_reports import REPORTS
from sandbox.replaying.replay import ReplayPlan, play_all


@dataclass(slots=True)
class Rebuilt:
    """How many records were made, and how many sessions have a tape that ends too early (the run goes on with them)."""

    n_records: int = 0
    n_unfinished: int = 0


def rebuild(stored: StoredRun, on_done: Callable[[], None]) -> Rebuilt:
    """Write `records.jsonl` anew from the tapes, in place of what is there once all are played.

    Raises SetupError, and TapeError for a tape that is damaged.
    """
    with RunFolder(stored.path):
        return asyncio.run(_rebuild(stored, on_done))


async def _rebuild(stored: StoredRun, on_done: Callable[[], None]) -> Rebuilt:
    end = Rebuilt()
    fresh = {name: stored.path / f".{name}.new" for name in (RECORDS, REPORTS)}
    try:
        with fresh[RECORDS].open("w", encoding="utf-8") as records, fresh[REPORTS].open("w", encoding="utf-8") as tapes:
            async for played in play_all(stored, ReplayPlan(stored.path)):
                on_done()
                if played.record is None:
                    end.n_unfinished += 1
                    continue
                end.n_records += 1
                records.write(played.record.model_dump_json() + "\n")
                tapes.write(played.tape.model_dump_json() + "\n")
        for name, path in fresh.items():
            os.replace(path, stored.path / name)
    except OSError as error:
        raise disk_error(error, Path(error.filename or stored.path)) from error
    finally:
        for path in fresh.values():
            path.unlink(missing_ok=True)
    return end
