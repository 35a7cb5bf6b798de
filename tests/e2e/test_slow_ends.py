"""Ends that take their time: what a lease, a lapse, a pause or a look behind a lost message has to wait for."""

from __future__ import annotations

import hashlib

from local.provider import media
from local.stack import Stack
from tests.e2e.client import Api, download, is_problem, notes, steps
from tests.e2e.crowd import Crowd
from tests.e2e.truth import Provider, Subscriber, rows, slots, until


def test_resubmit_is_a_new_submission(crowd: Crowd, operator: Api, provider: Provider) -> None:
    """Refused while the first request may be on the wire; then a new key, and a second charge that a person chose."""
    job_id = crowd["resubmit"]
    asked = operator.asked(job_id, "ambiguous_submission")
    version = asked["attention"]["version"]

    def taken() -> bool:
        answer = operator.resolve(job_id, "resubmit", version)
        assert answer.status in (200, 409), answer
        assert answer.status == 200 or "lease" in answer.json["detail"]
        return answer.status == 200

    until(taken, 90)
    job = operator.ended(job_id)
    assert (job["status"], job["findings"]) == ("succeeded", [])
    first, second = provider.charges(job_id)
    assert [charge["reference"].split(".")[1] for charge in (first, second)] == ["1", "2"]
    assert operator.resolve(job_id, "resubmit", version).status == 409, "answered once"
    assert len(provider.charges(job_id)) == 2


def test_success_after_a_persons_fail_is_a_finding(crowd: Crowd, operator: Api, provider: Provider) -> None:
    """The job stays failed; that it lived and was paid for is shown, once each, until a person has read it."""
    job_id = crowd["fail"]
    job = operator.until(job_id, lambda job: "late_result" in [finding["kind"] for finding in job["findings"]])
    (charge,) = provider.charges(job_id)
    assert job["status"] == "failed"
    assert sorted(finding["kind"] for finding in job["findings"]) == ["extra_submission", "late_result"]
    assert {finding["provider_job_id"] for finding in job["findings"]} == {charge["id"]}
    assert not any(finding["acknowledged"] for finding in job["findings"])
    read = operator.resolve(job_id, "acknowledge", provider_job_id=charge["id"])
    assert read.status == 200
    assert all(finding["acknowledged"] for finding in read.json["findings"])
    assert is_problem(operator.resolve(job_id, "acknowledge", provider_job_id="job_other"), 409, "conflict")


def test_lost_job_is_a_question(crowd: Crowd, operator: Api, provider: Provider, stack: Stack) -> None:
    """The provider does not know the id, several times: attention, and the slot lapses when max run is over."""
    job_id = crowd["lost"]
    asked = operator.asked(job_id, "provider_lost")
    assert (asked["status"], set(asked["attention"]["decisions"])) == ("running", {"adopt", "fail"})
    assert provider.charges(job_id)[0]["polls"] >= 3
    until(lambda: job_id not in slots(rows(stack)).values(), 120)
    answer = operator.resolve(job_id, "fail", asked["attention"]["version"])
    assert (answer.status, answer.json["error"]["code"]) == (200, "failed_by_operator")


def test_blocked_account_is_tried_by_a_probe(blocked: list[str], operator: Api, provider: Provider) -> None:
    """After the pause one job goes first; its success lets the others go, and each is charged once."""
    jobs = [operator.ended(job_id) for job_id in blocked]
    assert {job["status"] for job in jobs} == {"succeeded"}
    assert operator.call("GET", "/v1/providers/sim").json["pause"] is None
    assert [len(provider.charges(job_id)) for job_id in blocked] == [1, 1, 1]
    accepted = sorted(charge["accepted_at"] for job_id in blocked for charge in provider.charges(job_id))
    refused = [line["at"] for job_id in blocked for line in provider.submits(job_id) if line["fault"] == "blocked"]
    assert min(accepted) - max(refused) >= 55_000


def test_job_that_never_finishes_ends_as_a_question(crowd: Crowd, operator: Api, provider: Provider) -> None:
    """Late first, then forgotten by the provider: never failed by our own patience, and one charge."""
    asked = operator.asked(crowd["never-finishes"], "provider_lost")
    assert asked["status"] == "running"
    assert len(provider.charges(crowd["never-finishes"])) == 1
    assert operator.resolve(crowd["never-finishes"], "fail", asked["attention"]["version"]).status == 200


def test_killed_store_is_woken_again(
    crowd: Crowd, operator: Api, provider: Provider, subscriber: Subscriber, stack: Stack
) -> None:
    """The process died while it downloaded; reconcile wakes another, whose result is whole and the only one kept."""
    assert crowd.killed["store"] >= 1
    job_id = crowd["kill-store"]
    job = operator.ended(job_id, 300)
    (charge,) = provider.charges(job_id)
    (output,) = job["outputs"]
    made = media.make("image/png", f"{charge['id']}/0")
    assert download(output["url"]).body == made
    assert output["sha256"] == hashlib.sha256(made).hexdigest()
    assert (steps(job)[-1], notes(job)) == (("succeeded", "store"), [])
    assert charge["downloads"] == 2
    kept = stack.client("s3").list_objects_v2(Bucket=stack.info["bucket"], Prefix=f"results/{job_id}/")
    assert kept["KeyCount"] == 1
    subscriber.first(job_id)
    assert len(subscriber.of(job_id)) == 1
