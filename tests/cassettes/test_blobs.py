from __future__ import annotations

import hashlib
import os
import resource
import struct
import sys
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassettes.blobs import MAGIC, MAX_BODY_BYTES, Blobs, Torn
from cassettes.errors import TapeDamaged, TapeDiskError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

TEXT = "東京都の子育て支援制度は、令和６年度に改正された。".encode() * 60
SJIS = "ｼﾌﾄ JISのページ～".encode("cp932") * 50


def only_pack(folder: Path) -> Path:
    (pack,) = folder.glob("*.pack")
    return pack


def stored(folder: Path, *bodies: bytes) -> list[str]:
    blobs = Blobs(folder)
    names = [blobs.put(body) for body in bodies]
    blobs.close()
    return names


def test_a_body_comes_back_under_its_hash(tmp_path: Path) -> None:
    names = stored(tmp_path, TEXT, SJIS, b"")
    assert names == [hashlib.sha256(body).hexdigest() for body in (TEXT, SJIS, b"")]
    blobs = Blobs(tmp_path)
    assert [blobs.get(name) for name in names] == [TEXT, SJIS, b""]
    assert list(blobs) == names
    blobs.close()


def test_the_same_body_is_stored_once(tmp_path: Path) -> None:
    stored(tmp_path, TEXT)
    size = only_pack(tmp_path).stat().st_size
    stored(tmp_path, TEXT, TEXT)
    assert only_pack(tmp_path).stat().st_size == size


def test_each_writer_has_a_pack_of_its_own_and_sees_what_others_write(tmp_path: Path) -> None:
    first, second = Blobs(tmp_path), Blobs(tmp_path)
    name, other = first.put(TEXT), second.put(SJIS)
    assert len(list(tmp_path.glob("*.pack"))) == 2
    assert (first.get(other), second.get(name)) == (SJIS, TEXT)
    later = first.put(b"x" * 2_000)
    assert second.get(later) == b"x" * 2_000
    with pytest.raises(KeyError):
        first.get("0" * 64)
    first.close()
    second.close()


def test_a_flipped_bit_is_found_and_named(tmp_path: Path) -> None:
    name, other = stored(tmp_path, TEXT, SJIS)
    pack = only_pack(tmp_path)
    data = bytearray(pack.read_bytes())
    data[15 + 40 + 20] ^= 1
    pack.write_bytes(data)
    blobs = Blobs(tmp_path)
    with pytest.raises(TapeDamaged, match=rf"the blob {name} .*{pack.name}, \d+ bytes at byte 55"):
        blobs.get(name)
    assert blobs.get(other) == SJIS
    blobs.close()


def test_a_flipped_bit_in_a_length_hides_later_records_and_cuts_nothing(tmp_path: Path) -> None:
    name, _ = stored(tmp_path, TEXT, SJIS)
    pack = only_pack(tmp_path)
    data = bytearray(pack.read_bytes())
    second = 15 + 40 + int.from_bytes(data[47:51], "little")
    data[second + 32] ^= 1
    pack.write_bytes(data)
    blobs = Blobs(tmp_path)
    assert blobs.get(name) == TEXT
    assert blobs.damaged == [f"{pack}: the record at byte {second} is damaged; what stands behind it is lost"]
    assert blobs.torn == []
    assert pack.read_bytes() == data
    blobs.close()


@pytest.mark.parametrize("lost", [1, 30, 60])
def test_a_torn_tail_is_cut_and_reported(tmp_path: Path, lost: int) -> None:
    name, torn = stored(tmp_path, TEXT, os.urandom(40))
    pack = only_pack(tmp_path)
    whole = pack.read_bytes()
    first_end = 15 + 40 + int.from_bytes(whole[47:51], "little")
    pack.write_bytes(whole[:-lost])
    blobs = Blobs(tmp_path)
    assert blobs.torn == [Torn(pack, first_end, len(whole) - lost - first_end, cut=True)]
    assert pack.stat().st_size == first_end
    assert blobs.get(name) == TEXT
    assert torn not in blobs
    blobs.close()


def test_a_torn_tail_of_a_pack_that_is_only_read_stays(tmp_path: Path) -> None:
    stored(tmp_path, TEXT)
    pack = only_pack(tmp_path)
    pack.write_bytes(pack.read_bytes()[:-1])
    size = pack.stat().st_size
    blobs = Blobs(tmp_path, writable=False)
    assert [torn.cut for torn in blobs.torn] == [False]
    assert pack.stat().st_size == size
    blobs.close()


def test_a_pack_that_is_being_written_is_not_cut(tmp_path: Path) -> None:
    writer = Blobs(tmp_path)
    writer.put(TEXT)
    with only_pack(tmp_path).open("ab") as file:
        file.write(b"half a record")
    reader = Blobs(tmp_path)
    assert reader.torn == []
    assert only_pack(tmp_path).read_bytes().endswith(b"half a record")
    reader.close()
    writer.close()


def test_a_file_that_is_no_pack_is_named_and_left_alone(tmp_path: Path) -> None:
    alien = tmp_path / "alien.pack"
    alien.write_bytes(b"something else entirely")
    blobs = Blobs(tmp_path)
    assert blobs.damaged == [f"{alien} is no pack of this version"]
    assert alien.read_bytes() == b"something else entirely"
    blobs.close()


def test_a_full_disk_leaves_whole_records_and_says_what_to_do(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    name = blobs.put(TEXT)
    end = only_pack(tmp_path).stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (end + 500, hard))
    try:
        with pytest.raises(TapeDiskError, match="make room and repeat the same command"):
            blobs.put(os.urandom(5_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert only_pack(tmp_path).stat().st_size == end
    assert blobs.get(name) == TEXT
    again = blobs.put(SJIS)
    blobs.close()
    fresh = Blobs(tmp_path)
    assert (fresh.get(name), fresh.get(again), fresh.torn, fresh.damaged) == (TEXT, SJIS, [], [])
    fresh.close()


@given(st.lists(st.binary(max_size=200), max_size=8), st.integers(min_value=0, max_value=400))
def test_whatever_is_cut_off_a_pack_the_records_before_it_are_whole(
    tmp_path_factory: pytest.TempPathFactory, bodies: list[bytes], cut: int
) -> None:
    folder = tmp_path_factory.mktemp("packs")
    names = stored(folder, *bodies)
    for pack in folder.glob("*.pack"):
        data = pack.read_bytes()
        pack.write_bytes(data[: max(len(data) - cut, 0)])
    blobs = Blobs(folder)
    kept = [blobs.get(name) for name in dict.fromkeys(names) if name in blobs]
    assert kept == list(dict.fromkeys(bodies))[: len(kept)]
    assert blobs.damaged == []
    blobs.close()


def test_a_small_frame_that_unpacks_without_end_is_damage(tmp_path: Path) -> None:
    zeros = bytes(2**24)
    compressor, digest = zstd.ZstdCompressor(), hashlib.sha256()
    packed = b""
    for _ in range(MAX_BODY_BYTES // len(zeros) + 1):
        digest.update(zeros)
        packed += compressor.compress(zeros)
    packed += compressor.flush()
    head = struct.pack("<32sI", digest.digest(), len(packed))
    (tmp_path / "a.pack").write_bytes(MAGIC + head + struct.pack("<I", zlib.crc32(head)) + packed)
    blobs = Blobs(tmp_path, writable=False)
    with pytest.raises(TapeDamaged, match="has no end within 536870912 bytes"):
        blobs.get(digest.hexdigest())
    blobs.close()
