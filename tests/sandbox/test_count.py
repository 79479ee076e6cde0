"""Prompts counted by the server before they are sent: exactly, or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from servers.chat_server import Answer, Counting, message, serving, uncounted

from cassettes.exchange import TapeRequest
from cassettes.keys import Identities
from sandbox.cli.main import run
from sandbox.folder.store import read_records
from tests.sandbox.conftest import Output

CONTEXT = 4_000
MODELS = {"object": "list", "data": [{"id": "m", "object": "model", "max_model_len": CONTEXT}]}


def n_tokens(body: dict[str, Any]) -> int:
    """This server's tokens: its characters, and three for the template."""
    return sum(len(row["content"]) for row in body["messages"]) + 3


def answering(body: dict[str, Any]) -> Answer:
    made = message("<sentence>14人である。<cite>1</cite></sentence>")
    assert isinstance(made.body, dict)
    made.body["usage"] = {"prompt_tokens": n_tokens(body), "completion_tokens": 5, "total_tokens": 5 + n_tokens(body)}
    return made


def vllm(path: str, body: dict[str, Any]) -> Answer:
    """vLLM's /tokenize, at the root of the server."""
    if path != "/tokenize" or "messages" not in body:
        return uncounted(path, body)
    n = n_tokens(body)
    return Answer({"count": n, "max_model_len": CONTEXT, "tokens": list(range(n)), "token_strs": None})


def llama(path: str, body: dict[str, Any]) -> Answer:
    """llama.cpp's two steps; it answers the form of vLLM with no tokens at all."""
    if path == "/apply-template":
        return Answer({"prompt": "".join(row["content"] for row in body["messages"]) + "<|>"})
    return Answer({"tokens": list(range(len(body.get("content", ""))))})


def rag(server: Any, *more: str) -> list[str]:
    model = ["--model", "m", "--base-url", server.base_url, "--max-output-tokens", "1500"]
    return ["run", "tmg-cqa-rag", "--mini", *model, "--quiet", "--json", "--out", "lauf", *more]


def prompts(server: Any) -> list[dict[str, Any]]:
    """The completions asked for, without the probe of one token."""
    return [body for body in server.requests if body["max_tokens"] != 1]


@pytest.mark.parametrize(("counting", "kind"), [(vllm, "vllm"), (llama, "llama.cpp")], ids=["vllm", "llama"])
def test_an_overflow_is_found_before_the_prompt_is_sent(output: Output, counting: Counting, kind: str) -> None:
    with serving(answering, MODELS, counting) as server:
        assert run(rag(server)) == 0
        summary, sent = json.loads(output().out), prompts(server)
        assert len(server.requests) - len(sent) == 1
    records = {record.sample_id: record for record in read_records(Path("lauf"))}
    overflowed = [record for record in records.values() if record.outcome == "context_overflow"]
    assert summary["outcomes"]["context_overflow"] == len(overflowed) > 0
    assert summary["outcomes"]["answered"] == len(sent) == 10 - len(overflowed)
    # By the server's own count: what was sent fits, with its output limit, and nothing else was sent.
    assert all(n_tokens(body) + 1_500 <= CONTEXT for body in sent)
    reason = overflowed[0].outcome_reason
    assert reason.endswith(f"+ output limit 1500 > context {CONTEXT} (counted by the server; not sent)")
    assert int(reason.removeprefix("prompt ").split()[0]) + 1_500 > CONTEXT
    assert overflowed[0].model_usage.calls == 0
    capsule = json.loads(Path("lauf/provenance.json").read_text(encoding="utf-8"))
    assert capsule["compared"]["model"]["token_count"] == kind


@pytest.mark.parametrize("counting", [vllm, llama], ids=["vllm", "llama"])
def test_a_counted_run_replays_without_a_server_and_keeps_no_tokens(output: Output, counting: Counting) -> None:
    with serving(answering, MODELS, counting) as server:
        assert run(rag(server)) == 0
    first = json.loads(output().out)
    assert run(["replay", "lauf", "--json"]) == 0
    again = json.loads(output().out)
    assert (again["digest"], again["tape"]["misses"]) == (first["digest"], 0)
    assert run(["verify", "lauf"]) == 0
    output()
    assert run(["cassette", "verify", "lauf"]) == 0
    kept = b"".join(path.read_bytes() for path in Path("lauf/tape").glob("*.yaml"))
    assert b"n_tokens" in kept
    assert b"[0, 1, 2, 3" not in kept


def test_a_finished_count_is_not_asked_for_again(output: Output) -> None:
    with serving(answering, MODELS, vllm) as server:
        assert run(rag(server, "--limit", "4")) == 0
        n_before = len(server.counted)
        # The probe, and each question once.
        assert n_before == 1 + 4
        assert run(rag(server)) == 0
        # How the run counts was settled by its first start.
        assert len(server.counted) == n_before + 6


def test_a_run_goes_on_counting_as_it_began_whatever_the_server_says_of_counting_then(output: Output) -> None:
    busy = False

    def sometimes(path: str, body: dict[str, Any]) -> Answer:
        return Answer({"error": "busy"}, 503) if busy else vllm(path, body)

    with serving(answering, MODELS, sometimes) as server:
        assert run(rag(server, "--limit", "2")) == 0
        busy = True
        assert run(rag(server, "--limit", "4")) == 0
        assert run(rag(server, "--limit", "2", "--out", "zweiter")) == 0
        busy = False
        assert run(rag(server, "--limit", "4", "--out", "zweiter")) == 0
    kinds = [
        json.loads(Path(folder, "provenance.json").read_bytes())["compared"]["model"]["token_count"]
        for folder in ("lauf", "zweiter")
    ]
    assert kinds == ["vllm", "none"]
    assert output().err == ""
    assert run(["replay", "lauf", "--json"]) == 0


def test_shrink_lowers_the_output_limit_to_what_is_left(output: Output) -> None:
    with serving(answering, MODELS, vllm) as server:
        assert run(rag(server, "--on-tight-context", "shrink")) == 0
        outcomes, sent = json.loads(output().out)["outcomes"], prompts(server)
    # What does not fit even without an answer is an overflow all the same.
    assert (outcomes["answered"], outcomes["context_overflow"]) == (len(sent), 10 - len(sent))
    assert all(n_tokens(body) < CONTEXT for body in sent)
    assert [body["max_tokens"] for body in sent] == [min(1_500, CONTEXT - n_tokens(body)) for body in sent]
    assert any(body["max_tokens"] < 1_500 for body in sent)


def test_a_server_that_does_not_count_is_asked_once_and_everything_is_sent(output: Output) -> None:
    with serving(answering, MODELS) as server:
        assert run(rag(server)) == 0
        assert [path for path, _ in server.counted] == ["/tokenize", "/apply-template"]
        assert len(server.requests) == 10
    capsule = json.loads(Path("lauf/provenance.json").read_text(encoding="utf-8"))
    assert capsule["compared"]["model"]["token_count"] == "none"
    # What is over the context all the same is found afterwards, by the published rule.
    assert json.loads(output().out)["outcomes"]["context_overflow"] > 0


def test_a_count_that_is_not_that_of_the_chat_is_not_used(output: Output) -> None:
    def otherwise(path: str, body: dict[str, Any]) -> Answer:
        made = vllm(path, body)
        return Answer(made.body | {"count": n_tokens(body) - 3}) if isinstance(made.body, dict) else made

    with serving(answering, MODELS, otherwise) as server:
        assert run(rag(server, "--limit", "2")) == 0
        assert len(server.counted) == 1
        assert len(prompts(server)) == 2


def test_a_count_that_fails_in_a_session_lets_the_prompt_go(output: Output) -> None:
    n_asked = 0

    def failing(path: str, body: dict[str, Any]) -> Answer:
        nonlocal n_asked
        n_asked += 1
        return vllm(path, body) if n_asked == 1 else Answer({"error": "busy"}, 500)

    with serving(answering, MODELS, failing) as server:
        assert run(rag(server, "--limit", "2")) == 0
        assert len(prompts(server)) == 2
    first = json.loads(output().out)
    assert run(["replay", "lauf", "--json"]) == 0
    assert json.loads(output().out)["digest"] == first["digest"]


def test_never_means_never(output: Output) -> None:
    with serving(answering, MODELS, vllm) as server:
        assert run(rag(server, "--limit", "2", "--set", "model.count_tokens=never")) == 0
        assert (server.counted, len(server.requests)) == ([], 2)
    capsule = json.loads(Path("lauf/provenance.json").read_text(encoding="utf-8"))
    assert "token_count" not in capsule["compared"]["model"]


def test_the_count_is_asked_with_what_the_template_is_asked_with(output: Output) -> None:
    with serving(answering, MODELS, vllm) as server:
        extra = '{"chat_template_kwargs" = {"enable_thinking" = true}, "seed" = 7}'
        assert run(rag(server, "--limit", "1", "--set", f"model.extra_body={extra}")) == 0
        ((path, probe), (_, body)) = server.counted
    assert (path, probe["messages"][0]["role"]) == ("/tokenize", "user")
    assert {name: value for name, value in body.items() if name != "messages"} == {
        "model": "m", "add_generation_prompt": True, "chat_template_kwargs": {"enable_thinking": True},
    }  # fmt: skip


def test_on_the_tape_a_count_is_never_the_chat_that_it_counts() -> None:
    messages = [{"role": "user", "content": "何人ですか。"}]
    body = json.dumps({"model": "m", "messages": messages}).encode()
    of = Identities().of
    chat, count, template = (
        of(TapeRequest("model", "POST", f"http://127.0.0.1:8000{path}", body))
        for path in ("/v1/chat/completions", "/tokenize", "/apply-template")
    )
    assert len({chat.id, count.id, template.id}) == 3
    assert (count.messages, template.messages) == ("", "")
    assert chat.messages
