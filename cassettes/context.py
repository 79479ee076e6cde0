"""Which session and channel the current task speaks for.

Knows: the context variables that a caller sets around a call. Must not know: what is done with them.

Each tool call is a task of its own, so that what it sets cannot leak to its caller; work in threads goes by `to_thread`,
which takes the context along.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from cassettes.exchange import Channel as Channel
from cassettes.exchange import Outgoing
from cassettes.tape import SessionTape


@dataclass(frozen=True, slots=True)
class OnChannel:
    """The channel of the current call; `place` tells it from others under way at once ("r02.c1")."""

    channel: Channel
    place: str = ""


_session: ContextVar[SessionTape | None] = ContextVar("tape session", default=None)
_channel: ContextVar[OnChannel | None] = ContextVar("tape channel", default=None)
_outgoing: ContextVar[Outgoing | None] = ContextVar("tape outgoing", default=None)


@contextmanager
def taping(session: SessionTape) -> Generator[None]:
    """Everything asked inside belongs to `session`."""
    token = _session.set(session)
    try:
        yield
    finally:
        _session.reset(token)


@contextmanager
def on_channel(channel: Channel, place: str = "") -> Generator[None]:
    """Everything asked inside goes over `channel`, at `place`."""
    token = _channel.set(OnChannel(channel, place))
    try:
        yield
    finally:
        _channel.reset(token)


@contextmanager
def outgoing(head: bytes, messages: tuple[bytes, ...]) -> Generator[None]:
    """The chat request made inside has the body `head + b",".join(messages) + b"]}"`."""
    token = _outgoing.set(Outgoing(head, messages))
    try:
        yield
    finally:
        _outgoing.reset(token)


def current_session() -> SessionTape | None:
    """The session of the current task."""
    return _session.get()


def current_channel() -> OnChannel | None:
    """The channel of the current task."""
    return _channel.get()


def current_outgoing() -> Outgoing | None:
    """The parts of the chat request that the current task is making."""
    return _outgoing.get()


async def pause(delay_s: float) -> None:
    """Sleep before a retry, unless the answer that asks for it was played: a replay waits for nobody."""
    session, channel = _session.get(), _channel.get()
    if session is not None and channel is not None and session.played_last(channel.channel, channel.place):
        delay_s = 0.0
    await asyncio.sleep(delay_s)
