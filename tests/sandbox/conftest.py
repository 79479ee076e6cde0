"""A small run on disk, one session of each kind, with what a Japanese session holds; and where commands are typed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import pytest

from sandbox.folder.provenance import provenance
from sandbox.folder.store import RunFolder
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
from sandbox.settings import RunSettings, as_toml, resolve

ANSWER = (
    "<sentence>東京都は令和６年度に私立高校の授業料支援の所得制限を撤廃した。<cite>1</cite></sentence>\n"
    "<sentence>申請期間は6月から7月である。<cite>2</cite><cite>9</cite></sentence>\n"
    "<sentence>以上のとおりである。</sentence>"
)
PAGE = PageRow(
    number=1,
    url="https://www.example.jp/shien.html",
    title="私立高等学校等授業料軽減助成金",
    evidence=(
        PieceRow(kind="search", text="令和6年度から所得制限を撤廃しました。"),
        PieceRow(
            kind="fetch",
            text="この助成金は、都内在住の保護者の方を対象とします。" * 8
            + "東京都は、令和６年度（2024年度）から、ｼﾘﾂ高校の授業料支援について所得制限を撤廃しました。",
            body_sha256="0" * 64,
            start=0,
            end=245,
        ),
    ),
)


def answered() -> Record:
    """An answer of three sentences: fully supported, half supported with an unknown number, rightly uncited."""
    return Record(
        sample_id="tmg-0001",
        task_type="制度の変更",
        question="私立高校の授業料支援の所得制限はどうなったか。\x1b[2J",
        reference="令和６年度に撤廃された。",
        outcome="answered",
        answer=ANSWER,
        finish_reason="stop",
        rounds=(
            RoundRow(
                reasoning="まず検索する。" * 100,
                finish_reason="tool_calls",
                calls=(
                    ToolCallRow(
                        name="search",
                        arguments='{"query": "東京都 授業料 所得制限"}',
                        text="検索結果 1–2件目（検索語: 東京都 授業料 所得制限）\n[1] 私立高等学校等授業料軽減助成金",
                        pages=(1, 2),
                    ),
                    ToolCallRow(
                        name="fetch",
                        arguments='{"url_or_number": 2}',
                        text="エラー（timeout）: 60秒以内に応答がありません",
                        failure="timeout",
                    ),
                ),
            ),
            RoundRow(content=ANSWER, finish_reason="stop"),
        ),
        pages=(
            PAGE,
            PageRow(
                number=2,
                url="https://www.example.jp/a.html",
                title="申請の手引き",
                evidence=(PieceRow(kind="search", text="申請は六月から。"),),
                n_failed=1,
            ),
        ),
        consistency=VerdictRow(label="consistent", reason="撤廃の時期が一致する。"),
        units=(
            UnitRow(kind="support", sentences=(0,), verdict=VerdictRow(label="full", reason="資料に明記がある。")),
            UnitRow(kind="relevance", sentences=(0,), number=1, verdict=VerdictRow(label="yes")),
            UnitRow(kind="support", sentences=(1,), verdict=VerdictRow(label="partial", reason="7月の記載がない。")),
            UnitRow(kind="relevance", sentences=(1,), number=2, verdict=VerdictRow(label="no", reason="別の制度。")),
            UnitRow(kind="need", sentences=(2,), verdict=VerdictRow(label="no")),
        ),
        score=ScoreRow(
            recall="5/6",
            precision="1/3",
            f1="10/21",
            sentence_scores=("1", "1/2", "1"),
            citation_scores=(("1",), ("0", "0"), ()),
        ),
        model_usage=Usage(calls=2, prompt_tokens=4_000, completion_tokens=500),
        seconds=12.5,
    )


def failed() -> Record:
    """A generation that ended in its reasoning."""
    return Record(
        sample_id="tmg-0002",
        task_type="比較",
        question="令和５年と６年の違いは何か。",
        reference="対象が広がった。",
        outcome="generation_failed",
        outcome_reason="output_limit: the final message has no content (finish_reason length)",
        flags=("cut_by_limit",),
        rounds=(RoundRow(reasoning="ええと、" * 200 + "ここで切れ", finish_reason="length"),),
    )


def overflowed() -> Record:
    """A question that outgrew the context."""
    return Record(
        sample_id="tmg-0003",
        task_type="比較",
        question="全国の制度を比べよ。",
        reference="表のとおり。",
        outcome="context_overflow",
        outcome_reason="the prompt is too long",
    )


def unparsable() -> Record:
    """An answer without any tag."""
    return Record(
        sample_id="tmg-0004",
        task_type="比較",
        question="対象者は誰か。",
        reference="都内在住の保護者。",
        outcome="answered",
        flags=("no_sentence",),
        answer="都内在住の保護者が対象です【1†L2】。",
        finish_reason="stop",
        consistency=VerdictRow(label="consistent"),
        score=ScoreRow(recall="0", precision="0", f1="0"),
    )


def write_run(folder: Path, records: Sequence[Record], settings: RunSettings) -> Path:
    """A run folder with these records, written as a run writes it."""
    capsule = provenance({"benchmark": settings.benchmark}, "2026-11-30T00:00:00+00:00", ("run", "x"), {})
    with RunFolder(folder) as run:
        run.begin(as_toml(settings), capsule)
        for record in records:
            run.append(record)
    return folder


SETTINGS = resolve("tmg-cqa-tool", {}, None, {"model.name": "qwen3", "model.base_url": "http://127.0.0.1:8000/v1"})


@pytest.fixture(autouse=True)
def plain_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """80 columns without colour, whatever the environment of the tests asks for."""
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "TERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")


class Printed(Protocol):
    """What a command printed."""

    @property
    def out(self) -> str: ...

    @property
    def err(self) -> str: ...


Output = Callable[[], Printed]


@pytest.fixture
def empty_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Commands run in an empty folder, with no key in their environment."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "BRAVE_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def output(empty_folder: None, capsys: pytest.CaptureFixture[str]) -> Output:
    """What the commands of the test printed since it was last asked; they run in `empty_folder`."""
    return capsys.readouterr


@pytest.fixture
def stored_run(tmp_path: Path) -> Path:
    """The folder of a run with one session of each kind; its judge is the baseline."""
    return write_run(tmp_path / "run", [answered(), failed(), overflowed(), unparsable()], SETTINGS)


@pytest.fixture
def empty_run(tmp_path: Path) -> Path:
    """The folder of a run of which nothing is finished yet."""
    return write_run(tmp_path / "empty", [], SETTINGS)
