"""Hostile requests of every shape: an answer of ours, below 500, and nothing written."""

from __future__ import annotations

import base64
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mediajobs.api import jobs as jobs_edge
from mediajobs.api import submit as submit_edge
from mediajobs.api import webhook as webhook_edge
from mediajobs.errors import Unauthorized
from mediajobs.messages import Delivery
from mediajobs.ports import World
from mediajobs.steps import jobs, submit
from tests.api.events import OPERATOR, context, document, header, proxy
from tests.api.stubs import JOB_ID, scene


class Refuses:
    """Every delivery is wrongly signed."""

    def challenge(self, world: World, delivery: Delivery) -> dict[str, str] | None:
        return None

    def take(self, world: World, delivery: Delivery) -> tuple[int, str]:
        raise Unauthorized("not authorized")


HERE = scene()
HANDLERS = {
    "submit": submit_edge.build(HERE.world, submit),
    "jobs": jobs_edge.build(HERE.world, jobs),
    "webhook": webhook_edge.build(HERE.world, Refuses()),
}
ROUTES = [
    ("submit", "POST", "/v1/jobs"),
    ("jobs", "GET", "/v1/jobs"),
    ("jobs", "GET", f"/v1/jobs/{JOB_ID}"),
    ("jobs", "POST", f"/v1/jobs/{JOB_ID}/cancel"),
    ("jobs", "POST", f"/v1/jobs/{JOB_ID}/resolve"),
    ("jobs", "GET", "/v1/providers/sim"),
    ("jobs", "POST", "/v1/providers/nobody"),
    ("webhook", "POST", "/v1/webhooks/sim"),
    ("webhook", "POST", "/v1/webhooks/sim/ref"),
]

names = st.sampled_from(["Idempotency-Key", "idempotency-key", "Content-Type", "X-API-Key", "Webhook-Id"]) | st.text()
values = st.text() | st.lists(st.text() | st.none(), max_size=3) | st.none() | st.integers()
header_maps = st.none() | st.dictionaries(names, values, max_size=4)
words = st.dictionaries(st.sampled_from(["limit", "cursor", "attention", "x"]), st.text() | st.none(), max_size=3)
fragments = st.lists(
    st.sampled_from(
        ["{", "}", "[", "]", ":", ",", '"', "\\", "1e400", "NaN", "-0.0", "1.5", "null", "true", '"input"',
         '"provider"', '"sim"', '"model"', '"video-1"', '"prompt"', '"\\ud800"', "\ufeff", " ", "9" * 400, "\x00", "é"]
    ),
    max_size=40,
).map("".join)  # fmt: skip
bodies = (
    st.none() | st.binary() | fragments.map(str.encode) | st.text().map(lambda text: text.encode("utf-8", "ignore"))
)
flags = st.sampled_from([True, False, None, "true", "false", 1, 0, "", []])


@settings(max_examples=400, deadline=None)
@given(
    route=st.sampled_from(ROUTES),
    body=bodies,
    raw=st.none() | st.text() | st.integers() | st.lists(st.integers()),
    wrapped=st.booleans(),
    flag=flags,
    several=header_maps,
    single=header_maps,
    query=st.none() | words,
    with_key=st.booleans(),
)
def test_no_request_gets_a_500(
    *,
    route: tuple[str, str, str],
    body: bytes | None,
    raw: Any,
    wrapped: bool,
    flag: Any,
    several: Any,
    single: Any,
    query: Any,
    with_key: bool,
) -> None:
    """And each refusal is a problem with the status that its body names."""
    function, method, path = route
    event = proxy(method, path, caller=OPERATOR)
    event["body"] = base64.b64encode(body).decode() if wrapped and body is not None else raw
    event["isBase64Encoded"] = True if wrapped else flag
    event["multiValueHeaders"] = (several or {}) | ({"Idempotency-Key": ["k"]} if with_key else {})
    event["headers"] = single
    event["queryStringParameters"] = query
    answer = HANDLERS[function](event, context())
    assert 200 <= answer["statusCode"] < 500, answer
    if answer["statusCode"] >= 400:
        assert header(answer, "Content-Type") == "application/problem+json"
        assert document(answer)["status"] == answer["statusCode"]
    assert not HERE.store.jobs


@settings(max_examples=200, deadline=None)
@given(
    parameters=st.none() | st.dictionaries(st.sampled_from(["id", "provider", "ref"]), st.text() | st.none()),
    path=st.text(max_size=60).map(lambda rest: f"/v1/jobs/{rest}"),
    method=st.sampled_from(["GET", "POST", "PUT", "HEAD", "OPTIONS"]),
)
def test_no_path_gets_a_500(parameters: Any, path: str, method: str) -> None:
    """Whatever the gateway made of it."""
    event = proxy("GET", "/v1/jobs", caller=OPERATOR) | {"httpMethod": method, "path": path}
    event["pathParameters"] = parameters
    answer = HANDLERS["jobs"](event, context())
    assert 200 <= answer["statusCode"] < 500, answer
