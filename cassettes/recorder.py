"""The writing side of one session's tape.

Knows: how an exchange is appended, and when a stream is finished. Must not know: modes.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

import httpx2

from cassettes.exchange import Channel, TapeRequest, TapeResponse
from cassettes.failures import given_up, said
from cassettes.interaction import Writer
from cassettes.journal import JournalWriter, Key, encode_interaction
from cassettes.keys import Identity
from cassettes.playlist import Playlist

_DONE: Final = re.compile(rb"(?:^|\n)data: ?\[DONE\]")
_DONE_BYTES: Final = 16
_PASSING: Final = (408, 425, 429)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request with what names it on the tape."""

    request: TapeRequest
    identity: Identity
    round: int

    @property
    def channel(self) -> Channel:
        """The request's channel."""
        return self.request.channel


def is_failure(channel: Channel, response: TapeResponse) -> bool:
    """True for an answer that ends no call: broken off, an exception, "later", a fault of the server.

    A refusal or a redirect by model, judge or search is one too: a wrong key, address or name of a model stops a run and
    is then mended. A page that is not there, or elsewhere, is an answer.
    """
    if response.broken is not None or response.status in _PASSING or response.status >= 500:
        return True
    return channel != "page" and response.status >= 300


@dataclass(slots=True)
class Recorder:
    """Appends exchanges to a journal; `playlist` numbers identical ones. `n_appended` counts by channel."""

    writer: JournalWriter
    encode: Writer
    playlist: Playlist
    n_appended: dict[Channel, int]

    @contextmanager
    def number(self, asked: Asked) -> Generator[int]:
        """The number of a request among those of its identity; taken back if its answer is not recorded."""
        n = self.playlist.next_n(asked.channel, asked.identity.id)
        before = self.n_appended[asked.channel]
        try:
            yield n
        except BaseException:
            if self.n_appended[asked.channel] == before:
                self.playlist.give_back(asked.channel, asked.identity.id, n)
            raise

    def append(self, asked: Asked, n: int, response: TapeResponse) -> None:
        """Blobs first, then the lines that name them. Raises TapeSecret, TapeDiskError, TapeBusy."""
        request = self.encode.request(asked.request)
        answer = self.encode.response(response, asked.request)
        failed = is_failure(asked.channel, response)
        identity = asked.identity
        key = Key(asked.channel, identity.id, identity.messages, n, asked.round, asked.request.place, failed)
        remark = f"r{asked.round:02} {asked.channel} {response.status} {len(response.body)} bytes"
        self.writer.append(encode_interaction(request, key, answer, remark))
        self.n_appended[asked.channel] += 1

    async def tee(
        self, asked: Asked, n: int, response: TapeResponse, stream: AsyncGenerator[bytes]
    ) -> AsyncGenerator[bytes]:
        """The stream as it comes. The tape gets the whole at its end, or at `[DONE]`, after which nobody may read on;
        a stream that breaks, or that the caller leaves before its end, is marked as broken.
        """
        body = bytearray()
        recorded = False
        try:
            async for chunk in stream:
                seen = max(len(body) - _DONE_BYTES, 0)
                body += chunk
                if not recorded and _DONE.search(body, seen):
                    recorded = True
                    self.append(asked, n, replace(response, body=bytes(body), stream=None))
                yield chunk
        except httpx2.RequestError as error:
            if not recorded:
                self._append_broken(asked, n, response, body, said(error))
            raise
        except asyncio.CancelledError:
            if not recorded:
                self._append_broken(asked, n, response, body, said(given_up()))
            raise
        except GeneratorExit:
            if not recorded:
                self._append_broken(asked, n, response, body, "StreamLeft: the caller read no further")
            raise
        if not recorded:
            self.append(asked, n, replace(response, body=bytes(body), stream=None))

    def _append_broken(self, asked: Asked, n: int, response: TapeResponse, body: bytearray, reason: str) -> None:
        self.append(asked, n, replace(response, body=bytes(body), stream=None, broken=reason))
