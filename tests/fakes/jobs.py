"""Jobs for tests, which name only the fields they care about."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

from mediajobs.jobs.decide import Change
from mediajobs.jobs.model import Job, request_id
from mediajobs.jobs.states import State

NOW = 1_800_000_000_000
BODY = b'{"input":{"prompt":"a red bicycle leaning on a garden wall"},"model":"video-1","provider":"sim"}'


def a_job(key: str = "first", **fields: Any) -> Job:
    """A pending job of tenant `acme`, as submit puts it; the same key gives the same id."""
    tenant = fields.pop("tenant", "acme")
    job = Job(
        id=fields.pop("id", request_id(tenant, key)),
        tenant=tenant,
        provider="sim",
        model="video-1",
        state=State.PENDING,
        version=1,
        incarnation="incarnation22",
        created_at=NOW,
        updated_at=NOW,
        since=NOW,
        start_within_s=86_400,
        start_deadline=NOW + 86_400_000,
        payload_digest=hashlib.sha256(BODY).digest(),
    )
    return replace(job, **fields)


def changed(job: Job, **fields: Any) -> Change:
    """A note on `job` with these fields, as `decide` would return it."""
    return Change(before=job, after=replace(job, version=job.version + 1, **fields), rule="test")
