"""Rows about what the provider says of its jobs. Rows 15-18, 24-27, 29, 33, 34."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mediajobs.jobs.due import is_idle, ms, overdue_at
from mediajobs.jobs.events import Answered, AnswerKind, Gone, Status, Tick, Word
from mediajobs.jobs.model import Job, JobError
from mediajobs.jobs.rules import (
    Guard,
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
)
from mediajobs.jobs.rules_submit import bound, extra_found, extra_is_new
from mediajobs.jobs.rules_time import lapse, lapsed
from mediajobs.jobs.states import TERMINAL, ErrorCode, FindingKind, Reason, State

_past = frozenset({State.STORING}) | TERMINAL
_lost_ones = frozenset({State.FAILED, State.CANCELED})


def says(*statuses: Status) -> Guard:
    """The provider's word is one of these."""
    return lambda m: m.event.status in statuses


def both(*guards: Guard) -> Guard:
    """All of them hold."""
    return lambda m: all(guard(m) for guard in guards)


def _same(m: Moment) -> bool:
    """Of the current submission. A word that names none (an account's webhook) is, as long as there is but one."""
    return m.event.submission == m.job.submission or (m.event.submission is None and m.job.submission == 1)


def _same_or_idle(m: Moment) -> bool:
    return _same(m) or is_idle(m.job)


def _ours(m: Moment) -> bool:
    return bool(m.job.provider_job_id == m.event.provider_job_id)


def _other(m: Moment) -> bool:
    return not _ours(m)


def _runs(m: Moment) -> Job:
    return replace(bound(m), provider_word=_raw(m))


def _new_word(m: Moment) -> bool:
    return bool(m.event.status is Status.UNKNOWN and _raw(m) != m.job.provider_word)


def _raw(m: Moment) -> str | None:
    word: str = m.event.raw
    return word[:60] or m.job.provider_word


def _paid_for(m: Moment) -> Job:
    """To storing: bound to the id that succeeded, links kept, slot given back."""
    other = not _same(m) and not is_idle(m.job) and m.job.state is State.SUBMITTING
    job = replace(bound(m), slot=None, links=m.event.links, provider_word=_raw(m))
    if other:
        # The current submission may live as well; its own id is not known yet, so its key names it.
        job = finds(job, FindingKind.EXTRA_SUBMISSION, f"submission {m.job.submission}", m.now)
    return job


def _ended(code: ErrorCode | None) -> Callable[[Moment], Job]:
    def effect(m: Moment) -> Job:
        error = None if code is None else JobError(code=m.event.code, message=m.event.message[:300])
        job = replace(m.job, slot=None, error=error, provider_word=_raw(m))
        return replace(job, provider_job_id=m.job.provider_job_id or m.event.provider_job_id)

    return effect


def _heard(m: Moment) -> Job:
    return replace(m.job, provider_word=_raw(m))


def _was_missed(m: Moment) -> bool:
    return m.job.misses > 0


def _alive_again(m: Moment) -> Job:
    return replace(m.job, attention=None, misses=0, slot=held(m.job))


def _slotless(m: Moment) -> bool:
    return m.job.slot is None


def _seated_again(m: Moment) -> Job:
    return replace(m.job, misses=0, slot=held(m.job))


def _late(m: Moment) -> Job:
    return finds(m.job, FindingKind.LATE_RESULT, m.event.provider_job_id, m.now)


def _late_is_new(m: Moment) -> bool:
    return not has_finding(m.job, FindingKind.LATE_RESULT, m.event.provider_job_id)


def _accepted_other(m: Moment) -> bool:
    return m.event.kind is AnswerKind.ACCEPTED and _other(m) and extra_is_new(m)


def _says_where_to_ask(m: Moment) -> bool:
    return _ours(m) and m.event.poll_url not in (None, m.job.poll_url)


def _gone_enough(m: Moment) -> bool:
    lost = attention_is(Reason.PROVIDER_LOST)(m)
    return _ours(m) and not lost and m.job.misses + 1 >= m.traits.lost_after


def _missed(m: Moment) -> Job:
    """The next look is by the number of misses, not by the job's age: a lost job holds a slot."""
    misses = m.job.misses + 1
    again = m.now + ms(m.traits.poll_floor_s) * 2 ** (misses + 1)
    return replace(m.job, misses=misses, due_at=min(again, m.job.due_at or again))


def _lost(m: Moment) -> Job:
    text = f"the provider answered {m.job.misses + 1} times that it does not know {m.event.provider_job_id}"
    return asks(m, Reason.PROVIDER_LOST, text, misses=m.job.misses + 1)


def _is_late(m: Moment) -> bool:
    return m.job.attention is None and m.now >= overdue_at(m.job, m.traits)


def _overdue(m: Moment) -> Job:
    text = f"running since {(m.now - m.job.since) // 1000} s, expected {m.traits.expected_s:g} s"
    return asks(m, Reason.OVERDUE, text)


_not_lost = lambda m: not attention_is(Reason.PROVIDER_LOST)(m)  # noqa: E731 a guard like the others

ROWS: tuple[Rule, ...] = (
    # submitting: an event that beats our own write, a lookup, an older submission
    rule("15", State.SUBMITTING, Word, guard=both(says(Status.RUNNING), _same_or_idle), to=State.RUNNING,
         effect=_runs, says="the provider has it: bound, slot kept, else taken unconditionally"),
    rule("16", State.SUBMITTING, Word, guard=says(Status.SUCCEEDED), to=State.STORING, effect=_paid_for,
         says="succeeded, of whichever submission: it was paid for"),
    rule("17f", State.SUBMITTING, Word, guard=both(says(Status.FAILED), _same), to=State.FAILED,
         effect=_ended(ErrorCode.PROVIDER_ERROR), says="the provider's word: failed"),
    rule("17c", State.SUBMITTING, Word, guard=both(says(Status.CANCELED), _same), to=State.CANCELED,
         effect=_ended(None), says="the provider's word: canceled"),
    rule("18", State.SUBMITTING, Word, guard=both(says(Status.RUNNING), extra_is_new), effect=extra_found,
         says="an older submission lives beside the current one"),
    rule("18w", State.SUBMITTING, Word, guard=both(_new_word, _same), effect=_heard,
         says="an unknown word is kept as it is and moves nothing"),
    rule("18x", State.SUBMITTING, Word, guard=says(Status.UNKNOWN), why=Why.UNKNOWN,
         says="an unknown word changes nothing"),
    rule("18y", State.SUBMITTING, Word, why=Why.STALE, says="an older submission's end, or told before"),
    rule("18z", State.PENDING, Word, why=Why.UNKNOWN, says="nothing was submitted yet"),
    # running
    rule("24s", State.RUNNING, Word, guard=both(_ours, says(Status.SUCCEEDED)), to=State.STORING,
         effect=_paid_for, says="succeeded"),
    rule("24f", State.RUNNING, Word, guard=both(_ours, says(Status.FAILED)), to=State.FAILED,
         effect=_ended(ErrorCode.PROVIDER_ERROR), says="failed"),
    rule("24c", State.RUNNING, Word, guard=both(_ours, says(Status.CANCELED)), to=State.CANCELED,
         effect=_ended(None), says="canceled"),
    rule("25a", State.RUNNING, Word,
         guard=both(_ours, says(Status.RUNNING), attention_is(Reason.PROVIDER_LOST)), effect=_alive_again,
         says="a lost job is found alive: question answered, slot kept or taken again"),
    rule("25c", State.RUNNING, Word, guard=both(_ours, says(Status.RUNNING), _slotless), effect=_seated_again,
         says="a job whose slot lapsed is found alive: slot taken again, the question stays"),
    rule("25b", State.RUNNING, Word, guard=both(_ours, says(Status.RUNNING), _was_missed),
         effect=lambda m: replace(m.job, misses=0), says="known again: 404s count anew"),
    rule("25", State.RUNNING, Word, guard=both(_ours, says(Status.RUNNING)), why=Why.DUPLICATE,
         says="known already"),
    rule("27u", State.RUNNING, Word,
         guard=both(_ours, says(Status.UNKNOWN), attention_is(Reason.OVERDUE), lapsed),
         effect=lambda m: replace(_heard(m), slot=None), remark=remark("slot_lapsed"),
         says="max run is over and the provider's word says nothing: the slot lapses, the question stays"),
    rule("25w", State.RUNNING, Word, guard=both(_ours, _new_word), effect=_heard,
         says="an unknown word is kept as it is and moves nothing"),
    rule("25u", State.RUNNING, Word, guard=says(Status.UNKNOWN), why=Why.UNKNOWN,
         says="an unknown word changes nothing"),
    rule("26a", State.RUNNING, Gone, guard=_gone_enough, effect=_lost, remark=remark("gone"),
         says="the provider does not know the id, several times: attention"),
    rule("26b", State.RUNNING, Gone, guard=both(_ours, _not_lost),
         effect=_missed, says="one 404 is no failure: counted, asked again soon"),
    rule("26x", frozenset(State), Gone, why=Why.DUPLICATE, says="told before, or not the bound id"),
    rule("27", State.RUNNING, Tick, guard=both(attention_is(Reason.PROVIDER_LOST), lapsed), effect=lapse,
         remark=remark("slot_lapsed"), says="max run is over: the slot lapses, the question stays"),
    rule("26l", State.RUNNING, Tick, guard=_is_late, effect=_overdue, says="past the expected time by a factor"),
    rule("26t", State.RUNNING, Tick, why=Why.NOT_NOW, says="nothing is over yet"),
    # another provider job shows itself; late successes
    rule("34", _lost_ones, Word, guard=both(says(Status.SUCCEEDED), _late_is_new), effect=_late,
         says="a success after failed or canceled: a person should know"),
    rule("34x", _lost_ones, Word, guard=says(Status.SUCCEEDED), why=Why.DUPLICATE, says="told before"),
    rule("29", frozenset({State.RUNNING}) | _past, Word,
         guard=both(_other, says(Status.RUNNING, Status.SUCCEEDED), extra_is_new), effect=extra_found,
         says="another provider job of this job lives or lived"),
    rule("29a", frozenset({State.RUNNING}) | _past, Answered, guard=_accepted_other, effect=extra_found,
         says="another request of this job was accepted"),
    rule("29p", State.RUNNING, Answered, guard=_says_where_to_ask,
         effect=lambda m: replace(m.job, poll_url=m.event.poll_url),
         says="the answer that a webhook has beaten still says where to ask"),
    rule("29b", frozenset({State.RUNNING}) | _past, Answered, why=Why.STALE,
         says="an answer that comes after the job went on"),
    rule("29x", State.RUNNING, Word, why=Why.STALE, says="not the bound id"),
    rule("33", State.STORING, Word, why=Why.DUPLICATE, says="paid for already: no provider word is heard"),
    rule("33t", TERMINAL, Word, why=Why.TERMINAL, says="a terminal state never changes"),
    rule("33k", _past, Tick, why=Why.NOT_NOW, says="nothing runs out here"),
)  # fmt: skip
