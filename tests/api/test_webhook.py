"""POST /v1/webhooks/…: exact bytes and every header value reach the step; its word is the answer."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from mediajobs.api import answers
from mediajobs.api import webhook as edge
from mediajobs.errors import BadRequest, NotFound, Unauthorized, Unavailable, WriteConflict
from mediajobs.messages import Delivery
from mediajobs.ports import World
from tests.api.events import context, document, header, problem, proxy
from tests.api.stubs import scene

REF = "abcdefghijklmnopqrstuvwx23.1.zyxwvutsrqponmlkjihgfedcba"
PATH = f"/v1/webhooks/sim/{REF}"


@dataclass
class Takes:
    """A step that keeps what it is given."""

    error: Exception | None = None
    taken: list[Delivery] = field(default_factory=list)

    def challenge(self, world: World, delivery: Delivery) -> dict[str, str] | None:
        return None

    def take(self, world: World, delivery: Delivery) -> tuple[int, str]:
        self.taken.append(delivery)
        if self.error:
            raise self.error
        return 200, "24s"


def deliver(step: Takes, event: dict[str, Any]) -> dict[str, Any]:
    return edge.build(scene().world, step)(event, context())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b'{"id": "p-1",  "caption":"caf\\u00e9 \xf0\x9f\x8e\xac"}\n',
        b"\xef\xbb\xbf{}",
        b"\xff\xfe\x00",
        b"[" * 5000,
        b"x" * 300_000,
    ],
)
@pytest.mark.parametrize("kind", [None, "application/octet-stream", "application/cloudevents+json", "text/plain"])
def test_the_step_gets_the_bytes_that_were_sent(body: bytes, kind: str | None) -> None:
    """Whatever the gateway wraps them in: a signature covers them."""
    step = Takes()
    headers: dict[str, str | list[str]] = {} if kind is None else {"Content-Type": kind}
    answer = deliver(step, proxy("POST", PATH, body=body, headers=headers, caller=None))
    assert answer["statusCode"] == 200
    answers.Received.model_validate(document(answer))
    assert step.taken[0].body == body


def test_text_that_was_not_wrapped_is_taken_as_it_is() -> None:
    """An emulator or a text media type hands over text; a word for true does not unwrap it."""
    text = '{"a":"é",\n "b": 1}\n'
    for flag in (False, None, "false", "true"):
        step = Takes()
        event = proxy("POST", PATH, body=b"x", caller=None) | {"body": text, "isBase64Encoded": flag}
        assert deliver(step, event)["statusCode"] == 200
        assert step.taken[0].body == text.encode()


@pytest.mark.parametrize("body", ["%%%", "YQ", "é"])
def test_broken_base64_is_a_400(body: str) -> None:
    """Never a 500, and the step is not asked."""
    step = Takes()
    event = proxy("POST", PATH, body=b"x", caller=None) | {"body": body, "isBase64Encoded": True}
    problem(deliver(step, event), 400, "bad-request")
    assert not step.taken


def test_all_values_of_a_header_reach_the_step() -> None:
    """Names in lower case, so that a verifier need not care."""
    step = Takes()
    headers: dict[str, str | list[str]] = {
        "Webhook-Id": "msg_1",
        "WEBHOOK-SIGNATURE": ["v1,old", "v1,new"],
    }
    deliver(step, proxy("POST", PATH, body=b"{}", headers=headers, caller=None))
    assert step.taken[0].headers == {"webhook-id": ("msg_1",), "webhook-signature": ("v1,old", "v1,new")}


def test_the_reference_is_what_the_url_says() -> None:
    """Present on one route and absent on the other."""
    step = Takes()
    deliver(step, proxy("POST", PATH, body=b"{}", caller=None))
    deliver(step, proxy("POST", "/v1/webhooks/sim", body=b"{}", caller=None))
    assert [(taken.provider, taken.ref) for taken in step.taken] == [("sim", REF), ("sim", None)]


@pytest.mark.parametrize(
    ("error", "status", "slug", "wait"),
    [
        (Unauthorized("not authorized"), 401, "unauthorized", None),
        (BadRequest("no id"), 400, "bad-request", None),
        (NotFound("no such provider is configured"), 404, "not-found", None),
        (Unavailable("not known yet", retry_after_s=30), 503, "unavailable", "30"),
        (WriteConflict("busy"), 503, "unavailable", "1"),
        (AttributeError("'list' object has no attribute 'get'"), 500, "internal", None),
    ],
)
def test_each_refusal_has_its_status(error: Exception, status: int, slug: str, wait: str | None) -> None:
    """A provider gives up on 4xx and tries again on 5xx, so they must not be mixed up."""
    answer = deliver(Takes(error), proxy("POST", PATH, body=b"{}", caller=None))
    problem(answer, status, slug)
    assert header(answer, "Retry-After") == wait


def test_no_line_of_the_log_holds_the_urls_token() -> None:
    """Whoever reads logs could end jobs with it."""
    here = scene()
    event = proxy("POST", PATH, body=b"{}", caller=None)
    edge.build(here.world, Takes(RuntimeError("x")))(event, context())
    assert here.log()
    assert REF not in here.lines.getvalue()


def test_a_real_signed_body_survives_both_wrappings() -> None:
    """The same delivery as text and as base64 is the same delivery."""
    body = json.dumps({"id": "p-1", "status": "succeeded"}, indent=1).encode()
    wrapped, plain = Takes(), Takes()
    deliver(wrapped, proxy("POST", PATH, body=body, caller=None))
    deliver(plain, proxy("POST", PATH, body=body, caller=None, binary=False))
    assert wrapped.taken == plain.taken
    assert base64.b64encode(wrapped.taken[0].body) == base64.b64encode(body)
