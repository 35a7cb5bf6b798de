"""Cancel is a request: at once where the provider has nothing, else the provider's word decides."""

from __future__ import annotations

from tests.e2e.client import Api, has_ended, is_problem, notes, steps
from tests.e2e.crowd import Crowd
from tests.e2e.truth import Provider, Subscriber, until


def test_pending_job_is_canceled_at_once(crowd: Crowd, caller: Api, provider: Provider, subscriber: Subscriber) -> None:
    """It never reaches the provider, and its end is published like any other."""
    answer = crowd.cancels["pending"]
    assert (answer.status, answer.json["status"]) == (202, "canceled")
    job = caller.job(crowd["cancel-pending"])
    assert steps(job) == [("pending", "api"), ("canceled", "api")]
    assert provider.submits(crowd["cancel-pending"]) == []
    assert subscriber.first(crowd["cancel-pending"])["status"] == "canceled"


def test_running_job_is_canceled_by_the_providers_word(crowd: Crowd, caller: Api, provider: Provider) -> None:
    """The request is noted and passed on; the job ends when the provider says so, long before it would have."""
    job_id = crowd["cancel-running"]
    caller.until(job_id, lambda job: job["status"] == "running")
    answer = caller.cancel(job_id)
    assert (answer.status, answer.json["cancel_requested"]) == (202, True)
    assert caller.cancel(job_id).status == 202, "asking twice is asking once"
    job = caller.ended(job_id)
    assert job["status"] == "canceled"
    assert "cancel_requested" in notes(job)
    (charge,) = provider.charges(job_id)
    assert charge["state"] == "canceled"
    assert charge["cancels"] >= 1


def test_job_that_is_being_stored_is_not_canceled(crowd: Crowd, caller: Api) -> None:
    """It is paid for: 409 with the job as it is."""
    answer = crowd.cancels["storing"]
    assert is_problem(answer, 409, "conflict")
    assert answer.json["job"]["stage"] == "storing"
    assert not caller.job(crowd["kill-store"])["cancel_requested"]


def test_ended_job_is_not_canceled(crowd: Crowd, caller: Api, subscriber: Subscriber) -> None:
    """409, and nothing is published anew."""
    job = caller.ended(crowd["png"])
    before = until(lambda: subscriber.of(job["request_id"]), 75)
    answer = caller.cancel(job["request_id"])
    assert is_problem(answer, 409, "conflict")
    assert has_ended(answer.json["job"])
    assert caller.job(job["request_id"])["updated_at"] >= job["updated_at"]
    assert subscriber.of(job["request_id"]) == before
