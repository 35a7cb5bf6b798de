"""The provider's own truth: which jobs it accepted, what became of them, what it charged. Nothing of ours is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from tests import samples
from tests.simulation.world.scheduler import Scheduler

MEDIA = {"video": samples.mp4(), "image": samples.png(), "audio": samples.wav()}
TYPES = {"video": "video/mp4", "image": "image/png", "audio": "audio/wav"}
LONG_FILM = samples.mp4(filling=4000)
LONG_MS = 7 * 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a caller's input asks the provider to do; it stands in `input.plan`, so a job's fate is its own."""

    duration_ms: int = 20_000
    end: str = "completed"  # completed | failed
    ends: tuple[str, ...] = ()  # of the first jobs that the provider makes of it, where they differ
    answers: tuple[str, ...] = ()  # to the first submits of this job, in order; then it is accepted
    media: tuple[str, ...] = ()  # bad | cut | busy: what the first downloads come to
    link_life_ms: int = LONG_MS
    tells_expiry: bool = True
    fresh_links: bool = True  # whether a poll gives a new link
    cancel: str = "stops"  # stops | refuses | ignores
    webhooks: tuple[str, ...] = ("processing", "end")  # which events it sends; "early": before it answers the submit
    outputs: int = 1
    kind: str = "video"
    long: bool = False  # a film that comes in many pieces, from a server that knows ranges

    @property
    def body(self) -> bytes:
        """What the result is."""
        return LONG_FILM if self.long else MEDIA[self.kind]

    def document(self) -> dict[str, Any]:
        """As JSON; only what is not usual."""
        usual = Plan()
        pairs = ((entry.name, getattr(self, entry.name)) for entry in fields(self))
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in pairs
            if value != getattr(usual, name)
        }

    @classmethod
    def read(cls, document: dict[str, Any]) -> Plan:
        known: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in document.items()
        }
        return cls(**known)


@dataclass
class Accepted:
    """One job at the provider, which is one charge."""

    id: str
    provider: str
    reference: str
    plan: Plan
    at: int
    webhook_url: str | None
    status: str = "processing"
    ended_at: int | None = None
    link_until: int = 0
    downloads: int = 0

    @property
    def live(self) -> bool:
        return self.ended_at is None

    @property
    def job_id(self) -> str:
        return self.reference.split(".")[0]


@dataclass
class Ledger:
    """All providers. `on_accept` and `on_end` hear of each job's beginning and end."""

    scheduler: Scheduler
    key_life_ms: dict[str, int]  # of the providers that honour a key
    accepted: dict[str, Accepted] = field(default_factory=dict)
    charges: dict[str, int] = field(default_factory=dict)  # reference -> how often it was charged
    posts: dict[str, int] = field(default_factory=dict)  # reference -> how many requests arrived
    on_accept: list[Callable[[Accepted], None]] = field(default_factory=list)
    on_end: list[Callable[[Accepted], None]] = field(default_factory=list)
    _keys: dict[tuple[str, str], tuple[str, int]] = field(default_factory=dict)

    def post(self, provider: str, reference: str, key: str | None, plan: Plan, webhook_url: str | None) -> Accepted:
        """A submit is accepted; the same key within its life is the same job."""
        now = self.scheduler.now
        known = self._keys.get((provider, key or ""))
        if key and known and now - known[1] < self.key_life_ms.get(provider, 0):
            return self.accepted[known[0]]
        job = Accepted(
            id=f"p{len(self.accepted) + 1:04d}",
            provider=provider,
            reference=reference,
            plan=plan,
            at=now,
            webhook_url=webhook_url,
            link_until=now + plan.duration_ms + plan.link_life_ms,
        )
        self.accepted[job.id] = job
        self.charges[reference] = self.charges.get(reference, 0) + 1
        if key and provider in self.key_life_ms:
            self._keys[provider, key] = (job.id, now)
        for hear in self.on_accept:
            hear(job)
        number = len(self.of_job(job.job_id))
        end = plan.ends[number - 1] if number <= len(plan.ends) else plan.end
        if plan.duration_ms:
            self.scheduler.after(plan.duration_ms, lambda: self.end(job, end))
        else:
            self.end(job, end)
        return job

    def end(self, job: Accepted, status: str) -> None:
        """It is over; what was over before stays as it was."""
        if not job.live:
            return
        job.status, job.ended_at = status, self.scheduler.now
        for hear in self.on_end:
            hear(job)

    def of_job(self, job_id: str) -> list[Accepted]:
        return [job for job in self.accepted.values() if job.job_id == job_id]

    def under(self, reference: str) -> list[Accepted]:
        return [job for job in self.accepted.values() if job.reference == reference]

    def live(self, provider: str) -> list[Accepted]:
        return [job for job in self.accepted.values() if job.provider == provider and job.live]
