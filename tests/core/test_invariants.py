"""Any sequence, repetition and order of what can happen keeps the invariants, whatever the provider is like.

Reproduce a failure with the blob that Hypothesis prints, or search for new ones: HYPOTHESIS_PROFILE=search.
"""

from __future__ import annotations

from typing import Any

from hypothesis import note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mediajobs.jobs.events import (
    Acknowledge,
    AnswerKind,
    Cancel,
    DecisionKind,
    Invalid,
    Moved,
    NoUrl,
    Published,
    Status,
    StepFailed,
    Stored,
    Tick,
    TurnedAway,
)
from mediajobs.jobs.states import State
from tests.core.life import MEDIA
from tests.core.world import World, traits

JOBS = st.integers(0, 1)
ANY = st.integers(0, 99)
KINDS = st.sampled_from([kind for kind in AnswerKind if kind is not AnswerKind.AMBIGUOUS])
SECONDS = st.sampled_from([0.5, 5, 20, 45, 61, 120, 300, 900, 4000])


class Lives(RuleBasedStateMachine):
    """Two jobs and one slot (or two), under everything that can go wrong."""

    @initialize(
        idempotent=st.booleans(),
        lookup=st.booleans(),
        cancel=st.booleans(),
        webhooks=st.booleans(),
        key_life_s=st.sampled_from([150, 400, 86_400]),
        limit=st.integers(1, 2),
        start_within_s=st.sampled_from([100, 600, 86_400]),
    )
    def begin(self, limit: int, start_within_s: int, **fields: Any) -> None:
        self.world = World(traits(**fields), limit, start_within_s)

    # -- our side

    @rule(seconds=SECONDS)
    def time(self, seconds: float) -> None:
        self.world.pass_time(seconds)

    @rule(job=JOBS, same=st.sampled_from([True, True, True, False]))
    def claim(self, job: int, same: bool) -> None:
        self.world.claim(job, digest=("d" if same else "e") * 24)

    @rule(job=JOBS)
    def tick(self, job: int) -> None:
        self.world.do(job, Tick())

    @rule(job=JOBS)
    def cancel(self, job: int) -> None:
        self.world.do(job, Cancel())

    @rule(job=JOBS, place=ANY)
    def turned_away(self, job: int, place: int) -> None:
        self.world.do(job, TurnedAway(place=f"{place:010d}#x"))

    @rule(job=JOBS, enough=st.booleans())
    def fails(self, job: int, enough: bool) -> None:
        self.world.do(job, StepFailed(step="dispatch", message="x", retry_at=self.world.now + 5000, enough=enough))

    @rule(job=JOBS, seconds=SECONDS)
    def move(self, job: int, seconds: float) -> None:
        self.world.do(job, Moved(due_at=self.world.now + round(seconds * 1000)))

    @rule(job=JOBS, event=st.sampled_from([Stored(outputs=(MEDIA,)), Invalid(message="x"), NoUrl(message="x")]))
    def store(self, job: int, event: Any) -> None:
        self.world.do(job, event)

    @rule(job=JOBS)
    def publish(self, job: int) -> None:
        self.world.do(job, Published(ttl=1))

    # -- the provider

    @precondition(lambda self: self.world.wires)
    @rule(which=ANY, kind=KINDS, heard=st.sampled_from(["heard", "lost", "dead"]))
    def arrive(self, which: int, kind: AnswerKind, heard: str) -> None:
        self.world.arrive(which % len(self.world.wires), kind, heard)

    @precondition(lambda self: self.world.wires)
    @rule(which=ANY)
    def time_out(self, which: int) -> None:
        self.world.time_out(which % len(self.world.wires))

    @precondition(lambda self: self.world.answers)
    @rule(which=ANY, again=st.booleans())
    def answer(self, which: int, again: bool) -> None:
        index = which % len(self.world.answers)
        self.world.do(*(self.world.answers[index] if again else self.world.answers.pop(index)))

    @precondition(lambda self: self.world.truths)
    @rule(which=ANY, status=st.sampled_from([Status.SUCCEEDED, Status.FAILED, Status.CANCELED]))
    def finish(self, which: int, status: Status) -> None:
        self.world.finish(which % len(self.world.truths), status)

    @precondition(lambda self: self.world.truths)
    @rule(which=ANY, said=ANY)
    def webhook(self, which: int, said: int) -> None:
        self.world.word(which % len(self.world.truths), said)

    @rule(job=JOBS, found=st.booleans())
    def look_up(self, job: int, found: bool) -> None:
        if self.world.traits.lookup:
            self.world.look_up(job, found=found)

    @rule(job=JOBS, found=st.booleans())
    def poll(self, job: int, found: bool) -> None:
        self.world.poll(job, found=found)

    # -- people

    @precondition(lambda self: any(job.attention for job in self.world.jobs))
    @rule(job=JOBS, kind=st.sampled_from(DecisionKind), which=ANY)
    def decides(self, job: int, kind: DecisionKind, which: int) -> None:
        self.world.decides(job, kind, which)

    @precondition(lambda self: any(job.findings for job in self.world.jobs))
    @rule(job=JOBS)
    def acknowledge(self, job: int) -> None:
        for finding in self.world.jobs[job].findings:
            self.world.do(job, Acknowledge(provider_job_id=finding.provider_job_id))

    # -- what must hold

    @invariant()
    def nothing_is_violated(self) -> None:
        if hasattr(self, "world"):
            assert not self.world.violations()

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        for line in self.world.trail:
            note(line)
        self.world.recover()
        for job in self.world.jobs:
            assert job.due_at is None or job.attention is not None, f"neither home nor asking: {job}"
            assert job.state is not State.SUBMITTING or job.attention is not None


TestLives = Lives.TestCase
TestLives.settings = settings(max_examples=250, stateful_step_count=40)
