"""Rows about getting a job to its provider: claim, turn away, answer. Rows 1, 4, 6-13, 43."""

from __future__ import annotations

from dataclasses import replace

from mediajobs.jobs.due import (
    LEASE_MS,
    is_idle,
    is_resumable,
    key_alive,
)
from mediajobs.jobs.events import Answered, AnswerKind, Claim, TurnedAway
from mediajobs.jobs.model import Attempt, Job, JobError
from mediajobs.jobs.rules import (
    Moment,
    Rule,
    Why,
    asks,
    finds,
    has_finding,
    held,
    remark,
    rule,
    sooner,
    unless_far,
    with_outcome,
)
from mediajobs.jobs.states import FindingKind, Outcome, Reason, State

ABSENT_ENOUGH = 3

_later = frozenset({State.RUNNING, State.STORING, State.SUCCEEDED, State.FAILED, State.CANCELED})
_waits = frozenset({State.PENDING, State.SUBMITTING})


def idle(m: Moment) -> bool:
    return is_idle(m.job)


def _offered(m: Moment) -> bool:
    claim: Claim = m.event
    return claim.slot is not None and _goes(m) and m.now < m.job.start_deadline and _prepared(m)


def _prepared(m: Moment) -> bool:
    """The request was built for the submission that would be claimed."""
    return m.event.submission in (None, m.job.submission)


def _goes(m: Moment) -> bool:
    return not m.event.paused or bool(m.event.probe)


def _resumes(m: Moment) -> bool:
    slot = m.job.slot or m.event.slot
    return slot is not None and _goes(m) and _prepared(m) and is_resumable(m.job, m.traits, m.now)


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


def _fresh_again(m: Moment) -> Job:
    return unless_far(m, _fresh(m))


def _resumed(m: Moment) -> Job:
    dead = m.job.attempt is not None and m.job.attempt.outcome is Outcome.OPEN
    return unless_far(m, _opened(m, unsettled=m.job.unsettled or dead))


def _would_differ(m: Moment) -> Job:
    job = with_outcome(m.job, Outcome.AMBIGUOUS)
    return asks(
        replace(m, job=job),
        Reason.AMBIGUOUS_SUBMISSION,
        "an earlier request may have been accepted, and a retry would not be the same byte for byte",
        unsettled=True,
    )


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
        poll_url=m.event.poll_url if isinstance(m.event, Answered) else None,
        slot=held(m.job),
        unsettled=False,
        absent=0,
        misses=0,
        adopt=None,
    )
    return job if job.attempt is None else with_outcome(job, Outcome.ACCEPTED)


def _canceled_meanwhile(m: Moment) -> bool:
    return m.job.cancel_requested and not m.job.unsettled


def _not_accepted(m: Moment) -> Job:
    return replace(with_outcome(m.job, Outcome.NOT_ACCEPTED), slot=None)


def _idle_again(m: Moment) -> Job:
    job = with_outcome(m.job, Outcome.NOT_ACCEPTED)
    return sooner(m, replace(job, slot=None, retry_at=m.event.retry_at or m.now, first_sent_at=None, absent=0))


def _still_ambiguous(m: Moment) -> Job:
    job = replace(with_outcome(m.job, Outcome.AMBIGUOUS), retry_at=m.event.retry_at or m.now)
    if key_alive(m.job, m.traits, m.now) or may_be_found(m):
        return sooner(m, job)
    return asks(
        replace(m, job=job),
        Reason.AMBIGUOUS_SUBMISSION,
        "an earlier request may have been accepted; this one was not, and no key can be sent again",
    )


def may_be_found(m: Moment) -> bool:
    return m.traits.lookup and m.job.absent < ABSENT_ENOUGH


def _rejected(m: Moment) -> Job:
    job = with_outcome(m.job, Outcome.REJECTED)
    return replace(job, slot=None, error=JobError(code=m.event.code, message=m.event.message[:300]))


def _rejected_unsettled(m: Moment) -> Job:
    job = with_outcome(m.job, Outcome.AMBIGUOUS)
    return asks(
        replace(m, job=job),
        Reason.AMBIGUOUS_SUBMISSION,
        f"an earlier request may have been accepted; the retry was rejected: {m.event.message}",
    )


def _ambiguous(m: Moment) -> Job:
    job = replace(with_outcome(m.job, Outcome.AMBIGUOUS), unsettled=True, retry_at=m.event.retry_at or m.now)
    overdue = m.now >= m.job.start_deadline
    if not overdue and (key_alive(m.job, m.traits, m.now) or may_be_found(m)):
        return sooner(m, job)
    return asks(replace(m, job=job), Reason.AMBIGUOUS_SUBMISSION, f"the request may be paid for: {m.event.message}")


def _retries_by_key(m: Moment) -> bool:
    return key_alive(m.job, m.traits, m.now) and m.now < m.job.start_deadline


def extra_found(m: Moment) -> Job:
    return finds(m.job, FindingKind.EXTRA_SUBMISSION, m.event.provider_job_id, m.now)


def extra_is_new(m: Moment) -> bool:
    return not has_finding(m.job, FindingKind.EXTRA_SUBMISSION, m.event.provider_job_id)


def _enters_wait(m: Moment) -> bool:
    free = m.job.state is State.PENDING or is_idle(m.job)
    return free and m.job.attention is None and m.job.wait is None


ROWS: tuple[Rule, ...] = (
    # Claim
    rule("1", State.PENDING, Claim, guard=_offered, to=State.SUBMITTING, effect=_fresh,
         says="claimed with a slot, before the request leaves"),
    rule("4", State.SUBMITTING, Claim, guard=lambda m: idle(m) and m.job.attention is None and _offered(m),
         effect=_fresh_again, says="claimed again with the same key: nothing of it is unsettled"),
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
    rule("18a", State.SUBMITTING, Answered, guard=lambda m: _accepted(m) and extra_is_new(m), effect=extra_found,
         says="an older submission was accepted too"),
    rule("18b", State.SUBMITTING, Answered, guard=_accepted, why=Why.DUPLICATE,
         says="an older submission, told before"),
    rule("8c", State.SUBMITTING, Answered,
         guard=lambda m: _refused_before_accepting(m) and _canceled_meanwhile(m) and _blocked(m),
         to=State.CANCELED, effect=_not_accepted, wakes=False,
         says="the account is blocked, and the caller wanted to cancel: nobody is woken"),
    rule("8a", State.SUBMITTING, Answered,
         guard=lambda m: _refused_before_accepting(m) and _canceled_meanwhile(m),
         to=State.CANCELED, effect=_not_accepted, says="not accepted, and the caller wanted to cancel"),
    rule("8b", State.SUBMITTING, Answered,
         guard=lambda m: _refused_before_accepting(m) and not m.job.unsettled and _blocked(m),
         effect=_idle_again, remark=remark("blocked"), words=("dispatch",), wakes=False,
         says="the account is blocked: idle, and nobody is woken"),
    rule("8", State.SUBMITTING, Answered,
         guard=lambda m: _refused_before_accepting(m) and not m.job.unsettled,
         effect=_idle_again, remark=remark("not_accepted"), words=("dispatch",),
         says="proven not accepted: idle, slot freed, later with the same key"),
    rule("9k", State.SUBMITTING, Answered,
         guard=lambda m: _refused_before_accepting(m) and key_alive(m.job, m.traits, m.now),
         effect=_still_ambiguous, remark=lambda m: f"{m.event.kind}_unsettled", words=("dispatch",),
         says="this retry was not accepted, an earlier attempt may have been: slot kept, the same key goes again"),
    rule("9", State.SUBMITTING, Answered, guard=_refused_before_accepting, effect=_still_ambiguous,
         remark=lambda m: f"{m.event.kind}_unsettled",
         says="the same without a key to send again: looked up where possible, else attention"),
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
)  # fmt: skip
