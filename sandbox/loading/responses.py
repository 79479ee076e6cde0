"""Answers that exist already: a file of responses, joined to the questions they answer.

Knows: the columns QUESTION_ID and RESPONSE, in any case of letters, and what a file of answers may lack. Must not know:
what a missing answer counts as, how an answer is judged.

RESPONSE is a list of texts (one an attempt), a text (one response, however long), null or an empty list (none); a null in
the list is an attempt without a response. The published tool reads a text letter by letter and drops an empty list from
its denominator; here every question stays, and one without a response is a question that was not answered.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.endpoint.error_text import is_error_text
from sandbox.loading.cells import Cells, check_unique, shown_value
from sandbox.loading.columns import columns_named
from sandbox.loading.rows import is_null, read_table, shown
from tools.tool import SetupError

Texts = tuple[str | None, ...]
SHOWN = 3
"""Ids named in a message."""


@dataclass(frozen=True, slots=True)
class Responses:
    """A file of answers. `by_id` holds every question that was asked for, `()` where the file has no row or no response.

    `missing`: questions without a row, in their order; `unknown`: ids of the file that are no question, which are not
    read. `sha256` is hex over the file.
    """

    path: Path
    sha256: str
    by_id: Mapping[str, Texts]
    missing: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def most(self) -> int:
        """The most responses that any question has."""
        return max((len(texts) for texts in self.by_id.values()), default=0)


def read_responses(path: Path, questions: Collection[str]) -> Responses:
    """The responses to `questions`. Raises SetupError in one line: file, row, keys seen and what to do.

    Questions without a row are in `missing`: they count as not answered. A file of a larger set than the one asked is read
    for what was asked. But ids that are missing and ids that are unknown together mean two versions of the data, or ids
    that were mistyped: that is refused, and so is an id that stands twice.
    """
    table = read_table(path)
    columns = columns_named(table, ("question_id", "response"))
    rows = [Cells(path, row) for row in table.rows]
    ids = [cells.id(columns["question_id"]) for cells in rows]
    check_unique(table, ids, "keep one row a question")
    found = {name: _texts(cells, columns["response"]) for name, cells in zip(ids, rows, strict=True)}
    missing = tuple(name for name in questions if name not in found)
    asked = frozenset(questions)
    unknown = tuple(name for name in found if name not in asked)
    if missing and unknown:
        raise SetupError(
            f"{path} answers other questions: {len(missing)} of {len(asked)} questions have no row{_named(missing)}; "
            f"{len(unknown)} ids are no question{_named(unknown)}; name the data that it was made from, or mend the ids"
        )
    return Responses(path, table.sha256, {name: found.get(name, ()) for name in questions}, missing, unknown)


def sessions_of(responses: Responses, n_sessions: int) -> Mapping[str, Texts]:
    """One entry a session, for every question: the first `n_sessions` responses, None where there are fewer.

    Raises SetupError where no question has that many: a rate over k attempts needs k attempts.
    """
    if n_sessions > max(responses.most, 1):
        raise SetupError(
            f"{responses.path} holds at most {responses.most} responses a question, and {n_sessions} sessions a question "
            f"are asked for: --repeats {max(responses.most, 1)} (multichallenge: --attempts)"
        )
    return {name: (*texts, *[None] * n_sessions)[:n_sessions] for name, texts in responses.by_id.items()}


def response_notes(responses: Responses, n_sessions: int, asked: Sequence[str]) -> tuple[str, ...]:
    """What people must know of the file beside its score, a sentence each: what it lacks, and what of it is not read.

    `asked`: the questions that the run asks, which may be fewer than the data has.
    """
    by_id = {name: responses.by_id[name] for name in asked}
    missing = [name for name in responses.missing if name in by_id]
    unanswered = [name for name, texts in by_id.items() if not any(text and text.strip() for text in texts)]
    without = [name for name in unanswered if name not in set(missing)]
    read = [text for texts in by_id.values() for text in texts[:n_sessions] if text]
    n_errors = sum(map(is_error_text, read))
    n_more = sum(len(texts) > n_sessions for texts in by_id.values())
    n_asked = len(by_id)
    notes = (
        (len(missing), f"of {n_asked} questions have no row and count as not answered", missing),
        (len(without), f"of {n_asked} questions have a row without a response and count as not answered", without),
        (n_errors, "responses are the text of an HTTP error and count as failed generations", ()),
        (len(responses.unknown), "ids are no question of the data and are not read", responses.unknown),
        (n_more, f"questions have more than {n_sessions} responses; the rest are not read", ()),
    )
    return tuple(f"{responses.path}: {n} {words}{_named(names)}" for n, words, names in notes if n)


def _texts(cells: Cells, column: str) -> Texts:
    if column not in cells.row.values:
        raise cells.refusal(f"{column} is missing; write null or [] where there is no response")
    return tuple(_text(cells, column, item) for item in cells.items(column))


def _text(cells: Cells, column: str, item: object) -> str | None:
    if is_null(item):
        return None
    if not isinstance(item, str):
        raise cells.refusal(f"{column} must be a list of texts, a text or null, and holds {shown_value(item)}")
    return cells.writable(column, item)


def _named(names: Sequence[str]) -> str:
    return f": {shown(tuple(names[:SHOWN]))}{'…' if len(names) > SHOWN else ''}" if names else ""
