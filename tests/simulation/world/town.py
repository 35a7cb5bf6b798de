"""The whole product in one process and in virtual time: real functions, one table, queues, a stream, and providers."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from mediajobs.adapters.providers.config import Configuration
from mediajobs.adapters.providers.loading import load
from mediajobs.errors import NoAnswer, NotSent
from mediajobs.messages import Request, Response, Settings
from mediajobs.pauses import Pause
from tests.api import events
from tests.fakes.clock import SeededChance
from tests.fakes.live import MemoryLive
from tests.fakes.objects import MemoryObjects
from tests.fakes.secrets import MemorySecrets
from tests.fakes.topic import MemoryTopic
from tests.simulation.world.front import Front
from tests.simulation.world.functions import TIMEOUTS_S, Fleet
from tests.simulation.world.once import Records
from tests.simulation.world.process import Ended, Inline, Process, Threaded
from tests.simulation.world.provider import Ledger
from tests.simulation.world.queue import Queues
from tests.simulation.world.scheduler import MINUTE, START, Scheduler
from tests.simulation.world.store import Table
from tests.simulation.world.stream import Stream
from tests.simulation.world.weather import Weather
from tests.simulation.world.webhooks import SECRET, Webhooks

HOOKS = "https://hooks.example.org"
TRACE = 4000
_BLUNDERS = frozenset(
    {"AssertionError", "AttributeError", "IndexError", "KeyError", "NameError", "TypeError", "UnboundLocalError"}
)


@lru_cache
def configuration() -> Configuration:
    """The simulation's providers."""
    return load((Path(__file__).parent / "providers.toml").read_text(encoding="utf-8"))


class Town:
    """Implements what containers look for. `limits` are an operator's, per provider."""

    def __init__(
        self,
        weather: Weather,
        *,
        names: Sequence[str],
        limits: dict[str, int] | None = None,
        seed: int = 1,
        threaded: bool = False,
        fleet: Fleet | None = None,
        job_days: int = 400,
    ) -> None:
        self.weather, self.names, self.threaded = weather, tuple(names), threaded
        self.scheduler = Scheduler()
        self.chance = SeededChance(seed)
        self.table = Table(self.chance)
        self.records = Records()
        self.topic = MemoryTopic()
        self.live = MemoryLive()
        self.objects = MemoryObjects()
        self.secrets = MemorySecrets()
        self.settings = Settings(max_in_flight=4, callback_base=HOOKS, job_days=job_days)
        self.log = Trace(self.scheduler)
        self.metrics = SimpleNamespace(count=lambda *_, **__: None)
        self.ledger = Ledger(self.scheduler, key_lives())
        self.front = Front(self.ledger, weather)
        self.queues = Queues(self, most=4)
        self.stream = Stream(self)
        self.webhooks = Webhooks(self.scheduler, weather, self.front.document, self.post)
        self.closed: set[str] = set()  # functions that are switched off
        self.fleet = fleet or Fleet()
        self.invocations = 0
        self._running: set[Process] = set()
        self.crashes = 0
        self.ticks = 0
        self._wire(limits or {})

    def _wire(self, limits: dict[str, int]) -> None:
        for name in self.names:
            self.secrets.put(name, f"key-of-{name}", SECRET)
        for name, limit in limits.items():
            self.table.pauses[name] = (Pause(limit=limit), "")
        self.table.on_write.append(self.stream.heard)
        self.table.on_write.append(self._index)
        self.ledger.on_accept.append(self.webhooks.accepted)
        self.ledger.on_end.append(self.webhooks.ended)
        self.scheduler.at(START + MINUTE, self._tick)

    def invoke(self, function: str, event: dict[str, Any], ended: Ended) -> None:
        """Start one invocation; `ended` is told its answer, or what it died of."""
        if function in self.closed:
            ended(ConnectionError(f"{function} is switched off"))
            return
        self.invocations += 1
        container = self.fleet.take(function)
        kind = Threaded if self.threaded else Inline
        process: Process = kind(self.scheduler, function, self.invocations, TIMEOUTS_S[function] * 1000)
        container.town, container.process = self, process
        context = SimpleNamespace(aws_request_id=f"request-{process.number}", function_name=function)

        self._running.add(process)

        def finished(answer: object) -> None:
            self._running.discard(process)
            self.fleet.give_back(container)
            if isinstance(answer, BaseException):
                self.crashes += 1
                self.log.info("died", function=function, of=type(answer).__name__, detail=str(answer)[:200])
            ended(answer)

        process.run(lambda: container.handler(event, context), finished)

    def stop(self) -> None:
        """End what is still running, as if the machine were switched off."""
        for process in list(self._running):
            process.stop()

    def call(self, function: str, event: dict[str, Any], answered: Any) -> None:
        """One request to the API: `answered(status, document)`, status 0 where no answer came."""

        def ended(answer: object) -> None:
            if isinstance(answer, dict):
                answered(answer["statusCode"], events.document(answer))
            else:
                answered(0, {})

        self.invoke(function, event, ended)

    def post(self, path: str, headers: dict[str, str], body: bytes, taken: Any) -> None:
        """A provider calls; whatever is no answer of ours is a 502 of the gateway."""
        event = events.proxy("POST", path, body=body, headers=dict(headers), caller=None)
        self.call("webhook", event, lambda status, _document: taken(status or 502))

    def arrive(self, request: Request) -> Response | Exception:
        """A submit has reached its provider; what it answers."""
        try:
            return self.front.submit(request)
        except (NotSent, NoAnswer) as error:
            return error

    def _tick(self) -> None:
        self.ticks += 1
        self.scheduler.after(MINUTE, self._tick)
        again = self.weather.happens("tick again")
        if self.weather.happens("tick lost"):
            return
        event = {"scheduled_time": f"tick-{self.ticks}"}
        self.invoke("reconcile", event, lambda _answer: None)
        if again:
            self.invoke("reconcile", event, lambda _answer: None)
        if self.weather.happens("tick twin"):  # one that no idempotency record holds back
            self.invoke("reconcile", {"scheduled_time": f"twin-{self.ticks}"}, lambda _answer: None)

    def _index(self, _before: object, after: Any, _rule: str) -> None:
        """Indexes are eventually consistent: what is hidden now is shown a little later."""
        self.scheduler.after(2_000, lambda: self.table.catch_up(after.id))


def key_lives() -> dict[str, int]:
    """Providers that honour a key, and for how long."""
    providers = configuration().providers
    return {name: int(one.idempotency.key_life_s * 1000) for name, one in providers.items() if one.idempotency}


class Trace:
    """Implements `ports.Log`: the last lines, with their virtual time, for a run that failed."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.lines: deque[tuple[int, str, dict[str, object]]] = deque(maxlen=TRACE)
        self.blunders: list[str] = []  # faults of the code itself, which no weather explains

    def info(self, message: str, **fields: object) -> None:
        self.lines.append((self._scheduler.now, message, fields))

    warning = info

    def error(self, message: str, **fields: object) -> None:
        self.info(message, **fields)
        kind = fields.get("error")
        if (kind if isinstance(kind, str) else type(kind).__name__) in _BLUNDERS:
            self.blunders.append(f"{message}: {fields}")

    def text(self, job_id: str | None = None) -> str:
        """The lines, of one job or of all."""
        kept = [line for line in self.lines if job_id is None or line[2].get("job") in (job_id, None)]
        return "\n".join(
            f"{(at - START) / 1000:10.3f} s  {message}  " + " ".join(f"{k}={v}" for k, v in fields.items())
            for at, message, fields in kept
        )
