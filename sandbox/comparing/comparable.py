"""Whether two runs may be compared: what differs between them, sorted into what is compared and what spoils it.

Knows: the capsules of two runs. Must not know: records, figures, how a run is made.

Only `model.*` may differ freely: another model, other decode settings, another output limit or context are what a
comparison is about. Everything else that provenance compares (data, benchmark, judge and its prompts, search, limits,
citation policy, texts sent) could make a difference of its own. Another judge is what is compared where the answers are the
same in both runs; how often each verdict was asked for moves no score, because the first counts.
"""

from __future__ import annotations

from dataclasses import dataclass

from sandbox.folder.provenance import Provenance, mixed

MODEL, DATA, JUDGE = "model", "data", "judge"
REPEATS = "judge.repeats "
SHOWN = 4


@dataclass(frozen=True, slots=True)
class Differences:
    """What differs from run A to run B, in words. `model` may, and `judge` where the answers are the same; each of
    `spoiling` makes the comparison doubtful.
    """

    model: tuple[str, ...]
    spoiling: tuple[str, ...]
    judge: tuple[str, ...] = ()


def differences(a: Provenance | None, b: Provenance | None, *, same_answers: bool = False) -> Differences:
    """What differs between two capsules. One that is missing (None) is a difference: nobody knows what it would say.

    `same_answers`: the runs are known to hold the same answers with the same evidence, so that another judge is no doubt.
    """
    missing = tuple(
        f"run {letter} has no provenance.json, so nothing is known of what it was made of"
        for letter, capsule in (("A", a), ("B", b))
        if capsule is None
    )
    if a is None or b is None:
        return Differences((), missing)
    found = [words for words in mixed(a.compared, b.compared) if not words.startswith(REPEATS)]
    model = tuple(words for words in found if _about(words, MODEL))
    judge = tuple(words for words in found if _about(words, JUDGE)) if same_answers else ()
    return Differences(model, tuple(words for words in found if words not in (*model, *judge)), judge)


def refusal(found: Differences) -> str | None:
    """Why the runs are not compared, and what to do, as sentences; None where nothing spoils a comparison."""
    data = [words for words in found.spoiling if _about(words, DATA)]
    if data:
        return (
            f"A and B are runs of different data ({_listed(data)}): their questions cannot be paired. "
            "Run both on the same file; --force pairs those questions that both ask in the same words"
        )
    if not found.spoiling:
        return None
    judge = [words for words in found.spoiling if _about(words, JUDGE)]
    mend = (
        "judge one of the runs again with the other's judge" if len(judge) == len(found.spoiling) else "run one again"
    )
    return (
        f"from A to B more than the model differs: {_listed(found.spoiling)}. That alone could move the scores: "
        f"{mend}, or compare all the same with --force, which marks the result"
    )


def _about(words: str, group: str) -> bool:
    return words.startswith((f"{group}.", f"{group} "))


def _listed(found: list[str] | tuple[str, ...]) -> str:
    more = f"; and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return "; ".join(found[:SHOWN]) + more
