"""One seed from its first submit to the end: faults, then calm, then everything has to be settled."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from mediajobs.jobs.model import Job
from mediajobs.jobs.rules_people import decisions
from tests.simulation.storm import Scene, Storm, Wanted, scene
from tests.simulation.world.functions import Fleet
from tests.simulation.world.people import Caller, Operator
from tests.simulation.world.scheduler import MINUTE, START
from tests.simulation.world.town import Town
from tests.simulation.world.watch import Violation, Watch

HORIZON = 12 * 60 * MINUTE  # by then all is settled, or the seed has failed
AFTERWARDS = 20 * MINUTE  # in which the last messages come again
HOUR = 60 * MINUTE


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of one seed."""

    seed: int
    violation: str | None
    jobs: int
    numbers: tuple[int, ...]
    struck: tuple[str, ...]
    faults: int
    invocations: int
    crashes: int
    ended: int
    asking: int
    charges: int
    converged_s: float | None


@lru_cache
def _fleet() -> Fleet:
    return Fleet()


def simulate(seed: int, *, jobs: Sequence[int] | None = None, only: frozenset[str] | None = None) -> Result:
    """Run one seed, or a part of it."""
    return Simulation(seed, jobs=jobs, only=only).run()


class Simulation:
    """One seed. `jobs` are the numbers of those that are submitted, `only` the faults that may strike."""

    def __init__(self, seed: int, *, jobs: Sequence[int] | None = None, only: frozenset[str] | None = None) -> None:
        whole = scene(seed)
        self.scene: Scene = whole if jobs is None else whole.only(jobs)
        self.storm = Storm(seed, self.scene.rates, only=only)
        self.town = Town(
            self.storm,
            names=self.scene.names,
            limits=self.scene.limits,
            seed=seed,
            threaded=True,
            fleet=_fleet(),
            job_days=1,
        )
        self.watch = Watch(self.town, self.scene.limits)
        self.callers = {tenant: Caller(self.town, tenant) for tenant in ("acme", "rival")}
        self.operator = Operator(self.town)
        self._people = random.Random(f"{seed} people")
        self._converged: int | None = None

    def run(self) -> Result:
        violation = None
        try:
            self._live()
        except Violation as found:
            violation = str(found)
        finally:
            self.town.stop()
        jobs = self.town.table.jobs.values()
        return Result(
            seed=self.scene.seed,
            violation=violation,
            jobs=len(self.scene.jobs),
            numbers=tuple(job.number for job in self.scene.jobs),
            struck=tuple(self.storm.struck),
            faults=len(self.storm.struck),
            invocations=self.town.invocations,
            crashes=self.town.crashes,
            ended=sum(job.published_at is not None for job in jobs),
            asking=sum(job.attention is not None for job in jobs),
            charges=sum(self.town.ledger.charges.values()),
            converged_s=None if self._converged is None else self._converged / 1000,
        )

    def _live(self) -> None:
        town = self.town
        self.storm.resend = lambda: setattr(town.table, "resend", True)
        town.table.lag = lambda _job: self.storm.happens("lag")
        for wanted in self.scene.jobs:
            self._want(wanted)
        for kind, provider, start, end in self.scene.trouble:
            names = town.front.blocked if kind == "blocked" else town.front.outages
            town.scheduler.at(START + start, lambda names=names, one=provider: names.add(one))  # type: ignore[misc]
            town.scheduler.at(START + end, lambda names=names, one=provider: names.discard(one))  # type: ignore[misc]
        if self.scene.lowered is not None:
            self._lower(*self.scene.lowered)
        town.scheduler.after(MINUTE, self._decide)
        town.scheduler.run(START + self.scene.calm_at)
        self._calm()
        if self.scene.expires:
            self._expire()
        self.watch.at_the_end()

    def _calm(self) -> None:
        """No fault strikes any more, nobody decides anything: the system has to get there by itself."""
        town, scheduler = self.town, self.town.scheduler
        self.storm.over = True
        town.front.blocked.clear()
        town.front.outages.clear()
        self.watch.calm_since = began = scheduler.now
        scheduler.after(3 * MINUTE, self._on_time)
        scheduler.run(began + HORIZON, enough=self._settled)
        self._converged = scheduler.now - began
        self._go_on()

    def _go_on(self) -> None:
        """What was under way comes to its end; a job that asked may have gone on by itself."""
        scheduler = self.town.scheduler
        scheduler.run(scheduler.now + AFTERWARDS)
        scheduler.run(scheduler.now + HORIZON, enough=self._settled)

    def _settled(self) -> bool:
        submitted = len(self.town.table.jobs) == len(self.scene.jobs)
        return submitted and not self.watch.unfinished()

    def _on_time(self) -> None:
        self.watch.nothing_is_late()
        if self._converged is None:
            self.town.scheduler.after(MINUTE, self._on_time)

    # -- people

    def _want(self, wanted: Wanted) -> None:
        caller, key = self.callers[wanted.tenant], f"key-{wanted.number}"
        scheduler = self.town.scheduler

        def submit() -> None:
            caller.submit(key, wanted.provider, wanted.plan, start_within=wanted.start_within)

        scheduler.at(START + wanted.at, submit)
        if wanted.submitted_again_at is not None:
            scheduler.at(START + wanted.submitted_again_at, submit)
        if wanted.cancel_at is not None:
            scheduler.at(START + wanted.cancel_at, lambda: caller.cancel(caller.id_of(key)))

    def _lower(self, start: int, end: int) -> None:
        name = self.scene.names[0]
        at = self.town.scheduler.at
        at(START + start, lambda: self.operator.set_provider(name, {"limit": 1}))
        at(START + end, lambda: self.operator.set_provider(name, {"limit": self.scene.limits[name]}))

    def _decide(self) -> None:
        """Operators answer what they read a while ago: any answer that is offered, some of them twice."""
        if self.storm.over:
            return
        for job in list(self.town.table.jobs.values()):
            words = decisions(job)
            if words and self._people.random() < 0.3:
                word = self._people.choice(words)
                named = self._named(job) if word == "adopt" else None
                for _ in range(self._people.choice((1, 1, 2))):
                    wait = self._people.randint(0, 8 * MINUTE)
                    self.town.scheduler.after(
                        wait,
                        lambda job=job, word=word, named=named: self.operator.resolve(job, word, named),  # type: ignore[misc]
                    )
        self.town.scheduler.after(self._people.randint(1, 4) * MINUTE, self._decide)

    def _named(self, job: Job) -> str:
        """An id that a person found in the provider's list, or misread."""
        ids = [one.id for one in self.town.ledger.of_job(job.id)]
        return self._people.choice(ids) if ids and self._people.random() < 0.8 else "p-misread"

    # -- time to live

    def _expire(self) -> None:
        """A good while later the rows are gone, some of them late; the same keys are used again."""
        scheduler, table = self.town.scheduler, self.town.table
        ended = [job for job in table.jobs.values() if job.ttl is not None]
        scheduler.now = max([scheduler.now, *(job.ttl * 1000 + HOUR for job in ended if job.ttl is not None)])
        self.watch.calm_since = scheduler.now
        for job in ended:
            if self._people.random() < 0.7:
                self.watch.decided.discard(job.id)
                self.watch.lapsed.discard(job.id)
                table.expire(job.id)
        for wanted in self.scene.jobs:
            self.callers[wanted.tenant].submit(
                f"key-{wanted.number}", wanted.provider, wanted.plan, start_within=wanted.start_within
            )
        scheduler.run(scheduler.now + HORIZON, enough=self._settled)
        self._go_on()
