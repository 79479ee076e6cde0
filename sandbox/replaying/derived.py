"""Runs made from recorded runs: another model on the recorded web, a fork, another judge, verdicts that are there already.

Knows: which channel plays what, and that the new run is a folder of its own that can be replayed alone. Must not know:
how sessions go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cassettes.modes import Modes, PoolMiss
from cassettes.recording import Others
from sandbox.benchmarks.benchmark import Benchmark, Loaded
from sandbox.benchmarks.table import BENCHMARKS
from sandbox.endpoint.lenient import mapping
from sandbox.folder.provenance import Provenance
from sandbox.folder.sample_file import read_samples
from sandbox.folder.store import SETTINGS, read_provenance
from sandbox.folder.stored_run import StoredRun, open_run
from sandbox.run import TAPE, Playing
from tools.tool import SetupError


@dataclass(frozen=True, slots=True)
class Derived:
    """What to run, with which settings below the flags, and from what it is played."""

    benchmark: Benchmark
    base: Path
    playing: Playing


@dataclass(frozen=True, slots=True)
class ForkPoint:
    """A run and the round (from 1) up to which its own model speaks."""

    run: Path
    round: int


def web_replay(runs: Sequence[Path], on_miss: PoolMiss) -> Derived:
    """The samples and settings of the first run, its model replaceable, on the recorded web of all of them.

    `on_miss`: what a search or page gets that no recording has. Raises SetupError for what is no run folder.
    """
    first, *_ = [_opened(run) for run in runs]
    playing = Playing(
        Modes.web_replay(on_miss),
        Others(pool=tuple(run / TAPE for run in runs)),
        frozenset({"model", "judge", "web"} if on_miss == "live" else {"model", "judge"}),
        first.provenance,
    )
    return Derived(recorded_benchmark(first), first.stored.path / SETTINGS, playing)


def fork(point: ForkPoint, on_miss: PoolMiss) -> Derived:
    """The recorded sessions up to the round, then a live model on the recorded web."""
    opened = _opened(point.run)
    tape = point.run / TAPE
    playing = Playing(
        Modes.fork(point.round, on_miss),
        Others(source=tape, pool=(tape,)),
        frozenset({"model", "judge", "web"} if on_miss == "live" else {"model", "judge"}),
        opened.provenance,
    )
    return Derived(recorded_benchmark(opened), point.run / SETTINGS, playing)


def rejudge(run: Path) -> Derived:
    """The recorded answers before another judge; the agent's side is played and never generated again.

    Only finished sessions have an answer: a run that was broken off is judged as far as it came. Raises SetupError where
    none is finished.
    """
    opened = _opened(run)
    finished = frozenset((record.sample_id, record.repeat) for record in opened.stored.records())
    if not finished:
        raise SetupError(f"no session of {run} is finished yet: there is no answer to judge")
    playing = Playing(
        Modes.rejudge(),
        Others(source=run / TAPE),
        frozenset({"judge"}),
        opened.provenance,
        finished,
    )
    return Derived(recorded_benchmark(opened), run / SETTINGS, playing)


def with_verdicts(playing: Playing, runs: Sequence[Path], out: Path) -> Playing:
    """The same, but a request to the judge that is on the tape of one of `runs` is answered from there.

    Raises SetupError for what is no recorded run, and for the run that is being written (it plays its own tape anyway).
    """
    if not runs:
        return playing
    for run in runs:
        if run.resolve() == out.resolve():
            raise SetupError(f"--verdicts-from {run} is the run folder itself: name another run")
        _opened(run)
    others = replace(playing.others, verdicts=tuple(run / TAPE for run in runs))
    return replace(playing, modes=playing.modes.with_verdicts(), others=others)


def fork_point(text: str) -> ForkPoint:
    """`RUN@ROUND` as typed. Raises SetupError for any other form."""
    run, at, number = text.rpartition("@")
    if not at or not number.isascii() or not number.isdigit() or int(number) < 1:
        raise SetupError(f"--fork needs RUN@ROUND with a round from 1, not {text!r}")
    return ForkPoint(Path(run), int(number))


@dataclass(frozen=True, slots=True)
class Opened:
    """A recorded run with its provenance."""

    stored: StoredRun
    provenance: Provenance


def recorded_benchmark(opened: Opened) -> Benchmark:
    """The benchmark of a recorded run, whose samples come from its folder: no data file is needed.

    What provenance says of the data and of the benchmark stays as recorded, so that the two runs can be compared.
    """
    compared = opened.provenance.compared
    name, data = mapping(compared.get("benchmark")), mapping(compared.get("data"))
    folder = opened.stored.path
    rows = data.get("rows")
    loaded = Loaded(
        read_samples(folder),
        str(folder),
        rows if isinstance(rows, int) else 0,
        str(data.get("sha256")),
        left_out={reason: n for reason, n in mapping(data.get("left_out")).items() if isinstance(n, int)},
        facts={fact: value for fact, value in data.items() if fact != "sha256" and isinstance(value, str)},
    )
    recorded = Benchmark(str(name.get("name")), str(name.get("version")), "", {}, lambda _, __: loaded)
    known = BENCHMARKS.get(recorded.name, recorded)
    return replace(known, version=recorded.version, defaults={}, load=recorded.load)


def _opened(run: Path) -> Opened:
    stored = open_run(run)
    provenance = read_provenance(run)
    if provenance is None or not (run / TAPE).is_dir():
        raise SetupError(f"{run} has no tape: only a recorded run can be played from")
    return Opened(stored, provenance)
