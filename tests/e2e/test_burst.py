"""Thirty jobs at once at a provider that takes four."""

from __future__ import annotations

from collections import Counter

from local.provider.ledger import peak_in_flight
from local.stack import Stack
from tests.e2e.client import Api
from tests.e2e.crowd import Crowd
from tests.e2e.truth import Provider, logged


def test_every_waiting_job_is_admitted(crowd: Crowd, caller: Api, provider: Provider) -> None:
    """All of them succeed, each submitted once, none with attention."""
    jobs = [caller.ended(job_id) for job_id in crowd.burst]
    assert {(job["status"], job["attention"]) for job in jobs} == {("succeeded", None)}
    accepted = Counter(job["reference"].split(".")[0] for job in provider.ledger()["jobs"])
    assert {accepted[job_id] for job_id in crowd.burst} == {1}


def test_limit_holds_at_the_provider(crowd: Crowd, caller: Api, provider: Provider, stack: Stack) -> None:
    """Never more in flight than MaxInFlight, by the provider's own ledger; what a person failed is not counted."""
    for job_id in crowd.burst:
        caller.ended(job_id)
    by_person = {crowd[name] for name in ("fail", "unknown-end")}
    jobs = [job for job in provider.ledger()["jobs"] if job["reference"].split(".")[0] not in by_person]
    limit = stack.info["wanted"]["max_in_flight"]
    for name in ("sim", "sim-nokey"):
        first = [job for job in jobs if job["provider"] == name and job["reference"].split(".")[1] == "1"]
        assert peak_in_flight(first) <= limit, name
    assert peak_in_flight(job for job in jobs if job["provider"] == "sim") > 1, "jobs never ran side by side"


def test_waiting_costs_no_messages(crowd: Crowd, caller: Api, stack: Stack) -> None:
    """A job that waits long is received no more often than one that waits briefly, and never a second time."""
    for job_id in crowd.burst:
        caller.ended(job_id)
    taken = [line for line in logged(stack, "Dispatch") if line.get("message") == "taken"]
    receives = Counter(line["job"] for line in taken)
    assert {line["receives"] for line in taken if line["job"] in crowd.burst} == {1}
    counts = [receives[job_id] for job_id in crowd.burst]
    early, late = counts[:10], counts[-10:]
    assert sum(late) <= sum(early) + 10, counts
    assert max(counts) <= 6, counts
