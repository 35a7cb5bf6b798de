"""A running provider and a receiver of its webhooks, both on this machine."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from local.provider.server import SimulatedProvider
from tests.local_provider.kit import FAST, Client, Event, Receiver, Serve


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            named = {name.lower(): value for name, value in self.headers.items()}
            self.send_response(taking.take(Event(time.time(), named, raw)))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    taking = Receiver(f"http://127.0.0.1:{server.server_address[1]}/hook")
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield taking
    server.shutdown()
    server.server_close()


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
