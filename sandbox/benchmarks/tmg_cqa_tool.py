"""tmg_cqa, Tool version: questions over Tokyo's public documents, searched with tools, answered with cited sentences.

Source: the tmg_cqa publication (「RAG版とTool版」「データセットの評価方法」). The model gets the question and the row's own
citation instruction, unchanged; ours stands in only where the row has none.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sandbox.benchmarks.benchmark import Benchmark, Loaded, PublishedForm, SourceResolver
from sandbox.benchmarks.instruction import citation_instruction
from sandbox.loading.locate import located
from sandbox.loading.questions import Dataset, Question, load_rows, read_field_map
from sandbox.sample import Gold, Sample, Script
from sandbox.settings import RunSettings
from tools.tool import SetupError


def load(settings: RunSettings, resolver: SourceResolver | None) -> Loaded:
    """The questions of `settings.data`. Raises SetupError for everything that is wrong with the file."""
    if settings.data is None:
        raise SetupError(
            "tmg-cqa-tool needs the question file: --data PATH (JSON Lines, JSON or Parquet; hf:OWNER/NAME), or --mini"
        )
    fields = read_field_map(Path(settings.fields)) if settings.fields else None
    found = located(settings.data)
    return replace(loaded(load_rows(found.path, fields), settings, resolver), path=found.source)


def loaded(dataset: Dataset, settings: RunSettings, resolver: SourceResolver | None) -> Loaded:
    """A data set of this form as samples; also what `sample` is made of."""
    ours = citation_instruction(settings.citations, settings.language)
    samples = tuple(_sample(question, ours, resolver) for question in dataset.rows)
    return Loaded(samples, str(dataset.path), dataset.n_rows, dataset.sha256, dataset.unused)


def _sample(question: Question, instruction: str, resolver: SourceResolver | None) -> Sample:
    turn = f"{question.question}\n\n{question.citation_instruction or instruction}"
    sources = tuple((resolver.url_of(source) if resolver else None) or source for source in question.sources)
    return Sample(
        id=question.id,
        question=question.question,
        script=Script(turns=(turn,)),
        gold=Gold(question.reference, sources),
        task_type=question.task_type,
    )


BENCHMARK = Benchmark(
    name="tmg-cqa-tool",
    version="1",
    about="tmg_cqa Tool version: complex Japanese questions, searched with tools, answered with cited sentences",
    defaults={},
    load=load,
    mini={"data": "mini:tmg_cqa_tool.jsonl", "search.engine": "local"},
    published=PublishedForm(("consistency", "citation_f1"), "gemma-4-31b-it"),
)
