"""What a vendor publishes of its wire, as cases, and what this suite needs to drive its adapter.

Each case is an answer or an event as the vendor documents it, and what it must come to. To have a new adapter checked,
write one of these and add it to `ALL` in `__init__.py`; `skeleton.py` is one to copy.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from mediajobs.adapters.providers.config import Configuration, Provider
from mediajobs.adapters.providers.loading import load
from mediajobs.adapters.providers.registry import Registry
from mediajobs.jobs.events import AnswerKind, Status
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import State
from mediajobs.messages import Delivery, LinkRules, ReportKind, Request, Response, Rest
from mediajobs.ports import ProviderAdapter, Stream
from tests.fakes.clock import VirtualClock
from tests.fakes.jobs import NOW, a_job
from tests.fakes.secrets import MemorySecrets

WEBHOOK_URL = "https://jobs.example/v1/webhooks/vendor/abcdefghijklmnopqrstuvwxyz.1.zyxwvutsrqponmlkjihgfedcba"
REF = WEBHOOK_URL.rpartition("/")[2]
INPUT: dict[str, object] = {"prompt": "a red bicycle leaning on a garden wall"}


def says(status: int, value: Any = None, raw: bytes | None = None, **headers: str) -> Response:
    """An answer with this JSON, or these very bytes; `retry_after` becomes retry-after."""
    body = raw if raw is not None else b"" if value is None else json.dumps(value).encode()
    return Response(status=status, headers={k.replace("_", "-"): v for k, v in headers.items()}, body=body)


@dataclass(frozen=True, kw_only=True)
class Case:
    """One published shape: what the vendor says, and what it must come to. Fields left out are not looked at."""

    name: str
    said: tuple[Response, ...] = ()  # several where the adapter asks more than once
    body: Any = None  # of a webhook
    kind: AnswerKind | ReportKind | None = None
    status: Status | None = None
    expect: Mapping[str, Any] = field(default_factory=dict)  # further fields of the Answered or Report
    links: tuple[str, ...] | None = None
    job: Mapping[str, Any] = field(default_factory=dict)  # fields of the job that the adapter is asked about
    asked: tuple[str, ...] | None = None  # "METHOD path" of what must have been asked


@dataclass(frozen=True, kw_only=True)
class Vendor:
    """One adapter and its vendor's wire."""

    name: str
    tables: str  # TOML of [providers.<name>]
    model: str
    job_id: str  # a provider job id of the vendor's form
    submits: tuple[Case, ...]
    polls: tuple[Case, ...]
    api_key: str = "sk-test-of-the-contract-suite"
    webhook_secrets: tuple[str, ...] = ()
    cancels: tuple[Case, ...] = ()
    lookups: tuple[Case, ...] = ()
    webhooks: tuple[Case, ...] = ()
    sign: Callable[[bytes, int], dict[str, str]] | None = None  # headers for a body at a time (seconds)
    published: Mapping[str, Response] = field(default_factory=dict)  # URL -> what anybody is told there: key sets
    hosts: tuple[str, ...] = ()  # beside that of base_url: where our key may go
    adapter: type | None = None  # for an adapter that the registry does not know

    def made(self, http: Wire, secrets: MemorySecrets | None = None, clock: VirtualClock | None = None) -> Any:
        """The adapter as the product makes it."""
        config = configured(self.tables)
        kept, clock = secrets or self.secrets(), clock or VirtualClock(NOW)
        if self.adapter is not None:
            return self.adapter(self.name, config.providers[self.name], http, kept, clock=clock)
        made: ProviderAdapter = Registry(config, http, kept, clock=clock).get(self.name)
        return made

    @property
    def config(self) -> Provider:
        """The vendor's configuration, preset and tables together."""
        return configured(self.tables).providers[self.name]

    def secrets(self) -> MemorySecrets:
        kept = MemorySecrets()
        kept.put(self.name, self.api_key, *self.webhook_secrets)
        return kept

    def job(self, **fields: Any) -> Job:
        """A running job of this vendor."""
        bound: dict[str, Any] = {"state": State.RUNNING, "provider_job_id": self.job_id, "slot": "001"}
        return replace(a_job(), **{"provider": self.name, "model": self.model, **bound, **fields})

    def delivery(self, body: Any, now: int = NOW) -> Delivery:
        """One webhook as this vendor sends it."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = self.sign(raw, now // 1000) if self.sign else {}
        return Delivery(provider=self.name, ref=REF, headers={k.lower(): (v,) for k, v in headers.items()}, body=raw)


@cache
def configured(tables: str) -> Configuration:
    return load(tables)


class Wire:
    """Implements `ports.Http`: answers in the order given, published pages by their URL; keeps what was sent."""

    def __init__(self, *answers: Response | Exception, published: Mapping[str, Response] | None = None) -> None:
        self._answers = deque(answers)
        self._published = dict(published or {})
        self.submits: list[Request] = []
        self.gets: list[Request] = []
        self.fetched: list[str] = []

    def submit(self, request: Request) -> Response:
        self.submits.append(request)
        return self._next()

    def get(self, request: Request) -> Response:
        if request.url in self._published:
            self.fetched.append(request.url)
            return self._published[request.url]
        self.gets.append(request)
        return self._next()

    def stream(self, url: str, headers: dict[str, str], rules: LinkRules, rest: Rest | None = None) -> Stream:
        raise AssertionError("an adapter downloads nothing")

    def left(self) -> int:
        return len(self._answers)

    def _next(self) -> Response:
        assert self._answers, "the adapter asked more often than the case foresees"
        answer = self._answers.popleft()
        if isinstance(answer, Exception):
            raise answer
        return answer
