"""What a benchmark is to the engine.

Knows: the values that a benchmark module fills in. Must not know: any benchmark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from sandbox.measuring.measures import CITED, Measures
from sandbox.sample import Sample
from sandbox.settings import Overrides, RunSettings

CITED_ANSWER = ("consistency", "support", "relevance", "need")
"""The judgements of a benchmark whose answers are held against a reference and whose citations are checked."""


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
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])
    """Rows that cannot be asked, by reason; they are in no denominator, and the report says so."""
    left_out_lines: tuple[str, ...] = ()
    """One for each of them, for people: which row, why, what is to blame. They go into the run folder."""
    facts: Mapping[str, str] = field(default_factory=dict[str, str])
    """What else two runs must share to have the same data, e.g. the digest of a corpus."""
    notes: tuple[str, ...] = ()
    """What the user should know of the data and no figure says, in sentences."""


Load = Callable[[RunSettings, SourceResolver | None], Loaded]


def cited(_: RunSettings) -> Measures:
    """The measures of tmg_cqa's Tool version."""
    return CITED


@dataclass(frozen=True, slots=True)
class PublishedForm:
    """The table in which a publication reports its benchmark: a row a model, all by one `judge`.

    `measures`: the columns, by name (of those that a run does not have nothing is said). `by_type`: also the first of
    them by task type. `thinking`: also whether the answers came with reasoning. `fraction`: 0.662 instead of 66.2.
    """

    measures: tuple[str, ...]
    judge: str
    by_type: bool = False
    thinking: bool = False
    fraction: bool = False


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark. `version` changes with anything that changes scores; `defaults` go under file and flags.

    `judgements`: the rubrics that its answers are judged by. `type_name`: what its task types are called in tables.
    `mini`: the settings of `--mini`, None where it has no bundled rows. `published`: the form of its publication's table.
    """

    name: str
    version: str
    about: str
    defaults: Overrides
    load: Load
    measures: Callable[[RunSettings], Measures] = cited
    judgements: tuple[str, ...] = CITED_ANSWER
    type_name: str = "task type"
    mini: Overrides | None = None
    published: PublishedForm | None = None
