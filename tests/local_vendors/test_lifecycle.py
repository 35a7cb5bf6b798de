"""Each adapter through the whole lifecycle under faults: the product's own steps, a real wire, the vendor's double."""

from __future__ import annotations

from collections import Counter

import pytest

from local.provider.server import SimulatedProvider
from local.provider.settings import VENDORS
from mediajobs.jobs.states import State
from tests.local_vendors.town import Time, Town, town, violations

JOBS = 12


def double(faults: str, clock: Time, seed: int = 1) -> SimulatedProvider:
    return SimulatedProvider(seed=seed, faults=faults, now=clock.seconds)


@pytest.mark.parametrize("name", VENDORS)
def test_without_faults_every_job_succeeds_and_is_charged_once(name: str) -> None:
    """Whatever the vendor's way of telling it."""
    with town(name, lambda clock: double("none", clock)) as it:
        jobs = [it.submitted(number) for number in range(6)]
        it.run(jobs)
        assert violations(it, jobs) == []
        assert {it.read(job).state for job in jobs} == {State.SUCCEEDED}
        assert len(it.ledger()) == 6
        if name in ("fal", "replicate"):  # a signed webhook is the vendor's word, and tells all
            assert sum(job["polls"] for job in it.ledger()) == 0
        assert set(it.answers) <= {200, 202, 204}


@pytest.mark.parametrize("name", VENDORS)
def test_under_heavy_faults_nothing_is_lost_charged_twice_or_failed_by_us(name: str) -> None:
    """The account is blocked once, too. What cannot be known asks a person, and only that."""
    with town(name, lambda clock: double("heavy", clock)) as it:
        jobs = [it.submitted(number) for number in range(JOBS)]
        it.run(jobs)
        assert violations(it, jobs) == [], _told(it)
        hit = Counter(fault for job in it.ledger() for fault in job["faults"])
        assert len(hit) >= 4, hit
        assert any(line["fault"] == "blocked" for line in it.double.ledger.submits)


def _told(it: Town) -> str:
    return "\n".join(f"{job['reference']} {job['state']} {job['faults']}" for job in it.ledger())
