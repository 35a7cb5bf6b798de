"""Submit: keep the input, put the job, answer. The job row is the idempotency record."""

from __future__ import annotations

import json
from dataclasses import dataclass

from mediajobs.errors import Unprocessable
from mediajobs.jobs.birth import new_job
from mediajobs.jobs.model import Job, request_id
from mediajobs.messages import Caller
from mediajobs.ports import ProviderAdapter, World
from mediajobs.uploads import MARK, Form

START_WITHIN_S = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A validated submit. `body` is the canonical input item, `digest` the SHA-256 of the whole request."""

    provider: str
    model: str
    body: bytes
    digest: bytes
    start_within_s: int = START_WITHIN_S


def submit(world: World, caller: Caller, key: str, command: Submission) -> tuple[Job, bool]:
    """The job of this tenant and key, and whether it stood already.

    Raises Unprocessable for an unknown provider or model, unusable input, or a key that was used with
    another payload; NotFound for an upload that is not there. Nothing is charged by anything that happens here.
    """
    adapter = _adapter(world, command)
    now = world.clock.now()
    job = new_job(
        job_id=request_id(caller.tenant, key),
        tenant=caller.tenant,
        provider=command.provider,
        model=command.model,
        payload_digest=command.digest,
        incarnation=world.chance.token(),
        start_within_s=command.start_within_s,
        traits=adapter.traits(command.model),
        now=now,
    )
    if MARK in command.body:
        from mediajobs.steps import uploads

        uploads.keep(world, job, _input(command), adapter.input_limits(command.model))
    ttl = now // 1000 + world.settings.detail_days * 86_400
    # Before the head, by content: a crash in between leaves an input nobody names, never a job without one.
    world.store.put_input(job.id, command.body, command.digest, ttl)
    # These two lines outlive the table: `steps.restore` makes a row anew by them that a restore has lost.
    world.log.info("submitting", **birth_of(job))
    kept, replayed = world.create(job)
    world.log.info("submitted", replayed=replayed, **birth_of(kept))
    return kept, replayed


def offer_upload(world: World, caller: Caller, content_type: str) -> Form:
    """A form by which the caller can post one file of this type."""
    from mediajobs.steps import uploads

    return uploads.form(world, caller, content_type)


def birth_of(job: Job) -> dict[str, object]:
    """All that a job begins with, but for the input; no secret and no prompt."""
    return {
        "job": job.id,
        "tenant": job.tenant,
        "provider": job.provider,
        "model": job.model,
        "incarnation": job.incarnation,
        "payload": job.payload_digest.hex(),
        "start_within_s": job.start_within_s,
        "created_at": job.created_at,
    }


def _adapter(world: World, command: Submission) -> ProviderAdapter:
    try:
        adapter = world.providers.get(command.provider)
    except KeyError:
        known = ", ".join(world.providers.names())
        raise Unprocessable(
            f"provider {command.provider!r} is not configured; use one of: {known}",
            errors=[{"field": "provider", "message": "unknown provider"}],
        ) from None
    if command.model not in adapter.models():
        known = ", ".join(adapter.models())
        raise Unprocessable(
            f"model {command.model!r} is not configured for {command.provider}; use one of: {known}",
            errors=[{"field": "model", "message": "unknown model"}],
        )
    adapter.check_input(command.model, _input(command))
    return adapter


def _input(command: Submission) -> dict[str, object]:
    given: dict[str, object] = json.loads(command.body).get("input", {})
    return given
