"""Dispatch: claim with a slot, submit once, record the answer; ask providers to cancel; check adoptions."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace

from mediajobs import backoff
from mediajobs.errors import ConfigurationError, Retryable
from mediajobs.jobs.due import SECOND, is_idle, is_resumable, ms
from mediajobs.jobs.events import (
    Adopted,
    AdoptRefused,
    Answered,
    AnswerKind,
    Claim,
    Event,
    Status,
    Tick,
    Traits,
    Word,
)
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import TERMINAL, Reason, Source, State
from mediajobs.messages import Do, Report, ReportKind, Request
from mediajobs.pauses import after_answer
from mediajobs.ports import ProviderAdapter, World
from mediajobs.steps.admission import Offer, offer, turn_away, turn_of
from mediajobs.steps.apply import Applied, apply
from mediajobs.steps.tokens import webhook_url
from mediajobs.uploads import MARK

RETRY_CAP_MS = 900 * SECOND
_NUMBER = re.compile(r"[1-9][0-9]{0,5}")
_FINAL = frozenset({Status.SUCCEEDED, Status.FAILED, Status.CANCELED})


def dispatch(world: World, job_id: str, do: Do) -> str:
    """Take one message; returns what came of it, in a word for the log. Safe to repeat, early or late."""
    job = world.store.load(job_id)
    if job is None:
        return "unknown"
    adapter = world.providers.get(job.provider)
    traits = adapter.traits(job.model)
    if job.adopt is not None:
        return adopt(world, job, adapter, traits)
    if do is Do.CANCEL and job.state is State.RUNNING:
        return ask_to_cancel(world, job, adapter, traits)
    return _submit(world, job, adapter, traits)


def _submit(world: World, job: Job, adapter: ProviderAdapter, traits: Traits) -> str:
    if job.state not in (State.PENDING, State.SUBMITTING):
        return "past"
    ticked = apply(world, job, Tick(), traits, fresh=True)
    job = ticked.job
    if job.state in TERMINAL or not _may_go(world, job, traits):
        return "expired" if job.state in TERMINAL else "not now"
    request = _request(world, job, adapter)
    offered = offer(world, job, traits)
    if offered is None:
        if not is_resumable(job, traits, world.clock.now()):
            turn_away(world, job, traits)
        return "turned away"
    claimed = _claim(world, job, request, traits, offered)
    if claimed is None:
        return "lost"
    return _send(world, claimed, request, adapter, traits, offered)


def _may_go(world: World, job: Job, traits: Traits) -> bool:
    if job.state is State.PENDING:
        # A dead letter is a question about us; it does not stop a first submission.
        return job.attention is None or job.attention.reason is Reason.DEAD_LETTER
    now = world.clock.now()
    if is_idle(job):
        return job.attention is None and (job.retry_at or 0) <= now
    return is_resumable(job, traits, now)


def _request(world: World, job: Job, adapter: ProviderAdapter) -> Request:
    body = world.store.input(job)
    if body is None:
        raise ConfigurationError(f"the input of job {job.id} is not kept any more; fail the job")
    given = json.loads(body).get("input", {})
    if MARK in body:
        from mediajobs.steps import uploads

        given = uploads.placed(world, job, given)
    return adapter.request(job, given, webhook_url(world, job))


def digest_of(request: Request) -> str:
    """Twelve bytes that tell two requests apart, in hex: method, URL, headers and body."""
    parts = [request.method, request.url, *(f"{k}:{v}" for k, v in sorted(request.headers.items()))]
    digest = hashlib.sha256("\n".join(parts).encode() + b"\0" + request.body)
    return digest.hexdigest()[:24]


def _claim(world: World, job: Job, request: Request, traits: Traits, offered: Offer) -> Job | None:
    """The job as claimed by this very invocation, or None where it was lost or no row was left."""
    token, digest = world.chance.token(), digest_of(request)
    left = offered.slots
    while True:
        slot = world.chance.pick(left) if left else None
        claim = Claim(
            token=token,
            digest=digest,
            slot=slot,
            paused=offered.paused,
            probe=offered.probe,
            submission=job.submission,
        )
        applied = apply(world, job, claim, traits)
        if not applied.slot_taken:
            break
        left = tuple(row for row in left if row != slot)
        if not left:
            turn_away(world, applied.job, traits)
            return None
    return _claimed(world, job, applied, token, offered)


def _claimed(world: World, job: Job, applied: Applied, token: str, offered: Offer) -> Job | None:
    attempt = applied.job.attempt
    if applied.change is None or attempt is None or attempt.token != token:
        return None
    if job.wait is not None and turn_of(job.wait) > offered.provider.round:
        world.store.raise_round(job.provider, turn_of(job.wait))
    return applied.job


def _send(world: World, job: Job, request: Request, adapter: ProviderAdapter, traits: Traits, offered: Offer) -> str:
    assert job.attempt is not None  # noqa: S101 just claimed
    token = job.attempt.token
    try:
        answer = adapter.submit(request, token, job.submission, world.clock.now())
    except ConfigurationError as error:
        # Nothing was sent: our own configuration is the account's fault.
        answer = Answered(kind=AnswerKind.BLOCKED, token=token, submission=job.submission, message=str(error)[:200])
    asked_to_wait = answer.retry_at
    floor = max(SECOND, ms(traits.poll_floor_s))
    wait = backoff.step(job.attempt.no, floor=floor, cap=RETRY_CAP_MS, jitter=world.chance.fraction())
    # The later of what it asked for and our backoff: "Retry-After: 0" must not make a loop without a pause.
    answer = replace(answer, retry_at=max(world.clock.now() + wait, asked_to_wait or 0))
    world.metrics.count("Attempt", outcome=str(answer.kind))
    applied = apply(world, job, answer, traits)
    _record_on_provider(world, job, answer, offered, asked_to_wait)
    world.log.info("answered", job=job.id, outcome=str(answer.kind), detail=_plain(answer))
    return str(answer.kind) if applied.change else "stale"


def _plain(answer: Answered) -> str:
    """What a log may hold. A refusal of what was sent may quote the prompt: its text stands with the job alone."""
    about_us = answer.kind in (AnswerKind.BLOCKED, AnswerKind.NOT_ACCEPTED)
    return (answer.message if about_us else answer.message.partition(":")[0])[:200]


def _record_on_provider(world: World, job: Job, answer: Answered, offered: Offer, asked_to_wait: int | None) -> None:
    """Pause or heal the provider, after the job's own note. Setting is tried again on a newer state;
    a reset counts only for the state that was read at the claim.
    """
    before = offered.provider.pause
    heals = answer.kind in (AnswerKind.ACCEPTED, AnswerKind.REJECTED)
    for _ in range(5):
        after = after_answer(
            before,
            answer.kind,
            world.clock.now(),
            probe=offered.probe,
            retry_at=asked_to_wait,
            note=answer.message[:100],
        )
        if after == before or world.store.save_pause(job.provider, before, after):
            if after.reason is not None and after.reason is not before.reason:
                world.metrics.count("ProviderPaused", provider=job.provider, reason=str(after.reason))
                world.log.warning("provider paused", provider=job.provider, reason=str(after.reason))
            return
        if heals:
            return
        before = world.store.provider(job.provider).pause


def ask_to_cancel(world: World, job: Job, adapter: ProviderAdapter, traits: Traits) -> str:
    """Ask once; whatever the provider then says of the job decides. Reconcile asks again."""
    if not job.cancel_requested or job.provider_job_id is None:
        return "not now"
    report = adapter.cancel(job)
    world.log.info("asked to cancel", job=job.id, answer=str(report.kind), word=report.raw)
    if report.kind is ReportKind.WORD and report.status in _FINAL:
        apply(world, job, word_of(job, report), traits)
    return "asked"


def adopt(world: World, job: Job, adapter: ProviderAdapter, traits: Traits) -> str:
    """Check the provider job id that a person named, then bind it or say why not."""
    assert job.adopt is not None  # noqa: S101 the caller has looked
    report = adapter.poll(job, job.adopt)
    # The reference may name another tenant's job: it stands here, for operators, and not in the job.
    world.log.info("asked to adopt", job=job.id, answer=str(report.kind), word=report.raw, reference=report.reference)
    if report.kind in (ReportKind.UNAVAILABLE, ReportKind.BLOCKED):
        raise Retryable(f"the provider gave no answer about {job.adopt}: {report.kind}")  # its text is not for logs
    applied = apply(world, job, _adoption(job, job.adopt, report), traits)
    if applied.change is None:
        return "stale"
    if applied.job.state is State.RUNNING and applied.job.attention is None and report.status is Status.SUCCEEDED:
        apply(world, applied.job, word_of(applied.job, report), traits)
    return applied.change.rule


def _adoption(job: Job, provider_job_id: str, report: Report) -> Event:
    said = report.raw or report.message
    if report.kind is not ReportKind.WORD:
        return AdoptRefused(
            provider_job_id=provider_job_id, message=f"the provider does not know {provider_job_id}: {said}"
        )
    if report.status in (Status.FAILED, Status.CANCELED):
        return AdoptRefused(
            provider_job_id=provider_job_id, message=f"provider job {provider_job_id} has ended: {said}"
        )
    submission = submission_in(job, report.reference)
    if report.reference and submission is None:
        return AdoptRefused(
            provider_job_id=provider_job_id,
            message=f"provider job {provider_job_id} carries another reference than this job's",
        )
    return Adopted(provider_job_id=provider_job_id, submission=submission)


def submission_in(job: Job, reference: str | None) -> int | None:
    """The submission that an echoed reference of this very job names."""
    parts = (reference or "").split(".")
    if len(parts) != 3 or parts[0] != job.id or parts[2] != job.incarnation or not _NUMBER.fullmatch(parts[1]):
        return None
    return int(parts[1])


def word_of(job: Job, report: Report) -> Word:
    """What a poll, lookup or cancel said, as an event about the bound (or looked-up) provider job."""
    submission = submission_in(job, report.reference)
    return Word(
        status=report.status,
        provider_job_id=report.provider_job_id or job.provider_job_id or "",
        submission=job.submission if submission is None else submission,
        source=Source.POLL,
        links=report.kept_links,
        code=report.code,
        message=report.message,
        raw=report.raw,
    )
