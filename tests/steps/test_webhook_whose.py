"""Whose event it is: found by our URL, the provider's id or our reference, and never given to another job."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mediajobs.errors import Unauthorized, Unavailable
from mediajobs.jobs.events import Status
from mediajobs.jobs.states import State
from mediajobs.messages import Delivery, Verified
from mediajobs.steps.webhook import GRACE_MS, challenge, take
from tests.fakes.providers import ScriptedAdapter
from tests.steps.kit import KEYED, PLAIN, Stage

RUNNING, SUCCEEDED, FAILED = Status.RUNNING, Status.SUCCEEDED, Status.FAILED


class ByUrlAlone(ScriptedAdapter):
    """A provider that signs nothing: only the token in a job's URL proves anything. It asks for an echo."""

    def challenge(self, delivery: Delivery) -> dict[str, str] | None:
        return {"challenge": "word"}

    def verify(self, delivery: Delivery, now: int) -> Verified:
        return replace(super().verify(delivery, now), proven=False)


def test_an_event_without_our_url_is_found_by_the_reference_that_it_sends_back() -> None:
    """Before we know the provider's id; and it says of which submission it is."""
    stage = Stage(PLAIN)
    job = stage.unsure()
    assert take(stage.world, stage.sim.delivery(None, "p-1", RUNNING, reference=job.reference)) == (200, "noted")
    assert (stage.state(job), stage.read(job).provider_job_id) == (State.RUNNING, "p-1")


@pytest.mark.parametrize("spoil", ["provider", "incarnation", "job"])
def test_a_reference_that_is_not_this_providers_job_finds_none(spoil: str) -> None:
    """Whoever may sign for one provider must not speak for the jobs of another."""
    other = ScriptedAdapter("other", traits=replace(KEYED, provider="other"))
    stage = Stage(PLAIN, adapters=(other,))
    job = stage.unsure()
    reference = {
        "provider": job.reference,
        "incarnation": f"{job.id}.1.{'z' * len(job.incarnation)}",
        "job": f"{'b' * 26}.1.{job.incarnation}",
    }[spoil]
    adapter = other if spoil == "provider" else stage.sim
    with pytest.raises(Unavailable):
        take(stage.world, adapter.delivery(None, "p-1", SUCCEEDED, reference=reference))
    assert stage.read(job) == job


def test_an_untrusted_hint_of_a_job_that_the_provider_says_is_anothers_binds_nothing() -> None:
    """Whoever knows one job's URL could else have it take another's result."""
    stage = Stage(replace(PLAIN, webhooks=False))
    job = stage.unsure()
    for status in (SUCCEEDED, RUNNING, FAILED):
        stage.sim.says("poll", status, "p-2", reference=f"{'b' * 26}.1.{job.incarnation}")
        take(stage.world, stage.sim.delivery(stage.ref(job), "p-2", SUCCEEDED, event_id=f"evt-{status}"))
        after = stage.read(job)
        assert (after.state, after.provider_job_id, after.findings) == (State.SUBMITTING, None, ())
    stage.sim.says("poll", RUNNING, "p-2", reference=job.reference)
    take(stage.world, stage.sim.delivery(stage.ref(job), "p-2", RUNNING, event_id="evt-2"))
    assert (stage.state(job), stage.read(job).provider_job_id) == (State.RUNNING, "p-2")


def test_each_unknown_event_has_a_grace_time_of_its_own() -> None:
    """Else the first one, long past, would have every later one acknowledged and lost; so would another provider's."""
    other = ScriptedAdapter("other", traits=replace(KEYED, provider="other"))
    stage = Stage(adapters=(other,))
    with pytest.raises(Unavailable):
        take(stage.world, stage.sim.delivery(None, "p-7", SUCCEEDED, event_id="evt-1"))
    stage.clock.advance(GRACE_MS / 1000)
    for delivery in (
        stage.sim.delivery(None, "p-8", SUCCEEDED, event_id="evt-2"),
        other.delivery(None, "p-7", SUCCEEDED, event_id="evt-1"),
    ):
        with pytest.raises(Unavailable):
            take(stage.world, delivery)
    assert take(stage.world, stage.sim.delivery(None, "p-7", SUCCEEDED, event_id="evt-1")) == (200, "unknown")


def test_an_event_that_nothing_proves_and_of_which_there_is_no_job_is_refused_and_leaves_nothing() -> None:
    """Anybody may have made up its URL."""
    stage = Stage(adapters=(ByUrlAlone("open", traits=replace(KEYED, provider="open")),))
    job = stage.job(provider="open")
    adapter = stage.world.providers.get("open")
    assert isinstance(adapter, ByUrlAlone)
    refs = (stage.ref(job), stage.ref(replace(job, id="b" * 26)), None)
    del stage.store.jobs[job.id]
    for ref in refs:
        with pytest.raises(Unauthorized):
            take(stage.world, adapter.delivery(ref, "p-1", SUCCEEDED))
    assert stage.store.seen == {}


def test_a_challenge_is_answered_only_to_whom_a_jobs_own_url_proves() -> None:
    stage = Stage(adapters=(ByUrlAlone("open", traits=replace(KEYED, provider="open")),))
    job = stage.job(provider="open")
    adapter = stage.world.providers.get("open")
    assert isinstance(adapter, ByUrlAlone)
    assert challenge(stage.world, adapter.delivery(stage.ref(job), "p-1", RUNNING)) == {"challenge": "word"}
    for ref in (None, stage.ref(replace(job, id="b" * 26)), f"{stage.ref(job)[:-26]}{'a' * 26}"):
        with pytest.raises(Unauthorized):
            challenge(stage.world, adapter.delivery(ref, "p-1", RUNNING))
