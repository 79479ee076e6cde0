"""The run folder: torn lines, second writers, mixed configurations, full disks."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
from pathlib import Path

import pytest

from sandbox.folder.provenance import Provenance, mixed, provenance
from sandbox.folder.store import RECORDS, SETTINGS, RunFolder, disk_error, read_provenance, read_records
from sandbox.record import Record, digest
from tools.tool import SetupError


def capsule(**compared: object) -> Provenance:
    return provenance({"model": {"name": "m", **compared}}, "2026-11-30T00:00:00+00:00", ["run", "sample"], {})  # type: ignore[dict-item]


def record(name: str, answer: str = "<sentence>東京都。</sentence>") -> Record:
    return Record(sample_id=name, question="人口は？", outcome="answered", answer=answer)


def test_records_come_back_whole_and_the_folder_knows_what_is_finished(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run") as folder:
        folder.begin("", capsule())
        folder.append(record("q1", "改行\nと\u2028と𠮷"))
        folder.append(record("q2"))
    assert [row.answer for row in read_records(tmp_path / "run")] == [
        "改行\nと\u2028と𠮷",
        "<sentence>東京都。</sentence>",
    ]
    with RunFolder(tmp_path / "run") as folder:
        folder.begin("", capsule())
        assert folder.finished == {("q1", 0), ("q2", 0)}


@pytest.mark.parametrize("cut", [1, 5, 60])
def test_a_torn_last_line_is_dropped_and_that_sample_done_again(tmp_path: Path, cut: int) -> None:
    with RunFolder(tmp_path) as folder:
        folder.begin("", capsule())
        folder.append(record("q1"))
        folder.append(record("q2"))
    path = tmp_path / RECORDS
    path.write_bytes(path.read_bytes()[:-cut])
    assert [row.sample_id for row in read_records(tmp_path)] == ["q1"]
    with RunFolder(tmp_path) as folder:
        folder.begin("", capsule())
        assert folder.finished == {("q1", 0)}
        folder.append(record("q2"))
    assert [row.sample_id for row in read_records(tmp_path)] == ["q1", "q2"]


def test_a_damaged_line_in_the_middle_is_named_not_skipped(tmp_path: Path) -> None:
    (tmp_path / RECORDS).write_text('{"sample_id":"q1"}\n' + record("q2").model_dump_json() + "\n", encoding="utf-8")
    with pytest.raises(SetupError, match=r"records.jsonl line 1 cannot be read: question Field required"):
        list(read_records(tmp_path))


def test_a_second_writer_is_refused_while_the_first_is_at_work(tmp_path: Path) -> None:
    with RunFolder(tmp_path), pytest.raises(SetupError, match="in use by another pincite run"), RunFolder(tmp_path):
        pass
    with RunFolder(tmp_path):
        pass


def test_a_folder_made_for_a_run_that_did_not_begin_is_gone_again(tmp_path: Path) -> None:
    out = tmp_path / "runs" / "実行"
    with RunFolder(out, derived=("corpus",)):
        (out / "corpus").mkdir()
        (out / "corpus" / "corpus.sqlite").touch()
    assert not out.exists()


@pytest.mark.parametrize("why", ["there before", "holds a file", "was begun"])
def test_a_folder_that_was_there_before_or_holds_anything_stays(tmp_path: Path, why: str) -> None:
    out = tmp_path / "run"
    if why == "there before":
        out.mkdir()
    with RunFolder(out, derived=("corpus",)) as folder:
        (out / "corpus").mkdir()
        if why == "was begun":
            folder.begin("", capsule())
        if why == "holds a file":
            (out / "覚え書き.txt").touch()
    assert (out / "corpus").is_dir()


def test_whoever_waits_for_a_folder_that_is_taken_back_gets_a_lock_that_counts(tmp_path: Path) -> None:
    """The lock of a folder that is gone locks nothing: two writers would both hold one."""
    out = tmp_path / "run"
    opened, flock = 0, fcntl.flock

    def first_writer_leaves(handle: int, how: int) -> None:
        nonlocal opened
        opened += 1
        if opened == 1:
            (out / ".lock").unlink()
            out.rmdir()
        flock(handle, how)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sandbox.folder.store.fcntl.flock", first_writer_leaves)
        with RunFolder(out), pytest.raises(SetupError, match="in use by another pincite run"), RunFolder(out):
            pass
    assert opened == 3


def test_a_run_of_another_configuration_is_refused_and_told_what_differs(tmp_path: Path) -> None:
    with RunFolder(tmp_path) as folder:
        folder.begin("", capsule(temperature=0.6))
        folder.append(record("q1"))
    with (
        RunFolder(tmp_path) as folder,
        pytest.raises(SetupError, match=r"model\.temperature was 0\.6, is 0\.0.*another --out"),
    ):
        folder.begin("", capsule(temperature=0.0))
    assert [row.sample_id for row in read_records(tmp_path)] == ["q1"]


def test_a_start_that_asks_for_fewer_sessions_than_were_played_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    with RunFolder(tmp_path) as folder:
        folder.begin("repeats = 3\n", capsule(), repeats=3)
        for repeat in range(3):
            folder.append(record("問一").model_copy(update={"repeat": repeat}))
    with (
        RunFolder(tmp_path) as folder,
        pytest.raises(SetupError, match=r"holds up to 3 sessions a question, .* asks for 2"),
    ):
        folder.begin("repeats = 2\n", capsule(), repeats=2)
    assert (tmp_path / SETTINGS).read_text(encoding="utf-8") == "repeats = 3\n"
    with RunFolder(tmp_path) as folder:
        folder.begin("repeats = 4\n", capsule(), repeats=4)


def test_each_start_is_listed_and_the_nonce_stays(tmp_path: Path) -> None:
    with RunFolder(tmp_path) as folder:
        first = folder.begin("", capsule())
    with RunFolder(tmp_path) as folder:
        second = folder.begin("", capsule())
    assert (second.nonce, len(second.starts)) == (first.nonce, 2)
    assert read_provenance(tmp_path) == second


def test_a_full_disk_ends_with_a_clear_sentence_and_no_torn_line(tmp_path: Path) -> None:
    with RunFolder(tmp_path) as folder:
        folder.begin("", capsule())
        folder.append(record("q1"))
        size = (tmp_path / RECORDS).stat().st_size
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, before[1]))
        try:
            with pytest.raises(SetupError, match=r"records\.jsonl"):
                folder.append(record("q2"))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert (tmp_path / RECORDS).stat().st_size == size
        assert "free some space and repeat the same command" in str(
            disk_error(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), tmp_path)
        )


def test_digest_leaves_out_time_and_usage_and_does_not_mind_the_order() -> None:
    fast, slow = record("q1"), record("q1").model_copy(update={"seconds": 9.0, "started": "2026-01-01"})
    assert digest([fast, record("q2")]) == digest([record("q2"), slow])
    assert digest([fast]) != digest([record("q1", "別の答え")])


def test_mixed_names_each_difference_by_its_path() -> None:
    assert mixed({"a": {"b": 1, "c": [1]}}, {"a": {"b": 2, "c": [1]}, "d": None}) == ["a.b was 1, is 2"]


def test_a_start_in_a_checkout_names_its_commit() -> None:
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        pytest.skip("no checkout: nothing to name")
    (start,) = capsule().starts
    assert start.git_commit is not None
    assert len(start.git_commit) == 40
    assert start.git_dirty is not None


@pytest.mark.parametrize("name", [RECORDS, ".lock", "errors.log"])
def test_a_folder_of_a_stranger_cannot_have_other_files_appended_to(tmp_path: Path, name: str) -> None:
    notes = tmp_path / "私のメモ.txt"
    notes.write_text("大切な行\n書きかけ", encoding="utf-8")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).symlink_to(notes)
    said = f"{tmp_path / 'run' / name} is a link: nothing is written through it; put the file itself there"

    def written() -> None:
        with RunFolder(tmp_path / "run") as folder:
            folder.begin("", capsule())
            folder.append_line("errors.log", "x")

    with pytest.raises(SetupError) as refused:
        written()
    assert str(refused.value) == said
    assert notes.read_text(encoding="utf-8") == "大切な行\n書きかけ"


def test_a_folder_of_a_stranger_cannot_have_other_files_written_over(tmp_path: Path) -> None:
    notes = tmp_path / "私のメモ.txt"
    notes.write_text("大切な行", encoding="utf-8")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / f".{SETTINGS}.new").symlink_to(notes)
    with RunFolder(tmp_path / "run") as folder:
        folder.begin("a = 1", capsule())
    assert notes.read_text(encoding="utf-8") == "大切な行"
    assert (tmp_path / "run" / SETTINGS).read_text(encoding="utf-8") == "a = 1\n"
    assert not (tmp_path / "run" / SETTINGS).is_symlink()
