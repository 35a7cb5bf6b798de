"""Rows about storing, publishing and our own failures. Rows 30-32, 35, 41."""

from __future__ import annotations

from dataclasses import replace

from mediajobs.jobs.events import Invalid, Moved, NoUrl, Published, StepFailed, Stored
from mediajobs.jobs.model import Job, JobError
from mediajobs.jobs.rules import Moment, Rule, Why, asks, attention_is, remark, rule, sooner
from mediajobs.jobs.states import OPEN, TERMINAL, ErrorCode, Reason, State

FAILURES_ENOUGH = 5

_any = frozenset(State)
_not_storing = frozenset(State) - {State.STORING}


def _no_question(m: Moment) -> bool:
    return m.job.attention is None or attention_is(Reason.DEAD_LETTER)(m)


def _unpublished(m: Moment) -> bool:
    return m.job.published_at is None


def _countable(m: Moment) -> bool:
    return m.job.attention is None and (m.job.state in OPEN or _unpublished(m))


def _failed_enough(m: Moment) -> bool:
    return _countable(m) and (m.event.enough or m.job.failures + 1 >= FAILURES_ENOUGH)


def _dead(m: Moment) -> Job:
    text = f"{m.event.step} failed {m.job.failures + 1} times: {m.event.message}"
    return asks(m, Reason.DEAD_LETTER, text, failures=m.job.failures + 1)


def _counted(m: Moment) -> Job:
    return sooner(m, replace(m.job, failures=m.job.failures + 1, retry_at=m.event.retry_at))


def _failure(m: Moment) -> str:
    return f"failed {m.event.step}"


def _published(m: Moment) -> Job:
    return replace(m.job, published_at=m.now, ttl=m.event.ttl, due_at=None, attention=None)


ROWS: tuple[Rule, ...] = (
    rule("30", State.STORING, Stored, to=State.SUCCEEDED,
         effect=lambda m: replace(m.job, outputs=m.event.outputs, links=()), says="stored and checked"),
    rule("30x", TERMINAL, Stored, why=Why.TERMINAL, says="another run has ended it; its objects are swept"),
    rule("30y", _not_storing - TERMINAL, Stored, why=Why.STALE, says="nothing to store"),
    rule("31", State.STORING, Invalid, to=State.FAILED,
         effect=lambda m: replace(
             m.job, links=(), error=JobError(code=ErrorCode.INVALID_RESULT, message=m.event.message[:300])),
         says="not the media asked for, after a fresh link too"),
    rule("31x", _not_storing, Invalid, why=Why.STALE, says="nothing to store"),
    rule("32", State.STORING, NoUrl, guard=_no_question,
         effect=lambda m: asks(m, Reason.RESULT_UNAVAILABLE, m.event.message),
         remark=remark("result_unavailable"), says="no link serves and the provider has none: attention"),
    rule("32x", _any, NoUrl, why=Why.DUPLICATE, says="asked already, or nothing to store"),
    rule("35", TERMINAL, Published, guard=_unpublished, effect=_published,
         says="a send returned: marked, due removed"),
    rule("35x", TERMINAL, Published, why=Why.DUPLICATE, says="marked already"),
    rule("35y", OPEN, Published, why=Why.STALE, says="not ended"),
    rule("41", _any, StepFailed, guard=_failed_enough, effect=_dead,
         remark=lambda m: f"dead_letter {m.event.step}", says="a step failed five times for a reason of ours"),
    rule("41a", frozenset({State.PENDING, State.SUBMITTING}), StepFailed, guard=_countable, effect=_counted,
         remark=_failure, words=("dispatch",), says="counted on the job; dispatch tries again later"),
    rule("41b", State.STORING, StepFailed, guard=_countable, effect=_counted, remark=_failure,
         words=("store",), says="counted on the job; store tries again later"),
    rule("41c", frozenset({State.RUNNING}) | TERMINAL, StepFailed, guard=_countable, effect=_counted,
         remark=_failure, says="counted on the job; reconcile tries again when it is due"),
    rule("41x", _any, StepFailed, why=Why.DUPLICATE, says="a question is open already, or all is done"),
    rule("44", _any, Moved, guard=lambda m: m.job.state in OPEN or _unpublished(m),
         effect=lambda m: replace(m.job, due_at=m.event.due_at), says="reconcile takes this look"),
    rule("44x", _any, Moved, why=Why.TERMINAL, says="nothing is left to look at"),
)  # fmt: skip
