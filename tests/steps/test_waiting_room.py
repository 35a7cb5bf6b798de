"""The waiting room: rows and turns. One full provider delays no other, and nobody waits for ever."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mediajobs.jobs.events import Status
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import State
from mediajobs.steps.admission import tend, turn_of
from mediajobs.steps.jobs import set_provider
from mediajobs.steps.relay import relay
from mediajobs.steps.worker import RECEIVES_ENOUGH
from tests.fakes.providers import ScriptedAdapter
from tests.steps.kit import KEYED, OPERATOR, Stage


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


def test_a_job_that_two_dispatchers_turn_away_at_once_costs_its_tenant_one_turn() -> None:
    """Else its tenant's next job would stand a round further back than if only one of them had come."""
    turns = []
    for twin in (False, True):
        stage = Stage()
        stage.running()
        second = stage.job("second")
        stage.clock.advance(1)
        third = stage.job("third")
        stage.store.before_write = [lambda _, stage=stage, job=second: stage.dispatch(job)] if twin else []
        assert stage.dispatch(second) == "turned away"
        assert stage.dispatch(third) == "turned away"
        assert waiting(stage) == (second.id, third.id)
        turns.append(turn_of(stage.read(third).wait or ""))
    assert turns[0] == turns[1]


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


def test_relay_of_a_job_turned_away_wakes_whoever_may_go() -> None:
    """A row may have come free between the look and the note."""
    stage = Stage()
    first = stage.running()
    job = stage.job("second")
    stage.dispatch(job)
    stage.say(first, Status.SUCCEEDED)
    assert relay(stage.world, replace(stage.read(job), out="next")) == ("next",)
    assert (job.id, "submit", 0) in stage.sent()
