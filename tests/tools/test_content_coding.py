from __future__ import annotations

import gzip
import random
import zlib
from typing import cast

import brotli  # type: ignore[import-untyped]
import pytest
from backports import zstd

from tools.content_coding import PIECE_BYTES, CodingError, Unpacker

TEXT = ("東京都の子育て支援。" * 20_000).encode() + random.Random(7).randbytes(100_000)


def _br(data: bytes) -> bytes:
    return cast(bytes, brotli.compress(data, quality=3))  # pyright: ignore[reportUnknownMemberType]


def _bare_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


PACKED = {
    "gzip": gzip.compress(TEXT),
    "x-gzip": gzip.compress(TEXT[:999]) + gzip.compress(TEXT[999:]),
    "GZIP ": gzip.compress(TEXT) + b"\0" * 30,
    "gzip, identity": gzip.compress(TEXT) + b"<!-- cache -->",
    "deflate": zlib.compress(TEXT),
    "Deflate": _bare_deflate(TEXT),
    "br": _br(TEXT),
    "zstd": zstd.compress(TEXT),
    "ZSTD": zstd.compress(TEXT[:999]) + zstd.compress(TEXT[999:]),
    "gzip, br": _br(gzip.compress(TEXT)),
    "gzip,gzip": gzip.compress(gzip.compress(TEXT)),
    "": TEXT,
    "utf-8": TEXT,
}


def _unpack(coding: str, data: bytes, step: int) -> bytes:
    unpacker = Unpacker(coding)
    pieces = [piece for at in range(0, len(data), step) for piece in unpacker.feed(data[at : at + step])]
    unpacker.finish()
    assert max(map(len, pieces), default=0) <= max(2 * PIECE_BYTES, step)
    return b"".join(pieces)


@pytest.mark.parametrize("coding", PACKED)
@pytest.mark.parametrize("step", [1_237, 10**9])
def test_every_coding_is_undone_in_bounded_pieces_however_it_arrives(coding: str, step: int) -> None:
    assert _unpack(coding, PACKED[coding], step) == TEXT


@pytest.mark.parametrize("n_more", [1, 12, 229])
def test_what_a_full_piece_leaves_inside_still_comes(n_more: int) -> None:
    data = b"\0" * (PIECE_BYTES + n_more)
    for coding, packed in [("gzip", gzip.compress(data)), ("deflate", _bare_deflate(data)), ("br", _br(data))]:
        assert _unpack(coding, packed, 10**9) == data


def test_single_bytes_are_enough() -> None:
    small = "短い文。".encode()
    for coding, data in [("gzip", gzip.compress(small)), ("deflate", _bare_deflate(small)), ("br", _br(small))]:
        assert _unpack(coding, data, 1) == small


@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "deflate", "Deflate", "br", "zstd", "ZSTD", "gzip, br"])
@pytest.mark.parametrize("damage", ["cut", "plain", "garbage"])
def test_a_body_that_lies_or_ends_early_is_an_error(coding: str, damage: str) -> None:
    packed = PACKED[coding]
    data = {"cut": packed[: len(packed) * 3 // 4], "plain": b"<html>" * 99, "garbage": b"\x01" + packed[1:]}[damage]
    with pytest.raises(CodingError):
        _unpack(coding, data, 1_237)


def test_an_empty_body_is_whole_in_every_coding() -> None:
    assert [_unpack(coding, b"", 1) for coding in ("gzip", "deflate", "br", "zstd")] == [b"", b"", b"", b""]


def test_a_body_packed_three_times_is_refused() -> None:
    with pytest.raises(CodingError, match="more than twice"):
        Unpacker("gzip, br, gzip")


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "gzip,gzip"])
def test_a_bomb_can_be_stopped_after_the_first_pieces(coding: str) -> None:
    zeros = b"\0" * 100_000_000
    bomb = {
        "gzip": gzip.compress(zeros, 1),
        "deflate": zlib.compress(zeros, 1),
        "br": _br(zeros),
        "zstd": zstd.compress(zeros),
        "gzip,gzip": gzip.compress(gzip.compress(zeros, 1)),
    }[coding]
    n_bytes = 0
    for piece in Unpacker(coding).feed(bomb):
        n_bytes += len(piece)
        if n_bytes > 1_000_000:
            break
    assert 1_000_000 < n_bytes < 1_000_000 + 4 * PIECE_BYTES
