"""A provider's pauses: what sets them, whom they stop, and the one job that goes as probe to end them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from mediajobs.jobs.events import AnswerKind
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import State
from mediajobs.messages import Caller
from mediajobs.pauses import Pause, PauseReason
from mediajobs.steps.admission import tend, wake
from mediajobs.steps.jobs import set_provider
from tests.fakes.clock import SeededChance
from tests.fakes.store import MemoryStore
from tests.steps.kit import OPERATOR, PLAIN, Killed, Stage, die

NOT_ACCEPTED, AMBIGUOUS, BLOCKED = AnswerKind.NOT_ACCEPTED, AnswerKind.AMBIGUOUS, AnswerKind.BLOCKED


def test_retry_after_pauses_the_provider_and_delays_those_that_wait() -> None:
    stage = Stage()
    job = stage.job()
    stage.sim.answer(NOT_ACCEPTED, retry_at=stage.clock.now() + 120_000)
    stage.dispatch(job)
    other = stage.job("other")
    assert stage.dispatch(other) == "turned away"
    stage.relay()
    assert (other.id, "submit", 120) in stage.sent()
    stage.clock.advance(120)
    stage.sim.accept("p-2")
    assert stage.dispatch(other) == "accepted"


def test_reconcile_does_not_send_the_waiting_jobs_again_each_minute_of_a_pause() -> None:
    stage = Stage()
    job = stage.job()
    stage.sim.answer(NOT_ACCEPTED, retry_at=stage.clock.now() + 900_000)
    stage.dispatch(job)
    stage.dispatch(stage.job("other"))
    sent = 0
    for _ in range(14):
        tend(stage.world, "sim")
        sent += len(stage.sent())
        stage.clock.advance(60)
    assert sent <= 2


def test_blocked_wakes_nobody_and_stops_everybody() -> None:
    stage = Stage()
    job = stage.job()
    stage.sim.answer(BLOCKED, message="HTTP 402")
    assert stage.dispatch(job) == "blocked"
    assert stage.pause().reason is PauseReason.BLOCKED
    other = stage.job("other")
    assert stage.dispatch(other) == "turned away"
    stage.relay()
    assert [sent[0] for sent in stage.sent()] == [job.id]  # its own retry
    assert wake(stage.world, "sim") == 0
    assert stage.metrics.counted["ProviderPaused"] == 1


def test_after_a_blocked_pause_one_job_goes_as_probe_and_its_success_ends_it() -> None:
    stage = Stage(limit=5)
    blocked = stage.job()
    stage.sim.answer(BLOCKED)
    stage.dispatch(blocked)
    others = [stage.job(f"other-{number}") for number in range(3)]
    for job in others:
        stage.dispatch(job)
        stage.clock.advance(0.001)
    stage.clock.advance(61)
    tend(stage.world, "sim")
    assert [sent[0] for sent in stage.sent()] == [others[0].id]

    def meanwhile(_: object) -> None:
        stage.sim.during_submit = None
        assert stage.dispatch(others[1]) == "turned away"  # the lease is the probe's

    stage.sim.during_submit = meanwhile
    stage.sim.accept("p-1")
    assert stage.dispatch(others[0]) == "accepted"
    assert stage.pause().reason is None
    tend(stage.world, "sim")
    assert others[1].id in [sent[0] for sent in stage.sent()]


def test_only_the_first_of_the_waiting_room_goes_as_probe_though_rows_are_free_for_more() -> None:
    stage = Stage(limit=5)
    jobs = [stage.job(f"job-{number}") for number in range(3)]
    stage.sim.answer(BLOCKED)
    for job in jobs:
        stage.dispatch(job)
        stage.clock.advance(0.001)
    first, *others = stage.store.waiting("sim", 99)
    stage.clock.advance(61)
    before = stage.pause()
    for job_id in others:
        assert stage.dispatch(stage.store.jobs[job_id]) == "turned away"
    assert (stage.pause(), len(stage.sim.submits)) == (before, 1), "no lease was taken"
    stage.sim.accept("p-1")
    assert stage.dispatch(stage.store.jobs[first]) == "accepted"


def test_a_probe_that_is_blocked_takes_the_next_step() -> None:
    stage = Stage()
    job = stage.job()
    stage.sim.answer(BLOCKED)
    stage.dispatch(job)
    waits = []
    for _ in range(5):
        stage.clock.advance(1100)
        stage.sim.answer(BLOCKED)
        assert stage.dispatch(job) == "blocked"
        waits.append((stage.pause().until - stage.clock.now()) / 60_000)
    assert waits == [2, 4, 8, 15, 15]
    assert stage.held() == {}


def test_a_probe_that_dies_leaves_its_lease_and_the_next_one_goes() -> None:
    stage = Stage(limit=2)
    first = stage.job()
    stage.sim.answer(BLOCKED)
    stage.dispatch(first)
    dead = stage.job("dead")
    stage.clock.advance(61)
    stage.sim.during_submit = die
    with pytest.raises(Killed):
        stage.dispatch(dead)
    stage.sim.during_submit = None
    third = stage.job("third")
    assert stage.dispatch(third) == "turned away"
    stage.clock.advance(60)
    stage.sim.accept("p-3")
    assert stage.dispatch(third) == "accepted"
    assert stage.pause().reason is None


def paused_before_a_probe(
    make_store: Callable[[SeededChance], MemoryStore] = MemoryStore,
) -> tuple[Stage, Job, Job]:
    """A blocked pause that may end now; a job in doubt and one that waits may go as its probe."""
    stage = Stage(limit=2, make_store=make_store)
    doubtful = stage.unsure("doubtful")
    blocked = stage.job("blocked")
    stage.sim.answer(BLOCKED)
    stage.dispatch(blocked)
    waits = stage.job("waits")
    stage.dispatch(waits)
    stage.clock.advance(61)
    return stage, doubtful, waits


def test_a_resumable_job_goes_as_probe_before_the_first_of_the_waiting_room() -> None:
    stage, doubtful, _ = paused_before_a_probe()
    tend(stage.world, "sim")
    assert [sent[0] for sent in stage.sent()] == [doubtful.id]
    stage.sim.accept("p-1")
    assert stage.dispatch(doubtful) == "accepted"


class OvertakenStore(MemoryStore):
    """Before the next write of a pause somebody else does something."""

    meanwhile: Callable[[], object] | None = None

    def save_pause(self, provider: str, before: Pause, after: Pause) -> bool:
        if self.meanwhile is not None:
            overtakes, self.meanwhile = self.meanwhile, None
            overtakes()
        return super().save_pause(provider, before, after)


def test_of_two_probes_at_once_one_goes() -> None:
    """Both saw that the pause may end; whoever moves its end on goes, the other one is turned away."""
    stage, doubtful, waits = paused_before_a_probe(OvertakenStore)
    sent = len(stage.sim.submits)
    stage.sim.answer(AMBIGUOUS, message="timeout")
    assert isinstance(stage.store, OvertakenStore)
    stage.store.meanwhile = lambda: stage.dispatch(doubtful)
    assert stage.dispatch(waits) == "turned away"
    assert len(stage.sim.submits) == sent + 1
    assert stage.state(waits) is State.PENDING


def test_a_pause_stops_same_key_retries_and_a_resumable_job_does_not_wait_in_the_room() -> None:
    stage = Stage(limit=2)
    doubtful = stage.unsure("doubtful")
    set_provider(stage.world, OPERATOR, "sim", pause=True)
    stage.clock.advance(61)
    assert stage.dispatch(doubtful) == "turned away"
    assert stage.read(doubtful).wait is None
    assert len(stage.sim.submits) == 1


def test_five_ambiguous_answers_pause_the_provider() -> None:
    stage = Stage(PLAIN, limit=9)
    for number in range(5):
        stage.unsure(f"job-{number}")
    assert stage.pause().reason is PauseReason.AMBIGUOUS
    assert stage.dispatch(stage.job("sixth")) == "turned away"


def test_a_success_never_wipes_a_newer_pause() -> None:
    """The pause was set while the request was on its way: its success speaks of an earlier time."""
    stage = Stage(limit=3)
    for number in range(2):
        stage.unsure(f"job-{number}")
    job = stage.job("late")

    def operator(_: object) -> None:
        stage.sim.during_submit = None
        set_provider(stage.world, OPERATOR, "sim", pause=True)

    stage.sim.during_submit = operator
    stage.sim.accept("p-9")
    assert stage.dispatch(job) == "accepted"
    assert stage.pause().reason is PauseReason.OPERATOR


def test_a_probes_success_never_wipes_a_pause_that_was_set_after_its_mark() -> None:
    stage = Stage(limit=3)
    stage.sim.answer(BLOCKED)
    stage.dispatch(stage.job())
    stage.clock.advance(61)
    job = stage.job("probe")
    save = stage.store.save_pause

    def then_blocked_again(provider: str, before: Pause, after: Pause) -> bool:
        saved = save(provider, before, after)
        stage.store.save_pause = save  # type: ignore[method-assign]
        current = stage.store.provider("sim").pause
        save("sim", current, replace(current, until=current.until + 840_000, step=4))
        return saved

    stage.store.save_pause = then_blocked_again  # type: ignore[method-assign]
    stage.sim.accept("p-1")
    assert stage.dispatch(job) == "accepted"
    assert (stage.pause().reason, stage.pause().step) == (PauseReason.BLOCKED, 4)


def test_a_pause_that_changed_meanwhile_is_set_on_the_newer_state() -> None:
    stage = Stage(limit=3)
    job = stage.job()

    def another_is_ambiguous(_: object) -> None:
        stage.sim.during_submit = None
        before = stage.pause()
        stage.store.save_pause("sim", before, replace(before, bad=4))

    stage.sim.during_submit = another_is_ambiguous
    stage.sim.answer(AMBIGUOUS)
    stage.dispatch(job)
    assert stage.pause().reason is PauseReason.AMBIGUOUS


def test_an_operators_pause_ends_only_by_the_operator() -> None:
    stage = Stage()
    job = stage.job()
    set_provider(stage.world, OPERATOR, "sim", pause=True)
    stage.clock.advance(80_000)
    assert stage.dispatch(job) == "turned away"
    tend(stage.world, "sim")
    assert stage.sent() == []
    set_provider(stage.world, OPERATOR, "sim", pause=False)
    tend(stage.world, "sim")
    assert stage.sent() == [(job.id, "submit", 0)]


def test_a_healthy_provider_costs_no_write() -> None:
    stage = Stage(limit=3)
    for number in range(3):
        stage.running(f"job-{number}", f"p-{number}")
    assert stage.store.pauses == {}
    assert stage.store.rounds == {}
    assert stage.store.turns == {}


def test_callers_may_not_set_a_provider() -> None:
    stage = Stage()
    with pytest.raises(Exception, match="operator"):
        set_provider(stage.world, Caller(tenant="acme", scope="user"), "sim", pause=True)
    assert stage.store.pauses == {}, "refused before anything is written"
