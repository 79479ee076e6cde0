"""Runs to look at: a scripted model that breaks every rule, hostile texts everywhere, every outcome; and a very large run.

The model is a server on loopback; search, pages and judge are pincite's own. Nothing here is committed data.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sandbox.cli import main
from sandbox.folder.provenance import provenance
from sandbox.folder.sample_file import SAMPLES, as_lines
from sandbox.folder.store import RunFolder, read_records
from sandbox.record import (
    PageRow,
    PieceRow,
    Record,
    RoundRow,
    ScoreRow,
    ToolCallRow,
    UnitRow,
    Usage,
    VerdictRow,
)
from sandbox.rescore import rescored
from sandbox.sample import Gold, Sample, Script
from sandbox.settings import as_toml, resolve
from tests.servers.chat_server import Answer, calls, message, serving

IMG = '<img src=x onerror="window.pwned=1">'
SCRIPT = "</script><script>window.pwned=1</script>"
SVG = '<svg onload="window.pwned=1">'
HOSTILE = f"{IMG}{SCRIPT}{SVG}\u202e逆さ\u202c\x00終わり"

A = "子育て助成は令和6年10月から高校生年代まで広がった。"
B = "申請は市役所二階の窓口で受け付ける。"
C = "助成の額は第三子から月額三万円である。"
PAGES = {
    "josei.txt": (
        "子育て助成のご案内",
        f"なぎみ市の子育て助成についてのお知らせです。\n{A}\n{C}\n支払いは年六回、偶数月です。\n",
    ),
    "shinsei.txt": (
        "申請の手引き",
        f"なぎみ市の子育て助成の申請について。\n{B}\n必要な書類は保険証の写しと口座の分かるものです。\n",
    ),
    "hostile.txt": (
        f"助成 {HOSTILE}",
        f"なぎみ市の子育て助成 {HOSTILE}\n助成を受けるには毎年六月の届け出が要ります。\n",
    ),
    "rekishi.txt": (
        "助成のあゆみ",
        "なぎみ市の子育て助成は平成十二年に始まりました。\n" + "年ごとの歩みを記します。" * 400,
    ),
}


def tagged(text: str, *cites: str) -> str:
    return f"<sentence>{text}{''.join(f'<cite>{cite}</cite>' for cite in cites)}</sentence>"


OPENING = tagged("以下のとおりです。")
GOOD = f"{OPENING}\n{tagged(A, '1')}\n{tagged(B, '2')}"
ANSWERS: Mapping[str, str] = {
    "clean": GOOD,
    "S01": f"{tagged(A, '1')}\n<sentence>{B}<cite>2</cite>",
    "S02": f"はい。</sentence>{tagged(A, '1')}",
    "S03": f"<sentence>{A}<cite>1</cite>\n{tagged(B, '2')}",
    "S04": f"<sentence>{A}{tagged(B, '2')}</sentence>",
    "S05": f"{tagged(A, '1')}<sentence><cite>1</cite></sentence>",
    "S06": f"<sentence>{A}<cite>1</sentence>{tagged(B, '2')}",
    "S07": f"<Sentence>{A}<Cite>1</Cite></Sentence>\n{tagged(B, '2')}",
    "S08": f"＜sentence＞{A}＜cite＞1＜/cite＞＜/sentence＞",
    "S09": f"&lt;sentence&gt;{A}&lt;cite&gt;1&lt;/cite&gt;&lt;/sentence&gt;",
    "S10": f"```\n{GOOD}\n```",
    "S11": f"<statement>{A}<cite>[1-1]</cite></statement>",
    "S12": f"<|plamo:begin_sentence:plamo|>{A}<|plamo:begin_cite:plamo|>1<|plamo:end_cite:plamo|><|plamo:end_sent",
    "S13": f"<sentence>{A}<cite>1<cite></sentence>",
    "S14": f"<sentence>{A}1</cite></sentence>{tagged(B, '2')}",
    "S15": f"{tagged(A, '1')}\n<sentence>{B}<cite>2",
    "W02": f"{A}[1]。{B}【2†L8-L14】。",
    "W03": f"{tagged(A)}{tagged(B)}",
    "P01": f"{tagged(A)}<cite>1</cite>\n{tagged(B, '2')}",
    "P02": f"<sentence><cite>1</cite>{A}</sentence>",
    "P03": f"はじめに背景を述べます。\n{GOOD}\nなお、多子加算には申請が必要な場合があります。",
    "P04": tagged(A + B, "1", "2"),
    "P05": f"{tagged(A + '【1†L5-L9】')}\n{tagged(B, '2')}",
    "C01": f"<sentence>{A}<cite></cite><cite>1</cite></sentence>",
    "C02": f"{tagged(A + B, '1, 2')}",
    "C03": f"{tagged(A + B, '1-2')}",
    "C04": f"{tagged(A, '１')}{tagged(B, '2')}",
    "C05": f"{tagged(A, '[1]')}{tagged(B, '資料2')}",
    "C06": f"{tagged(A, 'https://www.nagimi.example/josei.txt')}{tagged(B, '2')}",
    "C07": f"{tagged(A, '1 p.3')}{tagged(B, '2')}",
    "C08": f"{tagged(A, '一番目')}{tagged(B, '2')}",
    "R01": f"{tagged(A, '99')}{tagged(B, '2')}",
    "R04": tagged(A, "1", "1"),
    "R05": tagged(A, "1", "2", "3", "4"),
    "wide": f"𠮷野家の😀話。{tagged(A, '１')}\r\n{tagged('𠮷田さんの😀' + B, '2')}<cite>1</cite>",
    "hostile": f"{HOSTILE}\n{tagged(A + HOSTILE, '1', HOSTILE)}\n{tagged('届け出は毎年六月です。' + HOSTILE, '3')}",
    "long": "\n".join(tagged(f"{n}番目の文です。{A}", "1") for n in range(60)),
}
FAILING = ("limit", "api", "overflow", "W01")
TYPES = ("比較", "手続き", "時の流れ")


def questions() -> list[dict[str, str]]:
    """One question a way to answer; the way stands in the question, so that the model knows it."""
    return [
        {
            "id": f"q-{name}" + (HOSTILE if name == "hostile" else ""),
            "question": f"なぎみ市の子育て助成はどうなりましたか（{name}の場合）。"
            + (HOSTILE if name == "hostile" else ""),
            "answer": f"{A}{B}",
            "type": TYPES[place % 3],
        }
        for place, name in enumerate([*ANSWERS, *FAILING])
    ]


def reply(body: Mapping[str, Any]) -> Answer:
    """What the scripted model says: search, fetch with a failing call beside it, find, answer."""
    said = [m for m in body["messages"] if m["role"] == "assistant"]
    asked = next(m["content"] for m in body["messages"] if m["role"] == "user")
    name = asked.split("どうなりましたか（", 1)[1].split("の場合", 1)[0]
    match len(said):
        case 0:
            return calls(("search", {"query": "なぎみ市 子育て助成"}), reasoning_content="まず検索する。" * 40)
        case 1:
            return calls(
                ("fetch", {"url_or_number": 1}),
                ("fetch", {"url_or_number": "https://dead.example.jp/" + (SVG if name == "hostile" else "")}),
                ("fetch", {"url_or_number": 2}),
            )
        case 2:
            return calls(("find", {"url_or_number": 1, "keywords": ["第三子", "無い語"]}))
    if name == "limit":
        return message("", "length", reasoning_content="ええと、どう書こうか。" * 100 + "ここで切れ")
    if name == "api":
        return Answer({"error": {"message": f"boom {HOSTILE}"}}, status=500)
    if name == "overflow":
        error = "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens."
        return Answer({"error": {"message": error, "type": "BadRequestError", "code": 400}}, status=400)
    if name == "W01":
        return message("")
    return message(ANSWERS[name], "length" if name == "S15" else "stop")


def broken_run(folder: Path, name: str = "broken", seed: int = 0) -> Path:
    """The folder of a run in which every rule breaks somewhere, with one judge error and one contradiction.

    With a `seed`, a second model that writes some of the answers right: something to compare with.
    """
    docs = folder / "docs"
    docs.mkdir(parents=True, exist_ok=True)
    manifest = []
    for file, (title, text) in PAGES.items():
        (docs / file).write_text(text, encoding="utf-8")
        manifest.append({"path": file, "url": f"https://www.nagimi.example/{file}", "title": title})
    lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in manifest)
    (docs / "manifest.jsonl").write_text(lines + "\n", encoding="utf-8")
    data = folder / "questions.jsonl"
    data.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in questions()), encoding="utf-8")
    assert main.run(["corpus", "build", str(docs), "--out", str(folder / "corpus"), "--json"]) == 0

    def other(body: Mapping[str, Any]) -> Answer:
        asked = next(m["content"] for m in body["messages"] if m["role"] == "user")
        rolled = random.Random(f"{seed}{asked}").random()
        said = sum(m["role"] == "assistant" for m in body["messages"])
        return message(GOOD) if said >= 3 and rolled < 0.5 else reply(body)

    out = folder / name
    with serving(other if seed else reply) as server:
        arguments = [
            "run",
            "tmg-cqa-tool",
            "--data",
            str(data),
            "--corpus",
            str(folder / "corpus"),
            "--quiet",
            "--json",
        ]
        arguments += ["--model", f"scripted-{name}", "--base-url", server.base_url, "--out", str(out)]
        arguments += ["--concurrency", "4", "--set", "model.retries=0"]
        assert main.run(arguments) == 0
    _spoil(out)
    return out


def _spoil(run: Path) -> None:
    """One verdict goes missing and one contradicts another: the baseline judge does neither."""
    records = list(read_records(run))
    changed = [_spoilt(record) for record in records]
    (run / "records.jsonl").write_text("".join(r.model_dump_json() + "\n" for r in changed), encoding="utf-8")
    (run / "summary.json").unlink(missing_ok=True)


def _spoilt(record: Record) -> Record:
    if record.sample_id == "q-P02":
        lost = record.units[0].model_copy(
            update={"verdict": VerdictRow(label=None, failure="parse", raw="???", attempts=3)}
        )
        return rescored(record.model_copy(update={"units": (lost, *record.units[1:]), "outcome": "judge_error"}))
    if record.sample_id == "q-S10":
        units = tuple(
            unit.model_copy(update={"verdict": unit.verdict.model_copy(update={"label": "no"})})
            if unit.kind == "relevance"
            else unit
            for unit in record.units
        )
        return rescored(record.model_copy(update={"units": units}))
    return record


def written_run(folder: Path, records: Sequence[Record], model: str = "m", total: int | None = None) -> Path:
    """A run folder with these records."""
    settings = resolve("tmg-cqa-tool", {}, None, {"model.name": model, "model.base_url": "http://127.0.0.1:9/v1"})
    facts = {"benchmark": {"name": "tmg-cqa-tool"}, "data": {"rows": total or len(records)}, "model": {"name": model}}
    with RunFolder(folder) as run:
        run.begin(as_toml(settings), provenance(facts, "2026-11-30T00:00:00+00:00", ("run", "x"), {}))
        if total is not None:
            asked = (Sample(f"q{n}", "問い", Script(("問い",)), Gold(None)) for n in range(total))
            run.write_lines(SAMPLES, as_lines(asked))
        for record in records:
            run.append(record)
    return folder


BAD_SCORE = ScoreRow(recall="0", precision="0", f1="0")
GOOD_SCORE = ScoreRow(recall="1", precision="1", f1="1", sentence_scores=("1",) * 8, citation_scores=(("1",),) * 8)


class _Words:
    """Japanese-looking text that shrinks about as much as real pages do: a few thousand words, drawn at random."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        kanji = [chr(0x4E00 + 7 * i) for i in range(2000)]
        kana = [chr(code) for code in range(0x3042, 0x3093)]
        spell = random.Random(0)
        self._words = [
            "".join(spell.choices(kanji, k=spell.randint(1, 3)) + spell.choices(kana, k=spell.randint(1, 3)))
            for _ in range(2500)
        ]

    def text(self, chars: int) -> str:
        words = self._random.choices(self._words, k=chars // 3)
        words[9::10] = [f"{word}。" for word in words[9::10]]
        return "".join(words)[:chars]


def large_record(number: int, rounds: int = 12, page_chars: int = 12_000) -> Record:
    """A session as a real one weighs: rounds with searches and pages of the given length."""
    words = _Words(number)
    made: list[RoundRow] = []
    pages: list[PageRow] = []
    for place in range(1, rounds):
        text = words.text(page_chars)
        title, url = f"題名{place}", f"https://www.example.jp/{number}/{place}.html"
        span = f"範囲: 0–{page_chars} / 全{page_chars}文字"
        body = f"[{place}] {title}\nURL: {url}\n{span}\n----\n{text}\n----"
        call = ToolCallRow(name="fetch", arguments=json.dumps({"url_or_number": place}), text=body, pages=(place,))
        made.append(RoundRow(reasoning=words.text(400), finish_reason="tool_calls", calls=(call,)))
        piece = PieceRow(kind="fetch", text=text, body_sha256="0" * 64, start=0, end=page_chars)
        pages.append(PageRow(number=place, url=url, title=title, evidence=(piece,)))
    sentences = [pages[i % len(pages)].evidence[0].text[30 * i : 30 * i + 30] for i in range(8)]
    answer = "\n".join(tagged(sentence, str(i % len(pages) + 1)) for i, sentence in enumerate(sentences))
    if number % 3 == 0:
        answer = answer.replace("<cite>", "【").replace("</cite>", "†L1】")
    made.append(RoundRow(content=answer, finish_reason="stop"))
    units = tuple(
        unit
        for i in range(0 if number % 3 == 0 else 8)
        for unit in (
            UnitRow(kind="support", sentences=(i,), verdict=VerdictRow(label="full", reason="資料に同じ文がある。")),
            UnitRow(kind="relevance", sentences=(i,), number=i % len(pages) + 1, verdict=VerdictRow(label="yes")),
        )
    )
    broken = number % 3 == 0
    return Record(
        sample_id=f"tmg-{number:04d}",
        task_type=TYPES[number % 3],
        question=f"{number}番: {sentences[0]}とは何か。",
        reference=sentences[1],
        outcome="answered",
        flags=("no_citation",) if broken else (),
        answer=answer,
        finish_reason="stop",
        rounds=tuple(made),
        pages=tuple(pages),
        consistency=VerdictRow(label="consistent" if number % 5 else "contradictory", reason="同じ内容である。"),
        units=units,
        score=BAD_SCORE if broken else GOOD_SCORE,
        model_usage=Usage(calls=rounds, prompt_tokens=1000 * number, completion_tokens=900),
        seconds=float(number % 90),
    )


def large_run(folder: Path, n: int = 571, rounds: int = 12, page_chars: int = 12_500) -> Path:
    """A run of `n` questions; at the defaults its page has about 120 MB."""
    settings = resolve("tmg-cqa-tool", {}, None, {"model.name": "large", "model.base_url": "http://127.0.0.1:9/v1"})
    with RunFolder(folder) as run:
        run.begin(as_toml(settings), provenance({"data": {"rows": n}}, "2026-11-30T00:00:00+00:00", ("run", "x"), {}))
        for number in range(1, n + 1):
            run.append(large_record(number, rounds, page_chars))
    return folder
