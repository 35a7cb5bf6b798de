"""AppSync Events in this process, by AWS's rules: the authorizer is asked about every connection and subscription, and
what it lets through is matched as AWS does, wildcards included. Faults of the line are played on demand.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self

from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve
from websockets.typing import Subprotocol

PROTOCOL = Subprotocol("aws-appsync-event-ws")
Authorizer = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass
class Line:
    """One open connection and its subscriptions, id to channel."""

    connection: ServerConnection
    subscriptions: dict[str, str] = field(default_factory=dict)


class EventsApi:
    """Implements `ports.Live`. `asked` are the questions to the authorizer; while `refusing`, nobody can connect; while
    `deaf`, what is published reaches nobody. It gives no signs of life, and says that they come within `silence_ms`.
    """

    def __init__(self, authorizer: Authorizer) -> None:
        self.asked: list[dict[str, Any]] = []
        self.tokens: list[str] = []  # of connections that were let in
        self.refusing = self.deaf = False
        self.silence_ms = 300_000
        self._authorizer = authorizer
        self._lines: list[Line] = []
        self._lock = threading.Lock()
        self._server: Server = serve(
            self._serve, "127.0.0.1", 0, subprotocols=[PROTOCOL], process_request=self._process, close_timeout=1
        )
        self.host = f"127.0.0.1:{self._server.socket.getsockname()[1]}"
        self.endpoint = f"ws://{self.host}/event/realtime"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()

    def publish(self, channel: str, event: str, *, last: bool) -> None:
        """To every subscriber whose pattern fits."""
        for line in self.lines():
            for name, pattern in list(line.subscriptions.items()):
                if _fits(channel, pattern) and not self.deaf:
                    try:
                        line.connection.send(json.dumps({"type": "data", "id": name, "event": event}))
                    except ConnectionClosed:
                        continue

    def lines(self) -> list[Line]:
        with self._lock:
            return list(self._lines)

    def listening(self) -> int:
        return sum(len(line.subscriptions) for line in self.lines())

    def drop(self) -> None:
        """Every connection is cut, without a word."""
        for line in self.lines():
            line.connection.socket.close()

    def _process(self, connection: ServerConnection, request: Request) -> Response | None:
        if self.refusing:
            return Response(HTTPStatus.SERVICE_UNAVAILABLE, "later", Headers({"Content-Length": "0"}))
        return None

    def _serve(self, connection: ServerConnection) -> None:
        token = _token(connection)
        if not self._allows("EVENT_CONNECT", None, token):
            _say(connection, {"type": "connection_error", "errors": [{"errorType": "UnauthorizedException"}]})
            return
        self.tokens.append(token)
        line = Line(connection)
        with self._lock:
            self._lines.append(line)
        try:
            for message in connection:
                self._hear(line, json.loads(message))
        except (ConnectionClosed, OSError):
            pass
        finally:
            with self._lock:
                self._lines.remove(line)

    def _hear(self, line: Line, message: dict[str, Any]) -> None:
        name = message.get("id")
        match message["type"]:
            case "connection_init":
                _say(line.connection, {"type": "connection_ack", "connectionTimeoutMs": self.silence_ms})
            case "subscribe":
                token = message.get("authorization", {}).get("Authorization", "")
                if self._allows("EVENT_SUBSCRIBE", message["channel"], token):
                    line.subscriptions[message["id"]] = message["channel"]
                    _say(line.connection, {"type": "subscribe_success", "id": name})
                else:
                    errors = [{"errorType": "UnauthorizedException"}]
                    _say(line.connection, {"type": "subscribe_error", "id": name, "errors": errors})
            case "publish":
                # The namespace's mode is IAM: a token, whoever's, is no signature.
                errors = [{"errorType": "UnauthorizedException"}]
                _say(line.connection, {"type": "publish_error", "id": name, "errors": errors})

    def _allows(self, operation: str, channel: str | None, token: str) -> bool:
        question = {
            "authorizationToken": token,
            "requestContext": {
                "apiId": "abc",
                "operation": operation,
                "channelNamespaceName": None if channel is None else channel.strip("/").split("/")[0],
                "channel": channel,
            },
            "requestHeaders": {},
        }
        self.asked.append(question)
        if not token:
            return False
        answer = self._authorizer(question)
        assert answer["ttlOverride"] == 0
        return answer["isAuthorized"] is True


def _say(connection: ServerConnection, message: dict[str, Any]) -> None:
    connection.send(json.dumps(message))


def _token(connection: ServerConnection) -> str:
    """The Authorization that the connection shows in its second subprotocol; empty where there is none."""
    assert connection.request is not None
    for one in connection.request.headers["Sec-WebSocket-Protocol"].split(","):
        word = one.strip()
        if word.startswith("header-"):
            text = word.removeprefix("header-")
            shown: dict[str, str] = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
            return shown.get("Authorization", "")
    return ""


def _fits(channel: str, pattern: str) -> bool:
    """A pattern that ends in a star fits everything below."""
    if pattern.endswith("/*"):
        return channel.startswith(pattern[:-1])
    return channel == pattern
