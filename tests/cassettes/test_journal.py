from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from cassettes.blobs import Torn
from cassettes.errors import TapeBusy, TapeDamaged
from cassettes.journal import (
    Header,
    Journal,
    JournalWriter,
    Key,
    encode_header,
    encode_interaction,
    line,
    quoted,
    read_header,
    read_journal,
    read_lines,
    rewrite,
)

HARD = "東京\u0085 \u2028\u2029\ufeff\ufffe\uffff\x7f\x9f\x00\t\"\\/'#: 😀\U0001fffe é か\u3099 【】"
HEADER = Header("問1/子育て.r0", "ab" * 32, {"model.decode.temperature": "0.6", "search.engine": '"brave"'})


def key(n: int, channel: str = "search", **more: object) -> Key:
    return Key("search" if channel == "search" else "model", "9f2c" * 8, "", n, 2, **more)  # type: ignore[arg-type]


def interaction(n: int, text: str = HARD) -> bytes:
    request = line({"method": "GET", "uri": f"https://s.example/?q={n}", "body": "", "headers": {}})
    response = line(
        {"status": {"code": 200, "message": "OK"}, "headers": {"x-y": [text]}, "body": {"string": text}},
    )
    return encode_interaction(request, key(n, place=f"r02.c{n}"), response, f"r02 search 200 {len(text)} bytes")


def written(path: Path, *interactions: bytes) -> Path:
    writer = JournalWriter(path, HEADER)
    for lines in interactions:
        writer.append(lines)
    writer.close()
    return path


def read(path: Path) -> Journal:
    journal = read_journal(path)
    assert journal is not None
    return journal


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    journal = read(written(tmp_path / "a.yaml", interaction(1), interaction(2)))
    assert journal.header == HEADER
    assert [entry.key for entry in journal.entries] == [key(1, place="r02.c1"), key(2, place="r02.c2")]
    second = journal.lines(journal.entries[1])
    assert json.loads(second.request)["uri"] == "https://s.example/?q=2"
    assert json.loads(second.response)["body"] == {"string": HARD}
    assert read_lines(journal.path, journal.entries[1]) == second
    assert read_header(journal.path) == HEADER
    assert journal.torn is None


def test_a_journal_is_created_with_its_first_interaction(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path / "tape" / "a.yaml", HEADER)
    assert not (tmp_path / "tape").exists()
    assert read_journal(tmp_path / "tape" / "a.yaml") is None
    writer.append(interaction(1))
    writer.close()
    assert (tmp_path / "tape" / "a.yaml").read_bytes() == encode_header(HEADER) + interaction(1)


def test_it_is_the_same_yaml_after_every_interaction(tmp_path: Path) -> None:
    data = written(tmp_path / "a.yaml", *(interaction(n) for n in range(1, 5))).read_bytes()
    ends = [at + 1 for at, byte in enumerate(data) if byte == 10]
    n_whole = 0
    for end in ends:
        cut = data[:end]
        if cut.endswith(b"\n") and cut.rpartition(b"\n  response: ")[2].count(b"\n") == 1 and b"  response: " in cut:
            n_whole += 1
            assert cut.splitlines()[-1].startswith(b"  response: ")
            for loader in (yaml.SafeLoader, yaml.CSafeLoader):
                loaded = yaml.load(cut, loader)
                assert (loaded["version"], len(loaded["interactions"])) == (1, n_whole)
                assert loaded["interactions"][-1]["response"]["body"]["string"] == HARD
                assert loaded["interactions"][-1]["key"]["n"] == n_whole
    assert n_whole == 4


def test_wherever_a_write_is_torn_the_interactions_before_it_are_read(tmp_path: Path) -> None:
    path = written(tmp_path / "a.yaml", interaction(1), interaction(2, "短い"))
    data = path.read_bytes()
    first_end = len(encode_header(HEADER) + interaction(1))
    for end in range(first_end + 1, len(data)):
        path.write_bytes(data[:end])
        journal = read(path)
        assert journal.torn == Torn(path, first_end, end - first_end, cut=True)
        assert path.stat().st_size == first_end
        assert len(journal.entries) == 1


@pytest.mark.parametrize("n_whole", [0, 1])
def test_an_interaction_that_has_all_its_lines_was_changed_and_is_never_cut(tmp_path: Path, n_whole: int) -> None:
    path = written(tmp_path / "a.yaml", *(interaction(n) for n in range(n_whole + 1)))
    data = bytearray(path.read_bytes())
    data[data.rfind(b"  response: ") + 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(TapeDamaged, match=r"not the beginning of an interaction: the disk or somebody has changed it"):
        read_journal(path)
    assert path.read_bytes() == data


def test_a_torn_first_interaction_leaves_nothing(tmp_path: Path) -> None:
    path = written(tmp_path / "a.yaml", interaction(1))
    data = path.read_bytes()
    for end in (1, 5, 14, 40, len(data) - 1):
        path.write_bytes(data[:end])
        journal = read(path)
        assert (journal.entries, journal.torn) == ((), Torn(path, 0, end, cut=True))
    assert path.read_bytes() == b""
    written(path, interaction(1))
    assert path.read_bytes() == data


def test_a_journal_that_is_only_read_keeps_its_torn_tail(tmp_path: Path) -> None:
    path = written(tmp_path / "a.yaml", interaction(1))
    with path.open("ab") as file:
        file.write(b"# r03")
    journal = read_journal(path, writable=False)
    assert journal is not None
    assert journal.torn == Torn(path, journal.end, 5, cut=False)
    assert path.read_bytes().endswith(b"# r03")


def test_a_journal_that_is_being_written_belongs_to_its_writer(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    writer, other = JournalWriter(path, HEADER), JournalWriter(path, HEADER)
    writer.append(interaction(1))
    with pytest.raises(TapeBusy, match=r"another process is recording 問1/子育て\.r0"):
        other.append(interaction(2))
    with path.open("ab") as file:
        file.write(b"# under way")
    assert read(path).torn is None
    writer.close()
    assert read(path).torn is not None


def test_a_changed_character_is_found(tmp_path: Path) -> None:
    path = written(tmp_path / "a.yaml", interaction(1), interaction(2))
    data = path.read_bytes()
    for old, new in ((b"q=2", b"q=3"), (b'"n":2', b'"n":3'), (b'"code":200', b'"code":201')):
        at = data.rfind(old)
        path.write_bytes(data[:at] + new + data[at + len(old) :])
        journal = read(path)
        journal.lines(journal.entries[0])
        with pytest.raises(TapeDamaged, match=r"a\.yaml: the interaction at byte \d+ is not what was written"):
            journal.lines(journal.entries[1])


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        (b'"n":2', b'"n":"2"', r"line 10 cannot be read \(n is '2'\)"),
        (b'"failed":false', b'"failed":"False"', r"line \d+ cannot be read \(failed is 'False'\)"),
        (b'"fields":{', b'"fields":["x"],"other":{', "second line cannot be read"),
    ],
)
def test_a_value_of_another_type_is_damage_though_its_text_is_the_same(
    tmp_path: Path, old: bytes, new: bytes, named: str
) -> None:
    path = written(tmp_path / "a.yaml", interaction(1), interaction(2))
    path.write_bytes(path.read_bytes().replace(old, new, 1))
    with pytest.raises(TapeDamaged, match=named):
        read_journal(path)


def test_lines_out_of_order_are_named(tmp_path: Path) -> None:
    path = written(tmp_path / "a.yaml", interaction(1), interaction(2))
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([*lines[:4], *lines[5:]]))
    with pytest.raises(TapeDamaged, match="line 5 is not the beginning of an interaction"):
        read_journal(path)


@pytest.mark.parametrize("alien", [b"interactions:\n- request: {}\nversion: 1\n", b"# hello\n", b'{"a": 1}'])
def test_a_foreign_file_is_refused_and_left_alone(tmp_path: Path, alien: bytes) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(alien)
    with pytest.raises(TapeDamaged, match="pincite cassette import"):
        read_journal(path)
    assert path.read_bytes() == alien


def test_dropping_interactions_leaves_a_whole_journal(tmp_path: Path) -> None:
    path = written(tmp_path / "a.yaml", *(interaction(n) for n in range(1, 4)))
    journal = read(path)
    rewrite(journal, (journal.entries[0], journal.entries[2]))
    assert path.read_bytes() == encode_header(HEADER) + interaction(1) + interaction(3)
    assert [file.name for file in tmp_path.iterdir()] == ["a.yaml"]


def test_dropping_all_interactions_leaves_a_journal_that_can_be_appended_to(tmp_path: Path) -> None:
    path = written(tmp_path / "a.yaml", interaction(1))
    rewrite(read(path), ())
    written(path, interaction(2))
    assert path.read_bytes() == encode_header(HEADER) + interaction(2)


@given(st.text(st.characters(exclude_categories=())))
def test_every_text_reads_back_equal_as_json_and_as_yaml(text: str) -> None:
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    expected = "".join("\ufffd" if "\ud800" <= sign <= "\udfff" else sign for sign in text)
    said = line({"a": text})
    assert json.loads(said) == {"a": expected}
    assert yaml.load(said, yaml.SafeLoader) == {"a": expected}
    assert yaml.load(said, yaml.CSafeLoader) == {"a": expected}
    if whole == text:
        assert quoted(text) == said[6:-2]


def test_japanese_stays_readable() -> None:
    assert line("令和６年度の改正　①ｶﾅ") == '"令和６年度の改正　①ｶﾅ"'.encode()
