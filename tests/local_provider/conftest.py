"""A running provider and a receiver of its webhooks, both on this machine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local.provider.server import SimulatedProvider
from tests.local_provider.kit import FAST, Client, Event, Receiver, Serve, door


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    def take(_path: str, headers: dict[str, str], raw: bytes) -> int:
        return taking.take(Event(time.time(), headers, raw))

    with door(take) as url:
        taking = Receiver(f"{url}/hook")
        yield taking


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start a provider; all started are stopped at the end."""
    started: list[SimulatedProvider] = []

    def start(state: Path | None = None, **given: Any) -> SimulatedProvider:
        server = SimulatedProvider(state=state, **({"settings": FAST} | given))
        server.start()
        started.append(server)
        return server

    yield start
    for server in started:
        server.stop()


@pytest.fixture
def client(serve: Serve, receiver: Receiver) -> Client:
    return Client(serve(), receiver)


@pytest.fixture
def nokey(client: Client, receiver: Receiver) -> Client:
    return Client(client.server, receiver, "sim-nokey")
