"""A run: all sessions of a benchmark, so many at once, each written down when it is finished.

Knows: the order of things in a run, what is compared between starts, when a run stops. Must not know: how a session goes.

Memory is flat in the number of samples: a record goes to disk and is forgotten; figures are made in one pass afterwards.
Every session's traffic goes through its tape, which is also the checkpoint: a session that was cut off plays what it has
and goes on live where that ends, so no finished call is paid twice.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from cassettes.configuration import Configuration
from cassettes.errors import TapeError
from cassettes.modes import Modes
from cassettes.naming import session_name
from cassettes.recording import Others
from cassettes.tape import TapeSet
from sandbox.assemble import EVERYTHING, Outside, Parts, Reach, assemble
from sandbox.benchmarks.benchmark import Benchmark, Loaded
from sandbox.benchmarks.instruction import citation_instruction, dialect_of
from sandbox.endpoint.chat import encode
from sandbox.folder.provenance import Facts, Provenance, provenance
from sandbox.folder.sample_file import SAMPLES, as_lines, n_sessions
from sandbox.folder.store import RunFolder
from sandbox.folder.tape_reports import REPORTS, tape_row
from sandbox.loading.locate import HF
from sandbox.loop import FINAL_REQUEST
from sandbox.reports.progress import Progress
from sandbox.sample import Sample
from sandbox.session import SessionRules, run_session
from sandbox.settings import RunSettings, as_toml
from sandbox.sources import SAMPLE_CORPUS
from sandbox.tasks import rare_collections
from tools.tool import SetupError

ERRORS, TAPE, LEFT_OUT = "errors.log", "tape", "left-out.txt"


@dataclass(frozen=True, slots=True)
class Occasion:
    """What a start brings from outside: its command line and environment, and the time."""

    command: tuple[str, ...]
    environ: Mapping[str, str]
    started: str


@dataclass(frozen=True, slots=True)
class Playing:
    """Where answers come from: an ordinary run records and continues; others also play recorded runs.

    `recorded` is the provenance of the run that is played, where some channel may not reach the outside. `sessions`:
    (sample id, repeat) of those that can be played at all; None = all.
    """

    modes: Modes = field(default_factory=Modes.resume)
    others: Others = field(default_factory=Others)
    reach: frozenset[Reach] = EVERYTHING
    recorded: Provenance | None = None
    sessions: frozenset[tuple[str, int]] | None = None

    def plays(self, sample: Sample, repeat: int) -> bool:
        """Whether the session can be played."""
        return self.sessions is None or (sample.id, repeat) in self.sessions

    @property
    def said(self) -> str:
        """What is played of recorded runs, in words; nothing for an ordinary run."""
        match self.modes.name:
            case "fork":
                return f"a fork after round {self.modes.fork_round}"
            case "web_replay":
                return "a run on the recorded web"
            case "rejudge":
                return "recorded answers before another judge"
            case _:
                return ""


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a start ended: sessions in all, finished before it, and ended in a fault of ours (they have no record)."""

    n_sessions: int
    n_before: int
    n_faults: int
    unused_columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Work:
    """One start under way."""

    parts: Parts
    rules: SessionRules
    folder: RunFolder
    tapes: TapeSet
    progress: Progress
    n_faults: int = 0

    async def worker(self, queue: Iterator[tuple[Sample, int]]) -> None:
        """Take sessions until none is left."""
        for sample, repeat in queue:
            self.progress.sample_started(sample.id)
            try:
                with self.tapes.session(session_name(sample.id, repeat)) as tape:
                    record = await run_session(sample, repeat, self.parts, self.rules, tape)
                    row = tape_row(sample.id, repeat, tape.report())
            except (SetupError, TapeError):
                raise
            except Exception:  # noqa: BLE001  the one broad catch: a fault of ours must not end the other sessions
                self.n_faults += 1
                trace = self.parts.redactor.redact(traceback.format_exc())
                self.folder.append_line(ERRORS, f"{sample.id} r{repeat}\n{trace}")
                self.progress.sample_broken_off(sample.id)
                continue
            self.folder.append_line(REPORTS, row.model_dump_json())
            self.folder.append(record)
            self.progress.sample_finished(record)


async def run(
    benchmark: Benchmark,
    settings: RunSettings,
    out: Path,
    occasion: Occasion,
    progress: Progress,
    playing: Playing | None = None,
) -> RunEnd:
    """Run the benchmark in folder `out`, or go on with the run that is there. Raises SetupError and TapeError.

    A session that ends in a fault of ours gets no record and no score; it is logged, and the same command tries it again.
    """
    playing = playing or Playing()
    others = playing.others
    played = tuple(dict.fromkeys(tape for tape in (others.source, *others.pool) if tape is not None))
    if (out / TAPE).resolve() in {tape.resolve() for tape in played}:
        # Before anything is written: the capsule of the run that is played would tell of a start that never was.
        raise SetupError(f"{out} is the run that is played: the new run needs a folder of its own, another --out")
    with RunFolder(out, derived=(SAMPLE_CORPUS,)) as folder:
        outside = Outside(
            occasion.environ,
            playing.reach,
            playing.recorded,
            earlier=folder.provenance(),
            played=tuple(tape.parent for tape in played),
            watched=progress.watched,
        )
        async with assemble(settings, out, outside) as parts:
            _refuse_keys(settings, parts)
            loaded = benchmark.load(settings, parts.sources.corpus)
            facts = compared(benchmark, settings, loaded, parts)
            command = [parts.redactor.redact(word) for word in occasion.command]
            recorded = playing.recorded
            nonce = recorded.nonce if recorded is not None else None
            hub = loaded.path if loaded.path.startswith(HF) else None
            fresh = provenance(facts, occasion.started, command, _servers(settings, parts), nonce, hub)
            begun = recorded.begun if recorded is not None else None
            fresh = fresh.model_copy(update={"played": playing.said, "played_run": begun})
            capsule = folder.begin(as_toml(settings), fresh, settings.repeats)
            folder.write_lines(SAMPLES, as_lines(loaded.samples))
            if loaded.left_out_lines:
                folder.write(LEFT_OUT, "\n".join(loaded.left_out_lines))
            rules = SessionRules(dialect_of(settings.citations), settings.limits, settings.language, capsule.nonce)
            # The limit of a recorded run is that of its last start; finished sessions of an earlier one are judged too.
            samples = loaded.samples[: settings.limit if playing.sessions is None else None]
            keys = [key for key in sessions_of(samples, settings.repeats) if playing.plays(*key)]
            todo = [(sample, repeat) for sample, repeat in keys if (sample.id, repeat) not in folder.finished]
            with TapeSet(
                out / TAPE,
                playing.modes,
                redactor=parts.redactor,
                configuration=Configuration.of(facts),
                others=playing.others,
            ) as tapes:
                work = _Work(parts, rules, folder, tapes, progress)
                progress.start(len(keys), len(keys) - len(todo))
                try:
                    with rare_collections():
                        await _all_workers(work, todo, settings.concurrency)
                finally:
                    progress.close()
            return RunEnd(len(keys), len(keys) - len(todo), work.n_faults, loaded.unused, loaded.notes)


def compared(benchmark: Benchmark, settings: RunSettings, loaded: Loaded, parts: Parts) -> Facts:
    """What must be the same for two starts to be one run, and for two runs to be compared."""
    judge = parts.judge.endpoint
    rubrics = [rubric for rubric in parts.judging.rubrics if rubric.name in benchmark.judgements]
    return {
        "benchmark": {"name": benchmark.name, "version": benchmark.version},
        "data": {
            "sha256": loaded.sha256,
            "rows": loaded.n_rows,
            **loaded.facts,
            # What most benchmarks do not have is named only where it is there.
            **({"left_out": dict(loaded.left_out)} if loaded.left_out else {}),
        },
        "model": _given(settings, loaded.samples) if settings.responses is not None else _generated(settings, parts),
        "judge": {
            "name": judge.name,
            "decode": _json(judge.fixed),
            "max_output_tokens": judge.max_output_tokens,
            "attempts": settings.judge.attempts,
            "max_evidence_chars": settings.judge.max_evidence_chars,
            # Named only where it is set: runs without repeats are those of before there were any.
            **({"repeats": settings.judge.repeats} if settings.judge.repeats > 1 else {}),
            "prompts": {rubric.name: rubric.prompt.sha256 for rubric in rubrics},
        },
        "limits": _json(settings.limits.model_dump(mode="json")),
        "citations": _json(settings.citations.model_dump(mode="json")),
        "search": parts.sources.facts,
        "fetch": {"window_chars": settings.fetch.window_chars},
        "texts": {
            "tool_schemas": parts.toolbox.schemas_sha256,
            "final_request": FINAL_REQUEST[settings.language],
            "citation_instruction": citation_instruction(settings.citations, settings.language),
        },
        **({"policies": _json(settings.policies.model_dump(mode="json"))} if "safety" in benchmark.judgements else {}),
    }


def _generated(settings: RunSettings, parts: Parts) -> Facts:
    """The model as it is asked. How prompts are counted beforehand stands there too: a replay has to ask the same."""
    endpoint, counter = parts.model.endpoint, parts.model.counter
    return {
        "name": endpoint.name,
        "decode": _json(endpoint.fixed),
        "max_output_tokens": endpoint.max_output_tokens,
        "context_tokens": endpoint.context_tokens,
        **({} if settings.model.count_tokens == "never" else {"token_count": counter.kind if counter else "none"}),
    }


def _given(settings: RunSettings, samples: Sequence[Sample]) -> Facts:
    """Answers that exist already: how they were made, nobody here knows."""
    answers = encode([[sample.id, sample.script.responses] for sample in samples])
    return {"name": settings.model.name, "responses": hashlib.sha256(answers).hexdigest()}


def sessions_of(samples: Sequence[Sample], repeats: int) -> list[tuple[Sample, int]]:
    """The sessions of a run, all first ones before the second ones; a sample with responses has one for each of them."""
    most = max((n_sessions(sample, repeats) for sample in samples), default=0)
    return [(sample, repeat) for repeat in range(most) for sample in samples if repeat < n_sessions(sample, repeats)]


def _refuse_keys(settings: RunSettings, parts: Parts) -> None:
    """Raises SetupError before a setting that holds the value of a key is written to run.toml and provenance.json."""
    if parts.redactor.holds_secret(as_toml(settings)):
        raise SetupError(
            "a setting holds the value of a key, and would be written to run.toml: leave it out "
            "(keys are read from the variables that api_key_env and brave_key_env name)"
        )


def utc_now() -> str:
    """The time of a start, ISO 8601 in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


async def _all_workers(work: _Work, todo: Sequence[tuple[Sample, int]], concurrency: int) -> None:
    """So many workers on one queue; the first error cancels the others, whose sessions go on from their tapes next time."""
    queue = iter(todo)
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(concurrency, len(todo))):
                group.create_task(work.worker(queue))
    except* (SetupError, TapeError) as errors:
        # Many workers meet the same dead server at once: one sentence is enough.
        raise _first(errors) from errors


def _first(errors: BaseExceptionGroup[SetupError | TapeError]) -> SetupError | TapeError:
    inner = errors.exceptions[0]
    return _first(inner) if isinstance(inner, BaseExceptionGroup) else inner


def _servers(settings: RunSettings, parts: Parts) -> Facts:
    def facts(base_url: str | None, max_model_len: int | None, owned_by: str | None) -> Facts:
        host = base_url.split("://", 1)[-1].split("/", 1)[0].rpartition("@")[2] if base_url else "in process"
        return {"host": host, "max_model_len": max_model_len, "owned_by": owned_by}

    model, judge = parts.model_server, parts.judge_server
    return {
        "model": facts(settings.model.base_url, model.max_model_len, model.owned_by),
        "judge": facts(settings.judge.base_url, judge.max_model_len, judge.owned_by),
    }


def _json(value: Mapping[str, object]) -> Facts:
    """The value as it would be read back from the provenance file, so that old and new compare equal."""
    decoded: Facts = json.loads(encode(value))
    return decoded
