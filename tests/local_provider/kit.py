"""What the tests of the simulated provider share: a client, a receiver of webhooks, waiting."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar
from urllib.parse import urlsplit

from local.provider.server import SimulatedProvider
from local.provider.settings import Settings
from mediajobs.errors import NoAnswer
from mediajobs.messages import Request, Response

T = TypeVar("T")

# Twenty times faster than the real thing.
FAST = Settings(
    expected_s=0.2,
    max_run_s=0.6,
    progress_per_s=50,
    block_s=0.3,
    webhook_timeout_s=2,
    retry_delays_s=(0.05, 0.05, 0.05, 0.05),
)
PROMPT = "a red bicycle leaning on a garden wall"


@dataclass(frozen=True)
class Reply:
    """An HTTP answer; `short` says that fewer bytes came than were declared."""

    status: int
    headers: dict[str, str]
    body: bytes
    short: bool = False

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def call(
    method: str, url: str, body: Any = None, headers: dict[str, str] | None = None, *, raw: bytes | None = None
) -> Reply:
    """One request on a fresh connection."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.netloc, timeout=10)
    data = raw if raw is not None else None if body is None else json.dumps(body).encode()
    try:
        connection.request(method, f"{place.path}?{place.query}".rstrip("?"), body=data, headers=headers or {})
        response = connection.getresponse()
        named = {name.lower(): value for name, value in response.getheaders()}
        try:
            return Reply(response.status, named, response.read())
        except http.client.IncompleteRead as cut:
            return Reply(response.status, named, cut.partial, short=True)
    finally:
        connection.close()


def until(probe: Callable[[], T | None], seconds: float = 5.0) -> T:
    """The first truthy answer of the probe; fails when none comes in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = probe()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError(f"nothing came within {seconds} s")


@contextmanager
def door(take: Callable[[str, dict[str, str], bytes], int]) -> Iterator[str]:
    """An address on this machine; `take` gets path, headers and body of each POST there, and says the status."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(take(self.path, {name.lower(): value for name, value in self.headers.items()}, raw))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
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
    """The port over what a provider gives at sign-up."""

    def __init__(self, known: dict[str, Any]) -> None:
        self.known = known

    def provider(self, name: str, *, refresh: bool = False) -> dict[str, Any]:
        return dict(self.known[name])


@dataclass
class Event:
    """One webhook as it arrived."""

    at: float
    headers: dict[str, str]
    raw: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def body(self) -> Any:
        return json.loads(self.raw)

    @property
    def type(self) -> str:
        return str(self.body["type"])


@dataclass
class Receiver:
    """Takes webhooks; answers from `answers` in turn, then 200."""

    url: str
    events: list[Event] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    slow_progress_s: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, event: Event) -> int:
        if event.type == "job.progress":
            time.sleep(self.slow_progress_s)
        with self.lock:
            self.events.append(event)
            if event.type == "job.progress":
                return 200
            return self.answers.pop(0) if self.answers else 200

    def of(self, *types: str) -> list[Event]:
        with self.lock:
            return [event for event in self.events if event.type in types]


class Client:
    """A client of one provider of the server."""

    def __init__(self, server: SimulatedProvider, receiver: Receiver | None, name: str = "sim") -> None:
        self.server = server
        self.base = f"{server.base_url}/{name}/v1/jobs"
        self.auth = {"Authorization": f"Bearer {server.credentials.api_keys[name]}"}
        self.receiver = receiver

    def body(self, reference: str = "r.1.x", model: str = "video-1", **given: Any) -> dict[str, Any]:
        body = {"model": model, "input": {"prompt": PROMPT, **given}, "reference": reference}
        return body if self.receiver is None else body | {"webhook_url": self.receiver.url}

    def submit(self, reference: str = "r.1.x", key: str = "", model: str = "video-1", **given: Any) -> Reply:
        headers = self.auth | ({"Idempotency-Key": key} if key else {})
        return call("POST", self.base, self.body(reference, model, **given), headers)

    def get(self, job_id: str) -> Reply:
        return call("GET", f"{self.base}/{job_id}", headers=self.auth)

    def cancel(self, job_id: str) -> Reply:
        return call("POST", f"{self.base}/{job_id}/cancel", headers=self.auth)

    def finished(self, job_id: str) -> Any:
        ended = ("completed", "failed", "canceled", "archived")
        return until(lambda: shown if (shown := self.get(job_id).json).get("status") in ended else None)

    def script(self, fault: dict[str, Any], **match: Any) -> None:
        entry = (match or {"next": 1}) | {"fault": fault}
        reply = call("POST", f"{self.server.base_url}/_faults", {"script": [entry]})
        assert reply.status == 200, reply.body

    def ledger(self) -> Any:
        return call("GET", f"{self.server.base_url}/_ledger").json

    def record(self, reference: str = "r.1.x") -> Any:
        return next(job for job in self.ledger()["jobs"] if job["reference"] == reference)


Serve = Callable[..., SimulatedProvider]
