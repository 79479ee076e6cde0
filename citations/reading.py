"""An answer to be read with its faults mended, and what such a reading gives.

Knows: what a reading depends on. Must not know: how tags are matched, how a fault is mended.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from citations.findings import CODES, Fault
from citations.markup import Dialect
from citations.model import Answer, Sentence
from citations.prose import Outside, prose_sentences
from citations.tag_spelling import Token

ALL_CODES: frozenset[str] = frozenset(CODES)
MENDABLE: tuple[str, ...] = tuple(code for code in CODES if code[0] != "R")
"""Codes that change how an answer is read when they are mended (some never do: there is nothing to mend in them)."""


@dataclass(frozen=True, slots=True)
class Source:
    """An answer with what its reading depends on. `tokens` from `tag_spelling.scan`; `cut`: by the output limit.

    `known`: the numbers that the tools gave, None where no ledger is at hand. `titles`: page titles as
    `cite_body.title_key` gives them, to numbers (None for one that several pages bear).
    """

    raw: str
    dialect: Dialect
    tokens: tuple[Token, ...]
    cut: bool = False
    known: Collection[int] | None = None
    titles: Mapping[str, int | None] = field(default_factory=dict[str, int | None])


@dataclass(frozen=True)
class Reading:
    """An answer as read, and the faults met (those that were not mended too, as far as the reading sees them)."""

    source: Source
    faults: tuple[Fault, ...]
    tagged: tuple[Sentence, ...]
    prose: tuple[Outside, ...]
    """What an answer without sentence tags is read from; empty for any other, and where W02 is not mended."""

    @cached_property
    def answer(self) -> Answer:
        """The answer; prose is cut into sentences when it is first asked for."""
        sentences = prose_sentences(self.source.raw, self.prose, self.source.known) if self.prose else self.tagged
        return Answer(self.source.raw, self.source.dialect.name, sentences)
