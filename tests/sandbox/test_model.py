"""The model client against a server on loopback: what is sent, what is read, what each failure means."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from openai import AsyncOpenAI
from servers.chat_server import Answer, ChatServer, calls, message

from cassettes.live import AiohttpTransport
from cassettes.redact import Redactor
from sandbox.endpoint.chat import Conversation, ModelFailure, Reply
from sandbox.endpoint.faults import MESSAGE_CHARS
from sandbox.endpoint.model import ModelClient, ServerFacts, judge_endpoint, model_endpoint
from sandbox.record import Usage
from sandbox.settings import Decode, JudgeSettings, ModelSettings
from tools.tool import SetupError

HELLO = [{"role": "user", "content": "東京都の人口は？"}]
TOOLS = ({"type": "function", "function": {"name": "search", "parameters": {}}},)


async def no_sleep(_: float) -> None:
    return None


def ask(
    decide: Callable[[dict[str, Any]], Answer],
    *,
    settings: ModelSettings | None = None,
    context: int | None = None,
    shrink: bool = False,
    redact: Callable[[str], str] = str,
    **more: Any,
) -> tuple[Reply, ChatServer]:
    async def go() -> tuple[Reply, ChatServer]:
        async with ChatServer(decide) as server:
            http = httpx2.AsyncClient(transport=AiohttpTransport(connections=4, total_timeout_s=10), trust_env=False)
            async with AsyncOpenAI(
                base_url=server.base_url, api_key="sk-secret", http_client=http, max_retries=0
            ) as client:
                chosen = settings or ModelSettings(name="m", retries=2)
                endpoint = model_endpoint(chosen, context_tokens=context, shrink=shrink)
                model = ModelClient(client, http, endpoint, no_sleep, redact)
                return await model.chat(Conversation(HELLO), **more), server

    return asyncio.run(go())


def test_request_holds_every_published_decode_setting() -> None:
    _, server = ask(lambda _: message("はい"), tools=TOOLS)
    assert server.requests == [
        {
            "model": "m",
            "temperature": 0.6,
            "top_p": 0.95,
            "top_k": 20,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
            "max_tokens": 16384,
            "tools": list(TOOLS),
            "messages": HELLO,
        }
    ]
    assert server.headers[0]["authorization"] == "bearer sk-secret"


def test_request_keeps_japanese_readable_and_escapes_lone_surrogates() -> None:
    _, server = ask(lambda _: message("はい"))
    assert "東京都の人口は？".encode() in server.bodies[0]
    assert json.loads(json.loads(json.dumps(Conversation([{"content": "𠮷\ud800"}]).encoded().decode()))) == {
        "content": "𠮷\ud800"
    }


def test_qwen_is_asked_to_keep_its_thinking_and_omitted_fields_stay_out() -> None:
    settings = ModelSettings(name="Qwen3.6-27B", decode=Decode(omit=("top_k", "min_p", "repetition_penalty")))
    _, server = ask(lambda _: message("はい"), settings=settings)
    sent = server.requests[0]
    assert sent["chat_template_kwargs"] == {"preserve_thinking": True}
    assert not {"top_k", "min_p", "repetition_penalty"} & sent.keys()


def test_reply_keeps_reasoning_with_the_name_of_its_field() -> None:
    reply, _ = ask(lambda _: calls(("search", {"query": "人口"}), reasoning="考える"))
    assert (reply.reasoning_field, reply.reasoning, reply.finish_reason) == ("reasoning", "考える", "tool_calls")
    assert [(call.id, call.name, call.arguments) for call in reply.tool_calls] == [
        ("c0", "search", '{"query": "人口"}')
    ]
    assert reply.usage == Usage(calls=1, prompt_tokens=100, completion_tokens=20)


def test_lone_surrogates_in_a_reply_become_replacement_characters_of_the_same_length() -> None:
    body = b'{"choices":[{"message":{"role":"assistant","content":"\\ud842\\udfb7\\ud800x"},"finish_reason":"stop"}]}'
    reply, _ = ask(lambda _: Answer(body))
    assert reply.content == "𠮷\ufffdx"


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (400, "This model's maximum context length is 32768 tokens. However, you requested 40000 tokens"),
        (400, "'max_tokens' is too large: 16384. This model's maximum context length is 8192 tokens and your request"
              " has 123 input tokens"),
        (400, '{"error":{"code":400,"message":"the request exceeds the available context size","type":'
              '"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":8192}}'),
        (400, "The input (40000 tokens) is longer than the model's context length (32768 tokens)."),
        (422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096"),
        (400, '{"error":{"message":"too long","code":"context_length_exceeded"}}'),
    ],
)  # fmt: skip
def test_context_overflow_is_recognised_in_every_server_s_words_and_never_retried(status: int, text: str) -> None:
    seen: list[int] = []

    def decide(_: dict[str, Any]) -> Answer:
        seen.append(1)
        return Answer(text.encode(), status)

    with pytest.raises(ModelFailure) as caught:
        ask(decide)
    assert (caught.value.kind, len(seen)) == ("context_overflow", 1)


def test_prompt_and_output_limit_over_the_context_is_an_overflow_also_where_the_server_answers() -> None:
    with pytest.raises(ModelFailure) as caught:
        ask(lambda _: message("短い"), context=16_400)
    assert caught.value.kind == "context_overflow"
    assert caught.value.usage == Usage(calls=1, prompt_tokens=100, completion_tokens=20)
    assert ask(lambda _: message("短い"), context=16_484)[0].content == "短い"


def test_shrinking_lowers_the_output_limit_to_the_room_that_the_server_names() -> None:
    refused = "This model's maximum context length is 8192 tokens and your request has 5000 input tokens"

    def decide(body: dict[str, Any]) -> Answer:
        return message("はい") if body["max_tokens"] == 3192 else Answer(refused.encode(), 400)

    reply, server = ask(decide, shrink=True)
    assert reply.content == "はい"
    assert [request["max_tokens"] for request in server.requests] == [16384, 3192]


def test_passing_faults_are_tried_again_and_counted_in_the_usage() -> None:
    answers = iter([Answer(b"busy", 503), Answer(drop=True), message("はい")])
    reply, server = ask(lambda _: next(answers))
    assert (reply.content, len(server.requests)) == ("はい", 3)
    assert reply.usage.calls == 3


def test_a_server_that_stays_broken_gives_a_named_failure_after_bounded_tries() -> None:
    with pytest.raises(ModelFailure) as caught:
        ask(lambda _: Answer(b'{"error":{"message":"HarmonyError: unexpected tokens"}}', 500))
    assert caught.value.kind == "api_error"
    assert caught.value.message == "HTTP 500: HarmonyError: unexpected tokens (after 3 tries)"
    assert caught.value.usage.calls == 3


def test_a_server_that_goes_away_stops_the_run() -> None:
    async def go() -> None:
        async with ChatServer(lambda _: message("はい")) as server:
            url = server.base_url
        http = httpx2.AsyncClient(transport=AiohttpTransport(connections=4, total_timeout_s=10), trust_env=False)
        async with AsyncOpenAI(base_url=url, api_key="x", http_client=http, max_retries=0) as client:
            endpoint = model_endpoint(ModelSettings(name="m", retries=1), context_tokens=None, shrink=False)
            model = ModelClient(client, http, endpoint, no_sleep)
            with pytest.raises(SetupError, match="cannot reach the server of m"):
                await model.facts()
            with pytest.raises(SetupError, match="repeat the same command"):
                await model.chat(Conversation(HELLO))

    asyncio.run(go())


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (301, b"<html>moved</html>", "a redirect, which is not followed"),
        (308, b"", "give the address itself as the base URL"),
        (401, b'{"error":{"message":"Incorrect API key provided"}}', "check the API key"),
        (404, b'{"error":{"message":"The model `x` does not exist"}}', "check --base-url"),
        (400, b'{"message":"\\"auto\\" tool choice requires --enable-auto-tool-choice"}', "tool calling on"),
        (429, b'{"error":{"code":"insufficient_quota","message":"insufficient_quota"}}', "quota"),
        (400, b'{"error":{"message":"Unrecognized request argument supplied: chat_template_kwargs"}}',
         "judge.thinking=unsaid"),
        (400, b'{"error":{"message":"Unknown parameter: top_k"}}', "model.decode.omit"),
        (400, b'{"error":{"message":"Unsupported parameter: \'max_tokens\' is not supported with this model."}}',
         "max_output_field=max_completion_tokens"),
    ],
)  # fmt: skip
def test_what_every_sample_would_meet_stops_the_run(status: int, body: bytes, words: str) -> None:
    with pytest.raises(SetupError, match=words) as caught:
        ask(lambda _: Answer(body, status))
    assert "sk-secret" not in str(caught.value)


def test_a_key_that_a_server_repeats_is_struck_out_before_the_text_is_cut() -> None:
    redactor = Redactor(["sk-secret"])
    with pytest.raises(SetupError) as caught:
        ask(lambda _: Answer(b"x" * (MESSAGE_CHARS - 6) + b" sk-secret", 401), redact=redactor.redact)
    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize(
    "body", [b"<html>gateway</html>", b'{"choices":', b'{"choices":[]}', b'{"choices":[{"message":null}]}', b"[]"]
)
def test_a_reply_that_is_no_completion_is_a_bad_reply(body: bytes) -> None:
    with pytest.raises(ModelFailure) as caught:
        ask(lambda _: Answer(body, headers={"content-type": "text/html"}))
    assert (caught.value.kind, caught.value.usage.calls) == ("bad_reply", 1)


def test_a_refused_response_format_stops_the_run_and_says_what_to_set() -> None:
    refusal = Answer(b'{"error":{"message":"response_format json_schema is not supported"}}', 400)
    with pytest.raises(SetupError, match=r"--set judge\.response_format=false"):
        ask(lambda _: refusal, response_format={"type": "json_schema"})


def test_no_response_format_is_sent_where_the_settings_say_so() -> None:
    assert judge_endpoint(JudgeSettings(response_format=False)).formats is False


def test_the_judge_is_asked_at_temperature_0_without_thinking() -> None:
    endpoint = judge_endpoint(JudgeSettings(name="gemma-4-31b-it"))
    assert endpoint.fixed == {"temperature": 0.0, "chat_template_kwargs": {"enable_thinking": False}}
    assert endpoint.max_output_tokens == 2048


@pytest.mark.parametrize(
    ("models", "facts"),
    [
        ({"data": [{"id": "m", "max_model_len": 32768, "owned_by": "vllm"}]}, ServerFacts(("m",), 32768, "vllm")),
        ({"data": [{"id": "x.gguf", "meta": {"n_ctx": 8192}}]}, ServerFacts(("x.gguf",), 8192, None)),
        ({"data": [{"id": "a", "max_model_len": 1}, {"id": "b"}]}, ServerFacts(("a", "b"), None, None)),
        ({"models": "?"}, ServerFacts()),
    ],
)
def test_server_facts_are_read_leniently(models: object, facts: ServerFacts) -> None:
    async def go() -> ServerFacts:
        async with ChatServer(lambda _: message("")) as server:
            server._models = models
            http = httpx2.AsyncClient(transport=AiohttpTransport(connections=4, total_timeout_s=10), trust_env=False)
            async with AsyncOpenAI(base_url=server.base_url, api_key="x", http_client=http) as client:
                endpoint = model_endpoint(ModelSettings(name="m"), context_tokens=None, shrink=False)
                return await ModelClient(client, http, endpoint).facts()

    assert asyncio.run(go()) == facts


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, b'{"error":{"code":"content_filter","message":"The response was filtered due to the prompt"}}'),
        (400, b'{"error":{"message":"filtered by Azure OpenAI\'s content management policy"}}'),
        (403, b'{"error":{"code":"content_policy_violation","message":"rejected"}}'),
    ],
)
def test_a_content_filter_is_the_refusal_of_one_sample_and_stops_nothing(status: int, body: bytes) -> None:
    seen: list[int] = []

    def decide(_: dict[str, Any]) -> Answer:
        seen.append(1)
        return Answer(body, status)

    with pytest.raises(ModelFailure) as caught:
        ask(decide)
    assert (caught.value.kind, len(seen)) == ("api_refusal", 1)


@pytest.mark.parametrize("words", ["content_filter", "Unknown parameter: top_k"])
def test_words_of_the_prompt_that_a_server_repeats_decide_nothing(words: str) -> None:
    said = f"messages[0]: the text is not allowed here. You sent: {'前置き' * 100} {words}"
    with pytest.raises(ModelFailure) as caught:
        ask(lambda _: Answer({"error": {"message": said}}, 400))
    assert caught.value.kind == "api_error"


def test_a_reply_says_whether_the_api_refused() -> None:
    assert ask(lambda _: message("途中まで", "content_filter"))[0].refused
    refusal = b'{"choices":[{"message":{"role":"assistant","content":null,"refusal":"No."},"finish_reason":"stop"}]}'
    assert ask(lambda _: Answer(refusal))[0].refused
    assert not ask(lambda _: message("お答えできません。"))[0].refused


def test_a_judge_whose_thinking_is_unsaid_gets_no_field_that_its_server_may_not_know() -> None:
    assert judge_endpoint(JudgeSettings(thinking="unsaid")).fixed == {"temperature": 0.0}
