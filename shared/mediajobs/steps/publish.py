"""Publish: each ended job once, under an id that no retry changes; only a send that returned is marked."""

from __future__ import annotations

import json

from mediajobs.jobs.events import Published
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import TERMINAL
from mediajobs.ports import World
from mediajobs.steps.apply import apply, traits_of
from mediajobs.views import message

DAY_S = 86_400


def publish(world: World, job: Job) -> bool:
    """Send the job's end and mark it; False where nothing was left to do.

    Raises InProgress while a twin is sending: in progress is never done.
    """
    if job.state not in TERMINAL or job.published_at is not None:
        return False
    key = [job.id, job.incarnation, str(job.final_version)]
    world.once("publish", key, lambda: _send(world, job))
    ttl = world.clock.now() // 1000 + world.settings.job_days * DAY_S
    return apply(world, job, Published(ttl=ttl), traits_of(world, job)).change is not None


def _send(world: World, job: Job) -> str:
    body = world.store.input(job)
    metadata = json.loads(body).get("metadata", {}) if body else {}
    world.topic.publish(
        json.dumps(message(job, metadata), sort_keys=True),
        group=job.id,
        deduplication_id=job.publication_id,
        tenant=job.tenant,
    )
    world.metrics.count("Published", state=str(job.state))
    return job.publication_id
