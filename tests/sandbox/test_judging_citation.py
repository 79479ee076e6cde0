import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from citations.markup import parse, untagged
from citations.model import Unit
from citations.units import units
from sandbox.endpoint.chat import Conversation, ModelFailure, Reply
from sandbox.judging.citation import CitationJudging, judge_units, load_citation_judging
from sandbox.judging.consistency import judge_consistency
from sandbox.judging.rubric import load_rubric
from sandbox.record import UnitRow, Usage
from tools.tool import SetupError

QUESTION = "子育て支援事業の利用者数と窓口を教えてください。"
EVIDENCE = {
    1: "令和５年度の利用者数は１，２３４人でした。",
    2: "申請は区市町村の窓口で受け付けます。",
    3: None,
}
RAW = (
    "<sentence>以下にまとめます。</sentence>\n"
    "<sentence>2023年度の利用者数は1,234人です。<cite>1</cite></sentence>\n"
    "<sentence>利用者は1,234人で、窓口は区市町村です。<cite>2</cite><cite>1</cite><cite>9</cite></sentence>"
)


@dataclass
class ReadingJudge:
    """A judge that answers by rule from the prompt's text, and finishes in another order than it was asked."""

    asked: list[str] = field(default_factory=list[str])
    n_cancelled: int = 0

    async def chat(
        self,
        messages: Conversation,
        *,
        tools: Sequence[Mapping[str, object]] = (),
        response_format: Mapping[str, object] | None = None,
    ) -> Reply:
        text = str(next(iter(messages))["content"])
        self.asked.append(text)
        if "資料を止める" in text:
            raise SetupError("the key was refused")
        if "大きすぎる" in text:
            raise ModelFailure("context_overflow", "too long", Usage(calls=1))
        try:
            for _ in range(len(text) % 7):
                await asyncio.sleep(0)
            if "待つ文" in text:
                await asyncio.sleep(3_600)
        except asyncio.CancelledError:
            self.n_cancelled += 1
            raise
        kind = next(name for name in ("support", "relevance", "need") if f"判定の種類: {name}\n" in text)
        label = {"support": "partial", "relevance": "yes", "need": "no"}[kind]
        return Reply(json.dumps({"verdict": label, "reason": kind}), "stop", Usage(calls=1, prompt_tokens=len(text)))


def block(prompt: str, name: str) -> str:
    return prompt.split(f"<<<{name}\n")[1].split(f"\n{name}>>>")[0]


def judging(max_evidence_chars: int = 200_000) -> CitationJudging:
    return load_citation_judging("ja", max_evidence_chars=max_evidence_chars)


def test_every_unit_gets_its_evidence_and_rows_keep_the_order_of_the_units() -> None:
    judge = ReadingJudge()
    answer = parse(RAW)
    asked_units = units(answer, EVIDENCE)
    judged = asyncio.run(judge_units(judge, QUESTION, untagged(answer), EVIDENCE, asked_units, judging()))
    assert [(row.kind, row.sentences, row.number, row.verdict.label) for row in judged.rows] == [
        ("support", (1,), None, "partial"),
        ("relevance", (1,), 1, "yes"),
        ("relevance", (2,), 1, "yes"),
        ("support", (2,), None, "partial"),
        ("relevance", (2,), 2, "yes"),
        ("need", (0,), None, "no"),
    ]
    one, both, two = EVIDENCE[1], f"{EVIDENCE[1]}\n\n{EVIDENCE[2]}", EVIDENCE[2]
    assert [block(text, "EVIDENCE") for text in judge.asked[:-1]] == [one, one, one, both, two]
    assert block(judge.asked[3], "SENTENCE") == "利用者は1,234人で、窓口は区市町村です。"
    assert block(judge.asked[-1], "ANSWER") == untagged(answer)
    assert "<sentence>" not in judge.asked[-1]
    assert "<cite>" not in judge.asked[-1]
    assert judged.usage == Usage(calls=6, prompt_tokens=sum(map(len, judge.asked)))
    assert (judged.cut, judged.n_forged) == ((), 0)


def test_neighbouring_calls_on_one_page_share_it_as_a_prefix() -> None:
    judge = ReadingJudge()
    answer = parse(RAW)
    asyncio.run(judge_units(judge, QUESTION, untagged(answer), EVIDENCE, units(answer, EVIDENCE), judging()))
    head = judge.asked[0].partition(str(EVIDENCE[1]))[0] + str(EVIDENCE[1])
    assert [text.startswith(head) for text in judge.asked] == [True, True, True, True, False, False]


def test_evidence_over_the_budget_is_cut_fairly_and_said() -> None:
    judge = ReadingJudge()
    evidence = {4: "あ" * 30, 5: "い" * 100, 6: "う" * 100}
    unit = Unit("support", (0,), "長い資料の文", None, (4, 5, 6))
    judged = asyncio.run(judge_units(judge, QUESTION, "", evidence, [unit], judging(max_evidence_chars=110)))
    assert block(judge.asked[0], "EVIDENCE") == "\n\n".join(["あ" * 30, "い" * 40 + "…", "う" * 40 + "…"])
    assert judged.cut == (5, 6)


def test_evidence_at_the_budget_is_whole() -> None:
    unit = Unit("relevance", (0,), "文", 4, (4,))
    judge = ReadingJudge()
    judged = asyncio.run(judge_units(judge, QUESTION, "", {4: "あ" * 100}, [unit], judging(max_evidence_chars=100)))
    assert (block(judge.asked[0], "EVIDENCE"), judged.cut) == ("あ" * 100, ())


def test_no_units_no_calls() -> None:
    judge = ReadingJudge()
    judged = asyncio.run(judge_units(judge, QUESTION, "回答", {}, [], judging()))
    assert (judged.rows, judged.usage, judge.asked) == ((), Usage(), [])


def test_one_failed_call_is_that_units_alone() -> None:
    asked_units = [
        Unit("support", (0,), "大きすぎる文", None, (1,)),
        Unit("relevance", (1,), "ふつうの文", 1, (1,)),
    ]
    judged = asyncio.run(judge_units(ReadingJudge(), QUESTION, "", EVIDENCE, asked_units, judging()))
    assert [(row.verdict.label, row.verdict.failure) for row in judged.rows] == [(None, "overflow"), ("yes", None)]
    assert all(isinstance(row, UnitRow) for row in judged.rows)


def test_setup_error_stops_every_other_call() -> None:
    judge = ReadingJudge()
    asked_units = [
        Unit("support", (0,), "待つ文", None, (1,)),
        Unit("support", (1,), "待つ文その二", None, (1,)),
        Unit("relevance", (2,), "資料を止める", 1, (1,)),
    ]
    with pytest.raises(SetupError, match="the key was refused"):
        asyncio.run(judge_units(judge, QUESTION, "", EVIDENCE, asked_units, judging()))
    assert judge.n_cancelled == 2


@dataclass
class LabelJudge:
    label: str
    asked: list[str] = field(default_factory=list[str])

    async def chat(
        self,
        messages: Conversation,
        *,
        tools: Sequence[Mapping[str, object]] = (),
        response_format: Mapping[str, object] | None = None,
    ) -> Reply:
        self.asked.append(str(next(iter(messages))["content"]))
        return Reply(f"[[{self.label}]]", "stop", Usage(calls=1))


@pytest.mark.parametrize("label", ["consistent", "contradictory", "insufficient"])
def test_consistency_is_one_judgement_of_three_labels(label: str) -> None:
    judge = LabelJudge(label)
    rubric = load_rubric("consistency", "ja")
    asked = asyncio.run(judge_consistency(judge, rubric, QUESTION, "1,234人", "利用者は1,234人です。"))
    assert (asked.verdict.label, asked.usage.calls) == (label, 1)
    (prompt,) = judge.asked
    assert [block(prompt, name) for name in ("QUESTION", "REFERENCE", "ANSWER")] == [
        QUESTION, "1,234人", "利用者は1,234人です。",
    ]  # fmt: skip


def test_label_of_another_judgement_is_no_verdict() -> None:
    rubric = load_rubric("consistency", "ja")
    asked = asyncio.run(judge_consistency(LabelJudge("full"), rubric, QUESTION, "1,234人", "不明", attempts=2))
    assert (asked.verdict.label, asked.verdict.failure, asked.verdict.attempts) == (None, "parse", 2)
