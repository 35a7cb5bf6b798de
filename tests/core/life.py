"""One job's life under the real `decide`: tests say what happens, in order, and look at the job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from mediajobs.jobs.birth import new_job
from mediajobs.jobs.decide import Change, Ignore, decide
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
    Status,
    StepFailed,
    Stored,
    Tick,
    Traits,
    TurnedAway,
    Word,
)
from mediajobs.jobs.model import Job, Output
from mediajobs.jobs.states import RANK, TERMINAL, Source, State

NOW = 1_800_000_000_000
DAY_S = 86_400

KEYED = Traits(provider="sim", idempotent=True, key_life_s=DAY_S, cancel=True)
PLAIN = Traits(provider="sim", cancel=True)
LOOKED_UP = Traits(provider="sim", lookup=True, cancel=True)
NO_CANCEL = Traits(provider="sim")

MEDIA = Output(key="results/j/i/r/0", content_type="video/mp4", size=9, sha256="0" * 64)


class Life:
    """A job, the time and the provider's traits. Each event is checked for what must hold after every write."""

    def __init__(self, traits: Traits = KEYED, *, start_within_s: int = DAY_S) -> None:
        self.traits = traits
        self.now = NOW
        self.job: Job = new_job(
            job_id="a" * 26,
            tenant="acme",
            provider="sim",
            model="video-1",
            payload_digest=b"\0" * 32,
            incarnation="incarnation22",
            start_within_s=start_within_s,
            traits=traits,
            now=NOW,
        )

    # -- what happens

    def do(self, event: Event) -> Change | Ignore:
        """Let it happen; the job is then as it was written."""
        decision = decide(self.job, event, self.now, self.traits)
        if isinstance(decision, Change):
            check(self.job, decision)
            self.job = decision.after
        return decision

    def expect(self, row: str, event: Event) -> Change | Ignore:
        """Let it happen, by this very row of the table."""
        decision = self.do(event)
        assert decision.rule == row, f"row {decision.rule} spoke instead of {row}"
        return decision

    def later(self, seconds: float) -> Life:
        self.now += round(seconds * 1000)
        return self

    def having(self, **fields: Any) -> Life:
        """Put the job straight into a condition that would take long to reach."""
        self.job = replace(self.job, **fields)
        return self

    # -- short ways to get there

    def claim(self, token: str = "w0", **fields: Any) -> Life:
        self.do(claim(token, **fields))
        assert self.job.attempt is not None
        assert self.job.attempt.token == token, "the claim was not let through"
        return self

    def answer(self, kind: AnswerKind, token: str = "w0", **fields: Any) -> Life:
        self.do(answered(kind, token, **fields))
        return self

    def run(self, provider_job_id: str = "p0") -> Life:
        return self.claim().answer(AnswerKind.ACCEPTED, provider_job_id=provider_job_id)

    def idle(self) -> Life:
        """Claimed, and proven not accepted."""
        return self.claim().answer(AnswerKind.NOT_ACCEPTED, retry_at=self.now + 10_000)

    def unsure(self, retry_in_s: int = 10) -> Life:
        """Claimed, and perhaps paid for."""
        return self.claim().answer(AnswerKind.AMBIGUOUS, retry_at=self.now + retry_in_s * 1000)

    def store(self) -> Life:
        """Running, and the provider succeeded."""
        self.run()
        self.do(word(Status.SUCCEEDED))
        return self

    def succeed(self) -> Life:
        self.store()
        self.do(Stored(outputs=(MEDIA,)))
        return self

    def dead(self, step: str = "dispatch") -> Life:
        """With the question that five failures raise."""
        self.do(StepFailed(step=step, message="died", retry_at=self.now, enough=True))
        assert self.job.attention is not None
        return self

    def lost(self) -> Life:
        """Running, and the provider does not know the id."""
        self.run()
        for _ in range(self.traits.lost_after):
            self.do(Gone(provider_job_id="p0"))
        return self

    def decides(self, kind: DecisionKind, provider_job_id: str | None = None) -> Decision:
        """A person's answer to the question that is open now."""
        assert self.job.attention is not None
        return Decision(kind=kind, attention_version=self.job.attention.version, provider_job_id=provider_job_id)

    # -- what can be seen

    @property
    def state(self) -> State:
        return self.job.state

    @property
    def reason(self) -> str | None:
        return None if self.job.attention is None else str(self.job.attention.reason)

    @property
    def due_in_s(self) -> float | None:
        return None if self.job.due_at is None else (self.job.due_at - self.now) / 1000

    @property
    def findings(self) -> list[tuple[str, str]]:
        return [(str(finding.kind), finding.provider_job_id) for finding in self.job.findings]


def check(before: Job, change: Change) -> None:
    """Invariants 1 and 3, and that a slot is held only where one can be held; true after every single write."""
    after = change.after
    assert change.before.version == before.version
    assert after.version == before.version + 1
    if before.state in TERMINAL:
        assert after.state is before.state
        assert after.final_version == before.final_version
        assert (after.error, after.outputs) == (before.error, before.outputs)
    elif after.state is not before.state:
        assert RANK[after.state] > RANK[before.state]
    done = after.state in TERMINAL and after.published_at is not None
    assert (after.due_at is None) == done
    assert after.slot is None or after.state in (State.SUBMITTING, State.RUNNING)
    assert (after.final_version is not None) == (after.state in TERMINAL)
    assert after.attention is None or after.wait is None
    assert len(after.history) <= 21


def claim(token: str = "w0", **fields: Any) -> Claim:
    return Claim(**{"token": token, "digest": "d" * 24, "slot": "001", **fields})


def answered(kind: AnswerKind, token: str = "w0", **fields: Any) -> Answered:
    return Answered(**{"kind": kind, "token": token, "submission": 1, **fields})


def word(status: Status, provider_job_id: str = "p0", submission: int | None = 1, **fields: Any) -> Word:
    return Word(
        **{
            "status": status,
            "provider_job_id": provider_job_id,
            "submission": submission,
            "source": Source.WEBHOOK,
            "raw": str(status),
            **fields,
        }
    )


def away(place: str = "0000000001#1800000000000#" + "a" * 26) -> TurnedAway:
    return TurnedAway(place=place)


CANCEL = Cancel()
TICK = Tick()
ABSENT = Absent()


def lives(**makers: Callable[[], Life]) -> pytest.MarkDecorator:
    """A test about each of these lives, by name; it takes `make`."""
    return pytest.mark.parametrize("make", list(makers.values()), ids=list(makers))
