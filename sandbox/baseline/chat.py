"""The baseline in plain conversation: it repeats what was said before that has most to do with the last user turn.

Knows: the messages it is sent. Must not know: any benchmark, any criterion. It has no memory but the text, makes nothing up
and refuses nothing: a floor for conversations, whose scores compare with nothing published.

It answers with at most `N_SENTENCES` sentences, in the order in which they were said: sentences of the user (questions and
requests apart, those of the last turn included) and lines of the assistant's last message that share content bigrams
with the last turn. Ties go to what was said first. Where nothing is shared it says so.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from sandbox.baseline.phrases import asks, requests
from sandbox.endpoint.lenient import mapping
from tools.text import bigrams
from tools.tool import Language

N_SENTENCES = 4
LEAST_SHARED = 1
"""Content bigrams (or Latin words) that a sentence must share with the last turn."""
OPENING: dict[Language, str] = {"ja": "これまでのお話によると、次のとおりです。", "en": "From what was said so far:"}
NOTHING: dict[Language, str] = {
    "ja": "これまでのお話の中には、お答えできることが見つかりませんでした。",
    "en": "I could not find anything in our conversation that answers this.",
}

_JAPANESE = re.compile(r"[ぁ-ヿ一-鿿]")
_HIRAGANA = re.compile(r"[ぁ-ゖ]+")
_SENTENCE_END = re.compile(r"(?<=[。！？!?])(?![」』）)])|(?<=[.!?]) |\n+")
_STOP = frozenset(
    ("a", "an", "and", "are", "at", "be", "for", "from", "in", "is", "it", "of", "on", "or", "the", "to", "was", "your")
)


@dataclass(frozen=True, slots=True)
class _Said:
    text: str
    place: int
    n_shared: int


def chat_answer(messages: Sequence[object]) -> str:
    """The reply to the last user message, in its language. Same messages, same reply."""
    rows = [mapping(row) for row in messages]
    said = [(str(row.get("role")), str(row.get("content") or "")) for row in rows]
    last = max((i for i, (role, _) in enumerate(said) if role == "user"), default=0)
    turn = said[last][1]
    language: Language = "ja" if _JAPANESE.search(turn) else "en"
    chosen = _chosen(_lines(said[: last + 1]), _content(turn))
    if not chosen:
        return NOTHING[language]
    return "\n".join([OPENING[language], *chosen])


def _lines(said: Sequence[tuple[str, str]]) -> list[str]:
    """What may be repeated, in order, each once: statements of the user, lines of the last assistant message."""
    replies = [i for i, (role, _) in enumerate(said) if role == "assistant"]
    ours = {*OPENING.values(), *NOTHING.values()}
    lines: dict[str, None] = {}
    for i, (role, content) in enumerate(said):
        if role == "user" or i in replies[-1:]:
            for line in _SENTENCE_END.split(content):
                text = line.strip()
                if text and text not in ours and not _wants_something(text):
                    lines[text] = None
    return list(lines)


def _wants_something(line: str) -> bool:
    folded = unicodedata.normalize("NFKC", line).lower().rstrip("。.")
    return asks(folded) or requests(folded)


def _chosen(lines: Sequence[str], wanted: frozenset[str]) -> list[str]:
    found = [_Said(line, place, len(_content(line) & wanted)) for place, line in enumerate(lines)]
    best = sorted((one for one in found if one.n_shared >= LEAST_SHARED), key=lambda one: (-one.n_shared, one.place))
    return [one.text for one in sorted(best[:N_SENTENCES], key=lambda one: one.place)]


def _content(text: str) -> frozenset[str]:
    """Bigrams and words that carry content: pairs of hiragana and the commonest English words do not."""
    return frozenset(gram for gram in bigrams(text) if not _HIRAGANA.fullmatch(gram) and gram not in _STOP)
