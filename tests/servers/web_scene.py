"""A short scene on loopback: pages on a misbehaving server, fetched through the whole way of tools.web."""

from __future__ import annotations

import asyncio
import hashlib
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tests.servers.web_server import CERTIFICATE, Page, WebServer
from tools.document import Document
from tools.download import PageTransport, Surroundings, WebRules
from tools.guard import GuardRules
from tools.web import WebPages

TEXT = "東京都の子育て支援制度は、令和6年に改正された。ｶﾀｶﾅ"
PAGE = Page(TEXT.encode())


async def plain_text(body: bytes, *, url: str, header_type: str) -> Document:
    """The smallest extractor there is: the body is the text."""
    sha256 = hashlib.sha256(body).hexdigest()
    return Document(url, url, body.decode()[:5], header_type, body.decode(), sha256, "plain 1")


async def loopback(host: str) -> Sequence[str]:
    if host.endswith(".localhost"):
        return ["127.0.0.1"]
    if host == "private.example.jp":
        return ["10.0.0.1"]
    raise OSError("no such name")


@dataclass(frozen=True)
class Scene:
    """What a test asks for, and what it saw."""

    documents: tuple[Document, ...]
    targets: tuple[str, ...]
    headers: tuple[Mapping[str, str], ...]
    port: int
    n_sent_bytes: int


RULES = WebRules(robots=False, host_interval_s=0, total_timeout_s=60, idle_timeout_s=60)


def get(
    pages: Mapping[str, Page], *targets: str, rules: WebRules = RULES, tls: bool = False, trust: bool = False
) -> Scene:
    """Fetch `targets` one after the other; a target without a scheme is a path on a.localhost."""

    async def scene() -> Scene:
        async with WebServer(pages, tls=tls) as server:
            rules_here = replace(rules, guard=GuardRules(allow_ports=(80, 443, server.port), allow_loopback=True))
            context = ssl.create_default_context(cafile=str(CERTIFICATE)) if trust else None
            transport = PageTransport(rules_here, Surroundings(resolver=loopback, ssl_context=context))
            async with WebPages(rules_here, plain_text, transport) as web:
                urls = [server.url(target) if target.startswith("/") else target for target in targets]
                documents = [await web.get(url.replace("PORT", str(server.port))) for url in urls]
            return Scene(
                tuple(documents),
                tuple(server.targets()),
                tuple(seen.headers for seen in server.seen),
                server.port,
                server.n_sent_bytes,
            )

    return asyncio.run(scene())
