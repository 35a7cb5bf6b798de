"""A provider whose truth is known, jobs that the real `decide` drives, and everything between them that can go wrong.

Requests arrive late or never, answers are lost, dispatchers die, events come early, late and again, lookups and polls
miss what is there. The moves below are what can happen; `violations` is what may not.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from mediajobs.jobs.birth import new_job
from mediajobs.jobs.decide import Change, Ignore, decide
from mediajobs.jobs.due import KEY_MARGIN_MS, attempt_over, first_due, is_idle, is_resumable, ms
from mediajobs.jobs.events import (
    Absent,
    Adopted,
    Answered,
    AnswerKind,
    Claim,
    Decision,
    DecisionKind,
    Event,
    Gone,
    Moved,
    Published,
    Status,
    Stored,
    Tick,
    Traits,
    Word,
)
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import TERMINAL, Outcome, Reason, Source, State
from mediajobs.pauses import Provider
from tests.core.life import MEDIA, NOW, check

FINAL = (Status.SUCCEEDED, Status.FAILED, Status.CANCELED)
BY_A_PERSON = {"23", "23r", "40", "40i"}
INVALID_RESULT = "31"


@dataclass
class Truth:
    """One job at the provider: one charge."""

    id: str
    job: int
    submission: int
    born: int
    status: Status = Status.RUNNING
    forgotten: bool = False  # the provider knows nothing of it any more

    @property
    def live(self) -> bool:
        return self.status is Status.RUNNING and not self.forgotten

    @property
    def words(self) -> list[Status]:
        """All that the provider ever said of it; any of it may arrive at any time, and again."""
        return list(dict.fromkeys([Status.RUNNING, self.status]))


@dataclass
class Wire:
    """A request on its way, whether its sender lives or not."""

    job: int
    submission: int
    token: str
    claimed: int


@dataclass
class World:
    """`jobs` share one provider and its limit."""

    traits: Traits
    limit: int = 1
    start_within_s: int = 86_400
    count: int = 2
    now: int = NOW
    jobs: list[Job] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    truths: list[Truth] = field(default_factory=list)
    keys: dict[tuple[int, int], tuple[str, int]] = field(default_factory=dict)  # (truth, first seen)
    wires: list[Wire] = field(default_factory=list)
    answers: list[tuple[int, Answered]] = field(default_factory=list)
    excused: set[tuple[int, int]] = field(default_factory=set)  # a person chose to go on without it
    ended_by_us: set[int] = field(default_factory=set)
    trail: list[str] = field(default_factory=list)
    tokens: int = 0

    def __post_init__(self) -> None:
        self.jobs = [
            new_job(
                job_id=chr(97 + number) * 26,
                tenant="acme",
                provider="sim",
                model="video-1",
                payload_digest=b"\0" * 32,
                incarnation="incarnation22",
                start_within_s=self.start_within_s,
                traits=self.traits,
                now=self.now,
            )
            for number in range(self.count)
        ]

    # -- our side: one write, with its slot row

    def do(self, number: int, event: Event) -> Change | Ignore:
        """Decide and write, as the table would take it; every write is checked."""
        job = self.jobs[number]
        decision = decide(job, event, self.now, self.traits)
        self.trail.append(f"{(self.now - NOW) / 1000:g} s: job {number} {event} -> {decision.rule}")
        if isinstance(decision, Change):
            check(job, decision)
            if not self._seat(number, job.slot, decision.after.slot):
                return Ignore(why=None, rule="slot taken", says="")  # type: ignore[arg-type]
            self.jobs[number] = decision.after
            self._judge(number, decision)
        return decision

    def _seat(self, number: int, before: str | None, after: str | None) -> bool:
        if after is not None and before is None:
            if after in self.rows:
                return False
            self.rows[after] = number
        elif before is not None and after is None:
            assert self.rows.pop(before) == number, "a row that was another's was given back"
        else:
            assert before == after, "a slot row was changed for another"
        return True

    def _judge(self, number: int, change: Change) -> None:
        """Invariant 7: the system ends no job that is live or paid for, of the current submission."""
        if change.after.submission != change.before.submission:
            self.excused.add((number, change.before.submission))
        if change.rule == "16" and change.after.findings != change.before.findings:
            # A person resubmitted, and the older submission came through: the newer one is a finding now.
            self.excused.add((number, change.after.submission))
        if not change.transition or change.after.state not in (State.FAILED, State.CANCELED):
            return
        if change.rule in BY_A_PERSON:
            self.excused |= {(number, submission) for submission in range(1, change.after.submission + 1)}
            return
        if change.rule == INVALID_RESULT:
            return
        if (number, change.before.submission) in self.excused:
            return  # a person adopted another submission's job; this one is a finding
        self.ended_by_us.add(number)
        own = self._of(number, change.before.submission)
        alive = [truth for truth in own if truth.live or truth.status is Status.SUCCEEDED]
        assert not alive, f"row {change.rule} ended a job that is live or paid for: {alive}"

    def _of(self, number: int, submission: int) -> list[Truth]:
        return [truth for truth in self.truths if (truth.job, truth.submission) == (number, submission)]

    # -- the provider's side

    def pass_time(self, seconds: float) -> None:
        self.now += ms(seconds)
        for truth in self.truths:
            # Whoever gave `max_run_s` knew what he said: no job lives longer, its way to the provider included.
            if truth.live and self.now >= truth.born + ms(self.traits.max_run_s) - KEY_MARGIN_MS:
                truth.status = Status.FAILED
        self.wires = [wire for wire in self.wires if self.now < wire.claimed + KEY_MARGIN_MS]

    def claim(self, number: int, *, digest: str = "d" * 24, claim_paused: bool = False) -> bool:
        """A dispatcher claims by the rows that are free; True where its request leaves."""
        self.tokens += 1
        token = f"w{self.tokens}"
        free = Provider(name="sim", held=tuple(self.rows)).free(self.limit)
        slot = free[0] if free else None
        decision = self.do(number, Claim(token=token, digest=digest, slot=slot, paused=claim_paused))
        attempt = self.jobs[number].attempt
        if not isinstance(decision, Change) or attempt is None or attempt.token != token:
            return False
        self.wires.append(Wire(number, self.jobs[number].submission, token, self.now))
        return True

    def arrive(self, index: int, kind: AnswerKind, heard: str) -> None:
        """A request reaches the provider, which takes it or proves that it did not; the answer is heard or lost."""
        wire = self.wires.pop(index)
        truth_id = self._accept(wire) if kind is AnswerKind.ACCEPTED else None
        self.trail.append(f"{(self.now - NOW) / 1000:g} s: request {wire.token} is {kind}, {truth_id}, {heard}")
        if heard == "dead":
            return
        said = kind if heard == "heard" else AnswerKind.AMBIGUOUS
        self._answered(wire, said, truth_id if heard == "heard" else None)

    def time_out(self, index: int) -> None:
        """The dispatcher gives up; its request is still on the wire."""
        self._answered(self.wires[index], AnswerKind.AMBIGUOUS, None)

    def _answered(self, wire: Wire, kind: AnswerKind, truth_id: str | None) -> None:
        answer = Answered(
            kind=kind,
            token=wire.token,
            submission=wire.submission,
            provider_job_id=truth_id,
            retry_at=self.now + 5000,
        )
        self.answers.append((wire.job, answer))

    def _accept(self, wire: Wire) -> str:
        key = (wire.job, wire.submission)
        known = self.keys.get(key)
        if self.traits.idempotent and known and self.now < known[1] + ms(self.traits.key_life_s):
            return known[0]
        truth = Truth(f"p{len(self.truths)}", wire.job, wire.submission, self.now)
        self.truths.append(truth)
        self.keys[key] = (truth.id, self.now)
        assert len(self._of(*key)) == 1, f"two charges of submission {key}"
        if wire.job in self.ended_by_us and wire.submission == self.jobs[wire.job].submission:
            raise AssertionError("a request was accepted after we had ended its job")
        flying = [t for t in self.truths if t.live and (t.job, t.submission) not in self.excused]
        assert len(flying) <= self.limit, f"{len(flying)} in flight, limit {self.limit}"
        return truth.id

    def finish(self, index: int, status: Status) -> None:
        if self.truths[index].live:
            self.truths[index].status = status

    def forget(self, index: int) -> None:
        self.truths[index].forgotten = True

    # -- what we hear of it

    def word(self, index: int, which: int, source: Source = Source.WEBHOOK) -> None:
        truth = self.truths[index]
        said = truth.words[which % len(truth.words)]
        self.do(truth.job, _word(truth, said, source))

    def look_up(self, number: int, *, found: bool) -> None:
        truths = self._of(number, self.jobs[number].submission)
        if found and truths and not truths[0].forgotten:
            self.do(number, _word(truths[0], truths[0].status, Source.POLL))
        else:
            self.do(number, Absent())

    def poll(self, number: int, *, found: bool) -> None:
        bound = self.jobs[number].provider_job_id
        if bound is None:
            return
        truth = next(truth for truth in self.truths if truth.id == bound)
        found = found and not truth.forgotten
        self.do(number, _word(truth, truth.status, Source.POLL) if found else Gone(provider_job_id=bound))

    # -- people

    def decides(self, number: int, kind: DecisionKind, which: int) -> None:
        job = self.jobs[number]
        version = job.attention.version if job.attention else job.version
        own = [truth for truth in self.truths if truth.job == number]
        truth = own[which % len(own)] if own else None
        event = Decision(kind=kind, attention_version=version, provider_job_id=truth.id if truth else "p99")
        taken = self.do(number, event)
        adopted = self.jobs[number].adopt
        if truth and adopted == truth.id and isinstance(taken, Change) and truth.status not in FINAL[1:]:
            old = next((t for t in own if t.id == job.provider_job_id), None)
            if isinstance(self.do(number, Adopted(provider_job_id=truth.id, submission=truth.submission)), Change):
                # A person chose this one; others of the job are findings now.
                others = {(t.job, t.submission) for t in [*own, *([old] if old else [])] if t.id != truth.id}
                self.excused |= others | {(number, s) for s in range(1, job.submission + 1) if s != truth.submission}

    # -- the end of all faults

    def recover(self) -> None:
        """From here on nothing fails and no webhook comes: reconcile and its dispatchers alone bring every job home."""
        self.answers.clear()
        self.wires.clear()
        for number in (*range(self.count), *range(self.count)):  # one that makes room for another goes on later
            self._bring_home(number)

    def _bring_home(self, number: int) -> None:
        for _ in range(60):
            job = self.jobs[number]
            if job.due_at is None or (job.attention is not None and _asks(job)):
                return
            self.pass_time(max(0, max(job.due_at, first_due(job, self.traits) or 0) - self.now) / 1000)
            self._look(number)
        raise AssertionError(f"job {number} never came home: {self.jobs[number]}")

    def _look(self, number: int) -> None:
        self.do(number, Tick())
        job = self.jobs[number]
        if job.due_at is not None and job.due_at <= self.now:
            self.do(number, Moved(due_at=self.now + 60_000))
        if job.state in TERMINAL:
            self.do(number, Published(ttl=1))
        elif job.state is State.STORING:
            self.do(number, Stored(outputs=(MEDIA,)))
        elif job.state is State.RUNNING:
            self.finish(
                next(i for i, truth in enumerate(self.truths) if truth.id == job.provider_job_id), Status.SUCCEEDED
            )
            self.poll(number, found=True)
        else:
            self._submit_or_look_up(number)

    def _submit_or_look_up(self, number: int) -> None:
        job = self.jobs[number]
        if job.state is State.PENDING or is_idle(job) or is_resumable(job, self.traits, self.now):
            if job.slot is None:
                self._make_room(number)
            if self.claim(number):
                self.arrive(len(self.wires) - 1, AnswerKind.ACCEPTED, "heard")
                self.do(*self.answers.pop())
        elif self.traits.lookup and attempt_over(job, self.now):
            self.look_up(number, found=True)

    def _make_room(self, number: int) -> None:
        """Others that hold the slots come home first, or lapse."""
        for slot, holder in list(self.rows.items()):
            if holder != number and slot in self.rows:
                self._end_holder(holder)

    def _end_holder(self, number: int) -> None:
        for _ in range(60):
            job = self.jobs[number]
            if job.slot is None:
                return
            self.pass_time(max(0, max(job.due_at or 0, first_due(job, self.traits) or 0) - self.now) / 1000)
            self._look(number)
        raise AssertionError(f"job {number} holds its slot for ever: {self.jobs[number]}")

    # -- what may never be

    def violations(self) -> list[str]:
        held = {job.slot: number for number, job in enumerate(self.jobs) if job.slot}
        wrong = [] if held == self.rows else [f"slots {held}, rows {self.rows}"]
        for number, job in enumerate(self.jobs):
            attempt = job.attempt
            lost = job.attention is not None and job.attention.reason is Reason.PROVIDER_LOST
            if job.state is State.RUNNING and job.slot is None and not lost:
                wrong.append(f"job {number} runs without a slot")
            if job.state is not State.SUBMITTING or attempt is None:
                continue
            open_ = attempt.outcome is Outcome.OPEN or job.unsettled
            lapsed = self.now >= attempt.started + ms(self.traits.max_run_s)
            if open_ and job.slot is None and not lapsed:
                wrong.append(f"job {number} is in doubt and holds no slot")
            if attempt.outcome is Outcome.AMBIGUOUS and not job.unsettled:
                wrong.append(f"job {number} has an ambiguous attempt and no doubt")
        return wrong


def _asks(job: Job) -> bool:
    """A person is asked and nothing of ours is to be done meanwhile."""
    return job.state in (State.SUBMITTING, State.STORING, State.RUNNING, State.PENDING)


def _word(truth: Truth, status: Status, source: Source) -> Word:
    return Word(status=status, provider_job_id=truth.id, submission=truth.submission, source=source, raw=str(status))


def traits(**fields: Any) -> Traits:
    """Short times, so that sequences reach every end of them."""
    given = {"provider": "sim", "expected_s": 30, "max_run_s": 900, "poll_floor_s": 5, "key_life_s": 400, **fields}
    return replace(Traits(provider="sim"), **given)
