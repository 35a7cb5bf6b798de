"""When reconcile has to look at a job: pure functions of the job, its provider's traits and the time.

`due_at` in the table is a lower bound that transitions leave alone (moving it costs 2 to 3 write units);
`first_due` is the true time at which the present state wants a look, `next_due` the one after a look.
"""

from __future__ import annotations

from mediajobs.backoff import doubling
from mediajobs.jobs.events import Traits
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import TERMINAL, Outcome, Reason, State

SECOND = 1000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE

LEASE_MS = 60 * SECOND  # dispatch timeout 45 s < lease < visibility 90 s
HTTP_TIMEOUT_MS = 35 * SECOND
SKEW_MS = 5 * SECOND
KEY_MARGIN_MS = LEASE_MS + HTTP_TIMEOUT_MS + SKEW_MS
STORE_MS = 3 * MINUTE
URGENT_MS = 30 * MINUTE  # two of the longest runs that may stand before it in the queue
PUBLISH_MS = MINUTE
WAKE_MS = 2 * MINUTE
SLOW_MS = HOUR
OVERDUE_FACTOR = 3


def ms(seconds: float) -> int:
    """Seconds to whole milliseconds."""
    return int(seconds * SECOND)


def first_poll(traits: Traits) -> int:
    """How long a running job is left to its webhook; without a trusted one, one poll floor."""
    return ms(traits.expected_s * 1.5 if traits.webhooks else traits.poll_floor_s)


def far(traits: Traits) -> int:
    """A transition moves `due_at` only where it stands further ahead than this."""
    return max(first_poll(traits), 10 * MINUTE)


def overdue_at(job: Job, traits: Traits) -> int:
    """When a running job is late; each `wait` of a person doubles the patience."""
    return job.since + ms(OVERDUE_FACTOR * traits.expected_s) * job.patience


def lapses_at(job: Job, traits: Traits) -> int | None:
    """When the slot of a job of unknown fate lapses: no job of that attempt can live any longer."""
    if job.slot is None or job.attempt is None or job.attention is None:
        return None
    if job.attention.reason not in (Reason.AMBIGUOUS_SUBMISSION, Reason.PROVIDER_LOST, Reason.DEAD_LETTER):
        return None
    return job.attempt.started + ms(traits.max_run_s)


def key_alive(job: Job, traits: Traits, now: int) -> bool:
    """The provider still knows our key, with time to spare for one whole attempt."""
    if not traits.idempotent or job.first_sent_at is None:
        return False
    return job.first_sent_at + ms(traits.key_life_s) - KEY_MARGIN_MS > now


def is_idle(job: Job) -> bool:
    """submitting, proven not accepted, nothing unsettled, no slot."""
    return (
        job.state is State.SUBMITTING
        and job.attempt is not None
        and job.attempt.outcome is Outcome.NOT_ACCEPTED
        and not job.unsettled
        and job.slot is None
    )


def attempt_over(job: Job, now: int) -> bool:
    """The latest attempt has no definite answer and nobody is waiting for one."""
    if job.state is not State.SUBMITTING or job.attempt is None:
        return False
    if job.attempt.outcome is Outcome.AMBIGUOUS:
        return True
    return job.attempt.outcome is Outcome.OPEN and job.attempt.lease_until <= now


def is_resumable(job: Job, traits: Traits, now: int) -> bool:
    """The request may be sent again with the same key."""
    return attempt_over(job, now) and job.attention is None and key_alive(job, traits, now)


def first_due(job: Job, traits: Traits) -> int | None:
    """The true time at which the present state first wants a look; None when nothing is left to do."""
    # `retry_at` of a step that failed: relay's delayed message goes first, this look stands behind it.
    again = job.retry_at or 0
    if job.state in TERMINAL:
        return None if job.published_at is not None else max(job.since + PUBLISH_MS, again)
    if job.adopt is not None:
        return job.updated_at + ms(traits.poll_floor_s)
    if job.state is State.PENDING:
        return _pending_due(job, traits)
    if job.state is State.SUBMITTING:
        return _submitting_due(job, traits)
    if job.state is State.STORING:
        return max(job.since, again) + STORE_MS
    wait = ms(traits.poll_floor_s) if job.cancel_requested else first_poll(traits)
    return max(job.since + wait, again)


def _pending_due(job: Job, traits: Traits) -> int:
    if job.wait:
        return job.start_deadline
    woken = job.created_at + first_poll(traits)
    if job.retry_at is not None:
        woken = max(woken, job.retry_at + MINUTE)
    return min(woken, job.start_deadline)


def _submitting_due(job: Job, traits: Traits) -> int:
    assert job.attempt is not None  # noqa: S101 the claim writes it with the state
    if is_idle(job):
        if job.wait:
            return job.start_deadline
        return min((job.retry_at or job.updated_at) + MINUTE, job.start_deadline)
    if job.attention is not None:
        lapse = lapses_at(job, traits)
        slow = job.updated_at + SLOW_MS
        return slow if lapse is None else min(slow, lapse)
    if job.attempt.outcome is Outcome.OPEN:
        return job.attempt.lease_until
    return job.retry_at or job.updated_at + ms(traits.poll_floor_s)


def is_urgent(job: Job, now: int) -> bool:
    """A link of it ends so soon that it must not wait behind long downloads."""
    return any(link.expires_at is not None and link.expires_at < now + URGENT_MS for link in job.links)


def next_due(job: Job, traits: Traits, now: int, jitter: float) -> int:
    """The next look after one at `now`: exponential, capped by what the state is worth, never late for a
    deadline, a lapse or a lease.
    """
    floor, cap = _pace(job, traits, now)
    anchor = first_due(job, traits) or now
    when = doubling(anchor, now, floor=floor, cap=cap, jitter=jitter)
    return max(now + 1, min([when, *(hard for hard in _hard_times(job, traits) if hard > now)]))


def _pace(job: Job, traits: Traits, now: int) -> tuple[int, int]:
    floor = ms(traits.poll_floor_s)
    if job.state in TERMINAL:
        return PUBLISH_MS, HOUR
    if job.state is State.PENDING or is_idle(job):
        return WAKE_MS, HOUR
    if job.state is State.STORING:
        return STORE_MS, HOUR
    if job.state is State.SUBMITTING:
        return (SLOW_MS, SLOW_MS) if job.attention else (max(floor, 10 * SECOND), 2 * MINUTE)
    age = now - job.since
    if age > 24 * HOUR:
        return floor, 6 * HOUR
    return floor, 30 * MINUTE if age > ms(OVERDUE_FACTOR * traits.expected_s) else 5 * MINUTE


def _hard_times(job: Job, traits: Traits) -> list[int]:
    times: list[int] = []
    if job.state in (State.PENDING, State.SUBMITTING):
        times.append(job.start_deadline)
    lapse = lapses_at(job, traits)
    if lapse is not None:
        times.append(lapse)
    if job.state is State.RUNNING and job.attention is None:
        times.append(overdue_at(job, traits))
    if job.state is State.SUBMITTING and job.attempt and job.attempt.outcome is Outcome.OPEN:
        times.append(job.attempt.lease_until)
    return times
