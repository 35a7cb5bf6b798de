"""AWS for tests: clients, the tables as the template makes them, and a client that has bad days."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError, ReadTimeoutError

from mediajobs.adapters import aws
from mediajobs.adapters.table.expressions import INDEXES

CREDENTIALS = {
    "region_name": "us-east-1",
    "aws_access_key_id": "test",
    "aws_secret_access_key": "test",
}


def client(service: str, endpoint: str | None) -> Any:
    """A client of the product, against moto (no endpoint) or the emulator."""
    return aws.client(service, endpoint_url=endpoint, **CREDENTIALS)


def create_table(dynamodb: Any, name: str) -> None:
    """The job table with its four indexes."""
    names = ["pk", "sk", *(attribute for pair in INDEXES.values() for attribute in pair)]
    dynamodb.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": attribute, "AttributeType": "N" if attribute == "due_at" else "S"} for attribute in names
        ],
        KeySchema=_schema("pk", "sk"),
        GlobalSecondaryIndexes=[
            {"IndexName": index, "KeySchema": _schema(*pair), "Projection": {"ProjectionType": "KEYS_ONLY"}}
            for index, pair in INDEXES.items()
        ],
    )


def create_idempotency_table(dynamodb: Any, name: str) -> None:
    """Powertools' table."""
    dynamodb.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
    )


def _schema(partition: str, sort: str) -> list[dict[str, str]]:
    return [{"AttributeName": partition, "KeyType": "HASH"}, {"AttributeName": sort, "KeyType": "RANGE"}]


class Faulty:
    """A DynamoDB client that passes everything on, with faults that no emulator shows.

    `resend`: that many next writes arrive twice, and the second answer is the one heard, as when the SDK resends.
    `cut`: that many next writes arrive, and their answer is lost for good.
    `refuse`: error codes for the next writes, which then do not arrive. `calls` counts what was asked for.
    `lock`: one call at a time, where the other side is not atomic by itself.
    """

    WRITES = frozenset({"put_item", "update_item", "delete_item", "transact_write_items"})

    def __init__(self, real: Any, *, lock: bool = False) -> None:
        self._real = real
        self._lock = threading.RLock() if lock else None
        self.resend = 0
        self.cut = 0
        self.refuse: list[str] = []
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def __getattr__(self, operation: str) -> Any:
        real = getattr(self._real, operation)
        return self._with_faults(operation, real) if callable(real) else real

    def _with_faults(self, operation: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(**params: Any) -> Any:
            self.calls.append((operation, params))
            if self._lock is None:
                return self._call(operation, real, params)
            with self._lock:
                return self._call(operation, real, params)

        return call

    def _call(self, operation: str, real: Callable[..., Any], params: dict[str, Any]) -> Any:
        if operation in self.WRITES:
            if self.refuse:
                raise refusal(operation, self.refuse.pop(0))
            if self.resend:
                self.resend -= 1
                real(**params)
            if self.cut:
                self.cut -= 1
                real(**params)
                raise ReadTimeoutError(endpoint_url="https://dynamodb")
        return real(**params)


def refusal(operation: str, code: str) -> ClientError:
    """DynamoDB's error of this code; in a transaction it is the reason of the second entry."""
    answer: Any = {"Error": {"Code": code, "Message": "for the test"}, "ResponseMetadata": {"HTTPStatusCode": 400}}
    if operation == "transact_write_items":
        answer["Error"]["Code"] = "TransactionCanceledException"
        answer["CancellationReasons"] = [{"Code": "None"}, {"Code": code, "Message": "for the test"}]
    return ClientError(answer, operation)
