"""The suite's rules: no socket leaves this machine, and servers of tests/servers can be imported."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# No deadline: the machine is shared. In CI the same examples every time, so that a change fails by its own fault only;
# elsewhere new ones, and `--hypothesis-profile stress` looks long and hard.
settings.register_profile("new", deadline=None)
settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("stress", deadline=None, max_examples=3_000)
settings.load_profile("same" if os.environ.get("CI") else "new")

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
