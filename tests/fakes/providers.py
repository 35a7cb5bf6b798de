"""Providers that do what a test says, for the tests of the steps; no HTTP and no vendor."""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Callable
from typing import Any

from mediajobs.errors import BadRequest, Unauthorized, Unprocessable
from mediajobs.jobs.events import Answered, AnswerKind, Status, Traits
from mediajobs.jobs.model import Job, Link
from mediajobs.jobs.states import ErrorCode
from mediajobs.messages import Delivery, LinkRules, Report, ReportKind, Request, Verified
from mediajobs.ports import ProviderAdapter

SIGNED = "rightly-signed"


class ScriptedAdapter:
    """Implements `ports.ProviderAdapter`. Strict: a call that the test did not foresee fails it.

    Answers to submits and reports are used up in the order given. `submits` holds every request sent.
    """

    def __init__(
        self, name: str = "sim", *, traits: Traits | None = None, models: tuple[str, ...] = ("video-1",)
    ) -> None:
        self.name = name
        self.given = traits or Traits(provider=name)
        self.submits: list[Request] = []
        self.asked: list[tuple[str, str]] = []  # ("poll" | "lookup" | "cancel", id or reference)
        self.during_submit: Callable[[Request], None] | None = None  # runs while the request is on the wire
        self.during_ask: Callable[[str], None] | None = None
        self.rules = LinkRules()
        self.inputs = {"image": 1_000_000}
        self.base_url = "https://provider.example"  # part of the request, so changing it changes the digest
        self._models = models
        self._answers: deque[dict[str, Any]] = deque()
        self._reports: dict[str, deque[Report]] = {"poll": deque(), "lookup": deque(), "cancel": deque()}

    def answer(self, kind: AnswerKind, **fields: Any) -> ScriptedAdapter:
        """The next submit is answered so; token and submission are filled in."""
        self._answers.append({"kind": kind, **fields})
        return self

    def accept(self, provider_job_id: str = "p-1") -> ScriptedAdapter:
        return self.answer(AnswerKind.ACCEPTED, provider_job_id=provider_job_id)

    def report(self, what: str, report: Report) -> ScriptedAdapter:
        """The next `poll`, `lookup` or `cancel` is answered so."""
        self._reports[what].append(report)
        return self

    def says(self, what: str, status: Status, provider_job_id: str = "p-1", **fields: Any) -> ScriptedAdapter:
        """The next `poll`, `lookup` or `cancel` is answered with a word for the job."""
        fields.setdefault("raw", str(status))
        return self.report(what, Report(kind=ReportKind.WORD, status=status, provider_job_id=provider_job_id, **fields))

    def unused(self) -> list[str]:
        """What was scripted and never asked for; a test may assert that it is empty."""
        left = [f"answer {answer['kind']}" for answer in self._answers]
        return left + [f"{what} {report.kind}" for what, reports in self._reports.items() for report in reports]

    def traits(self, model: str) -> Traits:
        return self.given

    def models(self) -> tuple[str, ...]:
        return self._models

    def check_input(self, model: str, body: dict[str, object]) -> None:
        if "prompt" in body and not body["prompt"]:
            raise Unprocessable("input.prompt: is missing")

    def input_limits(self, model: str) -> dict[str, int]:
        return self.inputs

    def request(self, job: Job, body: dict[str, object], webhook_url: str | None) -> Request:
        assert not ("input" in body and set(body) <= {"input", "metadata"}), "the adapter takes the input alone"
        document = {"model": job.model, "input": body, "webhook_url": webhook_url, "reference": job.reference}
        return Request(
            method="POST",
            url=f"{self.base_url}/v1/jobs",
            headers={"Idempotency-Key": job.reference},
            body=json.dumps(document, sort_keys=True).encode(),
        )

    def submit(self, request: Request, token: str, submission: int, now: int) -> Answered:
        self.submits.append(request)
        if self.during_submit is not None:
            self.during_submit(request)
        assert self._answers, f"{self.name} was sent a request that the test did not foresee"
        return Answered(token=token, submission=submission, **self._answers.popleft())

    def poll(self, job: Job, provider_job_id: str) -> Report:
        return self._said("poll", provider_job_id)

    def lookup(self, job: Job) -> Report:
        return self._said("lookup", job.reference)

    def cancel(self, job: Job) -> Report:
        assert job.provider_job_id is not None, "only a bound job can be canceled at the provider"
        return self._said("cancel", job.provider_job_id)

    def delivery(
        self, ref: str | None, provider_job_id: str, status: Status, *, event_id: str = "evt-1", **fields: Any
    ) -> Delivery:
        """A rightly signed webhook; `fields` are progress, message, code, reference and links (URLs)."""
        body = json.dumps({"id": provider_job_id, "status": str(status), **fields}).encode()
        headers: dict[str, tuple[str, ...]] = {"webhook-id": (event_id,), "webhook-signature": (SIGNED,)}
        return Delivery(provider=self.name, ref=ref, headers=headers, body=body)

    def verify(self, delivery: Delivery, now: int) -> Verified:
        if delivery.headers.get("webhook-signature") != (SIGNED,) or not delivery.headers.get("webhook-id"):
            raise Unauthorized("The webhook's signature was not accepted.")
        digest = hashlib.sha256(delivery.body).hexdigest()
        return Verified(event_id=delivery.headers["webhook-id"][0], timestamp=now, body_digest=digest)

    def challenge(self, delivery: Delivery) -> dict[str, str] | None:
        return None

    def read(self, delivery: Delivery) -> Report:
        try:
            said = json.loads(delivery.body)
            return Report(
                kind=ReportKind.WORD,
                provider_job_id=said["id"],
                status=Status(said["status"]) if said["status"] in list(Status) else Status.UNKNOWN,
                raw=said["status"],
                reference=said.get("reference"),
                progress=said.get("progress"),
                message=said.get("message", ""),
                code=ErrorCode(said.get("code", ErrorCode.PROVIDER_ERROR)),
                links=tuple(Link(url=url) for url in said.get("links", ())),
            )
        except (ValueError, KeyError, TypeError):
            raise BadRequest("The webhook cannot be used.") from None

    def link_rules(self, model: str) -> LinkRules:
        return self.rules

    def link_headers(self) -> dict[str, str]:
        return {"Authorization": "Bearer key"} if self.rules.credential_hosts else {}

    def _said(self, what: str, about: str) -> Report:
        self.asked.append((what, about))
        if self.during_ask is not None:
            self.during_ask(what)
        reports = self._reports[what]
        assert reports, f"{self.name} was asked to {what} {about}, which the test did not foresee"
        return reports.popleft()


class MemoryProviders:
    """Implements `ports.Providers` over the adapters given."""

    def __init__(self, *adapters: ProviderAdapter) -> None:
        self._adapters = {adapter.name: adapter for adapter in adapters}

    def names(self) -> tuple[str, ...]:
        return tuple(self._adapters)

    def get(self, name: str) -> ProviderAdapter:
        return self._adapters[name]

    def traits(self, name: str, model: str | None = None) -> Traits:
        adapter = self.get(name)
        return adapter.traits(model or adapter.models()[0])
