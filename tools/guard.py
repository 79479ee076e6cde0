"""Which addresses the page tool may reach: the guard against requests forged by a page or a model (SSRF).

Knows: URLs, names, addresses, how to connect to exactly the address that was checked. Must not know: what a page is,
robots, sizes or times of a download (tools/download.py).

A name is resolved once; if any of its addresses is not public, none is used; the connection goes to one of the checked
addresses and nowhere else, so that a second answer of the name server (rebinding) changes nothing.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
import ssl
import unicodedata
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import httpx2

from tools.tool import ToolFailure

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver = Callable[[str], Awaitable[Sequence[str]]]
"""A host name to all of its addresses as text, in the order to be tried. Raises OSError where there are none."""

MAX_URL_CHARS = 4_096
MAX_TRIED_ADDRESSES = 3


@dataclass(frozen=True, slots=True)
class GuardRules:
    """What may be reached. `domain_suffixes` empty = every public host; "go.jp" allows go.jp and all below it.

    `allow_loopback` opens 127.0.0.0/8, ::1, `localhost` and `*.localhost` (on the allowed ports) for corpora that the
    user serves; no other name may lead there even then.
    """

    allow_ports: tuple[int, ...] = (80, 443)
    allow_loopback: bool = False
    domain_suffixes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GuardedUrl:
    """A URL that passed every check that needs no network: normalised, without fragment, host in ASCII."""

    url: str
    scheme: str
    host: str
    port: int
    address: Address | None = None
    """Set where the host is an address literal."""


async def system_resolver(host: str) -> list[str]:
    """All addresses of `host` as the operating system knows them. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class Guard:
    """Checks URLs and names against the rules. Every refusal is a ToolFailure, `blocked` where an address is the reason,
    `refused` where a rule is, `bad_arguments` where the URL is none.
    """

    def __init__(self, rules: GuardRules, resolver: Resolver = system_resolver) -> None:
        self.rules = rules
        self._resolver = resolver

    def check_url(self, url: str) -> GuardedUrl:
        """`url` as it may be requested. Pure: no network, the same answer every time."""
        parsed = _parse(url)
        host = _host(parsed)
        port = parsed.port if parsed.port is not None else (443 if parsed.scheme == "https" else 80)
        if port not in self.rules.allow_ports:
            raise ToolFailure("refused", f"port {port} is not allowed")
        address = _literal(host)
        if address is not None:
            self._check_address(address, host, loopback_name=True)
        elif _is_localhost(host) and not self.rules.allow_loopback:
            raise ToolFailure("blocked", f"{host} is this machine, not a public address")
        self._check_suffix(host)
        normal = str(parsed.copy_with(host=host, fragment=None))
        return GuardedUrl(normal, parsed.scheme, host, port, address)

    async def resolve(self, host: str) -> list[Address]:
        """The addresses of `host`, all of them public, asked for once. Raises ToolFailure, also where there are none."""
        address = _literal(host)
        if address is not None:
            self._check_address(address, host, loopback_name=True)
            return [address]
        try:
            texts = await self._resolver(host)
        except (OSError, UnicodeError) as error:
            raise ToolFailure("network_error", f"no address is known for the host {host}") from error
        addresses = [ipaddress.ip_address(text) for text in texts]
        if not addresses:
            raise ToolFailure("network_error", f"no address is known for the host {host}")
        for address in addresses:
            self._check_address(address, host, loopback_name=_is_localhost(host))
        return addresses

    def _check_address(self, address: Address, host: str, *, loopback_name: bool) -> None:
        if address.is_loopback and loopback_name and self.rules.allow_loopback:
            return
        if not is_public(address):
            shown = host if str(address) == host else f"{host} ({address})"
            raise ToolFailure("blocked", f"{shown} is not a public address")

    def _check_suffix(self, host: str) -> None:
        suffixes = [_in_ascii(suffix.lower().strip(".")) for suffix in self.rules.domain_suffixes]
        if suffixes and not any(host == suffix or host.endswith(f".{suffix}") for suffix in suffixes):
            raise ToolFailure("refused", f"{host} is outside the hosts that this benchmark allows")


class PinnedTransport(httpx2.AsyncBaseTransport):
    """Sends a request to the checked address of its host; the Host header and the TLS name stay the name.

    No connection is kept: one made under a certificate for one name must not carry requests for another name at the
    same address. A refusal is an httpx2.ConnectError whose text begins with the failure kind and a colon: a tape keeps
    class and text of an error, so a replay says the same. Proxies of the environment are off.
    """

    def __init__(self, guard: Guard, *, connections: int = 64, ssl_context: ssl.SSLContext | None = None) -> None:
        self._guard = guard
        self._inner = httpx2.AsyncHTTPTransport(
            verify=ssl_context or True,
            trust_env=False,
            limits=httpx2.Limits(max_connections=connections, max_keepalive_connections=0),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response as it streams in, raw."""
        try:
            guarded = self._guard.check_url(str(request.url))
            addresses = await self._guard.resolve(guarded.host)
        except ToolFailure as failure:
            raise httpx2.ConnectError(f"{failure.kind}: {failure.message}") from failure
        failed: httpx2.TransportError | None = None
        for address in _families_in_turn(addresses)[:MAX_TRIED_ADDRESSES]:
            try:
                return await self._inner.handle_async_request(_pinned(request, guarded, address))
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failed = _explained(error, guarded.host)
        raise failed or httpx2.ConnectError(f"network_error: no connection to {guarded.host}")

    async def aclose(self) -> None:
        """Close what is still open."""
        await self._inner.aclose()


_REFUSED_NETWORKS = tuple(
    ipaddress.ip_network(text)
    for text in (
        # What Python's own table lets pass or judges differently from version to version: multicast, reserved, relay
        # and transition addresses that embed another address, documentation and segment routing.
        "192.0.0.0/24", "192.88.99.0/24", "224.0.0.0/4", "240.0.0.0/4", "::/8", "2001::/23", "2002::/16", "3fff::/20",
        "5f00::/16", "64:ff9b:1::/48", "fec0::/10", "ff00::/8",
    )
)  # fmt: skip
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def is_public(address: Address) -> bool:
    """True for an address of the public internet. Mapped and NAT64 addresses are judged by the one they embed."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id is not None:
            return False
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if address in _NAT64:
            return is_public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    refused = any(address in network for network in _REFUSED_NETWORKS if network.version == address.version)
    return address.is_global and not refused


_HEAD = re.compile(r"([^/／?？#＃]*[/／]{2}[^/／?？#＃]*)(.*)", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*")
_NUMERIC_END = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")


def _parse(url: str) -> httpx2.URL:
    text = url.strip()
    if len(text) > MAX_URL_CHARS:
        raise ToolFailure("bad_arguments", f"the URL is longer than {MAX_URL_CHARS} characters")
    if _CONTROL.search(text) or "\\" in text:
        raise ToolFailure("bad_arguments", "the URL holds control characters or a backslash")
    match = _HEAD.fullmatch(text)
    if match is not None:
        # A model that writes full-width text writes full-width URLs too; a path may hold such characters by right,
        # so it is folded only where the scheme was written that way.
        rest = match[2] if match[1][:1].isascii() else match[2].translate(_FULL_WIDTH)
        text = unicodedata.normalize("NFKC", match[1]) + rest
    try:
        parsed = httpx2.URL(text)
        str(parsed.host)  # whoever asks for it later gets the error that a broken xn-- name is
    except (httpx2.InvalidURL, UnicodeError) as error:
        raise ToolFailure("bad_arguments", "this is not a valid URL") from error
    if parsed.scheme not in ("http", "https"):
        what = f"the scheme {parsed.scheme}:" if parsed.scheme else "a URL without scheme"
        raise ToolFailure("refused", f"{what} is not allowed; only http:// and https:// pages can be opened")
    if parsed.userinfo:
        raise ToolFailure("refused", "a URL with a user name or password is not allowed")
    return parsed


def _host(parsed: httpx2.URL) -> str:
    host = parsed.raw_host.decode("ascii").removesuffix(".").lower()
    if ":" in host:
        return host
    if not _NAME.fullmatch(host):
        raise ToolFailure("bad_arguments", "the URL has no valid host name")
    if _NUMERIC_END.fullmatch(host) and _literal(host) is None:
        # 127.1, 0x7f000001, 2130706433, 017700000001: libraries read these as addresses, each in its own way.
        raise ToolFailure("blocked", f"{host} is an address in an unusual notation")
    return host


def _in_ascii(suffix: str) -> str:
    """The suffix as hosts are compared: 例え.jp is xn--r8jz45g.jp."""
    try:
        return httpx2.URL(f"http://{suffix}/").raw_host.decode("ascii")
    except (httpx2.InvalidURL, UnicodeError):
        return suffix


def _literal(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        if ":" in host:
            raise ToolFailure("blocked", f"{host} is not a public address") from None
        return None


def _is_localhost(host: str) -> bool:
    return host == "localhost" or host.endswith(".localhost")


def _families_in_turn(addresses: list[Address]) -> list[Address]:
    """The same addresses, IPv4 and IPv6 alternating: a machine without IPv6 must reach the IPv4 one among the first."""
    v4, v6 = ([address for address in addresses if address.version == version] for version in (4, 6))
    return [address for pair in zip_longest(v4, v6) for address in pair if address is not None]


def _pinned(request: httpx2.Request, guarded: GuardedUrl, address: Address) -> httpx2.Request:
    extensions = dict(request.extensions)
    if guarded.address is None:
        extensions["sni_hostname"] = guarded.host
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=str(address)),
        headers=request.headers,
        stream=request.stream,
        extensions=extensions,
    )


def _explained(error: httpx2.TransportError, host: str) -> httpx2.TransportError:
    if isinstance(error, httpx2.ConnectTimeout):
        return httpx2.ConnectTimeout(f"timeout: no connection to {host} within the time allowed")
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return httpx2.ConnectError(
                f"network_error: the certificate of {host} cannot be trusted ({cause.verify_message})"
            )
        if isinstance(cause, ssl.SSLError):
            return httpx2.ConnectError(f"network_error: {host} does not speak TLS as it should")
        cause = cause.__cause__ or cause.__context__
    return httpx2.ConnectError(f"network_error: {host} refuses the connection")
