"""Decide, purely: what an event does to a job. Nothing else may change a job.

`decide(job, event, now, traits)` returns the `Change` to write under the version read, or a named reason to
`Ignore` the event. The rules are the rows of `TABLE`; the first whose guard holds speaks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mediajobs.jobs import history, rules_end, rules_people, rules_provider, rules_restore, rules_submit, rules_time
from mediajobs.jobs.due import is_idle
from mediajobs.jobs.events import (
    Absent,
    Acknowledge,
    Cancel,
    Clash,
    Decision,
    Event,
    Gone,
    Invalid,
    Moved,
    NoUrl,
    Published,
    Restored,
    StepFailed,
    Stored,
    Tick,
    Traits,
    Word,
)
from mediajobs.jobs.model import Job
from mediajobs.jobs.rules import Moment, Rule, Why, unless_far
from mediajobs.jobs.states import RANK, TERMINAL, Source, State

TABLE: tuple[Rule, ...] = (
    *rules_submit.ROWS,
    *rules_time.ROWS,
    *rules_provider.ROWS,
    *rules_people.ROWS,
    *rules_end.ROWS,
    *rules_restore.ROWS,
)

WORDS = ("dispatch", "store", "cancel", "next", "publish", "live")

_BY_EVENT: dict[tuple[State, type[Event]], tuple[Rule, ...]] = {}
for _rule in TABLE:
    for _state in _rule.states:
        _BY_EVENT[_state, _rule.event] = (*_BY_EVENT.get((_state, _rule.event), ()), _rule)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One write: `after` replaces `before` under `before.version`; its slot row changes with it."""

    before: Job
    after: Job
    rule: str  # the table's row

    @property
    def transition(self) -> bool:
        """The state changes (and the rank rises)."""
        return self.before.state is not self.after.state


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignore:
    """Nothing is written. Confirmed on a strongly consistent read before anybody relies on it."""

    why: Why
    rule: str
    says: str


def decide(job: Job, event: Event, now: int, traits: Traits) -> Change | Ignore:
    """The change that `event` makes to `job`, or why it makes none. Total: every pair is in the table."""
    moment = Moment(job, event, now, traits)
    row = next(r for r in rows(job.state, type(event)) if r.guard(moment))
    if row.effect is None:
        return Ignore(why=row.why or Why.STALE, rule=row.row, says=row.says)
    return _change(replace(moment, job=replace(job, out=None)), row)


def rows(state: State, event: type[Event]) -> tuple[Rule, ...]:
    """The table's rows for a state and a kind of event, in the order in which they are asked."""
    return _BY_EVENT[state, event]


def _change(m: Moment, row: Rule) -> Change:
    before = m.job
    assert row.effect is not None  # noqa: S101 decide has looked
    after = replace(row.effect(m), version=before.version + 1)
    if not isinstance(m.event, Moved):
        # A look that only sets the next one is no news; else each look would put off what counts from the last news.
        after = replace(after, updated_at=m.now)
    if row.to is not None:
        after = _enter(m, after, row.to)
    elif row.remark is not None:
        entry = history.note(after.version, row.remark(m), source_of(m), m.now, _attempt(after))
        after = _remember(after, entry)
    if after.wait is not None and _leaves_wait(m, after):
        after = replace(after, wait=None)
    if after.attention is None and after.adopt is not None:
        after = replace(after, adopt=None)  # the question was answered otherwise
    after = replace(after, out=_out(before, after, row))
    return Change(before=before, after=after, rule=row.row)


def _enter(m: Moment, after: Job, to: State) -> Job:
    """What every transition does: rank up, counters back, question answered, due kept unless far ahead."""
    assert RANK[to] > RANK[m.job.state]  # noqa: S101 the table is checked by a test, this by every write
    after = replace(after, state=to, since=m.now, attention=None, failures=0, misses=0, adopt=None, retry_at=None)
    if to in TERMINAL:
        after = replace(after, final_version=after.version)
    event = m.event
    new_id = after.provider_job_id if after.provider_job_id != m.job.provider_job_id else None
    entry = history.transition(
        after.version,
        m.job.state,
        to,
        source_of(m),
        m.now,
        attempt=_attempt(after),
        provider_job_id=new_id or "",
        event_id=event.event_id if isinstance(event, Word) else "",
        body_digest=event.body_digest if isinstance(event, Word) else "",
    )
    return unless_far(m, _remember(after, entry))


def _remember(job: Job, entry: str) -> Job:
    entries, count = history.append(job, entry)
    return replace(job, history=entries, history_count=count)


def _attempt(job: Job) -> int:
    return job.attempt.no if job.attempt else 0


def _leaves_wait(m: Moment, after: Job) -> bool:
    waits = after.state is State.PENDING or is_idle(after)
    return not waits or after.attention is not None or isinstance(m.event, StepFailed)


def _out(before: Job, after: Job, row: Rule) -> str | None:
    """Words for relay: what follows from the change itself, and what the row adds."""
    words = set(row.words)
    if before.state is not after.state:
        if after.state in TERMINAL:
            words |= {"publish", "live"}
        if after.state is State.STORING:
            words |= {"store", "live"}
    if before.slot and not after.slot and row.wakes:
        words.add("next")
    if before.attention != after.attention or before.findings != after.findings:
        words.add("live")
    newly_bound = after.provider_job_id is not None and after.provider_job_id != before.provider_job_id
    if after.cancel_requested and newly_bound and after.state is State.RUNNING:
        words.add("cancel")
    if after.attention is not None and before.attention is None:
        words.discard("dispatch")
    return " ".join(word for word in WORDS if word in words) or None


_SOURCES: dict[type[Event], Source] = {
    Cancel: Source.API,
    Decision: Source.OPERATOR,
    Acknowledge: Source.OPERATOR,
    Restored: Source.OPERATOR,
    Stored: Source.STORE,
    Invalid: Source.STORE,
    NoUrl: Source.STORE,
    StepFailed: Source.SYSTEM,
    Published: Source.SYSTEM,
    Tick: Source.POLL,
    Absent: Source.POLL,
    Gone: Source.POLL,
    Clash: Source.POLL,
    Moved: Source.POLL,
}


def source_of(m: Moment) -> Source:
    """Who brought the news."""
    if isinstance(m.event, Word):
        return m.event.source
    return _SOURCES.get(type(m.event), Source.DISPATCH)
