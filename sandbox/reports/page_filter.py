"""The filter language of the report page, for `pincite report --only`; `web/src/query.ts` says the same in TypeScript.

Knows: rows of the page's index, the words of a query. Must not know: files, HTML.

Words apart by white space must all hold; "…" keeps spaces, a leading `-` turns a word round. `code:P05`, `outcome:`,
`type:`, `url:` (of a cited page), `id:`, `answer:`, `flag:` and `is:` look for a part of the value, without regard to
width and case; `f1<50` compares points (also recall, precision, recovered, loss, rounds, tokens, seconds); `flip` and
`contradiction` stand alone. Everything else is looked for in id and question. Where one verdict decides: `verdict:no`,
`label:technique=Repeat`, `cause:` (of a session without an answer), `is:passed`, `is:failed`, `is:undecided`,
`is:judge_flip`; `loss` is then 0 or 100.
"""

from __future__ import annotations

import operator
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sandbox.reports.page_format import Decided, Row
from tools.tool import SetupError

_WORD = re.compile(r'-?(?:[^\s"]*"[^"]*"?|\S+)')
_COMPARE = re.compile(r"(f1|recall|precision|recovered|loss|rounds|tokens|seconds)(<=|>=|<|>|=)(-?\d+(?:\.\d+)?)")
_FIELD = re.compile(r"(code|outcome|type|url|id|answer|verdict|label|cause|flag|is|text|only):(.+)", re.DOTALL)
_OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
}
ALONE = frozenset({"flip", "contradiction"})
IN_THE_PAGE_ONLY = frozenset({"text", "only"})


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a query. `field` empty: free text; a comparison has an `operator`."""

    field: str
    operator: str
    value: str
    negated: bool


@dataclass(frozen=True, slots=True)
class Context:
    """What rows alone do not say: the addresses their `urls` point to, and questions whose repeats disagree."""

    urls: Sequence[str]
    flips: frozenset[str] = frozenset()


def fold(text: str) -> str:
    """`text` without differences of width and case."""
    return unicodedata.normalize("NFKC", text).lower()


def words(query: str) -> tuple[Word, ...]:
    """The words of a query; nothing is an error, an unknown field is free text."""
    return tuple(_word(found[0]) for found in _WORD.finditer(query))


def only(query: str) -> tuple[Word, ...]:
    """The words of `--only`. Raises SetupError for those that only the page can answer."""
    found = words(query)
    for word in found:
        if word.field in IN_THE_PAGE_ONLY:
            raise SetupError(f"--only: {word.field}: works in the page's search field only")
    return found


def matches(row: Row, query: Sequence[Word], context: Context) -> bool:
    """Whether every word of the query holds for the row."""
    return all(_holds(row, word, context) != word.negated for word in query)


def flips(rows: Iterable[Row]) -> frozenset[str]:
    """Questions whose repeats were judged differently; by one verdict: that passed sometimes and not always."""
    labels = Counter({(row.id, row.decided.passed is True if row.decided else row.answer) for row in rows})
    questions = Counter(question for question, _ in labels)
    return frozenset(question for question, n in questions.items() if n > 1)


def _word(written: str) -> Word:
    negated = written.startswith("-") and len(written) > 1
    body = (written[1:] if negated else written).replace('"', "")
    lowered = body.lower()
    compared = _COMPARE.fullmatch(lowered)
    if compared:
        return Word(compared[1], compared[2], compared[3], negated)
    field = _FIELD.fullmatch(body) or _FIELD.fullmatch(lowered)
    if field:
        return Word(field[1], "", fold(field[2]), negated)
    if lowered in ALONE:
        return Word("is", "", lowered, negated)
    return Word("", "", fold(body), negated)


def _holds(row: Row, word: Word, context: Context) -> bool:
    if word.operator:
        value = _figure(row, word.field)
        return value is not None and _OPERATORS[word.operator](value, float(word.value))
    match word.field:
        case "":
            return word.value in fold(f"{row.id} {row.question}")
        case "code":
            return any(fold(found.code).startswith(word.value) for found in row.codes)
        case "outcome":
            return word.value.replace(" ", "_") in row.outcome
        case "type":
            return word.value in fold(row.task_type or "(none)")
        case "url":
            return any(word.value in fold(context.urls[index]) for index in row.urls)
        case "id":
            return word.value in fold(row.id)
        case "answer":
            return (row.answer or "none").startswith(word.value)
        case "verdict" | "label" | "cause":
            return row.decided is not None and _decided(row.decided, word)
        case "flag":
            return any(word.value.replace(" ", "_") in flag for flag in row.flags)
        case "is":
            return _is(row, word.value, context)
        case _:
            return True


def _decided(decided: Decided, word: Word) -> bool:
    match word.field:
        case "verdict":
            # Not the beginning of one: `no` would have what has none.
            return fold(decided.verdict or "none") == word.value
        case "label":
            named = "=" in word.value
            return any(
                word.value in fold(f"{name}={value}" if named else value) for name, value in decided.labels.items()
            )
        case _:
            return word.value.replace(" ", "_") in fold(decided.cause)


def _is(row: Row, what: str, context: Context) -> bool:
    match what:
        case "passed":
            return row.decided is not None and row.decided.passed is True
        case "failed":
            # By its verdict: what had no answer is found by its outcome.
            return row.decided is not None and row.decided.passed is False and row.decided.verdict is not None
        case "undecided":
            return row.decided is not None and row.decided.passed is None and not row.decided.left_out
        case "judge_flip":
            return row.decided is not None and row.decided.flipped
        case "unparsable":
            return unparsable(row)
        case "readable":
            return row.outcome in ("answered", "judge_error") and not unparsable(row)
        case "flip":
            return row.id in context.flips
        case "contradiction":
            return row.contradiction > 0
        case _:
            return False


def unparsable(row: Row) -> bool:
    """Whether the answer is there but cannot be read (`sandbox.measuring.outcome.unparsable`)."""
    return "no_sentence" in row.flags or "no_citation" in row.flags


def _loss(row: Row) -> float | None:
    """Points that the answer lost; by one verdict all or none, and all where the verdict is missing."""
    if row.decided is not None:
        return None if row.decided.left_out else 0.0 if row.decided.passed else 100.0
    return None if row.f1 is None else round(100 - row.f1, 2)


def _figure(row: Row, name: str) -> float | None:
    match name:
        case "f1":
            return row.f1
        case "recall":
            return row.recall
        case "precision":
            return row.precision
        case "recovered":
            return row.recovered
        case "loss":
            return _loss(row)
        case "rounds":
            return row.rounds
        case "tokens":
            return row.tokens
        case "seconds":
            return row.seconds
        case _:
            return None
