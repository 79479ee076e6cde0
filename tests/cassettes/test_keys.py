from __future__ import annotations

import json
import unicodedata

import pytest

from cassettes.exchange import Channel, Outgoing, TapeRequest
from cassettes.keys import Identities, Identity, is_key_parameter, page_url

QUESTION: dict[str, object] = {"role": "user", "content": "令和６年度の子育て支援は？"}


def chat(body: dict[str, object], *, url: str = "https://a.example/v1/chat/completions") -> Identity:
    return Identities().of(TapeRequest("model", "POST", url, json.dumps(body, ensure_ascii=False).encode()))


def search(url: str, body: bytes = b"") -> str:
    return Identities().of(TapeRequest("search", "GET", url, body)).id


def called(*ids: str) -> list[dict[str, object]]:
    calls = [{"id": x, "type": "function", "function": {"name": "search", "arguments": "{}"}} for x in ids]
    answers: list[dict[str, object]] = [{"role": "tool", "tool_call_id": x, "content": "結果"} for x in ids]
    return [QUESTION, {"role": "assistant", "content": None, "tool_calls": calls}, *answers]


def test_the_order_of_json_keys_does_not_count() -> None:
    body: dict[str, object] = {"model": "m", "messages": [QUESTION], "temperature": 0.6}
    turned = {"temperature": 0.6, "messages": [dict(reversed(QUESTION.items()))], "model": "m"}
    assert chat(body) == chat(turned)


def test_who_asks_and_how_it_travels_do_not_count() -> None:
    body: dict[str, object] = {"model": "m", "messages": [QUESTION]}
    carried = {**body, "user": "u", "metadata": {"run": "1"}, "stream": True, "stream_options": {"include_usage": True}}
    assert chat(carried, url="http://127.0.0.1:9/other/v1/chat/completions") == chat(body)


@pytest.mark.parametrize(
    "change",
    [
        {"model": "other"},
        {"temperature": 0.7},
        {"tools": [{"type": "function", "function": {"name": "find"}}]},
        {"tool_choice": "none"},
        {"response_format": {"type": "json_object"}},
        {"chat_template_kwargs": {"enable_thinking": False}},
    ],
)
def test_what_has_meaning_counts_but_not_for_the_messages(change: dict[str, object]) -> None:
    body: dict[str, object] = {"model": "m", "messages": [QUESTION], "temperature": 0.6}
    assert chat(body).id != chat({**body, **change}).id
    assert chat(body).messages == chat({**body, **change}).messages


def test_reasoning_is_part_of_a_message() -> None:
    thought = {"role": "assistant", "content": "答え", "reasoning_content": "考え"}
    plain = {"role": "assistant", "content": "答え"}
    assert chat({"messages": [QUESTION, thought]}) != chat({"messages": [QUESTION, plain]})


def test_ids_of_tool_calls_are_named_by_first_appearance() -> None:
    assert chat({"messages": called("call_1", "call_2")}) == chat({"messages": called("x9", "a0")})


def test_which_answer_belongs_to_which_call_still_counts() -> None:
    messages = called("a", "b")
    crossed = [*messages[:2], messages[3], messages[2]]
    assert chat({"messages": messages}) != chat({"messages": crossed})


def test_a_request_in_parts_has_the_identity_of_its_whole() -> None:
    identities = Identities()
    messages = called("call_1")
    encoded = tuple(json.dumps(message, ensure_ascii=False).encode() for message in messages)
    head = b'{"model":"m","temperature":0.6,"messages":['
    for n in range(1, len(encoded) + 1):
        body = head + b",".join(encoded[:n]) + b"]}"
        parts = Outgoing(head, encoded[:n])
        assert parts.is_body(body)
        whole = Identities().of(TapeRequest("judge", "POST", "http://x.example/v1/chat/completions", body))
        assert identities.of(TapeRequest("judge", "POST", "", body, outgoing=parts)) == whole
    assert not Outgoing(head, encoded[:1]).is_body(body)


def test_lone_surrogates_and_broken_bodies_have_an_identity() -> None:
    url = "http://x.example/v1/chat/completions"
    surrogate = TapeRequest("model", "POST", url, b'{"messages":[{"role":"user","content":"\\ud800"}]}')
    broken = TapeRequest("model", "POST", url, b'{"messages":[')
    assert Identities().of(surrogate) != Identities().of(broken)
    assert Identities().of(broken).messages == ""


def test_a_search_is_engine_endpoint_and_parameters() -> None:
    brave = "https://api.search.brave.example/res/v1/web/search?q=%E6%9D%B1%E4%BA%AC&count=20"
    assert search(brave) == search("https://api.search.brave.example:443/res/v1/web/search?count=20&q=東京")
    assert search(brave) != search(brave.replace("count=20", "count=10"))
    assert search(brave) != search(brave.replace("/web/", "/news/"))
    assert search(brave) != search(brave.replace("api.search.brave", "other"))


def test_a_query_counts_in_nfc_and_no_further() -> None:
    def url(query: str) -> str:
        return f"https://s.example/search?q={query}"

    assert search(url("がん検診")) == search(url(unicodedata.normalize("NFD", "がん検診")))
    assert search(url("ｶﾞﾝ検診")) != search(url("ガン検診"))


@pytest.mark.parametrize("name", ["key", "api_key", "Token", "subscription-token"])
def test_the_key_of_a_search_does_not_count(name: str) -> None:
    assert is_key_parameter(name)
    assert search(f"https://s.example/s?q=x&{name}=abc") == search(f"https://s.example/s?{name}=xyz&q=x")


def test_a_search_with_a_body_is_read_as_json() -> None:
    body, turned, other = ('{"size":3,"q":"市"}', '{"q": "市", "size": 3}', '{"q":"町","size":3}')
    url = "http://localhost:9200/pages/_search"
    assert search(url, body.encode()) == search(url, turned.encode())
    assert search(url, body.encode()) != search(url, other.encode())


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("HTTPS://WWW.Example.JP/市/A?q=B#節", "https://www.example.jp/市/A?q=B"),
        ("http://U:P@Example.jp", "http://U:P@example.jp"),
        ("local:Doc/1#x", "local:Doc/1"),
    ],
)
def test_a_page_is_its_url_without_fragment_and_with_a_lower_case_host(url: str, named: str) -> None:
    assert page_url(url) == named


def test_headers_never_count() -> None:
    channels: tuple[Channel, ...] = ("model", "search", "page")
    for channel in channels:
        bare = TapeRequest(channel, "GET", "https://x.example/a")
        dressed = TapeRequest(channel, "GET", "https://x.example/a", headers=((b"date", b"now"), (b"cookie", b"c")))
        assert Identities().of(bare) == Identities().of(dressed)
