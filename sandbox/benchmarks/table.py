"""The table of benchmarks: adding one is a module, its test and a line here."""

from __future__ import annotations

from sandbox.benchmarks import j_multichallenge, jmt_safety, multichallenge, sample, tmg_cqa_rag, tmg_cqa_tool
from sandbox.benchmarks.benchmark import Benchmark
from sandbox.measuring.measures import CITED, Measures
from sandbox.settings import RunSettings
from tools.tool import SetupError

BENCHMARKS: dict[str, Benchmark] = {
    benchmark.name: benchmark
    for benchmark in (
        sample.BENCHMARK,
        tmg_cqa_tool.BENCHMARK,
        tmg_cqa_rag.BENCHMARK,
        multichallenge.BENCHMARK,
        j_multichallenge.BENCHMARK,
        jmt_safety.BENCHMARK,
    )
}


def benchmark_named(name: str) -> Benchmark:
    """The benchmark, or a SetupError that lists what there is."""
    if name not in BENCHMARKS:
        raise SetupError(f"there is no benchmark {name!r}; the benchmarks are: {', '.join(BENCHMARKS)}")
    return BENCHMARKS[name]


def measures_of(settings: RunSettings) -> Measures:
    """What a run of these settings measures; the measures of tmg_cqa for a benchmark that nobody knows any more."""
    benchmark = BENCHMARKS.get(settings.benchmark)
    return benchmark.measures(settings) if benchmark is not None else CITED


def type_name_of(settings: RunSettings) -> str:
    """What the run's benchmark calls its task types."""
    benchmark = BENCHMARKS.get(settings.benchmark)
    return benchmark.type_name if benchmark is not None else "task type"


def asks_consistency(settings: RunSettings) -> bool:
    """Whether the run's benchmark holds answers against a reference."""
    benchmark = BENCHMARKS.get(settings.benchmark)
    return benchmark is None or "consistency" in benchmark.judgements
