"""The table's stream: writes that are marked for relay, in order per shard, in batches that come late and again."""

from __future__ import annotations

import base64
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mediajobs.adapters.table import items
from mediajobs.jobs.model import Job

if TYPE_CHECKING:
    from tests.simulation.world.town import Town

SHARDS = 2
BATCH = 10
TRIES = 5  # after that a record is given up; what it asked for waits in the job's `due_at`
LAG_MS = 200


@dataclass(frozen=True, slots=True)
class Change:
    """One record."""

    number: str
    image: dict[str, Any]


class Stream:
    """Hears of every write of a head and wakes relay for those with `out`."""

    def __init__(self, town: Town) -> None:
        self._town = town
        self._shards: tuple[deque[Change], ...] = tuple(deque() for _ in range(SHARDS))
        self._busy = [False] * SHARDS
        self._tries = [0] * SHARDS
        self._count = 0
        self.given_up = 0

    def heard(self, _before: Job | None, after: Job, _rule: str) -> None:
        """The template's filter: `out` exists."""
        if after.out is None:
            return
        self._count += 1
        shard = sum(after.id.encode()) % SHARDS
        self._shards[shard].append(Change(f"{self._count:08d}", _image(after)))
        if not self._busy[shard]:
            self._later(shard, LAG_MS)

    def cut(self) -> None:
        """A restored table's stream is empty."""
        for shard in self._shards:
            shard.clear()

    @property
    def empty(self) -> bool:
        return not any(self._shards)

    def _later(self, shard: int, wait: int) -> None:
        self._busy[shard] = True
        if self._town.weather.happens("stream late"):
            wait += self._town.weather.pick("stream late", 1_000, 300_000)
        self._town.scheduler.after(wait, lambda: self._pump(shard))

    def _pump(self, shard: int) -> None:
        batch = list(self._shards[shard])[:BATCH]
        if not batch:
            self._busy[shard] = False
            return
        self._town.invoke("relay", _event(batch), lambda answer: self._ended(shard, batch, answer))

    def _ended(self, shard: int, batch: list[Change], answer: object) -> None:
        failures = answer.get("batchItemFailures", []) if isinstance(answer, dict) else None
        numbers = {failure["itemIdentifier"] for failure in failures or []}
        first = next((at for at, change in enumerate(batch) if change.number in numbers), len(batch))
        done = 0 if failures is None else first
        if self._town.weather.happens("stream again"):
            done = 0  # the checkpoint was lost: all of it comes once more
        waiting = self._shards[shard]
        for _ in range(min(done, len(waiting))):
            waiting.popleft()
        self._tries[shard] = 0 if done else self._tries[shard] + 1
        if self._tries[shard] > TRIES and waiting:
            waiting.popleft()
            self.given_up += 1
            self._tries[shard] = 0
        self._busy[shard] = False
        if waiting:
            self._later(shard, LAG_MS if done == len(batch) else 1_000)


def _event(batch: list[Change]) -> dict[str, Any]:
    records = [
        {
            "eventID": change.number,
            "eventName": "MODIFY",
            "eventSource": "aws:dynamodb",
            "dynamodb": {"NewImage": change.image, "SequenceNumber": change.number},
        }
        for change in batch
    ]
    return {"Records": records}


def _image(job: Job) -> dict[str, Any]:
    """The head as the stream has it: spilled parts are elsewhere, bytes are base64."""
    return {name: _json(value) for name, value in items.rows(job).head.items()}


def _json(value: dict[str, Any]) -> dict[str, Any]:
    kind, content = next(iter(value.items()))
    if kind == "B":
        return {kind: base64.b64encode(content).decode()}
    if kind == "BS":
        return {kind: [base64.b64encode(part).decode() for part in content]}
    if kind == "L":
        return {kind: [_json(part) for part in content]}
    if kind == "M":
        return {kind: {name: _json(part) for name, part in content.items()}}
    return value
