"""Fetches links through the guarded web and the tape, keeps bodies and text, and makes a corpus of them.

Knows: what a folder of fetched documents holds. Must not know: questions, benchmarks, flags.

DIR/tape          every exchange; also the checkpoint: a second start plays what is there and asks only for the rest
DIR/text          extracted text
DIR/documents     bodies as received, named by their sha256
DIR/links.jsonl   the ledger (sandbox/fetching/links.py): links of this start first, those of earlier ones behind
DIR/manifest.jsonl, DIR/corpus.sqlite   what `pincite corpus build` reads and makes

Each link has a session of its own on the tape, so that two links which lead to one page keep an answer each, in
whatever order a later start asks. An answer that may be better next time (no connection, 429, 5xx) is asked for again
by the next start; 404 is an answer.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import mimetypes
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import httpx2

from cassettes.context import on_channel, taping
from cassettes.modes import Modes
from cassettes.tape import TapeSet
from cassettes.transport import TapeTransport
from sandbox.fetching.links import Failure, Link, LinkRow, add_link, read_links, write_links, write_whole
from sandbox.folder.text_store import TEXT, TextStore
from sandbox.settings import FetchSettings
from sandbox.sources import page_rules
from sandbox.tasks import all_of
from tools.corpus import FILE, CorpusSummary, build
from tools.document import Document
from tools.download import PageTransport
from tools.english import in_english
from tools.extract import extract, rules, sniff
from tools.manifest import MANIFEST
from tools.tool import ToolFailure
from tools.web import Extract, WebPages, WebRules
from tools.workers import ExtractionPool

TAPE, DOCUMENTS = "tape", "documents"


@dataclass(frozen=True, slots=True)
class FetchPlan:
    """How links are fetched: by `settings`, `concurrency` at once.

    `watch` is called after each link (how many are done, of how many, its URL); `now` is the time for the ledger.
    """

    settings: FetchSettings
    concurrency: int
    watch: Callable[[int, int, str], None]
    now: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Fetched:
    """A row a link, in the order of the links, and how many of them were asked of a server in this start."""

    rows: tuple[LinkRow, ...]
    n_asked: int


async def fetch(links: Sequence[Link], out: Path, plan: FetchPlan) -> Fetched:
    """Fetch each link once into `out`, or go on with what is there. A link that fails is a row, never an error.

    Raises SetupError and TapeError where the disk or the tape cannot take what comes. Interrupted, it loses nothing.
    """
    known = read_links(out)
    rows: dict[str, LinkRow] = {}
    n_asked = 0
    web_rules = page_rules(plan.settings)
    async with _transport(web_rules) as live, ExtractionPool() as pool:
        texts = TextStore(out / TEXT, pool.extract, rules, renews=True)
        transport = TapeTransport(live)
        with TapeSet(out / TAPE, Modes.resume()) as tapes:

            async def one(link: Link) -> None:
                nonlocal n_asked
                arrival = _Arrival(texts, out)
                with tapes.session(link.url) as tape, taping(tape), on_channel("page", "r01"):
                    row = await _row(link, WebPages(web_rules, arrival, transport), arrival, plan.now())
                    asked = tape.report().channels["page"].live > 0
                before = known.get(link.url)
                if before is not None and not asked:
                    row = row.model_copy(update={"checked_at": before.checked_at})
                n_asked += asked
                rows[link.url] = row
                add_link(out, row)
                plan.watch(len(rows), len(links), link.url)

            out.mkdir(parents=True, exist_ok=True)
            await _side_by_side(links, one, plan.concurrency)
    ordered = tuple(rows[link.url] for link in links)
    # The tape keeps what other starts fetched, and so does the ledger: it alone knows when that was asked for.
    write_links(out, (*ordered, *(row for url, row in known.items() if url not in rows)))
    return Fetched(ordered, n_asked)


async def check(links: Sequence[Link], plan: FetchPlan) -> Fetched:
    """What each link is now: the same GET as `fetch`, but nothing is kept and no text is made of it."""
    rows: dict[str, LinkRow] = {}
    web_rules = page_rules(plan.settings)
    async with _transport(web_rules) as live:

        async def one(link: Link) -> None:
            arrival = _Arrival(_unread, None)
            rows[link.url] = await _row(link, WebPages(web_rules, arrival, live), arrival, plan.now())
            plan.watch(len(rows), len(links), link.url)

        await _side_by_side(links, one, plan.concurrency)
    return Fetched(tuple(rows[link.url] for link in links), len(links))


def build_corpus(rows: Sequence[LinkRow], out: Path) -> CorpusSummary | None:
    """The manifest and the corpus of what is alive, in place of those that are there; None where nothing is.

    Text is that which `fetch` made; a page is found by the link and by where its redirects led.
    """
    alive = [row for row in rows if row.status == "alive"]
    write_whole(out / MANIFEST, b"".join(_manifest_line(row) for row in alive))
    if not alive:
        (out / FILE).unlink(missing_ok=True)
        return None
    by_url = {row.url: row for row in alive}
    texts = TextStore(out / TEXT, _unread, rules)

    def made(body: bytes, *, url: str, header_type: str | None) -> Document:
        row = by_url[url]
        final_url = row.final_url or url
        document = texts.stored(body, url=final_url, header_type=row.header_type or "")
        if document is None:
            document = extract(body, url=final_url, header_type=header_type)
        return replace(document, url=url, final_url=final_url)

    return build(out / MANIFEST, out, extract=made)


def file_ending(media_type: str) -> str:
    """`.html`, `.pdf`, …; `.bin` for what has no usual ending."""
    return _ENDINGS.get(media_type) or mimetypes.guess_extension(media_type) or ".bin"


_ENDINGS = {
    "text/html": ".html", "text/plain": ".txt", "text/csv": ".csv", "text/markdown": ".md",
    "application/pdf": ".pdf", "application/json": ".json", "application/xml": ".xml",
}  # fmt: skip


@dataclass(slots=True)
class _Arrival:
    """Keeps what comes for one link on its way to the extractor. `folder` None = nothing is kept."""

    extract: Extract
    folder: Path | None
    url: str = ""
    sha256: str = ""
    n_bytes: int = 0
    media_type: str = ""
    header_type: str = ""
    n_pages: int | None = None

    @property
    def file(self) -> str:
        """Where the body lies, below the folder."""
        return f"{DOCUMENTS}/{self.sha256}{file_ending(self.media_type)}"

    async def __call__(self, body: bytes, *, url: str, header_type: str) -> Document:
        """The document, as `extract` reads it; the body is in the folder before that."""
        self.url, self.header_type, self.n_bytes = url, header_type, len(body)
        self.sha256, self.media_type = hashlib.sha256(body).hexdigest(), sniff(body, header_type)
        if self.folder is not None and not (self.folder / self.file).exists():
            write_whole(self.folder / self.file, body)
        document = await self.extract(body, url=url, header_type=header_type)
        self.n_pages = len(document.page_starts)
        return document


async def _row(link: Link, pages: WebPages, arrival: _Arrival, now: str) -> LinkRow:
    failure: Failure | None = None
    try:
        document = await pages.get(link.url)
        if arrival.folder is not None and not document.text.strip():
            failure = Failure(kind="empty", message="there is no text in it")
    except ToolFailure as error:
        failure = Failure(kind=error.kind, message=" ".join(in_english(error.message).split()))
    row = LinkRow(url=link.url, status="dead", failure=failure, checked_at=now, questions=link.questions)
    if not arrival.sha256:
        return row
    return row.model_copy(
        update={
            "status": "unreadable" if failure else "alive",
            "final_url": arrival.url,
            "sha256": arrival.sha256,
            "n_bytes": arrival.n_bytes,
            "media_type": arrival.media_type,
            "header_type": arrival.header_type,
            "physical_pages": arrival.n_pages,
            "file": arrival.file if arrival.folder is not None else None,
        }
    )


async def _unread(body: bytes, *, url: str, header_type: str) -> Document:
    """A document of which nothing is read: that it came is all there is to know."""
    return Document(url, url, "", header_type, "", hashlib.sha256(body).hexdigest(), "unread")


async def _side_by_side(links: Sequence[Link], one: Callable[[Link], Awaitable[None]], n_workers: int) -> None:
    queue: Iterator[Link] = iter(links)

    async def worker() -> None:
        for link in queue:
            await one(link)

    await all_of([worker() for _ in range(min(n_workers, len(links)))])


class _OneByOne(httpx2.AsyncBaseTransport):
    """Requests for one URL one after the other: the second finds in memory what the first brought (redirects often lead
    to a page that is a link of its own).
    """

    def __init__(self, live: PageTransport) -> None:
        self._live = live
        self._locks: dict[str, asyncio.Lock] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response of the live transport."""
        async with self._locks.setdefault(str(request.url), asyncio.Lock()):
            return await self._live.handle_async_request(request)

    async def aclose(self) -> None:
        """Close the live transport."""
        await self._live.aclose()


@asynccontextmanager
async def _transport(web_rules: WebRules) -> AsyncGenerator[httpx2.AsyncBaseTransport]:
    transport = _OneByOne(PageTransport(web_rules))
    try:
        yield transport
    finally:
        await transport.aclose()


def _manifest_line(row: LinkRow) -> bytes:
    """With the Content-Type as sent, so that `pincite corpus build` reads the bytes as they were read here."""
    line = {
        "doc_id": row.url,
        "url": row.url,
        "path": row.file,
        "media_type": row.header_type or row.media_type,
        "sha256": row.sha256,
    }
    return json.dumps(line, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
