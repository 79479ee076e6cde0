# /// script
# requires-python = ">=3.11"
# dependencies = ["brave-search==0.1.8", "httpx2>=2.16"]
# ///
"""The real `brave-search` client beside our two Brave engines: same server, same reading.

Run by `uv run --script tests/brave_sdk.py`, in an environment of its own: the package's pins conflict with those of
the project's tests, so the project is found by path. The package's own clients (sync and async) and ours ask the same
loopback server, and what they read is compared; recorded replies too, where they are at hand. Exit code 1 at the first
difference.
"""

from __future__ import annotations

import asyncio
import html
import json
import logging
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tests" / "servers"))

import httpx2  # noqa: E402
from brave import AsyncBrave, Brave  # noqa: E402
from brave.types import WebSearchApiResponse  # noqa: E402
from brave_server import BraveServer, Canned, Entry, Seen, refusal, serving  # noqa: E402
from pydantic import ValidationError  # noqa: E402

from tools.engines.brave import BraveEngine, BraveSettings, Unpaced  # noqa: E402
from tools.engines.brave_sdk import BraveSdkEngine  # noqa: E402
from tools.search import Hit  # noqa: E402
from tools.tool import SetupError, ToolFailure  # noqa: E402

SAMPLES = ROOT / ".." / "shared" / "data" / "brave_samples"
INDEX = tuple(
    Entry(
        f"https://www.example.jp/kosodate/{number:02}.html",
        f"東京都の子育て支援 <{number}> & 一覧",
        f'上限は１，２３４万円です。 ... "窓口" で受付 · その{number}',
        (f"令和６年度の対象者 {number}", "郵送も可。 · 電話も可。") if number % 2 else (),
        age="2 days ago",
        page_age="2024-12-10T12:31:05" if number % 3 else None,
    )
    for number in range(1, 31)
)


def main() -> int:
    logging.disable(logging.WARNING)
    with serving(BraveServer(index=INDEX)) as server:
        check_searches(server)
        check_refusals(server)
        check_samples(server)
    return 0


def check_searches(server: BraveServer) -> None:
    """Every client reads the same pages from the same server, and both engines send the same request."""
    for page in (1, 2, 3):
        for query in ("東京都 子育て", "対象者　令和６年度"):
            ours, through_sdk = asyncio.run(engines_search(server, query, page))
            same(ours, through_sdk, "hits of brave and brave-sdk")
            same(*(sent(seen) for seen in server.seen[-2:]), "requests of brave and brave-sdk")
            same(packages_reading(server, query, page), ours_as_text(ours), "the package's reading and ours")
    ours, through_sdk = asyncio.run(engines_search(server, "ＸＹＺ", 1))
    same([ours, through_sdk], [[], []], "hits without `web`")
    print("searches: the package's sync and async clients, brave-sdk and brave read the same")


def check_refusals(server: BraveServer) -> None:
    """Where the package's sync client has an AttributeError for every refusal, our engines say what it is."""
    expected: list[tuple[Canned, type[Exception]]] = [
        (refusal(401, "", "", {}), SetupError),
        (refusal(422, "SUBSCRIPTION_TOKEN_INVALID", "", {}), SetupError),
        (refusal(422, "VALIDATION", "", {"errors": [{"loc": ["query", "q"]}]}), ToolFailure),
        (refusal(429, "RATE_LIMITED", "", {"quota_limit": 1, "quota_current": 1}), SetupError),
        (Canned(503, b""), ToolFailure),
    ]
    for reply, error in expected:
        server.script = [reply]
        same(raised(lambda: package(Brave, server).search(q="子育て")), AttributeError, "the package's error")
        for engine in (BraveEngine, BraveSdkEngine):
            server.script = [reply]
            same(raised(lambda engine=engine: asyncio.run(one_search(server, engine))), error, f"{engine.name}'s error")
    server.script = []
    print("refusals: brave and brave-sdk name them alike; the package's sync client has an AttributeError for each")


def check_samples(server: BraveServer) -> None:
    """Recorded replies: our two engines agree on all, the package's models on those that they do not refuse."""
    samples = sorted(path for path in SAMPLES.glob("*.json") if b'"web"' in path.read_bytes())
    if not samples:
        print(f"samples: skipped, none at {SAMPLES.resolve()}")
        return
    refused = 0
    for sample in samples:
        server.canned = {"見本": Canned(200, sample.read_bytes())}
        ours, through_sdk = asyncio.run(engines_search(server, "見本", 1, count=20))
        same(ours, through_sdk, f"hits of brave and brave-sdk in {sample.name}")
        same(len(ours), len(json.loads(sample.read_bytes())["web"]["results"]), f"number of hits in {sample.name}")
        try:
            theirs = as_text(asyncio.run(package(AsyncBrave, server).search(q="見本")))
        except ValidationError:
            refused += 1
            continue
        same(theirs, ours_as_text(ours), f"the package's reading of {sample.name} and ours")
    print(f"samples: {len(samples)} read alike by brave and brave-sdk; the package's models refuse {refused} of them")


async def engines_search(server: BraveServer, query: str, page: int, count: int = 10) -> tuple[list[Hit], list[Hit]]:
    settings = BraveSettings(base_url=server.base_url)
    async with httpx2.AsyncClient(trust_env=False) as client:
        ours = await BraveEngine(client, settings, server.key, Unpaced()).search(query, count, page)
        return ours, await BraveSdkEngine(client, settings, server.key, Unpaced()).search(query, count, page)


async def one_search(server: BraveServer, engine: type[BraveEngine] | type[BraveSdkEngine]) -> list[Hit]:
    settings = BraveSettings(base_url=server.base_url, max_attempts=1)
    async with httpx2.AsyncClient(trust_env=False) as client:
        return await engine(client, settings, server.key, Unpaced()).search("子育て", 10, 1)


def package(kind: type[Brave] | type[AsyncBrave], server: BraveServer):
    """The package's own client as it is, but for the address."""
    client = kind(api_key=server.key)
    client.base_url = f"{server.base_url}/res/v1/"
    return client


def packages_reading(server: BraveServer, query: str, page: int) -> list[tuple[str, str, str, str | None]]:
    """What the package's two clients read, which must be one reading."""
    asked = {"q": query, "count": 10, "offset": page - 1, **BraveSettings().sent()}
    asked |= {name: asked[name] == "true" for name in ("text_decorations", "spellcheck", "extra_snippets")}
    read = as_text(package(Brave, server).search(**asked))
    same(
        read, as_text(asyncio.run(package(AsyncBrave, server).search(**asked))), "the package's sync and async clients"
    )
    return read


def as_text(reply: WebSearchApiResponse) -> list[tuple[str, str, str, str | None]]:
    """URL, title, all snippet text and age of each result of the package's reading."""
    results = reply.web.results if reply.web else []
    return [
        (
            str(result.url),
            result.title,
            bare([html.unescape(re.sub("</?strong>", "", result.description)), *(result.extra_snippets or [])]),
            result.page_age or result.age,
        )
        for result in results
    ]


def ours_as_text(hits: list[Hit]) -> list[tuple[str, str, str, str | None]]:
    """The same of our reading; the package's URL type writes the slash of an empty path."""
    return [(slashed(hit.url), hit.title, bare(list(hit.snippets)), hit.age) for hit in hits]


def bare(snippets: list[str]) -> str:
    """Snippets without joints, spaces and repetitions, one a line."""
    pieces = (re.sub(r"\s+", "", piece) for text in snippets for piece in re.split(r"(?: ·| \.\.\.)(?= |$)", text))
    return "\n".join(dict.fromkeys(piece for piece in pieces if piece))


def slashed(url: str) -> str:
    return url + "/" if re.fullmatch(r"https?://[^/]+", url) else url


def sent(seen: Seen) -> tuple[dict[str, str], dict[str, str]]:
    return seen.params, seen.headers


def raised(act) -> type[Exception]:
    try:
        act()
    except (AttributeError, SetupError, ToolFailure) as error:
        return type(error)
    return Exception


def same(first: object, second: object, what: str) -> None:
    if first != second:
        sys.exit(f"{what} differ:\n  {first!r}\n  {second!r}")


if __name__ == "__main__":
    sys.exit(main())
