"""The lexical judge: our judgements decided by shared characters, figures and negation, over the chat protocol.

Knows: the blocks of our own prompts, Japanese notation. Must not know: answers, ledgers, scores. It makes the sandbox
run without a model and is a floor, not a judge: it does not read, it compares characters. What it decides compares with
nothing published.

How it decides
- A text is its content bigrams (pairs of neighbouring Japanese characters that are not both hiragana; Latin words whole)
  and its figures (value and unit; eras as western years). A figure weighs as much as two bigrams.
- support: the sentence against the three pieces of evidence (a piece ends at 。 or a line end) that together hold most of
  it. `full` = at least 0.75 of it and every figure; `none` = less than 0.35, or a different figure where the evidence has
  one and no figure that agrees, or the opposite negation in a piece that otherwise says the same; else `partial`.
- relevance: `yes` unless support is `none`.
- need: `no` for openings, transitions, questions, notes on the search, headings and very short text; else `yes`.
- consistency: the answer's sentences against the figures and bigrams of the reference, as `_consistency` says.
- criterion and safety: see `baseline.verdicts`.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from sandbox.baseline.decision import Decision
from sandbox.baseline.figures import Figure, figures
from sandbox.baseline.phrases import asks, gives_up, is_negative, opens
from sandbox.baseline.reading import completion
from sandbox.baseline.verdicts import criterion, safety
from sandbox.judging.prompt import BLOCKS

FULL, PARTIAL = 0.75, 0.35
ANSWERS = 0.4
RELATED = 0.1
ENOUGH_GRAMS = 4
FIGURE_WEIGHT = 2
N_PIECES = 3
N_CANDIDATES = 8
MAX_GRAMS = 96
"""Bigrams looked for; of a longer text every k-th is taken."""
PIECE_CHARS = 400

_TASKS = ("判定の種類: ", "Kind of judgement: ")
_PIECE_END = re.compile(r"[。!?\n]+|\. ")
_JAPANESE_RUN = re.compile(r"[ぁ-ゖァ-ヺー一-鿿々〆]+")
_LATIN_WORD = re.compile(r"[a-z][a-z0-9'-]{2,}")
_LATIN_STOP = frozenset(
    ("the", "and", "for", "are", "was", "were", "with", "that", "this", "from", "not", "has", "its")
)
_WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class _Content:
    text: str
    grams: tuple[str, ...]
    figures: tuple[Figure, ...]

    @property
    def weight(self) -> int:
        return len(self.grams) + FIGURE_WEIGHT * len(self.figures)


@dataclass(frozen=True, slots=True)
class _Match:
    share: float
    missing: tuple[Figure, ...]
    conflicting: bool
    negated: bool


def judge_reply(body: Mapping[str, object]) -> dict[str, object]:
    """A chat completion whose content is the verdict as JSON. Raises ValueError for a prompt that is not one of ours."""
    task, blocks = _read_prompt(_last_user_text(body))
    decide = _DECIDERS.get(task)
    if decide is None:
        raise ValueError(
            f"the baseline judge reads only the prompts that come with pincite ({', '.join(_DECIDERS)}); "
            "for prompts of your own name a judge model with --judge NAME --judge-base-url URL"
        )
    try:
        decision = decide(blocks)
    except KeyError as error:
        raise ValueError(f"the {task} prompt has no block {error.args[0]}") from error
    content = json.dumps({"verdict": decision.label, "reason": decision.reason}, ensure_ascii=False)
    return completion({"content": content}, "stop", body)


def support(sentence: str, evidence: str) -> Decision:
    """`full`, `partial` or `none`, by the rule at the head of this module."""
    content = _content(sentence)
    pieces = _pieces(evidence)
    if not content.weight:
        held = bool(content.text) and any(content.text in piece for piece in pieces)
        return Decision("full" if held else "none", "語彙の手がかりがない文")
    match = _match(content, pieces)
    reason = f"一致率 {match.share:.2f}、数値 {len(content.figures) - len(match.missing)}/{len(content.figures)}"
    if match.negated:
        return Decision("none", reason + "、肯定と否定が逆")
    if match.share < PARTIAL:
        return Decision("none", reason)
    if match.missing and match.conflicting and len(match.missing) == len(content.figures):
        return Decision("none", reason + "、数値が食い違う")
    if match.share >= FULL and not match.missing:
        return Decision("full", reason)
    return Decision("partial", reason)


def need(sentence: str) -> Decision:
    """`yes` where the sentence states something that a document would have to back."""
    text = _fold(sentence).strip(" 。.:、*#-・")
    content = _content(sentence)
    if gives_up(text):
        return Decision("no", "分からなかったことの断り")
    if asks(text):
        return Decision("no", "問いかけ")
    opening = opens(text)
    # "次の3点です" counts what follows; any other figure is a statement.
    stated = [figure for figure in content.figures if not (opening and figure.unit in ("点", "つ", "種", "項", ""))]
    if stated:
        return Decision("yes", "数値を述べている")
    if opening:
        return Decision("no", "導入・つなぎ・案内")
    if len(content.grams) < 5 or sentence.lstrip().startswith("#"):
        return Decision("no", "見出しまたは短い語句")
    return Decision("yes", "事実を述べている")


def consistency(question: str, reference: str, answer: str) -> Decision:
    """`consistent`, `contradictory` or `insufficient`.

    The key figures are those of the reference that the question does not give already. In this order: all of them in the
    answer (rounded is as good) → consistent; the answer has another value of the same unit, in neither question nor
    reference → contradictory; some of them, with a unit or among words of the reference → consistent (a partial list).
    Without key figures the shared content decides: opposite negation → contradictory, less than 0.4 of the reference (of
    the answer, where that is shorter) → insufficient. An answer that only says that it does not know is insufficient.
    """
    given, wanted, said = _content(question), _content(reference), _content(answer)
    if not wanted.weight or not said.weight:
        named = wanted.text in _WORD.findall(_fold(answer))
        return Decision("consistent" if named else "insufficient", "語彙の手がかりがない回答または参照回答")
    match = _match(wanted, _pieces(answer))
    share = max(_share(wanted, said, given), _share(said, wanted, given, at_least=ENOUGH_GRAMS))
    key = [figure for figure in wanted.figures if not any(figure.agrees(other) for other in given.figures)]
    pairs = [(one, other) for one in key for other in said.figures if other.agrees(one) or other.rounds(one)]
    held = [figure for figure in key if any(figure is one for one, _ in pairs)]
    reason = f"参照回答との一致率 {share:.2f}、主な数値 {len(held)}/{len(key)}"
    if wanted.text in said.text and not match.missing:
        return Decision("consistent", reason)
    if gives_up(_fold(answer)) and not gives_up(_fold(reference)) and not held and (key or share < FULL):
        return Decision("insufficient", reason + "、答えが述べられていない")
    if match.negated and len(held) == len(key):
        return Decision("contradictory", reason + "、肯定と否定が逆")
    if not key:
        return Decision("consistent" if share >= ANSWERS else "insufficient", reason)
    if len(held) == len(key):
        return Decision("consistent", reason)
    if _has_other_value(said.figures, [one for one in key if one not in held], [*given.figures, *wanted.figures]):
        return Decision("contradictory", reason + "、異なる数値がある")
    # A bare "1" stands in any text: some of the figures are a partial list only with their unit, or among the same words.
    if held and (share >= RELATED or any(one.unit and other.unit for one, other in pairs)):
        return Decision("consistent", reason + "、部分的な列挙")
    return Decision("consistent" if share >= FULL else "insufficient", reason)


def _has_other_value(said: Sequence[Figure], lacking: Sequence[Figure], known: Sequence[Figure]) -> bool:
    """Whether a figure stands in the place of a lacking one: the same unit, a value that nobody else gave."""
    units = {figure.unit for figure in lacking if figure.unit}
    return any(
        figure.unit in units and not any(figure.agrees(one) or figure.rounds(one) for one in known) for figure in said
    )


_DECIDERS: Mapping[str, Callable[[Mapping[str, str]], Decision]] = {
    "support": lambda blocks: support(blocks["SENTENCE"], blocks["EVIDENCE"]),
    "relevance": lambda blocks: _relevance(blocks["SENTENCE"], blocks["EVIDENCE"]),
    "need": lambda blocks: need(blocks["SENTENCE"]),
    "consistency": lambda blocks: consistency(blocks["QUESTION"], blocks["REFERENCE"], blocks["ANSWER"]),
    "criterion": lambda blocks: criterion(blocks["CRITERION"], blocks["ANSWER"], support),
    "safety": lambda blocks: safety(blocks["CRITERION"], blocks["DIALOGUE"]),
}


def _relevance(sentence: str, evidence: str) -> Decision:
    supported = support(sentence, evidence)
    return Decision("no" if supported.label == "none" else "yes", supported.reason)


def _last_user_text(body: Mapping[str, object]) -> str:
    messages = body.get("messages")
    for message in reversed(cast("list[object]", messages) if isinstance(messages, list) else []):
        if isinstance(message, dict):
            row = cast("dict[str, object]", message)
            content = row.get("content")
            if row.get("role") == "user" and isinstance(content, str):
                return content
    raise ValueError("the baseline judge needs a user message with text")


def _read_prompt(text: str) -> tuple[str, Mapping[str, str]]:
    """The task named outside the blocks ("" if none is) and what the blocks hold."""
    blocks: dict[str, str] = {}
    outside: list[str] = []
    at = 0
    while (start := text.find("<<<", at)) >= 0:
        name = text[start + 3 : start + 16].partition("\n")[0]
        inside = start + 4 + len(name)
        end = text.find(f"\n{name}>>>", inside - 1) if name in BLOCKS else -1
        if end < 0:
            outside.append(text[at : start + 3])
            at = start + 3
            continue
        outside.append(text[at:start])
        blocks[name] = text[inside:end]
        at = end + 1 + len(name) + 3
    outside.append(text[at:])
    for gap in outside:
        for mark in _TASKS:
            if mark in gap:
                return gap.partition(mark)[2].partition("\n")[0].strip(), blocks
    return "", blocks


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).lower()


def _content(text: str) -> _Content:
    folded = _fold(text)
    found = figures(folded)
    rest: list[str] = []
    at = 0
    for figure in found:
        rest.append(folded[at : figure.start])
        at = figure.end
    rest.append(folded[at:])
    without = " ".join(rest)
    runs = _JAPANESE_RUN.findall(without)
    pairs = [run[i : i + 2] for run in runs for i in range(len(run) - 1)]
    grams = [pair for pair in pairs if not (_is_hiragana(pair[0]) and _is_hiragana(pair[1]))]
    words = [word for word in _LATIN_WORD.findall(without) if word not in _LATIN_STOP]
    distinct = list(dict.fromkeys([*(grams or pairs), *words]))
    if len(distinct) > MAX_GRAMS:
        distinct = [distinct[i * len(distinct) // MAX_GRAMS] for i in range(MAX_GRAMS)]
    return _Content("".join(folded.split()).strip("。."), tuple(distinct), _distinct(found))


def _distinct(found: Sequence[Figure]) -> tuple[Figure, ...]:
    return tuple({(figure.value, figure.unit): figure for figure in reversed(found)}.values())[::-1]


def _is_hiragana(char: str) -> bool:
    return "ぁ" <= char <= "ゖ"


def _pieces(text: str) -> list[str]:
    """Sentence-like stretches, folded; white space stays, because it parts the figures of a table."""
    pieces: list[str] = []
    for part in _PIECE_END.split(_fold(text)):
        if len(part) <= PIECE_CHARS:
            if part.strip():
                pieces.append(part)
        else:
            pieces.extend(part[i : i + PIECE_CHARS] for i in range(0, len(part), PIECE_CHARS))
    return pieces


def _match(content: _Content, pieces: Sequence[str]) -> _Match:
    """How much of the content the best pieces hold together: greedy cover over the pieces that hold most of it."""
    grams = content.grams
    counts = [sum([gram in piece for gram in grams]) for piece in pieces]
    best = sorted(range(len(pieces)), key=lambda i: (-counts[i], i))[:N_CANDIDATES]
    # A heading or the row beside it often names what a figure counts.
    near = {i for first in best[:1] for i in (first - 1, first, first + 1) if 0 <= i < len(pieces)}
    candidates = sorted(near.union(best)) if best and counts[best[0]] else []
    held = {i: {gram for gram in grams if gram in pieces[i]} for i in candidates}
    seen = {i: tuple(figures(pieces[i])) if content.figures else () for i in candidates}
    agreed = {
        i: {figure for figure in content.figures if any(figure.agrees(other) for other in seen[i])} for i in candidates
    }
    chosen: list[int] = []
    got_grams: set[str] = set()
    got_figures: set[Figure] = set()
    for _ in range(N_PIECES):
        gain, pick = max(
            (
                (len(held[i] - got_grams) + FIGURE_WEIGHT * len(agreed[i] - got_figures), -i)
                for i in candidates
                if i not in chosen
            ),
            default=(0, 0),
        )
        if gain < 2:
            break
        chosen.append(-pick)
        got_grams |= held[-pick]
        got_figures |= agreed[-pick]
    missing = tuple(figure for figure in content.figures if figure not in got_figures)
    conflicting = any(
        lacking.unit and lacking.unit == other.unit for i in chosen for other in seen[i] for lacking in missing
    )
    got = len(got_grams) + FIGURE_WEIGHT * len(got_figures)
    negated = any(_opposed(part, [pieces[i] for i in candidates]) for part in _pieces(content.text))
    return _Match(got / content.weight if content.weight else 0.0, missing, conflicting, negated)


def _opposed(sentence: str, pieces: Sequence[str]) -> bool:
    """Whether what says nearly the same as the sentence says it with the other polarity only.

    Pieces of more than twice the length negate something else too often to be compared.
    """
    grams = _content(sentence).grams
    same = [
        piece
        for piece in pieces
        if len(piece) <= 2 * len(sentence) and sum([gram in piece for gram in grams]) >= FULL * len(grams)
    ]
    polarity = is_negative(sentence)
    return bool(grams and same) and all(is_negative(piece) != polarity for piece in same)


def _share(wanted: _Content, said: _Content, given: _Content, at_least: int = 1) -> float:
    """The share of the wanted bigrams that stand anywhere in the other text; what the question says counts for neither.

    0 with fewer bigrams than `at_least`: two of two say nothing about a long text.
    """
    new = [gram for gram in wanted.grams if gram not in given.text] or wanted.grams
    return sum([gram in said.text for gram in new]) / len(new) if len(new) >= at_least else 0.0
