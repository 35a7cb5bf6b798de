"""Anybody can POST to a webhook's address: hostile input is 401, signed but unusable 400, and nothing is written."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest

from local.stack import Stack
from tests.e2e.client import Api, Header, is_problem, send
from tests.e2e.crowd import SPOKEN_OF, Crowd
from tests.e2e.forger import Forger, forger_of
from tests.e2e.truth import Provider

pytestmark = pytest.mark.usefixtures("untouched")

BODY = {"type": "job.failed", "data": {"id": "job_x", "status": "failed", "error": {"code": "x", "message": "y"}}}


@pytest.fixture(scope="module")
def forger(stack: Stack, crowd: Crowd, caller: Api, provider: Provider) -> Forger:
    """The address is that of a job that has succeeded, so that even what gets through could change it no more."""
    return forged(stack, crowd["png"], caller, provider)


@pytest.fixture(scope="module")
def insider(stack: Stack, crowd: Crowd, caller: Api, provider: Provider) -> Forger:
    """The same for the one job about which events are rightly signed, and so are heard and noted."""
    return forged(stack, crowd[SPOKEN_OF], caller, provider)


def forged(stack: Stack, job_id: str, caller: Api, provider: Provider) -> Forger:
    caller.ended(job_id)
    return forger_of(stack, job_id, provider)


def test_rightly_signed_event_is_taken(insider: Forger) -> None:
    """The forger's own tools are right: what is refused below is refused for the one thing spoiled."""
    body = json.dumps(BODY).encode()
    assert insider.post(body, insider.headers(body)).status == 200


Spoil = Callable[[dict[str, str]], dict[str, str]]
SPOILED: dict[str, Spoil] = {
    "no headers": lambda _: {},
    "no signature": lambda h: {**h, "webhook-signature": ""},
    "no id": lambda h: {k: v for k, v in h.items() if k != "webhook-id"},
    "another id": lambda h: {**h, "webhook-id": "msg_2"},
    "another time": lambda h: {**h, "webhook-timestamp": str(int(time.time()) - 1)},
    "another version": lambda h: {**h, "webhook-signature": h["webhook-signature"].replace("v1,", "v2,")},
    "version alone": lambda h: {**h, "webhook-signature": "v1"},
    "comma alone": lambda h: {**h, "webhook-signature": ","},
    "not base64": lambda h: {**h, "webhook-signature": "v1,!!!!"},
    "empty digest": lambda h: {**h, "webhook-signature": "v1,"},
    "two thousand": lambda h: {**h, "webhook-signature": " ".join(["v1,AAAA"] * 2000)},
    "cut": lambda h: {**h, "webhook-signature": h["webhook-signature"][:-2]},
}


@pytest.mark.parametrize("name", SPOILED)
def test_spoiled_signature(forger: Forger, name: str) -> None:
    """401, without a word about which part was wrong."""
    body = json.dumps(BODY).encode()
    answer = forger.post(body, SPOILED[name](forger.headers(body)))
    assert is_problem(answer, 401, "unauthorized"), answer


@pytest.mark.parametrize("shift", [-3600, -330, 330, 3600, 10**9, pytest.param(-int(time.time()), id="1970")])
def test_time_outside_the_window(forger: Forger, shift: int) -> None:
    """401 for what was signed too long ago, and for what was signed in the future."""
    body = json.dumps(BODY).encode()
    headers = forger.headers(body, moment=str(int(time.time()) + shift))
    assert is_problem(forger.post(body, headers), 401, "unauthorized")


@pytest.mark.parametrize("moment", ["", "now", "nan", "inf", "1e30", "-1", "+1", "0x10", "9" * 400, "1.5"])
def test_time_that_is_none(forger: Forger, moment: str) -> None:
    """401, never an exception."""
    body = json.dumps(BODY).encode()
    assert is_problem(forger.post(body, forger.headers(body, moment=moment)), 401, "unauthorized")


def test_body_that_was_changed(forger: Forger) -> None:
    """One byte more than was signed is 401."""
    body = json.dumps(BODY).encode()
    assert is_problem(forger.post(body + b" ", forger.headers(body)), 401, "unauthorized")


UNUSABLE = {
    "nothing": b"",
    "null": b"null",
    "a list": b"[]",
    "a number": b"42",
    "a text": b'"x"',
    "half an object": b'{"data":',
    "not UTF-8": b"\xff\xfe",
    "deep nesting": b"[" * 5000 + b"]" * 5000,
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_signed_but_unusable(forger: Forger, name: str) -> None:
    """400, so that the provider's retries can stop; never a 500."""
    body = UNUSABLE[name]
    answer = forger.post(body, forger.headers(body))
    assert is_problem(answer, 400, "bad-request"), answer


ODD = {
    "no data": b"{}",
    "id null": b'{"data":{"id":null,"status":"completed"}}',
    "id a number": b'{"data":{"id":7,"status":"completed"}}',
    "id empty": b'{"data":{"id":"","status":"completed"}}',
    "id of three kilobytes": b'{"data":{"id":"' + b"x" * 3000 + b'","status":"completed"}}',
    "outputs of another kind": b'{"data":{"id":"x","status":"completed","outputs":{"url":5}}}',
    "error of another kind": b'{"data":{"id":"x","status":"failed","error":{"a":[]}}}',
    "status twice": b'{"data":{"id":"x","status":"completed","status":"failed"}}',
    "status an object": b'{"data":{"id":"x","status":{"a":1}}}',
    "not a number": b'{"data":{"id":"x","status":"processing","progress":NaN}}',
    "a huge number": b'{"data":{"id":"x","status":"processing","progress":1e400}}',
    "a byte order mark": b"\xef\xbb\xbf" + json.dumps(BODY).encode(),
    "a megabyte": b'{"data":{"id":"x","status":"processing","note":"' + b"a" * 900_000 + b'"}}',
}


@pytest.mark.parametrize("name", ODD)
def test_signed_but_odd(insider: Forger, name: str) -> None:
    """Taken without effect or refused, by the one rule that it is never our error."""
    body = ODD[name]
    answer = insider.post(body, insider.headers(body))
    assert answer.status == 200 or is_problem(answer, 400, "bad-request") or is_problem(answer, 413, "too-large"), (
        answer.status,
        answer.body[:300],
    )


@pytest.mark.parametrize("content_type", ["application/octet-stream", "text/plain", "application/cloudevents+json"])
def test_bytes_are_those_that_were_signed(insider: Forger, content_type: str) -> None:
    """Whatever the type says, the gateway passes the body on unchanged."""
    body = b'{"data": {"id":"job_x",  "status":"processing", "word":"\\u00e9 \xf0\x9f\x98\x80"}}\n'
    lines: list[Header] = [("Content-Type", content_type), *insider.headers(body).items()]
    answer = send(insider.url, "POST", f"/v1/webhooks/sim/{insider.ref}", lines, body)
    assert answer.status == 200, answer


@pytest.mark.parametrize("ref", ["x", "a.1.b", "%00", "..", "a" * 3000])
def test_address_that_we_did_not_make(forger: Forger, ref: str) -> None:
    """401 even for a rightly signed event."""
    body = json.dumps(BODY).encode()
    answer = forger.post(body, forger.headers(body), f"/v1/webhooks/sim/{ref}")
    assert is_problem(answer, 401, "unauthorized"), answer


def test_address_of_another_submission_or_provider(forger: Forger, provider: Provider) -> None:
    """A token holds for its own submission, and an event for the provider that signed it."""
    body = json.dumps(BODY).encode()
    second = forger.ref.replace(".1.", ".2.")
    assert is_problem(forger.post(body, forger.headers(body), f"/v1/webhooks/sim/{second}"), 401, "unauthorized")
    foreign = Forger(forger.url, forger.ref, provider.secrets("sim-nokey"), forger.token_key)
    assert is_problem(foreign.post(body, foreign.headers(body)), 401, "unauthorized")
    path = f"/v1/webhooks/sim-nokey/{forger.ref}"
    assert is_problem(foreign.post(body, foreign.headers(body), path), 401, "unauthorized")


def test_provider_that_is_none(forger: Forger) -> None:
    """404: nobody of that name is configured."""
    body = json.dumps(BODY).encode()
    answer = forger.post(body, forger.headers(body), f"/v1/webhooks/nobody/{forger.ref}")
    assert is_problem(answer, 404, "not-found")
