"""The extractive baseline model: searches, opens, finds, and answers with sentences copied from what it read.

Knows: the messages it is sent, nothing else. Must not know: the corpus, the ledger, any reference answer. It is a floor
to run the sandbox against, not a model: its scores compare with nothing published.

Plan: round 1 searches for the question and for its parts; round 2 opens the best pages (reciprocal rank fusion, Cormack
et al. 2009, k = 60); round 3 looks for the question's rare words in them; then it answers with the sentences that share
most weighted character bigrams with the question, each cited to the page it was read on.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from sandbox.baseline.chat import chat_answer
from sandbox.baseline.reading import Passage, Reading, completion, read
from tools.text import bigrams

N_QUERIES, N_OPENED, N_SEARCHED_IN = 4, 4, 3
N_SENTENCES = 6
QUERY_CHARS = 300
SENTENCE_CHARS = 240
FUSION_K = 60
TERMS = re.compile(
    r"[一-龥々〆ヶ]{2,12}|[ァ-ヴー]{3,}|[A-Za-z][A-Za-z0-9-]{2,}|[0-9０-９][0-9０-９,，.]*[年月円人件%％]?"
)
CLAUSE_END = re.compile(r"[、。，．？！?!\n]|について|のうち|及び|および|または|又は|と比べて|に比べ")
CHOICE = re.compile(r"^[^\S\n]*[a-zａ-ｚア-オ0-9０-９]{1,2}[\s.．)）:：]+", re.MULTILINE)
OPENING = "調べた資料には次のように書かれています。"
NOTHING = "検索した範囲では、質問に答える資料が見つかりませんでした。"


def model_reply(body: Mapping[str, object]) -> dict[str, object]:
    """A chat completion for `body`. Raises ValueError for a body without messages."""
    messages = body.get("messages")
    if not isinstance(messages, list):
        raise ValueError("messages must be a list")
    reading = read(cast(list[object], messages))
    calls = _next_calls(reading) if body.get("tools") else []
    if calls:
        return completion({"content": None, "tool_calls": calls}, "tool_calls", body)
    # Nothing to read and no form of citation asked for: plain conversation.
    chatting = not (reading.n_rounds or reading.passages or reading.wants_citations)
    content = chat_answer(cast(list[object], messages)) if chatting else answer(reading)
    return completion({"content": content}, "stop", body)


def queries(question: str) -> list[str]:
    """The question, then its choices or its longest clauses: what a patient reader would type."""
    whole = " ".join(question.split())[:QUERY_CHARS]
    choices = [part.strip() for part in CHOICE.split(question)[1:]]
    if choices:
        first = CHOICE.split(question)[0].strip()
        parts = [first, *choices] if first else choices
    else:
        parts = sorted(CLAUSE_END.split(question), key=len, reverse=True)
    wanted = [whole, *(part.strip()[:QUERY_CHARS] for part in parts if len(part.strip()) >= 6)]
    return list(dict.fromkeys(wanted))[:N_QUERIES]


def best_pages(rankings: Sequence[Sequence[int]]) -> list[int]:
    """Page numbers by reciprocal rank fusion of all searches; ties by number."""
    score: dict[int, float] = defaultdict(float)
    for ranking in rankings:
        for rank, number in enumerate(ranking, 1):
            score[number] += 1 / (FUSION_K + rank)
    return sorted(score, key=lambda number: (-score[number], number))


def answer(reading: Reading) -> str:
    """Up to six tagged sentences from at least two pages where two were read, in reading order."""
    chosen = _choose(reading)
    if not chosen:
        return f"<sentence>{NOTHING}</sentence>"
    lines = [f"<sentence>{OPENING}</sentence>"]
    lines += [f"<sentence>{passage.text}<cite>{passage.number}</cite></sentence>" for passage in chosen]
    return "\n".join(lines)


def _next_calls(reading: Reading) -> list[dict[str, object]]:
    pages = best_pages(reading.rankings)
    if reading.n_rounds == 0:
        return [_call(0, i, "search", {"query": query}) for i, query in enumerate(queries(reading.question))]
    if reading.n_rounds == 1:
        return [_call(1, i, "fetch", {"url_or_number": number}) for i, number in enumerate(pages[:N_OPENED])]
    if reading.n_rounds == 2:
        terms = _terms(reading.question)
        opened = [number for number in pages if number in reading.opened][:N_SEARCHED_IN]
        if terms:
            return [
                _call(2, i, "find", {"url_or_number": number, "keywords": terms}) for i, number in enumerate(opened)
            ]
    return []


def _call(n_round: int, index: int, name: str, arguments: Mapping[str, object]) -> dict[str, object]:
    text = json.dumps(arguments, ensure_ascii=False)
    return {"id": f"call_{n_round}_{index}", "type": "function", "function": {"name": name, "arguments": text}}


def _terms(question: str) -> list[str]:
    """The longest words of the question, at most four: long words are rare words."""
    found = list(dict.fromkeys(TERMS.findall(question)))
    return sorted(found, key=len, reverse=True)[:4]


def _choose(reading: Reading) -> list[Passage]:
    """Greedy maximal marginal relevance over distinct sentences (Carbonell & Goldstein 1998)."""
    passages = list({passage.text: passage for passage in reading.passages}.values())
    grams = [set(bigrams(passage.text[:SENTENCE_CHARS])) for passage in passages]
    titles = {passage.number: set(bigrams(passage.title)) for passage in passages}
    seen = Counter(gram for each in grams for gram in each)
    weight = {gram: math.log(1 + len(grams) / n) for gram, n in seen.items()}
    wanted = set(bigrams(reading.question))
    relevance = [
        _overlap(each | titles[passage.number], wanted, weight) / (12 + len(each))
        + (0.0 if passage.text.endswith("。") else -0.05)
        for passage, each in zip(passages, grams, strict=True)
    ]
    picked: list[int] = []
    while len(picked) < min(N_SENTENCES, len(passages)):
        # Each page's second sentence counts less than another page's first: an answer from one page is rarely enough.
        used = Counter(passages[i].number for i in picked)
        covered = {gram for i in picked for gram in grams[i]}
        rest = [i for i in range(len(passages)) if i not in picked]
        best = max(
            rest,
            key=lambda i: (
                relevance[i] * 0.85 ** used[passages[i].number] * (1 - 0.7 * _share(grams[i], covered)),
                -i,
            ),
        )
        if relevance[best] <= 0:
            break
        picked.append(best)
    return [passages[i] for i in sorted(picked)]


def _overlap(grams: Iterable[str], wanted: set[str], weight: Mapping[str, float]) -> float:
    return sum(weight.get(gram, 0.0) for gram in sorted(wanted.intersection(grams)))


def _share(grams: set[str], covered: set[str]) -> float:
    return len(grams & covered) / len(grams) if grams else 1.0
