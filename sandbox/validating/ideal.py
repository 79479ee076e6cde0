"""An ideal judge, the worst one, and a model that says what it is told: to try a benchmark without a model or a judge.

Knows: which label of each rubric is best and worst, how a reference is written as an answer. Must not know: samples,
measures, what is made of a verdict.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from citations.markup import Dialect
from sandbox.endpoint.chat import Conversation, Message, Reply
from sandbox.judging.rubric import LABELS, Rubric
from sandbox.record import Usage
from sandbox.sample import Criterion

SENTENCE = re.compile(r"[^。．！？!?\n]*[。．！？!?\n]+|[^。．！？!?\n]+")
BEST: Mapping[str, str] = {"support": "full", "relevance": "yes", "need": "no", "consistency": "consistent"}
WORST: Mapping[str, str] = {"support": "none", "relevance": "no", "need": "yes", "consistency": "contradictory"}


@dataclass(frozen=True, slots=True)
class IdealJudge:
    """Gives each rubric, told by its own response format, the label it was made with."""

    labels: Mapping[int, str]

    async def chat(
        self,
        messages: Conversation,  # noqa: ARG002  part of the interface; what is asked does not matter here
        *,
        tools: Sequence[Message] = (),  # noqa: ARG002  as above
        response_format: Mapping[str, object] | None = None,
    ) -> Reply:
        """The verdict, as a judge would write it."""
        content = json.dumps({"verdict": self.labels[id(response_format)], "reason": ""})
        return Reply(content, "stop", Usage())


@dataclass(frozen=True, slots=True)
class Echo:
    """Says the same in every turn."""

    answer: str

    async def chat(
        self,
        messages: Conversation,  # noqa: ARG002  part of the interface; what is asked does not matter here
        *,
        tools: Sequence[Message] = (),  # noqa: ARG002  as above
        response_format: Mapping[str, object] | None = None,  # noqa: ARG002  as above
    ) -> Reply:
        """The answer, whatever was said before."""
        return Reply(self.answer, "stop", Usage())


def judge_of(rubrics: Iterable[Rubric], criterion: Criterion | None, *, best: bool) -> IdealJudge:
    """The judge that gives the best (or the worst) label to all that these rubrics can ask about an answer."""
    labels = dict(BEST if best else WORST)
    if criterion is not None:
        labels[criterion.rubric] = best_label(criterion) if best else worst_label(criterion)
    return IdealJudge({id(rubric.response_format): labels[rubric.name] for rubric in rubrics if rubric.name in labels})


def cited_answer(reference: str, number: int, dialect: Dialect) -> str:
    """The reference as a model would write it: every sentence marked, and citing page `number`."""
    cite = f"{dialect.cite_open}{number}{dialect.cite_close}"
    return "".join(
        f"{dialect.sentence_open}{sentence}{cite}{dialect.sentence_close}" if sentence.strip() else sentence
        for sentence in SENTENCE.findall(reference)
    )


def best_label(criterion: Criterion) -> str:
    """The label that passes, the highest grade where labels are grades; any where none passes (that is a problem)."""
    labels = LABELS[criterion.rubric]
    passing = [label for label in labels if label in criterion.passing]
    return (passing[-1] if criterion.rubric == "safety" else passing[0]) if passing else labels[0]


def worst_label(criterion: Criterion) -> str:
    """The label that fails, the lowest grade where labels are grades; any where all pass (that is a problem)."""
    labels = LABELS[criterion.rubric]
    return next((label for label in labels if label not in criterion.passing), labels[0])
