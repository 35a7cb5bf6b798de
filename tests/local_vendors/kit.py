"""One vendor's double and the product's adapter for it, with a receiver of webhooks between them."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from string import Template
from typing import Any, TypeVar

from local import vendors
from local.provider.server import SimulatedProvider
from local.vendors import signup
from mediajobs.adapters.providers.loading import load
from mediajobs.adapters.providers.registry import Registry
from mediajobs.errors import NoAnswer
from mediajobs.jobs.events import Answered, AnswerKind
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import State
from mediajobs.messages import Delivery, Report, Request, Response
from tests.fakes.jobs import a_job
from tests.local_provider.kit import FAST, PROMPT, Reply, call, until

T = TypeVar("T")
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
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            named = {name.lower(): (value,) for name, value in self.headers.items()}
            last = self.path.rpartition("/")[2]
            ref = last if "." in last else None
            box.taken.append(Delivery(provider="", ref=ref, headers=named, body=raw))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    box = Inbox(f"http://127.0.0.1:{server.server_address[1]}")
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield box
    server.shutdown()
    server.server_close()


class Http:
    """The port over a plain client."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def submit(self, request: Request) -> Response:
        self.asked.append(f"{request.method} {request.url}")
        try:
            reply = call(request.method, request.url, headers=request.headers, raw=request.body)
        except (http.client.HTTPException, OSError) as fault:
            raise NoAnswer(str(fault)) from fault
        return Response(status=reply.status, headers=reply.headers, body=reply.body)

    get = submit


class Secrets:
    """The port over what the double gives at sign-up."""

    def __init__(self, known: dict[str, Any]) -> None:
        self.known = known

    def provider(self, name: str, *, refresh: bool = False) -> dict[str, Any]:
        return dict(self.known[name])


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
