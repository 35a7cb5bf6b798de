"""AppSync Events over HTTP: signed, in its form, tried again where that can help, and left alone while it fails."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import boto3
import pytest

from mediajobs.adapters.http import WebHttp
from mediajobs.adapters.live import EventsApi, NoLive
from mediajobs.errors import MediaJobsError, NoAnswer, NotSent, Retryable
from mediajobs.messages import Request, Response
from tests.fakes.clock import VirtualClock

URL = "https://abc.appsync-api.eu-west-1.amazonaws.com"
TAKEN = Response(status=200, headers={}, body=b'{"failed": [], "successful": [{"identifier": "x", "index": 0}]}')


class Script:
    """Implements `ports.Http`: answers in turn, the last one for ever."""

    def __init__(self, *answers: Response | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[Request] = []

    def get(self, request: Request) -> Response:
        self.asked.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    submit = get

    def stream(self, *_: Any) -> Any:
        raise AssertionError("nothing is downloaded here")


def api(*answers: Response | Exception) -> tuple[EventsApi, Script, VirtualClock]:
    script, clock = Script(*answers), VirtualClock()
    session = boto3.Session("AKIDEXAMPLE", "secret", "a-session-token", "eu-west-1")
    return EventsApi(URL, script, clock, session), script, clock


def status(number: int, body: bytes = b"{}") -> Response:
    return Response(status=number, headers={}, body=body)


def test_an_event_is_one_signed_post_in_appsync_s_form() -> None:
    """SigV4 for the service appsync, as the function's role, session token included."""
    live, script, _ = api(TAKEN)
    live.publish("/jobs/acme/abc", '{"version": 3}', last=False)
    (request,) = script.asked
    assert (request.method, request.url) == ("POST", f"{URL}/event")
    assert json.loads(request.body) == {"channel": "/jobs/acme/abc", "events": ['{"version": 3}']}
    assert request.headers["Content-Type"] == "application/json"
    assert request.headers["X-Amz-Security-Token"] == "a-session-token"
    signed = request.headers["Authorization"]
    assert signed.startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert "/eu-west-1/appsync/aws4_request" in signed
    assert "host" in signed.partition("SignedHeaders=")[2].partition(",")[0].split(";")


@pytest.mark.parametrize("fault", [NoAnswer("reset"), NotSent("refused"), status(500), status(503), status(429)])
def test_a_tick_is_tried_twice_for_a_kept_connection_may_be_dead(fault: Response | Exception) -> None:
    live, script, clock = api(fault, TAKEN)
    live.publish("/jobs/acme/abc", "{}", last=False)
    assert len(script.asked) == 2
    assert clock.slept == []


def test_a_last_event_is_tried_harder() -> None:
    live, script, _ = api(NoAnswer("reset"), status(500), TAKEN)
    live.publish("/jobs/acme/abc", "{}", last=True)
    assert len(script.asked) == 3


@pytest.mark.parametrize(("last", "tries"), [(False, 2), (True, 3)])
def test_tries_are_bounded(last: bool, tries: int) -> None:
    live, script, _ = api(NoAnswer("timeout"))
    with pytest.raises(Retryable):
        live.publish("/jobs/acme/abc", "{}", last=last)
    assert len(script.asked) == tries


def test_an_api_that_failed_is_left_alone_for_a_while_by_ticks() -> None:
    """An outage there must not make every webhook wait; the end is tried once all the same, and then it is over."""
    live, script, clock = api(NoAnswer("timeout"), NoAnswer("timeout"), NoAnswer("timeout"), TAKEN)
    with pytest.raises(Retryable):
        live.publish("/jobs/acme/abc", "{}", last=False)
    for _ in range(50):
        with pytest.raises(Retryable):
            live.publish("/jobs/acme/abc", "{}", last=False)
    assert len(script.asked) == 2
    with pytest.raises(Retryable):
        live.publish("/jobs/acme/abc", "{}", last=True)
    assert len(script.asked) == 3
    clock.advance(5.001)
    live.publish("/jobs/acme/abc", "{}", last=False)
    assert len(script.asked) == 4


REFUSED: list[Response] = [
    status(401),
    status(403),
    status(400),
    status(404),
    status(301),
    status(200, b"not JSON"),
    status(200, b"[]"),
    status(200, b"{}"),
    status(200, b'{"failed": [{"index": 0, "code": 400}], "successful": []}'),
]


@pytest.mark.parametrize("answer", REFUSED, ids=lambda answer: f"{answer.status}-{answer.body[:12].decode()}")
def test_what_repeating_does_not_cure_is_not_repeated(answer: Response) -> None:
    """And is an error: an event that nobody took was not told."""
    live, script, _ = api(answer)
    with pytest.raises(MediaJobsError):
        live.publish("/jobs/acme/abc", "{}", last=True)
    assert len(script.asked) == 1


def test_without_an_api_nothing_is_sent_and_nothing_fails() -> None:
    tell: Callable[..., None] = NoLive().publish
    tell("/jobs/acme/abc", "{}", last=True)


class _Events(BaseHTTPRequestHandler):
    """Keeps the request as it came over the wire."""

    server: Recorder

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((dict(self.headers.items()), self.path, body))
        self.send_response(200)
        self.send_header("Content-Length", str(len(TAKEN.body)))
        self.end_headers()
        self.wfile.write(TAKEN.body)

    def log_message(self, *_: object) -> None:
        """Silent."""


class Recorder(HTTPServer):
    got: list[tuple[dict[str, str], str, bytes]]


def signature(secret: str, headers: dict[str, str], path: str, body: bytes) -> str:
    """Signature Version 4 as AWS documents it, over what arrived."""
    given = dict(part.split("=", 1) for part in headers["Authorization"].removeprefix("AWS4-HMAC-SHA256 ").split(", "))
    low = {name.lower(): value for name, value in headers.items()}
    names = given["SignedHeaders"].split(";")
    digest = hashlib.sha256(body).hexdigest()
    lines = [f"{name}:{low[name]}" for name in names]
    canonical = "\n".join(["POST", path, "", *lines, "", ";".join(names), digest])
    scope = given["Credential"].split("/", 1)[1]
    text = "\n".join(["AWS4-HMAC-SHA256", low["x-amz-date"], scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def test_what_arrives_is_what_was_signed() -> None:
    """Host, path, body and every signed header: AWS refuses a request that was changed on its way out."""
    server = Recorder(("127.0.0.1", 0), _Events)
    server.got = []
    thread = threading.Thread(target=server.handle_request)
    thread.start()
    session = boto3.Session("AKIDEXAMPLE", "secret", "a-session-token", "eu-west-1")
    url = f"http://127.0.0.1:{server.server_address[1]}"
    EventsApi(url, WebHttp(), VirtualClock(), session).publish("/jobs/acme/abc", '{"é": 1}', last=True)
    thread.join()
    server.server_close()
    ((headers, path, body),) = server.got
    assert path == "/event"
    assert headers["Authorization"].rpartition("Signature=")[2] == signature("secret", headers, path, body)
