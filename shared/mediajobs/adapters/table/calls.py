"""The one way to DynamoDB: a call, its bounded tries, its errors in the product's words, its cost counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from mediajobs.adapters.aws import of_code, translated
from mediajobs.backoff import step
from mediajobs.clock import Chance, Clock
from mediajobs.errors import Throttled, WriteConflict

TRIES = 4
FLOOR_MS = 40
CAP_MS = 400
BATCH = 100
REFUSED = "ConditionalCheckFailed"

Meter = Callable[[str, Mapping[str, Any]], None]  # operation and its ConsumedCapacity


class Refused(Exception):
    """The condition of one write did not hold; `item` is what stands there, where that was asked for."""

    def __init__(self, item: dict[str, Any] | None) -> None:
        super().__init__("condition not met")
        self.item = item


class Canceled(Exception):
    """A transaction was refused by a condition of ours; `refused` has, per entry, whether it was that entry's."""

    def __init__(self, reasons: Sequence[Mapping[str, Any]]) -> None:
        super().__init__("transaction canceled")
        self.refused = tuple(reason.get("Code") == REFUSED for reason in reasons)
        self.items = tuple(reason.get("Item") or None for reason in reasons)


class Calls:
    """Throttling and TransactionConflict are tried again a few times here, in a write's own name, then raised.

    Every request is the same at each try, so one that arrived without our knowing is recognised by its token.
    """

    def __init__(self, client: Any, table: str, clock: Clock, chance: Chance, meter: Meter | None = None) -> None:
        self._client = client
        self._table = table
        self._clock = clock
        self._chance = chance
        self._meter = meter

    def call(self, operation: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """One call on the table. Raises Refused where a condition does not hold."""
        return self._tried(operation, {"TableName": self._table, **params})

    def pages(self, params: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Every item of a Query, page after page; a page may be empty and not the last."""
        request = dict(params)
        while True:
            answer = self.call("query", request)
            yield from answer["Items"]
            if "LastEvaluatedKey" not in answer:
                return
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def transact(self, entries: Sequence[tuple[str, Mapping[str, Any]]], token: str) -> None:
        """All entries or none. `token` is new for each write and the same for each try of it."""
        items = [{kind: {"TableName": self._table, **params}} for kind, params in entries]
        self._tried("transact_write_items", {"TransactItems": items, "ClientRequestToken": token})

    def batch_get(self, keys: Sequence[Mapping[str, Any]], *, strong: bool) -> list[dict[str, Any]]:
        """The items of these keys that exist, in no order."""
        found: list[dict[str, Any]] = []
        for start in range(0, len(keys), BATCH):
            found += self._batch(keys[start : start + BATCH], strong=strong)
        return found

    def _batch(self, keys: Sequence[Mapping[str, Any]], *, strong: bool) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        wanted: Any = {self._table: {"Keys": list(keys), "ConsistentRead": strong}}
        for attempt in range(1, TRIES + 1):
            answer = self._tried("batch_get_item", {"RequestItems": wanted})
            for items in answer.get("Responses", {}).values():
                found += items
            wanted = answer.get("UnprocessedKeys")
            if not wanted:
                return found
            self._wait(attempt)
        raise Throttled("batch_get_item: keys were left unprocessed")

    def _tried(self, operation: str, params: dict[str, Any]) -> dict[str, Any]:
        attempt = 1
        while True:
            try:
                return self._once(operation, params)
            except (Throttled, WriteConflict):
                if attempt == TRIES:
                    raise
            self._wait(attempt)
            attempt += 1

    def _once(self, operation: str, params: dict[str, Any]) -> dict[str, Any]:
        if self._meter is not None:
            params = {**params, "ReturnConsumedCapacity": "TOTAL"}
        try:
            answer: dict[str, Any] = getattr(self._client, operation)(**params)
        except (ClientError, BotoCoreError) as error:
            raise _meaning(error, operation) from error
        if self._meter is not None:
            capacity = answer.get("ConsumedCapacity", [])
            for entry in capacity if isinstance(capacity, list) else [capacity]:
                self._meter(operation, entry)
        return answer

    def _wait(self, attempt: int) -> None:
        spread = 0.5 + self._chance.fraction()
        self._clock.sleep(step(attempt, floor=FLOOR_MS, cap=CAP_MS) * spread / 1000)


def _meaning(error: ClientError | BotoCoreError, operation: str) -> Exception:
    """What the SDK's error is for us. The reasons of a canceled transaction are told apart."""
    if isinstance(error, ClientError):
        response: Mapping[str, Any] = error.response
        code = error.response["Error"]["Code"]
        if code == "ConditionalCheckFailedException":
            return Refused(response.get("Item") or None)
        if code == "TransactionCanceledException":
            return _canceled(response.get("CancellationReasons") or [], operation) or error
    return translated(error, operation)


def _canceled(reasons: Sequence[Mapping[str, Any]], operation: str) -> Exception | None:
    """A condition of ours speaks first: it will not hold at the next try either. Else conflict or throttling."""
    if any(reason.get("Code") == REFUSED for reason in reasons):
        return Canceled(reasons)
    known = (of_code(str(reason.get("Code")), operation) for reason in reasons)
    return next((error for error in known if error is not None), None)
