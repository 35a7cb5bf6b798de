"""A person answers an open question over HTTP, under the version at which it was asked."""

from __future__ import annotations

from tests.e2e.client import Api, is_problem, notes, steps
from tests.e2e.crowd import Crowd
from tests.e2e.truth import Provider


def test_ambiguous_submission_is_adopted(crowd: Crowd, operator: Api, provider: Provider) -> None:
    """The id from the provider's own list is checked and bound; nothing is sent a second time."""
    job_id = crowd["adopt"]
    asked = operator.asked(job_id, "ambiguous_submission")
    assert set(asked["attention"]["decisions"]) == {"adopt", "resubmit", "fail"}
    (charge,) = provider.charges(job_id)
    version = asked["attention"]["version"]
    assert operator.resolve(job_id, "adopt", version, provider_job_id=charge["id"]).status == 202
    job = operator.ended(job_id)
    assert (job["status"], job["attention"]) == ("succeeded", None)
    assert len(provider.submits(job_id)) == 1


def test_decision_about_another_version_is_refused(crowd: Crowd, operator: Api) -> None:
    """What a person saw is not what is asked now: 409 with the fresh job, nothing changed."""
    asked = operator.asked(crowd["fail"], "ambiguous_submission")
    answer = operator.resolve(crowd["fail"], "fail", asked["attention"]["version"] - 1)
    assert is_problem(answer, 409, "conflict")
    assert answer.json["job"]["attention"] == asked["attention"]
    assert operator.job(crowd["fail"])["history"] == asked["history"]


def test_decision_that_does_not_fit_is_refused(crowd: Crowd, operator: Api) -> None:
    """`wait` answers no ambiguous submission, and an id that the provider does not know adopts nothing."""
    asked = operator.asked(crowd["fail"], "ambiguous_submission")
    version = asked["attention"]["version"]
    assert is_problem(operator.resolve(crowd["fail"], "wait", version), 409, "conflict")
    assert operator.resolve(crowd["fail"], "adopt", version, provider_job_id="job_of_nobody").status == 202
    told = operator.until(crowd["fail"], lambda job: "adopt_refused" in notes(job))
    assert "job_of_nobody" in told["attention"]["evidence"]
    assert told["attention"]["version"] == version


def test_ambiguous_submission_is_failed_by_a_person(crowd: Crowd, operator: Api, provider: Provider) -> None:
    """The job ends with the person's word; no second POST was ever made."""
    asked = operator.asked(crowd["fail"], "ambiguous_submission")
    answer = operator.resolve(crowd["fail"], "fail", asked["attention"]["version"])
    assert (answer.status, answer.json["status"]) == (200, "failed")
    job = operator.job(crowd["fail"])
    assert job["error"]["code"] == "failed_by_operator"
    assert len(provider.submits(crowd["fail"])) == 1


def test_unknown_word_at_the_end_ends_nothing(crowd: Crowd, operator: Api) -> None:
    """The job stays where it is and shows attention when it is late; only a person gives it up."""
    asked = operator.asked(crowd["unknown-end"], "overdue")
    assert (asked["status"], asked["provider_stage"]) == ("running", "archived")
    answer = operator.resolve(crowd["unknown-end"], "fail", asked["attention"]["version"])
    assert (answer.status, answer.json["status"]) == (200, "failed")


def test_late_job_is_waited_for(crowd: Crowd, operator: Api) -> None:
    """Overdue is a question, not an end: with `wait` it is answered and the job goes on, until it is canceled."""
    job_id = crowd["overdue"]
    asked = operator.asked(job_id, "overdue")
    assert set(asked["attention"]["decisions"]) == {"wait", "fail"}
    answer = operator.resolve(job_id, "wait", asked["attention"]["version"])
    assert (answer.status, answer.json["status"], answer.json["attention"]) == (200, "running", None)
    assert is_problem(operator.resolve(job_id, "wait", asked["attention"]["version"]), 409, "conflict")
    assert operator.cancel(job_id).status == 202
    job = operator.ended(job_id)
    assert (job["status"], job["attention"]) == ("canceled", None)


def test_result_without_a_link_is_fetched_again(crowd: Crowd, operator: Api, provider: Provider) -> None:
    """A fresh link did not serve either; the person says retry, and the third one does."""
    job_id = crowd["dead-link"]
    asked = operator.asked(job_id, "result_unavailable")
    assert set(asked["attention"]["decisions"]) == {"retry", "fail"}
    assert operator.resolve(job_id, "retry", asked["attention"]["version"]).status == 200
    job = operator.ended(job_id)
    assert (job["status"], steps(job)[-1]) == ("succeeded", ("succeeded", "store"))
    assert provider.charges(job_id)[0]["downloads"] == 3


def test_list_of_open_questions_is_the_operators(crowd: Crowd, operator: Api, caller: Api) -> None:
    """Every open question of every tenant stands in one list; a caller may not read it."""
    job_id = crowd["resubmit"]
    operator.asked(job_id, "ambiguous_submission")
    listed = operator.call("GET", "/v1/jobs?attention=true&limit=100").json["jobs"]
    assert job_id in [job["request_id"] for job in listed]
    assert all(job["attention"] for job in listed)
    assert is_problem(caller.call("GET", "/v1/jobs?attention=true"), 403, "forbidden")
