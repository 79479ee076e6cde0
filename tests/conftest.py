"""The suite's rules: no socket leaves this machine, and servers of tests/servers can be imported."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

_CONNECT, _RESOLVE = socket.socket.connect, socket.getaddrinfo
LOOPBACK = ("127.", "::1", "localhost")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--real-model", action="store", default=None, metavar="GGUF", help="run the real-model test on it")
    parser.addoption("--kills", action="store", default="8", metavar="N", help="how often the crash test kills its run")
    parser.addoption("--kill-seed", action="store", default=None, metavar="SEED", help="the crash test's moments")


@pytest.fixture(autouse=True)
def _loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that reaches for the network fails, whatever library it goes through."""

    def connect(self: socket.socket, address: object) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and isinstance(address, tuple):
            _refuse(str(address[0]))
        _CONNECT(self, address)  # type: ignore[arg-type]

    def resolve(host: object, *rest: object, **more: object) -> object:
        if isinstance(host, (str, bytes)):
            _refuse(host if isinstance(host, str) else host.decode())
        return _RESOLVE(host, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket, "getaddrinfo", resolve)


def _refuse(host: str) -> None:
    if not host.startswith(LOOPBACK):
        raise AssertionError(f"a test reached for the network: {host}")
