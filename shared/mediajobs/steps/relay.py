"""Relay: does what the words in `out` say. This is the outbox; no handler writes to two places."""

from __future__ import annotations

from collections.abc import Callable

from mediajobs.jobs.due import is_urgent
from mediajobs.jobs.model import Job
from mediajobs.messages import Do
from mediajobs.ports import World
from mediajobs.steps.admission import wake
from mediajobs.steps.live import tell
from mediajobs.steps.publish import publish

LONGEST_DELAY_MS = 900_000


def relay(world: World, job: Job) -> tuple[str, ...]:
    """Carry out each word of one changed row; returns the words done.

    Every word is tried even when another fails; then the first failure is raised, so that the stream brings
    the record again. What is never brought again waits in the job's `due_at`.
    """
    done: list[str] = []
    failure: Exception | None = None
    for word in (job.out or "").split():
        try:
            _WORDS[word](world, job)
            done.append(word)
        except Exception as error:  # noqa: BLE001 one word must not stop the others; raised below
            world.log.error("word failed", job=job.id, word=word, error=error)  # noqa: TRY400 our own log
            failure = failure or error
    if failure is not None:
        raise failure
    return tuple(done)


def _delay(world: World, job: Job) -> int | None:
    """Seconds until the attempt's `retry_at`; None: further than a message can wait, `due_at` stands behind."""
    wait = (job.retry_at or 0) - world.clock.now()
    return None if wait > LONGEST_DELAY_MS else max(0, -(-wait // 1000))


def _dispatch(world: World, job: Job) -> None:
    delay = _delay(world, job)
    if delay is not None:
        world.queues.dispatch(job.id, Do.SUBMIT, delay)


def _cancel(world: World, job: Job) -> None:
    world.queues.dispatch(job.id, Do.CANCEL)


def _store(world: World, job: Job) -> None:
    delay = _delay(world, job)
    if delay is not None:
        # Long links stand beside the head, and an image of the stream lacks them.
        whole = job if job.links else world.store.load(job.id, strong=False) or job
        world.queues.store(job.id, delay, urgent=is_urgent(whole, world.clock.now() + delay * 1000))


def _next(world: World, job: Job) -> None:
    wake(world, job.provider)


def _publish(world: World, job: Job) -> None:
    # Read again: an image of the stream lacks what is kept beside the head, and the mark writes the head whole.
    current = world.store.load(job.id, strong=False)
    if current is None or current.version < job.version:  # a replica that is behind the stream
        current = world.store.load(job.id)
    if current is not None:
        publish(world, current)


def _live(world: World, job: Job) -> None:
    tell(world, job)


_WORDS: dict[str, Callable[[World, Job], None]] = {
    "dispatch": _dispatch,
    "cancel": _cancel,
    "store": _store,
    "next": _next,
    "publish": _publish,
    "live": _live,
}
