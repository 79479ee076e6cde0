"""One browser and a few pages for all tests of the report page; what needs a browser skips where there is none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.benchmarks.sample import MANIFEST
from sandbox.cli import main
from sandbox.loading.locate import locate
from tests.reports import scenes
from tests.reports.chromium import NAMES, Chromium, find_chromium
from tools.corpus import build
from tools.extract import extract


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


@pytest.fixture(scope="session")
def unasked_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of which one question could not be asked, because nobody has its document."""
    folder = tmp_path_factory.mktemp("unasked")
    lines = locate("mini:tmg_cqa_rag.jsonl").read_text(encoding="utf-8").splitlines()[:1]
    lost = {"id": "失", "question": "何時までですか。", "reference": "5時。", "documents": ["https://a.example/gone"]}
    (folder / "q.jsonl").write_text("\n".join([*lines, json.dumps(lost, ensure_ascii=False)]), encoding="utf-8")
    build(MANIFEST, folder / "corpus", extract=extract)
    options = ["--data", str(folder / "q.jsonl"), "--corpus", str(folder / "corpus"), "--out", str(folder / "run")]
    assert main.run(["run", "tmg-cqa-rag", "--quiet", "--json", *options]) == 0
    return page_of(folder / "run", out=folder / "page.html")
