"""One vendor's double and the product's adapter for it, with a receiver of webhooks between them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from string import Template
from typing import Any

from local import vendors
from local.provider.server import SimulatedProvider
from local.vendors import signup
from mediajobs.adapters.providers.loading import load
from mediajobs.adapters.providers.registry import Registry
from mediajobs.jobs.events import Answered, AnswerKind
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import State
from mediajobs.messages import Delivery, Report, Request
from tests.fakes.jobs import a_job
from tests.local_provider.kit import FAST, PROMPT, Http, Reply, Secrets, call, door, until

DIRECTORY = Path(__file__).parents[2] / "local" / "vendors"
# Words, and with them polls, come faster than a person could ask.
SETTINGS = replace(FAST, progress_per_s=10)


@dataclass
class Inbox:
    """Takes webhooks; answers 200."""

    url: str
    taken: list[Delivery] = field(default_factory=list)


@contextmanager
def inbox() -> Iterator[Inbox]:
    def take(path: str, headers: dict[str, str], raw: bytes) -> int:
        last = path.rpartition("/")[2]
        ref = last if "." in last else None
        named = {name: (value,) for name, value in headers.items()}
        box.taken.append(Delivery(provider="", ref=ref, headers=named, body=raw))
        return 200

    with door(take) as url:
        box = Inbox(url)
        yield box


class Line:
    """From the adapter to the double and back."""

    def __init__(self, name: str, server: SimulatedProvider, box: Inbox) -> None:
        self.name, self.server, self.box = name, server, box
        self.base = f"{server.base_url}/{name}"
        self.secrets = Secrets(
            signup.with_endpoints(server.base_url, box.url, server.credentials.public()["providers"])
        )
        self.http = Http()
        text = Template((DIRECTORY / f"{name}.toml").read_text()).substitute(PROVIDER_URL=server.base_url)
        ports: Any = (self.http, self.secrets)
        self.adapter: Any = Registry(load(text), *ports).get(name)

    def job(self, key: str = "first", number: int = 0, **fields: Any) -> Job:
        return a_job(key, provider=self.name, model=self.example(number)[0], **fields)

    def example(self, number: int = 0, prompt: str = PROMPT) -> tuple[str, dict[str, Any]]:
        return vendors.example(self.name, number, prompt)

    def url(self, job: Job) -> str:
        return f"{self.box.url}/v1/webhooks/{self.name}/{job.id}.{job.submission}.token"

    def request(self, job: Job, number: int = 0, prompt: str = PROMPT, *, webhook: bool = True) -> Request:
        wanted: Request = self.adapter.request(job, self.example(number, prompt)[1], self.url(job) if webhook else None)
        return wanted

    def submit(
        self, key: str = "first", number: int = 0, prompt: str = PROMPT, *, webhook: bool = True
    ) -> tuple[Job, Answered]:
        """Send one; the job as it is afterwards."""
        job = self.job(key, number)
        self.adapter.check_input(job.model, self.example(number, prompt)[1])
        answered: Answered = self.adapter.submit(self.request(job, number, prompt, webhook=webhook), "t", 1, now())
        bound = {"provider_job_id": answered.provider_job_id, "poll_url": answered.poll_url, "state": State.RUNNING}
        return replace(job, **bound) if answered.kind is AnswerKind.ACCEPTED else job, answered  # type: ignore[arg-type]

    def poll(self, job: Job) -> Report:
        report: Report = self.adapter.poll(job, str(job.provider_job_id))
        return report

    def polled(self, job: Job, fits: Callable[[Report], bool]) -> Report:
        """The first report of that kind."""
        return until(lambda: report if fits(report := self.poll(job)) else None)

    def told(self, fits: Callable[[Report], bool]) -> Report:
        """What a webhook of that kind says; every webhook must be rightly signed."""

        def find() -> Report | None:
            for delivery in list(self.box.taken):
                self.adapter.verify(delivery, now())
                report: Report = self.adapter.read(delivery)
                if fits(report):
                    return report
            return None

        return until(find)

    def script(self, fault: dict[str, Any]) -> None:
        """What happens to the next job."""
        reply = call("POST", f"{self.server.base_url}/_faults", {"script": [{"next": 1, "fault": fault}]})
        assert reply.status == 200, reply.body

    def block(self, seconds: float) -> None:
        call("POST", f"{self.server.base_url}/_faults", {"block": {"provider": self.name, "seconds": seconds}})

    def ledger(self) -> Any:
        return call("GET", f"{self.server.base_url}/_ledger").json

    def raw(self, request: Request, **headers: str | None) -> Reply:
        """The adapter's own submit, some headers of it changed, or left out by None; `_` stands for a hyphen."""
        signed = self.adapter.authorized(request, self.secrets.known[self.name]["api_key"])
        changed = {name.replace("_", "-").lower(): value for name, value in headers.items()}
        sent = {name: value for name, value in signed.headers.items() if name.lower() not in changed}
        sent |= {name: value for name, value in changed.items() if value is not None}
        return call(request.method, request.url, headers=sent, raw=signed.body)


def now() -> int:
    return int(time.time() * 1000)
