"""The run folder: settings, provenance and records on disk, safe against crashes, second writers and full disks.

Knows: file names, appending, torn lines, the lock. Must not know: what a record means.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import ValidationError

from cassettes.replacing import TO_APPEND, new_file
from sandbox.endpoint.lenient import mapping, parsed
from sandbox.folder.provenance import Provenance, mixed
from sandbox.record import Record
from tools.tool import SetupError

RECORDS, PROVENANCE, SETTINGS, SUMMARY = "records.jsonl", "provenance.json", "run.toml", "summary.json"
LOCK, LOCK_TRIES = ".lock", 100


class RunFolder:
    """One writer's view of a run folder; a context manager that holds the folder's lock.

    Opening it drops a torn last line of records.jsonl (a crash in the middle of a write); that sample is done again.

    A folder that this writer made, in which no run was begun and which holds nothing, is gone again afterwards. The
    subfolders named in `derived` count as nothing: what is in them can be made anew at any time.
    """

    def __init__(self, path: Path, derived: Sequence[str] = ()) -> None:
        self.path = path
        self._derived = tuple(derived)
        self._made = False
        self.finished: set[tuple[str, int]] = set()
        """(sample id, repeat) of the records on disk."""
        self._lock: int | None = None
        self._records: int | None = None

    def __enter__(self) -> Self:
        try:
            for _ in range(LOCK_TRIES):
                if self._locked():
                    return self
                self._close()
        except BlockingIOError as error:
            self._close()
            raise SetupError(
                f"{self.path} is in use by another pincite run; wait for it or use another --out"
            ) from error
        except OSError as error:
            self._close()
            raise disk_error(error, self.path) from error
        raise SetupError(f"{self.path}: no folder can be made there; choose another --out")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._made and self._records is None:
            self._take_back()
        self._close()

    def begin(self, settings_toml: str, provenance: Provenance, repeats: int | None = None) -> Provenance:
        """Start the run, or continue it: the provenance of the whole run so far, with this start added.

        Raises SetupError where the folder holds a run that differs in what is compared, naming what differs, or in what it
        plays of recorded runs (half of a fork is no fork) or which one, and where a sample was played more than `repeats`
        times: figures of k sessions would be made of more than k.
        """
        earlier = self.provenance()
        if earlier is not None:
            differences = mixed(earlier.compared, provenance.compared)
            if differences:
                raise SetupError(
                    f"{self.path} holds a run of another configuration: {'; '.join(differences[:4])}. "
                    "Use another --out, or the settings that it was started with."
                )
            if earlier.played is not None and earlier.played != provenance.played:
                before, now = (one.played or "an ordinary run" for one in (earlier, provenance))
                raise SetupError(
                    f"{self.path} holds {before}, and this start makes {now}: "
                    "use another --out, or what was given before (--fork, --web-from, pincite score --judge)"
                )
            # Who plays a recorded run has its nonce.
            is_other_run = earlier.played_run not in (None, provenance.played_run) or earlier.nonce != provenance.nonce
            if provenance.played and is_other_run:
                raise SetupError(f"{self.path} was not begun from the run that this start plays: use another --out")
            provenance = earlier.continued(provenance)
        self._open_records()
        played = max((repeat + 1 for _, repeat in self.finished), default=0)
        if repeats is not None and played > repeats:
            raise SetupError(
                f"{self.path} holds up to {played} sessions a question, and this start asks for {repeats}: "
                f"ask for {played} (--repeats, multichallenge: --attempts), or use another --out"
            )
        self.write(SETTINGS, settings_toml)
        self.write(PROVENANCE, provenance.model_dump_json(indent=1))
        return provenance

    def provenance(self) -> Provenance | None:
        """What is known of the run in this folder; None for a new one."""
        return read_provenance(self.path)

    def append(self, record: Record) -> None:
        """Add a finished sample: one line in one write. A full disk raises SetupError and leaves no torn line."""
        if self._records is None:
            raise ValueError("append before begin")
        line = record.model_dump_json().encode("utf-8") + b"\n"
        before = os.fstat(self._records).st_size
        try:
            written = os.write(self._records, line)
            while written < len(line):
                written += os.write(self._records, line[written:])
        except OSError as error:
            os.ftruncate(self._records, before)
            raise disk_error(error, self.path / RECORDS) from error
        self.finished.add((record.sample_id, record.repeat))

    def append_line(self, name: str, line: str) -> None:
        """Add a line to a side file, in one write."""
        path = self.path / name
        try:
            with os.fdopen(os.open(path, TO_APPEND, 0o644), "ab", buffering=0) as file:
                file.write(line.encode("utf-8") + b"\n")
        except OSError as error:
            raise disk_error(error, path) from error

    def write(self, name: str, text: str) -> None:
        """Replace a small file as a whole: written beside it, then renamed over it."""
        self.write_lines(name, (text if text.endswith("\n") else text + "\n",))

    def write_lines(self, name: str, lines: Iterable[str]) -> None:
        """`write` of lines, each with its line end, one at a time."""
        target, fresh = self.path / name, self.path / f".{name}.new"
        try:
            with new_file(fresh) as file:
                file.writelines(line.encode("utf-8") for line in lines)
            os.replace(fresh, target)
        except OSError as error:
            fresh.unlink(missing_ok=True)
            raise disk_error(error, target) from error

    def _locked(self) -> bool:
        """Whether this writer holds the lock of the folder that is there now: another may just have taken back its own."""
        try:
            self.path.mkdir(parents=True)
            self._made = True
        except FileExistsError:
            self._made = False
        lock = self.path / LOCK
        try:
            self._lock = os.open(lock, TO_APPEND, 0o644)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return os.path.samestat(os.fstat(self._lock), lock.stat())
        except FileNotFoundError:
            return False

    def _take_back(self) -> None:
        """Remove the folder, if nothing but what can be made again is in it. The lock is held until it is gone."""
        if set(os.listdir(self.path)) - {LOCK, *self._derived}:
            return
        for name in self._derived:
            shutil.rmtree(self.path / name, ignore_errors=True)
        with suppress(OSError):  # somebody put a file there meanwhile, or a second writer its lock
            (self.path / LOCK).unlink()
            self.path.rmdir()

    def _open_records(self) -> None:
        path = self.path / RECORDS
        try:
            self._records = os.open(path, TO_APPEND, 0o644)
            whole = _whole_bytes(path)
            if whole < path.stat().st_size:
                os.ftruncate(self._records, whole)
        except OSError as error:
            raise disk_error(error, path) from error
        self.finished = {(record.sample_id, record.repeat) for record in read_records(self.path)}

    def _close(self) -> None:
        for handle in (self._records, self._lock):
            if handle is not None:
                os.close(handle)
        self._records = self._lock = None


def read_records(folder: Path) -> Iterator[Record]:
    """The finished samples, one at a time; a torn last line is passed over. Raises SetupError for a damaged line."""
    path = folder / RECORDS
    whole = _whole_bytes(path)
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if file.tell() > whole:
                return
            try:
                yield Record.model_validate_json(line)
            except ValidationError as error:
                first = error.errors()[0]
                where = ".".join(str(part) for part in first["loc"])
                raise SetupError(
                    f"{path} line {number} cannot be read: {where} {first['msg']}; {from_tapes(folder)}"
                ) from error


def from_tapes(folder: Path) -> str:
    """What to do about records that cannot be used."""
    return f"pincite report {folder} --rebuild makes the records anew from the tapes"


def read_provenance(folder: Path) -> Provenance | None:
    """The provenance of the run in `folder`; None where there is none. Raises SetupError where it cannot be read."""
    path = folder / PROVENANCE
    try:
        return Provenance.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise SetupError(
            f"{path} cannot be read ({type(error).__name__}); is {folder} a pincite run folder?"
        ) from error


def disk_error(error: OSError, path: Path) -> SetupError:
    """An operating-system error in words, with what to do."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return SetupError(f"the disk is full at {path}: free some space and repeat the same command; nothing is lost")
    if error.errno == errno.EFBIG:
        return SetupError(f"{path} would be over a file size limit (ulimit -f): raise it and repeat the same command")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return SetupError(f"{path} cannot be written: {error.strerror}; mend that or choose another folder")
    if error.errno == errno.ELOOP:
        return SetupError(
            f"{error.filename or path} is a link: nothing is written through it; put the file itself there"
        )
    return SetupError(f"{path}: {error.strerror or error}")


def _whole_bytes(path: Path) -> int:
    """Length of the part of the file that ends in a line end: what is behind it was cut off while being written."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            end = size
            while end > 0:
                start = max(0, end - 65_536)
                file.seek(start)
                cut = file.read(end - start).rfind(b"\n")
                if cut >= 0:
                    return start + cut + 1
                end = start
            return 0
    except FileNotFoundError as error:
        raise SetupError(f"{path} is not there: is {path.parent} a pincite run folder?") from error


def summary_of(folder: Path) -> Mapping[str, object] | None:
    """The stored summary as JSON values, empty where it cannot be read; None where none was written yet."""
    path = folder / SUMMARY
    return mapping(parsed(path.read_bytes())) if path.exists() else None
