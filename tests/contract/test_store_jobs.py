"""Contract of `ports.Store`: jobs are put once, come back as they went, and are written under the version read."""

from __future__ import annotations

import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from mediajobs.errors import Throttled, WriteConflict
from mediajobs.jobs.model import Attempt, Attention, Finding, Job, JobError, Link, Output
from mediajobs.jobs.states import ErrorCode, FindingKind, Outcome, Reason, State
from mediajobs.messages import Created, Exists, Lost, Written
from mediajobs.ports import Store
from tests.contract.conftest import World
from tests.fakes.jobs import BODY, NOW, a_job, changed

SHA = hashlib.sha256(b"media").hexdigest()
LONG = "https://cdn.example.com/" + "a" * 700 + ".mp4"


def put(store: Store, job: Job) -> Job:
    created = store.create(job)
    assert isinstance(created, Created)
    return created.job


def full_job() -> Job:
    """A job with something in every field."""
    return a_job(
        state=State.SUBMITTING,
        version=7,
        submission=2,
        attempt=Attempt(
            no=3, outcome=Outcome.AMBIGUOUS, token="t" * 13, started=NOW, lease_until=NOW + 1, digest="ab12"
        ),
        first_sent_at=NOW - 5,
        unsettled=True,
        absent=1,
        misses=2,
        failures=3,
        patience=4,
        retry_at=NOW + 6,
        provider_job_id="pj-1",
        adopt="pj-2",
        cancel_requested=True,
        attention=Attention(reason=Reason.OVERDUE, since=NOW, version=7, evidence="späť"),
        findings=(
            Finding(kind=FindingKind.LATE_RESULT, provider_job_id="pj-0", since=NOW),
            Finding(kind=FindingKind.EXTRA_SUBMISSION, provider_job_id="pj-9", since=NOW, acknowledged=True),
        ),
        wait="00000001#1800000000000#x",
        links=(Link(url="https://cdn.example.com/a.mp4", content_type="video/mp4", size=9, expires_at=NOW + 9),),
        outputs=(Output(key="results/a/0", content_type="video/mp4", size=9, sha256=SHA),),
        error=JobError(code=ErrorCode.PROVIDER_ERROR, message='it said "no"'),
        provider_word="weird\nword",
        due_at=NOW + 90_000,
        final_version=6,
        published_at=NOW,
        ttl=NOW // 1000,
        out="next live",
        history=("1||pending|api|1800000000000", "2|~remark|system|1800000000001"),
        history_count=31,
        extra={"newer": {"S": "kept"}, "set": {"SS": ["a", "b"]}},
    )


def test_load_of_a_job_with_every_field_set_returns_it_unchanged(store: Store) -> None:
    job = put(store, full_job())
    assert store.load(job.id) == job
    assert store.load(job.id, strong=False) == job
    assert store.load_many([job.id]) == [job]


def test_load_of_a_job_with_no_field_set_returns_it_unchanged(store: Store) -> None:
    job = put(store, a_job())
    assert store.load(job.id) == job


def test_load_of_an_unknown_job_returns_none(store: Store) -> None:
    assert store.load(a_job().id) is None


def test_create_of_a_job_that_exists_returns_the_standing_one_and_writes_nothing(store: Store) -> None:
    first = put(store, a_job(model="video-1"))
    assert store.create(a_job(model="video-2")) == Exists(first)
    assert store.load(first.id) == first


def test_create_that_was_resent_counts_as_created(world: World) -> None:
    world.resend_next_write()
    created = world.store.create(a_job())
    assert isinstance(created, Created)
    assert world.store.load(created.job.id) == created.job


def test_create_by_many_at_once_has_one_winner(store: Store) -> None:
    start = threading.Barrier(8)

    def create(number: int) -> Created | Exists:
        start.wait()
        return store.create(a_job(model=f"video-{number}"))

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(create, range(8)))
    winners = [outcome.job for outcome in outcomes if isinstance(outcome, Created)]
    assert len(winners) == 1
    assert all(outcome.job == winners[0] for outcome in outcomes)


def test_write_under_the_version_read_stands(store: Store) -> None:
    job = put(store, a_job())
    written = store.write(changed(job, model="video-2"))
    assert isinstance(written, Written)
    assert (written.job.version, written.job.model) == (2, "video-2")
    assert store.load(job.id) == written.job


def test_write_under_an_older_version_loses_and_returns_the_current_row(store: Store) -> None:
    job = put(store, a_job())
    current = store.write(changed(job, model="video-2"))
    assert isinstance(current, Written)
    assert store.write(changed(job, model="video-3")) == Lost(current.job)
    assert store.load(job.id) == current.job


def test_write_of_a_job_that_does_not_exist_loses_and_makes_no_row(store: Store) -> None:
    job = a_job()
    assert store.write(changed(job)) == Lost(None)
    assert store.load(job.id) is None


def test_write_to_a_later_job_of_the_same_key_loses(store: Store) -> None:
    """A row that expired and was put anew may have the version of the old one by chance."""
    later = put(store, a_job(incarnation="another"))
    assert store.write(changed(a_job())) == Lost(later)


def test_write_that_was_resent_is_recognised_as_our_own(world: World) -> None:
    job = put(world.store, a_job())
    world.resend_next_write()
    written = world.store.write(changed(job, model="video-2"))
    assert isinstance(written, Written)
    assert world.store.load(job.id) == written.job


def test_write_of_the_same_change_by_a_twin_is_not_taken_for_our_own(store: Store) -> None:
    """Two dispatchers that decide the very same thing: only one of them may act on it."""
    job = put(store, a_job())
    change = changed(job, state=State.SUBMITTING)
    first, second = store.write(change), store.write(change)
    assert isinstance(first, Written)
    assert second == Lost(first.job)


def test_write_by_many_at_once_has_one_winner_per_version(store: Store) -> None:
    job = put(store, a_job())
    start = threading.Barrier(8)

    def write(number: int) -> Written | Lost:
        start.wait()
        outcome = store.write(changed(job, model=f"video-{number}"))
        assert isinstance(outcome, Written | Lost)
        return outcome

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(write, range(8)))
    winners = [outcome.job for outcome in outcomes if isinstance(outcome, Written)]
    assert len(winners) == 1
    assert all(outcome.job == winners[0] for outcome in outcomes)
    assert store.load(job.id) == winners[0]


def test_write_counts_every_version_once_under_contention(store: Store) -> None:
    """Lost updates would show as a version that is smaller than the number of wins."""
    job = put(store, a_job())

    def bump(_: int) -> int:
        wins = 0
        for _ in range(4):
            current = store.load(job.id)
            assert current is not None
            wins += isinstance(store.write(changed(current, absent=current.absent + 1)), Written)
        return wins

    with ThreadPoolExecutor(6) as pool:
        wins = sum(pool.map(bump, range(6)))
    end = store.load(job.id)
    assert end is not None
    assert end.absent == wins == end.version - 1


def test_write_with_a_conflict_that_lasts_raises_and_can_be_done_later(world: World) -> None:
    job = put(world.store, a_job())
    world.refuse_writes("TransactionConflict")
    with pytest.raises(WriteConflict):
        world.store.write(changed(job, slot="001"))
    world.recover()
    assert isinstance(world.store.write(changed(job, slot="001")), Written)


def test_write_while_throttled_raises_and_can_be_done_later(world: World) -> None:
    job = put(world.store, a_job())
    world.refuse_writes("ThrottlingException")
    with pytest.raises(Throttled):
        world.store.write(changed(job))
    world.recover()
    assert isinstance(world.store.write(changed(job)), Written)


@pytest.mark.parametrize("step", [0, 2, -1])
def test_write_that_skips_or_repeats_a_version_is_refused_as_our_fault(store: Store, step: int) -> None:
    job = put(store, a_job(version=5))
    change = replace(changed(job), after=replace(job, version=job.version + step))
    with pytest.raises(ValueError, match="version"):
        store.write(change)


def test_a_field_that_was_cleared_is_gone(store: Store) -> None:
    job = put(store, full_job())
    cleared = store.write(
        changed(job, out=None, due_at=None, attention=None, wait=None, error=None, links=(), findings=(), retry_at=None)
    )
    assert isinstance(cleared, Written)
    loaded = store.load(job.id)
    assert loaded == cleared.job
    assert loaded is not None
    assert (loaded.out, loaded.due_at, loaded.attention, loaded.links) == (None, None, None, ())


def test_attributes_of_a_newer_release_survive_a_write(store: Store) -> None:
    job = put(store, a_job(extra={"newer": {"M": {"a": {"N": "1.5"}}}}))
    written = store.write(changed(job))
    assert isinstance(written, Written)
    loaded = store.load(job.id)
    assert loaded is not None
    assert loaded.extra == {"newer": {"M": {"a": {"N": "1.5"}}}}


def test_long_links_and_many_outputs_come_back_whole_from_every_read(store: Store) -> None:
    links = tuple(Link(url=f"{LONG}?{number}", expires_at=NOW) for number in range(3))
    outputs = tuple(Output(key=f"results/{n}", content_type="image/png", size=n, sha256=SHA) for n in range(30))
    job = put(store, a_job())
    written = store.write(changed(job, links=links, outputs=outputs))
    assert isinstance(written, Written)
    assert written.job.links == links
    assert store.load(job.id) == written.job
    assert store.load_many([job.id]) == [written.job]
    assert store.write(changed(job)) == Lost(written.job)
    assert store.create(a_job()) == Exists(written.job)


def test_long_links_survive_writes_that_do_not_touch_them(store: Store) -> None:
    job = put(store, a_job())
    current = store.write(changed(job, links=(Link(url=LONG),)))
    for number in range(3):
        assert isinstance(current, Written)
        current = store.write(changed(current.job, absent=number))
    loaded = store.load(job.id)
    assert loaded is not None
    assert loaded.links == (Link(url=LONG),)


def test_long_links_can_be_replaced_and_removed(store: Store) -> None:
    job = put(store, a_job())
    first = store.write(changed(job, links=(Link(url=LONG),)))
    assert isinstance(first, Written)
    second = store.write(changed(first.job, links=(Link(url=LONG + "?fresh"),)))
    assert isinstance(second, Written)
    assert store.load(job.id) == second.job
    third = store.write(changed(second.job, links=()))
    assert isinstance(third, Written)
    assert store.load(job.id) == third.job


def test_long_links_of_a_lost_race_do_not_replace_the_winners(store: Store) -> None:
    job = put(store, a_job())
    won = store.write(changed(job, links=(Link(url=LONG + "?won"),)))
    lost = store.write(changed(job, links=(Link(url=LONG + "?lost"),)))
    assert isinstance(won, Written)
    assert lost == Lost(won.job)
    assert store.load(job.id) == won.job


def test_load_many_keeps_the_order_and_leaves_out_what_is_missing(store: Store) -> None:
    jobs = [put(store, a_job(f"key-{number}")) for number in range(120)]
    wanted = [jobs[119].id, a_job("missing").id, jobs[0].id, *(job.id for job in jobs[1:119])]
    assert store.load_many(wanted) == [jobs[119], jobs[0], *jobs[1:119]]
    assert store.load_many([]) == []


def test_input_is_kept_by_its_content(store: Store) -> None:
    job = a_job()
    other = b'{"prompt":"a lighthouse at dusk"}'
    store.put_input(job.id, BODY, job.payload_digest, ttl=NOW // 1000)
    store.put_input(job.id, BODY, job.payload_digest, ttl=NOW // 1000)
    store.put_input(job.id, other, hashlib.sha256(other).digest(), ttl=NOW // 1000)
    assert store.input(job) == BODY
    assert store.input(replace(job, payload_digest=hashlib.sha256(other).digest())) == other
    assert store.input(replace(job, payload_digest=hashlib.sha256(b"no such").digest())) is None
