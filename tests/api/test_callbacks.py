"""The edge of callbacks: who may set them up, what is refused, and that a secret is shown once."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from mediajobs import wiring
from mediajobs.errors import NoAnswer, NotSent, Retryable, UnsafeUrl
from mediajobs.messages import LinkRules, Request, Response
from tests.api import events
from tests.api.stubs import Scene, scene
from tests.fakes.callbacks import MemoryCallbacks

PATH = "/v1/callbacks/acme"
URL = "https://acme.example/hooks?key=k"


class Line:
    """Implements `Http.post`: a receiver that echoes challenges, or answers as told."""

    def __init__(self) -> None:
        self.asked: list[Request] = []
        self.answer: Response | Exception | None = None

    def post(self, request: Request, rules: LinkRules, *, most: int) -> Response:
        self.asked.append(request)
        if isinstance(self.answer, Exception):
            raise self.answer
        echo = json.dumps({"challenge": json.loads(request.body)["challenge"]}).encode()
        return self.answer or Response(status=200, headers={}, body=echo[:most])


class Edge:
    """The handler with what it looks at."""

    def __init__(self) -> None:
        self.scene: Scene = scene()
        self.line = Line()
        self.callbacks = MemoryCallbacks()
        http: Any = self.line
        self.scene.world = replace(self.scene.world, http=http, callbacks=self.callbacks)
        self.handler = wiring.notify_handler()._build(self.scene.world)

    def call(self, method: str, path: str = PATH, body: object = None, *, scope: str | None = "operator") -> Any:
        caller = {"user": events.USER, "operator": events.OPERATOR, None: None}[scope]
        answer = self.handler(events.proxy(method, path, body=body, caller=caller), events.context())
        return answer["statusCode"], json.loads(answer["body"])


@pytest.fixture
def edge() -> Edge:
    return Edge()


def test_a_secret_is_shown_when_it_is_made_and_never_again(edge: Edge) -> None:
    """Registering again and reading do not show it; no line of the log does."""
    status, made = edge.call("POST", body={"url": URL})
    assert (status, made["status"], made["url"], made["tenant"]) == (200, "active", URL, "acme")
    secret = edge.callbacks.rows["acme"].secrets[0].value
    assert made["secret"] == secret
    assert secret.startswith("whsec_")
    for answer in (edge.call("POST", body={"url": URL + "2"}), edge.call("GET")):
        assert answer[0] == 200
        assert "secret" not in answer[1]
        assert secret not in json.dumps(answer[1])
    _, rotated = edge.call("POST", PATH + "/rotate", {"overlap_s": 60})
    assert rotated["secret"] not in (secret, None)
    assert [one["until"] is None for one in rotated["secrets"]] == [True, False]
    lines = edge.scene.lines.getvalue()
    assert secret not in lines
    assert rotated["secret"] not in lines


def test_the_challenge_is_signed_fresh_and_comes_before_anything_is_kept(edge: Edge) -> None:
    """Another word each time; a receiver that knows the secret can verify it."""
    edge.call("POST", body={"url": URL})
    edge.call("POST", body={"url": URL})
    first, second = (json.loads(request.body) for request in edge.line.asked)
    assert first["type"] == "callback.challenge"
    assert first["challenge"] != second["challenge"]
    assert all(request.headers["webhook-signature"].startswith("v1,") for request in edge.line.asked)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Response(status=200, headers={}, body=b""), "it answered 200"),
        (Response(status=200, headers={}, body=b'{"challenge": "another"}'), "it answered 200"),
        (Response(status=200, headers={}, body=b"[" * 4000), "it answered 200"),
        (Response(status=500, headers={}, body=b""), "it answered 500"),
        (Response(status=302, headers={"location": "https://acme.example/"}, body=b""), "it answered 302"),
        (NoAnswer("hangs"), "gave no answer"),
        (NotSent("refused"), "could not be connected to"),
        (UnsafeUrl("10.0.0.1 is a private address"), "cannot be used"),
    ],
    ids=["silent", "other", "deep", "500", "redirect", "hangs", "refused", "private"],
)
def test_who_does_not_give_the_challenge_back_is_not_registered(edge: Edge, answer: Any, said: str) -> None:
    """422 that says why; nothing is kept, nothing is subscribed, and a registration that stands stays as it is."""
    edge.line.answer = answer
    status, told = edge.call("POST", body={"url": URL})
    assert (status, told["type"]) == (422, "urn:mediajobs:problem:unprocessable")
    assert told["errors"][0]["field"] == "url"
    assert said in told["detail"]
    assert (edge.callbacks.rows, edge.callbacks.heard) == ({}, [])
    edge.line.answer = None
    edge.call("POST", body={"url": URL})
    before = edge.callbacks.rows["acme"]
    edge.line.answer = answer
    assert edge.call("POST", body={"url": "https://elsewhere.example/"})[0] == 422
    assert edge.callbacks.rows["acme"] == before


@pytest.mark.parametrize(
    "url", ["http://acme.example/", "acme.example", "https://me@acme.example/", "https://127.1/", "x"]
)
def test_a_url_that_nobody_may_reach_is_422(edge: Edge, url: str) -> None:
    """Those that the client refuses by their text; addresses behind names are the client's tests."""
    from mediajobs.adapters.http import WebHttp

    world = replace(edge.scene.world, http=WebHttp())
    edge.handler = wiring.notify_handler()._build(world)
    assert edge.call("POST", body={"url": url})[0] == 422
    assert edge.callbacks.rows == {}


@pytest.mark.parametrize(
    ("method", "path"), [("GET", PATH), ("POST", PATH), ("POST", PATH + "/rotate"), ("DELETE", PATH)]
)
def test_only_operators_pass(edge: Edge, method: str, path: str) -> None:
    """A tenant's own key may not even look; without a caller it is 401."""
    edge.call("POST", body={"url": URL})
    before = dict(edge.callbacks.rows)
    body = {"url": URL} if path == PATH and method == "POST" else {} if method == "POST" else None
    assert edge.call(method, path, body, scope="user")[0] == 403
    assert edge.call(method, path, body, scope=None)[0] == 401
    assert edge.callbacks.rows == before


@pytest.mark.parametrize("tenant", ["ACME", "a%2Fb", "a" * 51, "-a", "%C3%A4"])
def test_a_tenant_that_cannot_be_is_404(edge: Edge, tenant: str) -> None:
    """It becomes part of a filter and of keys."""
    assert edge.call("POST", f"/v1/callbacks/{tenant}", {"url": URL})[0] == 404
    assert edge.line.asked == []


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        (PATH, b"{", 400),
        (PATH, [], 400),
        (PATH, {}, 422),
        (PATH, {"url": 7}, 422),
        (PATH, {"url": "https://a.example/" + "a" * 3000}, 422),
        (PATH, {"url": URL, "secret": "mine"}, 422),
        (PATH + "/rotate", {"overlap_s": -1}, 422),
        (PATH + "/rotate", {"overlap_s": "60"}, 422),
        (PATH + "/rotate", {"overlap_s": 604_801}, 422),
    ],
)
def test_bodies_are_read_strictly(edge: Edge, path: str, body: object, status: int) -> None:
    edge.call("POST", body={"url": URL})
    assert edge.call("POST", path, body)[0] == status


def test_an_end_ends_all_and_leaves_what_was_to_be_seen(edge: Edge) -> None:
    """Rotating or ending it again is 404; registering begins anew with another secret."""
    _, made = edge.call("POST", body={"url": URL})
    status, ended = edge.call("DELETE")
    assert (status, ended["status"], ended["ended_by"], ended["secrets"]) == (200, "ended", "operator", [])
    assert edge.callbacks.heard == [("acme",), ()]
    assert edge.call("DELETE")[0] == edge.call("POST", PATH + "/rotate", {})[0] == 404
    assert edge.call("GET")[1]["status"] == "ended"
    _, again = edge.call("POST", body={"url": URL})
    assert again["secret"] != made["secret"]


def test_a_change_that_somebody_else_outran_is_told_to_come_again(edge: Edge) -> None:
    """Nothing is written over another's hand."""
    edge.call("POST", body={"url": URL})
    edge.callbacks.lose = 1
    status, told = edge.call("POST", PATH + "/rotate", {})
    assert (status, told["type"]) == (503, "urn:mediajobs:problem:unavailable")
    assert len(edge.callbacks.rows["acme"].secrets) == 1


def test_of_two_registrations_at_once_the_topic_hears_of_both(edge: Edge) -> None:
    """What one said is looked at again: another may have registered between its look and its word."""
    said = edge.callbacks.listen

    def listen(tenants: Any) -> None:
        if len(edge.callbacks.heard) == 0:
            edge.callbacks.rows["zeta"] = replace(edge.callbacks.rows["acme"], tenant="zeta")
        said(tenants)

    edge.callbacks.listen = listen  # type: ignore[method-assign]
    edge.call("POST", body={"url": URL})
    assert edge.callbacks.heard == [("acme",), ("acme", "zeta")]


def test_a_secret_that_nobody_was_shown_is_made_anew(edge: Edge) -> None:
    """The topic fails after the registration stands: sent again, the request must not answer without a secret."""
    listen = edge.callbacks.listen

    def fails(_: object) -> None:
        raise Retryable("subscribe: Throttled")

    edge.callbacks.listen = fails  # type: ignore[method-assign]
    assert edge.call("POST", body={"url": URL})[0] == 503
    assert edge.callbacks.registered() == ()
    edge.callbacks.listen = listen  # type: ignore[method-assign]
    status, made = edge.call("POST", body={"url": URL})
    assert (status, made["secret"]) == (200, edge.callbacks.rows["acme"].secrets[0].value)
    assert edge.callbacks.heard[-1] == ("acme",)


def test_a_move_that_the_topic_did_not_hear_of_keeps_its_secrets(edge: Edge) -> None:
    edge.call("POST", body={"url": URL})
    (secret,) = edge.callbacks.rows["acme"].secrets
    listen = edge.callbacks.listen

    def fails(_: object) -> None:
        raise Retryable("subscribe: Throttled")

    edge.callbacks.listen = fails  # type: ignore[method-assign]
    assert edge.call("POST", body={"url": URL + "2"})[0] == 503
    edge.callbacks.listen = listen  # type: ignore[method-assign]
    assert edge.callbacks.rows["acme"].secrets == (secret,)
    assert edge.callbacks.registered() == ("acme",)
