"""One pack instead of many, and nothing lost on the way."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from servers.tape_scene import OTHER, PDF, SESSION, page, record, record_encoded, replayed, scene

from cassettes.errors import TapeBusy, TapeDamaged, TapeDiskError
from cassettes.exchange import TapeResponse
from cassettes.modes import Modes
from cassettes.naming import journal_path
from cassettes.packing import UNFINISHED, PackSummary, pack
from cassettes.reading import Exchange, Tape
from cassettes.tape import TapeSet
from cassettes.verifying import verify


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    """A tape of three packs, one session of which is gone."""
    folder = tmp_path / "tape"
    record(folder, scene())
    record(folder, [page("https://example.jp/gone", b"\xff" * 5_000, "image/png")], "gone.r0")
    record_encoded(folder)
    record(
        folder, [page(f"https://example.jp/{n}", f"{'頁' * 999}{n}".encode(), "text/plain") for n in range(20)], OTHER
    )
    journal_path(folder, "gone.r0").unlink()
    return folder


def packs(folder: Path) -> list[Path]:
    return sorted((folder / "blobs").iterdir())


def exchanges(folder: Path) -> list[Exchange]:
    with Tape(folder) as opened:
        return [one for session in opened.sessions() for one in session.exchanges()]


def test_packs_become_one_and_what_no_session_names_goes(tape: Path) -> None:
    before, whole = packs(tape), exchanges(tape)
    assert len(before) == 3
    size = sum(path.stat().st_size for path in before)
    done = pack(tape)
    (after,) = packs(tape)
    assert done == PackSummary(3, 1, 27, 1, size, after.stat().st_size)
    assert exchanges(tape) == whole
    report = verify(tape)
    assert (report.n_blobs, report.n_unnamed, report.problems) == (27, 0, [])


def test_packing_again_touches_nothing(tape: Path) -> None:
    pack(tape)
    (before,) = packs(tape)
    data, when = before.read_bytes(), before.stat().st_mtime_ns
    again = pack(tape)
    assert (again.n_packs_before, again.n_packs, again.n_dropped) == (1, 1, 0)
    assert packs(tape) == [before]
    assert (before.read_bytes(), before.stat().st_mtime_ns) == (data, when)


def test_a_packed_tape_replays_and_goes_on(tape: Path) -> None:
    pack(tape)
    request = page("https://example.jp/a.pdf", b"", "").request
    assert replayed(tape, SESSION, [request])[0].body == PDF
    record(tape, [page("https://example.jp/more", b"\xfe" * 3_000, "image/png")], "more.r0")
    assert len(packs(tape)) == 2
    assert verify(tape).problems == []


def test_a_tape_whose_sessions_are_all_gone_keeps_no_pack(tape: Path) -> None:
    for journal in tape.glob("*.yaml"):
        journal.unlink()
    assert pack(tape).n_packs == 0
    assert packs(tape) == []


@pytest.mark.parametrize("state", ["half written", "both there", "some old ones gone"])
def test_whatever_a_crash_leaves_is_whole_and_is_cleaned_up_by_the_next_pack(
    state: str, tape: Path, tmp_path: Path
) -> None:
    whole = exchanges(tape)
    old = tmp_path / "old"
    shutil.copytree(tape / "blobs", old)
    pack(tape)
    (new,) = packs(tape)
    if state == "half written":
        data = new.read_bytes()
        new.unlink()
        shutil.copytree(old, tape / "blobs", dirs_exist_ok=True)
        (tape / "blobs" / UNFINISHED).mkdir()
        (tape / "blobs" / UNFINISHED / new.name).write_bytes(data[: len(data) // 2])
    else:
        for path in sorted(old.iterdir())[1 if state == "some old ones gone" else 0 :]:
            shutil.copy(path, tape / "blobs")
    assert exchanges(tape) == whole
    assert verify(tape).problems == []
    assert pack(tape).n_packs == 1
    assert len(packs(tape)) == 1
    assert exchanges(tape) == whole


CRASHING = """
import sys
from pathlib import Path
from cassettes.packing import pack
print("ready", flush=True)
pack(Path(sys.argv[1]))
"""


def test_killed_at_any_moment_it_loses_nothing(tmp_path: Path) -> None:
    home = Path(__file__).resolve().parents[2]
    for n in range(4):
        record(
            tmp_path / "tape",
            [page(f"https://example.jp/{n}/{i}", bytes([n, i]) * 40_000, "x/y") for i in range(50)],
            f"{n}",
        )
    whole = exchanges(tmp_path / "tape")
    for delay_s in (0.0, 0.003, 0.01, 0.03):
        copy = tmp_path / f"copy{delay_s}"
        shutil.copytree(tmp_path / "tape", copy)
        with subprocess.Popen([sys.executable, "-c", CRASHING, str(copy)], cwd=home, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(delay_s)
            process.kill()
        assert exchanges(copy) == whole
        assert verify(copy).problems == []
        pack(copy)
        assert exchanges(copy) == whole
        assert len(packs(copy)) == 1


def test_a_session_that_is_being_recorded_is_not_packed(tape: Path) -> None:
    before = packs(tape)
    with TapeSet(tape, Modes.resume()) as tapes, tapes.session("new.r0") as session:
        one = page("https://example.jp/new", b"\xfd" * 2_000, "image/png")

        async def live() -> TapeResponse:
            assert isinstance(one.answer, TapeResponse)
            return one.answer

        asyncio.run(session.exchange(one.request, live))
        with pytest.raises(TapeBusy, match="is being written"):
            pack(tape)
    assert set(before) < set(packs(tape))
    assert pack(tape).n_packs == 1


@pytest.mark.parametrize("where", ["journal", "blob", "pack"])
def test_a_damaged_tape_is_not_packed(where: str, tape: Path) -> None:
    before = packs(tape)
    if where == "journal":
        path = journal_path(tape, SESSION)
        path.write_bytes(path.read_bytes().replace(b"https://example.jp/a.pdf", b"https://example.jp/b.pdf", 1))
    else:
        path = max(before, key=lambda one: one.stat().st_size)
        data = bytearray(path.read_bytes())
        # The first record's head is at byte 15, its data 40 bytes on.
        data[20 if where == "pack" else len(data) - 5] ^= 1
        path.write_bytes(bytes(data))
    with pytest.raises(TapeDamaged):
        pack(tape)
    assert packs(tape) == before


def test_a_link_in_a_strangers_tape_takes_no_packs_of_another_tape(tape: Path, tmp_path: Path) -> None:
    own = tmp_path / "私のテープ"
    record(own, scene())
    before = packs(own)
    (tape / "blobs" / UNFINISHED).symlink_to(own / "blobs")
    with pytest.raises(TapeDiskError, match="File exists"):
        pack(tape)
    assert packs(own) == before
    assert verify(own).problems == []
