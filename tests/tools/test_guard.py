from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from ipaddress import ip_address

import httpx2
import pytest

from tests.servers.web_server import CERTIFICATE, Page, WebServer
from tools.guard import Guard, GuardedUrl, GuardRules, PinnedTransport, is_public, system_resolver
from tools.tool import ToolFailure


class Names:
    """A name server with a script: each name answers with its next list, the last one for ever."""

    def __init__(self, answers: dict[str, list[list[str]]]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    async def __call__(self, host: str) -> Sequence[str]:
        self.asked.append(host)
        lists = self.answers.get(host)
        if not lists:
            raise OSError("no such name")
        return lists.pop(0) if len(lists) > 1 else lists[0]


def _guard(answers: dict[str, list[list[str]]] | None = None, **rules: bool | tuple[int, ...]) -> Guard:
    ports, loopback = rules.get("allow_ports", (80, 443)), rules.get("allow_loopback", False)
    assert isinstance(ports, tuple)
    assert isinstance(loopback, bool)
    return Guard(GuardRules(allow_ports=ports, allow_loopback=loopback), Names(answers or {}))


def _refusal(url: str, rules: GuardRules | None = None) -> str:
    with pytest.raises(ToolFailure) as raised:
        Guard(rules or GuardRules(), Names({})).check_url(url)
    assert "\n" not in raised.value.message
    return raised.value.kind


@pytest.mark.parametrize(
    "host",
    [
        "localhost", "LOCALHOST.", "a.localhost", "127.0.0.1", "127.9.9.9", "0.0.0.0", "127.1", "2130706433",
        "0x7f000001", "0x7f.0.0.1", "017700000001", "0177.1", "127.0.0.1.", "127。0。0。1", "１２７．０．０．１",
        "①②⑦.0.0.1", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]",
        "[::ffff:0:127.0.0.1]", "[2002:7f00:1::]", "[64:ff9b::7f00:1]", "[64:ff9b:1::808:808]", "[2001::1]",
        "[fe80::1]", "[fc00::1]", "[fec0::1]", "[ff02::1]", "[2001:db8::1]", "169.254.169.254", "10.0.0.1",
        "172.16.0.1", "192.168.1.1", "100.64.0.1", "192.0.0.8", "198.18.0.1", "224.0.0.1", "240.0.0.1",
        "255.255.255.255", "192.88.99.1",
    ],
)  # fmt: skip
def test_an_address_that_is_not_public_is_blocked_in_every_notation(host: str) -> None:
    assert _refusal(f"http://{host}/") == "blocked"


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("file:///etc/passwd", "refused"),
        ("ftp://example.jp/a", "refused"),
        ("data:text/html,東京", "refused"),
        ("javascript:alert(1)", "refused"),
        ("gopher://example.jp/", "refused"),
        ("example.jp/a", "refused"),
        ("//example.jp/a", "refused"),
        ("", "refused"),
        ("http://user:pass@example.jp/", "refused"),
        ("http://example.jp@10.0.0.1/", "refused"),
        ("http://example.jp:22/", "refused"),
        ("http://example.jp:6379/", "refused"),
        ("http://example.jp:25/", "refused"),
        ("http://example.jp:0/", "refused"),
        ("http://example.jp:99999/", "refused"),
        ("http://example.jp\\@10.0.0.1/", "bad_arguments"),
        ("http://example.jp/" + "あ" * 5_000, "bad_arguments"),
        ("http://exa\nmple.jp/", "bad_arguments"),
        ("http://example.jp/\x00", "bad_arguments"),
        ("http://exa mple.jp/", "bad_arguments"),
        ("http://%31%32%37.0.0.1/", "bad_arguments"),
        ("http:///a", "bad_arguments"),
        ("http://a..jp/", "bad_arguments"),
        ("http://" + "a" * 64 + ".jp/", "bad_arguments"),
        ("http://[fe80::1%25eth0]/", "blocked"),
        ("http://[::1", "bad_arguments"),
        ("http://xn--a_.b_/", "bad_arguments"),
        ("http://example.jp:８０a/", "bad_arguments"),
    ],
)
def test_what_is_no_page_url_is_refused(url: str, kind: str) -> None:
    assert _refusal(url) == kind


@pytest.mark.parametrize(
    ("url", "guarded"),
    [
        ("HTTPS://Example.JP", GuardedUrl("https://example.jp", "https", "example.jp", 443)),
        (
            " http://例え.jp/パス?q=東京 都#断片 ",
            GuardedUrl(
                "http://xn--r8jz45g.jp/%E3%83%91%E3%82%B9?q=%E6%9D%B1%E4%BA%AC%20%E9%83%BD",
                "http", "xn--r8jz45g.jp", 80,
            ),
        ),
        (
            "ｈｔｔｐｓ：／／ｅｘａｍｐｌｅ．ｊｐ／ａ．ｈｔｍｌ？ｑ＝１",
            GuardedUrl("https://example.jp/a.html?q=1", "https", "example.jp", 443),
        ),
        ("https://example.jp/１.html", GuardedUrl("https://example.jp/%EF%BC%91.html", "https", "example.jp", 443)),
        ("https://example.jp:443/a%2Fb", GuardedUrl("https://example.jp/a%2Fb", "https", "example.jp", 443)),
        ("http://example.jp./", GuardedUrl("http://example.jp/", "http", "example.jp", 80)),
        ("http://8.8.8.8/", GuardedUrl("http://8.8.8.8/", "http", "8.8.8.8", 80, ip_address("8.8.8.8"))),
    ],
)  # fmt: skip
def test_a_page_url_is_normalised(url: str, guarded: GuardedUrl) -> None:
    assert Guard(GuardRules(), Names({})).check_url(url) == guarded


def test_domain_suffixes_allow_a_domain_and_what_lies_below_it() -> None:
    guard = Guard(GuardRules(domain_suffixes=("go.jp", ".tokyo.lg.jp")), Names({}))
    assert [guard.check_url(f"https://{host}/").host for host in ("www.soumu.go.jp", "go.jp", "metro.tokyo.lg.jp")] == [
        "www.soumu.go.jp",
        "go.jp",
        "metro.tokyo.lg.jp",
    ]
    for host in ("evilgo.jp", "go.jp.example.com", "8.8.8.8"):
        assert _refusal(f"https://{host}/", guard.rules) == "refused"
    assert Guard(GuardRules(domain_suffixes=("例え.jp",))).check_url("http://www.例え.jp/").host == "www.xn--r8jz45g.jp"


def test_loopback_opens_by_setting_alone_and_only_for_its_own_names() -> None:
    answers = {
        "corpus.localhost": [["127.0.0.1", "::1"]],
        "evil.example.jp": [["127.0.0.1"]],
        "localhost": [["10.0.0.1"]],
    }
    guard = _guard(answers, allow_loopback=True)
    assert guard.check_url("http://127.0.0.1/").host == "127.0.0.1"
    assert guard.check_url("http://[::1]/").host == "::1"
    assert [str(address) for address in asyncio.run(guard.resolve("corpus.localhost"))] == ["127.0.0.1", "::1"]
    for host in ("evil.example.jp", "localhost"):
        with pytest.raises(ToolFailure) as raised:
            asyncio.run(guard.resolve(host))
        assert raised.value.kind == "blocked"
    assert _refusal("http://10.0.0.1/", guard.rules) == "blocked"


@pytest.mark.parametrize(
    ("addresses", "kind"),
    [
        (["93.184.216.34", "10.0.0.1"], "blocked"),
        (["2606:4700::1", "fe80::1%eth0"], "blocked"),
        (["93.184.216.34", "::ffff:192.168.0.1"], "blocked"),
        (["169.254.169.254"], "blocked"),
        ([], "network_error"),
    ],
)
def test_one_address_that_is_not_public_blocks_the_whole_name(addresses: list[str], kind: str) -> None:
    with pytest.raises(ToolFailure) as raised:
        asyncio.run(_guard({"mixed.example.jp": [addresses]}).resolve("mixed.example.jp"))
    assert raised.value.kind == kind


def test_a_name_that_nobody_knows_is_a_network_error() -> None:
    with pytest.raises(ToolFailure) as raised:
        asyncio.run(_guard().resolve("nowhere.example.jp"))
    assert (raised.value.kind, raised.value.message) == (
        "network_error",
        "no address is known for the host nowhere.example.jp",
    )


def test_public_addresses_pass_also_behind_nat64() -> None:
    answers = {"a.example.jp": [["93.184.216.34", "64:ff9b::5db8:d822", "2606:4700::1"]]}
    found = asyncio.run(_guard(answers).resolve("a.example.jp"))
    assert [str(address) for address in found] == ["93.184.216.34", "64:ff9b::5db8:d822", "2606:4700::1"]
    assert is_public(ip_address("::ffff:8.8.8.8"))


def test_the_system_resolver_knows_this_machine() -> None:
    assert "127.0.0.1" in asyncio.run(system_resolver("localhost"))


def test_rebinding_between_check_and_connection_changes_nothing() -> None:
    names = Names({"a.localhost": [["127.0.0.1"], ["127.0.0.2"]]})

    async def scene() -> tuple[str, list[str], str]:
        async with WebServer({"/": Page("本物".encode())}) as server:
            guard = Guard(GuardRules(allow_ports=(server.port,), allow_loopback=True), names)
            async with httpx2.AsyncClient(transport=PinnedTransport(guard)) as client:
                text = (await client.get(server.url("/"))).text
            return text, names.asked, server.seen[0].headers["host"].partition(":")[0]

    # One question to the name server, the first answer used, the Host header still the name.
    assert asyncio.run(scene()) == ("本物", ["a.localhost"], "a.localhost")


def test_the_next_address_is_tried_where_one_does_not_answer() -> None:
    async def scene() -> str:
        async with WebServer({"/": Page(b"second")}) as server:
            rules = GuardRules(allow_ports=(server.port,), allow_loopback=True)
            guard = Guard(rules, Names({"a.localhost": [["127.0.0.77", "127.0.0.1"]]}))
            async with httpx2.AsyncClient(transport=PinnedTransport(guard)) as client:
                return (await client.get(server.url("/"))).text

    assert asyncio.run(scene()) == "second"


def test_a_machine_without_ipv6_still_reaches_the_one_ipv4_address() -> None:
    async def scene() -> str:
        async with WebServer({"/": Page(b"v4")}) as server:
            rules = GuardRules(allow_ports=(server.port,), allow_loopback=True)
            addresses = ["::1", "::1", "::1", "::1", "127.0.0.1"]  # the server listens on IPv4 only
            guard = Guard(rules, Names({"a.localhost": [addresses]}))
            async with httpx2.AsyncClient(transport=PinnedTransport(guard)) as client:
                return (await client.get(server.url("/"))).text

    assert asyncio.run(scene()) == "v4"


def test_tls_is_checked_against_the_name_and_no_connection_is_shared_between_names() -> None:
    context = ssl.create_default_context(cafile=str(CERTIFICATE))

    async def scene() -> tuple[list[str], list[str | None], int, str]:
        async with WebServer({"/": Page(b"x")}, tls=True) as server:
            rules = GuardRules(allow_ports=(server.port,), allow_loopback=True)
            hosts = ["a.localhost", "b.localhost", "c.localhost"]
            guard = Guard(rules, Names({host: [["127.0.0.1"]] for host in hosts}))
            async with httpx2.AsyncClient(transport=PinnedTransport(guard, ssl_context=context)) as client:
                texts = [(await client.get(server.url("/", host=host))).text for host in hosts[:2]]
                with pytest.raises(httpx2.ConnectError) as raised:
                    await client.get(server.url("/", host="c.localhost"))
            return texts, server.server_names, server.n_connections, str(raised.value)

    texts, names, n_connections, message = asyncio.run(scene())
    assert (texts, names, n_connections) == (["x", "x"], ["a.localhost", "b.localhost", "c.localhost"], 2)
    assert message.startswith("network_error: the certificate of c.localhost cannot be trusted (")


def test_a_certificate_that_nobody_vouches_for_is_said_to_be_one() -> None:
    async def scene() -> None:
        async with WebServer({"/": Page(b"x")}, tls=True) as server:
            rules = GuardRules(allow_ports=(server.port,), allow_loopback=True)
            guard = Guard(rules, Names({"a.localhost": [["127.0.0.1"]]}))
            async with httpx2.AsyncClient(transport=PinnedTransport(guard)) as client:
                await client.get(server.url("/"))

    with pytest.raises(httpx2.ConnectError, match=r"^network_error: the certificate of a\.localhost cannot be trusted"):
        asyncio.run(scene())


def test_the_transport_itself_refuses_what_the_guard_refuses() -> None:
    async def scene() -> None:
        async with httpx2.AsyncClient(transport=PinnedTransport(_guard({"x.example.jp": [["10.0.0.1"]]}))) as client:
            await client.get("http://x.example.jp/")

    with pytest.raises(httpx2.ConnectError, match=r"^blocked: x\.example\.jp \(10\.0\.0\.1\) is not a public address$"):
        asyncio.run(scene())
