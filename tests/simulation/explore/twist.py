"""The real `decide` put behind a memory, and wrong readings of it put in its place, for as long as a model is explored.

Every place where a step calls it is switched, and switched back: nothing of the product is edited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mediajobs.jobs.decide import Change, Ignore
from mediajobs.jobs.decide import decide as real_decide
from mediajobs.jobs.events import Event, Traits
from mediajobs.jobs.model import Job
from mediajobs.steps import apply, reconcile, webhook

Decide = Callable[[Job, Event, int, Traits], Change | Ignore]
PLACES = (apply, reconcile, webhook)


def remembered(decide: Decide, rules: set[str]) -> Decide:
    """The same decisions. Rows are interned, so a row is the same object whenever it comes again. `rules` collects
    which rows of the table have spoken.
    """
    known: dict[tuple[int, Event, int], Change | Ignore] = {}
    kept: list[Job] = []  # an id stays a row's own as long as the row is kept

    def memory(job: Job, event: Event, now: int, traits: Traits) -> Change | Ignore:
        key = (id(job), event, now)
        decision = known.get(key)
        if decision is None:
            kept.append(job)
            decision = known[key] = decide(job, event, now, traits)
            rules.add(decision.rule)
        return decision

    return memory


@contextmanager
def deciding(decide: Decide = real_decide) -> Iterator[set[str]]:
    """While this lasts, the steps decide so; the rows of the table that have spoken are in what it gives."""
    rules: set[str] = set()
    was: list[tuple[Any, Any]] = [(place, place.decide) for place in PLACES]
    memory = remembered(decide, rules)
    try:
        for place, _ in was:
            place.decide = memory
        yield rules
    finally:
        for place, before in was:
            place.decide = before
