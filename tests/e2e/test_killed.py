"""A function's process that dies in the middle of its step loses nothing and charges nobody twice."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from local.stack import Stack
from tests.e2e import workers
from tests.e2e.client import Api, notes
from tests.e2e.crowd import PROMPT, Crowd
from tests.e2e.truth import Provider, Subscriber, until


@pytest.mark.parametrize("function", ["dispatch", "webhook", "relay", "reconcile"])
def test_job_converges_after_a_kill(
    crowd: Crowd, caller: Api, provider: Provider, subscriber: Subscriber, function: str
) -> None:
    """A process was ended while it worked on this job; the job succeeds all the same, for one charge."""
    assert crowd.killed[function] >= 1
    job_id = crowd[f"kill-{function}"]
    job = caller.ended(job_id)
    assert (job["status"], job["attention"], job["findings"]) == ("succeeded", None, [])
    assert len(provider.charges(job_id)) == 1
    subscriber.first(job_id)
    assert len(subscriber.of(job_id)) == 1


def test_killed_dispatch_is_resumed_with_the_same_key(crowd: Crowd, caller: Api, provider: Provider) -> None:
    """Nobody knew whether the provider had taken it: the very same request again, after the lease."""
    job = caller.ended(crowd["kill-dispatch"])
    first, second = provider.submits(crowd["kill-dispatch"])
    assert (first["answer"], second["answer"]) == ("accepted", "replayed")
    assert second["at"] - first["at"] >= 55_000
    assert "ambiguous" not in notes(job)


def test_killed_webhook_is_told_again(crowd: Crowd, caller: Api, provider: Provider) -> None:
    """A provider that got no answer sends again; whatever was done before it died, the end is heard once."""
    job = caller.ended(crowd["kill-webhook"])
    assert [entry["to"] for entry in job["history"] if entry.get("to")].count("storing") == 1
    events = provider.events(crowd["kill-webhook"], "completed")
    assert any(event["status_code"] != 200 for event in events)


def test_killed_submit_is_sent_again(crowd: Crowd, caller: Api, stack: Stack, provider: Provider) -> None:
    """A client that got no answer repeats its request with the same key, and has one job."""
    document = {"provider": "sim-nokey", "model": "image-1", "input": {"prompt": PROMPT}}
    ids = set()
    for number in range(3):
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(caller.submit, "killed-submit", document)
            time.sleep(0.01 + 0.01 * number)
            workers.kill(stack, "Submit")
            assert first.result().status in (202, 500, 502, 503)
        ids.add(_accepted(caller, "killed-submit", document))
    assert len(ids) == 1
    job = caller.ended(ids.pop())
    assert job["status"] == "succeeded"
    assert len(provider.charges(job["request_id"])) == 1


def test_functions_killed_at_random_lose_nothing(
    crowd: Crowd, caller: Api, stack: Stack, provider: Provider, subscriber: Subscriber
) -> None:
    """For some seconds no function lives long; afterwards every job ends, charged and published once."""
    document = {"provider": "sim-nokey", "model": "image-1", "input": {"prompt": PROMPT, "duration_s": 1}}
    over = threading.Event()

    def rage() -> None:
        while not over.is_set():
            for function in ("Relay", "Webhook", "Authorize", "Submit"):
                workers.kill(stack, function)
                over.wait(0.2)

    thread = threading.Thread(target=rage, daemon=True)
    thread.start()
    try:
        ids = [_accepted(caller, f"rage-{number}", document) for number in range(3)]
        time.sleep(2)
    finally:
        over.set()
        thread.join(timeout=10)
    for job_id in ids:
        assert caller.ended(job_id)["status"] == "succeeded"
        assert len(provider.charges(job_id)) == 1
        subscriber.first(job_id)
        assert len(subscriber.of(job_id)) == 1


def _accepted(caller: Api, key: str, document: object) -> str:
    """The job's id, from the first answer that is one; all others are of a kind that a client repeats."""

    def answered() -> str:
        answer = caller.submit(key, document)
        assert answer.status in (202, 500, 502, 503), answer
        return str(answer.json["request_id"]) if answer.status == 202 else ""

    return until(answered, 60)
