"""All steps of the product over memory, the real HTTP client, and a vendor's double that makes faults.

Time is shared by both and runs ahead as fast as the work is done; only the wire is real. What AWS promises is played,
no more: messages and stream records come again until they were taken, the schedule ticks each minute.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from string import Template
from typing import Any

from local import vendors
from local.provider.ledger import peak_in_flight
from local.provider.server import SimulatedProvider
from local.vendors import signup
from mediajobs.adapters.http import WebHttp
from mediajobs.adapters.providers.loading import load
from mediajobs.adapters.providers.registry import Registry
from mediajobs.errors import MediaJobsError, Problem
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import TERMINAL, Reason, State
from mediajobs.messages import Caller, Delivery, Do, Settings
from mediajobs.steps.dispatch import dispatch
from mediajobs.steps.reconcile import reconcile
from mediajobs.steps.relay import relay
from mediajobs.steps.store import store
from mediajobs.steps.submit import Submission, submit
from mediajobs.steps.webhook import take
from mediajobs.steps.worker import work
from tests.local_provider.kit import PROMPT, door
from tests.local_vendors.kit import DIRECTORY
from tests.steps.kit import Stage
from tests.steps.town import Message

LIMIT = 4
STEP_S = 1.0
IDLE_STEP_S = 10.0
REAL_STEP_S = 0.01
LONGEST_S = 4 * 3600
LATE_FOR_GOOD_MS = 240_000


class Time:
    """Implements `clock.Clock` for the product, and gives the double its seconds. It runs, and can be moved on."""

    def __init__(self) -> None:
        self._ahead = 0.0
        self.over = threading.Event()

    def seconds(self) -> float:
        return time.time() + self._ahead

    def now(self) -> int:
        return int(self.seconds() * 1000)

    def advance(self, seconds: float) -> None:
        self._ahead += seconds

    def sleep(self, seconds: float) -> None:
        """Wait until others have moved it on so far."""
        end = self.seconds() + seconds
        while self.seconds() < end and not self.over.wait(REAL_STEP_S):
            pass
        self.advance(max(0.0, end - self.seconds()))


class Town(Stage):
    """One deployment with one vendor."""

    def __init__(self, name: str, double: SimulatedProvider, time_: Time, callback_base: str) -> None:
        super().__init__(limit=LIMIT, callback_base=callback_base)
        self.name, self.double, self.time = name, double, time_
        text = Template((DIRECTORY / f"{name}.toml").read_text()).substitute(PROVIDER_URL=double.base_url)
        known = signup.with_endpoints(double.base_url, callback_base, double.credentials.public()["providers"])
        self.secrets.put(name, known[name]["api_key"], *known[name]["webhook_secrets"])
        web: Any = WebHttp()
        clock: Any = time_
        self.world = replace(
            self.world,
            clock=clock,
            http=web,
            providers=Registry(load(text), web, self.secrets, clock=clock),
            settings=Settings(max_in_flight=LIMIT, callback_base=callback_base),
        )
        self.messages: list[Message] = []
        self.stream: list[Job] = []
        self.names: dict[str, str] = {}
        self.answers: Counter[int] = Counter()
        self._seen = 0
        self._door, self._closed = threading.Lock(), False

    def submitted(self, number: int) -> Job:
        """One of a demonstration's jobs, as the API takes it."""
        model, given = vendors.example(self.name, number, PROMPT)
        self.world.providers.get(self.name).check_input(model, given)
        body = json.dumps({"input": given, "metadata": {"n": number}}).encode()
        digest = hashlib.sha256(body).digest()
        command = Submission(provider=self.name, model=model, body=body, digest=digest, start_within_s=86_400)
        job = submit(self.world, Caller(tenant="acme", scope="user"), f"key-{number}", command)[0]
        self.stream.append(job)
        self.names[f"seed-{number}"] = job.id
        return job

    def run(self, jobs: list[Job]) -> None:
        """Until each has ended and is published, or asks a person."""
        end, minute, passing = self.time.seconds() + LONGEST_S, 0, threading.Thread()
        while self.time.seconds() < end and not self._over(jobs):
            self._relay()
            self._receive()
            if self.time.now() // 60_000 != minute and not passing.is_alive():
                minute = self.time.now() // 60_000
                passing = threading.Thread(target=reconcile, args=(self.world, str(minute)))
                passing.start()
            self._pass()
        self.time.over.set()
        if passing.ident is not None:
            passing.join()
        for _ in range(5):  # what the last pass has set going
            self._relay()
            self._receive()

    def take(self, delivery: Delivery) -> int:
        """One webhook; the status it is answered with."""
        with self._door:
            if self._closed:
                return 503
            try:
                status = take(self.world, delivery)[0]
            except Problem as problem:
                status = problem.status
            except MediaJobsError:
                status = 503
            self.answers[status] += 1
            return status

    def ledger(self) -> list[dict[str, Any]]:
        """The double's jobs, each under the id of our own job."""
        found = self.double.ledger.snapshot()["jobs"]
        for job in found:
            known_as, _, rest = job["reference"].partition(".")
            job["reference"] = f"{self.names.get(known_as, known_as)}.{rest}"
        return list(found)

    def most_in_flight(self) -> int:
        return peak_in_flight(self.ledger())

    def _pass(self) -> None:
        time.sleep(REAL_STEP_S)
        # Where nothing is going on, only waits are left: they pass quickly.
        busy = self.double.ledger.in_flight(self.name) or self.stream or self.queues.dispatched or self.queues.stored
        self.time.advance(STEP_S if busy else IDLE_STEP_S)
        # The double waits in real time for what has come nearer: wake it.
        self.double.wake()

    def _over(self, jobs: list[Job]) -> bool:
        """Whether all is settled; no webhook changes that any more then."""
        with self._door:
            self._closed = all(self._settled(job.id) for job in jobs)
            return self._closed

    def _settled(self, job_id: str) -> bool:
        job = self.read(job_id)
        if job.attention is not None:
            # Late jobs are still polled, and most of them end.
            late = job.attention.reason is Reason.OVERDUE
            return not late or self.time.now() - job.attention.since > LATE_FOR_GOOD_MS
        return job.state in TERMINAL and job.published_at is not None

    def _relay(self) -> None:
        changes = list(self.store.writes)
        self.stream += [change.after for change in changes[self._seen :] if change.after.out]
        self._seen = len(changes)
        images, self.stream = self.stream, []
        self.stream += [one for one in images if not self._alive(lambda one=one: relay(self.world, one))]  # type: ignore[misc]

    def _receive(self) -> None:
        now = self.time.now()
        self.messages += [
            Message("dispatch", sent.job, sent.do, now + sent.delay_s * 1000) for sent in self.queues.take_dispatched()
        ]
        self.messages += [Message("store", job, Do.SUBMIT, now) for job in self.queues.take_stored()]
        for message in [one for one in self.messages if one.visible <= now]:
            message.receives += 1
            message.visible = now + 90_000
            if self._alive(lambda message=message: self._work(message)):  # type: ignore[misc]
                self.messages.remove(message)

    def _work(self, message: Message) -> None:
        def step() -> str:
            if message.queue == "store":
                return str(store(self.world, message.job))
            return dispatch(self.world, message.job, message.do)

        work(self.world, message.job, message.queue, message.receives, step)

    def _alive(self, run: Callable[[], object]) -> bool:
        try:
            run()
        except MediaJobsError:
            return False
        return True


@contextmanager
def town(name: str, double: Callable[[Time], SimulatedProvider]) -> Iterator[Town]:
    """A town with its own address for webhooks."""

    def arrived(path: str, headers: dict[str, str], raw: bytes) -> int:
        provider, _, ref = path.removeprefix("/v1/webhooks/").partition("/")
        named = {key: (value,) for key, value in headers.items()}
        return made.take(Delivery(provider=provider, ref=ref or None, headers=named, body=raw))

    shared = Time()
    provider = double(shared)
    with door(arrived) as url:
        provider.start()
        made = Town(name, provider, shared, url)
        threading.Thread(target=_tick, args=(shared, provider), daemon=True).start()
        try:
            yield made
        finally:
            shared.over.set()
            provider.stop()


def _tick(time_: Time, provider: SimulatedProvider) -> None:
    """While a step waits for the double, the double's time must go on."""
    while not time_.over.wait(0.05):
        time_.advance(0.5)
        provider.wake()


def violations(it: Town, jobs: list[Job]) -> list[str]:
    """What must not be, by the numbers of the design's invariants."""
    ledger = it.ledger()
    charges = Counter(job["reference"].split(".")[0] for job in ledger)
    won = {job["reference"].split(".")[0] for job in ledger if job["state"] == "completed"}
    told = Counter(json.loads(one.message)["request_id"] for one in it.topic.published)
    found = [f"4: {it.most_in_flight()} in flight"] if it.most_in_flight() > LIMIT else []
    for job in (it.read(job) for job in jobs):
        wrong = {
            f"2: charged {charges[job.id]} times": charges[job.id] > 1,
            f"5: published {told[job.id]} times": told[job.id] != (job.state in TERMINAL),
            "5: no results": job.state is State.SUCCEEDED and not job.outputs,
            "6: stuck": job.state not in TERMINAL and job.attention is None,
            "7: ended by us": _ended_by_us(job, won=job.id in won, accepted=job.id in charges),
        }
        found += [f"{what}: {job.id} {job.state} {job.error}" for what, is_so in wrong.items() if is_so]
    return found


def _ended_by_us(job: Job, *, won: bool, accepted: bool) -> bool:
    """Failed or canceled although its result was there to be had, or although nobody ever took it."""
    if job.state not in (State.FAILED, State.CANCELED):
        return False
    bad_file = job.error is not None and str(job.error.code) == "invalid_result"
    return (won and not bad_file) or not accepted
