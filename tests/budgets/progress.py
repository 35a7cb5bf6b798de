"""A thousand progress events in ten seconds of a virtual clock, through the store that keeps them."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import ClientError

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


class OneItem(CountingTable):
    """The same, with the condition that DynamoDB would check; `refused` counts what is billed and kept nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.refused = 0
        self._item: dict[str, Any] | None = None

    def put_item(self, **request: Any) -> dict[str, Any]:
        values = request["ExpressionAttributeValues"]
        standing = self._item
        if standing is not None and int(standing["at"]["N"]) > int(values[":latest"]["N"]):
            self.refused += 1
            assert request["ReturnValuesOnConditionCheckFailure"] == "ALL_OLD"
            answer = {"Error": {"Code": "ConditionalCheckFailedException"}, "Item": standing}
            raise ClientError(answer, "PutItem")
        self._item = request["Item"]
        return super().put_item(**request)


def kept_by_many(processes: int) -> OneItem:
    """The same thousand events, each taken by another of so many warm functions in turn."""
    table, clock = OneItem(), VirtualClock()
    stores = [DynamoStore(table, "jobs", clock=clock, chance=SeededChance(number)) for number in range(processes)]
    for number in range(1000):
        told = Progress(percent=number // 11, at=clock.now())
        stores[number % processes].save_progress("job", told, ttl=1, every_ms=1000)
        clock.advance(0.01)
    return table


def kept_of_a_thousand() -> int:
    """How many requests one warm function makes for them."""
    table, clock = CountingTable(), VirtualClock()
    store = DynamoStore(table, "jobs", clock=clock, chance=SeededChance())
    for number in range(1000):
        told = Progress(percent=number // 11, at=clock.now())
        store.save_progress("job", told, ttl=1, every_ms=1000)
        clock.advance(0.01)
    return table.writes
