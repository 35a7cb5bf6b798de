"""The wrong readings of PROTOCOL.md's "Why", switched on one at a time around the real code: each has to be caught.

They show that the explorer would see what the rules prevent. A reading is a changed `decide`, a changed outside, or
another step, and the model in which it does harm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from mediajobs.jobs.decide import Change, Ignore
from mediajobs.jobs.decide import decide as real
from mediajobs.jobs.events import (
    Absent,
    Answered,
    AnswerKind,
    Cancel,
    Claim,
    Decision,
    DecisionKind,
    Event,
    Gone,
    NoUrl,
    Status,
    Tick,
    Traits,
    Word,
)
from mediajobs.jobs.model import Job, JobError
from mediajobs.jobs.rules import Why
from mediajobs.jobs.states import TERMINAL, ErrorCode, Outcome, Source, State
from tests.simulation.explore.tape import Run
from tests.simulation.explore.twist import Decide
from tests.simulation.explore.wrong_steps import mark_before_send

Decision_ = Change | Ignore
Reading = Callable[[Job, Any, int, Traits], Decision_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrong:
    """One wrong reading. `hint` is where PROTOCOL.md speaks of it."""

    name: str
    hint: str
    model: str
    decide: Decide = real
    flags: frozenset[str] = frozenset()
    runs: dict[str, Run] = field(default_factory=dict)
    people: tuple[str, ...] = ()  # words that an operator uses beside the model's
    left: dict[str, int] = field(default_factory=dict)  # what is allowed instead of the model's
    grid: tuple[int, ...] = ()


def _on(kind: type[Event], reading: Reading, *states: State) -> Decide:
    """The real `decide`, but for this kind of event (in these states)."""

    def decide(job: Job, event: Event, now: int, traits: Traits) -> Decision_:
        if isinstance(event, kind) and (not states or job.state in states):
            return reading(job, event, now, traits)
        return real(job, event, now, traits)

    return decide


def _as(job: Job, event: Event, now: int, traits: Traits, **fields: Any) -> Decision_:
    """What the real `decide` says of a row that is another in these fields."""
    decision = real(replace(job, **fields), event, now, traits)
    return replace(decision, before=job) if isinstance(decision, Change) else decision


def _then(after: Callable[[Job, Job], dict[str, Any]], *rules: str) -> Decide:
    """The real `decide`, and what it writes (by these rows) changed once more."""

    def decide(job: Job, event: Event, now: int, traits: Traits) -> Decision_:
        decision = real(job, event, now, traits)
        if isinstance(decision, Change) and (not rules or decision.rule in rules):
            return replace(decision, after=replace(decision.after, **after(job, decision.after)))
        return decision

    return decide


def _never(*rules: str) -> Decide:
    """The real `decide` without these rows."""

    def decide(job: Job, event: Event, now: int, traits: Traits) -> Decision_:
        decision = real(job, event, now, traits)
        if isinstance(decision, Change) and decision.rule in rules:
            return Ignore(why=Why.NOT_NOW, rule="wrong", says="wrong")
        return decision

    return decide


def _ended(job: Job, to: State, now: int) -> Change:
    """The job ended at once."""
    error = JobError(code=ErrorCode.PROVIDER_ERROR, message="") if to is State.FAILED else None
    after = replace(
        job, state=to, version=job.version + 1, final_version=job.version + 1, slot=None, since=now, updated_at=now,
        attention=None, wait=None, error=error, retry_at=None, out="publish",
    )  # fmt: skip
    return Change(before=job, after=after, rule="wrong")


def _fails(when: Callable[[Job, Any, int, Traits], bool]) -> Reading:
    return lambda job, event, now, traits: (
        _ended(job, State.FAILED, now) if when(job, event, now, traits) else real(job, event, now, traits)
    )


_REFUSALS = (AnswerKind.NOT_ACCEPTED, AnswerKind.BLOCKED, AnswerKind.REJECTED)


def _refusal_for_all(job: Job, event: Answered, now: int, traits: Traits) -> Decision_:
    if event.kind in _REFUSALS:
        return _as(job, event, now, traits, unsettled=False)
    return real(job, event, now, traits)


def _trusted_503(job: Job, event: Answered, now: int, traits: Traits) -> Decision_:
    if event.kind is AnswerKind.AMBIGUOUS:
        event = replace(event, kind=AnswerKind.NOT_ACCEPTED)
    return real(job, event, now, traits)


def _same_bytes(job: Job, event: Claim, now: int, traits: Traits) -> Decision_:
    return real(job, replace(event, digest=job.attempt.digest) if job.attempt else event, now, traits)


def _absent_is_proof(job: Job, event: Absent, now: int, traits: Traits) -> Decision_:
    if job.state is not State.SUBMITTING or job.attempt is None or job.attention is not None:
        return real(job, event, now, traits)
    answer = Answered(kind=AnswerKind.NOT_ACCEPTED, token=job.attempt.token, submission=job.submission)
    attempt = replace(job.attempt, outcome=Outcome.OPEN)
    return _as(job, answer, now, traits, attempt=attempt, unsettled=False)


def _canceled_at_once(job: Job, event: Cancel, now: int, traits: Traits) -> Decision_:
    return _ended(job, State.CANCELED, now)


def _resubmit_anywhere(job: Job, event: Decision, now: int, traits: Traits) -> Decision_:
    if event.kind is not DecisionKind.RESUBMIT or job.attention is None or job.attempt is None:
        return real(job, event, now, traits)
    after = replace(
        job, state=State.SUBMITTING, version=job.version + 1, submission=job.submission + 1, slot=None, attention=None,
        attempt=replace(job.attempt, outcome=Outcome.NOT_ACCEPTED), unsettled=False,
    )  # fmt: skip
    return Change(before=job, after=after, rule="wrong")


def _any_version(job: Job, event: Decision, now: int, traits: Traits) -> Decision_:
    if job.attention is not None:
        event = replace(event, attention_version=job.attention.version)
    return real(job, event, now, traits)


def _of_current(*statuses: Status) -> Reading:
    def reading(job: Job, event: Word, now: int, traits: Traits) -> Decision_:
        if event.status in statuses and event.submission is not None:
            event = replace(event, submission=job.submission)
        return real(job, event, now, traits)

    return reading


def _no_submission(job: Job, event: Word, now: int, traits: Traits) -> Decision_:
    current = replace(event, submission=job.submission)
    return real(job, current if event.source is Source.WEBHOOK else event, now, traits)


def _any_is_current(job: Job, event: Word, now: int, traits: Traits) -> Decision_:
    return real(job, replace(event, submission=event.submission or job.submission), now, traits)


def _is(status: Status) -> Callable[[Job, Any, int, Traits], bool]:
    return lambda job, event, now, traits: event.status is status


def _past(job: Job, event: Tick, now: int, traits: Traits) -> bool:
    return now >= job.start_deadline


def _is_overdue(job: Job, event: Tick, now: int, traits: Traits) -> bool:
    decision = real(job, event, now, traits)
    return isinstance(decision, Change) and decision.rule == "26l"


_grows = _then(lambda job, after: {"final_version": after.version} if after.state in TERMINAL else {})
_undue = _then(lambda job, after: {"due_at": None} if after.state in TERMINAL else {})
_freed = _then(lambda job, after: {"slot": None}, "12", "12k", "11", "9", "9k", "14")
_not_retaken = _then(lambda job, after: {"slot": job.slot}, "7", "15", "21", "25a")
_renewed = _then(lambda job, after: {"first_sent_at": after.attempt and after.attempt.started}, "6")
_renewed_by_restore = _then(lambda job, after: {"first_sent_at": after.attempt and after.attempt.started}, "45s")
_settled = _then(lambda job, after: {"unsettled": job.unsettled}, "6")

WRONGS: tuple[Wrong, ...] = (
    Wrong(name="a retry's refusal speaks for the job", hint="H1", model="keyed",
          decide=_on(Answered, _refusal_for_all)),
    Wrong(name="claiming over a dead attempt leaves nothing unsettled", hint="H1", model="keyed", decide=_settled),
    Wrong(name="503 is trusted as not accepted", hint="H2", model="keyless", decide=_on(Answered, _trusted_503)),
    Wrong(name="a key lives for ever", hint="H3", model="key ends", flags=frozenset({"key for ever"})),
    Wrong(name="each resume renews the key's life", hint="H3", model="key ends", decide=_renewed,
          left={"dispatch": 3}),
    Wrong(name="a retry with other bytes is sent", hint="H3", model="rotation", decide=_on(Claim, _same_bytes)),
    Wrong(name="absent is proof that nothing was accepted", hint="H4", model="lookup",
          decide=_on(Absent, _absent_is_proof)),
    Wrong(name="cancel ends a running job at once", hint="H5", model="cancel",
          decide=_on(Cancel, _canceled_at_once, State.RUNNING)),
    Wrong(name="cancel ends a job that is being submitted", hint="H5", model="keyed",
          decide=_on(Cancel, _canceled_at_once, State.SUBMITTING)),
    Wrong(name="the slot is freed when the answer is ambiguous", hint="H7", model="keyless", decide=_freed),
    Wrong(name="the slot of an unknown fate never lapses", hint="H7", model="slots", decide=_never("20", "27")),
    Wrong(name="evidence after a lapse takes no slot again", hint="H7", model="slots", decide=_not_retaken,
          left={"webhook": 1}),
    Wrong(name="the claim's token is made from the job", hint="H8", model="keyless",
          flags=frozenset({"same token"})),
    Wrong(name="the publication's version grows", hint="H9", model="publish", decide=_grows),
    Wrong(name="no incarnation", hint="H10", model="publish", flags=frozenset({"no incarnation"}),
          left={"dispatch": 1, "webhook": 1, "store": 1, "publish": 1, "look": 0, "conflict": 0}),
    Wrong(name="store runs share one key", hint="H11", model="store", flags=frozenset({"same run"})),
    Wrong(name="in progress is read as done", hint="H12", model="publish",
          flags=frozenset({"in progress is done"})),
    Wrong(name="marked before it is sent", hint="H12", model="publish",
          runs={"publish": mark_before_send}),
    Wrong(name="a killed run blocks its record for ever", hint="H12", model="publish",
          flags=frozenset({"record for ever"})),
    Wrong(name="due is removed when the job ends", hint="H12", model="publish", decide=_undue, left={"dispatch": 1}),
    Wrong(name="resubmit while running", hint="H13", model="polls",
          decide=_on(Decision, _resubmit_anywhere, State.RUNNING), people=("resubmit",)),
    Wrong(name="a decision names no question", hint="H13", model="two submissions", decide=_on(Decision, _any_version),
          grid=(0, 61, 130), left={"webhook": 0, "person": 2}),
    Wrong(name="an older submission's failed is heard", hint="H14", model="two submissions",
          decide=_on(Word, _of_current(Status.FAILED), State.SUBMITTING)),
    Wrong(name="an older submission binds beside the current one", hint="H14", model="two submissions",
          decide=_on(Word, _of_current(Status.RUNNING), State.SUBMITTING)),
    Wrong(name="the webhook URL names no submission", hint="H14", model="two submissions",
          decide=_on(Word, _no_submission)),
    Wrong(name="a word that names no submission is the current one's", hint="H14", model="account",
          decide=_on(Word, _any_is_current, State.SUBMITTING)),
    Wrong(name="failed is heard while storing", hint="H14", model="two submissions",
          decide=_on(Word, _fails(_is(Status.FAILED)), State.STORING)),
    Wrong(name="the start deadline fails any job that is being submitted", hint="H16", model="deadline",
          decide=_on(Tick, _fails(_past), State.SUBMITTING)),
    Wrong(name="the start deadline ends pending jobs only", hint="H16", model="deadline", decide=_never("5d")),
    Wrong(name="one provider id is bound to two jobs", hint="H20", model="one id", flags=frozenset({"clash"})),
    Wrong(name="a dead link fails a paid job", hint="H22", model="store",
          decide=_on(NoUrl, _fails(lambda *_: True), State.STORING)),
    Wrong(name="one 404 fails a job", hint="26", model="polls",
          decide=_on(Gone, _fails(lambda *_: True), State.RUNNING)),
    Wrong(name="overdue fails a job", hint="26", model="polls", decide=_on(Tick, _fails(_is_overdue), State.RUNNING)),
    Wrong(name="a word that nobody knows ends a job", hint="DESIGN 2", model="webhooks",
          decide=_on(Word, _fails(_is(Status.UNKNOWN)), State.RUNNING)),
    Wrong(name="writes are not guarded by the version", hint="DESIGN 2", model="keyless",
          flags=frozenset({"unguarded"})),
    Wrong(name="a table that was put back goes on without the procedure", hint="DESIGN 2", model="restored",
          flags=frozenset({"no procedure"})),
    Wrong(name="a restore renews the key's life", hint="DESIGN 2", model="key restored", decide=_renewed_by_restore),
    Wrong(name="a pause is written whatever stands there", hint="DESIGN 3", model="pauses",
          flags=frozenset({"pause unguarded"})),
)  # fmt: skip
