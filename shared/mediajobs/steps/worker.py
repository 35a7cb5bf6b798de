"""What every message of a queue goes through: our own failures are counted on the job, never by a queue."""

from __future__ import annotations

from collections.abc import Callable

from mediajobs import backoff
from mediajobs.errors import Retryable
from mediajobs.jobs.due import SECOND
from mediajobs.jobs.events import StepFailed
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import State
from mediajobs.ports import World
from mediajobs.steps.apply import apply, record_failure, traits_of

RECEIVES_ENOUGH = 10
RETRY_FLOOR_MS = 5 * SECOND
RETRY_CAP_MS = 900 * SECOND


def work(world: World, job_id: str, step: str, receives: int, run: Callable[[], str]) -> str:
    """Run one message's step. Raises Retryable where nothing was decided and the queue is to bring it again.

    Any other failure becomes a note on the job, which schedules the next try; after five a person is asked.
    A message received ten times died without a word each time: a person is asked at once.
    """
    if receives >= RECEIVES_ENOUGH:
        job = world.store.load(job_id)
        if job is not None:
            _give_up(world, job, step, receives)
        return "dead letter"
    try:
        return run()
    except Retryable as error:
        world.log.warning("again later", job=job_id, step=step, error=type(error).__name__, detail=str(error)[:200])
        raise
    except Exception as error:
        job = world.store.load(job_id)
        if job is None:
            raise
        wait = backoff.step(job.failures + 1, floor=RETRY_FLOOR_MS, cap=RETRY_CAP_MS)
        record_failure(world, job, step, error, traits_of(world, job), world.clock.now() + wait)
        return f"failed: {type(error).__name__}"


def _give_up(world: World, job: Job, step: str, receives: int) -> None:
    if not _concerns(step, job):
        return  # the job went on by another way
    text = f"received {receives} times and never finished"
    event = StepFailed(step=step, message=text, retry_at=world.clock.now(), enough=True)
    apply(world, job, event, traits_of(world, job))


def _concerns(step: str, job: Job) -> bool:
    """The job still waits for this step."""
    if step == "store":
        return job.state is State.STORING
    return job.state in (State.PENDING, State.SUBMITTING) or job.adopt is not None or job.cancel_requested
