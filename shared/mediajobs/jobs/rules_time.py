"""Rows about lookups and time while a job is being submitted. Rows 3, 5, 12, 14, 20."""

from __future__ import annotations

from dataclasses import replace

from mediajobs.jobs.due import attempt_over, is_idle, key_alive, lapses_at, ms
from mediajobs.jobs.events import Absent, Clash, Tick
from mediajobs.jobs.model import Job, JobError
from mediajobs.jobs.rules import Moment, Rule, Why, asks, attention_is, remark, rule, with_outcome
from mediajobs.jobs.rules_submit import ABSENT_ENOUGH, may_be_found
from mediajobs.jobs.states import ErrorCode, Outcome, Reason, State

_waits = frozenset({State.PENDING, State.SUBMITTING})


def _unanswered(m: Moment) -> bool:
    return attempt_over(m.job, m.now) and m.job.attention is None


def _absent(m: Moment) -> Job:
    return replace(m.job, absent=m.job.absent + 1)


def _absent_enough(m: Moment) -> bool:
    return _unanswered(m) and m.job.absent + 1 >= ABSENT_ENOUGH


def _unknown_fate(m: Moment, evidence: str) -> Job:
    job = with_outcome(m.job, Outcome.AMBIGUOUS)
    return asks(replace(m, job=job), Reason.AMBIGUOUS_SUBMISSION, evidence, unsettled=True)


def _clashes(m: Moment) -> bool:
    """Whoever brought the id: an answer within its lease too, since it will bring the same id again."""
    asked = m.job.attention is not None and not attention_is(Reason.DEAD_LETTER)(m)
    return not is_idle(m.job) and not asked


def _never_found(m: Moment) -> Job:
    job = _unknown_fate(m, "the provider does not find our reference, which proves nothing")
    return replace(job, absent=m.job.absent + 1)


def _nothing_left(m: Moment) -> bool:
    """Row 14: no key, no lookup, the start deadline or max run over; a dead letter is replaced."""
    attention = m.job.attention
    if attention is not None and attention.reason is not Reason.DEAD_LETTER:
        return False
    if not attempt_over(m.job, m.now):
        return False
    no_key = not key_alive(m.job, m.traits, m.now)
    no_lookup = not may_be_found(m)
    lapse = lapses_at(m.job, m.traits)
    gave_up = attention is not None and lapse is not None and lapse <= m.now
    return (no_key and no_lookup) or m.now >= m.job.start_deadline or gave_up


def _past_deadline(m: Moment) -> bool:
    return m.now >= m.job.start_deadline


def _expired(m: Moment) -> Job:
    text = "no slot was free before the start deadline; the provider was never asked, or proved it took nothing"
    return replace(m.job, error=JobError(code=ErrorCode.EXPIRED_IN_QUEUE, message=text))


def lapsed(m: Moment) -> bool:
    """The slot of a job of unknown fate is given back when nothing of that attempt can live any longer."""
    job = m.job
    return job.slot is not None and job.attempt is not None and m.now >= job.attempt.started + ms(m.traits.max_run_s)


def lapse(m: Moment) -> Job:
    return replace(m.job, slot=None)


ROWS: tuple[Rule, ...] = (
    # Lookup
    rule("12a", State.SUBMITTING, Absent, guard=_absent_enough, effect=_never_found, remark=remark("absent"),
         says="absent three times: attention, never a second request"),
    rule("12b", State.SUBMITTING, Absent, guard=_unanswered, effect=_absent,
         says="absent proves nothing: counted, asked again"),
    rule("12c", frozenset(State), Absent, why=Why.STALE, says="nothing to look up"),
    rule("12d", State.SUBMITTING, Clash, guard=_clashes,
         effect=lambda m: _unknown_fate(m, f"provider job {m.event.provider_job_id} belongs to another job"),
         remark=remark("clash"), says="the id found belongs to another job: nothing bound"),
    rule("12e", frozenset(State), Clash, why=Why.STALE, says="nothing was to be bound"),
    # Time
    rule("3", State.PENDING, Tick, guard=_past_deadline, to=State.FAILED, effect=_expired,
         says="never submitted before the start deadline"),
    rule("5d", State.SUBMITTING, Tick, guard=lambda m: is_idle(m.job) and _past_deadline(m), to=State.FAILED,
         effect=_expired, says="proven not accepted, and the start deadline is past"),
    rule("20", State.SUBMITTING, Tick,
         guard=lambda m: attention_is(Reason.AMBIGUOUS_SUBMISSION)(m) and lapsed(m), effect=lapse,
         remark=remark("slot_lapsed"), says="max run is over: the slot lapses, the question stays"),
    rule("14", State.SUBMITTING, Tick, guard=_nothing_left,
         effect=lambda m: _unknown_fate(m, "no answer came, and there is no safe way to ask or to send again"),
         remark=remark("ambiguous"), says="nothing safe is left to try: attention"),
    rule("3x", _waits, Tick, why=Why.NOT_NOW, says="nothing is over yet"),
)  # fmt: skip
