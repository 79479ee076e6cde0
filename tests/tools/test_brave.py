"""The Brave engine against a loopback imitation of its API, and against recorded replies where they are at hand."""

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx2
import pytest

from tests.servers.brave_server import MONTH_S, BraveServer, Canned, Entry, rate_headers, refusal, serving
from tools.engines.brave import BraveEngine, BraveSettings, Unpaced
from tools.engines.brave_reply import RateWindow, clean_description, read_hits, read_windows, split_joints
from tools.engines.brave_sdk import BraveSdkEngine
from tools.pace import TokenBucket
from tools.search import Hit
from tools.tool import SetupError, ToolFailure

SAMPLES = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "brave_samples"

CHILDCARE = tuple(
    Entry(f"https://www.example.jp/kosodate/{n:02}.html", f"東京都の子育て支援 {n}", f"支援策その{n}です。")
    for n in range(1, 31)
)
GRANT = Entry(
    "https://www.example.jp/r6/補助金.html",
    "令和６年度 <補助金> & 助成",
    '上限は１，２３４万円です。 ... 申請は "窓口" で <b>受付</b> · 期間は令和6年4月1日から, ...',
    ("対象は都内の A&amp;B 社。 · 郵送も可。", "期間は令和6年4月1日から,", ""),
    age="2 days ago",
    page_age="2024-12-10T12:31:05",
)
MARKUP = re.compile(r"</?strong>|&(?:amp|quot|#x27);| · | \.\.\. | \.\.\.$")
UNAUTHORISED = refusal(401, "", "", {})
BURST = Canned(429, b"{}", rate_headers((1, 1, 0, 1), (MONTH_S, 2000, 1985, 389_223)))
DOWN = Canned(503, b"<html>upstream</html>", content_type="text/html")


@dataclass
class Timeline:
    """A clock that runs only while somebody sleeps."""

    now_s: float = 100.0
    slept_s: list[float] = field(default_factory=list[float])

    async def sleep(self, wait_s: float) -> None:
        self.slept_s.append(round(wait_s, 6))
        self.now_s += wait_s

    def bucket(self, rate_per_s: float = 1000.0) -> TokenBucket:
        return TokenBucket(rate_per_s, clock=lambda: self.now_s, sleep=self.sleep)


@pytest.fixture
def server() -> Iterator[BraveServer]:
    with serving(BraveServer(index=(*CHILDCARE, GRANT))) as running:
        yield running


def search(
    server: BraveServer,
    query: str,
    page: int = 1,
    *,
    settings: BraveSettings | None = None,
    bucket: TokenBucket | None = None,
    key: str = "BSA-loopback-key",
) -> list[Hit]:
    async def act() -> list[Hit]:
        async with httpx2.AsyncClient(trust_env=False) as client:
            used = replace(settings or BraveSettings(), base_url=server.base_url)
            return await BraveEngine(client, used, key, bucket or Unpaced()).search(query, 10, page)

    return asyncio.run(act())


def test_every_request_carries_what_makes_a_search_repeatable(server: BraveServer) -> None:
    search(server, "東京都　子育て", page=3)
    assert server.seen[0].params == {
        "q": "東京都　子育て", "count": "10", "offset": "2", "country": "JP", "search_lang": "jp", "ui_lang": "ja-JP",
        "safesearch": "moderate", "text_decorations": "false", "spellcheck": "false", "result_filter": "web",
        "extra_snippets": "true",
    }  # fmt: skip
    assert server.seen[0].headers["x-subscription-token"] == "BSA-loopback-key"


@pytest.mark.parametrize(
    ("asked", "sent"), [("ja", "jp"), ("jp", "jp"), ("zh", "zh-hans"), ("zh-hant", "zh-hant"), ("en", "en")]
)
def test_language_codes_become_those_of_brave(asked: str, sent: str) -> None:
    assert BraveSettings(search_lang=asked).sent()["search_lang"] == sent


def test_snippets_are_page_text_without_joints_entities_and_highlighting(server: BraveServer) -> None:
    assert search(server, "令和６年度 補助金")[0] == Hit(
        url="https://www.example.jp/r6/補助金.html",
        title="令和６年度 <補助金> & 助成",
        snippets=(
            "上限は１，２３４万円です。",
            '申請は "窓口" で <b>受付</b>',
            "期間は令和6年4月1日から,",
            "対象は都内の A&amp;B 社。",
            "郵送も可。",
        ),
        age="2024-12-10T12:31:05",
    )


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("<strong>子育て</strong>支援", "子育て支援"),
        ("A &amp; B &quot;窓口&quot; &#x27;x&#39;", "A & B \"窓口\" 'x'"),
        ("&lt;strong&gt;は強調です", "<strong>は強調です"),
        ("&amp;lt; と書く", "&lt; と書く"),
        ("?a=1&copy=2&reg", "?a=1&copy=2&reg"),
        ("<em>残す</em>", "<em>残す</em>"),
    ],
)
def test_description_is_decoded_once_and_loses_only_the_highlighting(raw: str, clean: str) -> None:
    assert clean_description(raw) == clean


@pytest.mark.parametrize(
    ("snippet", "pieces"),
    [
        ("一つ目。 · 二つ目。 ... 三つ目。", ["一つ目。", "二つ目。", "三つ目。"]),
        ("... 途中から", ["途中から"]),
        ("training, ...", ["training,"]),
        ("進めて...", ["進めて..."]),
        ("東京・大阪·京都", ["東京・大阪·京都"]),
        (" ·  ... ", []),
        ("", []),
    ],
)
def test_joints_separate_and_what_the_page_may_hold_stays(snippet: str, pieces: list[str]) -> None:
    assert split_joints(snippet) == pieces


def test_result_pages_overlap_and_each_gives_its_own_hits(server: BraveServer) -> None:
    first, second = search(server, "子育て支援", 1), search(server, "子育て支援", 2)
    assert len(first) == len(second) == 10
    assert [hit.url for hit in first[-2:]] == [hit.url for hit in second[:2]]


def test_a_page_comes_once_in_a_reply_and_no_more_hits_than_asked_for() -> None:
    def result(url: str) -> dict[str, object]:
        return {"url": url, "title": "題"}

    urls = [
        "https://EXAMPLE.jp:443/%e6%9d%b1",
        "https://example.jp/東",
        "https://example.jp/東#二",
        "https://b.jp",
        "https://c.jp",
    ]
    hits = read_hits({"web": {"results": [result(url) for url in urls]}}, 3)
    assert [hit.url for hit in hits] == [urls[0], urls[2], urls[3]]


def test_no_web_in_the_reply_means_no_hits(server: BraveServer) -> None:
    assert search(server, "ＸＹＺ") == []
    assert server.seen[0].params["q"] == "ＸＹＺ"


NO_RESULTS: list[object] = [
    {},
    {"web": None},
    {"web": []},
    {"web": {}},
    {"web": {"results": None}},
    {"web": {"results": [None, 3, "x", {}]}},
]


@pytest.mark.parametrize("body", NO_RESULTS)
def test_a_reply_without_readable_results_has_no_hits(body: object) -> None:
    assert read_hits(body, 10) == []


def test_a_result_is_read_as_far_as_it_can_be() -> None:
    results: list[object] = [
        {"url": "https://a.jp/", "title": None, "description": 3, "extra_snippets": [None, "本文", 4], "age": {}},
        {"url": "javascript:alert(1)", "title": "悪い"},
        {
            "url": "https://b.jp/",
            "title": "題",
            "description": "半分の絵文字\ud83d",
            "extra_snippets": "文字列",
            "age": "昨日",
        },
    ]
    assert read_hits({"web": {"results": results}}, 10) == [
        Hit("https://a.jp/", "", ("本文",)),
        Hit("https://b.jp/", "題", ("半分の絵文字\ufffd",), "昨日"),
    ]


def test_rate_windows_are_matched_by_width_not_by_place() -> None:
    headers = httpx2.Headers(rate_headers((MONTH_S, 2000, 12, 389_223), (1, 1, 0, 1)))
    assert read_windows(headers) == (RateWindow(MONTH_S, 2000, 12, 389_223), RateWindow(1, 1, 0, 1))


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-ratelimit-policy": "1;w=1", "x-ratelimit-limit": "1"},
        {"x-ratelimit-policy": "1", "x-ratelimit-limit": "1", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "1"},
        {
            "x-ratelimit-policy": "1;w=1",
            "x-ratelimit-limit": "x",
            "x-ratelimit-remaining": "0",
            "x-ratelimit-reset": "1",
        },
        {
            "x-ratelimit-policy": "1;w=1, 9;w=60",
            "x-ratelimit-limit": "inf, 9",
            "x-ratelimit-remaining": "0, nan",
            "x-ratelimit-reset": "1, 1",
        },
    ],
)
def test_unreadable_rate_headers_are_no_windows(headers: dict[str, str]) -> None:
    assert read_windows(headers) == ()


@pytest.mark.parametrize(
    ("headers", "waited_s"),
    [
        (rate_headers((1, 1, 0, 1), (MONTH_S, 2000, 1985, 389_223)), 1.1),
        (rate_headers((MONTH_S, 2000, 1985, 389_223), (1, 1, 0, 1)), 1.1),
        (rate_headers((60, 20, 0, 42), (1, 1, 1, 1), (MONTH_S, 2000, 1985, 389_223)), 42.1),
        (rate_headers((1, 50, 0, 1), (MONTH_S, 0, 0, 389_223)), 1.1),  # 0 a month = no limit, so nothing is used up
        (rate_headers((1, 1, 0, 1_773_685_964)), 1.1),  # a proxy's idea of a reset
        ((), 1.1),
        ((("Retry-After", "30"),), 30.0),  # a proxy in between
        ((("Retry-After", "0"),), 1.1),
        ((("Retry-After", "Mon, 30 Nov 2026 14:00:00 GMT"),), 1.1),
        ((*rate_headers((60, 20, 0, 42)), ("Retry-After", "5")), 42.1),
    ],
)
def test_a_burst_waits_for_the_window_that_is_used_up(
    server: BraveServer, headers: tuple[tuple[str, str], ...], waited_s: float
) -> None:
    timeline = Timeline()
    server.script = [refusal(429, "RATE_LIMITED", "Request rate limit exceeded for plan", {}, headers)]
    assert len(search(server, "子育て支援", bucket=timeline.bucket())) == 10
    assert timeline.slept_s == [waited_s]


def test_a_burst_that_does_not_end_fails_the_call_and_not_the_run(server: BraveServer) -> None:
    timeline = Timeline()
    server.script = [BURST] * 5
    with pytest.raises(ToolFailure) as failure:
        search(server, "子育て支援", bucket=timeline.bucket())
    assert (failure.value.kind, len(server.seen)) == ("rate_limited", 5)
    assert timeline.slept_s == [1.1] * 4


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (
            refusal(429, "RATE_LIMITED", "x", {}, rate_headers((1, 1, 1, 1), (MONTH_S, 2000, 0, 389_223))),
            "quota of this key is used up (HTTP 429 RATE_LIMITED: x (2000 requests in 2592000 s)); "
            "it is full again in 4.5 days",
        ),
        (
            refusal(429, "RATE_LIMITED", "x", {}, rate_headers((86_400, 100, 0, 7_200), (1, 1, 0, 1))),
            "it is full again in 2.0 hours",
        ),
        (refusal(429, "RATE_LIMITED", "x", {}, (("Retry-After", "7200"),)), "it is full again in 2.0 hours"),
        (refusal(429, "RATE_LIMITED", "x", {"quota_limit": 2000, "quota_current": 2000}), "the dashboard says when"),
        (refusal(402, "", "Payment required", {}), "quota of this key is used up (HTTP 402: Payment required)"),
        (refusal(400, "OPTION_NOT_IN_PLAN", "The option is not subscribed.", {}), "set extra_snippets = false"),
        (refusal(422, "SUBSCRIPTION_TOKEN_INVALID", "The token is invalid.", {}), "check BRAVE_API_KEY"),
        (UNAUTHORISED, "refused the key (HTTP 401): check BRAVE_API_KEY"),
        (refusal(403, "", "forbidden", {}), "refused the key (HTTP 403: forbidden)"),
        (Canned(404, b"<html>"), "no Brave web-search API (HTTP 404): check base_url"),
        (Canned(301, b"", (("Location", "/"),)), "no Brave web-search API (HTTP 301)"),
    ],
)
def test_what_no_later_search_can_mend_stops_the_run_at_once(server: BraveServer, reply: Canned, expected: str) -> None:
    server.script = [reply]
    with pytest.raises(SetupError) as error:
        search(server, "子育て支援")
    assert expected in str(error.value)
    assert (len(server.seen), "\n" in str(error.value)) == (1, False)


def test_a_month_that_ends_during_the_run_stops_it(server: BraveServer) -> None:
    server.per_month, server.used_this_month = 2000, 1999
    assert len(search(server, "子育て支援")) == 10
    with pytest.raises(SetupError, match=r"quota of this key is used up .* full again in 4\.5 days"):
        search(server, "子育て支援")


def test_the_free_plan_is_kept_by_the_bucket(server: BraveServer) -> None:
    timeline = Timeline()
    bucket = timeline.bucket(rate_per_s=1 / 1.1)
    for _ in range(3):
        search(server, "子育て支援", bucket=bucket)
    assert timeline.slept_s == [1.1, 1.1]


def test_the_wrong_key_stops_the_run_and_is_never_shown(server: BraveServer) -> None:
    key = "BSA-secret-of-somebody"
    with pytest.raises(SetupError) as error:
        search(server, "子育て支援", key=key)
    assert str(error.value) == (
        "Brave refused the key (HTTP 422 SUBSCRIPTION_TOKEN_INVALID: The provided subscription token is invalid.): "
        "check BRAVE_API_KEY and that its subscription is for web search."
    )
    server.script = [refusal(422, "VALIDATION", "見出し" * 75 + key, {"errors": [{"loc": ["query", "q"]}]})]
    with pytest.raises(ToolFailure) as failure:
        search(server, "子育て支援", key=key)
    assert "secret" not in failure.value.message


@pytest.mark.parametrize("key", ["", " ", "BSA key", "BSA\n", "鍵", "\x00"])
def test_a_key_that_cannot_be_one_is_refused_before_any_request(server: BraveServer, key: str) -> None:
    with pytest.raises(SetupError, match="set BRAVE_API_KEY to the key alone"):
        search(server, "子育て支援", key=key)
    assert server.seen == []


def test_a_refused_setting_stops_the_run_because_every_search_would_fail(server: BraveServer) -> None:
    with pytest.raises(SetupError, match=r"setting of ours \(HTTP 422 VALIDATION: .* \(country\)\): mend country"):
        search(server, "子育て支援", settings=BraveSettings(country="日本"))


@pytest.mark.parametrize("errors", [[{"loc": ["query", "q"], "msg": "bad"}], [], "broken"])
def test_any_other_422_fails_the_call_and_says_that_it_is_ours(server: BraveServer, errors: object) -> None:
    server.script = [refusal(422, "VALIDATION", "Unable to validate request parameter(s)", {"errors": errors})]
    with pytest.raises(ToolFailure) as failure:
        search(server, "子育て支援")
    assert failure.value.kind == "engine_error"
    assert "検索語ではなく本システムの不具合です" in failure.value.message
    assert len(server.seen) == 1


def test_a_failing_server_is_asked_again_and_a_growing_while_later(server: BraveServer) -> None:
    timeline = Timeline()
    server.script = [DOWN, Canned(200, b"<html>captive portal</html>"), Canned(200, b'{"web": '), Canned(500, b"")]
    assert len(search(server, "子育て支援", bucket=timeline.bucket())) == 10
    assert timeline.slept_s == [1.0, 2.0, 4.0, 8.0]


@pytest.mark.parametrize(
    ("reply", "kind", "message"),
    [
        (DOWN, "engine_error", "検索エンジンの障害です（HTTP 503）。同じ検索を後で試すか、別の検索語にしてください。"),
        (Canned(200, b"[" * 100_000), "engine_error", "検索エンジンの障害です（HTTP 200 without a JSON result）。"),
        (Canned(200, b"", drop=True), "network_error", "検索エンジンに接続できません（RemoteProtocolError）。"),
        (Canned(200, b"{}", hang_s=0.3), "timeout", "検索エンジンが応答しません（0.1 s）。"),
    ],
)
def test_a_fault_that_stays_is_a_failed_call_of_its_kind(
    server: BraveServer, reply: Canned, kind: str, message: str
) -> None:
    server.script = [reply] * 2
    with pytest.raises(ToolFailure) as failure:
        search(server, "子育て支援", settings=BraveSettings(max_attempts=2, timeout_s=0.1 if reply.hang_s else 5))
    assert (failure.value.kind, failure.value.message.startswith(message)) == (kind, True)
    assert len(server.seen) == 2


def test_no_server_at_all_stops_the_run_instead_of_scoring_answers_without_sources() -> None:
    with serving(BraveServer()) as gone:
        pass
    with pytest.raises(SetupError, match=r"Brave cannot be reached at .*The same command then continues the run"):
        search(gone, "子育て支援", settings=BraveSettings(max_attempts=2, language="en"))


@pytest.mark.parametrize(
    ("query", "page", "help_text"),
    [
        ("", 1, "検索語が空です。"),
        ("　 \n", 1, "検索語が空です。"),
        ("あ" * 401, 1, "検索語が長すぎます（401文字・1語。上限400文字・50語）。重要な語だけに絞ってください。"),
        ("a " * 51, 1, "検索語が長すぎます（102文字・51語。上限400文字・50語）。重要な語だけに絞ってください。"),
        ("子育て\ud83d", 1, "検索語に壊れた文字が含まれています。"),
        ("子育て", 11, "result_page は 1–10 です（指定: 11）。検索語を変えてください。"),
        ("子育て", 0, "result_page は 1–10 です（指定: 0）。検索語を変えてください。"),
    ],
)
def test_what_the_api_would_refuse_is_said_before_it_costs_a_request(
    server: BraveServer, query: str, page: int, help_text: str
) -> None:
    with pytest.raises(ToolFailure) as failure:
        search(server, query, page)
    assert (failure.value.kind, failure.value.message) == ("bad_arguments", help_text)
    assert server.seen == []


def test_four_hundred_characters_are_still_a_query(server: BraveServer) -> None:
    assert len(search(server, "子育て支援" * 80)) == 10


def test_sessions_that_share_a_bucket_wait_out_a_burst_together(server: BraveServer) -> None:
    timeline = Timeline()
    server.script = [BURST]

    async def act() -> list[int]:
        async with httpx2.AsyncClient(trust_env=False) as client:
            settings = BraveSettings(base_url=server.base_url)
            engine = BraveEngine(client, settings, server.key, timeline.bucket(rate_per_s=1 / 1.1))
            return [len(hits) for hits in await asyncio.gather(*(engine.search("子育て支援", 10, 1) for _ in range(3)))]

    assert asyncio.run(act()) == [10, 10, 10]
    assert len(server.seen) == 4


def test_the_sdk_engine_says_how_to_install_its_package(server: BraveServer) -> None:
    with pytest.raises(SetupError, match=r"pip install 'pincite\[brave-sdk\]'"):
        BraveSdkEngine(httpx2.AsyncClient(), BraveSettings(), "BSA", Unpaced())


def test_recorded_replies_give_every_result_with_clean_snippets() -> None:
    samples = sorted(path for path in SAMPLES.glob("*.json") if b'"web"' in path.read_bytes())
    if not samples:
        pytest.skip(f"no recorded replies at {SAMPLES}")
    for sample in samples:
        body = json.loads(sample.read_bytes())
        hits = read_hits(body, 20)
        assert [(hit.url, hit.title) for hit in hits] == [
            (item["url"], item["title"]) for item in body["web"]["results"]
        ]
        left = [snippet for hit in hits for snippet in hit.snippets if MARKUP.search(snippet)]
        assert left == []


def test_recorded_refusal_is_a_burst(server: BraveServer) -> None:
    sample = SAMPLES / "error_429.json"
    if not sample.exists():
        pytest.skip(f"no recorded replies at {SAMPLES}")
    timeline = Timeline()
    server.script = [Canned(429, sample.read_bytes())]
    assert len(search(server, "子育て支援", bucket=timeline.bucket())) == 10
    assert timeline.slept_s == [1.1]


def test_provenance_says_where_a_search_goes_and_what_is_always_sent() -> None:
    assert BraveSettings(extra_snippets=False).facts("brave-sdk") == {
        "engine": "brave-sdk", "base_url": "https://api.search.brave.com", "country": "JP", "search_lang": "jp",
        "ui_lang": "ja-JP", "safesearch": "moderate", "text_decorations": "false", "spellcheck": "false",
        "result_filter": "web", "extra_snippets": "false",
    }  # fmt: skip


@pytest.mark.parametrize("base_url", ["api.search.brave.com", "ftp://api.search.brave.com", "http://127.0.0.1:port"])
def test_an_address_that_cannot_be_one_is_a_setting_to_mend(base_url: str) -> None:
    async def act() -> None:
        async with httpx2.AsyncClient(trust_env=False) as client:
            await BraveEngine(client, BraveSettings(base_url=base_url), "BSA", Unpaced()).search("子育て", 10, 1)

    with pytest.raises(SetupError, match="base_url"):
        asyncio.run(act())


@pytest.mark.parametrize("count", [0, 21])
def test_a_number_of_hits_that_brave_does_not_give_is_a_setting_to_mend(count: int) -> None:
    async def act() -> None:
        async with httpx2.AsyncClient(trust_env=False) as client:
            await BraveEngine(client, BraveSettings(), "BSA", Unpaced()).search("子育て", count, 1)

    with pytest.raises(SetupError, match=f"1 to 20 hits a result page, not {count}"):
        asyncio.run(act())
