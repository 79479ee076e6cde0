"""What the baseline model reads: the question, tool results and documents in the prompt, from the messages alone.

Knows: the text format of the tools. Must not know: the ledger, the corpus, the reference answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sandbox.baseline.given import PAGE_MARK, read_given, states, unwrapped
from sandbox.endpoint.lenient import items, mapping

HIT = re.compile(r"^\[(\d+)\] (.*)$")
SNIPPET = "・"
RULE = "----"
FOUND = re.compile(r"^- \d+(?:文字目|[^:：]*)[^:：]*[:：] ?(.*)$")
SENTENCE_END = re.compile(r"(?<=[。．！？!?])|\n+")
TABLE_ROW = re.compile(r"^\|(.*)\|$")
MARKUP = re.compile(r"[*_`#>]+|^\s*(?:[-・•●○◆■□]|\d+[.)．])\s+|\[([^\[\]]{0,500})\]\([^()]{0,2000}\)")


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence-like stretch of a numbered page."""

    number: int
    title: str
    text: str


@dataclass(slots=True)
class Reading:
    """Everything read so far. `rankings`: page numbers of each search, best first."""

    question: str
    wants_citations: bool = False
    n_rounds: int = 0
    rankings: list[list[int]] = field(default_factory=list[list[int]])
    passages: list[Passage] = field(default_factory=list[Passage])
    opened: set[int] = field(default_factory=set[int])


def read(messages: Sequence[object]) -> Reading:
    """The state of the session. Raises ValueError where there is no user message."""
    rows = [mapping(row) for row in messages]
    users = [str(row.get("content") or "") for row in rows if row.get("role") == "user"]
    if not users:
        raise ValueError("the baseline model needs a user message")
    reading = Reading(question_of(users[0]), wants_citations="<sentence>" in users[0] or "<cite>" in users[0])
    given = read_given(users[0])
    if given is not None:
        reading.question = given.question
        for document in given.documents:
            said = filter(states, sentences(unwrapped(document.text)))
            reading.passages.extend(Passage(document.number, document.title, sentence) for sentence in said)
    names: dict[str, str] = {}
    for row in rows:
        calls = items(row.get("tool_calls"))
        if row.get("role") == "assistant" and calls:
            reading.n_rounds += 1
            names.update(_names(calls))
        elif row.get("role") == "tool":
            _read_result(reading, names.get(str(row.get("tool_call_id")), ""), str(row.get("content") or ""))
    return reading


def question_of(content: str) -> str:
    """The user turn without its paragraph on citation form (the one that speaks of `<sentence>` or `<cite>`)."""
    paragraphs = re.split(r"\n{2,}", content)
    kept = [paragraph for paragraph in paragraphs if "<sentence>" not in paragraph and "<cite>" not in paragraph]
    return "\n".join(kept).strip() or content.strip()


def sentences(text: str) -> list[str]:
    """Sentence-like stretches of page text: cut at 。．！？ and line ends, table rows spelled out, markup dropped."""
    found: list[str] = []
    for line in SENTENCE_END.split(text):
        row = TABLE_ROW.match(line.strip())
        if row:
            cells = [cell.strip() for cell in row.group(1).split("|")]
            line = "、".join(cell for cell in cells if cell.strip("-: "))
        clean = MARKUP.sub(lambda match: match.group(1) or "", line).strip()
        if len(clean) >= 8:
            found.append(clean)
    return found


def _names(calls: Sequence[object]) -> dict[str, str]:
    rows = [mapping(call) for call in calls]
    return {str(row.get("id")): str(mapping(row.get("function")).get("name")) for row in rows}


def _read_result(reading: Reading, tool: str, content: str) -> None:
    number, title, inside = 0, "", False
    ranking: list[int] = []
    body: list[str] = []
    for line in content.splitlines():
        head = None if inside else HIT.match(line)
        if head:
            number, title = int(head.group(1)), head.group(2)
            ranking.append(number)
        elif line.strip() == RULE and tool == "fetch":
            inside = not inside
        elif not number:
            continue
        elif inside and not PAGE_MARK.fullmatch(line):
            body.append(line)
        elif tool == "search" and line.startswith(SNIPPET):
            _add(reading, number, title, line.removeprefix(SNIPPET))
        elif tool == "find" and (hit := FOUND.match(line)):
            _add(reading, number, title, hit.group(1).strip("…"))
    if tool == "search":
        reading.rankings.append(ranking)
    elif number:
        reading.opened.add(number)
        _add(reading, number, title, "\n".join(body))


def _add(reading: Reading, number: int, title: str, text: str) -> None:
    reading.passages.extend(Passage(number, title, sentence) for sentence in sentences(text))


def completion(message: Mapping[str, object], finish_reason: str, body: Mapping[str, object]) -> dict[str, object]:
    """A chat-completion object around `message`; tokens are estimated at 0.7 per character, and say so nowhere else."""
    prompt = int(0.7 * len(json.dumps(body.get("messages"), ensure_ascii=False)))
    written = int(0.7 * len(json.dumps(message, ensure_ascii=False)))
    return {
        "id": "chatcmpl-baseline",
        "object": "chat.completion",
        "created": 0,
        "model": str(body.get("model")),
        "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written},
    }
