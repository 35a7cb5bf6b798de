"""Intake: verify, find the job, deduplicate, decide, write, answer fast."""

from __future__ import annotations

import re
from dataclasses import replace

from mediajobs.errors import ConfigurationError, NotFound, Retryable, Unauthorized, Unavailable
from mediajobs.jobs.decide import Change, decide
from mediajobs.jobs.events import Status, Traits, Word
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import OPEN, Source
from mediajobs.messages import Delivery, Progress, Report, ReportKind, Verified
from mediajobs.ports import ProviderAdapter, World
from mediajobs.signatures import BadSignature
from mediajobs.steps.apply import apply
from mediajobs.steps.dispatch import submission_in
from mediajobs.steps.live import tell
from mediajobs.steps.tokens import parse_ref, ref_is_ours

GRACE_MS = 600_000
PROGRESS_EVERY_MS = 1_000
DAY_S = 86_400
_JOB_ID = re.compile(r"[a-z2-7]{26}")
_FINAL = frozenset({Status.SUCCEEDED, Status.FAILED, Status.CANCELED})


def take(world: World, delivery: Delivery) -> tuple[int, str]:
    """Take one delivery: (HTTP status, verdict).

    Raises Unauthorized (not rightly signed, stale, or a URL we did not make), BadRequest (signed but
    unusable), NotFound (no such provider) and Unavailable (send it again).
    """
    adapter = _adapter(world, delivery)
    verified = _verified(world, delivery, adapter)
    try:
        return _take(world, delivery, adapter, verified)
    except Retryable as error:
        raise Unavailable(f"try again: {type(error).__name__}", retry_after_s=5) from error


def challenge(world: World, delivery: Delivery) -> dict[str, str] | None:
    """What is to be sent back, where this is a test delivery of a provider that makes them; raises as `take`.

    Only a sender that is proved gets an answer: by its signature, or by the token in a job's own URL.
    """
    adapter = _adapter(world, delivery)
    wanted = adapter.challenge(delivery)
    if wanted is None:
        return None
    verified = _verified(world, delivery, adapter)
    if _find(world, delivery) is None and not verified.proven:
        raise _refused(world, delivery, "the job of this URL is not there")
    world.log.info("challenge answered", provider=delivery.provider)
    return wanted


def _verified(world: World, delivery: Delivery, adapter: ProviderAdapter) -> Verified:
    """One answer to all who cannot prove themselves, and one line that tells an operator why."""
    try:
        return adapter.verify(delivery, world.clock.now())
    except Unauthorized as error:
        reason = error.reason if isinstance(error, BadSignature) else error.detail
        raise _refused(world, delivery, reason) from None
    except ConfigurationError as error:
        world.metrics.count("WebhookMisconfigured", provider=delivery.provider)
        world.log.error("webhook cannot be verified", provider=delivery.provider, reason=str(error)[:300])  # noqa: TRY400
        raise


def _refused(world: World, delivery: Delivery, reason: str) -> Unauthorized:
    world.metrics.count("WebhookRefused", provider=delivery.provider)
    parsed = parse_ref(delivery.ref) if delivery.ref is not None else None
    world.log.warning(
        "webhook refused",
        reason=reason[:200],
        provider=delivery.provider,
        job=parsed[0] if parsed else "",
        bytes=len(delivery.body),
    )
    return Unauthorized("not authorized")


def _adapter(world: World, delivery: Delivery) -> ProviderAdapter:
    try:
        return world.providers.get(delivery.provider)
    except KeyError:
        raise NotFound("no such provider is configured") from None


def _take(world: World, delivery: Delivery, adapter: ProviderAdapter, verified: Verified) -> tuple[int, str]:
    found = _find(world, delivery)
    report = adapter.read(delivery)
    if found is None and delivery.ref is None:
        found = _find_by_reference(world, delivery.provider, report) or _find_by_id(world, delivery.provider, report)
    if found is None and not verified.proven:
        # Anybody may have made up this URL: nothing is written for it.
        raise _refused(world, delivery, "the job of this URL is not there")
    if found is None:
        return _unknown(world, delivery, verified)
    job, submission = found
    if report.provider_job_id is None:
        return 200, "nothing to say"
    traits = adapter.traits(job.model)
    if not traits.webhooks or report.confirm:
        report = _confirmed(adapter, job, report.provider_job_id)
    if report.status in _FINAL:
        return _settle(world, delivery, verified, job, _word(report, submission, verified), traits)
    return _progress(world, job, report, _word(report, submission, verified), traits)


def _confirmed(adapter: ProviderAdapter, job: Job, provider_job_id: str) -> Report:
    """A source that is not trusted only says when to ask: the provider's word comes from an authenticated GET."""
    report = adapter.poll(job, provider_job_id)
    if report.kind is not ReportKind.WORD:  # a 404 too proves nothing yet
        raise Unavailable("the provider did not confirm this event; send it again", retry_after_s=30)
    # Another id than the bound one is heard, as a second charge may be, only where the provider says that it is ours.
    bound_to_another = job.provider_job_id not in (None, provider_job_id)
    proved = submission_in(job, report.reference) is not None
    if not proved and (bound_to_another or report.reference is not None):
        return replace(report, status=Status.UNKNOWN, progress=None)
    return report


def _find(world: World, delivery: Delivery) -> tuple[Job, int | None] | None:
    """The job that the URL names, once its token has been checked against the row."""
    if delivery.ref is None:
        return None
    parsed = parse_ref(delivery.ref)
    if parsed is None:
        raise _refused(world, delivery, "the URL's reference has another form")
    job_id, submission, token = parsed
    job = world.store.load(job_id)
    if job is None:
        return None
    if job.provider != delivery.provider or not ref_is_ours(world, job, submission, token):
        raise _refused(world, delivery, "url token")
    return job, submission


def _find_by_reference(world: World, provider: str, report: Report) -> tuple[Job, int | None] | None:
    """The job whose reference a provider sends back to the account's URL, which it may do before we know its id."""
    job_id = (report.reference or "").partition(".")[0]
    job = world.store.load(job_id) if _JOB_ID.fullmatch(job_id) else None
    submission = submission_in(job, report.reference) if job is not None and job.provider == provider else None
    return None if job is None or submission is None else (job, submission)


def _find_by_id(world: World, provider: str, report: Report) -> tuple[Job, int | None] | None:
    if report.provider_job_id is None:
        return None
    job_id = world.store.bound(provider, report.provider_job_id)
    job = world.store.load(job_id) if job_id else None
    return None if job is None else (job, None)


def _unknown(world: World, delivery: Delivery, verified: Verified) -> tuple[int, str]:
    """A signed event for a job that is not there: retryable for a grace time, then counted and taken."""
    now = world.clock.now()
    ttl = now // 1000 + DAY_S
    first = world.store.first_seen(f"{delivery.provider}#{verified.event_id}", now, ttl)
    if now - first < GRACE_MS:
        raise Unavailable("the job of this event is not known yet; send it again", retry_after_s=30)
    world.metrics.count("UnknownJobEvents", provider=delivery.provider)
    return 200, "unknown"


def _word(report: Report, submission: int | None, verified: Verified) -> Word:
    return Word(
        status=report.status,
        provider_job_id=report.provider_job_id or "",
        submission=submission,
        source=Source.WEBHOOK,
        links=report.kept_links,
        code=report.code,
        message=report.message,
        raw=report.raw,
        event_id=verified.event_id,
        body_digest=verified.body_digest,
    )


def _settle(
    world: World, delivery: Delivery, verified: Verified, job: Job, word: Word, traits: Traits
) -> tuple[int, str]:
    """A terminal event: once per event id, and harmless again whatever the record says."""
    ran: list[str] = []

    def settle() -> str:
        applied = apply(world, job, word, traits, fresh=True)
        verdict = applied.change.rule if applied.change else str(applied.ignored and applied.ignored.why)
        ran.append(verdict if applied.change is None else "")
        return verdict

    # No part of the key may be empty: without a ref the event is the account's.
    verdict = world.once("intake", [delivery.provider, delivery.ref or "account", verified.event_id], settle)
    if not ran or ran[0]:
        _note(world, job, verified, ran[0] if ran else "replay")
    return 200, verdict if ran else "replay"


def _progress(world: World, job: Job, report: Report, word: Word, traits: Traits) -> tuple[int, str]:
    """Progress never touches the state machine. A first sign of life does: it binds a job that is being submitted,
    answers whether a lost one lives, or shows a second one; what it would not change costs no write.
    """
    if report.status is Status.UNKNOWN:
        world.metrics.count("UnknownWord", provider=job.provider)
    changes = isinstance(decide(job, word, world.clock.now(), traits), Change)
    if changes:
        job = apply(world, job, word, traits, fresh=True).job
    if job.state not in OPEN:  # relay tells how it ended; nothing is told after that
        return 200, "noted"
    if report.progress is None:
        if changes:
            tell(world, job)
        return 200, "noted"
    now = world.clock.now()
    progress = Progress(percent=min(report.progress, 99), at=now, stage=report.stage)
    ttl = now // 1000 + world.settings.detail_days * DAY_S
    kept = world.store.save_progress(job.id, progress, ttl, every_ms=PROGRESS_EVERY_MS)
    tell(world, job, progress)
    return 200, "progress" if kept else "throttled"


def _note(world: World, job: Job, verified: Verified, verdict: str) -> None:
    now = world.clock.now()
    ttl = now // 1000 + world.settings.detail_days * DAY_S
    world.store.note_event(job.id, f"{now}|{verdict}|{verified.event_id[:80]}|{verified.body_digest}", ttl)
