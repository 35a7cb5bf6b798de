"""Rows for a table that was put back to an earlier moment. Rows 45 of docs/lifecycle.md.

A row that was pending or submitting then may have been sent to its provider since, and the row does not know. So it
counts as sent and unanswered: it holds a slot, and the rows for an ambiguous attempt do the rest (the same key where
that is proved safe, a lookup, attention). Nothing that an earlier request may have paid for is sent afresh.
"""

from __future__ import annotations

from dataclasses import replace

from mediajobs.jobs.due import LEASE_MS
from mediajobs.jobs.events import Restored
from mediajobs.jobs.model import Attempt, Job
from mediajobs.jobs.rules import Moment, Rule, Why, attention_is, by, held, remark, rule
from mediajobs.jobs.states import Outcome, Reason, State

UNKNOWN = "unknown"

_past = frozenset(State) - {State.PENDING, State.SUBMITTING}


def _perhaps_sent(m: Moment) -> Job:
    """As if claimed by somebody whose request nobody has seen: when it left is unknown, so no key is alive."""
    attempt = Attempt(
        no=1,
        outcome=Outcome.AMBIGUOUS,
        token=UNKNOWN,
        started=m.now,
        lease_until=m.now + LEASE_MS,
        digest=UNKNOWN,
    )
    return _in_question(m, replace(m.job, attempt=attempt, first_sent_at=None))


def _perhaps_sent_again(m: Moment) -> Job:
    """The attempts that the row knows of, and perhaps later ones. `first_sent_at` stands only where one was
    unsettled already: then its key is as old as the row says.
    """
    attempt = m.job.attempt
    assert attempt is not None  # noqa: S101 the claim writes it with the state
    # Its slot lapses when nothing that was sent until now can live any longer.
    again = replace(attempt, outcome=Outcome.AMBIGUOUS, started=m.now, lease_until=m.now + LEASE_MS)
    asked = m.job.attention if attention_is(Reason.AMBIGUOUS_SUBMISSION)(m) else None
    return _in_question(m, replace(m.job, attempt=again, attention=asked, adopt=None))


def _in_question(m: Moment, job: Job) -> Job:
    return by(replace(job, slot=held(job), unsettled=True, absent=0, retry_at=m.now), m.now)


ROWS: tuple[Rule, ...] = (
    rule("45", State.PENDING, Restored, to=State.SUBMITTING, effect=_perhaps_sent,
         says="may have been sent since: in question, slot taken, looked up or asked about, never sent afresh"),
    rule("45s", State.SUBMITTING, Restored, effect=_perhaps_sent_again, remark=remark("restored"),
         says="may have been sent again since: in question, slot kept or taken"),
    rule("45x", _past, Restored, why=Why.STALE, says="nothing is sent from here: polled, stored or published as it is"),
)  # fmt: skip
