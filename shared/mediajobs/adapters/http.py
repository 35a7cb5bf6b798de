"""The way out to providers and their files. Nothing is retried here, and no proxy is taken from the environment.

A submit is told exactly one of three things: an answer, NotSent (proof that nothing was accepted), or NoAnswer
(perhaps paid for). Which of the two last ones is not guessed from the fault: the connection notes whether a byte left.
"""

from __future__ import annotations

import http.client
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import requests
import urllib3

from mediajobs import links
from mediajobs.adapters.sockets import AddressCheck, Connector, Exchange, Resolver, Transport, connect, look_up
from mediajobs.errors import NoAnswer, UnsafeUrl
from mediajobs.messages import Request, Response
from mediajobs.ports import LinkRules

MOST_ANSWER_BYTES = 1024 * 1024
_CHUNK_BYTES = 256 * 1024
_USER_AGENT = "mediajobs"
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# Everything that requests, urllib3 and http.client raise for a request that cannot be made, sent or answered.
_FAULTS = (
    requests.RequestException,
    urllib3.exceptions.HTTPError,
    http.client.HTTPException,
    OSError,
    ValueError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds. A submit's whole must end within dispatch's timeout, a stream's within store's."""

    connect_s: float = 5.0
    read_s: float = 30.0
    answer_s: float = 38.0
    stream_s: float = 840.0


class WebStream:
    """Implements `ports.Stream`."""

    def __init__(self, answer: requests.Response, exchange: Exchange, release: Callable[[], None]) -> None:
        self.status = answer.status_code
        self.headers = _headers(answer)
        self._raw = answer.raw
        # A body that ends too soon is told by its length, where it is checked; here it would look like a cut line.
        self._raw.enforce_content_length = False
        self._exchange = exchange
        self._release = release

    def chunks(self) -> Iterator[bytes]:
        try:
            yield from self._raw.stream(_CHUNK_BYTES, decode_content=True)
        except _FAULTS as fault:
            raise self._exchange.failed(fault) from fault
        if self._exchange.expired:  # shutting down looks like the end of the body
            raise self._exchange.failed(TimeoutError())

    def close(self) -> None:
        self._raw.close()
        self._release()


class WebHttp:
    """Implements `ports.Http`. `ca_file` names the authorities to trust instead of the usual ones."""

    def __init__(
        self,
        *,
        limits: Limits | None = None,
        resolver: Resolver = look_up,
        connector: Connector = connect,
        ca_file: str | None = None,
    ) -> None:
        self._limits = limits or Limits()
        self._resolver = resolver
        self._connector = connector
        self._verify: bool | str = ca_file or True
        self._pooled = Transport(pool_connections=8, pool_maxsize=8)

    def submit(self, request: Request) -> Response:
        """Sends once. A fresh connection: on a kept one, a submit can die of a close that happened before it."""
        transport = Transport(pool_connections=1, pool_maxsize=1)
        try:
            return self._ask(transport, request, {"Connection": "close"})
        finally:
            transport.close()

    def get(self, request: Request) -> Response:
        return self._ask(self._pooled, request, {})

    def stream(self, url: str, headers: dict[str, str], rules: LinkRules) -> WebStream:
        """`headers` are credentials: they go to `rules.credential_hosts` only, and not on once a redirect has left
        the first host, not even back to it.
        """
        check = partial(links.check_address, allow_private=rules.allow_private)
        exchange = self._exchange(self._limits.stream_s, check)
        first, home = links.parse(url), True
        try:
            for _ in range(links.MOST_REDIRECTS + 1):
                target = links.parse(url)
                links.check(target, rules)
                home = home and target.origin == first.origin
                trusted = home and links.host_in(target.host, rules.credential_hosts)
                stream = self._open(exchange, url, target.path, headers if trusted else {})
                location = stream.headers.get("location")
                if stream.status not in _REDIRECTS or not location:
                    return stream
                stream.close_connection()
                url = links.follow(url, location.encode("latin-1", "replace").decode("utf-8", "replace"))
            raise UnsafeUrl(f"more than {links.MOST_REDIRECTS} redirects")
        except BaseException:
            exchange.close()
            raise
