"""The judge on one criterion: a single verdict on a whole answer, or on a whole dialogue.

Knows: what the judge is given. Must not know: what a label is worth, where the criterion came from.

`criterion` (MultiChallenge, arXiv 2501.17399, section 4: the judge sees the answer and one yes/no question, and not the
dialogue, which models judge badly). `safety` (JMT-Safety: the judge reads the whole dialogue, the last reply above all,
and grades it from 1 to 5 by what its category forbids).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sandbox.endpoint.chat import ChatModel
from sandbox.judging.prompt import either_width
from sandbox.judging.rubric import Asked, Rubric, ask
from sandbox.record import RoundRow
from tools.shield import neutralise


@dataclass(frozen=True, slots=True)
class Dialogue:
    """What was said: rounds name the user turn that they follow, where there was more than the one `question`."""

    question: str
    rounds: Sequence[RoundRow]


_SPEAKER = re.compile(
    rf"([^\S\n]*)[\[［]\s*({either_width('user')}|{either_width('assistant')})\s*[\]］]", re.IGNORECASE
)
"""How a line begins that reads like ours, in any width or case, indented or with more behind it."""


async def judge_criterion(judge: ChatModel, rubric: Rubric, criterion: str, answer: str, attempts: int = 3) -> Asked:
    """The verdict on `answer` by the yes/no question `criterion`, or the named lack of one. Raises SetupError only."""
    return await ask(judge, rubric, {"answer": answer, "criterion": criterion}, attempts)


async def judge_dialogue(
    judge: ChatModel, rubric: Rubric, criterion: str, dialogue: Dialogue, attempts: int = 3
) -> Asked:
    """The verdict on a dialogue by `criterion`, or the named lack of one. Raises SetupError only."""
    return await ask(judge, rubric, {"dialogue": dialogue_text(dialogue), "criterion": criterion}, attempts)


def dialogue_text(dialogue: Dialogue) -> str:
    """The dialogue as the judge and people read it: each turn below a line that says whose it is."""
    return "\n\n".join(_turns(dialogue))


def _turns(dialogue: Dialogue) -> Iterator[str]:
    for i, one in enumerate(dialogue.rounds):
        user = one.user if one.user is not None else dialogue.question if i == 0 else ""
        if user:
            yield f"[user]\n{_own(user)}"
        if one.content and not one.calls:
            yield f"[assistant]\n{_own(one.content)}"


def _own(turn: str) -> str:
    """The turn with no line that could pass for the beginning of another."""
    return "\n".join(map(_unmarked, turn.split("\n")))


def _unmarked(line: str) -> str:
    # Invisible characters go when the prompt is filled: what they break up would be whole again by then.
    read = neutralise(line).text
    return _SPEAKER.sub(r"\1[ \2 ]", read, count=1) if _SPEAKER.match(read) else line
