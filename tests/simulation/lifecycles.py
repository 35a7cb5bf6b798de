"""The lives a job can have, each as a town and what its people do: the ground on which every crash point is tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from mediajobs.jobs.model import Job
from mediajobs.jobs.states import Reason, State
from tests.simulation.world.functions import Fleet
from tests.simulation.world.people import Caller, Operator
from tests.simulation.world.provider import Plan
from tests.simulation.world.scheduler import MINUTE, START
from tests.simulation.world.town import Town
from tests.simulation.world.watch import Watch
from tests.simulation.world.weather import Weather

HOUR = 60 * MINUTE
HORIZON = START + 12 * HOUR
AFTERWARDS = 95_000  # in which messages of killed invocations come again


@dataclass
class Life:
    """One town under way, with its people."""

    town: Town
    watch: Watch
    caller: Caller
    operator: Operator
    asked: set[str] = field(default_factory=set)  # why a person was asked
    jobs: list[str] = field(default_factory=list)

    def submit(self, provider: str, plan: Plan | None = None, *, start_within: int | None = None) -> str:
        """One more job; a person looks after it."""
        key = f"key-{len(self.jobs) + 1}"
        job_id = self.caller.submit(key, provider, plan, start_within=start_within)
        self.jobs.append(job_id)
        return job_id

    def later(self, seconds: float, what: Callable[[], object]) -> None:
        self.town.scheduler.after(round(seconds * 1000), what)

    def look_after(self, decide: Callable[[Life, Job], None]) -> None:
        """A person answers each open question once, half a minute after it was raised at the latest."""
        answered: set[tuple[str, int]] = set()

        def look() -> None:
            for job in list(self.town.table.jobs.values()):
                if job.attention is not None and (job.id, job.attention.version) not in answered:
                    answered.add((job.id, job.attention.version))
                    self.asked.add(str(job.attention.reason))
                    decide(self, job)
            self.later(30, look)

        self.later(30, look)

    def run(self) -> None:
        """Until every job has ended and was published, and then a little longer."""
        town = self.town
        town.scheduler.run(HORIZON, enough=self.over)
        town.scheduler.run(town.scheduler.now + AFTERWARDS)
        for job in town.table.jobs.values():
            if job.attention is not None:
                self.watch.found.append(f"{job.id[:6]} still asks: {job.attention.reason} {job.attention.evidence}")
        self.watch.at_the_end()

    def over(self) -> bool:
        jobs = self.town.table.jobs
        return len(jobs) == len(self.jobs) and all(job.published_at is not None for job in jobs.values())


def honest(life: Life, job: Job) -> None:
    """A person who looks at the provider's own list before answering, and tries again what failed for our reasons."""
    assert job.attention is not None
    theirs = life.town.ledger.under(job.reference)
    if job.attention.reason is Reason.AMBIGUOUS_SUBMISSION:
        alive = [one for one in theirs if one.status in ("processing", "completed")]
        if alive:
            life.operator.resolve(job, "adopt", alive[0].id)
        else:
            life.later(60, lambda: life.operator.resolve(job, "fail" if theirs else "resubmit"))
    elif job.attention.reason is Reason.OVERDUE:
        life.operator.resolve(job, "wait")
    elif job.attention.reason in (Reason.DEAD_LETTER, Reason.RESULT_UNAVAILABLE):
        life.operator.resolve(job, "retry")
    else:
        life.operator.resolve(job, "fail")


def slow(life: Life, job: Job) -> None:
    """A person who answers long after the slot has lapsed."""
    life.later(290, lambda: honest(life, life.town.table.jobs[job.id]))


def hasty(life: Life, job: Job) -> None:
    """A person who submits again without looking, and answers twice."""
    assert job.attention is not None
    if job.attention.reason is Reason.AMBIGUOUS_SUBMISSION and job.submission == 1:
        for seconds in (60, 61):
            life.later(seconds, lambda: life.operator.resolve(job, "resubmit"))
    else:
        honest(life, job)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifecycle:
    """`ends`: states in which the jobs end when nothing crashes. `asks`: whether a crash may lead to a question."""

    name: str
    provider: str
    script: Callable[[Life, str], None]
    ends: tuple[State, ...] = (State.SUCCEEDED,)
    asks: bool = False
    person: Callable[[Life, Job], None] = honest

    def live(self, weather: Weather, fleet: Fleet) -> Life:
        """One whole life; raises Violation where an invariant does not hold."""
        limits = {self.provider: 1}
        town = Town(weather, names=(self.provider,), limits=limits, fleet=fleet)
        life = Life(town, Watch(town, limits), Caller(town), Operator(town))
        self.script(life, self.provider)
        life.look_after(self.person)
        life.run()
        if life.asked - {Reason.OVERDUE} and not self.asks:
            life.watch.found.append(f"a person was asked ({life.asked}), where the system could have helped itself")
            life.watch.at_the_end()
        return life


def _one(plan: Plan) -> Callable[[Life, str], None]:
    def script(life: Life, provider: str) -> None:
        life.submit(provider, plan)

    return script


def _canceled(seconds: float) -> Callable[[Life, str], None]:
    """Canceled so long after the submit was answered; nobody can cancel what he has not heard of."""

    def script(life: Life, provider: str) -> None:
        job_id = life.submit(provider, Plan(duration_ms=400_000))

        def look() -> None:
            if life.caller.accepted:
                life.later(seconds, lambda: life.caller.cancel(job_id))
            else:
                life.later(1, look)

        look()

    return script


def _blocked(life: Life, provider: str) -> None:
    life.town.front.blocked.add(provider)
    life.submit(provider)
    life.later(70, lambda: life.town.front.blocked.discard(provider))


def _key_expires(life: Life, provider: str) -> None:
    """The answer is lost, and until the provider can be reached again it has forgotten the key."""
    life.submit(provider, Plan(duration_ms=90_000, answers=("reset",), webhooks=()))
    life.later(1, lambda: life.town.front.outages.add(provider))
    life.later(200, lambda: life.town.front.outages.discard(provider))


def _expired(life: Life, provider: str) -> None:
    life.town.front.outages.add(provider)
    life.submit(provider, start_within=90)
    life.later(400, lambda: life.town.front.outages.discard(provider))


def _waiting(life: Life, provider: str) -> None:
    for _ in range(2):
        life.submit(provider)


def _behind_a_lost_one(life: Life, provider: str) -> None:
    """The one slot is held by a job of unknown fate until that can no longer live."""
    life.submit(provider, Plan(duration_ms=60_000, answers=("reset",), webhooks=()))
    life.submit(provider)


def _long(life: Life, provider: str) -> None:
    """A result that is worth a note for the next run."""
    life.town.settings = replace(life.town.settings, note_bytes=2000)
    life.town.objects.part_bytes = 500
    life.submit(provider, Plan(long=True, webhooks=("end",)))


def _publish(life: Life, provider: str) -> None:
    life.town.topic.fail, life.town.topic.cut = 1, 1
    life.submit(provider)


BOTH = Plan(duration_ms=110_000, answers=("reset",), webhooks=("end",))

LIFECYCLES: tuple[Lifecycle, ...] = (
    Lifecycle(name="webhook", provider="keyed", script=_one(Plan())),
    Lifecycle(name="poll", provider="polled", script=_one(Plan())),
    Lifecycle(name="callback lost", provider="keyed", script=_one(Plan(webhooks=()))),
    Lifecycle(name="unsigned hint", provider="hints", script=_one(Plan()), asks=True),
    Lifecycle(name="cancel pending", provider="keyed", script=_canceled(0), ends=(State.CANCELED,)),
    Lifecycle(name="cancel running", provider="keyed", script=_canceled(30), ends=(State.CANCELED,)),
    Lifecycle(name="provider failure", provider="keyed", script=_one(Plan(end="failed")), ends=(State.FAILED,)),
    Lifecycle(name="rejected", provider="keyed", script=_one(Plan(answers=("422",))), ends=(State.FAILED,), asks=True),
    Lifecycle(
        name="refused then accepted", provider="plain", script=_one(Plan(answers=("429 wait", "not sent"))), asks=True
    ),
    Lifecycle(
        name="ambiguous with key",
        provider="keyed",
        script=_one(Plan(duration_ms=90_000, answers=("reset", "429"), webhooks=("end",))),
    ),
    Lifecycle(name="key expires", provider="brief-key", script=_key_expires, asks=True),
    Lifecycle(name="ambiguous with key, not accepted", provider="polled", script=_one(Plan(answers=("503",)))),
    Lifecycle(name="ambiguous without key", provider="plain", script=_one(Plan(answers=("reset",))), asks=True),
    Lifecycle(
        name="ambiguous without key or callback",
        provider="plain",
        script=_one(Plan(answers=("no id",), webhooks=())),
        asks=True,
    ),
    Lifecycle(
        name="slot lapses",
        provider="brief",
        script=_behind_a_lost_one,
        ends=(State.SUCCEEDED, State.SUCCEEDED),
        asks=True,
        person=slow,
    ),
    Lifecycle(
        name="lookup", provider="found", script=_one(Plan(answers=("503 accepted",), webhooks=())), asks=True
    ),
    Lifecycle(
        name="resubmitted, the first fails",
        provider="plain",
        script=_one(replace(BOTH, ends=("failed", "completed"))),
        asks=True,
        person=hasty,
    ),
    Lifecycle(
        name="resubmitted, both succeed", provider="plain", script=_one(BOTH), asks=True, person=hasty
    ),
    Lifecycle(
        name="expired link",
        provider="keyed",
        script=_one(Plan(link_life_ms=100, tells_expiry=False, webhooks=("end",))),
    ),
    Lifecycle(
        name="early webhook",
        provider="plain",
        script=_one(Plan(webhooks=("early", "processing", "end"))),
        asks=True,
    ),
    Lifecycle(
        name="early last word", provider="plain", script=_one(Plan(duration_ms=0, webhooks=("early", "end"))), asks=True
    ),
    Lifecycle(name="blocked account", provider="keyed", script=_blocked),
    Lifecycle(name="waiting room", provider="keyed", script=_waiting, ends=(State.SUCCEEDED, State.SUCCEEDED)),
    Lifecycle(name="never started", provider="keyed", script=_expired, ends=(State.FAILED,), asks=True),
    Lifecycle(
        name="storing failure", provider="keyed", script=_one(Plan(media=("busy", "cut", "bad"), webhooks=("end",)))
    ),
    Lifecycle(
        name="invalid result", provider="keyed", script=_one(Plan(media=("bad",) * 20, outputs=2)), ends=(State.FAILED,)
    ),
    Lifecycle(name="long result", provider="keyed", script=_long),
    Lifecycle(name="publish", provider="keyed", script=_publish),
)  # fmt: skip
