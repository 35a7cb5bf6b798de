"""Admission: the one place that decides whether a job may go to its provider now, or waits."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mediajobs.jobs.due import is_resumable
from mediajobs.jobs.events import Traits, TurnedAway
from mediajobs.jobs.model import Job
from mediajobs.messages import Do
from mediajobs.pauses import PROBED, PauseReason, Provider, leased
from mediajobs.ports import World
from mediajobs.steps.apply import apply, limit_of

LONGEST_DELAY_MS = 900_000
NEXT_TICK_MS = 90_000  # a tick comes each minute, and may be late


@dataclass(frozen=True, slots=True)
class Offer:
    """Rows that may be tried (a resumable job needs none), and what the claim has to know."""

    provider: Provider
    slots: tuple[str, ...]
    paused: bool = False
    probe: bool = False


def offer(world: World, job: Job, traits: Traits) -> Offer | None:
    """What the provider has for this job; None: it is turned away (full, paused, or another's turn)."""
    provider = world.store.provider(job.provider)
    now = world.clock.now()
    slots = provider.free(limit_of(world, traits))
    resumes = is_resumable(job, traits, now)
    first = not resumes
    if first:
        slots = _in_turn(world, job, slots)
        if not slots:
            return None
    if not provider.pause.holds(now):
        return Offer(provider, slots)
    if not provider.pause.may_probe(now) or (first and not _is_first(world, job)):
        return None
    mark = leased(provider.pause, now)
    if not world.store.save_pause(job.provider, provider.pause, mark):
        return None
    world.log.info("probe", job=job.id, provider=job.provider)
    # What the probe learns may end the pause only if it is still the one that this mark wrote.
    marked = replace(provider, pause=replace(mark, revision=provider.pause.revision + 1))
    return Offer(marked, slots, paused=True, probe=True)


def _in_turn(world: World, job: Job, slots: tuple[str, ...]) -> tuple[str, ...]:
    """The free rows, if it is this job's turn: among the first of the waiting room, or rows are left over."""
    if not slots:
        return ()
    waiting = world.store.waiting(job.provider, len(slots))
    return slots if job.id in waiting or len(waiting) < len(slots) else ()


def _is_first(world: World, job: Job) -> bool:
    waiting = world.store.waiting(job.provider, 1)
    return not waiting or waiting[0] == job.id


def turn_away(world: World, job: Job, traits: Traits) -> None:
    """Note the job as waiting. It keeps its place; a message of it is not needed any more."""
    if job.wait is not None:
        return
    present = world.store.provider(job.provider).round
    turn = world.store.next_turn(job.provider, job.tenant, present)
    place = f"{turn:010d}#{job.created_at:013d}#{job.id}"
    applied = apply(world, job, TurnedAway(place=place), traits)
    if applied.change is None:
        world.store.give_back_turn(job.provider, job.tenant)


def turn_of(place: str) -> int:
    """The round in a waiting-room key."""
    return int(place.split("#", 1)[0])


def wake(world: World, provider_name: str) -> int:
    """Ask dispatch to look at as many waiting jobs as rows are free; returns how many."""
    if provider_name not in world.providers.names():
        return 0  # it left the configuration; its jobs end by their start deadline or by a person
    if not world.store.waiting(provider_name, 1):
        return 0  # nearly always: asked first, because it costs half of what the slots cost
    provider = world.store.provider(provider_name)
    now = world.clock.now()
    delay = 0
    if provider.pause.holds(now):
        if provider.pause.reason is not PauseReason.RETRY_AFTER:
            return 0
        delay = min(provider.pause.until - now, LONGEST_DELAY_MS)
    free = provider.free(limit_of(world, world.providers.traits(provider_name)))
    if not free:
        return 0
    ids = world.store.waiting(provider_name, len(free))
    for job_id in ids:
        world.queues.dispatch(job_id, Do.SUBMIT, -(-delay // 1000))
    return len(ids)


def tend(world: World, provider_name: str) -> None:
    """Reconcile's care for a provider: send a probe when a pause may end, else top up from the waiting room."""
    provider = world.store.provider(provider_name)
    now = world.clock.now()
    if provider.pause.reason in PROBED:
        wait = max(0, provider.pause.until - now)
        if wait <= NEXT_TICK_MS:
            probe = _resumable_holder(world, provider) or next(iter(world.store.waiting(provider_name, 1)), None)
            if probe is not None:
                # Delayed to the pause's end: the next tick would come up to a minute after it.
                world.queues.dispatch(probe, Do.SUBMIT, -(-wait // 1000))
        return
    if provider.pause.holds(now) and provider.pause.until > now + NEXT_TICK_MS:
        return  # the tick before its end wakes them; else each minute of a pause would send them all again
    wake(world, provider_name)


def _resumable_holder(world: World, provider: Provider) -> str | None:
    """A job that has its slot and cannot charge twice goes as probe before the first of the waiting room."""
    now = world.clock.now()
    for job in world.store.load_many(provider.holders):
        if is_resumable(job, world.providers.traits(provider.name, job.model), now):
            return job.id
    return None
