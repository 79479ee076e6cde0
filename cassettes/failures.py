"""Exceptions of httpx2 as a tape keeps them: a status that no server sends, and a header with class and text.

Knows: httpx2's tree of exceptions. Must not know: files, modes.
"""

from __future__ import annotations

from typing import Final

import httpx2

from cassettes.exchange import TapeResponse
from cassettes.interaction import EXCEPTION_HEADER, NO_RESPONSE

_CLASSES: Final[tuple[type[httpx2.RequestError], ...]] = (
    httpx2.CloseError,
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.DecodingError,
    httpx2.LocalProtocolError,
    httpx2.NetworkError,
    httpx2.PoolTimeout,
    httpx2.ProtocolError,
    httpx2.ProxyError,
    httpx2.ReadError,
    httpx2.ReadTimeout,
    httpx2.RemoteProtocolError,
    httpx2.RequestError,
    httpx2.TimeoutException,
    httpx2.TooManyRedirects,
    httpx2.TransportError,
    httpx2.UnsupportedProtocol,
    httpx2.WriteError,
    httpx2.WriteTimeout,
)


def said(error: httpx2.RequestError) -> str:
    """Class and text: all that a tape keeps of it."""
    return f"{type(error).__name__}: {error}"


def exception_response(error: httpx2.RequestError) -> TapeResponse:
    """What is written where there was no response."""
    header = (EXCEPTION_HEADER.encode(), said(error).encode("utf-8", "replace"))
    return TapeResponse(NO_RESPONSE, (header,))


def given_up() -> httpx2.RequestError:
    """What stands for an answer that the caller did not wait for."""
    return httpx2.ReadTimeout("the caller gave up waiting")


def said_by(response: TapeResponse) -> str | None:
    """Class and text of the exception that `response` stands for, None for a real response."""
    if response.status != NO_RESPONSE:
        return None
    return next((value.decode() for name, value in response.headers if name == EXCEPTION_HEADER.encode()), None)


def recorded_exception(response: TapeResponse) -> httpx2.RequestError | None:
    """The exception that `response` stands for, None for a real response."""
    text = said_by(response)
    return None if text is None else exception(text)


def exception(text: str) -> httpx2.RequestError:
    """The exception that `said` describes; one of an unknown class is a TransportError."""
    name, _, message = text.partition(": ")
    kind = next((known for known in _CLASSES if known.__name__ == name), httpx2.TransportError)
    return kind(message)
