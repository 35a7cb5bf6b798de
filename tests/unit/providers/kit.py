"""One provider's configuration, an HTTP that is scripted, and a job: what the tests here share."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import replace
from functools import cache
from typing import Any

from mediajobs.adapters.providers.config import Configuration
from mediajobs.adapters.providers.generic import GenericAdapter
from mediajobs.adapters.providers.loading import load
from mediajobs.adapters.providers.registry import Registry
from mediajobs.jobs.birth import new_job
from mediajobs.jobs.events import Traits
from mediajobs.jobs.model import Job
from mediajobs.messages import LinkRules, Request, Response, Rest
from mediajobs.ports import Stream
from tests.fakes.secrets import MemorySecrets

NOW = 1_800_000_000_000
KEY = "sk-one-two-three"
WEBHOOK_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
WEBHOOK_URL = "https://jobs.example/v1/webhooks/acme/abc.1.token"

TABLES = """
[providers.acme]
adapter = "generic"
base_url = "https://api.acme.example/base"
[providers.acme.submit]
path = "/v1/jobs"
model_field = "model"
input_field = "input"
webhook_field = "webhook_url"
reference_field = "reference"
[providers.acme.idempotency]
key_life_s = 86400
[providers.acme.lookup]
path = "/v1/jobs?reference={reference}"
items = "jobs"
[providers.acme.poll]
path = "/v1/jobs/{id}"
[providers.acme.cancel]
path = "/v1/jobs/{id}/cancel"
[providers.acme.read]
progress = "progress"
stage = "stage"
outputs = "output"
content_type = "content_type"
size = "size"
expires_at = "expires_at"
error_code = "error.code"
error_message = "error.message"
reference = "reference"
[providers.acme.webhook]
data = "data"
[providers.acme.statuses]
queued = "running"
processing = "running"
completed = "succeeded"
failed = "failed"
blocked = "failed"
canceled = "canceled"
[providers.acme.answers]
not_accepted_with_retry_after = [503]
moderated_codes = ["content_moderated", "blocked"]
[providers.acme.results]
hosts = ["cdn.acme.example", "api.acme.example"]
[providers.acme.models]
video-1 = { kind = "video", input_required = ["prompt"], expected_s = 60 }
image-1 = { kind = "image" }
"""


@cache
def configured(*edits: tuple[str, str]) -> Configuration:
    """The configuration above with some of its text replaced; each text must be there."""
    text = TABLES
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    return load(text)


class ScriptedHttp:
    """Implements `ports.Http`: answers, or exceptions, in the order given; keeps every request."""

    def __init__(self, *answers: Response | Exception) -> None:
        self._answers = deque(answers)
        self.submits: list[Request] = []
        self.gets: list[Request] = []

    def submit(self, request: Request) -> Response:
        self.submits.append(request)
        return self._next()

    def get(self, request: Request) -> Response:
        self.gets.append(request)
        return self._next()

    def stream(self, url: str, headers: dict[str, str], rules: LinkRules, rest: Rest | None = None) -> Stream:
        raise AssertionError("an adapter downloads nothing")

    def _next(self) -> Response:
        answer = self._answers.popleft()
        if isinstance(answer, Exception):
            raise answer
        return answer


def said(status: int, value: Any = None, raw: bytes | None = None, **headers: str) -> Response:
    """An answer with this JSON, or with these very bytes; `retry_after` becomes retry-after."""
    body = raw if raw is not None else json.dumps(value).encode()
    return Response(status=status, headers={k.replace("_", "-"): v for k, v in headers.items()}, body=body)


def secrets() -> MemorySecrets:
    kept = MemorySecrets()
    kept.put("acme", KEY, WEBHOOK_SECRET)
    return kept


def adapter(
    http: ScriptedHttp | None = None, kept: MemorySecrets | None = None, *edits: tuple[str, str]
) -> GenericAdapter:
    """The provider `acme`."""
    made = Registry(configured(*edits), http or ScriptedHttp(), kept or secrets()).get("acme")
    assert isinstance(made, GenericAdapter)
    return made


def job(**changes: Any) -> Job:
    made = new_job(
        job_id="abcdefghijklmnopqrstuvwxyz",
        tenant="t",
        provider="acme",
        model="video-1",
        payload_digest=b"\0" * 32,
        incarnation="incarnation23",
        start_within_s=3600,
        traits=Traits(provider="acme"),
        now=NOW,
    )
    return replace(made, **changes)
