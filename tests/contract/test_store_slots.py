"""Contract of `ports.Store`: head and slot row change together, and nothing else puts or deletes rows (S1 to S4)."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from mediajobs.jobs.model import Job
from mediajobs.jobs.states import State
from mediajobs.messages import Created, Lost, SlotTaken, Written
from mediajobs.ports import Store
from tests.contract.conftest import World
from tests.fakes.jobs import a_job, changed


def put(store: Store, job: Job) -> Job:
    created = store.create(job)
    assert isinstance(created, Created)
    return created.job


def claimed(store: Store, key: str, row: str) -> Job:
    written = store.write(changed(put(store, a_job(key)), state=State.SUBMITTING, slot=row))
    assert isinstance(written, Written)
    return written.job


def test_claim_puts_the_row_and_release_deletes_it(store: Store) -> None:
    job = claimed(store, "first", "002")
    assert store.provider("sim").held == ("002",)
    assert store.load(job.id) == job
    freed = store.write(changed(job, slot=None))
    assert isinstance(freed, Written)
    assert store.provider("sim").held == ()
    assert store.load(job.id) == freed.job


def test_a_provider_tells_who_holds_its_rows(store: Store) -> None:
    """Reconcile finds the resumable job that is to be the probe by it."""
    second, first = claimed(store, "second", "002"), claimed(store, "first", "001")
    provider = store.provider("sim")
    assert (provider.held, provider.holders) == (("001", "002"), (first.id, second.id))


def test_claim_of_a_taken_row_says_so_and_writes_nothing(store: Store) -> None:
    claimed(store, "first", "001")
    job = put(store, a_job("second"))
    assert store.write(changed(job, state=State.SUBMITTING, slot="001")) == SlotTaken()
    assert store.load(job.id) == job
    assert isinstance(store.write(changed(job, state=State.SUBMITTING, slot="002")), Written)
    assert store.provider("sim").held == ("001", "002")


def test_claim_of_a_taken_row_after_a_lost_race_is_lost(store: Store) -> None:
    """Whoever lost the job must not try another row for it."""
    claimed(store, "first", "001")
    job = put(store, a_job("second"))
    won = store.write(changed(job, state=State.SUBMITTING, slot="002"))
    assert isinstance(won, Written)
    assert store.write(changed(job, state=State.SUBMITTING, slot="001")) == Lost(won.job)
    assert store.provider("sim").held == ("001", "002")


def test_claim_that_lost_the_race_puts_no_row(store: Store) -> None:
    job = put(store, a_job())
    won = store.write(changed(job, absent=1))
    assert isinstance(won, Written)
    assert store.write(changed(job, slot="001")) == Lost(won.job)
    assert store.provider("sim").held == ()


def test_release_that_lost_the_race_keeps_the_row(store: Store) -> None:
    job = claimed(store, "first", "001")
    won = store.write(changed(job, absent=1))
    assert isinstance(won, Written)
    assert store.write(changed(job, slot=None)) == Lost(won.job)
    assert store.provider("sim").held == ("001",)


@pytest.mark.parametrize("row", ["001", None])
def test_claim_and_release_that_were_resent_are_recognised_as_our_own(world: World, row: str | None) -> None:
    job = put(world.store, a_job()) if row else claimed(world.store, "first", "001")
    world.resend_next_write()
    written = world.store.write(changed(job, slot=row))
    assert isinstance(written, Written)
    assert world.store.load(job.id) == written.job
    assert world.store.provider("sim").held == ((row,) if row else ())


def test_note_that_keeps_the_slot_keeps_the_row(store: Store) -> None:
    job = claimed(store, "first", "001")
    assert isinstance(store.write(changed(job, absent=1)), Written)
    assert store.provider("sim").held == ("001",)


def test_release_of_a_row_that_another_job_holds_leaves_that_row_and_moves_the_job_on(store: Store) -> None:
    claimed(store, "first", "001")
    astray = put(store, a_job("second", state=State.RUNNING, slot="001"))
    freed = store.write(changed(astray, slot=None))
    assert isinstance(freed, Written)
    assert store.load(astray.id) == freed.job
    assert store.provider("sim").held == ("001",)


def test_release_of_a_missing_row_moves_the_job_on(store: Store) -> None:
    astray = put(store, a_job(state=State.RUNNING, slot="001"))
    freed = store.write(changed(astray, slot=None))
    assert isinstance(freed, Written)
    assert store.load(astray.id) == freed.job


def test_a_job_does_not_change_from_one_row_to_another(store: Store) -> None:
    job = claimed(store, "first", "001")
    with pytest.raises(ValueError, match="slot row"):
        store.write(changed(job, slot="002"))
    assert store.provider("sim").held == ("001",)


def test_rows_of_one_provider_are_not_those_of_another(store: Store) -> None:
    claimed(store, "first", "001")
    other = put(store, a_job("second", provider="sim-nokey"))
    assert isinstance(store.write(changed(other, slot="001")), Written)
    assert store.provider("sim").held == store.provider("sim-nokey").held == ("001",)
    assert store.provider("unused").held == ()


def test_the_extra_row_counts_like_any_other(store: Store) -> None:
    job = put(store, a_job("first", state=State.SUBMITTING))
    assert isinstance(store.write(changed(job, slot=f"over#{job.id}")), Written)
    claimed(store, "second", "001")
    provider = store.provider("sim")
    assert sorted(provider.held) == ["001", f"over#{job.id}"]
    assert provider.free(3) == ("002",)


def test_every_row_is_counted_over_many_pages(store: Store) -> None:
    rows = tuple(f"{number:03d}" for number in range(1, 12))
    for row in rows:
        claimed(store, f"key-{row}", row)
    assert store.provider("sim").held == rows


def test_a_row_goes_to_one_of_many_claims_at_once(store: Store) -> None:
    jobs = [put(store, a_job(f"key-{number}")) for number in range(8)]
    start = threading.Barrier(8)

    def claim(job: Job) -> Written | Lost | SlotTaken:
        start.wait()
        return store.write(changed(job, state=State.SUBMITTING, slot="001"))

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(claim, jobs))
    assert [type(outcome) for outcome in outcomes].count(Written) == 1
    assert outcomes.count(SlotTaken()) == 7
    assert store.provider("sim").held == ("001",)


def test_a_job_goes_to_one_of_many_claims_at_once(store: Store) -> None:
    job = put(store, a_job())
    start = threading.Barrier(8)

    def claim(number: int) -> Written | Lost | SlotTaken:
        start.wait()
        return store.write(changed(job, state=State.SUBMITTING, slot=f"{number:03d}"))

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(claim, range(1, 9)))
    won = [outcome for outcome in outcomes if isinstance(outcome, Written)]
    assert len(won) == 1
    assert outcomes.count(Lost(won[0].job)) == 7
    assert store.provider("sim").held == (won[0].job.slot,)
