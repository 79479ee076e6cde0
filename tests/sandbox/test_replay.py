"""The second user: a finished run comes out the same, to the byte, with no key, no server and no network."""

from __future__ import annotations

import gc
import json
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from servers.brave_server import BraveServer, Entry, refusal
from servers.brave_server import serving as serving_brave
from servers.chat_server import Answer, calls, message, serving

from sandbox.benchmarks.sample import FOLDER
from sandbox.benchmarks.table import BENCHMARKS
from sandbox.cli.main import run
from sandbox.folder.store import read_records
from sandbox.folder.stored_run import open_run
from sandbox.reports.page_compare import compared_with_first
from tests.sandbox.conftest import Output

RECORDED = Path(__file__).resolve().parents[2] / "cassettes" / "recorded"


@contextmanager
def pages() -> Iterator[str]:
    """The sample's documents over HTTP: one moved, one gone, one that is no page."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.strip("/")
            path = FOLDER / "docs" / name
            if name == "moved.html":
                self.send_response(301)
                self.send_header("Location", "/bus-jisha.html")
                self.end_headers()
                return
            body = path.read_bytes() if path.is_file() else b"gone"
            self.send_response(200 if path.is_file() else 404)
            self.send_header("Content-Type", "application/pdf" if name.endswith(".pdf") else "text/html")
            self.send_header("X-Pincite-Broken", "ReadError: a sign of the tape's own, forged")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def researcher(body: dict[str, Any]) -> Answer:
    """Searches, opens the first five results and a page from nowhere, looks in one, answers; judges everything well."""
    if "response_format" in body:
        labels = body["response_format"]["json_schema"]["schema"]["properties"]["verdict"]["enum"]
        return message(json.dumps({"verdict": labels[0], "reason": "よい"}, ensure_ascii=False))
    n = sum(row["role"] == "assistant" for row in body["messages"])
    if n == 0:
        return calls(("search", {"query": "凪原市 令和7年度"}), ("search", {"query": "凪原市 令和7年度"}))
    if n == 1:
        opened = [("fetch", {"url_or_number": number}) for number in range(1, 6)]
        return calls(*opened, ("fetch", {"url_or_number": "http://169.254.169.254/latest"}))
    if n == 2:
        return calls(("find", {"url_or_number": 1, "keywords": ["凪原市"]}))
    return message("<sentence>凪原市の資料である。<cite>1</cite></sentence><sentence>以上。</sentence>")


def test_a_local_run_replays_without_its_corpus(output: Output) -> None:
    assert run(["run", "sample", "--limit", "4", "--out", "run", "--json", "--quiet"]) == 0
    recorded = json.loads(output().out)
    shutil.rmtree("run/corpus")
    assert run(["replay", "run", "--json", "--quiet"]) == 0
    replayed = json.loads(output().out)
    assert replayed["digest"] == recorded["digest"]
    assert replayed["replay"] == {
        "identical": True, "recorded_digest": recorded["digest"], "unplayed": 0, "missed": [], "differing": [],
    }  # fmt: skip
    assert replayed["tape"]["interactions"] == recorded["tape"]["interactions"]


def test_a_run_on_the_web_replays_with_every_server_gone(output: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "BSA-loopback-key"
    monkeypatch.setenv("BRAVE_API_KEY", key)
    docs = sorted(path.name for path in (FOLDER / "docs").iterdir() if path.suffix in (".html", ".pdf"))[:3]
    names = ["kodomo-tokei.pdf", *docs, "gone.html", "moved.html"]
    with pages() as site, serving(researcher) as model:
        index = tuple(Entry(f"{site}/{name}", name, "凪原市 令和7年度 の資料") for name in names)
        # A search that fails with a text that repeats the key, and holds a word that was once the key of a replay.
        quoted = refusal(422, "VALIDATION", f"none of {key}", {"errors": [{"loc": ["query", "q"]}]})
        with serving_brave(BraveServer(index=index, key=key, script=[quoted])) as brave:
            web = ["--search", "brave", "--set", f"search.brave_base_url={brave.base_url}"]
            port = site.rpartition(":")[2]
            guard = ["--set", "fetch.allow_loopback=true", "--set", f"fetch.ports=[80,443,{port}]"]
            fast = [
                "--set",
                "fetch.robots=false",
                "--set",
                "fetch.host_interval_s=0",
                "--set",
                "search.brave_interval_s=0",
            ]
            chat = ["--model", "m", "--base-url", model.base_url, "--judge", "j"]
            arguments = ["run", "sample", *web, *guard, *fast, *chat, "--limit", "6", "--out", "web", "--json"]
            assert run([*arguments, "--quiet"]) == 0
    recorded = json.loads(output().out)
    failures = [call.failure for row in read_records(Path("web")) for part in row.rounds for call in part.calls]
    assert {"blocked", "not_found", None} <= set(failures)
    assert recorded["tape"]["interactions"] > recorded["usage"]["model"]["calls"] + recorded["usage"]["judge"]["calls"]
    monkeypatch.delenv("BRAVE_API_KEY")
    assert run(["replay", "web", "--json", "--quiet"]) == 0
    assert json.loads(output().out)["digest"] == recorded["digest"]
    # Text of other rules, and text that is gone: made anew for this replay, and left on disk as the run has read it.
    texts = sorted(Path("web/text").rglob("*.json"))
    texts[0].write_text(texts[0].read_text(encoding="utf-8").replace(" r1", " r0"), encoding="utf-8")
    texts[1].write_text("{", encoding="utf-8")
    before = [path.read_bytes() for path in texts]
    for more in ([], ["--reextract"]):
        assert run(["replay", "web", "--json", "--quiet", *more]) == 0
        assert json.loads(output().out)["replay"]["identical"] is True
    assert [path.read_bytes() for path in texts] == before
    # Another judge reads the answers over the page text of the run, and its folder keeps that.
    assert run(["score", "web", "--judge", "baseline", "--out", "judged"]) == 0
    assert (Path("judged") / texts[0].relative_to("web")).read_bytes() == before[0]
    kept = b"".join(path.read_bytes() for path in Path("web").rglob("*") if path.is_file())
    assert key.encode() not in kept


def test_a_request_that_is_not_on_the_tape_ends_with_the_first_difference(output: Output) -> None:
    assert run(["run", "sample", "--limit", "2", "--out", "run", "--quiet"]) == 0
    samples = Path("run/samples.jsonl")
    samples.write_text(samples.read_text(encoding="utf-8").replace("木造住宅", "鉄骨住宅"), encoding="utf-8")
    output()
    assert run(["replay", "run", "--quiet"]) == 3
    said = output()
    assert "1 sessions could not be played to their end" in said.out
    assert "the tape has no answer to this model request" in said.err
    assert "messages[0].content, character 0" in said.err
    assert "[-木造-]" in said.err
    assert "[+鉄骨+]" in said.err


def test_a_changed_configuration_is_named_before_the_first_request(
    output: Output, caplog: pytest.LogCaptureFixture
) -> None:
    assert run(["run", "sample", "--limit", "3", "--out", "run", "--quiet"]) == 0
    provenance = Path("run/provenance.json")
    changed = (
        provenance.read_text(encoding="utf-8")
        .replace('"rounds":30', '"rounds":29')
        .replace('"rounds": 30', '"rounds": 29')
    )
    provenance.write_text(changed, encoding="utf-8")
    output()
    assert run(["replay", "run", "--quiet"]) == 3
    assert output().err.count("limits.rounds: 30 on the tape, 29 now") == 1
    gc.collect()
    assert not caplog.records  # where asyncio tells of errors that nobody took
    assert run(["verify", "run"]) == 3
    assert "provenance.json: limits.rounds: 30 on the tape, 29 now (3 sessions)" in output().out


def test_a_replay_leaves_a_torn_tape_as_it_is_and_names_it(output: Output) -> None:
    assert run(["run", "sample", "--limit", "2", "--out", "run", "--quiet"]) == 0
    journal, pack = sorted(Path("run/tape").glob("*.yaml"))[0], next(Path("run/tape/blobs").iterdir())
    for path in (journal, pack):
        path.write_bytes(path.read_bytes()[:-7])
    torn = [journal.read_bytes(), pack.read_bytes()]
    output()
    assert run(["replay", "run", "--quiet"]) == 3
    assert f"bytes of {journal} are no whole exchange" in output().err
    assert [journal.read_bytes(), pack.read_bytes()] == torn


def test_a_record_that_comes_out_different_is_named_with_its_first_difference(output: Output) -> None:
    assert run(["run", "sample", "--limit", "2", "--out", "run", "--quiet"]) == 0
    records = Path("run/records.jsonl")
    text = records.read_text(encoding="utf-8").replace('"label":"full"', '"label":"none"', 1)
    records.write_text(text, encoding="utf-8")
    output()
    assert run(["replay", "run", "--quiet"]) == 1
    assert "units[0].verdict.label" in output().out


def test_lost_records_are_made_anew_from_the_tapes(output: Output) -> None:
    assert run(["run", "sample", "--limit", "3", "--out", "run", "--json", "--quiet"]) == 0
    recorded = json.loads(output().out)
    records = Path("run/records.jsonl")
    records.write_bytes(b"\xff" + records.read_bytes())
    assert run(["verify", "run"]) == 3
    assert "records.jsonl line 1 cannot be read" in (said := output().out)
    assert "pincite report run --rebuild makes the records anew from the tapes" in said
    assert run(["report", "run", "--rebuild", "--json"]) == 0
    assert json.loads(output().out)["digest"] == recorded["digest"]
    records.unlink()
    assert run(["report", "run", "--rebuild", "--json"]) == 0
    rebuilt = json.loads(output().out)
    assert {name: rebuilt[name] for name in ("digest", "metrics", "usage", "tape")} == {
        name: recorded[name] for name in ("digest", "metrics", "usage", "tape")
    }


def test_verify_finds_a_score_that_does_not_follow_and_a_byte_that_changed(output: Output) -> None:
    assert run(["run", "sample", "--limit", "2", "--out", "run", "--quiet"]) == 0
    output()
    assert run(["verify", "run"]) == 0
    assert "all agree" in output().out
    records = Path("run/records.jsonl")
    good = records.read_text(encoding="utf-8")
    records.write_text(good.replace('"label":"full"', '"label":"none"', 1), encoding="utf-8")
    assert run(["verify", "run"]) == 3
    assert "the score does not follow from the verdicts: score." in output().out
    records.write_text(good, encoding="utf-8")
    pack = next(Path("run/tape/blobs").iterdir())
    body = bytearray(pack.read_bytes())
    body[len(body) // 2] ^= 1
    pack.write_bytes(body)
    assert run(["verify", "run"]) == 3
    assert "damaged_blob" in output().out


def test_another_model_plays_on_the_recorded_web_with_its_hits_counted(output: Output) -> None:
    assert run(["run", "sample", "--limit", "3", "--out", "run", "--quiet"]) == 0
    output()
    with serving(researcher) as server:
        options = ["--model", "m", "--base-url", server.base_url, "--json", "--quiet"]
        arguments = ["run", "sample", "--web-from", "run", *options]
        assert run([*arguments, "--out", "strict"]) == 3
        assert "the tape has no answer to this search request" in output().err
        assert run([*arguments, "--out", "empty", "--on-web-miss", "empty"]) == 0
    summary = json.loads(output().out)
    assert (summary["tape"]["pool_hits"], summary["tape"]["pool_misses"] > 0) == (0, True)
    assert run(["replay", "empty", "--json", "--quiet"]) == 0
    assert json.loads(output().out)["digest"] == summary["digest"]


def test_a_run_that_was_broken_off_is_judged_again_as_far_as_it_came(output: Output) -> None:
    assert run(["run", "sample", "--limit", "3", "--out", "run", "--quiet"]) == 0
    records = Path("run/records.jsonl")
    whole = records.read_text(encoding="utf-8")
    judge = ["score", "run", "--judge", "baseline", "--out", "judged", "--json"]
    records.write_text("", encoding="utf-8")
    assert run(judge) == 2
    assert "no session of run is finished yet: there is no answer to judge" in output().err
    records.write_text("".join(whole.splitlines(keepends=True)[:2]), encoding="utf-8")
    assert run(judge) == 0
    shown = output()
    assert json.loads(shown.out)["samples"] == 2
    assert "1 of 3 sessions of run are not finished and have no answer to judge" in shown.err
    records.write_text(whole, encoding="utf-8")
    assert run(judge) == 0
    assert json.loads(output().out)["samples"] == 3


def test_a_run_whose_last_start_asked_for_fewer_samples_is_judged_again_as_a_whole(output: Output) -> None:
    for limit in ("3", "1"):
        assert run(["run", "sample", "--limit", limit, "--out", "run", "--quiet"]) == 0
    output()
    assert run(["score", "run", "--judge", "baseline", "--out", "judged", "--json"]) == 0
    assert json.loads(output().out)["samples"] == 3
    assert run(["replay", "judged", "--json", "--quiet"]) == 0
    assert json.loads(output().out)["samples"] == 3


def test_a_fork_keeps_the_recorded_rounds_and_goes_on_with_another_model(output: Output) -> None:
    assert run(["run", "sample", "--limit", "2", "--out", "run", "--quiet"]) == 0
    output()
    final = "<sentence>分岐した答え。<cite>1</cite></sentence>"
    with serving(lambda _: message(final)) as server:
        options = ["--model", "m", "--base-url", server.base_url, "--json", "--quiet", "--out", "fork"]
        assert run(["run", "sample", "--fork", "run@2", *options]) == 0
    summary = json.loads(output().out)
    assert (summary["tape"]["fork_recorded"], summary["tape"]["fork_live"]) == (2 * 2, 2 * 1)
    assert run(["report", "fork"]) == 0
    assert re.search(r"model calls +6\n.*up to the fork, from its tape +4\n", output().out)
    recorded = {row.sample_id: row for row in read_records(Path("run"))}
    for row in read_records(Path("fork")):
        assert row.answer == final
        assert row.rounds[:2] == recorded[row.sample_id].rounds[:2]
        assert len(row.rounds) == 3
    assert run(["replay", "fork", "--json", "--quiet"]) == 0
    assert json.loads(output().out)["digest"] == summary["digest"]


def test_answers_that_came_before_the_fork_are_said_to_be_the_recorded_model_s(output: Output) -> None:
    assert run(["run", "sample", "--limit", "2", "--out", "run", "--quiet"]) == 0
    n_rounds = sorted(len(record.rounds) for record in read_records(Path("run")))
    output()
    assert run(["run", "sample", "--fork", f"run@{n_rounds[0] - 1}", "--out", "before", "--quiet"]) == 0
    assert output().err == ""
    assert run(["run", "sample", "--fork", f"run@{n_rounds[-1]}", "--out", "behind", "--quiet"]) == 0
    assert "2 of 2 answers came by round" in output().err


def test_half_of_a_fork_does_not_go_on_as_another_fork_or_as_an_ordinary_run(output: Output) -> None:
    assert run(["run", "sample", "--limit", "3", "--out", "run", "--quiet"]) == 0
    ordinary = ["run", "sample", "--out", "part", "--quiet"]
    assert run([*ordinary, "--limit", "1", "--fork", "run@2"]) == 0
    before = Path("part/records.jsonl").read_bytes()
    output()
    for changed, now in (
        (["--fork", "run@1"], "a fork after round 1"),
        (["--web-from", "run"], "a run on the recorded web"),
        ([], "an ordinary run"),
    ):
        assert run([*ordinary, "--limit", "3", *changed]) == 2
        assert f"part holds a fork after round 2, and this start makes {now}: use another --out" in output().err
    assert Path("part/records.jsonl").read_bytes() == before
    assert run([*ordinary, "--limit", "3", "--fork", "run@2"]) == 0
    assert Path("part/records.jsonl").read_bytes().startswith(before)
    assert run(["replay", "part", "--quiet"]) == 0


@pytest.mark.parametrize(
    "derived", [["run", "sample", "--quiet", "--fork", "{}@1"], ["score", "{}", "--judge", "baseline"]]
)
def test_what_plays_one_run_does_not_go_on_with_another_of_the_same_configuration(
    derived: list[str], output: Output
) -> None:
    for name in ("one", "other"):
        assert run(["run", "sample", "--limit", "1", "--out", name, "--quiet"]) == 0
    assert run([*(word.format("one") for word in derived), "--out", "part"]) == 0
    before = Path("part/provenance.json").read_bytes()
    output()
    assert run([*(word.format("other") for word in derived), "--out", "part"]) == 2
    assert "part was not begun from the run that this start plays: use another --out" in output().err
    assert Path("part/provenance.json").read_bytes() == before
    assert run([*(word.format("one") for word in derived), "--out", "part"]) == 0


def test_two_forks_of_a_run_are_not_judged_in_one_folder(output: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have the nonce of the run, and their answers may differ."""
    assert run(["run", "sample", "--limit", "2", "--out", "run", "--quiet"]) == 0
    for name in ("one", "other"):
        fork = ["run", "sample", "--fork", "run@1", "--limit", "1", "--out", name, "--quiet"]
        monkeypatch.setattr(sys, "argv", ["pincite", *fork])
        assert run(fork) == 0
    assert run(["score", "one", "--judge", "baseline", "--out", "judged"]) == 0
    output()
    assert run(["score", "other", "--judge", "baseline", "--out", "judged"]) == 2
    assert "judged was not begun from the run that this start plays: use another --out" in output().err
    assert run(["run", "sample", "--fork", "run@1", "--out", "one", "--quiet", "--limit", "2"]) == 0
    assert run(["score", "one", "--judge", "baseline", "--out", "judged"]) == 0
    assert len(Path("judged/records.jsonl").read_bytes().splitlines()) == 2


def test_half_of_a_fork_whose_version_did_not_say_that_it_is_one_goes_on(output: Output) -> None:
    assert run(["run", "sample", "--limit", "2", "--out", "run", "--quiet"]) == 0
    fork = ["run", "sample", "--fork", "run@2", "--out", "part", "--quiet"]
    assert run([*fork, "--limit", "1"]) == 0
    capsule = json.loads(Path("part/provenance.json").read_bytes())
    assert capsule.pop("played") == "a fork after round 2"
    Path("part/provenance.json").write_text(json.dumps(capsule), encoding="utf-8")
    assert run([*fork, "--limit", "2"]) == 0
    assert len(Path("part/records.jsonl").read_bytes().splitlines()) == 2
    assert run(["replay", "part", "--quiet"]) == 0
    assert run(["run", "sample", "--web-from", "part", "--out", "part", "--quiet"]) == 2
    assert "part is the run that is played" in output().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--fork", "run"], "--fork needs RUN@ROUND"),
        (["--fork", "none@2"], "none does not exist"),
        (["--web-from", "none"], "none does not exist"),
        (["--on-web-miss", "live"], "--on-web-miss goes with --web-from or --fork"),
        (["--web-from", "run", "--on-web-miss", "maybe"], "--on-web-miss is error, empty or live"),
    ],
)
def test_what_cannot_be_played_from_is_refused_in_a_sentence(
    arguments: list[str], sentence: str, output: Output
) -> None:
    assert run(["run", "sample", *arguments]) == 2
    assert sentence in output().err


@pytest.mark.parametrize("name", sorted(path.name for path in RECORDED.iterdir() if path.is_dir()))
def test_a_recording_that_ships_with_the_package_replays_and_verifies(name: str, output: Output) -> None:
    hint = f"what is read or recorded has changed: uv run python docs/recordings/record.py {name}"
    assert run(["replay", name, "--quiet"]) == 0, hint
    assert "Digest identical" in output().out
    assert run(["verify", name]) == 0, hint


def test_every_benchmark_has_a_recording() -> None:
    assert {path.name for path in RECORDED.iterdir() if path.is_dir()} == BENCHMARKS.keys()


def test_another_judge_reads_the_recorded_answers_and_nothing_is_generated_again(output: Output) -> None:
    assert run(["run", "sample", "--limit", "3", "--out", "run", "--quiet"]) == 0
    output()

    def stern(body: dict[str, Any]) -> Answer:
        assert "response_format" in body, "only the judge may be asked"
        labels = body["response_format"]["json_schema"]["schema"]["properties"]["verdict"]["enum"]
        return message(json.dumps({"verdict": labels[-1], "reason": "よくない"}, ensure_ascii=False))

    with serving(stern) as server:
        options = ["--judge", "stern", "--judge-base-url", server.base_url, "--json"]
        assert run(["score", "run", *options]) == 0
    summary = json.loads(output().out)
    assert (summary["judge"], summary["metrics"]["citation_f1"]["value"]) == ("stern", 0.0)
    first, again = (list(read_records(Path(name))) for name in ("run", "run-judged-stern"))
    answers = [{row.sample_id: row.answer for row in rows} for rows in (first, again)]
    assert answers[0] == answers[1]
    [shown] = compared_with_first([open_run(Path("run")), open_run(Path("run-judged-stern"))])
    assert (shown.refused, shown.questions) == (None, 3)
    shutil.rmtree("run")
    assert run(["replay", "run-judged-stern", "--json", "--quiet"]) == 0
    assert json.loads(output().out)["digest"] == summary["digest"]
