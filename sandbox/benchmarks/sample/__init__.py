"""The bundled sample: questions over an invented city's documents, in the form of tmg_cqa's Tool version.

Written for this project; it shows the engine at work without a key or a network, and measures nothing else.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from sandbox.benchmarks import tmg_cqa_tool
from sandbox.benchmarks.benchmark import Benchmark, Loaded, SourceResolver
from sandbox.loading.questions import load_rows
from sandbox.settings import RunSettings
from tools.tool import SetupError

FOLDER = Path(str(files(__name__)))
MANIFEST = FOLDER / "manifest.jsonl"
QUESTIONS = FOLDER / "questions.jsonl"


def load(settings: RunSettings, resolver: SourceResolver | None) -> Loaded:
    """The bundled questions. Raises SetupError where other ones are named."""
    if settings.data is not None or settings.fields is not None:
        raise SetupError(
            f"sample plays its own bundled questions, not {settings.data or settings.fields}; "
            "questions of your own: pincite run tmg-cqa-tool --data PATH --corpus DIR"
        )
    return tmg_cqa_tool.loaded(load_rows(QUESTIONS, None), settings, resolver)


BENCHMARK = Benchmark(
    name="sample",
    version="1",
    about="the bundled sample: an invented Japanese city, no key, no network",
    defaults={"search.engine": "local"},
    load=load,
    mini={},
)
