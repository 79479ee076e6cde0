"""The page on adding a benchmark is true: its module and its rows are taken from it, and every command works on them."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from typing import get_args

import pytest

from sandbox.benchmarks.table import BENCHMARKS
from sandbox.cli.main import run
from sandbox.judging.human_labels import SCALES
from sandbox.judging.prompt import PLACES
from sandbox.judging.rubric import LABELS
from sandbox.judging.sheet import KINDS, TASKS
from sandbox.record import RubricName
from tests.sandbox.conftest import Output

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "adding-a-benchmark.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    """The one block of the page in this language."""
    (text,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(text)


@pytest.fixture
def output(output: Output, monkeypatch: pytest.MonkeyPatch) -> Output:
    """What a command printed, with the page's benchmark in the table and its rows in the working folder."""
    Path("tiny_alce.py").write_text(block("python"), encoding="utf-8")
    Path("rows.jsonl").write_text(block("json"), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("tiny_alce", "tiny_alce.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "tiny_alce", module)
    spec.loader.exec_module(module)
    monkeypatch.setitem(BENCHMARKS, "tiny-alce", module.BENCHMARK)
    return output


def test_a_sixth_benchmark_is_one_module_and_one_line(output: Output) -> None:
    assert run(["run", "tiny-alce", "--data", "rows.jsonl", "--out", "run", "--json", "--quiet"]) == 0
    summary = json.loads(output().out)
    metrics = summary["metrics"]
    # The baseline copies sentences: it finds all short answers of the first row, and one of two of the second.
    assert (metrics["short_answers"]["value"], metrics["short_answers"]["n"]) == (0.75, 2)
    assert metrics["citation_f1"]["value"] == 1.0
    assert [one["name"] for one in summary["measures"]] == [
        "short_answers", "citation_recall", "citation_precision", "citation_f1"
    ]  # fmt: skip
    provenance = json.loads(Path("run/provenance.json").read_text(encoding="utf-8"))
    assert sorted(provenance["compared"]["judge"]["prompts"]) == ["need", "relevance", "support"]
    assert run(["replay", "run", "--json", "--quiet"]) == 0
    assert json.loads(output().out)["digest"] == summary["digest"]
    assert run(["verify", "run"]) == 0
    assert run(["report", "run"]) == 0
    assert "Short answers found" in output().out
    assert run(["report", "run", "--html", "page.html"]) == 0
    assert run(["show", "run", "hall"]) == 0
    assert run(["compare", "run", "run2"]) == 2
    assert run(["run", "tiny-alce", "--data", "rows.jsonl", "--out", "run2", "--quiet"]) == 0
    assert run(["compare", "run", "run2"]) == 0


def test_its_reference_answers_get_full_marks(output: Output) -> None:
    assert run(["validate", "tiny-alce", "--data", "rows.jsonl"]) == 0, output()


def test_its_wrong_rows_are_named(output: Output) -> None:
    Path("rows.jsonl").write_text('{"id": "bus", "question": "?"}\n', encoding="utf-8")
    assert run(["run", "tiny-alce", "--data", "rows.jsonl"]) == 2
    assert "rows.jsonl, row 1: Field required; keys: id, question" in output().err


def test_every_judgement_has_its_line_in_every_file_that_the_page_names_for_a_new_one() -> None:
    (named,) = re.findall(r"\*\*A kind of judgement that is not there yet\*\*(.*?)\Z", PAGE, re.DOTALL)
    files = [
        name for name in re.findall(r"`(sandbox/[\w/]+\.py)`", named) if not name.endswith(("assess.py", "assemble.py"))
    ]
    assert len(files) == 6
    lacking = {
        (name, label)
        for name in files
        for label in get_args(RubricName)
        if f'"{label}"' not in (ROOT / name).read_text(encoding="utf-8")
    }
    assert lacking == set()
    assert set(LABELS) == set(PLACES) == set(KINDS) == set(SCALES) == set(TASKS["ja"]) == set(TASKS["en"])
    held = {path.name for path in (ROOT / "sandbox" / "judging" / "prompts").glob("*.txt")}
    assert held == {f"{label}.{language}.txt" for label in LABELS for language in ("ja", "en")}
