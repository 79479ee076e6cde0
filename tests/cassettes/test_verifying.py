"""Every damage that a set can have is found, and named once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from servers.tape_scene import OTHER, PDF, SESSION, page, record, scene

from cassettes.errors import TapeError
from cassettes.naming import journal_path
from cassettes.verifying import VerifyReport, verify


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    folder = tmp_path / "tape"
    record(folder, scene())
    record(folder, [page("https://example.jp/a.pdf", PDF, "application/pdf")], OTHER)
    return folder


def kinds(report: VerifyReport) -> list[str]:
    return [problem.kind for problem in report.problems]


def largest_pack(tape: Path) -> Path:
    return max((tape / "blobs").glob("*.pack"), key=lambda path: path.stat().st_size)


def test_a_whole_tape_has_no_problem_and_looking_changes_nothing(tape: Path) -> None:
    before = {path: path.read_bytes() for path in tape.rglob("*") if path.is_file()}
    report = verify(tape)
    assert (report.n_sessions, report.n_exchanges, report.n_blobs, report.n_unnamed, report.problems) == (
        2,
        13,
        7,
        0,
        [],
    )
    assert {path: path.read_bytes() for path in tape.rglob("*") if path.is_file()} == before


def test_a_run_folder_and_a_single_journal_can_be_checked_too(tape: Path) -> None:
    assert verify(tape.parent).n_exchanges == 13
    one = verify(journal_path(tape, OTHER))
    assert (one.n_sessions, one.n_exchanges, one.n_unnamed, one.problems) == (1, 1, 0, [])
    with pytest.raises(TapeError, match="is no tape"):
        verify(tape / "blobs")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (rb"https://example.jp/nasty.txt", rb"https://example.jp/nasty.tex"),
        ("まず検索".encode(), "まず検束".encode()),
        (rb'"round":2', rb'"round":3'),
        (rb'"code":200', rb'"code":201'),
    ],
)
def test_a_changed_character_is_found(old: bytes, new: bytes, tape: Path) -> None:
    path = journal_path(tape, SESSION)
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))
    assert kinds(verify(tape)) == ["damaged_exchange"]


def test_a_torn_journal_is_found_and_left(tape: Path) -> None:
    path = journal_path(tape, SESSION)
    path.write_bytes(path.read_bytes()[:-20])
    size = path.stat().st_size
    report = verify(tape)
    assert (kinds(report), report.n_exchanges) == (["torn_journal"], 12)
    assert path.stat().st_size == size


def test_a_torn_pack_and_what_it_lost_are_found(tape: Path) -> None:
    path = largest_pack(tape)
    path.write_bytes(path.read_bytes()[:-10])
    assert set(kinds(verify(tape))) == {"torn_pack", "missing_blob"}


def test_a_changed_body_is_found_by_its_hash(tape: Path) -> None:
    path = largest_pack(tape)
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(bytes(data))
    assert kinds(verify(tape)) == ["damaged_blob"]


def test_a_damaged_pack_is_found(tape: Path) -> None:
    path = largest_pack(tape)
    data = bytearray(path.read_bytes())
    data[20] ^= 1
    path.write_bytes(bytes(data))
    assert set(kinds(verify(tape))) == {"damaged_pack", "missing_blob"}


def test_missing_packs_are_named_by_each_exchange_that_needs_them(tape: Path) -> None:
    for path in (tape / "blobs").glob("*.pack"):
        path.unlink()
    report = verify(tape)
    assert set(kinds(report)) == {"missing_blob"}
    assert any(re.search(r"q0002.r0.yaml exchange 0$", problem.where) for problem in report.problems)


def test_a_journal_under_another_name_and_an_exchange_written_twice_are_found(tape: Path) -> None:
    path = journal_path(tape, OTHER)
    data = path.read_bytes()
    path.write_bytes(data + data[data.index(b"# ") :])
    assert kinds(verify(tape)) == ["repeated_exchange"]
    path.write_bytes(data)
    path.rename(tape / "q0003.r0.yaml")
    assert kinds(verify(tape)) == ["misnamed_journal"]


def test_a_file_that_is_no_journal_is_found(tape: Path) -> None:
    (tape / "foreign.yaml").write_text("interactions: []\nversion: 1\n", encoding="utf-8")
    assert kinds(verify(tape)) == ["damaged_journal"]


def test_bodies_that_no_session_names_are_counted_and_no_problem(tape: Path) -> None:
    journal_path(tape, SESSION).unlink()
    report = verify(tape)
    assert (report.n_blobs, report.n_unnamed, report.problems) == (7, 6, [])
