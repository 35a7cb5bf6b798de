"""Stands between the functions and the emulator, passes everything on, and counts what goes by.

Counted on the wire, because then everything counts: resent requests, and what Powertools does of its own accord.
DynamoDB is made to say what each request consumed.
"""

from __future__ import annotations

import http.client
import json
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

_SERVICE = re.compile(r"Credential=[^/]+/\d+/[^/]+/([^/]+)/")
_WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "BatchWriteItem"})
_REFUSED = ("ConditionalCheckFailedException", "TransactionCanceledException")
_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length", "host"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """One request. `units` is what DynamoDB says that it consumed."""

    service: str
    operation: str = ""
    table: str = ""
    units: float = 0.0
    refused: bool = False

    @property
    def writes(self) -> float:
        return self.units if self.operation in _WRITES else 0.0

    @property
    def reads(self) -> float:
        return 0.0 if self.operation in _WRITES else self.units


class Wire:
    """Listens on a port of 127.0.0.1 until `close`."""

    def __init__(self, target: str) -> None:
        self._sent: list[Sent] = []
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.wire = self
        self._server.target = urlsplit(target).netloc
        self._server.live_host = ""
        self.endpoint = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def take(self) -> tuple[Sent, ...]:
        """What was sent since this was asked last."""
        with self._lock:
            taken, self._sent = tuple(self._sent), []
        return taken

    def tell_live(self, host: str) -> None:
        """Where the emulator knows the Events API: it is found by its host, not by a path."""
        self._server.live_host = host

    def note(self, sent: list[Sent]) -> None:
        with self._lock:
            self._sent += sent

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    wire: Wire
    target: str
    live_host: str


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 65_536
    server: _Server

    def setup(self) -> None:
        super().setup()
        self._onward = http.client.HTTPConnection(self.server.target)

    def finish(self) -> None:
        self._onward.close()
        super().finish()

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        found = _SERVICE.search(self.headers.get("Authorization", ""))
        service = found[1] if found else "unsigned"
        operation = self.headers.get("X-Amz-Target", "").rpartition(".")[2]
        if service == "dynamodb":
            body = json.dumps({**json.loads(body), "ReturnConsumedCapacity": "TOTAL"}).encode()
        kept = {name: value for name, value in self.headers.items() if name.lower() not in _HOP}
        if self.path == "/event":
            kept["Host"] = self.server.live_host
        self._onward.request(self.command, self.path, body=body, headers=kept)
        with self._onward.getresponse() as answer:
            content = answer.read()
            self.server.wire.note(_counted(service, operation, body, content))
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in _HOP:
                    self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_POST = do_PUT = do_DELETE = do_HEAD = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Silent: what passes is counted."""


def _counted(service: str, operation: str, body: bytes, content: bytes) -> list[Sent]:
    if service != "dynamodb":
        return [Sent(service=service, operation=operation)]
    answer: dict[str, Any] = json.loads(content or b"{}")
    if str(answer.get("__type", "")).endswith(_REFUSED):
        return [Sent(service=service, operation=operation, units=_refusal(json.loads(body)), refused=True)]
    told = answer.get("ConsumedCapacity", [])
    entries: list[Mapping[str, Any]] = told if isinstance(told, list) else [told]
    units = sum(float(entry["CapacityUnits"]) for entry in entries)
    return [Sent(service=service, operation=operation, table=entries[0]["TableName"] if entries else "", units=units)]


def _refusal(request: Mapping[str, Any]) -> float:
    """A refused write is billed like one that was done; the emulator says nothing of it, so at least the least."""
    return 2.0 * len(request["TransactItems"]) if "TransactItems" in request else 1.0
