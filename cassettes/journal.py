"""One session's file: append-only, valid vcrpy YAML after every interaction, read without a YAML parser.

Knows: the lines of the file. Must not know: modes, what a request means, where blobs are.

```
version: 1
pincite: {"format":1,"session":"q0001.r0","config":"<sha256>","fields":{…}}
interactions:
# r02 search 200 48211 bytes
- request: {…}
  key: {"channel":"search","id":"…","messages":"","n":1,"round":2,"place":"r02.c1","failed":false,"crc":"…"}
  response: {…}
```
Each value is JSON on one line, which is YAML too once a few characters are escaped. `crc` is the crc32 of the other two
lines and of the key before it, so that a changed character is noticed. A file begins with its first interaction.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from json.encoder import encode_basestring
from pathlib import Path
from typing import Final, cast

from cassettes.blobs import Torn, cut_file, disk_error, flush, write_all
from cassettes.errors import TapeBusy, TapeDamaged
from cassettes.exchange import CHANNELS, Channel
from cassettes.replacing import TO_APPEND, new_file

FORMAT: Final = 1
_REQUEST, _KEY, _RESPONSE, _HEADER, _START = (
    b"- request: ",
    b"  key: ",
    b"  response: ",
    b"pincite: ",
    b"interactions:\n",
)
_N_HEADER_LINES: Final = 3
_N_LINES: Final = 4
"""Of an interaction, its remark among them. A write that was torn has brought fewer."""
_CHANGED: Final = "the disk or somebody has changed it; take the file from a copy or record the session again"
_KEY_TYPES: Final = {"id": str, "messages": str, "n": int, "round": int, "place": str, "failed": bool}
_NOT_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Header:
    """What a journal says of itself. `fields` are the compared settings, flat (`model.decode.temperature`)."""

    session: str
    config: str = ""
    fields: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Key:
    """What names an interaction: the `n`-th (from 1) of its identity in its session. `failed` = no finished call."""

    channel: Channel
    id: str
    messages: str
    n: int
    round: int
    place: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """Where an interaction stands in its journal: `start` to `end` with its comment, `request` to `request_end` and
    `response` to `end` with a newline. Offsets in bytes.
    """

    key: Key
    start: int
    request: int
    request_end: int
    response: int
    end: int
    crc: int


@dataclass(frozen=True, slots=True)
class Lines:
    """The two JSON values of an interaction."""

    request: bytes
    response: bytes


@dataclass(frozen=True, slots=True)
class Journal:
    """A journal as read. `end` is where its last whole interaction ends; `torn` what stood behind it."""

    path: Path
    header: Header
    data: bytes
    entries: tuple[Entry, ...]
    end: int
    torn: Torn | None = None

    def lines(self, entry: Entry) -> Lines:
        """The interaction's values, checked. Raises TapeDamaged."""
        return _lines(self.path, self.data, 0, entry)


# `json.dumps` with arguments makes an encoder for every value, which costs as much as a short line.
_COMPACT: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def encode_interaction(request: bytes, key: Key, response: bytes, remark: str) -> bytes:
    """The lines of one interaction; `request` and `response` are values made by `line`."""
    crc = _crc(request, key, response)
    key_line = line({**_key_fields(key), "crc": f"{crc:08x}"})
    comment = b"# " + remark.encode("ascii", "replace") + b"\n"
    return b"".join((comment, _REQUEST, request, b"\n", _KEY, key_line, b"\n", _RESPONSE, response, b"\n"))


def encode_header(header: Header) -> bytes:
    """The lines before the first interaction."""
    said = line({"format": FORMAT, "session": header.session, "config": header.config, "fields": header.fields or {}})
    return b"version: 1\n" + _HEADER + said + b"\n" + _START


def line(value: object) -> bytes:
    """`value` as one line that is JSON and YAML and reads back equal in both; Japanese stays readable."""
    return yaml_safe(_COMPACT(value))


def quoted(text: str) -> bytes:
    """The inside of a JSON string; pieces can be joined."""
    return yaml_safe(encode_basestring(text))[1:-1]


def yaml_safe(json_text: str) -> bytes:
    """JSON text with what YAML takes for line breaks or refuses as escapes; a lone surrogate becomes U+FFFD."""
    if not json_text.isascii() or "\x7f" in json_text:
        json_text = _NOT_IN_YAML.sub(_escape, json_text)
    return json_text.encode()


def read_journal(path: Path, *, writable: bool = True) -> Journal | None:
    """The journal at `path`; None where there is none or none of it was ever whole.

    A torn last interaction is cut off the file (unless it is not `writable` or somebody is writing it) and named in
    the result; one that has all its lines was changed, not torn, and is never cut. Raises TapeDamaged for that, for a
    file that is not ours and for lines out of order.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    header_end = data.find(b"\n" + _START) + 1 + len(_START)
    last = _last_whole(data)
    if data.count(b"\n", last) >= _N_LINES + (0 if last else _N_HEADER_LINES):
        last = data.rfind(b"\n") + 1
    if last == 0:
        if not encode_header(Header("")).startswith(data[: len(b"version: 1\n")]):
            raise _foreign(path)
        torn = _tail(path, 0, len(data), writable=writable) if data else None
        return Journal(path, Header(""), b"", (), 0, torn) if torn is not None else None
    header = _read_header(path, data[:header_end])
    entries = _read_entries(path, data, header_end, last)
    torn = _tail(path, last, len(data), writable=writable) if last < len(data) else None
    return Journal(path, header, data, entries, last, torn)


def read_header(path: Path) -> Header | None:
    """The header alone, without reading the rest; None where it was never whole. Raises TapeDamaged."""
    with path.open("rb") as file:
        data = b"".join(file.readline() for _ in range(3))
    if data.endswith(b"\n" + _START):
        return _read_header(path, data)
    if not _is_ours(data):
        raise _foreign(path)
    return None


def read_lines(path: Path, entry: Entry) -> Lines:
    """The values of one interaction of the journal at `path`, without reading the others. Raises TapeDamaged."""
    with path.open("rb") as file:
        file.seek(entry.start)
        return _lines(path, file.read(entry.end - entry.start), entry.start, entry)


class JournalWriter:
    """Appends to one journal, each interaction with one write. Locked against other processes until it is closed."""

    def __init__(self, path: Path, header: Header, *, fsync: bool = False) -> None:
        self._path = path
        self._header = header
        self._fsync = fsync
        self._fd = -1
        self._end = 0

    def append(self, interaction: bytes) -> None:
        """Write lines made by `encode_interaction`. Raises TapeDiskError and TapeBusy."""
        if self._fd < 0:
            self.open()
        is_new = self._end == 0
        if is_new:
            interaction = encode_header(self._header) + interaction
        write_all(self._fd, interaction, self._end, self._path)
        self._end += len(interaction)
        if self._fsync:
            flush(self._fd, self._path.parent if is_new else None)

    def open(self) -> None:
        """Lock the file, creating it if need be."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(self._path, TO_APPEND, 0o644)
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._end = os.fstat(self._fd).st_size
        except BlockingIOError as error:
            self.close()
            raise TapeBusy(f"another process is recording {self._header.session} ({self._path})") from error
        except OSError as error:
            raise disk_error(self._path, error) from error

    def close(self) -> None:
        """Give the file free; appending again opens it again."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def rewrite(journal: Journal, kept: tuple[Entry, ...]) -> None:
    """The journal with only these entries: written beside, then renamed. Raises TapeDiskError."""
    beside = journal.path.with_suffix(".rewritten")
    first = min((entry.start for entry in journal.entries), default=journal.end)
    try:
        with new_file(beside) as file:
            file.write(journal.data[:first])
            file.writelines(journal.data[entry.start : entry.end] for entry in kept)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(journal.path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise disk_error(journal.path, error) from error


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return "\\ufffd" if 0xD800 <= code <= 0xDFFF else f"\\u{code:04x}"


def _key_fields(key: Key) -> dict[str, object]:
    return {
        "channel": key.channel,
        "id": key.id,
        "messages": key.messages,
        "n": key.n,
        "round": key.round,
        "place": key.place,
        "failed": key.failed,
    }


def _crc(request: bytes, key: Key, response: bytes) -> int:
    said = f"{key.channel} {key.id} {key.messages} {key.n} {key.round} {key.failed} {key.place}"
    return zlib.crc32(response, zlib.crc32(request, zlib.crc32(said.encode("utf-8", "replace"))))


def _lines(path: Path, data: bytes, offset: int, entry: Entry) -> Lines:
    request = data[entry.request - offset : entry.request_end - offset - 1]
    response = data[entry.response - offset : entry.end - offset - 1]
    if _crc(request, entry.key, response) != entry.crc:
        raise TapeDamaged(f"{path}: the interaction at byte {entry.start} is not what was written: {_CHANGED}")
    return Lines(request, response)


def _last_whole(data: bytes) -> int:
    """Where the last interaction ends that has all its lines; 0 where there is none."""
    end = data.rfind(b"\n") + 1
    while end > 0:
        start = data.rfind(b"\n", 0, end - 1) + 1
        if data.startswith(_RESPONSE, start):
            return end
        if data.startswith(_START, start):
            return 0
        end = start
    return 0


def _tail(path: Path, end: int, size: int, *, writable: bool) -> Torn | None:
    cut = cut_file(path, end, size) if writable else False
    return None if cut is None else Torn(path, end, size - end, cut)


def _is_ours(data: bytes) -> bool:
    """True if a file that begins so may be a journal, however little of it was written."""
    start = b"version: 1\n" + _HEADER
    return start.startswith(data[: len(start)])


def _foreign(path: Path) -> TapeDamaged:
    return TapeDamaged(f"{path} is no journal of this version; `pincite cassette import` reads foreign cassettes")


def _read_header(path: Path, data: bytes) -> Header:
    lines = data.split(b"\n", 3)
    if len(lines) < 3 or lines[0] != b"version: 1" or not lines[1].startswith(_HEADER) or lines[2] + b"\n" != _START:
        raise _foreign(path)
    try:
        said = json.loads(lines[1][len(_HEADER) :])
        if not isinstance(said["fields"], dict):
            raise TypeError("fields is no object")
        return Header(str(said["session"]), str(said["config"]), cast("dict[str, str]", said["fields"]))
    except (ValueError, KeyError, TypeError) as error:
        raise TapeDamaged(f"{path}: its second line cannot be read ({error})") from error


def _read_entries(path: Path, data: bytes, start: int, end: int) -> tuple[Entry, ...]:
    entries: list[Entry] = []
    at = start
    while at < end:
        first = at
        while data.startswith(b"#", at):
            at = data.find(b"\n", at) + 1
        request, key = at, data.find(b"\n", at) + 1
        response = data.find(b"\n", key) + 1
        at = data.find(b"\n", response) + 1
        if not (
            data.startswith(_REQUEST, request) and data.startswith(_KEY, key) and data.startswith(_RESPONSE, response)
        ):
            number = data.count(b"\n", 0, request) + 1
            raise TapeDamaged(f"{path}: line {number} is not the beginning of an interaction: {_CHANGED}")
        try:
            said = cast("dict[str, object]", json.loads(data[key + len(_KEY) : response]))
            entries.append(
                Entry(
                    _key(said),
                    first,
                    request + len(_REQUEST),
                    key,
                    response + len(_RESPONSE),
                    at,
                    int(str(said["crc"]), 16),
                )
            )
        except (ValueError, KeyError, TypeError) as error:
            number = data.count(b"\n", 0, key) + 1
            raise TapeDamaged(f"{path}: line {number} cannot be read ({error}): {_CHANGED}") from error
    return tuple(entries)


def _key(said: dict[str, object]) -> Key:
    channel = said["channel"]
    if channel not in CHANNELS:
        raise ValueError(f"channel {channel!r}")
    for name, kind in _KEY_TYPES.items():
        # The checksum is over texts: 1 and "1" have the same.
        if type(said[name]) is not kind:
            raise TypeError(f"{name} is {said[name]!r}")
    return Key(
        next(known for known in CHANNELS if known == channel),
        cast("str", said["id"]),
        cast("str", said["messages"]),
        cast("int", said["n"]),
        cast("int", said["round"]),
        cast("str", said["place"]),
        cast("bool", said["failed"]),
    )
