"""Everything at once in memory: stream, queues, schedule, a provider with a ledger, and processes that are killed.

What AWS promises is played, no more: a stream record and a message come again until they were taken, a provider
repeats its webhook until it is answered, the schedule ticks each minute.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from mediajobs.errors import MediaJobsError
from mediajobs.jobs.events import Answered, AnswerKind, Status, Traits
from mediajobs.jobs.model import Job, Link
from mediajobs.messages import Delivery, Do, Report, ReportKind, Request
from mediajobs.ports import World
from mediajobs.steps.dispatch import dispatch
from mediajobs.steps.reconcile import reconcile
from mediajobs.steps.relay import relay
from mediajobs.steps.store import store
from mediajobs.steps.webhook import take
from mediajobs.steps.worker import work
from tests import samples
from tests.fakes.clock import VirtualClock
from tests.fakes.http import Download
from tests.fakes.providers import MemoryProviders, ScriptedAdapter
from tests.steps.kit import Killed, Stage

FILM = samples.mp4()
RUNS_S = 40
STEP_S = 5


@dataclass
class Charge:
    """One job in the ledger."""

    id: str
    reference: str
    url: str
    born: int
    told: bool = False


class Ledger(ScriptedAdapter):
    """A provider that works, honours keys or not, and remembers every charge."""

    def __init__(self, traits: Traits, clock: VirtualClock) -> None:
        super().__init__("sim", traits=traits)
        self.clock = clock
        self.charges: list[Charge] = []
        self.answers: Callable[[Request], AnswerKind | None] = lambda _: None

    def submit(self, request: Request, token: str, submission: int, now: int) -> Answered:
        said = self.answers(request)
        reference = request.headers["Idempotency-Key"]
        if said in (AnswerKind.NOT_ACCEPTED, AnswerKind.BLOCKED):
            return Answered(kind=said, token=token, submission=submission, message=str(said))
        known = [charge for charge in self.charges if charge.reference == reference]
        if not (self.given.idempotent and known):
            url = json.loads(request.body)["webhook_url"]
            self.charges.append(Charge(f"p-{len(self.charges)}", reference, url, self.clock.now()))
            known = self.charges[-1:]
        if said is AnswerKind.AMBIGUOUS:
            return Answered(kind=said, token=token, submission=submission, message="reset")
        return Answered(kind=AnswerKind.ACCEPTED, token=token, submission=submission, provider_job_id=known[0].id)

    def done(self, charge: Charge) -> bool:
        return self.clock.now() >= charge.born + RUNS_S * 1000

    def in_flight(self) -> int:
        return sum(not self.done(charge) for charge in self.charges)

    def poll(self, job: Job, provider_job_id: str) -> Report:
        charge = next(charge for charge in self.charges if charge.id == provider_job_id)
        return self._report(charge)

    def lookup(self, job: Job) -> Report:
        found = [charge for charge in self.charges if charge.reference == job.reference]
        return self._report(found[0]) if found else Report(kind=ReportKind.ABSENT)

    def _report(self, charge: Charge) -> Report:
        status = Status.SUCCEEDED if self.done(charge) else Status.RUNNING
        links = (Link(url=f"https://cdn.example/{charge.id}.mp4"),)
        return Report(kind=ReportKind.WORD, provider_job_id=charge.id, status=status, raw=str(status), links=links)

    def event(self, charge: Charge) -> Delivery:
        ref = charge.url.rsplit("/", 1)[1]
        links = [f"https://cdn.example/{charge.id}.mp4"]
        return self.delivery(ref, charge.id, Status.SUCCEEDED, event_id=f"evt-{charge.id}", links=links)


class Mortal:
    """A port whose calls may be a process's last, just before or just after they take effect."""

    def __init__(self, port: Any, fate: Fate) -> None:
        self._port = port
        self._fate = fate

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        return self._guarded(found) if callable(found) else found

    def __call__(self, *args: Any, **fields: Any) -> Any:
        return self._guarded(self._port)(*args, **fields)

    def _guarded(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **fields: Any) -> Any:
            self._fate.meet(before=True)
            answer = function(*args, **fields)
            self._fate.meet(before=False)
            return answer

        return call


class Fate:
    """Kills at the n-th boundary, or at each with some probability until it is `over`."""

    def __init__(self, *, at: int | None = None, chance: random.Random | None = None, one_in: int = 40) -> None:
        self.at = at
        self.chance = chance
        self.one_in = one_in
        self.met = 0
        self.over = False

    def meet(self, *, before: bool) -> None:
        self.met += 1
        if self.over:
            return
        if self.met == self.at or (self.chance is not None and self.chance.randrange(self.one_in) == 0):
            raise Killed


@dataclass
class Message:
    """One message of a queue."""

    queue: str
    job: str
    do: Do
    visible: int
    receives: int = 0


class Town(Stage):
    """The whole flow; `run` lets time pass. A `forgetful` stream never brings a record again whose relay died."""

    def __init__(
        self, traits: Traits, fate: Fate, *, limit: int = 1, webhooks: bool = True, forgetful: bool = False
    ) -> None:
        super().__init__(traits, limit=limit, callback_base="https://jobs.example")
        self.ledger = Ledger(traits, self.clock)
        self.webhooks = webhooks
        self.forgetful = forgetful
        self.fate = fate
        self.http.stream = lambda url, headers, rules, rest=None: Download(body=FILM)  # type: ignore[method-assign,assignment]
        self.messages: list[Message] = []
        self.stream: list[Job] = []
        self.most_in_flight = 0
        self._seen = 0
        whole = replace(self.world, providers=MemoryProviders(self.ledger))
        self.world = whole
        ports = ("store", "queues", "topic", "objects", "once")
        self.mortal: World = replace(whole, **{name: Mortal(getattr(whole, name), fate) for name in ports})

    def submitted(self, count: int) -> list[Job]:
        jobs = [self.job(f"job-{number}", tenant=f"tenant-{number % 2}") for number in range(count)]
        self.stream.extend(jobs)
        return jobs

    def run(self, seconds: int) -> None:
        end = self.clock.now() + seconds * 1000
        minute = 0
        while self.clock.now() < end:
            self._relay()
            self._receive()
            self._events()
            if self.clock.now() // 60_000 != minute:
                minute = self.clock.now() // 60_000
                self.once.expire()  # what was killed has run out of time
                self._alive(partial(reconcile, self.mortal, str(minute), workers=1, run_ms=1))
            self.most_in_flight = max(self.most_in_flight, self.ledger.in_flight())
            self.clock.advance(STEP_S)

    def _alive(self, run: Callable[[], object]) -> bool:
        """Whether it came to its end; a killed process or an error says nothing of what it did."""
        try:
            run()
        except (Killed, MediaJobsError):
            return False
        return True

    def _relay(self) -> None:
        self.stream += [change.after for change in self.store.writes[self._seen :] if change.after.out]
        self._seen = len(self.store.writes)
        images, self.stream = self.stream, []
        for image in images:
            if not self._alive(partial(relay, self.mortal, image)) and not self.forgetful:
                self.stream.append(image)

    def _receive(self) -> None:
        now = self.clock.now()
        for sent in self.queues.take_dispatched():
            self.messages.append(Message("dispatch", sent.job, sent.do, now + sent.delay_s * 1000))
        for job in self.queues.take_stored():
            self.messages.append(Message("store", job, Do.SUBMIT, now))
        for message in [one for one in self.messages if one.visible <= now]:
            message.receives += 1
            message.visible = now + (910_000 if message.queue == "store" else 90_000)
            if self._alive(partial(self._take, message)):
                self.messages.remove(message)

    def _take(self, message: Message) -> None:
        step = store if message.queue == "store" else lambda world, job: dispatch(world, job, message.do)
        work(self.mortal, message.job, message.queue, message.receives, lambda: str(step(self.mortal, message.job)))

    def _events(self) -> None:
        for charge in self.ledger.charges if self.webhooks else []:
            if not charge.told and self.ledger.done(charge):
                charge.told = self._alive(partial(take, self.mortal, self.ledger.event(charge)))
