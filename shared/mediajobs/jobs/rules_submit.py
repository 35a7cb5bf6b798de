"""Rows about getting a job to its provider: claim, answer, turn away, time. PROTOCOL rows 1-14, 20, 43."""

from __future__ import annotations

from dataclasses import replace

from mediajobs.jobs.due import (
    HTTP_TIMEOUT_MS,
    LEASE_MS,
    attempt_over,
    is_idle,
    is_resumable,
    key_alive,
    lapses_at,
    ms,
)
from mediajobs.jobs.events import Absent, Answered, AnswerKind, Claim, Clash, Tick, TurnedAway
from mediajobs.jobs.model import Attempt, Job, JobError
from mediajobs.jobs.rules import (
    Moment,
    Rule,
    Why,
    asks,
    attention_is,
    finds,
    has_finding,
    held,
    remark,
    rule,
    sooner,
    with_outcome,
)
from mediajobs.jobs.states import ErrorCode, FindingKind, Outcome, Reason, State

ABSENT_ENOUGH = 3

_later = frozenset({State.RUNNING, State.STORING, State.SUCCEEDED, State.FAILED, State.CANCELED})
_waits = frozenset({State.PENDING, State.SUBMITTING})


def idle(m: Moment) -> bool:
    return is_idle(m.job)


def _offered(m: Moment) -> bool:
    claim: Claim = m.event
    return claim.slot is not None and _goes(m) and m.now < m.job.start_deadline


def _goes(m: Moment) -> bool:
    return not m.event.paused or bool(m.event.probe)


def _resumes(m: Moment) -> bool:
    slot = m.job.slot or m.event.slot
    return slot is not None and _goes(m) and is_resumable(m.job, m.traits, m.now)


def _differs(m: Moment) -> bool:
    return m.job.attempt is not None and m.job.attempt.digest != m.event.digest


def _opened(m: Moment, **fields: object) -> Job:
    claim: Claim = m.event
    attempt = Attempt(
        no=m.job.attempt.no + 1 if m.job.attempt else 1,
        outcome=Outcome.OPEN,
        token=claim.token,
        started=m.now,
        lease_until=m.now + LEASE_MS,
        digest=claim.digest,
    )
    job = replace(m.job, attempt=attempt, slot=m.job.slot or claim.slot, retry_at=None)
    return replace(job, **fields)  # type: ignore[arg-type]


def _fresh(m: Moment) -> Job:
    # Nothing is unsettled: no earlier request of this key can still be accepted, its life starts now.
    return _opened(m, first_sent_at=m.now)


def _resumed(m: Moment) -> Job:
    dead = m.job.attempt is not None and m.job.attempt.outcome is Outcome.OPEN
    return _opened(m, unsettled=m.job.unsettled or dead)


def _would_differ(m: Moment) -> Job:
    job = with_outcome(m.job, Outcome.AMBIGUOUS)
    return asks(
        replace_job(m, job),
        Reason.AMBIGUOUS_SUBMISSION,
        "an earlier request may have been accepted, and a retry would not be the same byte for byte",
        unsettled=True,
    )


def replace_job(m: Moment, job: Job) -> Moment:
    """The same moment about a changed draft of the job."""
    return replace(m, job=job)


# --- the provider's answer ---------------------------------------------------------------------------


def _accepted(m: Moment) -> bool:
    return m.event.kind is AnswerKind.ACCEPTED and m.event.provider_job_id is not None


def _accepted_current(m: Moment) -> bool:
    return _accepted(m) and (m.event.submission == m.job.submission or is_idle(m.job))


def _own(m: Moment) -> bool:
    attempt = m.job.attempt
    return attempt is not None and attempt.token == m.event.token and attempt.outcome is Outcome.OPEN


def _refused_before_accepting(m: Moment) -> bool:
    return _own(m) and m.event.kind in (AnswerKind.NOT_ACCEPTED, AnswerKind.BLOCKED)


def _blocked(m: Moment) -> bool:
    return m.event.kind is AnswerKind.BLOCKED


def bound(m: Moment) -> Job:
    """The job bound to the provider job that the event names; the slot kept, else taken unconditionally."""
    job = replace(
        m.job,
        provider_job_id=m.event.provider_job_id,
        slot=held(m.job),
        unsettled=False,
        absent=0,
        misses=0,
        adopt=None,
    )
    return job if job.attempt is None else with_outcome(job, Outcome.ACCEPTED)


def _idle_again(m: Moment) -> Job:
    job = with_outcome(m.job, Outcome.NOT_ACCEPTED)
    return sooner(m, replace(job, slot=None, retry_at=m.event.retry_at or m.now, first_sent_at=None))


def _still_ambiguous(m: Moment) -> Job:
    job = replace(with_outcome(m.job, Outcome.AMBIGUOUS), retry_at=m.event.retry_at or m.now)
    if key_alive(m.job, m.traits, m.now):
        return sooner(m, job)
    return asks(
        replace_job(m, job),
        Reason.AMBIGUOUS_SUBMISSION,
        "an earlier request may have been accepted; this one was not, and no key can be sent again",
    )


def _rejected(m: Moment) -> Job:
    job = with_outcome(m.job, Outcome.REJECTED)
    return replace(job, slot=None, error=JobError(code=m.event.code, message=m.event.message[:300]))


def _rejected_unsettled(m: Moment) -> Job:
    job = with_outcome(m.job, Outcome.AMBIGUOUS)
    return asks(
        replace_job(m, job),
        Reason.AMBIGUOUS_SUBMISSION,
        f"an earlier request may have been accepted; the retry was rejected: {m.event.message}",
    )


def _ambiguous(m: Moment) -> Job:
    job = replace(with_outcome(m.job, Outcome.AMBIGUOUS), unsettled=True, retry_at=m.event.retry_at or m.now)
    overdue = m.now >= m.job.start_deadline
    if not overdue and (key_alive(m.job, m.traits, m.now) or m.traits.lookup):
        return sooner(m, job)
    return asks(replace_job(m, job), Reason.AMBIGUOUS_SUBMISSION, f"the request may be paid for: {m.event.message}")


def _retries_by_key(m: Moment) -> bool:
    return key_alive(m.job, m.traits, m.now) and m.now < m.job.start_deadline


def _extra(m: Moment) -> Job:
    return finds(m.job, FindingKind.EXTRA_SUBMISSION, m.event.provider_job_id, m.now)


def extra_is_new(m: Moment) -> bool:
    return not has_finding(m.job, FindingKind.EXTRA_SUBMISSION, m.event.provider_job_id)


# --- lookups and time --------------------------------------------------------------------------------


def _unanswered(m: Moment) -> bool:
    return attempt_over(m.job, m.now) and m.job.attention is None


def _absent(m: Moment) -> Job:
    return replace(m.job, absent=m.job.absent + 1)


def _absent_enough(m: Moment) -> bool:
    return _unanswered(m) and m.job.absent + 1 >= ABSENT_ENOUGH


def _unknown_fate(m: Moment, evidence: str) -> Job:
    job = with_outcome(m.job, Outcome.AMBIGUOUS)
    return asks(replace_job(m, job), Reason.AMBIGUOUS_SUBMISSION, evidence, unsettled=True)


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
    no_lookup = not m.traits.lookup or m.job.absent >= ABSENT_ENOUGH
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


def _enters_wait(m: Moment) -> bool:
    free = m.job.state is State.PENDING or is_idle(m.job)
    return free and m.job.attention is None and m.job.wait is None


LEASE_COVERS_THE_CALL = LEASE_MS > HTTP_TIMEOUT_MS

ROWS: tuple[Rule, ...] = (
    # Claim
    rule("1", State.PENDING, Claim, guard=_offered, to=State.SUBMITTING, effect=_fresh,
         says="claimed with a slot, before the request leaves"),
    rule("4", State.SUBMITTING, Claim, guard=lambda m: idle(m) and m.job.attention is None and _offered(m),
         effect=_fresh, says="claimed again with the same key: nothing of it is unsettled"),
    rule("6a", State.SUBMITTING, Claim, guard=lambda m: _resumes(m) and _differs(m), effect=_would_differ,
         remark=remark("would_differ"), says="a retry that would not be byte-identical is never sent"),
    rule("6", State.SUBMITTING, Claim, guard=_resumes, effect=_resumed,
         says="an unanswered attempt is sent again with the same key while the provider honours it"),
    rule("1x", _waits, Claim, why=Why.NOT_NOW, says="no slot, paused, leased, or the deadline is past"),
    rule("1y", _later, Claim, why=Why.STALE, says="the job is past submitting"),
    # Turned away
    rule("43", _waits, TurnedAway, guard=_enters_wait, effect=lambda m: replace(m.job, wait=m.event.place),
         words=("next",), says="enters the waiting room"),
    rule("43x", _waits, TurnedAway, why=Why.DUPLICATE, says="waits already: place kept, nothing written"),
    rule("43y", _later, TurnedAway, why=Why.STALE, says="the job is past waiting"),
    # The provider's answer
    rule("7", State.SUBMITTING, Answered, guard=_accepted_current, to=State.RUNNING, effect=bound,
         says="accepted, whoever brings it"),
    rule("18a", State.SUBMITTING, Answered, guard=lambda m: _accepted(m) and extra_is_new(m), effect=_extra,
         says="an older submission was accepted too"),
    rule("18b", State.SUBMITTING, Answered, guard=_accepted, why=Why.DUPLICATE,
         says="an older submission, told before"),
    rule("8a", State.SUBMITTING, Answered,
         guard=lambda m: _refused_before_accepting(m) and not m.job.unsettled and m.job.cancel_requested,
         to=State.CANCELED, effect=lambda m: replace(with_outcome(m.job, Outcome.NOT_ACCEPTED), slot=None),
         says="not accepted, and the caller wanted to cancel"),
    rule("8b", State.SUBMITTING, Answered,
         guard=lambda m: _refused_before_accepting(m) and not m.job.unsettled and _blocked(m),
         effect=_idle_again, remark=remark("blocked"), words=("dispatch",), wakes=False,
         says="the account is blocked: idle, and nobody is woken"),
    rule("8", State.SUBMITTING, Answered,
         guard=lambda m: _refused_before_accepting(m) and not m.job.unsettled,
         effect=_idle_again, remark=remark("not_accepted"), words=("dispatch",),
         says="proven not accepted: idle, slot freed, later with the same key"),
    rule("9", State.SUBMITTING, Answered, guard=_refused_before_accepting, effect=_still_ambiguous,
         remark=lambda m: f"{m.event.kind}_unsettled", words=("dispatch",),
         says="this retry was not accepted, an earlier attempt may have been: slot kept"),
    rule("10", State.SUBMITTING, Answered,
         guard=lambda m: _own(m) and m.event.kind is AnswerKind.REJECTED and not m.job.unsettled,
         to=State.FAILED, effect=_rejected, says="rejected for the request's own fault"),
    rule("11", State.SUBMITTING, Answered, guard=lambda m: _own(m) and m.event.kind is AnswerKind.REJECTED,
         effect=_rejected_unsettled, remark=remark("rejected_unsettled"),
         says="the retry was rejected, an earlier attempt may have been accepted: attention"),
    rule("12k", State.SUBMITTING, Answered, guard=lambda m: _own(m) and _retries_by_key(m), effect=_ambiguous,
         remark=remark("ambiguous"), words=("dispatch",), says="perhaps paid for; the same key goes again"),
    rule("12", State.SUBMITTING, Answered, guard=_own, effect=_ambiguous, remark=remark("ambiguous"),
         says="perhaps paid for; looked up where possible, else attention at once"),
    rule("13", _waits, Answered, why=Why.STALE, says="an answer speaks for its own attempt only"),
    # Lookup
    rule("12a", State.SUBMITTING, Absent, guard=_absent_enough, effect=_never_found, remark=remark("absent"),
         says="absent three times: attention, never a second request"),
    rule("12b", State.SUBMITTING, Absent, guard=_unanswered, effect=_absent,
         says="absent proves nothing: counted, asked again"),
    rule("12c", frozenset(State), Absent, why=Why.STALE, says="nothing to look up"),
    rule("12d", State.SUBMITTING, Clash, guard=_unanswered,
         effect=lambda m: _unknown_fate(m, f"provider job {m.event.provider_job_id} belongs to job {m.event.other}"),
         says="the id found belongs to another job: nothing bound"),
    rule("12e", frozenset(State), Clash, why=Why.STALE, says="nothing was to be bound"),
    # Time
    rule("3", State.PENDING, Tick, guard=_past_deadline, to=State.FAILED, effect=_expired,
         says="never submitted before the start deadline"),
    rule("5d", State.SUBMITTING, Tick, guard=lambda m: idle(m) and _past_deadline(m), to=State.FAILED,
         effect=_expired, says="proven not accepted, and the start deadline is past"),
    rule("20", State.SUBMITTING, Tick,
         guard=lambda m: attention_is(Reason.AMBIGUOUS_SUBMISSION)(m) and lapsed(m), effect=lapse,
         says="max run is over: the slot lapses, the question stays"),
    rule("14", State.SUBMITTING, Tick, guard=_nothing_left,
         effect=lambda m: _unknown_fate(m, "no answer came, and there is no safe way to ask or to send again"),
         remark=remark("ambiguous"), says="nothing safe is left to try: attention"),
    rule("3x", _waits, Tick, why=Why.NOT_NOW, says="nothing is over yet"),
)  # fmt: skip
