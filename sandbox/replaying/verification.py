"""Whether a run folder says the truth about itself: hashes and scores recomputed from the folder alone.

Knows: everything in a run folder that can be recomputed from something else in it. Must not know: how it came about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cassettes.configuration import Configuration
from cassettes.errors import TapeDamaged, TapeError
from cassettes.journal import read_header
from cassettes.naming import SUFFIX, journal_path, session_name
from cassettes.verifying import verify as verify_tape
from sandbox.endpoint.lenient import mapping, parsed
from sandbox.folder.sample_file import read_samples
from sandbox.folder.store import read_provenance, summary_of
from sandbox.folder.stored_run import StoredRun, open_run
from sandbox.linting.recovered import RECOVERED_TAPE
from sandbox.record import Record, VerdictRow
from sandbox.replaying.differences import first_difference
from sandbox.replaying.replay import asks_nobody
from sandbox.rescore import rescored
from sandbox.run import TAPE
from sandbox.sample import Criterion
from sandbox.summary import as_json
from tools.tool import SetupError


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Something that is not what the rest of the folder says. `where` = file, sample or exchange."""

    where: str
    message: str


@dataclass(slots=True)
class Verification:
    """What was recomputed, and what does not agree."""

    n_records: int = 0
    n_verdicts: int = 0
    n_exchanges: int = 0
    n_bodies: int = 0
    digest: str = ""
    problems: list[Disagreement] = field(default_factory=list[Disagreement])


def verify(run: Path) -> Verification:
    """Recompute what can be. Raises SetupError for what is no run folder."""
    stored = open_run(run)
    found = Verification()
    for name in (TAPE, RECOVERED_TAPE):
        if name == TAPE or (run / name).exists():
            found.problems += _tape(run, name, found)
    found.problems += _provenance(stored)
    found.problems += _records(stored, found)
    found.problems += _summary(stored, found)
    return found


def _tape(run: Path, name: str, found: Verification) -> Iterator[Disagreement]:
    try:
        report = verify_tape(run / name)
    except TapeError as error:
        yield Disagreement(name, str(error))
        return
    found.n_exchanges += report.n_exchanges
    found.n_bodies += report.n_blobs
    for problem in report.problems:
        yield Disagreement(problem.where, f"{problem.kind}: {problem.message}")


def _provenance(stored: StoredRun) -> Iterator[Disagreement]:
    """What provenance.json says otherwise than the tapes, each of which names what it was recorded under."""
    provenance = read_provenance(stored.path)
    if provenance is None:
        yield Disagreement("provenance.json", "is missing")
        return
    configuration = Configuration.of(provenance.compared)
    differing: Counter[str] = Counter()
    for path in sorted((stored.path / TAPE).glob(f"*{SUFFIX}")):
        try:
            header = read_header(path)
        except TapeDamaged:
            continue  # named by `_tape`
        differing.update(configuration.differences(header) if header is not None else [])
    for difference, n_sessions in differing.items():
        yield Disagreement("provenance.json", f"{difference} ({n_sessions} sessions)")


def _records(stored: StoredRun, found: Verification) -> Iterator[Disagreement]:
    provenance = read_provenance(stored.path)
    if provenance is None:
        return
    known = {sample.id: sample for sample in read_samples(stored.path)}
    prompts = set(mapping(mapping(provenance.compared.get("judge")).get("prompts")).values())
    try:
        for record in stored.records():
            found.n_records += 1
            found.n_verdicts += len(_verdicts(record))
            where = f"{record.sample_id} repeat {record.repeat}"
            again = rescored(record, f1_only=stored.settings.citations.f1_only)
            if again != record:
                what = first_difference(record.model_dump_json(), again.model_dump_json())
                yield Disagreement(where, f"the score does not follow from the verdicts: {what}")
            sample = known.get(record.sample_id)
            if sample is None:
                yield Disagreement(where, "samples.jsonl does not have this sample")
            elif (sample.question, sample.gold.reference) != (record.question, record.reference):
                yield Disagreement(where, "question or reference is not that of samples.jsonl")
            elif sample.gold.criterion != _criterion(record):
                yield Disagreement(where, "the criterion is not that of samples.jsonl")
            tape = journal_path(stored.path / TAPE, session_name(record.sample_id, record.repeat))
            if not tape.exists() and not (sample is not None and asks_nobody(sample, record.repeat)):
                yield Disagreement(where, "there is no tape of this session")
            if foreign := _prompts(record) - prompts:
                yield Disagreement(where, f"judged with a prompt that provenance.json does not name: {foreign}")
    except SetupError as error:
        yield Disagreement("records.jsonl", str(error))


def _verdicts(record: Record) -> list[VerdictRow]:
    criterion = record.criterion.verdict if record.criterion else None
    alone = [verdict for verdict in (record.consistency, criterion) if verdict is not None]
    return [*(unit.verdict for unit in record.units), *alone]


def _prompts(record: Record) -> set[object]:
    return {verdict.prompt_sha256 for verdict in _verdicts(record)}


def _criterion(record: Record) -> Criterion | None:
    row = record.criterion
    return Criterion(row.rubric, row.text, row.passing) if row is not None else None


def _summary(stored: StoredRun, found: Verification) -> Iterator[Disagreement]:
    try:
        made = stored.summary()
    except SetupError as error:
        yield Disagreement("records.jsonl", str(error))
        return
    found.digest = made.digest
    written = summary_of(stored.path)
    if written is None:
        yield Disagreement("summary.json", "is missing; pincite score RUN writes it")
        return
    # A folder that was moved has another path, and nothing else.
    now = mapping(parsed(as_json(made)))
    differing = [name for name in sorted(now.keys() | written.keys()) if now.get(name) != written.get(name)]
    for name in differing:
        if name != "run":
            yield Disagreement("summary.json", f"{name} is not what the records give")
