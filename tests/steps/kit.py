"""A whole world in memory for the steps: tests script the provider, move the clock, and look at rows and queues."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from mediajobs.errors import Unprocessable
from mediajobs.jobs.events import AnswerKind, Event, Status, StepFailed, Stored, Traits, Word
from mediajobs.jobs.model import Job, Link, Output
from mediajobs.jobs.states import Reason, Source, State
from mediajobs.messages import Caller, Created, Do, Settings
from mediajobs.pauses import Pause
from mediajobs.ports import World
from mediajobs.steps.apply import apply
from mediajobs.steps.dispatch import dispatch
from mediajobs.steps.relay import relay
from mediajobs.steps.submit import Submission, submit
from mediajobs.steps.tokens import webhook_url
from mediajobs.steps.worker import work
from tests.fakes.callbacks import MemoryCallbacks
from tests.fakes.clock import SeededChance, VirtualClock
from tests.fakes.http import ScriptedHttp
from tests.fakes.live import MemoryLive
from tests.fakes.objects import MemoryObjects
from tests.fakes.once import MemoryOnce
from tests.fakes.providers import MemoryProviders, ScriptedAdapter
from tests.fakes.queues import MemoryQueues
from tests.fakes.secrets import MemorySecrets
from tests.fakes.store import MemoryStore
from tests.fakes.topic import MemoryTopic

KEYED = Traits(provider="sim", idempotent=True, key_life_s=86_400, cancel=True)
PLAIN = Traits(provider="sim", cancel=True)
LOOKED_UP = Traits(provider="sim", lookup=True, cancel=True)
OPERATOR = Caller(tenant="ops", scope="operator")
ACME = Caller(tenant="acme", scope="user")
LISTEN = "wss://live.example/event/realtime"


@dataclass
class Counters:
    """Implements `ports.Metrics`."""

    counted: Counter[str] = field(default_factory=Counter)

    def count(self, name: str, value: int = 1, **dimensions: str) -> None:
        self.counted[name] += value


@dataclass
class Lines:
    """Implements `ports.Log`."""

    lines: list[tuple[str, str, dict[str, object]]] = field(default_factory=list)

    def info(self, message: str, **fields: object) -> None:
        self.lines.append(("info", message, fields))

    def warning(self, message: str, **fields: object) -> None:
        self.lines.append(("warning", message, fields))

    def error(self, message: str, **fields: object) -> None:
        self.lines.append(("error", message, fields))


class Stage:
    """The steps' world over fakes, with one scripted provider `sim`."""

    def __init__(
        self,
        traits: Traits = KEYED,
        *,
        limit: int = 1,
        adapters: tuple[ScriptedAdapter, ...] = (),
        callback_base: str | None = "https://jobs.example",
        live_endpoint: str = LISTEN,
        make_store: Callable[[SeededChance], MemoryStore] = MemoryStore,
    ) -> None:
        self.clock = VirtualClock()
        self.chance = SeededChance(7)
        self.store = make_store(self.chance)
        self.queues = MemoryQueues()
        self.topic = MemoryTopic()
        self.live = MemoryLive()
        self.objects = MemoryObjects()
        self.http = ScriptedHttp()
        self.secrets = MemorySecrets()
        self.once = MemoryOnce()
        self.callbacks = MemoryCallbacks()
        self.metrics = Counters()
        self.log = Lines()
        self.sim = ScriptedAdapter("sim", traits=traits)
        self.world = World(
            clock=self.clock,
            chance=self.chance,
            store=self.store,
            queues=self.queues,
            topic=self.topic,
            live=self.live,
            objects=self.objects,
            http=self.http,
            providers=MemoryProviders(self.sim, *adapters),
            secrets=self.secrets,
            once=self.once,
            create=self._create,
            callbacks=self.callbacks,
            metrics=self.metrics,
            log=self.log,
            settings=Settings(max_in_flight=limit, callback_base=callback_base, live_endpoint=live_endpoint),
        )
        self._relayed = 0

    def _create(self, job: Job) -> tuple[Job, bool]:
        outcome = self.store.create(job)
        if outcome.job.payload_digest != job.payload_digest:
            raise Unprocessable("this key was used with another payload")
        return outcome.job, not isinstance(outcome, Created)

    # -- getting there

    def job(self, key: str = "first", tenant: str = "acme", provider: str = "sim", start_within_s: int = 86_400) -> Job:
        """A job as submit leaves it."""
        body = json.dumps(
            {"input": {"prompt": "a red bicycle leaning on a garden wall"}, "metadata": {"n": key}}
        ).encode()
        command = Submission(
            provider=provider,
            model="video-1",
            body=body,
            digest=hashlib.sha256(body).digest(),
            start_within_s=start_within_s,
        )
        return submit(self.world, Caller(tenant=tenant, scope="user"), key, command)[0]

    def running(self, key: str = "first", provider_job_id: str = "p-1") -> Job:
        job = self.job(key)
        self.sim.accept(provider_job_id)
        assert self.dispatch(job) == "accepted"
        return self.read(job)

    def storing(self, *urls: str, key: str = "first") -> Job:
        job = self.running(key)
        links = tuple(Link(url=url) for url in urls or ("https://cdn.example/a.mp4",))
        return self.say(job, Status.SUCCEEDED, links=links)

    def succeeded(self, key: str = "first") -> Job:
        output = Output(key="results/x/0", content_type="video/mp4", size=4, sha256="0" * 64)
        return self.apply(self.storing(key=key), Stored(outputs=(output,)))

    def unsure(self, key: str = "first", retry_in_s: int = 10) -> Job:
        """Perhaps paid for."""
        job = self.job(key)
        self.sim.answer(AnswerKind.AMBIGUOUS, message="timeout", retry_at=self.clock.now() + retry_in_s * 1000)
        assert self.dispatch(job) == "ambiguous"
        return self.read(job)

    def killed(self, key: str = "first") -> Job:
        """Claimed; the dispatcher died with its request on the wire."""
        job = self.job(key)
        self.sim.during_submit = die
        with suppress(Killed):
            dispatch(self.world, job.id, Do.SUBMIT)
        self.sim.during_submit = None
        return self.read(job)

    # -- what happens

    def dispatch(self, job: Job, do: Do = Do.SUBMIT) -> str:
        return dispatch(self.world, job.id, do)

    def receive(self, job: Job, do: Do = Do.SUBMIT, receives: int = 1) -> str:
        """One message, through what every message goes through."""
        return work(self.world, job.id, "dispatch", receives, lambda: dispatch(self.world, job.id, do))

    def apply(self, job: Job, event: Event) -> Job:
        return apply(self.world, self.read(job), event, self.sim.given, fresh=True).job

    def say(self, job: Job, status: Status, provider_job_id: str = "p-1", **fields: Any) -> Job:
        said: dict[str, Any] = {"submission": 1, "source": Source.WEBHOOK, "raw": str(status), **fields}
        return self.apply(job, Word(status=status, provider_job_id=provider_job_id, **said))

    def dead_letter(self, job: Job) -> Job:
        event = StepFailed(step="dispatch", message="x", retry_at=self.clock.now(), enough=True)
        return self.apply(job, event)

    def relay(self) -> list[tuple[str, ...]]:
        """Hand relay every write it has not seen; returns the words done."""
        done = []
        while self._relayed < len(self.store.writes):
            after = self.store.writes[self._relayed].after
            self._relayed += 1
            if after.out:
                done.append(relay(self.world, after))
        return done

    def ref(self, job: Job, submission: int | None = None) -> str:
        """The last part of the job's webhook URL."""
        url = webhook_url(self.world, job if submission is None else replace(job, submission=submission))
        assert url is not None
        return url.rsplit("/", 1)[1]

    # -- what can be seen

    def read(self, job: Job | str) -> Job:
        found = self.store.load(job if isinstance(job, str) else job.id)
        assert found is not None
        return found

    def reason(self, job: Job) -> Reason | None:
        attention = self.read(job).attention
        return attention.reason if attention else None

    def state(self, job: Job) -> State:
        return self.read(job).state

    def pause(self) -> Pause:
        return self.store.provider("sim").pause

    def held(self) -> dict[str, str]:
        """Slot rows of `sim`: each names its job, and that job says so too."""
        rows = dict(self.store.rows.get("sim", {}))
        assert rows == {job.slot: job.id for job in self.store.jobs.values() if job.slot and job.provider == "sim"}
        return rows

    def sent(self) -> list[tuple[str, str, int]]:
        """Messages to dispatch since the last call: (job id, do, delay)."""
        return [(sent.job, str(sent.do), sent.delay_s) for sent in self.queues.take_dispatched()]


class Killed(BaseException):
    """The process is gone: nothing of ours runs any more."""


def die(_: object) -> None:
    raise Killed
