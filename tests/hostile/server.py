"""A file server on this machine that does to a client whatever a test says, down to single bytes.

Each path has a behaviour: a function that is given the connection after the request was read. What was asked is kept.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import ipaddress
import queue
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it came over the wire."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    connection: int
    server_name: str | None


class Peer:
    """The server's end of one connection."""

    def __init__(self, connection: socket.socket, stopping: threading.Event) -> None:
        self.socket = connection
        self.stopping = stopping

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def stall(self, seconds: float = 30) -> None:
        """Say nothing more for a while, or until the server stops."""
        self.stopping.wait(seconds)

    def reset(self) -> None:
        """Break the connection instead of closing it."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


Behaviour = Callable[[Peer], bool | None]  # True: keep the connection for another request


def serve(body: bytes = b"", status: int = 200, *, length: int | None = None, **headers: str) -> Behaviour:
    """Answers rightly, or with another Content-Length than the body's (-1: with none)."""

    def behave(peer: Peer) -> bool:
        lines = [f"HTTP/1.1 {status} Status"]
        if length != -1:
            lines.append(f"Content-Length: {len(body) if length is None else length}")
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        peer.send("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
        return length is None

    return behave


def redirect(location: str, status: int = 302) -> Behaviour:
    return serve(status=status, location=location)


def raw(data: bytes) -> Behaviour:
    """These bytes, then the end."""
    return lambda peer: peer.send(data)


def each(*behaviours: Callable[[Peer], object]) -> Behaviour:
    """One after the other, then the end."""

    def behave(peer: Peer) -> None:
        for behaviour in behaviours:
            behaviour(peer)

    return behave


def drip(data: bytes, pause: float) -> Behaviour:
    """One byte at a time."""

    def behave(peer: Peer) -> None:
        for at in range(len(data)):
            if peer.stopping.wait(pause):
                return
            peer.send(data[at : at + 1])

    return behave


@dataclass
class HostileServer:
    """Serves until closed. `routes` are by path, without the query."""

    tls: ssl.SSLContext | None = None
    family: socket.AddressFamily = socket.AF_INET
    routes: dict[str, Behaviour] = field(default_factory=dict)
    greet: Callable[[Peer], None] | None = None  # instead of speaking TLS or HTTP at all
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0
    ended: queue.SimpleQueue[int] = field(default_factory=queue.SimpleQueue)  # connections closed on this end

    def __post_init__(self) -> None:
        self.stopping = threading.Event()
        self._names: dict[int, str | None] = {}
        self._listener = socket.socket(self.family, socket.SOCK_STREAM)
        self._listener.bind(("::1" if self.family == socket.AF_INET6 else "127.0.0.1", 0))
        self._listener.listen()
        self.port: int = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()
        if self.tls is not None:
            self.tls.sni_callback = self._remember

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}{path}"

    def close(self) -> None:
        self.stopping.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(5)

    def _remember(self, connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        self._names[id(connection)] = name

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            thread = threading.Thread(target=self._talk, args=(connection, self.connections), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _talk(self, connection: socket.socket, number: int) -> None:
        connection.settimeout(10)
        with contextlib.suppress(OSError), connection:
            if self.greet is not None:
                self.greet(Peer(connection, self.stopping))
            elif self.tls is None:
                self._converse(connection, number)
            else:
                with self.tls.wrap_socket(connection, server_side=True) as secure:
                    self._converse(secure, number)
        self.ended.put(number)

    def _converse(self, connection: socket.socket, number: int) -> None:
        while self._answer(connection, number):
            pass

    def _answer(self, connection: socket.socket, number: int) -> bool:
        head = b""
        while b"\r\n\r\n" not in head:
            piece = connection.recv(65536)
            if not piece:
                return False
            head += piece
        top, _, body = head.partition(b"\r\n\r\n")
        first, *lines = top.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        while len(body) < int(headers.get("content-length", 0)):
            body += connection.recv(65536)
        name = self._names.get(id(connection))
        self.asked.append(Asked(method, target, headers, body, number, name))
        behaviour = self.routes.get(target.partition("?")[0], serve(status=404))
        return bool(behaviour(Peer(connection, self.stopping)))


def certificate(folder: Path, *names: str) -> tuple[ssl.SSLContext, str]:
    """A server's TLS context for these names, and the file that a client must trust for it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
    now = dt.datetime.now(dt.UTC)
    day = dt.timedelta(days=1)
    built = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(x509.SubjectAlternativeName([_name(name) for name in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    trusted, private = folder / "trusted.pem", folder / "private.pem"
    trusted.write_bytes(built.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(trusted, private)
    return context, str(trusted)


def _name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
