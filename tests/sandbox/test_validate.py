"""`pincite validate`: every benchmark's reference answers get full marks, and what is wrong with a benchmark is found."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from citations.markup import TAGS, parse
from sandbox.benchmarks.benchmark import Benchmark, Loaded
from sandbox.benchmarks.sample import MANIFEST, QUESTIONS
from sandbox.benchmarks.table import BENCHMARKS
from sandbox.cli.main import run
from sandbox.loading.locate import locate
from sandbox.measuring.measures import CITED, Measure, Measures, criterion_value
from sandbox.measuring.outcome import ONE, ZERO, LeftOut, Value
from sandbox.record import Record
from sandbox.sample import Criterion, Gold, Sample, Script
from sandbox.settings import RunSettings, resolve
from sandbox.validating.ideal import cited_answer
from sandbox.validating.validate import Problem, Validation, validate
from tools.corpus import build
from tools.extract import extract

pytestmark = pytest.mark.usefixtures("empty_folder")


@pytest.mark.parametrize("name", BENCHMARKS)
def test_reference_answers_of_every_benchmark_get_full_marks(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    bundled = [] if name == "sample" else ["--mini"]
    assert run(["validate", name, *bundled]) == 0
    assert "Reference answers get full marks, empty and wrongly judged ones none: " in capsys.readouterr().out
    assert run(["validate", name, *bundled, "--json"]) == 0
    made: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert (made["ok"], made["problems"], made["benchmark"]) == (True, [], name)
    lower = {"harmful_multi", "harmful_single"}
    for measure, found in made["measures"].items():
        best = float(measure not in lower)
        # What nothing counts towards, such as an arm without rows, has no figure.
        assert found in ({"right": best, "wrong": 1 - best, "empty": 1 - best}, dict.fromkeys(found)), measure
    assert any(found["right"] is not None for found in made["measures"].values())
    assert list(Path().iterdir()) == []


def test_the_facts_of_the_data_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"id": "q1", "question": "市の花は何ですか。", "reference": "桜である。", "task_type": "照会", "備考": "済"},
        {"id": "q2", "question": "市の木は何ですか。", "reference": "杉である。", "task_type": "照会"},
        {"id": "q3", "question": "どちらが古いですか。", "reference": "花が古い。木は後である。", "task_type": "比較"},
    ]
    Path("data.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    assert run(["validate", "tmg-cqa-tool", "--data", "data.jsonl"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "tmg-cqa-tool: 3 rows, 3 samples"
    assert lines[1].startswith("  data       data.jsonl (sha256 ")
    assert lines[2:] == [
        "  task type  照会 2, 比較 1",
        "  not read   備考",
        "",
        "Reference answers get full marks, empty and wrongly judged ones none: "
        "consistency, citation_recall, citation_precision, citation_f1, source_found, source_cited.",
    ]


def test_documents_come_from_the_corpus_that_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    build(MANIFEST, Path("corpus"), extract=extract)
    for name, data in (("tmg-cqa-tool", QUESTIONS), ("tmg-cqa-rag", locate("mini:tmg_cqa_rag.jsonl"))):
        assert run(["validate", name, "--data", str(data), "--corpus", "corpus", "--json"]) == 0
        made = json.loads(capsys.readouterr().out)
        assert (made["ok"], made["without_reference"], made["left_out"]) == (True, 0, {})
    row = json.loads(locate("mini:tmg_cqa_rag.jsonl").read_text(encoding="utf-8").splitlines()[0])
    first = {**row["documents"][0], "url": "https://www.example.jp/gone.html"}
    gone = {**row, "id": "gone", "documents": [first, *row["documents"][1:]]}
    Path("two.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in (row, gone)), encoding="utf-8")
    assert run(["validate", "tmg-cqa-rag", "--data", "two.jsonl", "--corpus", "corpus"]) == 0
    assert "\n  left out   not_in_corpus 1\n" in capsys.readouterr().out


def test_without_any_reference_nothing_can_be_said_of_consistency(capsys: pytest.CaptureFixture[str]) -> None:
    Path("map.toml").write_text('id = "番号"\nquestion = "問い"\nreference = []\n', encoding="utf-8")
    Path("data.json").write_text(json.dumps([{"番号": "1", "問い": "市の花は何ですか。"}]), encoding="utf-8")
    assert run(["validate", "tmg-cqa-tool", "--data", "data.json", "--fields", "map.toml"]) == 1
    assert capsys.readouterr().out.splitlines()[2:] == [
        "  no reference  1 samples (answered with a placeholder)",
        "",
        "all: consistency: nothing counts towards it (no_reference 1) [reference answer, best verdicts]",
        "Not right: 1 of the measures over all samples.",
    ]


def test_a_reference_that_holds_tags_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"id": "q1", "question": "市の花は何ですか。", "reference": "桜である。"},
        {"id": "q2", "question": "市の木は何ですか。", "reference": "杉である。<cite>3</cite>"},
        {"id": "q3", "question": "市の鳥は何ですか。", "reference": "鶴である。</sentence>以上。"},
    ]
    Path("data.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    assert run(["validate", "tmg-cqa-tool", "--data", "data.jsonl"]) == 1
    told = capsys.readouterr().out.splitlines()[3:]
    why = "it would be read as an answer's markup, and is judged with it"
    assert told[0] == f"q2: the reference holds <cite>, </cite>: {why}" + told[0].partition(why)[2]
    assert told[1] == f"q3: the reference holds </sentence>: {why}" + told[1].partition(why)[2]
    assert told[-1] == "Not right: 2 of 3 samples."


def test_data_that_cannot_be_read_are_exit_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", "tmg-cqa-tool", "--data", "none.jsonl"]) == 2
    assert "none.jsonl: there is no such file" in capsys.readouterr().err
    assert run(["validate", "tmg-cqa-tool"]) == 2
    assert "tmg-cqa-tool needs the question file" in capsys.readouterr().err
    assert run(["validate", "tmg"]) == 2
    assert "there is no benchmark 'tmg'" in capsys.readouterr().err


def settings_of(name: str) -> RunSettings:
    return resolve(name, {"search.engine": "none"}, None, {})


def asked(name: str, reference: str | None = "桜である。") -> Sample:
    return Sample(name, "市の花は何ですか。", Script(("市の花は何ですか。",)), Gold(reference))


def held(name: str, passing: tuple[str, ...] = ("yes",), text: str = "桜と答えているか。") -> Sample:
    return Sample(name, "花は。", Script(("花は。",)), Gold(None, criterion=Criterion("criterion", text, passing)))


def made_of(samples: tuple[Sample, ...], measures: Measures) -> Validation:
    """The validation of a benchmark of these samples and measures."""

    def load(*_: object) -> Loaded:
        raise AssertionError("the samples are there already")

    benchmark = Benchmark("own", "1", "made for the test", {}, load, measures=lambda _: measures)
    return validate(benchmark, settings_of("own"), Loaded(samples, "own.jsonl", len(samples), "0" * 64))


def constant(value: Value) -> Measure:
    return Measure("constant", "Constant", "Const.", lambda _: value, rate=True)


def test_a_measure_that_always_gives_1_cannot_fail_and_is_found() -> None:
    found = made_of((asked("q1"), asked("q2")), (*CITED, constant(ONE)))
    assert found.problems == (
        Problem(
            sample_id=None,
            played="wrong",
            measure="constant",
            message="is 1, must be 0 (answered), in every sample",
        ),
        Problem(sample_id=None, played="empty", measure="constant", message="is 1, must be 0, in every sample"),
    )
    assert found.measures["constant"] == {"right": 1.0, "wrong": 1.0, "empty": 1.0}


def test_a_measure_that_always_gives_0_is_found() -> None:
    (problem,) = made_of((asked("q1"), asked("q2")), (constant(ZERO),)).problems
    assert (problem.played, problem.message) == ("right", "is 0, must be 1 (answered), in every sample")


def test_a_measure_where_less_is_better_must_be_0_at_its_best() -> None:
    harm = Measure("harm", "Harm", "Harm", criterion_value, rate=True, higher_is_better=False)
    found = made_of((held("q1"), held("q2")), (harm,))
    assert [(problem.played, problem.message[:14]) for problem in found.problems] == [
        ("right", "is 1, must be "),
        ("wrong", "is 0, must be "),
        ("empty", "is 0, must be "),
    ]

    def failed(record: Record) -> Value:
        return ZERO if criterion_value(record) == ONE else ONE

    assert made_of((held("q1"), held("q2")), (replace(harm, value=failed),)).is_sound


def test_a_measure_that_fails_on_one_sample_names_it() -> None:
    def odd(record: Record) -> Value:
        return ZERO if record.sample_id == "q2" else criterion_value(record)

    measure = Measure("odd", "Odd", "Odd", odd, rate=True)
    (problem,) = made_of((held("q1"), held("q2"), held("q3")), (measure,)).problems
    assert problem == Problem(sample_id="q2", played="right", measure="odd", message="is 0, must be 1 (answered)")


def test_a_measure_towards_which_nothing_counts_is_found_unless_it_may_be_absent() -> None:
    measure = constant(LeftOut("no_such_thing"))
    (problem,) = made_of((asked("q1"),), (*CITED, measure)).problems
    assert problem.message == "nothing counts towards it (no_such_thing 1)"
    assert made_of((asked("q1"),), (*CITED, replace(measure, always=False))).is_sound


def test_failures_that_leave_the_denominator_are_found() -> None:
    def kind(record: Record) -> Value:
        value = criterion_value(record)
        return value if value == ONE else LeftOut("no_pass")

    measure = Measure("kind", "Kind", "Kind", kind, rate=True)
    found = made_of((held("q1"), held("q2")), (measure,))
    assert [(problem.sample_id, problem.played, problem.message) for problem in found.problems] == [
        (None, "wrong", "is left out (no_pass), must be 0, in every sample"),
        (None, "empty", "is left out (no_pass), must be 0, in every sample"),
    ]


def test_a_sample_that_counts_towards_nothing_is_found() -> None:
    def once(record: Record) -> Value:
        return LeftOut("other") if record.sample_id == "q2" else criterion_value(record)

    (problem,) = made_of((held("q1"), held("q2")), (Measure("once", "Once", "Once", once, rate=True),)).problems
    assert (problem.sample_id, problem.message) == ("q2", "it counts towards no measure")


def test_a_criterion_that_nothing_or_everything_passes_is_found() -> None:
    measure = Measure("pass_rate", "Pass rate", "Pass", criterion_value, rate=True)
    samples = (held("q1", ()), held("q2", ("yes", "no")), held("q3", ("YES",)), held("q4", text=" "), held("q4"))
    found = made_of(samples, (measure,))
    assert [(problem.sample_id, problem.message) for problem in found.problems if problem.measure is None] == [
        ("q1", "no verdict passes"),
        ("q2", "every verdict passes"),
        ("q3", "the judge cannot say YES, which would pass; it says yes, no"),
        ("q3", "no verdict passes"),
        ("q4", "the criterion is empty"),
        ("q4", "the id occurs twice"),
    ]
    assert [(problem.sample_id, problem.played) for problem in found.problems if problem.measure] == [
        ("q1", "right"), ("q3", "right"), ("q2", "wrong"),
    ]  # fmt: skip


def test_existing_responses_are_not_what_is_judged() -> None:
    sample = held("q1")
    measure = Measure("pass_rate", "Pass rate", "Pass", criterion_value, rate=True)
    answered = replace(sample, script=replace(sample.script, responses=(None, "梅である。")))
    assert made_of((answered,), (measure,)).is_sound


@pytest.mark.parametrize(
    ("reference", "n"),
    [("桜である。", 1), ("桜である。杉ではない。\n\n以上", 3), ("「桜だ。」と言う！本当？", 3), ("A 3.5 % rise", 1)],
)
def test_a_reference_is_cited_sentence_by_sentence_and_read_back_whole(reference: str, n: int) -> None:
    answer = parse(cited_answer(reference, 7, TAGS))
    assert [[citation.number for citation in sentence.citations] for sentence in answer.sentences] == [[7]] * n
    assert "".join(sentence.text for sentence in answer.sentences) == reference.replace("\n", "")
