"""The webhook URL of a submission: it finds its job even when the event beats our own write."""

from __future__ import annotations

import re

from mediajobs.jobs.model import Job
from mediajobs.ports import World
from mediajobs.signatures import token_matches, url_token

_REF = re.compile(r"([a-z2-7]{26})\.([1-9][0-9]{0,5})\.([a-z2-7]{26})")


def webhook_url(world: World, job: Job) -> str | None:
    """Where the provider is to call for this submission; None where webhooks are off."""
    base = world.settings.callback_base
    if not base:
        return None
    token = url_token(world.secrets.tokens(), job.id, job.incarnation, job.submission)
    return f"{base}/v1/webhooks/{job.provider}/{job.id}.{job.submission}.{token}"


def parse_ref(ref: str) -> tuple[str, int, str] | None:
    """(job id, submission, token) of a well-formed ref."""
    match = _REF.fullmatch(ref)
    return (match[1], int(match[2]), match[3]) if match else None


def ref_is_ours(world: World, job: Job, submission: int, token: str) -> bool:
    """The token was made by us for this row and submission; a rotated secret is fetched once."""
    return any(
        token_matches(world.secrets.tokens(refresh=refresh), token, job.id, job.incarnation, submission)
        for refresh in (False, True)
    )
