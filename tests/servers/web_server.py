"""A web server on loopback that misbehaves on demand: what the bad inputs of the page tool are made of.

async with WebServer({"/a": Page(b"...")}) as server:
    server.url("/a"); server.url("/a", host="b.localhost"); server.seen
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from servers.threaded import threaded

_GONE = (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError, ssl.SSLError)

CERTIFICATE = Path(__file__).with_name("localhost_certificate.pem")
KEY = Path(__file__).with_name("localhost_key.pem")


@dataclass(frozen=True)
class Page:
    """One answer. `length` overrides the announced Content-Length ("" = none: the body ends with the connection)."""

    body: bytes = b""
    status: int = 200
    headers: tuple[str, ...] = ("Content-Type: text/html; charset=utf-8",)
    length: str | None = None
    chunked: bool = False
    drip_s: float = 0.0
    """Seconds between single bytes of the body."""
    silent_s: float = 0.0
    """Seconds before the first byte of the answer."""
    endless: bool = False
    """Repeat the body until the reader goes away."""
    reset: bool = False
    """Close the connection in the middle of the body, hard."""
    raw: bytes | None = None
    """Sent instead of everything else."""


@dataclass(frozen=True)
class Seen:
    """One request as it came over the wire."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class WebServer:
    pages: Mapping[str, Page]
    tls: bool = False
    seen: list[Seen] = field(default_factory=list[Seen])
    server_names: list[str | None] = field(default_factory=list[str | None])
    n_connections: int = 0
    n_sent_bytes: int = 0
    _tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    async def __aenter__(self) -> WebServer:
        context = None
        if self.tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(CERTIFICATE, KEY)
            context.sni_callback = lambda _socket, name, _context: self.server_names.append(name)
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=context)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def url(self, target: str, host: str = "a.localhost") -> str:
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}{target}"

    def targets(self) -> list[str]:
        return [request.target for request in self.seen]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.n_connections += 1
        try:
            while await self._answer(reader, writer):
                pass
        except _GONE:
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.seen.append(Seen(method, target, headers, body))
        page = self.pages.get(target) or Page(b"nothing here", 404)
        if page.silent_s:
            await asyncio.sleep(page.silent_s)
        if page.raw is not None:
            writer.write(page.raw)
            await writer.drain()
            return False
        writer.write(_head(page))
        await self._send_body(page, writer)
        return page.length is None and not page.endless and not page.reset

    async def _send_body(self, page: Page, writer: asyncio.StreamWriter) -> None:
        if page.reset:
            writer.write(page.body)
            await writer.drain()
            await asyncio.sleep(0.05)
            # Lingering for no time makes the kernel send a reset instead of a polite end.
            raw: socket.socket = writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
            return
        pieces = [page.body[i : i + 1] for i in range(len(page.body))] if page.drip_s else [page.body]
        while True:
            for piece in pieces:
                writer.write(b"%x\r\n%s\r\n" % (len(piece), piece) if page.chunked else piece)
                self.n_sent_bytes += len(piece)
                await writer.drain()
                if page.drip_s:
                    await asyncio.sleep(page.drip_s)
            if not page.endless:
                break
        if page.chunked:
            writer.write(b"0\r\n\r\n")
        await writer.drain()


@contextlib.contextmanager
def serving_pages(pages: Mapping[str, Page]) -> Generator[WebServer]:
    """The same server in a thread of its own, for commands that bring their own event loop."""
    with threaded(WebServer(pages)) as server:
        yield server


def _head(page: Page) -> bytes:
    lines = [f"HTTP/1.1 {page.status} X", *page.headers]
    if page.chunked:
        lines.append("Transfer-Encoding: chunked")
    elif page.length is None and not page.endless:
        lines.append(f"Content-Length: {len(page.body) + (10 if page.reset else 0)}")
    elif page.length:
        lines.append(f"Content-Length: {page.length}")
    return "\r\n".join([*lines, "", ""]).encode("utf-8")
