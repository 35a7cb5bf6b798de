"""The guarded write: decide on the job as read, write under that version, decide again where a race was lost."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mediajobs.errors import WriteConflict
from mediajobs.jobs.decide import Change, Ignore, decide
from mediajobs.jobs.events import (
    Adopted,
    AdoptRefused,
    Claim,
    Clash,
    Event,
    StepFailed,
    Traits,
    Word,
)
from mediajobs.jobs.model import Job
from mediajobs.jobs.rules import Why, extra_row
from mediajobs.jobs.states import TERMINAL, Source
from mediajobs.messages import SlotTaken, Written
from mediajobs.ports import World

RACES = 12


@dataclass(frozen=True, slots=True)
class Applied:
    """What came of an event. `change` is None where it changed nothing and `ignored` says why."""

    job: Job
    change: Change | None = None
    ignored: Ignore | None = None
    slot_taken: bool = False


def limit_of(world: World, traits: Traits) -> int:
    """The in-flight limit of a provider: the template's, or a lower one of its configuration."""
    configured = world.settings.max_in_flight
    return configured if traits.limit is None else min(configured, traits.limit)


def traits_of(world: World, job: Job) -> Traits:
    """The provider's traits; one that left the configuration has the defaults, so that its jobs can still be ended."""
    try:
        return world.providers.traits(job.provider, job.model)
    except KeyError:
        return Traits(provider=job.provider)


def apply(  # noqa: C901 one branch for each way in which a write can end
    world: World, job: Job, event: Event, traits: Traits, *, fresh: bool = False
) -> Applied:
    """Bring `event` to the job, whatever else is being written to it meanwhile.

    `fresh`: the job comes from a strongly consistent read. A decision to ignore is confirmed on one.
    Raises Throttled or WriteConflict where nothing was decided.
    """
    seat: str | None = None
    for _ in range(RACES):
        decision = decide(job, event, world.clock.now(), traits)
        if isinstance(decision, Ignore):
            current = job if fresh else world.store.load(job.id)
            if current is None or current.version == job.version:
                return Applied(job, ignored=decision)
            if current.incarnation != job.incarnation:
                return _gone(job)
            job, fresh = current, True
            continue
        other = _claimed_elsewhere(world, decision, event, traits)
        if other is not None:
            event = other
            continue
        change = _seated(world, decision, event, traits, seat)
        result = world.store.write(change)
        if isinstance(result, Written):
            _after(world, change)
            return Applied(result.job, change=replace(change, after=result.job))
        if isinstance(result, SlotTaken):
            if isinstance(event, Claim):
                return Applied(job, slot_taken=True)
            seat = extra_row(job.id)
        elif result.job is None or result.job.incarnation != job.incarnation:
            return _gone(job)
        else:
            job, fresh = result.job, True
    raise WriteConflict(f"job {job.id} changed {RACES} times under one event")


def _gone(job: Job) -> Applied:
    """Another job may stand under the same id by now; nothing that was said of this one is about it."""
    return Applied(job, ignored=Ignore(why=Why.UNKNOWN, rule="", says="the job is no longer kept"))


def _claimed_elsewhere(world: World, change: Change, event: Event, traits: Traits) -> Event | None:
    """Reserve a provider job id before it is bound, where it did not come in our own answer or URL.

    Where events find their job by this id alone, it is reserved in any case.

    Returns the event to take instead where the id belongs to another job.
    """
    new = change.after.provider_job_id
    if new is None or new == change.before.provider_job_id or not _needs_reserving(event, traits):
        return None
    holder = world.store.bind(change.before.provider, new, change.before.id)
    if holder == change.before.id:
        return None
    # The other job may be another tenant's: it is named to operators only, who read the log.
    world.log.warning("provider job of another job", job=change.before.id, provider_job_id=new, other=holder)
    if isinstance(event, Adopted):
        return AdoptRefused(provider_job_id=new, message=f"provider job {new} belongs to another job")
    return Clash(provider_job_id=new)


def _needs_reserving(event: Event, traits: Traits) -> bool:
    if traits.account_webhooks:
        return True
    if isinstance(event, Word):
        return event.source is Source.POLL or event.submission is None
    return isinstance(event, Adopted)


def _seated(world: World, change: Change, event: Event, traits: Traits, seat: str | None) -> Change:
    """Give evidence a free number while there is one; beyond the limit it keeps the extra row."""
    takes = change.before.slot is None and change.after.slot is not None
    if not takes or isinstance(event, Claim):
        return change
    if seat is None:
        free = world.store.provider(change.before.provider).free(limit_of(world, traits))
        if not free:
            return change
        seat = world.chance.pick(free)
    return replace(change, after=replace(change.after, slot=seat))


def _after(world: World, change: Change) -> None:
    if change.before.wait is not None and change.after.state in TERMINAL:
        world.store.give_back_turn(change.before.provider, change.before.tenant)
    raised = change.after.attention
    if raised is not None and (change.before.attention is None or raised.version != change.before.attention.version):
        world.metrics.count("AttentionRaised")
    world.log.info(
        "job changed",
        job=change.after.id,
        rule=change.rule,
        state=str(change.after.state),
        version=change.after.version,
        out=change.after.out or "",
    )


def record_failure(world: World, job: Job, step: str, error: Exception, traits: Traits, retry_at: int) -> Applied:
    """Count a step's failure on the job; the note itself schedules the next try."""
    world.metrics.count("StepFailed", step=step)
    world.log.error("step failed", job=job.id, step=step, error=type(error).__name__, detail=str(error)[:200])
    event = StepFailed(step=step, message=f"{type(error).__name__}: {error}"[:200], retry_at=retry_at)
    return apply(world, job, event, traits)
