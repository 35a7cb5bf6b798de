"""The way out to providers and their files. Nothing is retried here, and no proxy is taken from the environment.

A submit is told exactly one of three things: an answer, NotSent (proof that nothing was accepted), or NoAnswer
(perhaps paid for). Which of the two last ones is not guessed from the fault: the connection notes whether a byte left.
"""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial

import requests
import urllib3

from mediajobs import links
from mediajobs.adapters.sockets import (
    AddressCheck,
    Connector,
    Exchange,
    Resolver,
    SetAlarm,
    Transport,
    connect,
    look_up,
    set_alarm,
)
from mediajobs.errors import NoAnswer, UnsafeUrl
from mediajobs.messages import LinkRules, Request, Response, Rest
from mediajobs.ports import Stream

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


# For a function that is itself waited for, or must not wait long for one of many receivers: two questions, and what is
# written then, end within its 25 s.
WITHIN_A_CALL = Limits(connect_s=3.0, read_s=8.0, answer_s=10.0)


class WebStream:
    """Implements `ports.Stream`."""

    def __init__(self, answer: requests.Response, exchange: Exchange, transport: Transport) -> None:
        self.status = answer.status_code
        self.headers = _headers(answer)
        self._raw = answer.raw
        # A body that ends too soon is told by its length, where that is checked; here it would look like a cut line.
        self._raw.enforce_content_length = False
        self._exchange = exchange
        self._transport = transport

    def chunks(self) -> Iterator[bytes]:
        try:
            yield from self._raw.stream(_CHUNK_BYTES, decode_content=True)
        except _FAULTS as fault:
            raise self._exchange.failed(fault) from fault
        if self._exchange.expired:  # shutting down looks like the end of the body
            raise self._exchange.failed(TimeoutError())

    def close(self) -> None:
        self._raw.close()
        self._transport.close()
        self._exchange.close()


class _HeldStream:
    """Implements `ports.Stream` over a file that came in the link itself."""

    def __init__(self, body: bytes) -> None:
        self.status = 200
        self.headers = {"content-length": str(len(body))}
        self._body = body

    def chunks(self) -> Iterator[bytes]:
        for at in range(0, len(self._body), _CHUNK_BYTES):
            yield self._body[at : at + _CHUNK_BYTES]

    def close(self) -> None:
        """Nothing was opened."""


class WebHttp:
    """Implements `ports.Http`. `ca_file` names the authorities to trust instead of the usual ones."""

    def __init__(
        self,
        *,
        limits: Limits | None = None,
        resolver: Resolver = look_up,
        connector: Connector = connect,
        alarm: SetAlarm = set_alarm,
        ca_file: str | None = None,
    ) -> None:
        self._limits = limits or Limits()
        self._resolver = resolver
        self._connector = connector
        self._alarm = alarm
        self._verify: bool | str = ca_file or True
        self._pooled = Transport(pool_connections=8, pool_maxsize=8)

    def submit(self, request: Request) -> Response:
        """Sends once. A fresh connection: on a kept one, a submit can die of a close that happened before it."""
        with closing(Transport(pool_connections=1, pool_maxsize=1)) as transport:
            return self._ask(transport, request, {"Connection": "close"})

    def get(self, request: Request) -> Response:
        return self._ask(self._pooled, request, {})

    def post(self, request: Request, rules: LinkRules, *, most: int) -> Response:
        links.check(links.parse(request.url), rules)
        allowed = partial(links.check_address, allow_private=rules.allow_private)
        with closing(Transport(pool_connections=1, pool_maxsize=1)) as transport:
            return self._ask(transport, request, {"Connection": "close"}, check=allowed, most=most)

    def stream(self, url: str, headers: dict[str, str], rules: LinkRules, rest: Rest | None = None) -> Stream:
        """`headers` are credentials: they go to `rules.credential_hosts` only, and not on once a redirect has left
        the first host, not even back to it.
        """
        if links.is_data(url):
            return _HeldStream(links.data(url))
        rest = rest or Rest()
        seconds = self._limits.stream_s if rest.seconds is None else min(rest.seconds, self._limits.stream_s)
        exchange = self._exchange(seconds, partial(links.check_address, allow_private=rules.allow_private))
        transport = Transport(pool_connections=1, pool_maxsize=1)
        try:
            answer = self._follow(exchange, transport, url, headers, rules, _wanted(rest))
            return WebStream(answer, exchange, transport)
        except BaseException:
            transport.close()
            exchange.close()
            raise

    def _follow(
        self,
        exchange: Exchange,
        transport: Transport,
        url: str,
        headers: dict[str, str],
        rules: LinkRules,
        wanted: dict[str, str],
    ) -> requests.Response:
        first, home = links.parse(url), True
        for _ in range(links.MOST_REDIRECTS + 1):
            target = links.parse(url)
            links.check(target, rules)
            home = home and target.origin == first.origin
            trusted = home and links.host_in(target.host, rules.credential_hosts)
            request = Request(method="GET", url=url, headers=headers if trusted else {})
            try:
                answer = self._send(exchange, transport, request, {"Connection": "close", **wanted})
            except _FAULTS as fault:
                raise exchange.failed(fault) from fault
            location = _headers(answer).get("location")
            if answer.status_code not in _REDIRECTS or not location:
                return answer
            answer.raw.close()
            url = links.follow(url, location.encode("latin-1", "replace").decode("utf-8", "replace"))
        raise UnsafeUrl(f"more than {links.MOST_REDIRECTS} redirects")

    def _ask(
        self,
        transport: Transport,
        request: Request,
        extra: dict[str, str],
        *,
        check: AddressCheck | None = None,
        most: int | None = None,
    ) -> Response:
        """The whole exchange of a request with a small answer; `most` bytes of it, where only those are of interest."""
        with self._exchange(self._limits.answer_s, check) as exchange:
            try:
                answer = self._send(exchange, transport, request, extra)
                with closing(answer.raw):
                    body = _body(answer) if most is None else answer.raw.read(most) if most else b""
            except _FAULTS as fault:
                raise exchange.failed(fault) from fault
            if exchange.expired:
                raise exchange.failed(TimeoutError())
            return Response(status=answer.status_code, headers=_headers(answer), body=body)

    def _send(
        self, exchange: Exchange, transport: Transport, request: Request, extra: dict[str, str]
    ) -> requests.Response:
        target = links.parse(request.url)
        host = f"[{target.host}]" if ":" in target.host else target.host
        prepared = requests.PreparedRequest()
        prepared.method = request.method
        prepared.url = f"{target.scheme}://{host}:{target.port}/"  # the path goes by the exchange, as it was written
        prepared.prepare_headers(_all_headers(request, extra))
        prepared.body = request.body or None
        with exchange.current(target.path):
            return transport.send(
                prepared,
                stream=True,
                timeout=(self._limits.connect_s, self._limits.read_s),
                verify=self._verify,
            )

    def _exchange(self, seconds: float, check: AddressCheck | None) -> Exchange:
        return Exchange(
            seconds=seconds, resolver=self._resolver, connector=self._connector, check=check, alarm=self._alarm
        )


def _wanted(rest: Rest) -> dict[str, str]:
    """Sent to every host on the way: it is no secret."""
    return {"Range": f"bytes={rest.start}-", "If-Range": rest.validator} if rest.start else {}


def _all_headers(request: Request, extra: dict[str, str]) -> dict[str, str]:
    """The request's headers and what HTTP itself needs."""
    headers = {"User-Agent": _USER_AGENT, "Accept-Encoding": "identity", **request.headers, **extra}
    if request.body or request.method in ("POST", "PUT", "PATCH"):
        headers["Content-Length"] = str(len(request.body))
    return headers


def _headers(answer: requests.Response) -> dict[str, str]:
    return {name.lower(): value for name, value in answer.headers.items()}


def _body(answer: requests.Response) -> bytes:
    """The body, whole. An error page may be longer than we keep; an answer that may hold a job's id may not."""
    body = bytearray()
    for chunk in answer.raw.stream(64 * 1024, decode_content=True):
        body += chunk
        if len(body) > MOST_ANSWER_BYTES:
            if answer.status_code < 400:
                raise NoAnswer(f"the answer is larger than {MOST_ANSWER_BYTES} bytes")
            break
    return bytes(body[:MOST_ANSWER_BYTES])
