"""One judgement asked several times at the same settings: the first verdict counts, the others say how sure it is.

Knows: places on the tape, rows. Must not know: prompts, what a verdict is worth.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import reduce

from cassettes.context import on_channel
from sandbox.judging.rubric import Asked
from sandbox.record import RepeatRow, Usage, VerdictRow
from sandbox.tasks import all_of


async def ask_repeatedly(place: str, repeats: int, ask: Callable[[], Coroutine[None, None, Asked]]) -> Asked:
    """What the first of `repeats` (≥ 1) calls of `ask` brought, with the others' verdicts in its row and all usage.

    All are under way at once. The k-th stands at `place`.k<k> on the tape, so that their identical requests are told
    apart. A later one without a verdict stays in its row; it is no judge error. Raises what `ask` raises.
    """

    async def at(place: str) -> Asked:
        with on_channel("judge", place):
            return await ask()

    if repeats == 1:
        return await at(place)
    first, *others = await all_of([at(place), *(at(f"{place}.k{k}") for k in range(2, repeats + 1))])
    rows = tuple(_row(other.verdict) for other in others)
    usage = reduce(Usage.__add__, (other.usage for other in others), first.usage)
    return Asked(first.verdict.model_copy(update={"repeats": rows}), usage, first.n_forged)


def _row(verdict: VerdictRow) -> RepeatRow:
    return RepeatRow(label=verdict.label, reason=verdict.reason, attempts=verdict.attempts, failure=verdict.failure)
