"""What can happen next in a `World`, weighted so that walks get far: rare ends are rare, doubt is common."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from mediajobs.jobs.due import is_idle
from mediajobs.jobs.events import (
    Acknowledge,
    AnswerKind,
    Cancel,
    DecisionKind,
    Event,
    Invalid,
    Moved,
    NoUrl,
    Published,
    StepFailed,
    Stored,
    Tick,
    TurnedAway,
)
from mediajobs.jobs.states import TERMINAL, State
from tests.core.life import MEDIA
from tests.core.world import FINAL, World

Move = tuple[int, Callable[[], object]]

TIMES = ((5.0, 4), (20.0, 2), (61.0, 10), (120.0, 3), (400.0, 1), (901.0, 2))
ARRIVALS = (
    (AnswerKind.ACCEPTED, "heard", 4),
    (AnswerKind.ACCEPTED, "lost", 6),
    (AnswerKind.ACCEPTED, "dead", 6),
    (AnswerKind.NOT_ACCEPTED, "heard", 8),
    (AnswerKind.NOT_ACCEPTED, "lost", 2),
    (AnswerKind.BLOCKED, "heard", 2),
    (AnswerKind.REJECTED, "heard", 3),
)
DECISIONS = (
    (DecisionKind.ADOPT, 2),
    (DecisionKind.RESUBMIT, 3),
    (DecisionKind.FAIL, 1),
    (DecisionKind.WAIT, 1),
    (DecisionKind.RETRY, 2),
)


def step(world: World, choice: int) -> None:
    """Do one of the moves that are possible now; the same choice in the same world is the same move."""
    moves = possible(world)
    choice %= sum(weight for weight, _ in moves)
    for weight, move in moves:
        if choice < weight:
            move()
            return
        choice -= weight


def possible(world: World) -> list[Move]:
    """All moves of this moment."""
    moves: list[Move] = [(weight, partial(world.pass_time, seconds)) for seconds, weight in TIMES]
    for number in range(world.count):
        moves += _of_job(world, number)
    for index in range(len(world.wires)):
        moves += [(weight, partial(world.arrive, index, kind, heard)) for kind, heard, weight in ARRIVALS]
        moves.append((4, partial(world.time_out, index)))
    for index in range(len(world.answers)):
        moves.append((16, partial(_deliver, world, index, again=False)))
        moves.append((2, partial(_deliver, world, index, again=True)))
    for index, truth in enumerate(world.truths):
        if truth.live:
            moves += [(1, partial(world.finish, index, status)) for status in FINAL]
            moves.append((1, partial(world.forget, index)))
        moves += [(2, partial(world.word, index, said)) for said in range(len(truth.words))]
    return moves


def _deliver(world: World, index: int, *, again: bool) -> None:
    world.do(*(world.answers[index] if again else world.answers.pop(index)))


def _of_job(world: World, number: int) -> list[Move]:
    job = world.jobs[number]

    def does(weight: int, event: Event) -> Move:
        return weight, partial(world.do, number, event)

    if job.state in TERMINAL:
        found = [does(1, Acknowledge(provider_job_id=f.provider_job_id)) for f in job.findings if not f.acknowledged]
        return [does(1, Published(ttl=1)), *found] if job.published_at is None or found else []
    moves = [does(4, Tick()), does(1, Moved(due_at=world.now + 60_000))]
    again = world.now + 5000
    moves += [does(1, StepFailed(step="any", message="x", retry_at=again, enough=enough)) for enough in (True, False)]
    if not job.cancel_requested and job.state is not State.PENDING:
        moves.append(does(2, Cancel()))
    if job.attention is not None:
        moves += [(w, partial(world.decides, number, kind, which)) for kind, w in DECISIONS for which in (0, 1)]
    return moves + _of_state(world, number, does)


def _of_state(world: World, number: int, does: Callable[[int, Event], Move]) -> list[Move]:
    job = world.jobs[number]
    if job.state is State.STORING:
        return [does(1, Stored(outputs=(MEDIA,))), does(1, NoUrl(message="x")), does(1, Invalid(message="x"))]
    if job.state is State.RUNNING:
        return [(2, partial(world.poll, number, found=True)), (6, partial(world.poll, number, found=False))]
    moves: list[Move] = [(16, partial(world.claim, number)), (1, partial(world.claim, number, digest="e" * 24))]
    if job.state is State.PENDING or is_idle(job):
        moves.append(does(1, TurnedAway(place="0000000001#x")))
    if world.traits.lookup and job.state is State.SUBMITTING:
        moves += [(1, partial(world.look_up, number, found=True)), (3, partial(world.look_up, number, found=False))]
    return moves
