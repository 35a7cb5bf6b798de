"""The table: `MemoryStore` with a stream, indexes that lag, time to live, and copies to go back to."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mediajobs.clock import Chance
from mediajobs.jobs.decide import Change
from mediajobs.jobs.model import Job
from mediajobs.messages import Created, Exists, Lost, SlotTaken, Written
from tests.fakes.store import MemoryStore

OnWrite = Callable[[Job | None, Job, str], None]  # before, after, the table's row
_KEPT = (
    "jobs",
    "rows",
    "inputs",
    "pauses",
    "rounds",
    "turns",
    "bindings",
    "progresses",
    "noted",
    "seen",
    "keys",
)


@dataclass(frozen=True, slots=True)
class Copy:
    """The table as it was at one moment."""

    at: int
    parts: dict[str, object]


class Table(MemoryStore):
    """`on_write` hears of every head that was put, whether or not its writer ever learns of it."""

    def __init__(self, chance: Chance) -> None:
        super().__init__(chance)
        self.on_write: list[OnWrite] = []
        self.lag: Callable[[str], bool] = lambda _: False  # whether the indexes do not show this write yet
        self._shown: dict[str, Job] = {}  # what the indexes show
        self._rule = ""

    def create(self, job: Job) -> Created | Exists:
        self._rule = "0"
        return super().create(job)

    def write(self, change: Change) -> Written | Lost | SlotTaken:
        self._rule = change.rule
        outcome = super().write(change)
        self.writes.clear()
        return outcome

    def load_many(self, ids: Sequence[str]) -> list[Job]:
        """Eventually consistent, as the real one."""
        return [self._shown[job_id] for job_id in ids if job_id in self._shown]

    def catch_up(self, job_id: str) -> None:
        """The indexes show the job as it is."""
        if job_id in self.jobs:
            self._shown[job_id] = self.jobs[job_id]
        else:
            self._shown.pop(job_id, None)

    def expire(self, job_id: str) -> None:
        """Time to live removes the head and what stands beside it; nobody is asked."""
        job = self.jobs.pop(job_id)
        self.catch_up(job_id)
        for kept in (self.progresses, self.noted):
            kept.pop(job_id, None)
        self.inputs.pop((job_id, job.payload_digest[:8]), None)

    def copy(self, now: int) -> Copy:
        """What a restore would bring back."""
        return Copy(now, {name: copy.deepcopy(getattr(self, name)) for name in _KEPT})

    def restore(self, back: Copy) -> None:
        """The table as it was. A restored table has an empty stream."""
        for name, value in back.parts.items():
            setattr(self, name, copy.deepcopy(value))
        self._shown = dict(self.jobs)

    def _create(self, job: Job) -> Created | Exists:
        outcome = super()._create(job)
        if isinstance(outcome, Created) and outcome.job is job:
            self._written(None, job)
        return outcome

    def _write(self, before: Job, after: Job) -> Written | Lost | SlotTaken:
        standing = self.jobs.get(after.id)
        outcome = super()._write(before, after)
        if self.jobs.get(after.id) is not standing:
            self._written(standing, after)
        return outcome

    def _written(self, before: Job | None, after: Job) -> None:
        if not self.lag(after.id):
            self._shown[after.id] = after
        for hear in self.on_write:
            hear(before, after, self._rule)

    def _indexed(self) -> list[Job]:
        return [job for job in self._shown.values() if job.id not in self.unindexed]
