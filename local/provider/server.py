"""The HTTP server of the simulated provider, and the composition of its parts."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from local.provider.answers import Answer, Request, document, error
from local.provider.dialect import Dialect, Surroundings
from local.provider.faults import FaultBook, FaultError
from local.provider.files import Files
from local.provider.jobs import Jobs
from local.provider.ledger import Ledger
from local.provider.life import Life
from local.provider.settings import Settings, Traits, load_credentials
from local.provider.timers import Timers
from local.vendors import DOUBLES

_MAX_BODY = 1_000_000


class SimulatedProvider:
    """All accounts in one process, the vendors' doubles too.

    `start` serves until `stop`; with a state directory a new one goes on.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        seed: int = 1,
        faults: str = "none",
        state: Path | None = None,
        idempotent: bool = True,
        settings: Settings | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        settings = settings or Settings()
        self.credentials = load_credentials(state)
        self.ledger = Ledger(now, None if state is None else state / "journal.jsonl")
        self.faults = FaultBook(seed, faults)
        self._now = now
        self._timers = Timers(now)
        self._http = _Server(("127.0.0.1", port), _Handler)
        self._http.answer = self.answer
        self.base_url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._files = Files(self.base_url, self.credentials.url_secret, self.ledger, now)
        around = Surroundings(
            base_url=self.base_url, settings=settings, credentials=self.credentials, ledger=self.ledger, now=now
        )
        self._dialects: dict[str, Dialect] = {
            "sim": Dialect("sim", around, Traits(idempotent, lookup=True)),
            "sim-nokey": Dialect("sim-nokey", around, Traits(idempotent=False, lookup=False)),
            **{name: double(name, around) for name, double in DOUBLES.items()},
        }
        self._life = Life(
            settings=settings,
            ledger=self.ledger,
            files=self._files,
            timers=self._timers,
            dialects=self._dialects,
            now=now,
        )
        self._jobs = {
            name: Jobs(
                dialect,
                settings=settings,
                ledger=self.ledger,
                faults=self.faults,
                life=self._life,
                now=now,
            )
            for name, dialect in self._dialects.items()
        }
        for name, until in self.ledger.blocks.items():
            self.faults.block(name, until)

    def start(self) -> None:
        self._timers.start()
        self._life.start()
        threading.Thread(target=self._http.serve_forever, args=(0.03,), daemon=True).start()

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._timers.stop()
        self._life.stop()
        self.ledger.close()

    def wake(self) -> None:
        """Look at the clock again: it has been moved."""
        self._timers.wake()

    def answer(self, request: Request) -> Answer:
        """The answer to any request."""
        name = request.path.strip("/").partition("/")[0]
        if name.startswith("_"):
            return self._control(request)
        if name == "files" and request.method in ("GET", "HEAD"):
            return self._files.serve(request)
        if name in self._jobs:
            rest = replace(request, path=request.path.removeprefix(f"/{name}"))
            return self._dialects[name].answer(self._jobs[name], rest)
        return error(404, "not_found", "There is no such page.")

    def _control(self, request: Request) -> Answer:
        match (request.method, request.path):
            case ("GET", "/_health"):
                return document(200, {"status": "ok"})
            case ("GET", "/_config"):
                return document(200, self.credentials.public())
            case ("GET", "/_ledger"):
                return document(200, self.ledger.snapshot(summary="summary" in request.query))
            case ("GET", "/_faults"):
                return document(200, self.faults.describe())
            case ("POST", "/_faults"):
                return self._configure(request.body)
            case ("POST", "/_reset"):
                self.ledger.reset()
                self.faults.reset()
                return document(200, {"status": "ok"})
        return error(404, "not_found", "There is no such page.")

    def _configure(self, body: bytes) -> Answer:
        """Set faults; a `block` beside them blocks an account at once for some seconds."""
        try:
            wanted: Any = json.loads(body)
            block = wanted.pop("block", None) if isinstance(wanted, dict) else None
            shown = self.faults.configure(wanted)
            if block is not None:
                self.faults.block(str(block["provider"]), self._now() + float(block["seconds"]))
        except (FaultError, ValueError, KeyError, TypeError, AttributeError) as problem:
            return error(422, "invalid_faults", str(problem))
        return document(200, shown)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    answer: Callable[[Request], Answer]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report nothing: a client that goes away in the middle is daily life here."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "simulated-provider"
    sys_version = ""
    # Idle kept connections end, and with them their threads.
    timeout = 60
    # One packet per answer: small writes on a kept connection would wait for the peer's delayed acknowledgement.
    disable_nagle_algorithm = True
    wbufsize = 65_536
    server: _Server

    def do_GET(self) -> None:
        self._serve()

    do_HEAD = do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815

    def log_message(self, *_args: Any) -> None:
        """Silent: the ledger is the record."""

    def _serve(self) -> None:
        body = self._read()
        if body is None:
            self.close_connection = True
            self._write(error(413, "too_large", "The body needs a length of at most a million bytes."))
            return
        place = urlsplit(self.path)
        request = Request(
            method=self.command,
            path=place.path,
            query=dict(parse_qsl(place.query, keep_blank_values=True)),
            headers={name.lower(): value for name, value in self.headers.items()},
            body=body,
        )
        self._write(self.server.answer(request))

    def _read(self) -> bytes | None:
        """The body, or None where its length is missing, odd or too much."""
        length = self.headers.get("Content-Length", "0")
        if not length.isdecimal() or int(length) > _MAX_BODY or "Transfer-Encoding" in self.headers:
            return None
        return self.rfile.read(int(length))

    def _write(self, answer: Answer) -> None:
        if answer.cut:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        declared = len(answer.body) if answer.declared is None else answer.declared
        self.send_header("Content-Length", str(declared))
        if answer.declared is not None:
            self.close_connection = True
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)
