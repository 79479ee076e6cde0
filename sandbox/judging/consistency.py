"""The judge on the whole answer: does it agree with the reference answer?

Knows: what the judge is given. Must not know: citations, evidence, rates.

tmg_cqa publication, section on factual consistency: one judgement per answer, `consistent`, `contradictory` or
`insufficient` (no answer to the question). It is no truth check of every claim that the answer adds.
"""

from __future__ import annotations

from sandbox.endpoint.chat import ChatModel
from sandbox.judging.rubric import Asked, Rubric, ask


async def judge_consistency(
    judge: ChatModel, rubric: Rubric, question: str, reference: str, answer: str, attempts: int = 3
) -> Asked:
    """The verdict on `answer` against `reference`, or the named lack of one. Raises SetupError only.

    The caller gives both texts without tags (`citations.markup.untagged`): citations are judged apart, and marks that
    only one of the two has must not weigh.
    """
    return await ask(judge, rubric, {"question": question, "reference": reference, "answer": answer}, attempts)
