"""A job without faults, of each kind: from POST to a published result, byte for byte."""

from __future__ import annotations

import hashlib
import json

import pytest

from local.provider import media
from local.stack import Stack
from mediajobs.api import answers
from tests.e2e.client import Api, download, steps
from tests.e2e.crowd import PROMPT, Crowd
from tests.e2e.truth import Provider, Subscriber, heads, rows

KINDS = {"mp4": ("video/mp4", 1), "png": ("image/png", 3), "wav": ("audio/wav", 1)}


@pytest.mark.parametrize("name", KINDS)
def test_results_are_the_providers_bytes(crowd: Crowd, caller: Api, provider: Provider, name: str) -> None:
    """Each output serves exactly what the provider made, in its order; digest, size and type are those recorded."""
    kind, count = KINDS[name]
    job = caller.ended(crowd[name])
    assert (job["status"], job["stage"], job["progress"], job["error"]) == ("succeeded", None, 100, None)
    assert len(job["outputs"]) == count
    (charge,) = provider.charges(crowd[name])
    for index, output in enumerate(job["outputs"]):
        made = media.make(kind, f"{charge['id']}/{index}")
        served = download(output["url"])
        assert (served.status, served.body) == (200, made)
        assert served.headers["content-type"] == output["content_type"] == kind
        assert (output["size"], output["sha256"]) == (len(made), hashlib.sha256(made).hexdigest())


@pytest.mark.parametrize("name", KINDS)
def test_job_passes_each_state_once(crowd: Crowd, caller: Api, provider: Provider, name: str) -> None:
    """Five transitions, one POST, no poll; metadata comes back as it was given."""
    job = caller.ended(crowd[name])
    assert [step[0] for step in steps(job)] == ["pending", "submitting", "running", "storing", "succeeded"]
    assert steps(job)[3] == ("storing", "webhook")
    assert job["history"][3]["event_id"]
    assert len(job["history"][3]["body_sha256"]) == 64
    assert job["metadata"] == {"scenario": name}
    (charge,) = provider.charges(crowd[name])
    assert charge["polls"] == 0
    assert [line["answer"] for line in provider.submits(crowd[name])] == ["accepted"]


@pytest.mark.parametrize("name", KINDS)
def test_publication_is_the_public_job(crowd: Crowd, caller: Api, subscriber: Subscriber, name: str) -> None:
    """One message with the documented fields: the caller's metadata in, the prompt and any URL not."""
    job = caller.ended(crowd[name])
    message = subscriber.first(crowd[name])
    assert subscriber.of(crowd[name]) == [message]
    told = answers.Event.model_validate(message)
    assert (told.type, told.status, told.request_id) == ("job.succeeded", "succeeded", crowd[name])
    assert message["metadata"] == {"scenario": name}
    assert [output.sha256 for output in told.outputs] == [output["sha256"] for output in job["outputs"]]
    assert PROMPT not in json.dumps(message)
    assert "http" not in json.dumps(message["outputs"])


def test_publication_is_marked_and_ends_the_looks(
    crowd: Crowd, caller: Api, subscriber: Subscriber, stack: Stack
) -> None:
    """The message's id is the head's own, and reconcile has nothing left to look at."""
    caller.ended(crowd["mp4"])
    message = subscriber.first(crowd["mp4"])
    caller.until(crowd["mp4"], lambda _: heads(rows(stack))[crowd["mp4"]].published_at, 10)
    head = heads(rows(stack))[crowd["mp4"]]
    assert (message["id"], message["final_version"]) == (head.publication_id, head.final_version)
    assert (head.due_at, head.slot) == (None, None)
    assert head.ttl is not None


def test_what_is_read_is_what_is_described(crowd: Crowd, caller: Api, operator: Api) -> None:
    """Jobs as read and as listed fit the API's description, to the last field."""
    for name in ("mp4", "never-finishes", "moderated", "cancel-pending"):
        answers.Job.model_validate(caller.job(crowd[name]))
        shown = operator.job(crowd[name])
        assert answers.Job.model_validate(shown).tenant == "demo"
    page = caller.call("GET", "/v1/jobs?limit=5").json
    listed = answers.JobList.model_validate(page)
    assert len(listed.jobs) == 5
    assert listed.cursor
    more = answers.JobList.model_validate(caller.call("GET", f"/v1/jobs?limit=100&cursor={listed.cursor}").json)
    seen = [job.request_id for job in (*listed.jobs, *more.jobs)]
    assert len(set(seen)) == len(seen)
    assert [job.created_at for job in listed.jobs] == sorted((job.created_at for job in listed.jobs), reverse=True)


def test_location_leads_to_the_job(crowd: Crowd, caller: Api) -> None:
    """A replay of the first submit is the same job with its present status, and says that it is one."""
    job = caller.ended(crowd["mp4"])
    document = {
        "provider": job["provider"],
        "model": job["model"],
        "input": {"prompt": PROMPT},
        "metadata": job["metadata"],
    }
    answer = caller.submit("crowd-mp4", document)
    assert (answer.status, answer.json) == (202, {"request_id": crowd["mp4"], "status": "succeeded"})
    assert answer.headers["idempotency-replayed"] == "true"
    assert caller.call("GET", "/v1/" + answer.headers["location"]).json["request_id"] == crowd["mp4"]
