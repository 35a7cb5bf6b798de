"""What each vendor is sent: address, headers and body as it documents them."""

from __future__ import annotations

import base64
import hmac
import json
from typing import Any
from urllib.parse import quote

import pytest

from mediajobs.errors import ConfigurationError, Unprocessable
from mediajobs.jobs.events import AnswerKind
from mediajobs.messages import Request
from tests.contract.vendors import bfl, fal, kling, replicate
from tests.contract.vendors.bfl import BFL
from tests.contract.vendors.fal import FAL
from tests.contract.vendors.heygen import HEYGEN
from tests.contract.vendors.kling import KLING
from tests.contract.vendors.replicate import REPLICATE
from tests.contract.vendors.runway import RUNWAY
from tests.contract.vendors.shape import INPUT, WEBHOOK_URL, Vendor, Wire, says
from tests.fakes.jobs import NOW

REFERENCE = FAL.job().reference


def sent(vendor: Vendor, answer: Any, *, url: str | None = WEBHOOK_URL, **job: Any) -> Request:
    """The submit as it goes out."""
    wire = Wire(answer)
    made = vendor.made(wire)
    made.submit(made.request(vendor.job(**job), INPUT, url), "t", 1, NOW)
    return wire.submits[0]


def test_fal_takes_the_input_as_its_body_and_the_webhook_in_the_query() -> None:
    """And is told not to retry within."""
    request = sent(FAL, says(200, fal.queued()))
    assert request.url == f"https://queue.fal.run/fal-ai/flux/dev?fal_webhook={quote(WEBHOOK_URL, safe='')}"
    assert (request.headers["Authorization"], request.headers["X-Fal-No-Retry"]) == (f"Key {FAL.api_key}", "1")
    assert json.loads(request.body) == INPUT


@pytest.mark.parametrize(
    ("model", "app"),
    [("owner/app", "owner/app"), ("owner/app/a/b", "owner/app"), ("workflows/owner/flow/x", "workflows/owner/flow"),
     ("comfy/owner/flow", "comfy/owner/flow")],
)  # fmt: skip
def test_fal_drops_the_path_of_an_endpoint_when_it_is_asked(model: str, app: str) -> None:
    """As its own client does."""
    wire = Wire(says(202, fal.queued()))
    FAL.made(wire).poll(FAL.job(model=model), fal.ID)
    assert wire.gets[0].url == f"https://queue.fal.run/{app}/requests/{fal.ID}/status"


def test_replicate_takes_a_model_or_a_version_at_two_addresses() -> None:
    """And is told which events are wanted, where there is a URL for them."""
    official = sent(REPLICATE, says(201, replicate.prediction("starting")))
    assert official.url == "https://api.replicate.com/v1/models/acme/flux/predictions"
    assert json.loads(official.body) == {"input": INPUT, "webhook": WEBHOOK_URL, "webhook_events_filter": ["completed"]}
    version = REPLICATE.made(Wire()).models()[1]
    community = sent(REPLICATE, says(201, replicate.prediction("starting")), url=None, model=version)
    assert community.url == "https://api.replicate.com/v1/predictions"
    assert json.loads(community.body) == {"input": INPUT, "version": version.partition(":")[2]}


def test_runway_takes_its_version_and_the_models_endpoint() -> None:
    """No webhook goes anywhere."""
    request = sent(RUNWAY, says(200, {"id": "x"}))
    assert request.url == "https://api.dev.runwayml.com/v1/image_to_video"
    assert request.headers["X-Runway-Version"] == "2024-11-06"
    assert json.loads(request.body) == {**INPUT, "model": "gen4_turbo"}


def test_bfl_is_given_the_secret_that_it_signs_with() -> None:
    """It is no part of the request whose digest is kept; without one nothing is sent."""
    request = sent(BFL, says(200, {"id": bfl.ID}))
    assert request.url == "https://api.bfl.ai/v1/flux-2-pro"
    assert request.headers["x-key"] == BFL.api_key
    assert json.loads(request.body) == {**INPUT, "webhook_url": WEBHOOK_URL, "webhook_secret": bfl.SECRET}
    assert "webhook_secret" not in json.loads(sent(BFL, says(200, {"id": bfl.ID}), url=None).body)
    kept = BFL.secrets()
    kept.put("bfl", BFL.api_key)
    wire = Wire()
    made = BFL.made(wire, kept)
    answered = made.submit(made.request(BFL.job(), INPUT, WEBHOOK_URL), "t", 1, NOW)
    assert (answered.kind, wire.submits) == (AnswerKind.BLOCKED, [])
    with pytest.raises(Unprocessable, match=r"input\.webhook_secret"):
        made.check_input("flux-2-pro", {"webhook_secret": "x"})


def test_an_address_that_an_answer_named_is_for_that_job_alone() -> None:
    """Another id, which a person wants adopted, is asked for at the usual one."""
    job = BFL.job(poll_url=bfl.REGION)
    wire = Wire(says(200, bfl.result("Pending")), says(404, {}))
    made = BFL.made(wire)
    made.poll(job, bfl.ID)
    made.poll(job, "another-id")
    assert [request.url for request in wire.gets] == [bfl.REGION, "https://api.bfl.ai/v1/get_result?id=another-id"]


def test_kling_takes_our_reference_and_a_token_made_for_the_request() -> None:
    """HS256, half an hour, five seconds back; the secret key itself goes nowhere."""
    request = sent(KLING, says(200, kling.ok(kling.task("submitted"))))
    assert request.url == "https://api-singapore.klingai.com/v1/videos/text2video"
    body = {"model_name": "kling-v2-master", "callback_url": WEBHOOK_URL, "external_task_id": REFERENCE}
    assert json.loads(request.body) == {**INPUT, **body}
    word, token = request.headers["Authorization"].split(" ")
    signed, _, signature = token.rpartition(".")
    header, claims = (json.loads(base64.urlsafe_b64decode(part + "==")) for part in signed.split("."))
    assert (word, header) == ("Bearer", {"alg": "HS256", "typ": "JWT"})
    assert claims == {"iss": "access-key-one", "exp": NOW // 1000 + 1800, "nbf": NOW // 1000 - 5}
    right = hmac.digest(b"secret-key-one", signed.encode(), "sha256")
    assert base64.urlsafe_b64decode(signature + "=") == right
    assert "secret-key-one" not in repr(request)


def test_one_of_klings_models_stands_at_several_endpoints() -> None:
    """Callers know them by two names."""
    wire = Wire(says(200, kling.ok(kling.task("submitted"))), says(200, kling.ok(kling.task("processing"))))
    made, job = KLING.made(wire), KLING.job(model="kling-v2-image")
    made.submit(made.request(job, INPUT, None), "t", 1, NOW)
    made.poll(job, kling.ID)
    assert json.loads(wire.submits[0].body)["model_name"] == "kling-v2-master"
    assert wire.submits[0].url.endswith("/v1/videos/image2video")
    assert wire.gets[0].url.endswith(f"/v1/videos/image2video/{kling.ID}")


@pytest.mark.parametrize("key", ["only-one-part", "a:b", ":secret-key-one", "access-key-one:"])
def test_a_kling_key_of_another_form_is_an_operators_fault(key: str) -> None:
    """Nothing is sent, and nothing is asked."""
    kept = KLING.secrets()
    kept.put("kling", key)
    wire = Wire()
    made = KLING.made(wire, kept)
    assert made.submit(made.request(KLING.job(), INPUT, None), "t", 1, NOW).kind is AnswerKind.BLOCKED
    assert made.poll(KLING.job(), kling.ID).kind.value == "blocked"
    assert (wire.submits, wire.gets) == ([], [])
    with pytest.raises(ConfigurationError):
        made.credentials.headers(key)


def test_what_was_made_of_a_secret_is_kept_out_of_messages_too() -> None:
    """The vendor may repeat the token; only the last ones are remembered."""
    wire = Wire()
    made = KLING.made(wire)
    token = made.credentials.headers(KLING.api_key)["Authorization"].split(" ")[1]
    for text in ("access-key-one", "secret-key-one", token):
        assert text in made.credentials.seen
    for second in range(100):
        made.clock.advance(second)
        made.credentials.headers(KLING.api_key)
    assert len(made.credentials.seen) < 30
    assert "secret-key-one" in made.credentials.seen


def test_heygen_takes_our_reference_as_key_and_as_callback_id() -> None:
    """The same for each try of the submission."""
    request = sent(HEYGEN, says(200, {"data": {"video_id": "v"}}))
    assert request.url == "https://api.heygen.com/v3/videos"
    assert (request.headers["Idempotency-Key"], request.headers["X-Api-Key"]) == (REFERENCE, HEYGEN.api_key)
    assert json.loads(request.body) == {**INPUT, "callback_id": REFERENCE}


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("vendor", [FAL, REPLICATE, RUNWAY, BFL, KLING, HEYGEN], ids=lambda vendor: vendor.name)
def test_a_rotated_key_is_found_once_before_the_account_counts_as_blocked(vendor: Vendor, status: int) -> None:
    """Either status proves that nothing was accepted; BFL has no 401."""
    kept = vendor.secrets()
    kept.provider(vendor.name)
    kept.put(vendor.name, "newer-access-key:newer-secret-key", *vendor.webhook_secrets)
    accepted = vendor.submits[0].said[0]
    wire = Wire(says(status, {"detail": "no"}), accepted)
    made = vendor.made(wire, kept)
    assert made.submit(made.request(vendor.job(), INPUT, WEBHOOK_URL), "t", 1, NOW).kind is AnswerKind.ACCEPTED
    assert len(wire.submits) == 2
    wire = Wire(says(status, {"detail": "no"}))
    made = vendor.made(wire)
    assert made.submit(made.request(vendor.job(), INPUT, WEBHOOK_URL), "t", 1, NOW).kind is AnswerKind.BLOCKED
    assert len(wire.submits) == 1
