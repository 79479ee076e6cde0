"""Page text in the run folder: what a session has read is what it reads again."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from pathlib import Path

from sandbox.folder.text_store import TextStore
from tools.document import Document


def _store(folder: Path, text: str, version: str, *, renews: bool = False, keeps: bool = True) -> TextStore:
    async def extract(body: bytes, *, url: str, header_type: str) -> Document:
        return Document(url, url, "名簿", header_type, text, hashlib.sha256(body).hexdigest(), version)

    return TextStore(folder, extract, lambda: version, renews, keeps)


def _read(store: TextStore) -> str:
    return asyncio.run(store(b"\xa4\xa2", url="https://example.jp/", header_type="text/html")).text


def test_a_run_that_goes_on_under_another_version_reads_a_page_as_its_finished_sessions_did(tmp_path: Path) -> None:
    assert _read(_store(tmp_path, "渡邉", "r1")) == "渡邉"
    assert _read(_store(tmp_path, "渡辺", "r2")) == "渡邉"


def test_only_who_renews_reads_a_page_by_the_rules_of_today(tmp_path: Path) -> None:
    assert _read(_store(tmp_path, "渡邉", "r1")) == "渡邉"
    assert _read(_store(tmp_path, "渡辺", "r2", renews=True, keeps=False)) == "渡辺"
    assert _read(_store(tmp_path, "渡部", "r2")) == "渡邉"
    assert _read(_store(tmp_path, "渡辺", "r2", renews=True)) == "渡辺"
    assert _read(_store(tmp_path, "渡部", "r2", renews=True)) == "渡辺"


def test_what_plays_a_recorded_run_reads_its_text_and_keeps_it_to_be_replayed_alone(tmp_path: Path) -> None:
    assert _read(_store(tmp_path / "recorded", "渡邉", "r1")) == "渡邉"
    derived = replace(_store(tmp_path / "derived", "渡辺", "r2"), recorded=(tmp_path / "none", tmp_path / "recorded"))
    assert _read(derived) == "渡邉"
    assert _read(_store(tmp_path / "derived", "渡部", "r2")) == "渡邉"
