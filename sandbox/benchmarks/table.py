"""The table of benchmarks: adding one is a module, its test and a line here."""

from __future__ import annotations

from sandbox.benchmarks import sample, tmg_cqa_tool
from sandbox.benchmarks.benchmark import Benchmark
from tools.tool import SetupError

BENCHMARKS: dict[str, Benchmark] = {
    benchmark.name: benchmark for benchmark in (sample.BENCHMARK, tmg_cqa_tool.BENCHMARK)
}


def benchmark_named(name: str) -> Benchmark:
    """The benchmark, or a SetupError that lists what there is."""
    if name not in BENCHMARKS:
        raise SetupError(f"there is no benchmark {name!r}; the benchmarks are: {', '.join(BENCHMARKS)}")
    return BENCHMARKS[name]
