"""The live channel of a job: what is told on it, and who gets a token for it.

A hint, never the truth: nothing here fails a step, and whoever listens reads the job to be sure.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from mediajobs import views
from mediajobs.errors import MediaJobsError
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import TERMINAL
from mediajobs.messages import Progress
from mediajobs.ports import World
from mediajobs.signatures.channels import channel, channel_token

LIFE_S = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a client needs to listen to one job. `expires_at` in milliseconds."""

    endpoint: str
    channel: str
    token: str
    expires_at: int


def tell(world: World, job: Job, progress: Progress | None = None) -> bool:
    """Tell those who listen how the job stands; False where it could not be told. Never raises.

    The event has the job's version, so that a late one is known as such: see `views.live_event`.
    """
    event = json.dumps(views.live_event(job, progress))
    try:
        world.live.publish(channel(job.tenant, job.id), event, last=job.state in TERMINAL)
    except Exception as error:  # noqa: BLE001 whatever it is, the step goes on
        world.metrics.count("LiveFailed")
        world.log.warning("not told live", job=job.id, version=job.version, error=error)
        return False
    return True


def grant(world: World, job: Job) -> Grant | None:
    """A token for the job's channel and one hour; None where nothing will be told any more, or live is off."""
    if not world.settings.live_endpoint or job.state in TERMINAL:
        return None
    expires_s = world.clock.now() // 1000 + LIFE_S
    try:
        token = channel_token(world.secrets.tokens(), job.tenant, job.id, expires_s)
    except MediaJobsError as error:
        world.metrics.count("LiveFailed")
        world.log.error("no token for the live channel", job=job.id, error=error)  # noqa: TRY400 our own log
        return None
    return Grant(
        endpoint=world.settings.live_endpoint,
        channel=channel(job.tenant, job.id),
        token=token,
        expires_at=expires_s * 1000,
    )
