"""A provider that gives the answers it was told to give, in turn, and keeps what it was asked."""

from __future__ import annotations

import json
import socket
import threading
from collections import deque
from collections.abc import Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from local.provider import media

Script = Mapping[str, Any]
UNFORESEEN: Script = {"status": 500, "body": {"error": {"code": "unforeseen", "message": "Nobody told me this."}}}


class ScriptedProvider:
    """Serves until `close`.

    An answer is {"status", "body", "headers"}, {"file": kind} for tiny media of that kind (with "short": half of it),
    {"text", "content_type"}, {"echo": true} for what was sent, or {"cut": true}, which closes the connection without a
    word.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._answers: deque[Script] = deque()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.provider = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def tell(self, answers: Iterable[Script]) -> None:
        """Forget what was, and give these answers from now on."""
        self._answers = deque(answers)
        self.asked = []

    def unused(self) -> int:
        return len(self._answers)

    def next(self, call: str) -> Script:
        self.asked.append(call)
        return self._answers.popleft() if self._answers else UNFORESEEN

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    provider: ScriptedProvider


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_GET(self) -> None:
        sent = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        answer = self.server.provider.next(f"{self.command} {urlsplit(self.path).path}")
        if answer.get("cut"):
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        body, kind = (sent, "application/json") if answer.get("echo") else _content(answer)
        self.send_response(answer.get("status", 200))
        for name, value in {"Content-Type": kind, **answer.get("headers", {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if answer.get("short"):
            self.close_connection = True
            body = body[: len(body) // 2]
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Silent: `asked` is the record."""


def _content(answer: Script) -> tuple[bytes, str]:
    if "file" in answer:
        return media.make(answer["file"], "bench"), answer["file"]
    if "text" in answer:
        return answer["text"].encode(), answer.get("content_type", "text/plain")
    return json.dumps(answer.get("body", {})).encode(), "application/json"
