"""Steps as they should not be."""

from __future__ import annotations

from typing import Any

from mediajobs.jobs.events import Published
from mediajobs.ports import World
from mediajobs.steps import publish as right
from mediajobs.steps.apply import apply, traits_of


def mark_before_send(world: World, args: tuple[Any, ...]) -> object:
    """The mark first, then the send."""
    store: Any = world.store
    job = store.image(args[0])
    if job.published_at is not None:
        return None
    apply(world, job, Published(ttl=0), traits_of(world, job))
    return right._send(world, job)
