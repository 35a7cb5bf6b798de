"""One seed: which providers and jobs there are, what their callers want, and how bad the weather is."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from mediajobs.errors import WriteConflict
from tests.simulation.world.process import Killed, Process
from tests.simulation.world.provider import Plan
from tests.simulation.world.weather import Seeded, Wire, lost, refused

PROVIDERS = ("keyed", "plain", "found", "polled", "hints")
MINUTE = 60_000
# What can go wrong, and how often per opportunity at the most. Each seed takes some of these, at strengths of its own.
FAULTS: dict[str, float] = {
    "kill": 0.012,  # a process, before or after a call
    "kill_wire": 0.05,  # a dispatcher, while its submit is on the wire
    "slow": 0.004,  # a call, perhaps beyond the function's timeout
    "refused": 0.01,  # a call, for load or by a passing fault
    "lost": 0.01,  # the answer of a call that took effect
    "conflict": 0.04,  # TransactionConflict
    "resent": 0.05,  # a write arrives twice
    "lag": 0.3,  # the indexes show a write two seconds late
    "wire": 0.1,  # a submit that is slow, or of which the answer never comes
    "answer": 0.05,  # what the provider says to a submit, each kind
    "poll": 0.08,
    "lookup": 0.3,
    "media": 0.1,
    "webhook": 0.3,  # lost, late (up to twenty minutes, with the old timestamp), again
    "queue": 0.1,  # late, twice, not deleted
    "stream": 0.1,  # late, again
    "tick": 0.1,  # lost, twice, or another reconciler at the same time
    "secrets": 0.02,  # cannot be read
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One job that a caller wants, and what he then does about it."""

    number: int
    tenant: str
    provider: str
    plan: Plan
    at: int  # ms after the start
    start_within: int | None = None
    cancel_at: int | None = None
    submitted_again_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """All that a seed decides before anything happens."""

    seed: int
    names: tuple[str, ...]
    limits: dict[str, int]
    rates: dict[str, float]
    jobs: tuple[Wanted, ...]
    trouble: tuple[tuple[str, str, int, int], ...]  # blocked or outage, provider, from, until
    lowered: tuple[int, int] | None  # an operator lowers the first provider's limit to 1, and gives it back
    calm_at: int  # when the faults stop
    expires: bool  # whether the jobs' time to live is played at the end

    def only(self, numbers: Sequence[int]) -> Scene:
        """The same with some of its jobs."""
        jobs = tuple(job for job in self.jobs if job.number in numbers)
        return replace(self, jobs=jobs)


def scene(seed: int) -> Scene:
    """The seed's own."""
    dice = random.Random(f"{seed} scene")
    names = tuple(dice.sample(PROVIDERS, 2))
    rates = {kind: most * dice.choice((0.3, 1.0, 2.0)) for kind, most in FAULTS.items() if dice.random() < 0.6}
    trouble = [
        (dice.choice(("blocked", "outage")), dice.choice(names), start, start + dice.randint(1, 12) * MINUTE)
        for start in (dice.randint(0, 30) * MINUTE for _ in range(dice.randint(0, 2)))
    ]
    return Scene(
        seed=seed,
        names=names,
        limits={name: dice.randint(1, 3) for name in names},
        rates=rates,
        jobs=tuple(_wanted(dice, number, names) for number in range(dice.randint(4, 10))),
        trouble=tuple(trouble),
        lowered=(dice.randint(2, 15) * MINUTE, dice.randint(16, 30) * MINUTE) if dice.random() < 0.3 else None,
        calm_at=dice.randint(2, 25) * MINUTE,
        expires=dice.random() < 0.25,
    )


def _wanted(dice: random.Random, number: int, names: Sequence[str]) -> Wanted:
    at = dice.choice((0, dice.randint(0, 10 * MINUTE)))
    canceled, twice = dice.random() < 0.2, dice.random() < 0.2
    return Wanted(
        number=number,
        tenant=dice.choice(("acme", "rival")),
        provider=dice.choice(names),
        plan=_plan(dice),
        at=at,
        start_within=dice.choice((None, None, None, 120, 900)),
        cancel_at=at + dice.randint(0, 5 * MINUTE) if canceled else None,
        submitted_again_at=at + dice.randint(0, 20 * MINUTE) if twice else None,
    )


def _plan(dice: random.Random) -> Plan:
    long = dice.random() < 0.15
    return Plan(
        duration_ms=dice.randint(150, 700) * 1000 if long else dice.randint(0, 60) * 1000,
        end="failed" if dice.random() < 0.15 else "completed",
        ends=dice.choice(((), (), ("failed", "completed"), ("completed", "failed"))),
        answers=dice.choice(
            ((), (), (), ("429 wait",), ("503 accepted",), ("reset",), ("503",), ("422",), ("no id", "429"))
        ),
        media=dice.choice(((), (), (), ("bad",), ("busy", "cut"), ("bad",) * 12)),
        link_life_ms=dice.choice((7 * 86_400_000, 7 * 86_400_000, 120_000, 1_000)),
        tells_expiry=dice.random() < 0.5,
        fresh_links=dice.random() < 0.9,
        cancel=dice.choice(("stops", "stops", "ignores", "refuses")),
        webhooks=dice.choice(
            (("processing", "end"), ("processing", "end"), ("end",), (), ("early", "processing", "end"))
        ),
        outputs=dice.choice((1, 1, 2)),
        kind=dice.choice(("video", "image")),
    )


class Storm(Seeded):
    """Every call takes a while, in which everything else happens; and any of it can fail. `resend` makes the next
    write arrive twice.
    """

    resend: Callable[[], None]

    def reach(self, process: Process, call: str) -> None:
        process.pause(self.latency(1, 20))
        if self.happens(f"slow {process.function}"):  # longer than most functions may run
            process.pause(self.pick(f"slow {process.function}", 2_000, 100_000))
        self._kill(process, f"kill {process.function}")
        if call in ("store.create", "store.write", "store.save_pause") and self.happens("resent"):
            self.resend()
        if call == "store.write" and self.happens("conflict"):
            raise WriteConflict(f"{call}: TransactionConflict")
        if self.happens(f"refused {call.partition('.')[0]}"):
            raise refused(call)

    def leave(self, process: Process, call: str) -> None:
        process.pause(self.latency(1, 20))
        self._kill(process, f"kill {process.function}")
        if self.happens(f"lost {call.partition('.')[0]}"):
            raise lost(call)

    def wire(self, process: Process, reference: str) -> Wire:
        self._kill(process, "kill_wire")
        if self.happens("wire slow"):
            return Wire(arrives_ms=self.pick("wire slow", 1_000, 55_000), answers_ms=100)
        return Wire(arrives_ms=self.latency(20, 300), answers_ms=self.latency(20, 300), lost=self.happens("wire lost"))

    def _kill(self, process: Process, kind: str) -> None:
        if self.happens(kind):
            process.kill()
            raise Killed
