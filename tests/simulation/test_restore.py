"""The table is put back to an earlier moment while jobs were being submitted: with the documented procedure nobody is
charged twice, whatever was in flight, and although callers send their keys again. Without it somebody is.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cli import restored
from mediajobs.adapters.providers.registry import Registry
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import Reason, State
from tests.simulation.lifecycles import Life, honest
from tests.simulation.world.functions import TIMEOUTS_S, Fleet
from tests.simulation.world.once import Records
from tests.simulation.world.people import Caller, Operator
from tests.simulation.world.provider import Plan
from tests.simulation.world.scheduler import START
from tests.simulation.world.store import Copy
from tests.simulation.world.town import Town, configuration
from tests.simulation.world.watch import Watch
from tests.simulation.world.weather import Weather

NAMES = ("keyed", "plain", "found")
LIMITS = dict.fromkeys(NAMES, 2)
PLANS = (
    Plan(),
    Plan(duration_ms=90_000),
    Plan(answers=("429 wait",)),
    Plan(answers=("reset",), duration_ms=45_000),
    Plan(webhooks=(), duration_ms=30_000),
)
SECOND = 1_000
_fleet = Fleet()


class Then:
    """A town in which jobs are submitted all the time, and a copy of its table from the middle of it."""

    def __init__(self, moment_s: int, lost_s: int) -> None:
        self.town = Town(Weather(), names=NAMES, limits=LIMITS, fleet=_fleet)
        self.life = Life(self.town, Watch(self.town, LIMITS), Caller(self.town), Operator(self.town))
        self.orders = [(f"key-{n}", NAMES[n % 3], PLANS[n % 5]) for n in range(24)]
        for number, order in enumerate(self.orders):
            self.town.scheduler.at(START + number * 4 * SECOND, lambda order=order: self.life.caller.submit(*order))  # type: ignore[misc]
        self.town.scheduler.run(START + moment_s * SECOND)
        self.copy = self.town.table.copy(self.town.scheduler.now)
        self.town.scheduler.run(START + (moment_s + lost_s) * SECOND)

    def put_back(self) -> None:
        """Everything is switched off; the table is as it was, its stream and the idempotency table are empty."""
        self.town.closed = set(TIMEOUTS_S)
        self.life.watch.suspended = self.life.watch.restored = True
        self.town.table.restore(self.copy)
        self.town.stream.cut()
        self.town.records = Records()

    def put_in_question(self) -> str:
        """What `python -m cli.restored` does, on this table and in this time."""
        clock = SimpleNamespace(now=lambda: self.town.scheduler.now, sleep=lambda _: None)
        providers = Known(configuration(), cast("Any", None), cast("Any", None))
        world = restored.world_of(self.town.table, providers, max_in_flight=4)
        log = [json.dumps({"message": message, **fields}, default=str) for _, message, fields in self.town.log.lines]
        return restored.put_in_question(replace(world, clock=clock, chance=self.town.chance), log, None)

    def open(self, *, watched: bool = True) -> None:
        """Functions run again; every caller who is not sure sends his key again."""
        self.town.closed = set()
        self.life.watch.suspended = not watched
        for order in self.orders:
            self.life.caller.submit(*order)

    def go_on(self) -> None:
        """A person ends the pauses and answers what is asked, by the provider's own list."""
        for name in NAMES:
            self.life.later(180, lambda name=name: self.life.operator.set_provider(name, {"pause": False}))  # type: ignore[misc]
        self.life.look_after(never_again)
        scheduler = self.town.scheduler
        scheduler.run(scheduler.now + 6 * 3_600 * SECOND, enough=self._over)
        scheduler.run(scheduler.now + 200 * SECOND)

    def _over(self) -> bool:
        jobs = self.town.table.jobs
        return len(jobs) == len(self.orders) and all(job.published_at is not None for job in jobs.values())

    def charged(self) -> Counter[str]:
        """How often each user's action was charged, under whatever submission and incarnation."""
        return Counter(one.job_id for one in self.town.ledger.accepted.values())


class Known(Registry):
    """The product's registry, for the providers of this town."""

    def names(self) -> tuple[str, ...]:
        return NAMES


def never_again(life: Life, job: Job) -> None:
    """Adopt what the provider has; what it has not is given up, since nobody wants to pay twice."""
    assert job.attention is not None
    theirs = life.town.ledger.of_job(job.id)
    if job.attention.reason is not Reason.AMBIGUOUS_SUBMISSION:
        honest(life, job)
    elif any(one.status != "failed" for one in theirs):
        life.operator.resolve(job, "adopt", theirs[0].id)
    else:
        life.operator.resolve(job, "fail")


@pytest.mark.parametrize("lost_s", [5, 40, 120])
@pytest.mark.parametrize("moment_s", [0, 3, 20, 41, 70, 95])
def test_a_restore_by_the_procedure_charges_nobody_twice(moment_s: int, lost_s: int) -> None:
    then = Then(moment_s, lost_s)
    then.put_back()
    then.put_in_question()
    then.open()
    then.go_on()
    twice = {job_id: count for job_id, count in then.charged().items() if count > 1}
    assert twice == {}
    assert len(then.town.table.jobs) == len(then.orders)
    then.life.watch.at_the_end()


def test_what_was_paid_for_is_found_again_and_kept() -> None:
    """Jobs that the provider has are adopted, looked up or told by their own webhooks: a restore costs no result."""
    then = Then(41, 40)
    then.put_back()
    told = then.put_in_question()
    then.open()
    then.go_on()
    paid = {one.job_id for one in then.town.ledger.accepted.values() if one.status == "completed"}
    kept = {job.id for job in then.town.table.jobs.values() if job.state is State.SUCCEEDED}
    assert paid == kept
    assert len(paid) > 10
    made, asked = (int(told.split(word)[0].split()[-1]) for word in (" lost rows", " jobs in question"))
    assert made > 3
    assert asked > 3


def test_the_procedure_may_be_repeated() -> None:
    then = Then(20, 40)
    then.put_back()
    then.put_in_question()
    before = {job.id: (job.state, job.slot, job.attention) for job in then.town.table.jobs.values()}
    assert " 0 lost rows" in then.put_in_question()
    assert {job.id: (job.state, job.slot, job.attention) for job in then.town.table.jobs.values()} == before


def test_without_the_procedure_somebody_is_charged_twice() -> None:
    """The danger is real: this is what the procedure is for."""
    then = Then(41, 40)
    then.put_back()
    then.open(watched=False)
    then.go_on()
    assert max(then.charged().values()) > 1


def test_only_what_stands_as_it_stood_then_is_put_in_question_after_rows_were_put_back() -> None:
    then = Then(41, 40)
    old = Town(Weather(), names=NAMES, fleet=_fleet).table
    old.restore(then.copy)
    same = set(restored.as_in(then.town.table, old))
    now = then.town.table.jobs
    assert same == {
        job.id for job in old.jobs.values() if job.published_at is None and now[job.id].version == job.version
    }
    assert same != {job.id for job in now.values() if job.published_at is None}


def test_a_copy_does_not_change_with_the_table() -> None:
    then = Then(20, 0)
    before = dict(cast("dict[str, Job]", then.copy.parts["jobs"]))
    then.town.scheduler.run(then.town.scheduler.now + 60 * SECOND)
    assert isinstance(then.copy, Copy)
    assert then.copy.parts["jobs"] == before
