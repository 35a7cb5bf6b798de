"""Reads that may lag cost half; what lags must never decide that nothing is to be done."""

from __future__ import annotations

from typing import Any

from mediajobs.jobs.model import Job
from mediajobs.jobs.states import State
from mediajobs.messages import Lost, SlotTaken, Written
from mediajobs.steps.relay import relay
from mediajobs.steps.store import store
from tests.fakes.http import Download
from tests.fakes.store import MemoryStore
from tests.samples import mp4
from tests.steps.kit import Stage


class LaggingStore(MemoryStore):
    """A table whose replicas know nothing of the last write to a job."""

    def __init__(self, chance: Any) -> None:
        super().__init__(chance)
        self.behind: dict[str, Job | None] = {}

    def write(self, change: Any) -> Written | Lost | SlotTaken:
        self.behind[change.before.id] = change.before
        return super().write(change)

    def load(self, job_id: str, *, strong: bool = True) -> Job | None:
        return super().load(job_id) if strong or job_id not in self.behind else self.behind[job_id]


def test_an_end_that_a_replica_does_not_know_yet_is_published() -> None:
    """The stream's image is newer than the replica."""
    stage = Stage(make_store=LaggingStore)
    job = stage.succeeded()
    relay(stage.world, job)
    assert [send.deduplication_id for send in stage.topic.published] == [job.publication_id]
    assert stage.read(job).published_at is not None


def test_a_job_that_a_replica_does_not_know_at_all_is_published() -> None:
    stage = Stage(make_store=LaggingStore)
    job = stage.succeeded()
    assert isinstance(stage.store, LaggingStore)
    stage.store.behind[job.id] = None
    relay(stage.world, job)
    assert stage.read(job).published_at is not None


def test_a_result_is_fetched_though_a_replica_still_shows_the_job_running() -> None:
    """The message outran the replica; taken for past it would wait for reconcile."""
    stage = Stage(make_store=LaggingStore)
    job = stage.storing()
    stage.http.downloads = [Download(body=mp4())]
    assert store(stage.world, job.id) != "past"
    assert stage.read(job).state is State.SUCCEEDED
