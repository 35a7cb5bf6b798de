"""The webhook function over real adapters and a table in memory: what the tests of intake and the hostile run share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mediajobs.adapters.providers.loading import load
from mediajobs.adapters.providers.registry import Registry
from mediajobs.api import webhook as edge
from mediajobs.jobs.model import Job, request_id
from mediajobs.jobs.states import State
from mediajobs.messages import Response, Settings
from mediajobs.ports import World
from mediajobs.steps import webhook
from mediajobs.steps.tokens import webhook_url
from tests.api.events import context, proxy
from tests.api.stubs import Scene, scene
from tests.contract.vendors.shape import Vendor, Wire
from tests.fakes.jobs import NOW, a_job
from tests.fakes.secrets import MemorySecrets

BASE = "https://jobs.example"


@dataclass
class Intake:
    """The function, its world, and what a test looks at."""

    handler: Any
    world: World
    scene: Scene
    wire: Wire
    secrets: MemorySecrets

    def put(self, provider: str, model: str, key: str = "first", **fields: Any) -> Job:
        """A job that is being submitted, or what else `fields` make of it."""
        given = {"state": State.SUBMITTING, "slot": "001", **fields}
        job = replace(a_job(key), id=request_id("acme", key), provider=provider, model=model, **given)
        self.world.store.create(job)
        return job

    def bound(self, vendor: Vendor, key: str = "first", **fields: Any) -> Job:
        """A running job of the vendor."""
        given = {"state": State.RUNNING, "provider_job_id": vendor.job_id, **fields}
        return self.put(vendor.name, vendor.model, key, **given)

    def path(self, job: Job) -> str:
        """The path of the job's own webhook URL."""
        url = webhook_url(self.world, job)
        assert url is not None
        return url.removeprefix(BASE)

    def post(
        self, path: str, body: Any, headers: Mapping[str, str | list[str]] | None = None, *, binary: bool = True
    ) -> tuple[int, dict[str, Any]]:
        """One delivery through the HTTP edge: status and document of the answer."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        event = proxy("POST", path, body=raw, headers=dict(headers or {}), caller=None, binary=binary)
        answer = self.handler(event, context())
        return answer["statusCode"], json.loads(answer["body"])

    def deliver(self, vendor: Vendor, body: Any, path: str, now: int = NOW) -> tuple[int, dict[str, Any]]:
        """One rightly signed delivery."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.post(path, raw, vendor.sign(raw, now // 1000) if vendor.sign else {})

    def state(self, job: Job) -> State:
        now = self.world.store.load(job.id)
        assert now is not None
        return now.state

    def refusals(self) -> list[dict[str, Any]]:
        return [line for line in self.scene.log() if line["message"] == "webhook refused"]


def intake(*vendors: Vendor, tables: str = "", answers: tuple[Response | Exception, ...] = ()) -> Intake:
    """The function with these vendors' adapters; `tables` adds providers of configuration alone."""
    here = scene()
    secrets = MemorySecrets()
    published: dict[str, Response] = {}
    for vendor in vendors:
        secrets.put(vendor.name, vendor.api_key, *vendor.webhook_secrets)
        published.update(vendor.published)
    wire = Wire(*answers, published=published)
    config = load("".join(vendor.tables for vendor in vendors) + tables)
    world = replace(
        here.world,
        providers=Registry(config, wire, secrets, clock=here.world.clock),
        secrets=secrets,
        http=wire,
        settings=Settings(max_in_flight=4, callback_base=BASE),
    )
    return Intake(handler=edge.build(world, webhook), world=world, scene=here, wire=wire, secrets=secrets)
