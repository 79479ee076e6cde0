"""What a benchmark is to the engine.

Knows: the values that a benchmark module fills in. Must not know: any benchmark.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from sandbox.sample import Sample
from sandbox.settings import Overrides, RunSettings


class SourceResolver(Protocol):
    """Turns what a data set calls a source (a URL or a document id) into the URL that the ledger knows."""

    def url_of(self, doc_id: str) -> str | None:
        """The URL of a document id; None where `doc_id` is no id of the corpus (it is a URL then)."""
        ...


@dataclass(frozen=True, slots=True)
class Loaded:
    """A data set ready to run, with what the provenance says of it."""

    samples: tuple[Sample, ...]
    path: str
    n_rows: int
    sha256: str
    unused: tuple[str, ...] = ()
    """Columns of the file that nothing reads: said to the user, who may have meant one of them."""


Load = Callable[[RunSettings, SourceResolver | None], Loaded]


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark. `version` changes with anything that changes scores; `defaults` go under file and flags."""

    name: str
    version: str
    about: str
    defaults: Overrides
    load: Load
