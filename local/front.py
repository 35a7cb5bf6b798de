"""The front: one address for the API that stays the same while the emulator gives the API a new id at each deploy.

It forwards http://127.0.0.1:<port>/<path> to the emulator's address of the present API and stage. Only the request line
and the Connection header change; every other byte, of head and body, both ways, passes as it came. Each request has a
connection of its own: after the head the front need not understand anything, it only carries bytes.

/event and /event/realtime go to the Events API, as they would under a domain of yours: there the Host header changes,
by which the emulator knows the API, and a WebSocket stays open.

    python -m local.front --port 8000 --target build/local/front.json     # {"port": 4566, "prefix": "/_aws/..."}
"""

import argparse
import json
import re
import selectors
import socket
import socketserver
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

MAX_HEAD = 65_536
IDLE_S = 120.0
_CHUNK = 65_536
_REQUEST_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) (\S+) (HTTP/1\.[01])")
_ABSOLUTE = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")
_PER_CONNECTION = (b"connection", b"keep-alive", b"proxy-connection")


class BadRequestError(Exception):
    """The head of a request cannot be forwarded."""


@dataclass(frozen=True)
class Target:
    """Where the API lives just now: the emulator's port and the path of the API's stage on it."""

    port: int
    prefix: str
    live: Mapping[str, str] = field(default_factory=dict)  # hosts of the Events API, "http" and "realtime"

    def rewritten(self, head: bytes) -> bytes:
        """The head as the emulator is to get it."""
        path = head.partition(b"\r\n")[0].split(b" ")[1:2]
        host = self.live.get({b"/event": "http", b"/event/realtime": "realtime"}.get(b"".join(path), ""))
        return rewrite(head, self.prefix.encode()) if host is None else readdress(head, host.encode())


def rewrite(head: bytes, prefix: bytes) -> bytes:
    """The request head with the prefix before its path, to be sent on a connection for this request alone."""
    line, *fields = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    found = _REQUEST_LINE.fullmatch(line)
    if found is None:
        raise BadRequestError("The request line is not HTTP/1.")
    method, target, version = found.groups()
    path = _ABSOLUTE.sub(b"", target, count=1)
    if path.startswith(b"?") or not path:
        path = b"/" + path
    if not path.startswith(b"/"):
        raise BadRequestError("The request target is not a path.")
    kept = [field for field in fields if field.partition(b":")[0].strip().lower() not in _PER_CONNECTION]
    return b"\r\n".join([b" ".join([method, prefix + path, version]), *kept, b"Connection: close", b"", b""])


def readdress(head: bytes, host: bytes) -> bytes:
    """The head under another host, on a connection for this request alone or for the WebSocket that it opens."""
    line, *fields = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    names = [field.partition(b":")[0].strip().lower() for field in fields]
    kept = [field for field, name in zip(fields, names, strict=True) if name not in (b"host", *_PER_CONNECTION)]
    then = b"Connection: Upgrade" if b"upgrade" in names else b"Connection: close"
    return b"\r\n".join([line, b"Host: " + host, *kept, then, b"", b""])


def _read_head(client: socket.socket) -> tuple[bytes, bytes]:
    """The head up to and with its empty line, and what came after it. Both empty when the client said nothing."""
    got = b""
    while b"\r\n\r\n" not in got:
        if len(got) > MAX_HEAD:
            raise BadRequestError("The request head is too large.")
        more = client.recv(_CHUNK)
        if not more:
            if got:
                raise BadRequestError("The request head ends early.")
            return b"", b""
        got += more
    head, end, rest = got.partition(b"\r\n\r\n")
    return head + end, rest


def _carry(client: socket.socket, upstream: socket.socket) -> None:
    """Pass bytes both ways until the answer has ended."""
    with selectors.DefaultSelector() as waiting:
        waiting.register(client, selectors.EVENT_READ, upstream)
        waiting.register(upstream, selectors.EVENT_READ, client)
        while ready := waiting.select(IDLE_S):
            for key, _ in ready:
                source, sink = key.fileobj, key.data
                more = source.recv(_CHUNK)  # type: ignore[union-attr]  # only sockets are registered
                if more:
                    sink.sendall(more)
                elif source is upstream:
                    return
                else:
                    waiting.unregister(client)
                    with suppress(OSError):
                        upstream.shutdown(socket.SHUT_WR)


def _answer(client: socket.socket, status: str, text: str) -> None:
    body = json.dumps({"type": "about:blank", "title": status[4:], "status": int(status[:3]), "detail": text}).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/problem+json\r\nContent-Length: {len(body)}\r\n"
    client.sendall(head.encode() + b"Connection: close\r\n\r\n" + body)


def _serve(client: socket.socket, target: Callable[[], Target | None]) -> None:
    client.settimeout(IDLE_S)
    try:
        head, rest = _read_head(client)
        place = target()
        if not head:
            return
        if place is None:
            _answer(client, "503 Service Unavailable", "Nothing is deployed yet.")
            return
        wanted = place.rewritten(head)
    except BadRequestError as error:
        _answer(client, "400 Bad Request", str(error))
        return
    try:
        upstream = socket.create_connection(("127.0.0.1", place.port), timeout=IDLE_S)
    except OSError:
        _answer(client, "502 Bad Gateway", "The emulator is not running.")
        return
    with upstream:
        upstream.sendall(wanted + rest)
        _carry(client, upstream)


class _Handler(socketserver.BaseRequestHandler):
    server: "Front"
    request: socket.socket

    def handle(self) -> None:
        # A client or the emulator that hangs up ends this one request.
        with suppress(OSError):
            _serve(self.request, self.server.target)


class Front(socketserver.ThreadingTCPServer):
    """Listens on 127.0.0.1 and forwards to whatever `target` says at each request; None is answered 503."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, port: int, target: Callable[[], Target | None]) -> None:
        self.target = target
        super().__init__(("127.0.0.1", port), _Handler)


class TargetFile:
    """The target as the file says now; the file is read again when it changes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, Target | None] = (-1, None)

    def __call__(self) -> Target | None:
        try:
            changed = self._path.stat().st_mtime_ns
            if changed != self._seen[0]:
                kept = json.loads(self._path.read_text())
                self._seen = (changed, Target(int(kept["port"]), str(kept["prefix"]), kept.get("live", {})))
        except FileNotFoundError:
            return None
        return self._seen[1]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m local.front", description=__doc__.partition("\n")[0])
    parser.add_argument("--port", type=int, required=True, help="the port of 127.0.0.1 to listen on")
    parser.add_argument("--target", type=Path, required=True, help="a JSON file with the emulator's port and a prefix")
    options = parser.parse_args()
    with Front(options.port, TargetFile(options.target)) as server:
        server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
