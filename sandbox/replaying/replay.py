"""Sealed replay: every session of a run played again from its tape alone, and held against its record.

Knows: which sessions are played, what is compared. Must not know: how a session goes. There is nothing live behind the
tape, so a replay needs no key, no network, no data file and no corpus.
"""

from __future__ import annotations

import asyncio
import hashlib
import multiprocessing
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import httpx2

from cassettes.configuration import Configuration
from cassettes.errors import MissReport, TapeError, TapeMiss
from cassettes.modes import Modes
from cassettes.naming import session_name
from cassettes.redact import Redactor
from cassettes.tape import TapeSet
from sandbox.assemble import Outside, Parts, assemble
from sandbox.benchmarks.instruction import dialect_of
from sandbox.folder.sample_file import read_samples
from sandbox.folder.store import read_provenance
from sandbox.folder.stored_run import StoredRun
from sandbox.folder.tape_reports import TapeRow, tape_row
from sandbox.loop import recorded
from sandbox.record import Record, canonical
from sandbox.replaying.differences import first_difference
from sandbox.run import TAPE, sessions_of
from sandbox.sample import Sample
from sandbox.session import SessionRules, run_session
from sandbox.settings import RunSettings
from sandbox.tasks import rare_collections
from tools.tool import SetupError

Key = tuple[str, int]
CONCURRENT = 8
"""Sessions at once in one process: enough to hide the waits of threads, few enough to keep memory small."""


@dataclass(frozen=True, slots=True)
class Missed:
    """A session that the tape could not answer."""

    key: Key
    report: MissReport


@dataclass(frozen=True, slots=True)
class Differs:
    """A session whose record came out different: where first, and the two values there."""

    key: Key
    where: str


@dataclass(frozen=True, slots=True)
class Played:
    """One session, played. `record` None where a request was missing or broken off; `unplayed` = entries that nothing
    asked for.
    """

    key: Key
    record: Record | None
    tape: TapeRow
    unplayed: int
    missed: Missed | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one session, small enough to be passed between processes and kept for all."""

    key: Key
    sha256: bytes
    tape: TapeRow
    unplayed: int
    missed: Missed | None
    differs: Differs | None


@dataclass(slots=True)
class ReplayEnd:
    """What came of all sessions."""

    results: list[Result] = field(default_factory=list[Result])

    @property
    def digest(self) -> str:
        """The digest of the replayed records (see `sandbox.record.Digest`); of those that could be played."""
        total = hashlib.sha256()
        for result in sorted(self.results, key=lambda result: result.key):
            if result.missed is None:
                total.update(result.sha256)
        return f"sha256:{total.hexdigest()}"

    @property
    def missed(self) -> list[Missed]:
        """Sessions with a request that is not on the tape."""
        return [result.missed for result in self.results if result.missed is not None]

    @property
    def differing(self) -> list[Differs]:
        """Sessions whose record came out different."""
        return [result.differs for result in self.results if result.differs is not None]

    @property
    def n_unplayed(self) -> int:
        """Recorded exchanges that no replayed session asked for."""
        return sum(result.unplayed for result in self.results if result.missed is None)


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """How a run is replayed. `workers` processes; `reextract`: page text is made anew from the recorded bytes."""

    folder: Path
    modes: Modes = field(default_factory=Modes.sealed)
    reextract: bool = False
    workers: int = 1


def replay(stored: StoredRun, plan: ReplayPlan, on_done: Callable[[Result], None]) -> ReplayEnd:
    """Replay all finished sessions; `on_done` is told of each. Raises SetupError, and TapeError but for misses."""
    hashes = {(record.sample_id, record.repeat): _sha256(record) for record in stored.records()}
    end = ReplayEnd()

    def take(result: Result) -> None:
        end.results.append(result)
        on_done(result)

    if plan.workers <= 1 or len(hashes) < 2 * plan.workers:
        asyncio.run(_replay_part(stored, plan, hashes, take))
    else:
        _in_processes(stored, plan, hashes, take)
    return end


async def play_all(stored: StoredRun, plan: ReplayPlan, keys: Iterable[Key] | None = None) -> AsyncIterator[Played]:
    """Each session (without `keys` all that can be) played from the tape, in no particular order."""
    provenance = read_provenance(plan.folder)
    if provenance is None:
        raise SetupError(f"{plan.folder} has no provenance.json: is it a run folder?")
    samples = {sample.id: sample for sample in read_samples(plan.folder)}
    outside = Outside({}, frozenset(), provenance, reextract=plan.reextract)
    async with assemble(stored.settings, plan.folder, outside) as parts:
        configuration = Configuration.of(provenance.compared)
        with TapeSet(plan.folder / TAPE, plan.modes, redactor=Redactor(()), configuration=configuration) as tapes:
            work = _Work(parts, _rules(stored.settings, provenance.nonce), tapes, samples)
            wanted = iter(keys if keys is not None else work.recorded(stored.settings))
            done: set[asyncio.Task[Played]] = set()
            pending = {asyncio.create_task(work.play(key)) for key in islice(wanted, CONCURRENT)}
            try:
                while pending:
                    done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                    for task in done:
                        yield task.result()
                    pending |= {asyncio.create_task(work.play(key)) for key in islice(wanted, len(done))}
            finally:
                for task in pending:
                    task.cancel()
                # Those done too: one error is raised, and the others would be told at the end, each with a traceback.
                await asyncio.gather(*done, *pending, return_exceptions=True)


@dataclass(frozen=True, slots=True)
class _Work:
    parts: Parts
    rules: SessionRules
    tapes: TapeSet
    samples: Mapping[str, Sample]

    def recorded(self, settings: RunSettings) -> list[Key]:
        """Every session of the samples that has a tape, and of those that were to be played each that needs none."""
        names, asked = set(self.tapes.sessions()), set(list(self.samples)[: settings.limit])
        return [
            (sample.id, repeat)
            for sample, repeat in sessions_of(list(self.samples.values()), settings.repeats)
            if session_name(sample.id, repeat) in names or (sample.id in asked and asks_nobody(sample, repeat))
        ]

    async def play(self, key: Key) -> Played:
        """One session. A miss is a result, and so is a call that was broken off; whatever else is wrong with the tape is
        raised.
        """
        sample = self.samples.get(key[0])
        if sample is None:
            raise SetupError(f"sample {key[0]} has a record but is not in samples.jsonl")
        with self.tapes.session(session_name(*key)) as tape:
            record: Record | None = None
            missed: Missed | None = None
            try:
                record = await run_session(sample, key[1], self.parts, self.rules, tape)
            except TapeMiss as miss:
                missed = Missed(key, miss.report)
            except httpx2.RequestError:
                # Tools and models take what a server does to them; a search of a corpus has no server. Its caller was
                # stopped (Ctrl-C) while it was under way, and the session goes on from there when the run does.
                pass
            report = tape.report()
        return Played(key, record, tape_row(*key, report), report.total("unplayed"), missed)


def asks_nobody(sample: Sample, repeat: int) -> bool:
    """Whether a session makes no exchange, and so has no tape: it brings its answer, and the answer is none to judge."""
    return sample.script.responses is not None and recorded(sample.script, repeat).answer is None


def _rules(settings: RunSettings, nonce: str) -> SessionRules:
    return SessionRules(dialect_of(settings.citations), settings.limits, settings.language, nonce)


async def _replay_part(
    stored: StoredRun, plan: ReplayPlan, hashes: Mapping[Key, bytes], take: Callable[[Result], None]
) -> None:
    with rare_collections():
        async for played in play_all(stored, plan, list(hashes)):
            take(_result(stored, played, hashes[played.key]))


def _result(stored: StoredRun, played: Played, recorded_sha256: bytes) -> Result:
    sha256, differs = b"", None
    if played.record is None and played.missed is None:
        name = session_name(*played.key)
        raise TapeError(f"session {name} has a record, but its tape ends in a call that was broken off: not of one run")
    if played.record is not None:
        sha256 = _sha256(played.record)
        if sha256 != recorded_sha256:
            old = next(row for row in stored.records() if (row.sample_id, row.repeat) == played.key)
            differs = Differs(played.key, first_difference(canonical(old), canonical(played.record)))
    return Result(played.key, sha256, played.tape, played.unplayed, played.missed, differs)


def _in_processes(
    stored: StoredRun, plan: ReplayPlan, hashes: Mapping[Key, bytes], take: Callable[[Result], None]
) -> None:
    """The sessions dealt out to processes in small hands, so that a slow one holds nobody up."""
    keys = list(hashes)
    size = max(1, min(32, len(keys) // (4 * plan.workers)))
    hands = [{key: hashes[key] for key in keys[i : i + size]} for i in range(0, len(keys), size)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(plan.workers, mp_context=context) as pool:
        for results in pool.map(_hand, [stored] * len(hands), [plan] * len(hands), hands):
            for result in results:
                take(result)


def _hand(stored: StoredRun, plan: ReplayPlan, hashes: Mapping[Key, bytes]) -> Sequence[Result]:
    results: list[Result] = []
    asyncio.run(_replay_part(stored, plan, hashes, results.append))
    return results


def _sha256(record: Record) -> bytes:
    return hashlib.sha256(canonical(record).encode("utf-8", "surrogatepass")).digest()
