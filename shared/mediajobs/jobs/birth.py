"""How a job begins."""

from __future__ import annotations

from mediajobs.jobs import history
from mediajobs.jobs.due import first_poll
from mediajobs.jobs.events import Traits
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import Source, State


def new_job(  # noqa: PLR0913 one field of the row each
    *,
    job_id: str,
    tenant: str,
    provider: str,
    model: str,
    payload_digest: bytes,
    incarnation: str,
    start_within_s: int,
    traits: Traits,
    now: int,
) -> Job:
    """The row that submit puts: pending, version 1, with the word that wakes dispatch."""
    return Job(
        id=job_id,
        tenant=tenant,
        provider=provider,
        model=model,
        state=State.PENDING,
        version=1,
        incarnation=incarnation,
        created_at=now,
        updated_at=now,
        since=now,
        start_within_s=start_within_s,
        start_deadline=now + start_within_s * 1000,
        payload_digest=payload_digest,
        due_at=now + min(first_poll(traits), start_within_s * 1000),
        out="dispatch",
        history=(history.transition(1, None, State.PENDING, Source.API, now),),
        history_count=1,
    )
