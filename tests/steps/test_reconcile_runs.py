"""A run of reconcile: every due job is looked at, once per slot of time, and no bad one stops the rest."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from mediajobs.jobs.events import Status
from mediajobs.jobs.states import State
from mediajobs.schedule import tick_of
from mediajobs.steps.reconcile import reconcile
from tests.fakes.clock import SeededChance
from tests.fakes.store import MemoryStore
from tests.steps.kit import Stage
from tests.steps.looks import BUSY, asked, tick

RUNNING, FAILED, SUCCEEDED = Status.RUNNING, Status.FAILED, Status.SUCCEEDED


def test_every_due_job_is_looked_at_and_one_bad_one_stops_nobody() -> None:
    stage = Stage()
    jobs = [stage.job(f"job-{number}") for number in range(30)]
    bad = jobs[7]
    stage.store.jobs[bad.id] = replace(bad, provider="gone", attempt=None, state=State.SUBMITTING)
    stage.clock.advance(451)
    tick(stage)
    woken = {sent[0] for sent in stage.sent()}
    assert woken == {job.id for job in jobs} - {bad.id}
    assert stage.metrics.counted["ReconcileErrors"] == 1
    assert stage.metrics.counted["ReconcileRuns"] == 1


def test_a_job_that_can_never_be_looked_at_does_not_keep_the_run_busy() -> None:
    stage = Stage()
    job = stage.job()
    stage.store.jobs[job.id] = replace(job, provider="gone", attempt=None, state=State.SUBMITTING, due_at=1)
    tick(stage, run_ms=50_000)
    assert stage.metrics.counted["ReconcileErrors"] == 1


def test_a_time_budget_stops_the_run_and_the_next_one_begins_with_the_oldest() -> None:
    stage = Stage(BUSY, limit=20)
    jobs = [stage.running(f"job-{number}", f"p-{number}") for number in range(10)]
    for number, job in enumerate(jobs):
        stage.store.jobs[job.id] = replace(stage.read(job), due_at=stage.clock.now() + 10_000 + number)
    stage.clock.advance(11)
    stage.sim.during_ask = lambda _: stage.clock.advance(5) and None
    for _ in range(10):
        stage.sim.says("poll", RUNNING, "")
    assert "looked at 5 jobs" in tick(stage, "first", run_ms=22_000)
    polled = [about for _, about in stage.sim.asked]
    assert polled == [f"p-{number}" for number in range(5)]
    tick(stage, "second", run_ms=20_000)
    assert [about for _, about in stage.sim.asked][5] == "p-5"


def test_due_times_under_a_minute_are_served_inside_the_run() -> None:
    stage = Stage(replace(BUSY, poll_floor_s=2))
    job = stage.running()
    for _ in range(12):
        stage.sim.says("poll", RUNNING)
    stage.clock.advance(2)
    tick(stage, run_ms=20_000)
    assert asked(stage) >= 3  # at 2, 4, 8 and 16 s
    assert stage.clock.now() - job.since < 30_000


class OneLookBehind(MemoryStore):
    """Its index of what is due shows nothing at the first look."""

    looks = 0

    def due(self, until: int) -> Iterator[tuple[int, str]]:
        self.looks += 1
        return super().due(until) if self.looks > 1 else iter(())


def test_a_job_of_a_quick_provider_that_the_index_lacks_yet_is_polled_in_the_same_run() -> None:
    stage = Stage(replace(BUSY, poll_floor_s=2), make_store=OneLookBehind)
    stage.running()
    stage.sim.says("poll", SUCCEEDED)
    stage.clock.advance(2)
    tick(stage, run_ms=20_000)
    assert asked(stage) == 1


def test_a_run_with_nothing_due_ends_at_once() -> None:
    stage = Stage()
    before = stage.clock.now()
    stage.job()
    assert tick(stage, run_ms=50_000).startswith("looked at 0 jobs")
    assert stage.clock.now() == before


def test_the_same_tick_delivered_again_runs_once() -> None:
    stage = Stage()
    stage.job()
    stage.clock.advance(451)
    tick(stage, "12:00")
    first = stage.sent()
    tick(stage, "12:00")
    assert (len(first), stage.sent()) == (1, [])
    stage.once.abandon("reconcile", ["12:01"])
    assert tick(stage, "12:01") == "a twin of this tick is running"


@pytest.mark.parametrize("time", ["<aws.scheduler.scheduled-time>", "", None, 7])
def test_a_tick_without_its_time_is_told_apart_by_its_request(time: object) -> None:
    """Else the first one's record, kept for an hour, would end all that follow."""
    assert [tick_of({"scheduled_time": time}, request) for request in ("r-1", "r-2")] == ["r-1", "r-2"]
    assert tick_of({}, "r-1") == "r-1"
    assert tick_of({"scheduled_time": "2026-11-30T02:00:00Z"}, "r-1") == "2026-11-30T02:00:00Z"


def test_a_tick_whose_run_failed_runs_again() -> None:
    stage = Stage()
    stage.job()
    stage.clock.advance(451)

    def broken(until: int) -> Iterator[tuple[int, str]]:
        raise RuntimeError("the index did not answer")

    due, stage.store.due = stage.store.due, broken  # type: ignore[method-assign]
    with pytest.raises(RuntimeError):
        tick(stage, "12:00")
    stage.store.due = due  # type: ignore[method-assign]
    tick(stage, "12:00")
    assert len(stage.sent()) == 1


class BarrierStore(MemoryStore):
    """Two passes read the same due jobs before either of them writes."""

    def __init__(self, chance: SeededChance) -> None:
        super().__init__(chance)
        self.barrier: threading.Barrier | None = None

    def due(self, until: int) -> Iterator[tuple[int, str]]:
        entries = list(super().due(until))
        if self.barrier is not None and entries:
            self.barrier.wait(timeout=5)
        yield from entries


def test_two_runs_at_once_poll_each_job_once() -> None:
    """CASES 38."""
    stage = Stage(BUSY, limit=9, make_store=BarrierStore)
    jobs = [stage.running(f"job-{number}", f"p-{number}") for number in range(5)]
    versions = {job.id: stage.read(job).version for job in jobs}
    stage.clock.advance(11)
    for _ in range(10):
        stage.sim.says("poll", RUNNING, "")
    assert isinstance(stage.store, BarrierStore)
    stage.store.barrier = threading.Barrier(2)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda name: reconcile(stage.world, name, workers=3, run_ms=1), ["a", "b"]))
    assert sorted(about for _, about in stage.sim.asked) == sorted(f"p-{number}" for number in range(5))
    assert all(stage.read(job).version == versions[job.id] + 1 for job in jobs)


def test_two_runs_at_once_publish_each_job_once() -> None:
    stage = Stage(limit=9, make_store=BarrierStore)
    for number in range(5):
        stage.succeeded(f"job-{number}")
    stage.clock.advance(451)
    assert isinstance(stage.store, BarrierStore)
    stage.store.barrier = threading.Barrier(2)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda name: reconcile(stage.world, name, workers=3, run_ms=1), ["a", "b"]))
    assert len(stage.topic.sends) == 5


def test_providers_are_tended_due_jobs_or_not() -> None:
    stage = Stage()
    first = stage.running()
    waits = stage.job("waits")
    stage.dispatch(waits)
    stage.say(first, FAILED)
    tick(stage)
    assert stage.sent() == [(waits.id, "submit", 0)]


def test_the_lag_of_the_oldest_due_job_is_measured() -> None:
    stage = Stage()
    stage.job()
    stage.clock.advance(460)
    tick(stage)
    assert stage.metrics.counted["DueLagMs"] == 10_000


def test_a_provider_that_fails_does_not_stop_the_others() -> None:
    stage = Stage()
    stage.job()
    stage.clock.advance(451)

    def broken(name: str) -> object:
        raise RuntimeError("no answer")

    stage.store.provider = broken  # type: ignore[method-assign,assignment]
    tick(stage)
    assert len(stage.sent()) == 1
