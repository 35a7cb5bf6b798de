"""What a row of the transition table is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from mediajobs.jobs.due import far, first_due, first_poll, lapses_at
from mediajobs.jobs.events import Event, Traits
from mediajobs.jobs.model import Attention, Finding, Job
from mediajobs.jobs.states import FindingKind, Outcome, Reason, State


@dataclass(frozen=True, slots=True)
class Moment:
    """What a rule looks at. It holds no clock and no randomness."""

    job: Job
    event: Any  # one of Event; the rule's row names which
    now: int
    traits: Traits


class Why(StrEnum):
    """Why an event changes nothing."""

    DUPLICATE = "duplicate"
    STALE = "stale"
    TERMINAL = "terminal"
    UNKNOWN = "unknown"
    NOT_NOW = "not_now"
    REFUSED = "refused"


Guard = Callable[[Moment], bool]
Effect = Callable[[Moment], Job]


def always(_: Moment) -> bool:
    """The last row of each (state, event): nothing falls through the table."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One row. A transition names `to`, a note only an effect, an ignore `why`."""

    row: str  # the row's number in docs/lifecycle.md, with a letter where it has cases
    states: frozenset[State]
    event: type[Event]
    guard: Guard = always
    to: State | None = None
    effect: Effect | None = None
    why: Why | None = None
    says: str  # one line for docs/lifecycle.md and for the caller where it is refused
    remark: Callable[[Moment], str] | None = None  # history entry of a note
    words: tuple[str, ...] = ()  # for `out`, beyond what follows from the change itself
    wakes: bool = True  # a row given back wakes waiting jobs


def rule(row: str, states: State | frozenset[State], event: type[Event], **fields: Any) -> Rule:
    """A row of the table."""
    where = frozenset({states}) if isinstance(states, State) else states
    return Rule(row=row, states=where, event=event, **fields)


def remark(text: str) -> Callable[[Moment], str]:
    """A fixed history remark."""
    return lambda _: text


def asks(m: Moment, reason: Reason, evidence: str, **fields: Any) -> Job:
    """The job with an open question; its version is the one this very note will have."""
    attention = Attention(reason=reason, since=m.now, version=m.job.version + 1, evidence=evidence[:300])
    return sooner(m, replace(m.job, attention=attention, **fields))


def finds(job: Job, kind: FindingKind, provider_job_id: str, now: int) -> Job:
    """The job with one finding more; the same one is never raised twice."""
    if has_finding(job, kind, provider_job_id):
        return job
    finding = Finding(kind=kind, provider_job_id=provider_job_id, since=now)
    return replace(job, findings=(*job.findings, finding))


def has_finding(job: Job, kind: FindingKind, provider_job_id: str) -> bool:
    """Whether a person was told already, acknowledged or not."""
    return any(f.kind is kind and f.provider_job_id == provider_job_id for f in job.findings)


def sooner(m: Moment, job: Job) -> Job:
    """The job, looked at earlier where its new condition wants it; never later, and not for a time that is past."""
    drafted = replace(job, updated_at=m.now)
    times = (first_due(drafted, m.traits), lapses_at(drafted, m.traits))
    ahead = [when for when in times if when is not None and when >= m.now]
    return by(job, min(ahead)) if ahead else job


def by(job: Job, when: int) -> Job:
    """The job, looked at by `when` at the latest."""
    return job if job.due_at is not None and job.due_at <= when else replace(job, due_at=when)


def unless_far(m: Moment, job: Job) -> Job:
    """The job with `due_at` left alone unless it stands far ahead: moving it costs, and looking early costs nothing.

    It is written once, so a claim already has in view the first poll of the running job that it will become.
    """
    if job.due_at is not None and job.due_at <= m.now + far(m.traits):
        return job
    due = first_due(job, m.traits)
    if due is not None and job.slot is not None:
        due = min(due, m.now + first_poll(m.traits))
    return replace(job, due_at=due)


def held(job: Job) -> str:
    """The slot that evidence takes: the one held, else the extra row (a free number is tried first)."""
    return job.slot or extra_row(job.id)


def extra_row(job_id: str) -> str:
    """The row of a job that lives beyond the limit: truth over limit."""
    return f"over#{job_id}"


def with_outcome(job: Job, outcome: Outcome) -> Job:
    """The job with its latest attempt's outcome known."""
    assert job.attempt is not None  # noqa: S101 a guard has looked
    return replace(job, attempt=replace(job.attempt, outcome=outcome))


def attention_is(*reasons: Reason) -> Guard:
    """An open question of one of these reasons."""
    return lambda m: m.job.attention is not None and m.job.attention.reason in reasons
