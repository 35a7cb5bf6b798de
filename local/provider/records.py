"""One job as the simulated provider keeps it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from local.provider.plans import JobPlan


@dataclass(slots=True, kw_only=True)
class JobRecord:
    """One accepted job. Accepting is what costs money, so one record is one charge."""

    provider: str
    id: str
    model: str
    reference: str
    idempotency_key: str
    body_sha256: str
    webhook_url: str
    outputs: int
    accepted_at: float
    gone_after_s: float
    plan: JobPlan
    # Empty while it lives; then completed, failed, canceled, archived, gone or lost.
    state: str = ""
    finished_at: float | None = None
    cancel_asked_at: float | None = None
    polls: int = 0
    cancels: int = 0
    downloads: int = 0
    progress_sent: int = 0
    faults: list[str] = field(default_factory=list)
    events_sent: list[dict[str, Any]] = field(default_factory=list)
    deleted: bool = False
    # What was read at the URLs of its input.
    inputs: list[dict[str, Any]] = field(default_factory=list)
    # Why it is to fail, and what a vendor's double remembers of the request.
    fails: str = ""
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def starts_at(self) -> float:
        return self.accepted_at + self.plan.queue_s

    @property
    def ends_at(self) -> float:
        run_s = self.gone_after_s if self.plan.ending == "gone" else self.plan.queue_s + self.plan.duration_s
        return self.accepted_at + run_s

    def word(self, now: float) -> str:
        """The state by the provider's own words."""
        return self.state or ("queued" if now < self.starts_at else "processing")


def stored(entry: dict[str, Any]) -> JobRecord:
    """The record of a journal's entry."""
    plan = JobPlan(**{**entry["plan"], "faults": tuple(entry["plan"]["faults"])})
    return JobRecord(**{**entry, "plan": plan})


def shown(job: JobRecord, now: float) -> dict[str, Any]:
    """The job as the ledger's answer has it."""
    return {
        "provider": job.provider,
        "id": job.id,
        "model": job.model,
        "reference": job.reference,
        "idempotency_key": job.idempotency_key,
        "state": job.word(now),
        "accepted_at": int(job.accepted_at * 1000),
        "finished_at": None if job.finished_at is None else int(job.finished_at * 1000),
        "charged": True,
        "cancels": job.cancels,
        "polls": job.polls,
        "downloads": job.downloads,
        "progress_sent": job.progress_sent,
        "events_sent": [dict(sent) for sent in job.events_sent],
        "inputs": [dict(read) for read in job.inputs],
        "faults": [*job.plan.faults, *job.faults],
    }
