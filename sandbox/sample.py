"""What a benchmark hands to the engine: a sample, its script, its gold.

Knows: the values. Must not know: any benchmark, any model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sandbox.endpoint.chat import Message
from sandbox.record import RubricName


@dataclass(frozen=True, slots=True)
class GivenPage:
    """A page that stands in the prompt under a citation number (RAG version).

    `start` and `end` are offsets of its text into the first user turn: the evidence of the number is what was sent.
    `body_sha256` names the bytes that the text came from (hex), None where nobody knows.
    """

    number: int
    url: str
    title: str
    start: int
    end: int
    body_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Script:
    """What the engine plays: `history` as it is sent, then each user turn in order; `tools` whether tools are offered.

    `responses`: answers that exist already, one a session (None or "" = there is none): they are judged, and nothing is
    generated. `given`: the pages in the prompt.
    """

    turns: tuple[str, ...]
    history: tuple[Message, ...] = ()
    tools: bool = True
    given: tuple[GivenPage, ...] = ()
    responses: tuple[str | None, ...] | None = None


@dataclass(frozen=True, slots=True)
class Criterion:
    """What one verdict decides: `text` is what the judge holds the answer against (a yes/no question, prohibitions).

    `passing` are the labels of the rubric that mean that the answer passes.
    """

    rubric: RubricName
    text: str
    passing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Gold:
    """What an answer is held against. `sources`: URLs as the ledger knows them; empty where the data set gives none.

    With a `criterion` the answer gets that one verdict, and neither consistency nor citations are judged.
    """

    reference: str | None
    sources: tuple[str, ...] = ()
    criterion: Criterion | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """One question of a benchmark.

    `task_type` is what results are broken down by first (an axis, a category); `labels` are further break-downs by name.
    `cluster`: samples of one origin, which are no independent draws (None = it stands alone).
    """

    id: str
    question: str
    script: Script
    gold: Gold
    task_type: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    cluster: str | None = None
