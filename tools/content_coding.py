"""Undoing Content-Encoding in bounded pieces: gzip, deflate, br, zstd, up to two of them on top of each other.

Knows: bytes in, bytes out, and when a body is not what its header says. Must not know: sizes allowed (the caller stops
reading) or where the bytes come from. httpx2's own decoders are not used here: they drop all but the first member of a
gzip file and take a truncated br or gzip body for a whole one.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, cast

import brotli  # type: ignore[import-untyped]
from backports import zstd

PIECE_BYTES = 2**18
MAX_CODINGS = 2


class CodingError(Exception):
    """The body is not what its Content-Encoding says, or it ends too early."""


class Coding(Protocol):
    """One coding being undone."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What `data` decodes to, in pieces of bounded size. Raises CodingError."""
        ...

    def finish(self) -> None:
        """Raises CodingError if the body ended too early."""
        ...


class Unpacker:
    """Undoes all codings of a Content-Encoding header. An unknown word in it (`utf-8`) is taken for no coding, as
    browsers do. Raises CodingError for more than two codings.
    """

    def __init__(self, content_encoding: str) -> None:
        words = [word.strip().lower() for word in content_encoding.split(",")]
        codings = [_CODINGS[word] for word in words if word in _CODINGS]
        if len(codings) > MAX_CODINGS:
            raise CodingError("the page is packed more than twice")
        self._codings: list[Coding] = [coding() for coding in reversed(codings)]
        self._fed = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The decoded pieces that `data` completes. Raises CodingError."""
        self._fed = self._fed or bool(data)
        pieces: Iterable[bytes] = (data,)
        for coding in self._codings:
            pieces = _through(coding, pieces)
        yield from pieces

    def finish(self) -> None:
        """Say that the body is over. Raises CodingError if it ended too early; an empty body is whole."""
        if self._fed:
            for coding in self._codings:
                coding.finish()


def _through(coding: Coding, pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        yield from coding.feed(piece)


class _Inflater(Protocol):
    @property
    def eof(self) -> bool: ...


def _has_more(inflater: _Inflater, last_piece: bytes) -> bool:
    """Whether a full piece may have left something behind in the inflater, although all input is taken."""
    return len(last_piece) == PIECE_BYTES and not inflater.eof


class _Gzip:
    def __init__(self) -> None:
        self._inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
        self._n_members = 0
        self._in_padding = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        piece = b""
        while (data or _has_more(self._inflater, piece)) and not self._in_padding:
            if self._inflater.eof:
                # Another member, or padding behind the last one, which every reader of gzip ignores.
                self._inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
            try:
                piece = self._inflater.decompress(data, PIECE_BYTES)
            except zlib.error as error:
                if self._n_members == 0:
                    raise CodingError("the page is not gzip, although its header says so") from error
                self._in_padding = True
                return
            self._n_members += self._inflater.eof
            data = self._inflater.unused_data if self._inflater.eof else self._inflater.unconsumed_tail
            yield piece

    def finish(self) -> None:
        if not (self._inflater.eof or self._in_padding):
            raise CodingError("the gzip data of the page ends too early")


class _Deflate:
    """`deflate` means zlib; many servers send the bare stream instead, which the first two bytes show."""

    def __init__(self) -> None:
        self._inflater = zlib.decompressobj()
        self._head: bytes | None = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._head is not None:
            self._head += data
            if len(self._head) < 2:
                return
            data, self._head = self._head, None
            if data[0] & 0x0F != 8 or int.from_bytes(data[:2], "big") % 31:
                self._inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        piece = b""
        while (data and not self._inflater.eof) or _has_more(self._inflater, piece):
            try:
                piece = self._inflater.decompress(data, PIECE_BYTES)
            except zlib.error as error:
                raise CodingError("the page is not deflate, although its header says so") from error
            data = self._inflater.unconsumed_tail
            yield piece

    def finish(self) -> None:
        if not self._inflater.eof:
            raise CodingError("the deflate data of the page ends too early")


class _BrotliDecompressor(Protocol):
    def process(self, data: bytes, /, output_buffer_limit: int) -> bytes: ...

    def is_finished(self) -> bool: ...


# The package has no types; these two lines give it ours.
_brotli_decompressor = cast(Callable[[], _BrotliDecompressor], brotli.Decompressor)  # pyright: ignore[reportUnknownMemberType]
_BrotliError = cast(type[Exception], brotli.error)  # pyright: ignore[reportUnknownMemberType]


class _Brotli:
    def __init__(self) -> None:
        self._inflater = _brotli_decompressor()

    def feed(self, data: bytes) -> Iterator[bytes]:
        try:
            piece = self._inflater.process(data, output_buffer_limit=PIECE_BYTES)
            while piece:
                yield piece
                piece = self._inflater.process(b"", output_buffer_limit=PIECE_BYTES)
        except _BrotliError as error:
            raise CodingError("the page is not br, although its header says so") from error

    def finish(self) -> None:
        if not self._inflater.is_finished():
            raise CodingError("the br data of the page ends too early")


class _Zstd:
    def __init__(self) -> None:
        self._inflater = zstd.ZstdDecompressor()

    def feed(self, data: bytes) -> Iterator[bytes]:
        try:
            while data or not (self._inflater.needs_input or self._inflater.eof):
                if self._inflater.eof:
                    self._inflater = zstd.ZstdDecompressor()
                piece = self._inflater.decompress(data, PIECE_BYTES)
                data = self._inflater.unused_data if self._inflater.eof else b""
                yield piece
        except zstd.ZstdError as error:
            raise CodingError("the page is not zstd, although its header says so") from error

    def finish(self) -> None:
        if not self._inflater.eof:
            raise CodingError("the zstd data of the page ends too early")


_CODINGS: dict[str, type[Coding]] = {
    "gzip": _Gzip,
    "x-gzip": _Gzip,
    "deflate": _Deflate,
    "br": _Brotli,
    "zstd": _Zstd,
}
