"""AppSync's questions to authorize, as AWS asks them: who may connect, who may subscribe to what, who may publish."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from mediajobs.api import authorizer as edge
from mediajobs.errors import Retryable
from mediajobs.jobs.model import request_id
from mediajobs.signatures.channels import channel_token
from mediajobs.steps import authorize as step
from tests.api.events import context
from tests.fakes.secrets import TOKENS
from tests.steps.kit import Stage

JOB, OTHER = request_id("acme", "first"), request_id("acme", "second")
OWN = f"/jobs/acme/{JOB}"
HOUR_S = 3600


def question(operation: str, channel: str | None, token: Any) -> dict[str, Any]:
    """In the form that AppSync Events sends."""
    return {
        "authorizationToken": token,
        "requestContext": {
            "apiId": "abcdefghijklmnopqrstuvwxyz",
            "accountId": "123456789012",
            "requestId": "5b0a5a0c-7a63-4a0e-8a57-6d2f7b0f9d11",
            "operation": operation,
            "channelNamespaceName": channel.strip("/").split("/")[0] if channel else None,
            "channel": channel,
        },
        "requestHeaders": {"user-agent": "a browser"},
    }


def token(stage: Stage, tenant: str = "acme", job: str = JOB, seconds: int = HOUR_S, key: bytes = TOKENS) -> str:
    return channel_token(key, tenant, job, stage.clock.now() // 1000 + seconds)


def allowed(stage: Stage, operation: str, channel: str | None, given: Any) -> bool:
    answer = edge.build(stage.world, step)(question(operation, channel, given), context())
    assert answer["ttlOverride"] == 0, "an answer that is kept may be used for another channel"
    assert set(answer) == {"isAuthorized", "ttlOverride"}
    found: bool = answer["isAuthorized"]
    return found


def test_a_token_connects_and_subscribes_to_its_own_channel() -> None:
    stage = Stage()
    assert allowed(stage, "EVENT_CONNECT", None, token(stage)) is True
    assert allowed(stage, "EVENT_CONNECT", "", token(stage)) is True  # no page of AWS says how "none" is written
    assert allowed(stage, "EVENT_SUBSCRIBE", OWN, token(stage)) is True
    assert allowed(stage, "EVENT_SUBSCRIBE", OWN.removeprefix("/"), token(stage)) is True


ELSEWHERE = [
    "/jobs/*",
    "/*",
    "*",
    "/jobs/acme/*",
    "/jobs/acme",
    "/jobs",
    "/",
    "",
    f"/jobs/acme/{OTHER}",
    f"/jobs/rival/{JOB}",
    f"/jobs/*/{JOB}",
    f"/jobs/acme/{JOB}/*",
    f"/other/acme/{JOB}",
    # The same place written otherwise: whatever AppSync makes of it, it is not the one that was signed.
    f"{OWN}/",
    f"/{OWN}",
    OWN.replace("/acme", "//acme"),
    OWN.upper(),
    OWN.replace("jobs", "Jobs"),
    quote(OWN, safe=""),
    OWN.replace("/acme/", "%2Facme%2F"),
    OWN.replace("acme", "%61cme"),
    OWN.replace("acme", "a\u0441me"),
    OWN.replace("acme", "ａｃｍｅ"),
    f"{OWN}\x00",
    f"{OWN} ",
    f"{OWN}\n",
    f"{OWN}?x=1",
    f"{OWN}#",
    "/jobs/rival/../acme/" + JOB,
    "/jobs/%2A",
    "/jobs/%252A",
    "/jobs/\uff0a",
    "/jobs/acme/**",
    OWN.replace("/", "\\"),
]


@pytest.mark.parametrize("channel", ELSEWHERE)
def test_a_token_opens_nothing_else_however_it_is_written(channel: str) -> None:
    """Wildcards, other tenants, other jobs, and every encoding of them or of its own."""
    stage = Stage()
    assert allowed(stage, "EVENT_SUBSCRIBE", channel, token(stage)) is False
    assert stage.metrics.counted["ListenersRefused"] == 1


@pytest.mark.parametrize(
    "given", [None, "", "x", 7, [], {}, "mj_" + "a" * 40, "AWS4-HMAC-SHA256 Credential=x", "a" * 100_000, "\ud800"]
)
@pytest.mark.parametrize(("operation", "channel"), [("EVENT_CONNECT", None), ("EVENT_SUBSCRIBE", OWN)])
def test_a_wrong_token_opens_nothing(operation: str, channel: str | None, given: Any) -> None:
    assert allowed(Stage(), operation, channel, given) is False


@pytest.mark.parametrize(("operation", "channel"), [("EVENT_CONNECT", None), ("EVENT_SUBSCRIBE", OWN)])
def test_an_expired_token_opens_nothing(operation: str, channel: str | None) -> None:
    """Nor does one made with another key, or for another job."""
    stage = Stage()
    made = token(stage)
    stage.clock.advance(HOUR_S - 1)
    assert allowed(stage, operation, channel, made) is True
    stage.clock.advance(1)
    assert allowed(stage, operation, channel, made) is False
    assert allowed(stage, operation, channel, token(stage, key=b"another key of thirty-two bytes!")) is False


@pytest.mark.parametrize("given", [token(Stage(), "rival"), token(Stage(), job=OTHER)])
def test_the_token_of_another_job_opens_no_other_channel(given: str) -> None:
    assert allowed(Stage(), "EVENT_SUBSCRIBE", OWN, given) is False


@pytest.mark.parametrize("operation", ["EVENT_PUBLISH", "EVENT_UNSUBSCRIBE", "SUBSCRIBE", "", "None"])
def test_no_token_publishes(operation: str) -> None:
    """Only functions do, by their roles. Whatever else AppSync may come to ask is refused as well."""
    stage = Stage()
    assert allowed(stage, operation, OWN, token(stage)) is False
    assert allowed(stage, operation, None, token(stage)) is False


def test_connecting_is_for_no_channel_and_subscribing_for_one() -> None:
    stage = Stage()
    assert allowed(stage, "EVENT_CONNECT", OWN, token(stage)) is False
    assert allowed(stage, "EVENT_SUBSCRIBE", None, token(stage)) is False


def test_a_secret_that_was_rotated_is_fetched_once() -> None:
    """A token made with the new one is good at once."""
    stage = Stage()
    old, new = TOKENS, TOKENS[::-1]
    made = token(stage, key=new)
    served = [old, new]

    def tokens(*, refresh: bool = False) -> bytes:
        return served[1 if refresh else 0]

    stage.secrets.tokens = tokens  # type: ignore[method-assign]
    assert allowed(stage, "EVENT_SUBSCRIBE", OWN, made) is True


def test_a_secret_that_cannot_be_read_opens_nothing() -> None:
    """AppSync takes a function's error for a refusal, and tries again when asked."""
    stage = Stage()

    def tokens(**_: bool) -> bytes:
        raise Retryable("secretsmanager: 500")

    stage.secrets.tokens = tokens  # type: ignore[method-assign]
    with pytest.raises(Retryable):
        allowed(stage, "EVENT_SUBSCRIBE", OWN, token(stage))


def test_a_question_of_api_gateway_is_never_taken_for_one_of_appsync() -> None:
    """Whatever a client puts into its request, it does not get another kind of answer."""
    stage = Stage()
    event = {"methodArn": "arn:aws:execute-api:x:y:z/api/GET/", "headers": {}, "multiValueHeaders": {}}
    with pytest.raises(Exception, match=r"\AUnauthorized\Z"):
        edge.build(stage.world, step)(event | question("EVENT_CONNECT", None, token(stage)), context())
