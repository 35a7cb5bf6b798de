"""What can go wrong with a submit, forced: never a second charge, and no answer taken for more than it proves."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.e2e.client import Api, notes, steps
from tests.e2e.crowd import Crowd
from tests.e2e.truth import Provider


@pytest.mark.parametrize("name", ["close-after", "unavailable-after", "no-id"])
def test_ambiguous_answer_is_asked_again_with_the_same_key(
    crowd: Crowd, caller: Api, provider: Provider, name: str
) -> None:
    """Accepted, but the answer was cut, a 503 or had no id: the very same request again, and one charge."""
    job = caller.ended(crowd[name])
    assert job["status"] == "succeeded"
    assert "ambiguous" in notes(job)
    (charge,) = provider.charges(crowd[name])
    assert charge["idempotency_key"]
    # The provider answers "replayed" only to the same key with the same bytes.
    assert [line["answer"] for line in provider.submits(crowd[name])] == ["accepted", "replayed"]


def test_ambiguous_submission_is_settled_by_its_own_webhook(crowd: Crowd, caller: Api, provider: Provider) -> None:
    """Accepted and answered 500: the job's own event tells its id before anything has to be sent again."""
    job = caller.ended(crowd["error-after"])
    assert job["status"] == "succeeded"
    assert ("running", "webhook") in steps(job)
    assert [line["answer"] for line in provider.submits(crowd["error-after"])] == ["accepted"]


def test_without_a_key_nothing_is_sent_again(crowd: Crowd, caller: Api, provider: Provider) -> None:
    """The answer was cut and no key is honoured: a person is asked, until the late webhook answers."""
    job = caller.ended(crowd["late-webhook"])
    assert (job["status"], job["attention"]) == ("succeeded", None)
    raised = next(entry["version"] for entry in job["history"] if entry.get("note") == "ambiguous")
    settled = next(entry for entry in job["history"] if entry.get("to") in ("running", "storing"))
    assert settled["version"] > raised
    assert settled["source"] == "webhook"
    assert len(provider.submits(crowd["late-webhook"])) == 1
    assert len(provider.charges(crowd["late-webhook"])) == 1


@pytest.mark.parametrize(("name", "refusals"), [("unavailable-before", [503]), ("rate-limited", [429, 429])])
def test_refused_submit_goes_later(
    crowd: Crowd, caller: Api, provider: Provider, name: str, refusals: list[int]
) -> None:
    """503 with Retry-After and 429 prove that nothing was accepted: later, not before the time asked for."""
    job = caller.ended(crowd[name])
    assert job["status"] == "succeeded"
    assert notes(job).count("not_accepted") == len(refusals)
    submits = provider.submits(crowd[name])
    assert [line["status"] for line in submits] == [*refusals, 201]
    asked_ms = 3000 if name == "unavailable-before" else 1000
    assert all(later["at"] - earlier["at"] >= asked_ms for earlier, later in pairwise(submits))
    assert len(provider.charges(crowd[name])) == 1


def test_pause_that_was_asked_for_holds_for_the_whole_provider(crowd: Crowd, caller: Api, provider: Provider) -> None:
    """Nobody is submitted to the provider in the seconds for which it asked, but what was on its way."""
    caller.ended(crowd["unavailable-before"])
    lines = [line for line in provider.ledger()["submits"] if line["provider"] == "sim"]
    refused = next(line["at"] for line in lines if line["reference"].startswith(crowd["unavailable-before"]))
    # Claims that had read the provider's state before the pause was written may still come.
    assert [line for line in lines if refused + 1000 < line["at"] < refused + 3000] == []


@pytest.mark.parametrize(("name", "code"), [("moderated", "content_moderated"), ("rejected", "rejected")])
def test_request_at_fault_fails_the_job(crowd: Crowd, caller: Api, provider: Provider, name: str, code: str) -> None:
    """The provider's refusal ends the job with a code that the caller can act on; nothing was charged."""
    job = caller.ended(crowd[name])
    assert (job["status"], job["error"]["code"]) == ("failed", code)
    assert [step[0] for step in steps(job)] == ["pending", "submitting", "failed"]
    assert provider.charges(crowd[name]) == []


def test_failure_at_the_provider_fails_the_job(crowd: Crowd, caller: Api, provider: Provider) -> None:
    """The provider's word, with its message."""
    job = caller.ended(crowd["provider-fails"])
    assert (job["status"], job["error"]["code"]) == ("failed", "provider_error")
    assert "model" in job["error"]["message"]
    assert provider.charges(crowd["provider-fails"])[0]["state"] == "failed"
    assert job["outputs"] == []
