"""A world for the edge's tests: real fakes where the edge or a step needs them, nothing where neither does."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field, replace
from typing import Any, cast

from mediajobs.errors import Unprocessable
from mediajobs.jobs.events import Traits
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import State
from mediajobs.log import JsonLog
from mediajobs.messages import Exists, Settings
from mediajobs.ports import World
from tests.fakes.callbacks import MemoryCallbacks
from tests.fakes.clock import SeededChance, VirtualClock
from tests.fakes.live import MemoryLive
from tests.fakes.once import MemoryOnce
from tests.fakes.queues import MemoryQueues
from tests.fakes.store import MemoryStore
from tests.fakes.topic import MemoryTopic

NOW = 1_800_000_000_000
JOB_ID = "abcdefghijklmnopqrstuvwx23"


@dataclass
class Counts:
    """Implements `ports.Metrics`."""

    counted: list[tuple[str, int, dict[str, str]]] = field(default_factory=list)

    def count(self, name: str, value: int = 1, **dimensions: str) -> None:
        self.counted.append((name, value, dimensions))


class Adapter:
    """Just enough of a provider for a submit to be accepted."""

    name = "sim"

    def traits(self, model: str) -> Traits:
        return Traits(provider="sim", cancel=True)

    def models(self) -> tuple[str, ...]:
        return ("video-1",)

    def check_input(self, model: str, body: dict[str, object]) -> None:
        if "prompt" not in body:
            raise Unprocessable("input lacks prompt", errors=[{"field": "input.prompt", "message": "missing"}])


class Providers:
    """Implements `ports.Providers` with the one provider."""

    def names(self) -> tuple[str, ...]:
        return ("sim",)

    def get(self, name: str) -> Any:
        return {"sim": Adapter()}[name]

    def traits(self, name: str, model: str | None = None) -> Traits:
        adapter = self.get(name)
        return adapter.traits(model or adapter.models()[0])


class Links:
    """Implements what of `ports.Objects` reading a job needs."""

    def link(self, key: str, *, seconds: int, content_type: str, name: str) -> str:
        return f"https://bucket.example/{key}?name={name}&seconds={seconds}"


class Nothing:
    """A port that must not be used: touching it fails the test."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} must not be needed here")


@dataclass
class Scene:
    """A world and what tests look at in it."""

    world: World
    store: MemoryStore
    counts: Counts
    lines: io.StringIO

    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines.getvalue().splitlines()]


_scenes = 0


def scene() -> Scene:
    global _scenes  # noqa: PLW0603 Powertools keeps one stream per service name for ever
    _scenes += 1
    chance = SeededChance()
    store = MemoryStore(chance)
    counts, lines = Counts(), io.StringIO()
    nothing = cast("Any", Nothing())

    def create(job: Job) -> tuple[Job, bool]:
        outcome = store.create(job)
        if isinstance(outcome, Exists) and outcome.job.payload_digest != job.payload_digest:
            raise Unprocessable("this Idempotency-Key stands for another payload")
        return outcome.job, isinstance(outcome, Exists)

    world = World(
        clock=VirtualClock(NOW),
        chance=chance,
        store=store,
        queues=MemoryQueues(),
        topic=MemoryTopic(),
        live=MemoryLive(),
        objects=cast("Any", Links()),
        http=nothing,
        providers=Providers(),
        secrets=nothing,
        once=MemoryOnce(),
        create=create,
        callbacks=MemoryCallbacks(),
        metrics=counts,
        log=JsonLog(strict=True, stream=lines, service=f"edge-{_scenes}", level="INFO"),
        settings=Settings(max_in_flight=4),
    )
    return Scene(world=world, store=store, counts=counts, lines=lines)


def job(**fields: Any) -> Job:
    """A job of tenant acme, pending; tests name only what they care about."""
    plain = Job(
        id=JOB_ID,
        tenant="acme",
        provider="sim",
        model="video-1",
        state=State.PENDING,
        version=1,
        incarnation="aaaaaaaaaaaaa",
        created_at=NOW,
        updated_at=NOW,
        since=NOW,
        start_deadline=NOW + 86_400_000,
        start_within_s=86_400,
        payload_digest=b"\1" * 32,
        history=(f"1||pending|api|{NOW}",),
        history_count=1,
    )
    return replace(plain, **fields)
