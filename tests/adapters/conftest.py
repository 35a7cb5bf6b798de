"""Servers and clients for the tests of the way out."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator

import pytest

from tests.hostile.server import HostileServer, certificate

NAME = "files.example.test"


@pytest.fixture(scope="session")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, str]:
    """A server context for some names, and the authority that vouches for it."""
    return certificate(tmp_path_factory.mktemp("tls"), NAME, "other.example.test", "127.0.0.1", "8.8.8.8")


@pytest.fixture
def new_server() -> Iterator[Callable[..., HostileServer]]:
    """Starts servers; they are gone after the test."""
    started: list[HostileServer] = []

    def start(**options: object) -> HostileServer:
        started.append(HostileServer(**options))  # type: ignore[arg-type]
        return started[-1]

    yield start
    for server in started:
        server.close()


@pytest.fixture
def server(new_server: Callable[..., HostileServer]) -> HostileServer:
    return new_server()
