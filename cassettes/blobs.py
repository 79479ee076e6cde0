"""Bodies by their hash, in packs that only grow.

Knows: pack files. Must not know: what a body is or who refers to it.

A pack is a magic line and then records: sha256 of the body (32 bytes), length of what follows (4), crc32 of these 36
bytes (4), the body as one zstd frame. Each writing process has a pack of its own, locked while it writes; a tail that
its death has torn is cut when the packs are next opened. A record whose head is wrong is never cut: that is damage, and
whole records may stand behind it.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import mmap
import os
import secrets
import struct
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cassettes.errors import TapeDamaged, TapeDiskError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAGIC: Final = b"pincite pack 1\n"
LEVEL: Final = 3
MAX_BODY_BYTES: Final = 2**29
"""No body is longer. A pack of somebody else's can hold a frame of a few kilobytes that unpacks to terabytes."""
_HEAD: Final = struct.Struct("<32sII")
_CHECKED: Final = struct.Struct("<32sI")


@dataclass(frozen=True, slots=True)
class Torn:
    """The rest of a write that was never finished: `n_bytes` after byte `offset` of `path`. `cut` = it is gone now."""

    path: Path
    offset: int
    n_bytes: int
    cut: bool


@dataclass(frozen=True, slots=True)
class _Where:
    pack: _Pack
    offset: int
    n_bytes: int


class Blobs:
    """The packs of one folder. `fsync` = a body is on the disk, not only with the operating system, when `put` returns.

    With `writable` False nothing on disk is changed, not even a torn tail.
    """

    def __init__(self, folder: Path, *, writable: bool = True, fsync: bool = False) -> None:
        self._folder = folder
        self._writable = writable
        self._fsync = fsync
        # One compressor for all: most bodies are short, and making one costs more than packing them.
        self._compressor = zstd.ZstdCompressor(level=LEVEL)
        self._index: dict[bytes, _Where] = {}
        self._packs: dict[str, _Pack] = {}
        self._writer: _Pack | None = None
        self.torn: list[Torn] = []
        """Torn tails found so far."""
        self.damaged: list[str] = []
        """Sentences about packs that could not be read to their end."""
        self._scan()

    def __contains__(self, sha256: str) -> bool:
        return bytes.fromhex(sha256) in self._index

    def __len__(self) -> int:
        return len(self._index)

    def __iter__(self) -> Iterator[str]:
        return (key.hex() for key in self._index)

    def put(self, body: bytes) -> str:
        """The body's sha256 in hex; it is stored when this returns. Raises TapeDiskError."""
        digest = hashlib.sha256(body)
        key = digest.digest()
        if key not in self._index:
            packed = self._compressor.compress(body, mode=zstd.ZstdCompressor.FLUSH_FRAME)
            pack = self._writer or self._open_writer()
            self._index[key] = _Where(pack, pack.append(key, packed, fsync=self._fsync), len(packed))
        return digest.hexdigest()

    def get(self, sha256: str) -> bytes:
        """The body, its hash checked. Raises TapeDamaged, naming pack and place, and KeyError for an unknown hash."""
        key = bytes.fromhex(sha256)
        where = self._index.get(key)
        if where is None:
            self._scan()  # another process may have written since
            where = self._index.get(key)
            if where is None:
                raise KeyError(sha256)
        packed = where.pack.read(where.offset, where.n_bytes)
        try:
            frame = zstd.ZstdDecompressor()
            body = frame.decompress(packed, MAX_BODY_BYTES)
        except zstd.ZstdError as error:
            raise _damaged(where, sha256, "cannot be unpacked") from error
        if not frame.eof:
            raise _damaged(where, sha256, f"has no end within {MAX_BODY_BYTES} bytes")
        if hashlib.sha256(body).digest() != key:
            raise _damaged(where, sha256, "has another hash")
        return body

    def close(self) -> None:
        """Close all packs; the folder can be opened again."""
        for pack in self._packs.values():
            pack.close()
        self._packs.clear()
        self._index.clear()
        self._writer = None

    def _open_writer(self) -> _Pack:
        name = f"{os.getpid()}-{secrets.token_hex(4)}.pack"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._writer = self._packs[name] = _Pack.create(self._folder / name)
        except OSError as error:
            raise disk_error(self._folder / name, error) from error
        return self._writer

    def _scan(self) -> None:
        if not self._folder.is_dir():
            return
        for path in sorted(self._folder.glob("*.pack")):
            pack = self._packs.get(path.name)
            if pack is self._writer and pack is not None:
                continue
            if pack is None:
                pack = self._packs[path.name] = _Pack.open(path)
            for key, offset, n_bytes in pack.new_records():
                self._index.setdefault(key, _Where(pack, offset, n_bytes))
            if pack.damage and pack.damage not in self.damaged:
                self.damaged.append(pack.damage)
            torn = pack.cut_tail(writable=self._writable)
            if torn is not None and torn not in self.torn:
                self.torn.append(torn)


class _Pack:
    """One pack file. `end` is where its last whole record ends."""

    def __init__(self, path: Path, descriptor: int, end: int) -> None:
        self.path = path
        self.end = end
        self.damage = ""
        self._fd = descriptor

    @classmethod
    def create(cls, path: Path) -> _Pack:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        write_all(descriptor, MAGIC, 0, path)
        return cls(path, descriptor, len(MAGIC))

    @classmethod
    def open(cls, path: Path) -> _Pack:
        return cls(path, os.open(path, os.O_RDONLY | os.O_CLOEXEC), 0)

    def append(self, key: bytes, packed: bytes, *, fsync: bool) -> int:
        """Where the data stands."""
        record = _HEAD.pack(key, len(packed), zlib.crc32(_CHECKED.pack(key, len(packed)))) + packed
        write_all(self._fd, record, self.end, self.path)
        if fsync:
            flush(self._fd, self.path.parent if self.end == len(MAGIC) else None)
        offset = self.end + _HEAD.size
        self.end += len(record)
        return offset

    def read(self, offset: int, n_bytes: int) -> bytes:
        return os.pread(self._fd, n_bytes, offset)

    def new_records(self) -> Iterator[tuple[bytes, int, int]]:
        """(sha256, offset, length) of the whole records after `end`, which moves on."""
        size = os.fstat(self._fd).st_size
        if size <= self.end or self.damage:
            return
        with mmap.mmap(self._fd, size, prot=mmap.PROT_READ) as data:
            if self.end == 0:
                if data[: len(MAGIC)] != MAGIC[:size]:
                    self.damage = f"{self.path} is no pack of this version"
                    return
                if size < len(MAGIC):
                    return
                self.end = len(MAGIC)
            while self.end + _HEAD.size <= size:
                key, n_bytes, crc = _HEAD.unpack_from(data, self.end)
                if zlib.crc32(data[self.end : self.end + _CHECKED.size]) != crc:
                    self.damage = (
                        f"{self.path}: the record at byte {self.end} is damaged; what stands behind it is lost"
                    )
                    return
                start = self.end + _HEAD.size
                if start + n_bytes > size:
                    return
                self.end = start + n_bytes
                yield key, start, n_bytes

    def cut_tail(self, *, writable: bool) -> Torn | None:
        size = os.fstat(self._fd).st_size
        if size <= self.end or self.damage:
            return None
        cut = cut_file(self.path, self.end, size) if writable else False
        if cut is None:
            return None
        return Torn(self.path, self.end, size - self.end, cut)

    def close(self) -> None:
        os.close(self._fd)


def cut_file(path: Path, end: int, size: int) -> bool | None:
    """True if `path` now ends at `end`; False if it may not be written; None if somebody is writing it (no tail then)."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_size != size:
            return None
        os.ftruncate(descriptor, end)
    except BlockingIOError:
        return None
    finally:
        os.close(descriptor)
    return True


def write_all(descriptor: int, data: bytes, end: int, path: Path) -> None:
    """Append `data` to a file that ends at `end`, wholly or not at all. Raises TapeDiskError."""
    try:
        n_written = os.write(descriptor, data)
        while n_written < len(data):
            more = os.write(descriptor, data[n_written:])
            if more == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            n_written += more
    except OSError as error:
        os.ftruncate(descriptor, end)
        raise disk_error(path, error) from error


def flush(descriptor: int, folder: Path | None) -> None:
    """Onto the disk itself: the file and, where it is new, its name in `folder`."""
    os.fsync(descriptor)
    if folder is not None:
        names = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(names)
        finally:
            os.close(names)


def disk_error(path: Path, error: OSError) -> TapeDiskError:
    """What a failed write means and what to do about it."""
    if error.errno == errno.ELOOP:
        return TapeDiskError(f"{path} is a link: nothing is written through it; put the file itself there")
    if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return TapeDiskError(
            f"cannot write {path}: {error.strerror or error}; mend that or choose another place, and repeat the command"
        )
    return TapeDiskError(
        f"cannot write {path}: {error.strerror or error}. What was recorded before is whole; "
        "make room and repeat the same command, it goes on where the tape ends."
    )


def _damaged(where: _Where, sha256: str, what: str) -> TapeDamaged:
    return TapeDamaged(
        f"the blob {sha256} {what}: {where.pack.path}, {where.n_bytes} bytes at byte {where.offset}. "
        "The disk or somebody has changed it; take the pack from a copy or record the session again."
    )
