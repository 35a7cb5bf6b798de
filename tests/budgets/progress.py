"""A thousand progress events in ten seconds of a virtual clock, through the store that keeps them."""

from __future__ import annotations

from typing import Any

from mediajobs.adapters.dynamodb import DynamoStore
from mediajobs.messages import Progress
from tests.fakes.clock import SeededChance, VirtualClock


class CountingTable:
    """A DynamoDB client that takes every write and counts them; nothing is refused."""

    def __init__(self) -> None:
        self.writes = 0

    def put_item(self, **_: Any) -> dict[str, Any]:
        self.writes += 1
        return {}


def kept_of_a_thousand() -> int:
    """How many requests one warm function makes for them."""
    table, clock = CountingTable(), VirtualClock()
    store = DynamoStore(table, "jobs", clock=clock, chance=SeededChance())
    for number in range(1000):
        told = Progress(percent=number // 11, at=clock.now())
        store.save_progress("job", told, ttl=1, every_ms=1000)
        clock.advance(0.01)
    return table.writes
