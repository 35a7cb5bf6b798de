"""Webhooks of real vendors through the whole function: who is let in, what is asked, and what a job comes to."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from mediajobs.jobs.events import Answered, AnswerKind, Traits
from mediajobs.jobs.model import Attempt
from mediajobs.jobs.states import Outcome, State
from mediajobs.steps.apply import apply
from tests.contract.vendors import bfl, fal, heygen, kling, replicate
from tests.contract.vendors.bfl import BFL
from tests.contract.vendors.fal import FAL
from tests.contract.vendors.heygen import HEYGEN
from tests.contract.vendors.kling import KLING
from tests.contract.vendors.replicate import REPLICATE
from tests.contract.vendors.shape import says
from tests.fakes.jobs import NOW
from tests.unit.providers.vendors.kit import Intake, intake

THIN = """
[providers.thin]
adapter = "generic"
base_url = "https://api.thin.example"
[providers.thin.submit]
path = "/v1/responses"
[providers.thin.poll]
path = "/v1/responses/{id}"
[providers.thin.read]
outputs = "output[].url"
[providers.thin.webhook]
data = "data"
confirm = true
challenge = "challenge"
[providers.thin.statuses]
in_progress = "running"
completed = "succeeded"
failed = "failed"
[providers.thin.models]
one = { kind = "image" }
"""


def test_a_trusted_event_settles_its_job_at_once() -> None:
    """No question is asked."""
    here = intake(FAL)
    job = here.bound(FAL)
    assert here.deliver(FAL, fal.event(payload={"images": [fal.IMAGE]}), here.path(job)) == (200, {"verdict": "24s"})
    assert here.state(job) is State.STORING
    assert here.wire.gets == []


def test_an_event_without_its_payload_is_completed_by_a_get() -> None:
    """fal: OK with payload_error."""
    here = intake(FAL, answers=(fal.DONE, says(200, {"images": [fal.IMAGE]})))
    job = here.bound(FAL)
    status, _ = here.deliver(FAL, fal.event(payload=None, payload_error="too odd"), here.path(job))
    assert (status, here.state(job)) == (200, State.STORING)
    stored = here.world.store.load(job.id)
    assert stored is not None
    assert [link.url for link in stored.links] == [fal.LINK]


def test_the_same_id_with_another_body_is_not_applied_over_the_first() -> None:
    """CASES 17 d: both are rightly signed; the second is a replay and is noted."""
    here = intake(FAL)
    job = here.bound(FAL)
    here.deliver(FAL, fal.event(payload={"images": [fal.IMAGE]}), here.path(job))
    second = here.deliver(FAL, fal.event(status="ERROR", error="no", payload=None), here.path(job))
    assert second == (200, {"verdict": "replay"})
    assert here.state(job) is State.STORING
    assert len(here.world.store.events(job.id)) == 1


@pytest.mark.parametrize(
    ("vendor", "body", "answer"),
    [
        (BFL, {"id": bfl.ID, "status": "Ready", "result": {"sample": "https://evil.example/x"}}, says(200, bfl.DONE)),
        (KLING, kling.DONE, says(200, kling.ok(kling.DONE))),
    ],
    ids=["bfl", "kling"],
)
def test_a_hint_is_confirmed_by_a_get_and_only_that_is_believed(vendor: Any, body: Any, answer: Any) -> None:
    """Its links too: a forged or repeated event leads to what the provider says now."""
    here = intake(vendor, answers=(answer,))
    job = here.bound(vendor)
    assert here.deliver(vendor, body, here.path(job))[0] == 200
    assert (here.state(job), len(here.wire.gets)) == (State.STORING, 1)
    stored = here.world.store.load(job.id)
    assert stored is not None
    assert "evil" not in repr(stored.links)


def test_a_hint_that_is_not_true_changes_nothing() -> None:
    """The provider says that it still runs, or nothing at all."""
    here = intake(KLING, answers=(says(200, kling.ok(kling.task("processing"))), says(502, raw=b"")))
    job = here.bound(KLING)
    assert here.deliver(KLING, kling.task("failed"), here.path(job))[0] == 200
    assert here.state(job) is State.RUNNING
    status, problem = here.deliver(KLING, kling.task("failed"), here.path(job))
    assert (status, problem["type"].rsplit("/")[-1]) == (503, problem["type"].rsplit("/")[-1])
    assert here.state(job) is State.RUNNING


def test_a_hint_about_another_job_of_our_account_is_not_believed() -> None:
    """Whoever has the URL can name any id; the provider's answer says whose it is."""
    done = {**kling.DONE, "task_info": {"external_task_id": "b" * 26 + ".1.incarnation22"}}
    here = intake(KLING, answers=(says(200, kling.ok(done)),))
    job = here.put("kling", KLING.model)
    assert here.deliver(KLING, kling.DONE, here.path(job))[0] == 200
    assert here.state(job) is State.SUBMITTING


@pytest.mark.parametrize("vendor", [KLING, BFL, FAL, REPLICATE, HEYGEN], ids=lambda vendor: vendor.name)
def test_a_url_that_we_did_not_make_is_a_401(vendor: Any) -> None:
    """A token of another job, of another submission, of another provider, or of another form."""
    here = intake(KLING, BFL, FAL, REPLICATE, HEYGEN)
    job, other = here.bound(vendor), here.bound(vendor, "second")
    token = here.path(other).rpartition(".")[2]
    mine = here.path(job)
    stem = mine.rpartition(".")[0]
    elsewhere = mine.replace(f"/{vendor.name}/", "/runway/")
    for path in (f"{stem}.{token}", mine.replace(".1.", ".2."), f"{stem}.{'a' * 26}", f"/v1/webhooks/{vendor.name}/x"):
        status, problem = here.deliver(vendor, vendor.webhooks[0].body, path)
        assert (status, problem["detail"]) == (401, "not authorized"), path
    assert here.deliver(vendor, vendor.webhooks[0].body, elsewhere)[0] == 404
    assert here.state(job) is State.RUNNING
    assert here.wire.gets == []
    assert {line["reason"] for line in here.refusals()} == {"url token", "the URL's reference has another form"}


def test_who_proves_nothing_writes_nothing() -> None:
    """An unsigned delivery for a job that is not there leaves no row behind, and is no question to the provider."""
    here = intake(KLING)
    gone = replace(here.bound(KLING), id="c" * 26)
    before = repr(vars(here.scene.store))
    for path in (here.path(gone), "/v1/webhooks/kling"):
        assert here.post(path, kling.DONE)[0] == 401
    assert repr(vars(here.scene.store)) == before
    assert here.wire.gets == []
    assert [line["provider"] for line in here.refusals()] == ["kling", "kling"]


def test_a_signed_event_for_a_job_that_is_not_there_may_come_again() -> None:
    """For its grace time; then it is taken and counted."""
    here = intake(REPLICATE)
    assert here.deliver(REPLICATE, replicate.DONE, "/v1/webhooks/replicate")[0] == 503
    here.world.clock.advance(601)  # type: ignore[attr-defined]
    later = here.world.clock.now()
    assert here.deliver(REPLICATE, replicate.DONE, "/v1/webhooks/replicate", later) == (200, {"verdict": "unknown"})


def test_an_event_at_the_accounts_url_finds_its_job_by_our_reference() -> None:
    """Before the answer to the submit came: it binds the job."""
    here = intake(HEYGEN, answers=(says(200, heygen.video("processing")),))
    job = here.put("heygen", HEYGEN.model)
    body = {"event_type": "avatar_video.success", "event_data": {"video_id": heygen.ID, "callback_id": job.reference}}
    assert here.deliver(HEYGEN, body, "/v1/webhooks/heygen")[0] == 200
    assert here.state(job) is State.RUNNING
    assert here.world.store.bound("heygen", heygen.ID) == job.id


def test_an_event_at_the_accounts_url_finds_its_job_by_the_providers_id() -> None:
    """That id is bound before the head says running, so an event never comes between."""
    here = intake(HEYGEN, answers=(says(200, heygen.video("completed", video_url=heygen.LINK)),))
    attempt = Attempt(no=1, outcome=Outcome.OPEN, token="t", started=NOW, lease_until=NOW + 60_000, digest="d" * 24)
    job = here.put("heygen", HEYGEN.model, attempt=attempt, first_sent_at=NOW)
    traits = here.world.providers.get("heygen").traits(HEYGEN.model)
    assert traits.account_webhooks
    answer = Answered(kind=AnswerKind.ACCEPTED, token="t", submission=1, provider_job_id=heygen.ID)
    applied = apply(here.world, job, answer, traits)
    assert (applied.job.state, here.world.store.bound("heygen", heygen.ID)) == (State.RUNNING, job.id)
    body = {"event_type": "avatar_video.success", "event_data": {"video_id": heygen.ID}}
    assert here.deliver(HEYGEN, body, "/v1/webhooks/heygen")[0] == 200
    assert here.state(job) is State.STORING


def test_where_each_job_has_a_url_an_accepted_id_is_not_bound_apart() -> None:
    """It would cost a write unit for nothing."""
    here = intake(FAL)
    attempt = Attempt(no=1, outcome=Outcome.OPEN, token="t", started=NOW, lease_until=NOW + 60_000, digest="d" * 24)
    job = here.put("fal", FAL.model, attempt=attempt, first_sent_at=NOW)
    answer = Answered(kind=AnswerKind.ACCEPTED, token="t", submission=1, provider_job_id=fal.ID)
    traits: Traits = here.world.providers.get("fal").traits(FAL.model)
    assert apply(here.world, job, answer, traits).job.state is State.RUNNING
    assert here.world.store.bound("fal", fal.ID) is None


def test_a_poll_url_that_an_answer_named_stays_with_the_job() -> None:
    """Until the job is bound to another id."""
    here = intake(BFL)
    attempt = Attempt(no=1, outcome=Outcome.OPEN, token="t", started=NOW, lease_until=NOW + 60_000, digest="d" * 24)
    job = here.put("bfl", BFL.model, attempt=attempt, first_sent_at=NOW)
    answer = Answered(kind=AnswerKind.ACCEPTED, token="t", submission=1, provider_job_id=bfl.ID, poll_url=bfl.REGION)
    bound = apply(here.world, job, answer, here.world.providers.get("bfl").traits(BFL.model)).job
    assert bound.poll_url == bfl.REGION
    kept = here.world.store.load(job.id)
    assert kept is not None
    assert kept.poll_url == bfl.REGION


@pytest.fixture
def thin() -> Intake:
    here = intake(
        tables=THIN,
        answers=(says(200, {"id": "r-1", "status": "completed", "output": [{"url": "https://a.example/1"}]}),),
    )
    here.secrets.put("thin", "sk-thin-thin-thin", replicate.SECRET)
    return here


def test_a_thin_event_is_asked_about(thin: Intake) -> None:
    """It names its job and no more; webhooks are trusted all the same, so that nothing is polled."""
    job = thin.put("thin", "one", state=State.RUNNING, provider_job_id="r-1")
    assert thin.world.store.bind("thin", "r-1", job.id) == job.id
    body = {"object": "event", "type": "response.completed", "data": {"id": "r-1"}}
    assert thin.deliver(REPLICATE, body, "/v1/webhooks/thin")[0] == 200
    assert thin.state(job) is State.STORING
    traits = thin.world.providers.get("thin").traits("one")
    assert (traits.webhooks, traits.account_webhooks) == (True, True)
    assert thin.deliver(REPLICATE, {"data": {"object": "x"}}, "/v1/webhooks/thin")[0] == 400


def test_a_challenge_is_sent_back_to_whom_is_proved_only(thin: Intake) -> None:
    """Byte for byte the value, as JSON, with 200; a real event is no challenge."""
    body = {"challenge": 'a1 \u00e9"<b>'}
    assert thin.deliver(REPLICATE, body, "/v1/webhooks/thin") == (200, body)
    assert thin.post("/v1/webhooks/thin", body)[0] == 401
    for odd in (
        {"challenge": 5},
        {"challenge": ""},
        {"challenge": "x" * 501},
        {"challenge": "x", "more": "y" * 8192},
        ["challenge"],
        {"challenge": "x", "status": "failed"},
    ):
        assert thin.deliver(REPLICATE, odd, "/v1/webhooks/thin")[0] == 400


def test_where_nobody_signs_the_token_in_the_url_earns_the_challenge() -> None:
    """MiniMax asks at submit, before the job has an id."""
    here = intake(tables=minimax(), answers=())
    here.secrets.put("minimax", "sk-minimax-one")
    job = here.put("minimax", "MiniMax-Hailuo-02")
    assert here.post(here.path(job), {"challenge": "abc"}) == (200, {"challenge": "abc"})
    stem = here.path(job).rpartition(".")[0]
    for path in (f"{stem}.{'a' * 26}", "/v1/webhooks/minimax", here.path(replace(job, id="c" * 26))):
        assert here.post(path, {"challenge": "abc"})[0] == 401


def minimax() -> str:
    from tests.unit.providers.vendors.test_minimax import TABLES

    return TABLES


def test_a_secret_that_cannot_be_used_is_told_to_the_operator_not_to_the_sender() -> None:
    """CASES 24: 503 and a counter with an alarm, not a 401 for ever; nobody is let in."""
    here = intake(REPLICATE)
    here.secrets.put("replicate", "sk-one-two-three", "whsec_!!!!")
    job = here.bound(REPLICATE)
    status, problem = here.deliver(REPLICATE, replicate.DONE, here.path(job))
    assert status == 503
    assert "whsec" not in json.dumps(problem)
    assert ("WebhookMisconfigured", 1, {"provider": "replicate"}) in here.scene.counts.counted
    assert any("whsec_ and the base64" in str(line.get("reason")) for line in here.scene.log())
    assert here.state(job) is State.RUNNING


def test_each_refusal_is_one_line_that_says_why() -> None:
    """To the operator; the sender cannot tell one from another."""
    here = intake(REPLICATE)
    job = here.bound(REPLICATE)
    raw = json.dumps(replicate.DONE).encode()
    good = replicate.sign(raw, NOW // 1000)
    told = set()
    for changes in (
        {"Webhook-Id": ""},
        {"Webhook-Timestamp": "1"},
        {"Webhook-Signature": "v1,x"},
        {"Webhook-Signature": good["Webhook-Signature"].replace("v1,", "v2,")},
    ):
        status, problem = here.post(here.path(job), raw, {**good, **changes})
        told.add((status, json.dumps({k: v for k, v in problem.items() if k != "instance"})))
    assert len(told) == 1
    lines = here.refusals()
    assert len(lines) == 4
    assert len({line["reason"] for line in lines}) >= 3
    assert all(line["job"] == job.id and line["provider"] == "replicate" for line in lines)
    assert [name for name, _, _ in here.scene.counts.counted].count("WebhookRefused") == 4


@pytest.mark.parametrize("binary", [True, False])
def test_header_case_several_values_and_base64_do_not_matter(binary: bool) -> None:
    """As API Gateway and emulators hand them over."""
    here = intake(REPLICATE)
    job = here.bound(REPLICATE)
    raw = json.dumps(replicate.DONE, indent=1).encode()
    headers: dict[str, str | list[str]] = {
        name.upper(): value for name, value in replicate.sign(raw, NOW // 1000).items()
    }
    good = headers.pop("WEBHOOK-SIGNATURE")
    headers["webhook-SIGNATURE"] = ["v1,AAAA", str(good)]
    assert here.post(here.path(job), raw, headers, binary=binary)[0] == 200
    assert here.state(job) is State.STORING
