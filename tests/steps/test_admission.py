"""Admission: rows, turns, pauses and probes. One full provider delays no other, and nobody waits for ever."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from mediajobs.jobs.events import AnswerKind, Status
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import State
from mediajobs.messages import Caller, Do
from mediajobs.pauses import Pause, PauseReason
from mediajobs.steps.admission import tend, turn_of, wake
from mediajobs.steps.jobs import set_provider
from mediajobs.steps.relay import relay
from mediajobs.steps.worker import RECEIVES_ENOUGH
from tests.fakes.providers import ScriptedAdapter
from tests.fakes.store import MemoryStore
from tests.steps.kit import KEYED, OPERATOR, PLAIN, Stage

NOT_ACCEPTED, AMBIGUOUS, BLOCKED = AnswerKind.NOT_ACCEPTED, AnswerKind.AMBIGUOUS, AnswerKind.BLOCKED


def pause_of(stage: Stage) -> Pause:
    return stage.store.provider("sim").pause


def waiting(stage: Stage) -> tuple[str, ...]:
    return stage.store.waiting("sim", 99)


# -- full


def test_a_job_that_finds_its_provider_full_waits_and_costs_nothing_more() -> None:
    stage = Stage()
    stage.running()
    job = stage.job("second")
    assert stage.dispatch(job) == "turned away"
    version = stage.read(job).version
    for _ in range(20):
        assert stage.dispatch(job) == "turned away"
    assert (stage.read(job).version, stage.read(job).failures, waiting(stage)) == (version, 0, (job.id,))
    assert len(stage.sim.submits) == 1


def test_a_full_provider_delays_no_other() -> None:
    other = ScriptedAdapter("other", traits=replace(KEYED, provider="other"))
    stage = Stage(adapters=(other,))
    stage.running()
    stage.dispatch(stage.job("second"))
    job = stage.job("third", provider="other")
    other.accept("o-1")
    assert stage.dispatch(job) == "accepted"


def test_a_slot_given_back_wakes_as_many_as_rows_are_free() -> None:
    stage = Stage(limit=2)
    first = stage.running("first", "p-1")
    stage.running("second", "p-2")
    late = [stage.job(f"late-{number}") for number in range(3)]
    for job in late:
        stage.dispatch(job)
        stage.clock.advance(0.001)
    stage.relay()
    stage.sent()
    stage.say(first, Status.SUCCEEDED, "p-1")
    stage.relay()
    assert stage.sent() == [(late[0].id, "submit", 0)]


def test_a_job_that_was_let_in_leaves_the_waiting_room_in_the_same_write() -> None:
    stage = Stage()
    first = stage.running()
    job = stage.job("second")
    stage.dispatch(job)
    stage.say(first, Status.SUCCEEDED)
    stage.sim.accept("p-2")
    assert stage.dispatch(job) == "accepted"
    assert (stage.read(job).wait, waiting(stage)) == (None, ())


def test_a_fresh_job_does_not_pass_those_that_wait() -> None:
    stage = Stage()
    first = stage.running()
    second = stage.job("second")
    stage.dispatch(second)
    stage.say(first, Status.SUCCEEDED)
    third = stage.job("third")
    assert stage.dispatch(third) == "turned away"
    stage.sim.accept("p-2")
    assert stage.dispatch(second) == "accepted"


def test_a_fresh_job_goes_where_fewer_wait_than_rows_are_free() -> None:
    stage = Stage(limit=3)
    stage.running("first", "p-1")
    waits = stage.job("second")
    stage.store.jobs[waits.id] = replace(waits, wait=f"0000000001#0#{waits.id}")
    stage.sim.accept("p-3")
    assert stage.dispatch(stage.job("third")) == "accepted"


def test_an_operator_lowers_the_limit_at_once_and_rows_beyond_it_stay() -> None:
    stage = Stage(limit=3)
    stage.running("first", "p-1")
    stage.running("second", "p-2")
    set_provider(stage.world, OPERATOR, "sim", limit=2)
    assert stage.dispatch(stage.job("third")) == "turned away"
    assert len(stage.held()) == 2
    set_provider(stage.world, OPERATOR, "sim", limit=0)
    stage.sim.accept("p-3")
    assert stage.dispatch(stage.job("third")) == "accepted"


def test_a_configured_limit_may_be_lower_than_the_templates() -> None:
    stage = Stage(replace(KEYED, limit=1), limit=5)
    stage.running()
    assert stage.dispatch(stage.job("second")) == "turned away"


# -- turns


class Full:
    """A provider with one slot: jobs enter, and whoever is woken goes in."""

    def __init__(self) -> None:
        self.stage = Stage()
        self.number = 0
        self.order: list[str] = []
        self.inside: Job | None = None

    def enter(self, tenant: str) -> Job:
        self.number += 1
        job = self.stage.job(f"job-{self.number}", tenant)
        self.stage.clock.advance(0.001)
        self.go(job)
        return job

    def go(self, job: Job) -> None:
        if stage_is_free := not self.stage.held():
            self.stage.sim.accept(f"p-{job.id}")
        outcome = self.stage.dispatch(job)
        if outcome == "accepted":
            self.inside = job
            self.order.append(job.tenant)
        elif stage_is_free:
            self.stage.sim._answers.clear()
        self.stage.relay()

    def finish(self) -> None:
        assert self.inside is not None
        self.stage.say(self.inside, Status.SUCCEEDED, f"p-{self.inside.id}")
        self.inside = None
        self.stage.relay()
        for sent in self.stage.queues.take_dispatched():
            self.go(self.stage.read(sent.job))


def test_tenants_take_turns_however_many_jobs_one_of_them_has() -> None:
    full = Full()
    for _ in range(8):
        full.enter("flood")
    for _ in range(3):
        full.enter("small")
    for _ in range(10):
        full.finish()
    passed = full.order[1:]
    assert passed[:6].count("small") == 3, passed
    assert sorted(full.order) == ["flood"] * 8 + ["small"] * 3


@pytest.mark.parametrize("tenants", [2, 4])
def test_each_other_tenant_passes_a_waiting_job_at_most_twice(tenants: int) -> None:
    """Whatever comes in meanwhile; one claim of each may be past its check already."""
    full = Full()
    names = [f"tenant-{number}" for number in range(tenants)]
    for _ in range(5):
        for name in names:
            full.enter(name)
    for _ in range(7):  # the rounds have moved on
        full.finish()
    mine = full.enter("mine")
    before = len(full.order)
    while full.stage.state(mine) is State.PENDING:
        full.enter(names[0])  # and the flood goes on
        full.finish()
    passed = full.order[before:-1]
    assert full.order[-1] == "mine"
    assert all(passed.count(name) <= 2 for name in names), passed


def test_the_present_round_rises_with_the_claims_that_leave_the_waiting_room() -> None:
    full = Full()
    for _ in range(4):
        full.enter("flood")
    rounds = []
    for _ in range(3):
        full.finish()
        rounds.append(full.stage.store.provider("sim").round)
    assert rounds == sorted(rounds)
    assert rounds[-1] > rounds[0]
    job = full.enter("late")
    place = full.stage.read(job).wait
    assert place is not None
    assert turn_of(place) >= rounds[-1]


def test_receives_do_not_grow_with_the_backlog() -> None:
    full = Full()
    for _ in range(12):
        full.enter("flood")
    messages = 0
    for _ in range(11):
        assert full.inside is not None
        full.stage.say(full.inside, Status.SUCCEEDED, f"p-{full.inside.id}")
        full.stage.relay()
        sent = full.stage.queues.take_dispatched()
        messages += len(sent)
        for one in sent:
            full.go(full.stage.read(one.job))
    assert messages <= 2 * 11


# -- pauses


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
    assert pause_of(stage).reason is PauseReason.BLOCKED
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
    assert pause_of(stage).reason is None
    tend(stage.world, "sim")
    assert others[1].id in [sent[0] for sent in stage.sent()]


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
        waits.append((pause_of(stage).until - stage.clock.now()) / 60_000)
    assert waits == [2, 4, 8, 15, 15]
    assert stage.held() == {}


def test_a_probe_that_dies_leaves_its_lease_and_the_next_one_goes() -> None:
    stage = Stage(limit=2)
    first = stage.job()
    stage.sim.answer(BLOCKED)
    stage.dispatch(first)
    dead = stage.job("dead")
    stage.clock.advance(61)
    stage.sim.during_submit = _die
    with pytest.raises(KeyboardInterrupt):
        stage.dispatch(dead)
    stage.sim.during_submit = None
    third = stage.job("third")
    assert stage.dispatch(third) == "turned away"
    stage.clock.advance(60)
    stage.sim.accept("p-3")
    assert stage.dispatch(third) == "accepted"
    assert pause_of(stage).reason is None


def _die(_: object) -> None:
    raise KeyboardInterrupt


def test_a_resumable_job_goes_as_probe_before_the_first_of_the_waiting_room() -> None:
    stage = Stage(limit=2)
    doubtful = stage.unsure("doubtful")
    blocked = stage.job("blocked")
    stage.sim.answer(BLOCKED)
    stage.dispatch(blocked)
    waits = stage.job("waits")
    stage.dispatch(waits)
    stage.clock.advance(61)
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
    stage = Stage(limit=2, make_store=OvertakenStore)
    doubtful = stage.unsure("doubtful")
    blocked = stage.job("blocked")
    stage.sim.answer(BLOCKED)
    stage.dispatch(blocked)
    waits = stage.job("waits")
    stage.dispatch(waits)
    stage.clock.advance(61)
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
    assert pause_of(stage).reason is PauseReason.AMBIGUOUS
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
    assert pause_of(stage).reason is PauseReason.OPERATOR


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
    assert (pause_of(stage).reason, pause_of(stage).step) == (PauseReason.BLOCKED, 4)


def test_a_pause_that_changed_meanwhile_is_set_on_the_newer_state() -> None:
    stage = Stage(limit=3)
    job = stage.job()

    def another_is_ambiguous(_: object) -> None:
        stage.sim.during_submit = None
        before = pause_of(stage)
        stage.store.save_pause("sim", before, replace(before, bad=4))

    stage.sim.during_submit = another_is_ambiguous
    stage.sim.answer(AMBIGUOUS)
    stage.dispatch(job)
    assert pause_of(stage).reason is PauseReason.AMBIGUOUS


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


def test_a_lost_wake_costs_one_tick() -> None:
    stage = Stage()
    first = stage.running()
    job = stage.job("second")
    stage.dispatch(job)
    stage.say(first, Status.SUCCEEDED)  # relay never sees it
    tend(stage.world, "sim")
    assert stage.sent() == [(job.id, "submit", 0)]


def test_a_waiting_job_whose_dispatcher_always_dies_holds_its_provider_for_ten_receives() -> None:
    """It is the first of the waiting room, so nobody passes; then its question takes it out, and the next one goes."""
    stage = Stage()
    first = stage.running()
    dying, patient = stage.job("dying"), stage.job("patient")
    for job in (dying, patient):
        stage.dispatch(job)
        stage.clock.advance(0.001)
    stage.say(first, Status.SUCCEEDED)
    for _ in range(RECEIVES_ENOUGH - 1):  # each receive of the first one dies without a word
        stage.clock.advance(90)
        assert stage.dispatch(patient) == "turned away"
    stage.clock.advance(90)
    assert stage.receive(dying, receives=RECEIVES_ENOUGH) == "dead letter"
    assert (stage.reason(dying), stage.read(dying).wait) == ("dead_letter", None)
    tend(stage.world, "sim")
    assert (patient.id, "submit", 0) in stage.sent()
    stage.sim.accept("p-2")
    assert stage.dispatch(patient) == "accepted"


def test_a_healthy_provider_costs_no_write() -> None:
    stage = Stage(limit=3)
    for number in range(3):
        stage.running(f"job-{number}", f"p-{number}")
    assert stage.store.pauses == {}
    assert stage.store.rounds == {}
    assert stage.store.turns == {}


def test_relay_of_a_job_turned_away_wakes_whoever_may_go() -> None:
    """A row may have come free between the look and the note."""
    stage = Stage()
    first = stage.running()
    job = stage.job("second")
    stage.dispatch(job)
    stage.say(first, Status.SUCCEEDED)
    assert relay(stage.world, replace(stage.read(job), out="next")) == ("next",)
    assert (job.id, "submit", 0) in stage.sent()


def test_callers_may_not_set_a_provider() -> None:
    stage = Stage()
    with pytest.raises(Exception, match="operator"):
        set_provider(stage.world, Caller(tenant="acme", scope="user"), "sim", pause=True)
    assert Do.SUBMIT == "submit"
