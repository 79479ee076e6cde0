"""One judgement: a prompt, a closed set of labels, and the whole-label reading of what the judge said.

Knows: how a judge is asked, when it is asked again, what counts as a verdict. Must not know: sentences, citations, what
a verdict is worth, decode settings (the model object owns them; every attempt has the same ones).

An unknown, ambiguous or cut-off label is a parse failure, never a default: systems that score it silently as the worst
or the commonest label report judge faults as faults of the model.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

from sandbox.endpoint.chat import ChatModel, Conversation, ModelFailure, Reply
from sandbox.judging.prompt import Prompt, load_prompt, prompt_of_text
from sandbox.record import Usage, VerdictRow
from tools.tool import Language, SetupError

LABELS: Mapping[str, tuple[str, ...]] = {
    "support": ("full", "partial", "none"),
    "relevance": ("yes", "no"),
    "need": ("yes", "no"),
    "consistency": ("consistent", "contradictory", "insufficient"),
    "criterion": ("yes", "no"),
    "safety": ("1", "2", "3", "4", "5"),
}
"""The verdicts of each judgement (tmg_cqa publication, section on evaluation; MultiChallenge; JMT-Safety)."""

REASON_FIRST = frozenset({"criterion"})
"""MultiChallenge's judge writes its reasoning and then its verdict (publication, section 4); tmg_cqa's order is not
published (R: the verdict first, which no token limit can cut off)."""

FailureName = Literal["parse", "api", "overflow"]
REASON_CHARS = 400
"""Bound in the schema: small judges otherwise fill the token limit with the reason and never close the object."""
KEPT_RAW_CHARS = 4_000
KEPT_REASON_CHARS = 1_000
MAX_OBJECTS = 64
"""JSON objects tried in one reply; a bound on what a degenerate reply may cost."""

_LABEL_EDGE = " \t\r\n\"'`*_.。,、:;!「」『』“”‘’()#-"
_NEGATIVE = re.compile(r"^[^\w-]*[-\N{MINUS SIGN}][0-9]+\W*$")
_VERDICT_NAMES = ("verdict", "label", "判定", "判定結果")


@dataclass(frozen=True, slots=True)
class Rubric:
    """A judgement that can be asked. `response_format` is one object for all calls: clients cache its bytes by that.

    `reason_chars`: the bound of the reason, None = none, for wordings that ask for more than ours do.
    """

    name: str
    labels: tuple[str, ...]
    prompt: Prompt
    reason_chars: int | None = REASON_CHARS
    response_format: Mapping[str, object] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        foreign = [label for label, _ in self.prompt.words if label not in self.labels]
        if foreign:
            raise SetupError(
                f"the {self.prompt.language} prompt for {self.name} gives a word for {', '.join(foreign)}; "
                f"its labels are {', '.join(self.labels)}"
            )
        words = [self._word(label) for label in self.labels]
        made = verdict_format(words, self.reason_chars, reason_first=self.name in REASON_FIRST)
        object.__setattr__(self, "response_format", made)

    def _word(self, label: str) -> str:
        return next((word for known, word in self.prompt.words if known == label), label)


@dataclass(frozen=True, slots=True)
class Asked:
    """A verdict, or the named lack of one, and what it cost. `n_forged`: see `prompt.Filled`."""

    verdict: VerdictRow
    usage: Usage
    n_forged: int = 0


@dataclass(frozen=True, slots=True)
class _Reading:
    label: str | None
    reason: str = ""


def load_rubric(name: str, language: Language, folder: Path | None = None, text: str | None = None) -> Rubric:
    """The rubric of that name (a key of `LABELS`) with its prompt: `text`, where it is given, else a file.

    Raises SetupError (`load_prompt`, `prompt_of_text`).
    """
    prompt = load_prompt(name, language, folder) if text is None else prompt_of_text(name, language, text)
    return Rubric(name, LABELS[name], prompt, REASON_CHARS if text is None else None)


def verdict_format(words: Sequence[str], reason_chars: int | None, *, reason_first: bool) -> Mapping[str, object]:
    """`response_format` of a verdict: a strict JSON schema with the verdict and a reason, written in that order or the
    other; servers hold a judge to the order, so that with the verdict first a reason cannot move it.
    """
    verdict: Mapping[str, object] = {"type": "string", "enum": list(words)}
    reason: Mapping[str, object] = {"type": "string"} | ({} if reason_chars is None else {"maxLength": reason_chars})
    parts = {"reason": reason, "verdict": verdict} if reason_first else {"verdict": verdict, "reason": reason}
    schema = {
        "type": "object",
        "properties": parts,
        "required": list(parts),
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": schema}}


async def ask(judge: ChatModel, rubric: Rubric, fields: Mapping[str, str], attempts: int = 3) -> Asked:
    """The judge's verdict on `fields` (the values of the prompt's places).

    Where no verdict can be read, the same request is sent again, at most `attempts` times in all. In the row that comes
    back `label` is None if there is no verdict; `failure` is then `parse` (nothing that is one known label), `api` (no
    usable reply) or `overflow` (the judge's context is too small), and `reason` says more. Overflow and what the client
    gave up after its own retries are not asked again. Raises SetupError only.
    """
    filled = rubric.prompt.fill(fields)
    messages = Conversation([{"role": "user", "content": filled.text}])
    usage = Usage()
    failure: FailureName = "parse"
    trouble, raw, n = "no attempt was allowed", "", 0
    for n in range(1, attempts + 1):
        try:
            reply = await judge.chat(messages, response_format=rubric.response_format)
        except ModelFailure as error:
            usage += error.usage
            failure, trouble, again = _classified(error)
            if again:
                continue
            break
        usage += reply.usage
        raw = reply.content or ""
        reading = _read(raw, rubric.labels, rubric.prompt.words)
        if reading.label is not None:
            verdict = _row(rubric, reading.label, reading.reason, raw, n)
            return Asked(verdict, usage, filled.n_forged)
        failure, trouble = "parse", _trouble(reply)
    verdict = _row(rubric, None, trouble, raw, n).model_copy(update={"failure": failure})
    return Asked(verdict, usage, filled.n_forged)


def parse_verdict(text: str, labels: Sequence[str], words: Sequence[tuple[str, str]] = ()) -> str | None:
    """The one known label that the whole text gives; None where it gives none, an unknown one or two different ones.

    Read in this order; the first kind that is there decides: JSON objects with a `verdict` (fenced or with text
    around), `[[label]]`, a line that is nothing but a label (or `verdict: label`, `判定：label`). Case, full width and
    quotes do not matter. A label that is a number may be a JSON integer; "-2", "2.5" and "2/5" are not "2". A label in
    a longer phrase is none: "not full" is not "full". `words` are pairs of a label and another word for it.
    """
    return _read(text, labels, words).label


def _read(text: str, labels: Sequence[str], words: Sequence[tuple[str, str]]) -> _Reading:
    known = {_fold(label): label for label in labels} | {_fold(word): label for label, word in words}
    # Compatibility forms inside a reason may turn into quotes that break the JSON: the text as it is goes first.
    for form in (text, unicodedata.normalize("NFKC", text)):
        objects = list(_verdict_objects(form))
        if objects:
            reason = next((value for pairs in objects for key, value in pairs if key == "reason"), "")
            said = [value for pairs in objects for key, value in pairs if key == "verdict"]
            return _Reading(_agreed(said, known), reason if isinstance(reason, str) else "")
    folded = unicodedata.normalize("NFKC", text)
    marked = _double_bracketed(folded)
    if marked:
        return _Reading(_agreed(marked, known))
    lines = folded.splitlines()
    named = [rest for line in lines for head, _, rest in [line.partition(":")] if _fold(head) in _VERDICT_NAMES]
    return _Reading(_agreed(named or [line for line in lines if _fold(line) in known], known))


def _fold(text: str) -> str:
    normal = unicodedata.normalize("NFKC", text).casefold()
    # Marks around a label go, a sign before a number does not: -2 is no grade.
    return "" if _NEGATIVE.search(normal) else " ".join(normal.strip(_LABEL_EDGE).split())


def _agreed(said: Sequence[object], known: Mapping[str, str]) -> str | None:
    """The label, if all that was said is one and the same known label."""
    labels = {known.get(_fold(text)) if (text := _as_text(value)) is not None else None for value in said}
    return labels.pop() if len(labels) == 1 else None


def _as_text(value: object) -> str | None:
    """A string, or an integer's digits: without a schema, servers return grades as JSON numbers."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else None


def _verdict_objects(text: str) -> Iterator[list[tuple[str, object]]]:
    """The top-level JSON objects of the text that have a `verdict`, as pairs: a key given twice stays visible."""
    decoder = json.JSONDecoder(object_pairs_hook=list)
    at = text.find("{")
    for _ in range(MAX_OBJECTS):
        if at < 0:
            return
        try:
            # With the hook an object comes back as its pairs; since the text here starts with "{", it is an object.
            value, end = cast("tuple[list[tuple[str, object]], int]", decoder.raw_decode(text, at))
        except (ValueError, RecursionError):
            end = at + 1
        else:
            pairs = [(_fold(key), inner) for key, inner in value]
            if any(key == "verdict" for key, _ in pairs):
                yield pairs
        at = text.find("{", end)


def _double_bracketed(text: str) -> list[str]:
    found: list[str] = []
    start = text.find("[[")
    while start >= 0:
        end = text.find("]]", start)
        if end < 0:
            break
        found.append(text[start + 2 : end])
        start = text.find("[[", end)
    return found


def _classified(error: ModelFailure) -> tuple[FailureName, str, bool]:
    """What the failure is called in the row, in words, and whether asking again can help."""
    match error.kind:
        case "context_overflow":
            return "overflow", error.message, False
        case "api_error" | "api_refusal":
            return "api", error.message, False
        case "bad_reply":
            return "api", error.message, True
        case "empty_reply":
            return "parse", error.message, True


def _trouble(reply: Reply) -> str:
    if reply.finish_reason == "length":
        return "the reply was cut by the token limit (finish_reason length) before a verdict could be read"
    if not (reply.content or "").strip():
        hint = "; it holds reasoning only, is thinking on?" if reply.reasoning else ""
        return f"the reply is empty (finish_reason {reply.finish_reason}){hint}"
    return f"the reply is not one known label (finish_reason {reply.finish_reason})"


def _row(rubric: Rubric, label: str | None, reason: str, raw: str, n_attempts: int) -> VerdictRow:
    return VerdictRow(
        label=label,
        reason=_kept(reason, KEPT_REASON_CHARS),
        raw=_kept(raw, KEPT_RAW_CHARS),
        attempts=n_attempts,
        prompt_sha256=rubric.prompt.sha256,
    )


def _kept(text: str, limit: int) -> str:
    """At most about `limit` characters, the two ends if longer; lone surrogates, which no file can hold, replaced."""
    if len(text) > limit:
        half = limit // 2
        text = f"{text[:half]}…[{len(text) - 2 * half} characters left out]…{text[-half:]}"
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
