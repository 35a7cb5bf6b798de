"""Callers and operators: they come through the API, ask again where no answer came, and answer late and twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mediajobs.jobs.model import Job, request_id
from tests.api import events
from tests.simulation.world.provider import Plan
from tests.simulation.world.town import Town

OPERATOR = {"tenant": "ops", "scope": "operator", "principalId": "ops"}
AGAIN_MS = 5_000
TRIES = 40
PROMPT = "a red bicycle leaning on a garden wall"

Answered = Callable[[int, dict[str, Any]], None]


def ignore(_status: int, _document: dict[str, Any]) -> None:
    """Nobody looks at the answer."""


@dataclass
class Caller:
    """One tenant. What it asked for and was told it may rely on."""

    town: Town
    tenant: str = "acme"
    accepted: dict[str, str] = field(default_factory=dict)  # key -> request id that a 202 named
    refused: dict[str, int] = field(default_factory=dict)

    def id_of(self, key: str) -> str:
        return request_id(self.tenant, key)

    def submit(self, key: str, provider: str, plan: Plan | None = None, *, start_within: int | None = None) -> str:
        """Submit until it is answered; returns the job's id, which its key fixes."""
        plan = plan or Plan()
        body: dict[str, Any] = {
            "provider": provider,
            "model": f"{plan.kind}-1",
            "input": {"prompt": PROMPT, "plan": plan.document()},
            "metadata": {"key": key},
        }
        if start_within is not None:
            body["start_within"] = start_within

        def answered(status: int, document: dict[str, Any]) -> None:
            if status == 202:
                self.accepted[key] = document["request_id"]
            else:
                self.refused[key] = status

        self._until("submit", "POST", "/v1/jobs", body, {"Idempotency-Key": key}, answered)
        return self.id_of(key)

    def cancel(self, job_id: str, answered: Answered = ignore) -> None:
        self._until("jobs", "POST", f"/v1/jobs/{job_id}/cancel", None, {}, answered)

    def get(self, job_id: str, answered: Answered) -> None:
        self._until("jobs", "GET", f"/v1/jobs/{job_id}", None, {}, answered)

    def _until(
        self, function: str, method: str, path: str, body: object, headers: dict[str, str], answered: Answered
    ) -> None:
        caller = {"tenant": self.tenant, "scope": "user", "principalId": self.tenant}
        ask_until_answered(
            self.town, function, events.proxy(method, path, body=body, headers=dict(headers), caller=caller), answered
        )


@dataclass
class Operator:
    """A person who answers open questions."""

    town: Town

    def resolve(self, job: Job, decision: str, provider_job_id: str | None = None, answered: Answered = ignore) -> None:
        """Answer the question as it stood when the job was read."""
        assert job.attention is not None
        body: dict[str, Any] = {"decision": decision, "attention_version": job.attention.version}
        if provider_job_id is not None:
            body["provider_job_id"] = provider_job_id
        event = events.proxy("POST", f"/v1/jobs/{job.id}/resolve", body=body, caller=OPERATOR)
        ask_until_answered(self.town, "jobs", event, answered)

    def acknowledge(self, job: Job, provider_job_id: str) -> None:
        body = {"decision": "acknowledge", "provider_job_id": provider_job_id}
        event = events.proxy("POST", f"/v1/jobs/{job.id}/resolve", body=body, caller=OPERATOR)
        ask_until_answered(self.town, "jobs", event, ignore)

    def set_provider(self, name: str, change: dict[str, Any]) -> None:
        event = events.proxy("POST", f"/v1/providers/{name}", body=change, caller=OPERATOR)
        ask_until_answered(self.town, "jobs", event, ignore)


def ask_until_answered(
    town: Town, function: str, event: dict[str, Any], answered: Answered, tries: int = TRIES
) -> None:
    """Send a request; where it failed for a reason that may pass, send it again, as a client of such an API does."""

    def told(status: int, document: dict[str, Any]) -> None:
        if (status == 0 or status >= 500) and tries > 1:
            town.scheduler.after(AGAIN_MS, lambda: ask_until_answered(town, function, event, answered, tries - 1))
        else:
            answered(status, document)

    town.call(function, event, told)
