"""A finished or half-finished run folder, opened to be read.

Knows: which files make a run folder, and what the summary needs from them. Must not know: how a run goes, how figures
are printed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sandbox.benchmarks.table import measures_of, type_name_of
from sandbox.endpoint.lenient import mapping
from sandbox.folder.store import RECORDS, SETTINGS, from_tapes, read_provenance, read_records
from sandbox.folder.tape_reports import counts, read_rows
from sandbox.linting.recovered import recovered_labels
from sandbox.measuring.measures import Measures
from sandbox.record import Record
from sandbox.settings import RunSettings, resolve
from sandbox.summary import RunFacts, Summary, summarise
from tools.tool import SetupError


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run on disk. Its records are read anew each time they are asked for: they may be far larger than memory."""

    path: Path
    settings: RunSettings

    def records(self) -> Iterator[Record]:
        """The finished sessions, in the order in which they finished; a torn last line is passed over.

        Raises SetupError for a damaged line, and for a session that stands there twice: it would count twice.
        """
        seen: set[tuple[str, int]] = set()
        for record in read_records(self.path):
            key = (record.sample_id, record.repeat)
            if key in seen:
                raise SetupError(
                    f"{self.path / RECORDS} holds sample {key[0]}, repeat {key[1]}, twice; {from_tapes(self.path)}"
                )
            seen.add(key)
            yield record

    def facts(self) -> RunFacts:
        """What the summary needs beside the records: names, what the tape did, verdicts on recovered readings."""
        return RunFacts(
            benchmark=self.settings.benchmark,
            run=str(self.path),
            model=self.settings.model.name,
            judge=self.settings.judge.name,
            tape=counts(read_rows(self.path)),
            max_evidence_chars=self.settings.judge.max_evidence_chars,
            recovered=recovered_labels(self.path),
            measures=self.measures,
            type_name=self.type_name,
            own_prompts=self.settings.judge.criterion_prompt is not None or self.settings.judge.prompts is not None,
            left_out=_left_out(self.path),
        )

    @property
    def measures(self) -> Measures:
        """What the run's benchmark measures."""
        return measures_of(self.settings)

    @property
    def type_name(self) -> str:
        """What the run's benchmark calls its task types."""
        return type_name_of(self.settings)

    def summary(self) -> Summary:
        """The figures, worked out from the records. Raises SetupError where no session is finished yet."""
        made = summarise(self.records(), self.facts())
        if made.sessions == 0:
            raise SetupError(
                f"no session of {self.path} is finished yet: continue it with pincite run … --out {self.path}"
            )
        return made


def _left_out(path: Path) -> dict[str, int]:
    """The rows of the data that were not asked, as the provenance counts them."""
    capsule = read_provenance(path)
    data = mapping(capsule.compared.get("data") if capsule is not None else None)
    return {reason: n for reason, n in mapping(data.get("left_out")).items() if isinstance(n, int)}


def open_run(path: Path, *, need_records: bool = True) -> StoredRun:
    """The run in folder `path`; without `need_records` one whose records were lost will do.

    Raises SetupError, saying what is missing, where it is no run folder or half written.
    """
    if not path.is_dir():
        what = "is a file" if path.exists() else "does not exist"
        raise SetupError(f"{path} {what}: expected a run folder, as written by pincite run --out DIR")
    missing = [name for name in (SETTINGS, RECORDS) if not (path / name).is_file()]
    if missing == [RECORDS] and not need_records:
        missing = []
    if len(missing) == 2:
        raise SetupError(f"{path} is no run folder: it has neither {SETTINGS} nor {RECORDS}")
    if missing:
        raise SetupError(f"{path} is a half-written run folder: {missing[0]} is missing; start the run again")
    try:
        return StoredRun(path, resolve("", {}, path / SETTINGS, {}))
    except SetupError as error:
        raise SetupError(f"{path / SETTINGS} is not of this version of pincite: {error}") from error
