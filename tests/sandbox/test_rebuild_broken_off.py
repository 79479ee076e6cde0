"""Records made anew for a run that was stopped in the middle of its sessions."""

from __future__ import annotations

import asyncio
import json

import pytest

from sandbox.cli.main import run
from tests.sandbox.conftest import Output
from tools.engines.local import LocalEngine
from tools.search import Hit


def test_a_session_that_was_stopped_while_it_searched_is_left_to_the_run_when_records_are_made_anew(
    output: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Ctrl-C leaves of a search under way is no answer: a session must neither fail by it nor be counted."""
    search = LocalEngine.search

    async def stopped(engine: LocalEngine, query: str, count: int, page: int) -> list[Hit]:
        if "耐震" in query:
            raise asyncio.CancelledError
        return await search(engine, query, count, page)

    with monkeypatch.context() as stop:
        stop.setattr(LocalEngine, "search", stopped)
        assert run(["run", "sample", "--out", "run", "--quiet", "--json"]) == 0
    played = json.loads(output().out)["samples"]
    assert 0 < played < 26
    assert run(["report", "run", "--rebuild", "--json"]) == 0
    assert json.loads(output().out)["samples"] == played
    assert run(["run", "sample", "--out", "run", "--quiet", "--json"]) == 0
    assert json.loads(output().out)["outcomes"]["answered"] == 26
