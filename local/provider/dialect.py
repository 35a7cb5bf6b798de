"""The wire of one provider: what a request to it means, and how its answers and events are written.

`Dialect` is the simulated provider's own wire; a vendor's double (local/vendors) overrides what its vendor does
otherwise. Accounts, faults, charges and the life of jobs are behind it, the same for all.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal, Protocol

from local.provider.answers import Answer, Request, document, error
from local.provider.ledger import Ledger
from local.provider.records import JobRecord
from local.provider.settings import MODELS, Credentials, Settings, Traits
from local.provider.webhooks import Delivery, sign
from local.provider.wishes import Wish, checked, parsed

# A job as Life shows it: id, status, progress, outputs and so on, by the simulated provider's own names.
View = dict[str, Any]
Render = Callable[[JobRecord, View], Answer]
Reason = Literal[
    "unauthorized", "blocked", "unavailable", "rate_limited", "busy", "internal", "invalid_json", "invalid_input",
    "content_moderated", "not_found", "no_page", "mismatch", "in_progress", "finished", "repeated",
]  # fmt: skip

_REFUSALS: dict[Reason, tuple[int, str, str]] = {
    "unauthorized": (401, "unauthorized", "The API key is not valid."),
    "blocked": (402, "account_blocked", "The account's balance is used up."),
    "unavailable": (503, "unavailable", "Try again later."),
    "rate_limited": (429, "rate_limited", "Too many requests."),
    "busy": (429, "busy", "Too many jobs are in flight."),
    "internal": (500, "internal_error", "Something went wrong."),
    "invalid_json": (400, "invalid_json", "The body is not JSON."),
    "invalid_input": (422, "invalid_input", "The body must be an object."),
    "content_moderated": (400, "content_moderated", "The prompt breaks the content rules."),
    "not_found": (404, "not_found", "There is no such job."),
    "no_page": (404, "not_found", "There is no such page."),
    "mismatch": (422, "idempotency_mismatch", "This key was used with another request."),
    "in_progress": (409, "request_in_progress", "The first request is still running."),
    "finished": (409, "already_finished", "The job has ended."),
    "repeated": (409, "repeated_reference", "This reference was used before."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a dialect may look at."""

    base_url: str
    settings: Settings
    credentials: Credentials
    ledger: Ledger
    now: Callable[[], float]


class Api(Protocol):
    """What a request can come to; `local.provider.jobs.Jobs` implements it."""

    def submit(self, request: Request) -> Answer: ...

    def show(self, job_id: str, render: Render | None = None) -> Answer: ...

    def cancel(self, job_id: str) -> Answer: ...

    def find(self, reference: str) -> Answer: ...


class Dialect:
    """The simulated provider's own wire."""

    traits: ClassVar[Traits] = Traits(idempotent=True, lookup=True)

    def __init__(self, name: str, around: Surroundings, traits: Traits | None = None) -> None:
        self.name = name
        self.around = around
        self.offers = traits or self.traits
        self.base_url = f"{around.base_url}/{name}"

    # Requests

    def answer(self, api: Api, request: Request) -> Answer:
        """The answer to a request; its path has no prefix of ours any more."""
        if not self.known(f"Bearer {self.api_key}", request.headers.get("authorization", "")):
            return self.refused("unauthorized")
        match (request.method, request.path.strip("/").split("/")):
            case ("POST", ["v1", "jobs"]):
                return api.submit(request)
            case ("GET", ["v1", "jobs"]):
                return api.find(request.query.get("reference", ""))
            case ("GET", ["v1", "jobs", job_id]):
                return api.show(job_id)
            case ("POST", ["v1", "jobs", job_id, "cancel"]):
                return api.cancel(job_id)
        return self.refused("no_page")

    @property
    def api_key(self) -> str:
        return self.around.credentials.api_keys[self.name]

    @staticmethod
    def known(expected: str, given: str) -> bool:
        return hmac.compare_digest(expected.encode(), given.encode())

    def parsed(self, request: Request) -> dict[str, Any]:
        """The body of a submission; raises Unusable."""
        return parsed(request.body)

    def reference(self, _request: Request, body: dict[str, Any]) -> str:
        """By which the ledger and the faults know the submission, whether the wire has a field for it or not."""
        return body["reference"] if isinstance(body.get("reference"), str) else ""

    def key(self, request: Request) -> str:
        return request.headers.get("idempotency-key", "").strip().strip('"')

    def wish(self, _request: Request, body: dict[str, Any]) -> Wish:
        """The request, checked; raises Unusable."""
        return checked(body)

    # Answers

    def refused(self, reason: Reason, message: str = "", wait_s: int | None = None) -> Answer:
        status, code, usual = _REFUSALS[reason]
        headers = {} if wait_s is None else {"Retry-After": str(wait_s)}
        return error(status, code, message or usual, **headers)

    def accepted(self, job: JobRecord) -> Answer:
        base = f"/{self.name}/v1/jobs/{job.id}"
        return document(201, {"id": job.id, "status": "queued", "links": {"self": base, "cancel": f"{base}/cancel"}})

    def without_id(self) -> Answer:
        """What an accepted submission is answered with where the fault leaves out the id."""
        return document(201, {"status": "queued"})

    def shown(self, _job: JobRecord, view: View) -> Answer:
        return document(200, view)

    def found(self, jobs: list[tuple[JobRecord, View]]) -> Answer:
        return document(200, {"jobs": [view for _, view in jobs]})

    def cancel_noted(self, job: JobRecord, view: View) -> Answer:
        return document(200 if job.state else 202, view)

    def cancel_too_late(self, job: JobRecord, _view: View) -> Answer:
        return self.refused("finished", f"The job is {job.state}.")

    def forgets(self, job: JobRecord) -> bool:
        """Whether the provider does not know this job any more, apart from any fault."""
        return job.deleted

    # Events

    def sends(self, _job: JobRecord, _kind: str) -> bool:
        """Whether an event of this kind is sent: running, progress, or the word of an end."""
        return True

    def event(self, _job: JobRecord, kind: str, view: View) -> Any:
        """The body of an event."""
        return {"type": f"job.{kind}", "timestamp": iso(self.around.now()), "data": view}

    def signed(self, delivery: Delivery, timestamp: int) -> dict[str, str]:
        """The headers that prove a delivery."""
        secrets = self.around.credentials.webhook_secrets[self.name]
        return {
            "webhook-id": delivery.webhook_id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": sign(secrets, delivery.webhook_id, timestamp, delivery.body),
        }

    def new_id(self, random: str) -> str:
        """A job id of the provider's form, of at least 20 random hex digits."""
        return f"job_{random[:20]}"


def kind_of(job: JobRecord) -> str:
    """video, image or audio."""
    return MODELS[job.model].kind.partition("/")[0]


def iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


Dialects = Mapping[str, Dialect]
