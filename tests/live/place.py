"""A job, the product's own handlers around it, an Events API, and an address where a page would read the job."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from mediajobs.api import authorizer, jobs
from mediajobs.jobs.events import Status, Stored
from mediajobs.jobs.model import Job, Output
from mediajobs.steps import authorize as authorize_step
from mediajobs.steps import jobs as jobs_step
from mediajobs.steps.webhook import take
from tests.api import events
from tests.live.events_api import EventsApi
from tests.steps.kit import Stage


class Place:
    """One running job of tenant acme. `reads` counts how often it was read; the next `failing` reads fail."""

    def __init__(self) -> None:
        self.stage = Stage()
        self._lock = threading.RLock()  # the fakes are for one thread
        ask = authorizer.build(self.stage.world, authorize_step)
        self.api = EventsApi(lambda question: self._locked(ask, question))
        settings = replace(self.stage.world.settings, live_endpoint=self.api.endpoint)
        self.stage.world = replace(self.stage.world, live=self.api, settings=settings)
        self._jobs = jobs.build(self.stage.world, jobs_step)
        self._sync()
        self.job: Job = self.stage.running()
        self.reads = self.failing = 0
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.place = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def __enter__(self) -> Self:
        self.api.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self.api.__exit__(kind, error, trace)

    def _sync(self) -> None:
        """Clients look at this machine's clock, so here the product does too."""
        self.stage.clock.advance(time.time() - self.stage.clock.now() / 1000)

    def _locked(self, handler: Any, event: Any) -> Any:
        with self._lock:
            self._sync()
            return handler(event, events.context())

    def read(self) -> dict[str, Any]:
        """GET /v1/jobs/{id}, as the tenant."""
        self.reads += 1
        event = events.proxy("GET", f"/v1/jobs/{self.job.id}")
        found: dict[str, Any] = events.document(self._locked(self._jobs, event))
        return found

    def tick(self, percent: int) -> None:
        """The provider says so."""
        with self._lock:
            sent = self.stage.sim.delivery(
                self.stage.ref(self.job), "p-1", Status.RUNNING, event_id=f"e{percent}", progress=percent
            )
            assert take(self.stage.world, sent)[0] == 200

    def done(self) -> None:
        """The provider has finished, the result is stored, relay has told both."""
        with self._lock:
            self.stage.say(self.job, Status.SUCCEEDED)
            output = Output(key="results/x/0", content_type="video/mp4", size=4, sha256="0" * 64)
            self.stage.apply(self.job, Stored(outputs=(output,)))
            self.stage.relay()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    place: Place


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        if self.server.place.failing:
            self.server.place.failing -= 1
            self.send_error(503)
            return
        content = json.dumps(self.server.place.read()).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Silent."""
