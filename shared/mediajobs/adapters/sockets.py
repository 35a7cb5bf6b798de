"""Connections that know their exchange: which addresses it may reach, whether a byte of it left, when it must end.

urllib3 looks a host up and connects in one call, re-encodes the path, and limits each read but not the whole. These
subclasses of its connections replace exactly that.
"""

from __future__ import annotations

import os
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, Protocol, Self

from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

from mediajobs.errors import MediaJobsError, NoAnswer, NotSent

Resolver = Callable[[str, int], Sequence[str]]
Connector = Callable[[str, int, float], socket.socket]
AddressCheck = Callable[[str], None]


class Alarm(Protocol):
    """Something that will ring, unless it is canceled before."""

    def cancel(self) -> None: ...


SetAlarm = Callable[[float, Callable[[], None]], Alarm]


def set_alarm(seconds: float, ring: Callable[[], None]) -> Alarm:
    """Rings once, after these seconds, from a thread of its own."""
    timer = threading.Timer(seconds, ring)
    timer.daemon = True
    timer.start()
    return timer


def look_up(host: str, port: int) -> list[str]:
    """The host's addresses, in the order to try them."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def connect(address: str, port: int, timeout: float) -> socket.socket:
    """A connection to this very address."""
    connection = socket.create_connection((address, port), timeout)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


class Exchange:
    """One request and its answer, redirects included. Leave it as a context, or by `close`.

    A timeout on each read does not end a peer that sends a byte now and then: an alarm shuts the connection down.
    """

    def __init__(
        self,
        *,
        seconds: float,
        resolver: Resolver,
        connector: Connector,
        check: AddressCheck | None,
        alarm: SetAlarm = set_alarm,
    ) -> None:
        self.path = "/"
        self.sent = False
        self.expired = False
        self._seconds = seconds
        self._resolver = resolver
        self._connector = connector
        self._check = check
        self._lock = threading.Lock()
        self._twin: socket.socket | None = None  # a second handle on the connection: TLS objects bear no second thread
        self._alarm = alarm(seconds, self._expire)

    @contextmanager
    def current(self, path: str) -> Iterator[None]:
        """While the request is being sent, the connections of this thread belong to this exchange."""
        self.path = path
        before = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(before)

    def dial(self, host: str, port: int, timeout: float) -> socket.socket:
        """Connects to an address that was checked, by the same look-up: a second one might answer otherwise."""
        addresses = self._resolver(host, port)
        if self._check is not None:
            for address in addresses:
                self._check(address)
        fault: OSError = OSError(f"{host} has no address")
        for address in addresses:
            if self.expired:
                break
            try:
                connection = self._connector(address, port, timeout)
            except OSError as refused:
                fault = refused
                continue
            self.watch(connection)
            return connection
        raise fault

    def watch(self, connection: socket.socket) -> None:
        """From now on this is the connection to shut down when the time is over."""
        with self._lock:
            self._drop_twin()
            self._twin = socket.socket(fileno=os.dup(connection.fileno()))
            if self.expired:
                self._shut_down()

    def failed(self, fault: Exception) -> MediaJobsError:
        """What this fault means: a request of which no byte left was certainly not accepted."""
        cause = f"no end within {self._seconds:g} s" if self.expired else f"{type(fault).__name__}: {fault}"[:300]
        return NoAnswer(cause) if self.sent else NotSent(cause)

    def close(self) -> None:
        self._alarm.cancel()
        with self._lock:
            self._drop_twin()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _expire(self) -> None:
        with self._lock:
            self.expired = True
            self._shut_down()

    def _shut_down(self) -> None:
        if self._twin is not None:
            with suppress(OSError):  # the peer was faster
                self._twin.shutdown(socket.SHUT_RDWR)

    def _drop_twin(self) -> None:
        if self._twin is not None:
            self._twin.close()
            self._twin = None


_CURRENT: ContextVar[Exchange] = ContextVar("exchange")


class _Own(HTTPConnection):
    """What both kinds of connection do our way."""

    def _new_conn(self) -> socket.socket:
        timeout = self.timeout if isinstance(self.timeout, int | float) else 5.0
        return _CURRENT.get().dial(self.host, self.port or self.default_port, timeout)

    def putrequest(self, method: str, url: str, *args: Any, **options: Any) -> None:  # noqa: ARG002 see below
        # urllib3 re-encodes a URL on its way here, which breaks the signature of some links.
        super().putrequest(method, _CURRENT.get().path, *args, **options)

    def send(self, data: Any) -> None:
        exchange = _CURRENT.get()
        if self.sock is None:
            self.connect()
        elif not exchange.sent:
            exchange.watch(self.sock)
        exchange.sent = True
        super().send(data)


class _PlainConnection(_Own):
    pass


class _SecureConnection(_Own, HTTPSConnection):
    def connect(self) -> None:
        super().connect()
        # Where the peer is gone already, Python hands out a TLS socket on which no handshake took place.
        if isinstance(self.sock, ssl.SSLSocket) and self.sock.version() is None:
            self.close()
            raise OSError("the connection broke before the TLS handshake")


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _PlainConnection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


class Transport(HTTPAdapter):
    """requests' adapter over these connections. Without a session above it nothing is retried, followed, kept as a
    cookie or read from the environment.
    """

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **options: Any) -> None:  # noqa: FBT001, FBT002 the parent's signature
        super().init_poolmanager(connections, maxsize, block, **options)
        self.poolmanager.pool_classes_by_scheme = {"http": _PlainPool, "https": _SecurePool}

    def close(self) -> None:
        """Closes the kept connections now; urllib3 alone leaves that to the garbage collector."""
        for key in self.poolmanager.pools.keys():  # noqa: SIM118 not a dict: it cannot be iterated over
            self.poolmanager.pools[key].close()
        super().close()
