"""One browser and a few pages for all tests of the report page; what needs a browser skips where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.cli import main
from tests.reports import scenes
from tests.reports.chromium import NAMES, Chromium, find_chromium


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "slow" not in str(config.getoption("-m")):
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason="slow: opt in with -m slow"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Chromium]:
    if find_chromium() is None:
        pytest.skip(f"no Chromium here (looked for {', '.join(NAMES)}, and at CHROMIUM in the environment)")
    with Chromium() as started:
        yield started


@pytest.fixture(scope="session")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which every rule breaks, with every outcome and hostile texts."""
    return scenes.broken_run(tmp_path_factory.mktemp("broken"))


@pytest.fixture(scope="session")
def better(broken: Path) -> Path:
    """Another model on the same questions."""
    return scenes.broken_run(broken.parent, "better", seed=3)


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sample") / "run"
    assert main.run(["run", "sample", "--quiet", "--json", "--out", str(out)]) == 0
    return out


def page_of(*runs: Path, out: Path, options: tuple[str, ...] = ()) -> Path:
    """The page of the runs, made by the command line."""
    assert main.run(["report", *map(str, runs), "--html", str(out), *options]) == 0
    return out


@pytest.fixture(scope="session")
def broken_page(broken: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return page_of(broken, out=tmp_path_factory.mktemp("page") / "broken.html")


@pytest.fixture(scope="session")
def sample_page(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return page_of(sample, out=tmp_path_factory.mktemp("page") / "sample.html")
