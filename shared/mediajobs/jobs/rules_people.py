"""Rows about callers and operators. Rows 2, 5, 19, 21-23, 28, 36-40, 42."""

from __future__ import annotations

from dataclasses import replace

from mediajobs.jobs.due import MINUTE, OVERDUE_FACTOR, is_idle, ms
from mediajobs.jobs.events import (
    Acknowledge,
    Adopted,
    AdoptRefused,
    Cancel,
    Decision,
    DecisionKind,
)
from mediajobs.jobs.model import Job, JobError
from mediajobs.jobs.rules import Guard, Moment, Rule, Why, attention_is, by, finds, held, remark, rule, sooner
from mediajobs.jobs.rules_submit import bound, idle
from mediajobs.jobs.states import TERMINAL, ErrorCode, FindingKind, Outcome, Reason, State

_alive = frozenset({State.SUBMITTING, State.RUNNING})
_any = frozenset(State)


def _decides(kind: DecisionKind, *reasons: Reason) -> Guard:
    """The person answers the very question that is open, with a word that answers it."""

    def guard(m: Moment) -> bool:
        attention = m.job.attention
        return (
            attention is not None
            and attention.version == m.event.attention_version
            and m.event.kind is kind
            and (not reasons or attention.reason in reasons)
        )

    return guard


def _when(*guards: Guard) -> Guard:
    return lambda m: all(guard(m) for guard in guards)


def _not(guard: Guard) -> Guard:
    return lambda m: not guard(m)


def _cannot_cancel(m: Moment) -> bool:
    return not m.traits.cancel


def _asked(m: Moment) -> bool:
    return m.job.cancel_requested


def _requested(m: Moment) -> Job:
    return sooner(m, replace(m.job, cancel_requested=True))


def _requested_of_provider(m: Moment) -> Job:
    # Relay's message asks at once; this look stands behind it.
    return by(replace(m.job, cancel_requested=True), m.now + ms(m.traits.poll_floor_s))


def _lease_over(m: Moment) -> bool:
    return m.job.attempt is not None and m.now >= m.job.attempt.lease_until


def _named(m: Moment) -> bool:
    return bool(m.event.provider_job_id)


def _to_adopt(m: Moment) -> Job:
    return sooner(m, replace(m.job, adopt=m.event.provider_job_id))


def _resubmitted(m: Moment) -> Job:
    attempt = m.job.attempt
    assert attempt is not None  # noqa: S101 the guard has looked
    job = replace(
        m.job,
        submission=m.job.submission + 1,
        attempt=replace(attempt, outcome=Outcome.NOT_ACCEPTED),
        slot=None,
        unsettled=False,
        attention=None,
        adopt=None,
        cancel_requested=False,
        absent=0,
        failures=0,
        first_sent_at=None,
        retry_at=None,
        # Else the start deadline, which may be past, would fail it at once.
        start_deadline=m.now + m.job.start_within_s * 1000,
    )
    return sooner(m, job)


def _failed(m: Moment) -> Job:
    reason = m.job.attention.reason if m.job.attention else ""
    text = f"failed by an operator who was asked about {reason}"
    return replace(m.job, slot=None, error=JobError(code=ErrorCode.FAILED_BY_OPERATOR, message=text))


def _retried(m: Moment) -> Job:
    # Relay's message goes at once, this look stands behind it; a running job has no message, it is polled.
    when = m.now if m.job.state is State.RUNNING else m.now + MINUTE
    return by(replace(m.job, attention=None, failures=0, retry_at=None), when)


def _patient(m: Moment) -> Job:
    """Doubled, or more where the doubled limit is past too: else the question would be back at the next look. Whoever
    waits for a job says that it runs: one whose slot has lapsed takes it again.
    """
    limit = max(1, ms(OVERDUE_FACTOR * m.traits.expected_s))
    enough = (m.now - m.job.since) // limit + 1
    return replace(m.job, attention=None, patience=max(m.job.patience * 2, enough), slot=held(m.job))


def _adopted_now(m: Moment) -> bool:
    return m.job.adopt is not None and m.job.adopt == m.event.provider_job_id


def _adopted(m: Moment) -> Job:
    job = bound(m)
    if m.event.submission is not None and m.event.submission != m.job.submission:
        job = finds(job, FindingKind.EXTRA_SUBMISSION, f"submission {m.job.submission}", m.now)
    return job


def _replaced(m: Moment) -> Job:
    old = m.job.provider_job_id
    job = replace(bound(m), attention=None)
    if old is not None and old != m.event.provider_job_id:
        job = finds(job, FindingKind.EXTRA_SUBMISSION, old, m.now)
    return job


def _refused(m: Moment) -> Job:
    attention = m.job.attention
    assert attention is not None  # noqa: S101 adopt is only recorded under an open question
    return replace(m.job, adopt=None, attention=replace(attention, evidence=m.event.message[:300]))


def _has_unread(m: Moment) -> bool:
    return any(f.provider_job_id == m.event.provider_job_id and not f.acknowledged for f in m.job.findings)


def _was_read(m: Moment) -> bool:
    return any(f.provider_job_id == m.event.provider_job_id for f in m.job.findings)


def _read(m: Moment) -> Job:
    findings = tuple(
        replace(f, acknowledged=True) if f.provider_job_id == m.event.provider_job_id else f for f in m.job.findings
    )
    return replace(m.job, findings=findings)


_ambiguous = Reason.AMBIGUOUS_SUBMISSION

ROWS: tuple[Rule, ...] = (
    # Cancel is a request
    rule("2", State.PENDING, Cancel, to=State.CANCELED, effect=lambda m: m.job, says="canceled at once"),
    rule("5c", State.SUBMITTING, Cancel, guard=idle, to=State.CANCELED, effect=lambda m: m.job,
         says="canceled at once: the provider has nothing of it"),
    rule("19x", _alive, Cancel, guard=_asked, why=Why.DUPLICATE, says="the provider is being asked already"),
    rule("19n", _alive, Cancel, guard=_cannot_cancel, why=Why.REFUSED,
         says="this provider cannot cancel a job it may have accepted; it will end by itself"),
    rule("19", State.SUBMITTING, Cancel, effect=_requested, remark=remark("cancel_requested"),
         words=("cancel",), says="the provider is asked as soon as it can be, and its word decides"),
    rule("28", State.RUNNING, Cancel, effect=_requested_of_provider, remark=remark("cancel_requested"),
         words=("cancel",), says="the provider is asked until it says something final"),
    rule("33c", State.STORING, Cancel, why=Why.REFUSED, says="the result is paid for and being stored"),
    rule("33d", TERMINAL, Cancel, why=Why.REFUSED, says="the job has ended"),
    # A person's decision
    rule("21r", State.SUBMITTING, Decision, guard=_when(_decides(DecisionKind.ADOPT, _ambiguous), _named),
         effect=_to_adopt, remark=remark("adopt"), words=("dispatch",),
         says="recorded; dispatch asks the provider before anything is bound"),
    rule("22", State.SUBMITTING, Decision,
         guard=_when(_decides(DecisionKind.RESUBMIT, _ambiguous), _lease_over), effect=_resubmitted,
         remark=remark("resubmit"), words=("dispatch",), says="a new submission with a new key; may charge again"),
    rule("22x", State.SUBMITTING, Decision, guard=_decides(DecisionKind.RESUBMIT, _ambiguous),
         why=Why.REFUSED, says="the attempt's lease still runs: its request may be on the wire; try again in a minute"),
    rule("23", State.SUBMITTING, Decision, guard=_when(_decides(DecisionKind.FAIL), _not(idle)),
         to=State.FAILED, effect=_failed, says="failed by a person"),
    rule("40i", State.SUBMITTING, Decision, guard=_when(_decides(DecisionKind.FAIL, Reason.DEAD_LETTER), idle),
         to=State.FAILED, effect=_failed, says="failed by a person, never accepted"),
    rule("39s", State.SUBMITTING, Decision, guard=_decides(DecisionKind.RETRY, Reason.DEAD_LETTER),
         effect=_retried, remark=remark("retry"), words=("dispatch",), says="tried again"),
    rule("40", State.PENDING, Decision, guard=_decides(DecisionKind.FAIL, Reason.DEAD_LETTER), to=State.FAILED,
         effect=_failed, says="failed by a person, never submitted"),
    rule("39p", State.PENDING, Decision, guard=_decides(DecisionKind.RETRY, Reason.DEAD_LETTER),
         effect=_retried, remark=remark("retry"), words=("dispatch",), says="tried again"),
    rule("36", State.RUNNING, Decision, guard=_decides(DecisionKind.WAIT, Reason.OVERDUE),
         effect=_patient, remark=remark("wait"), says="patience doubled; slot kept or taken again"),
    rule("37r", State.RUNNING, Decision,
         guard=_when(_decides(DecisionKind.ADOPT, Reason.PROVIDER_LOST), _named), effect=_to_adopt,
         remark=remark("adopt"), words=("dispatch",),
         says="recorded; dispatch asks the provider before anything is bound"),
    rule("23r", frozenset({State.RUNNING, State.STORING}), Decision, guard=_decides(DecisionKind.FAIL),
         to=State.FAILED, effect=_failed, says="failed by a person"),
    rule("39r", State.RUNNING, Decision, guard=_decides(DecisionKind.RETRY, Reason.DEAD_LETTER),
         effect=_retried, remark=remark("retry"), says="polled again"),
    rule("38", State.STORING, Decision,
         guard=_decides(DecisionKind.RETRY, Reason.RESULT_UNAVAILABLE, Reason.DEAD_LETTER),
         effect=_retried, remark=remark("retry"), words=("store",), says="fetched again"),
    rule("39t", TERMINAL, Decision, guard=_decides(DecisionKind.RETRY, Reason.DEAD_LETTER), effect=_retried,
         remark=remark("retry"), words=("publish",), says="published again under the same id"),
    rule("23x", _any, Decision, why=Why.REFUSED,
         says="no such question is open at that version, or this answer does not fit it"),
    # What dispatch learned of an id that a person named
    rule("21", State.SUBMITTING, Adopted, guard=_when(_adopted_now, attention_is(_ambiguous)),
         to=State.RUNNING, effect=_adopted, says="the id exists and has not failed: bound, slot kept or taken"),
    rule("37", State.RUNNING, Adopted, guard=_when(_adopted_now, attention_is(Reason.PROVIDER_LOST)),
         effect=_replaced, remark=remark("adopted"), says="id replaced, the old one kept as a finding"),
    rule("21x", _any, Adopted, why=Why.STALE, says="the question was answered otherwise meanwhile"),
    rule("21n", _alive, AdoptRefused,
         guard=_when(_adopted_now, attention_is(_ambiguous, Reason.PROVIDER_LOST)), effect=_refused,
         remark=remark("adopt_refused"), says="the id cannot be adopted: the question stays open, with why"),
    rule("21y", _any, AdoptRefused, why=Why.STALE, says="the question was answered otherwise meanwhile"),
    rule("42", _any, Acknowledge, guard=_has_unread, effect=_read, remark=remark("acknowledge"),
         says="a person has read the finding"),
    rule("42d", _any, Acknowledge, guard=_was_read, why=Why.DUPLICATE, says="read before"),
    rule("42x", _any, Acknowledge, why=Why.REFUSED, says="no such finding is open"),
)  # fmt: skip


def decisions(job: Job) -> tuple[str, ...]:
    """The words with which a person may answer the question that is open now."""
    if job.attention is None:
        return ()
    if job.attention.reason is Reason.DEAD_LETTER and job.state in TERMINAL:
        return (DecisionKind.RETRY,)
    if job.attention.reason is Reason.AMBIGUOUS_SUBMISSION and not is_idle(job):
        return (DecisionKind.ADOPT, DecisionKind.RESUBMIT, DecisionKind.FAIL)
    return {
        Reason.AMBIGUOUS_SUBMISSION: (DecisionKind.FAIL,),
        Reason.OVERDUE: (DecisionKind.WAIT, DecisionKind.FAIL),
        Reason.PROVIDER_LOST: (DecisionKind.ADOPT, DecisionKind.FAIL),
        Reason.RESULT_UNAVAILABLE: (DecisionKind.RETRY, DecisionKind.FAIL),
        Reason.DEAD_LETTER: (DecisionKind.RETRY, DecisionKind.FAIL),
    }[job.attention.reason]
