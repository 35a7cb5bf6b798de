"""The example of a topic consumer keeps each job once, whatever SNS and SQS repeat."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from moto import mock_aws

from examples.consumer.app import handle
from tests.contract import aws

EVENT = {"id": "r-i-5", "request_id": "r", "final_version": 5, "status": "succeeded"}


@pytest.fixture
def dynamodb() -> Iterator[Any]:
    with mock_aws():
        client = aws.client("dynamodb", None)
        client.create_table(
            TableName="own",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "request_id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "request_id", "KeyType": "HASH"}],
        )
        yield client
        client.close()


def batch(*bodies: object) -> dict[str, Any]:
    records = [
        {"messageId": f"m{number}", "body": body if isinstance(body, str) else json.dumps(body)}
        for number, body in enumerate(bodies)
    ]
    return {"Records": records}


def kept(dynamodb: Any) -> list[dict[str, Any]]:
    return [json.loads(item["job"]["S"]) for item in dynamodb.scan(TableName="own")["Items"]]


def test_a_repeat_changes_nothing(dynamodb: Any) -> None:
    """In one batch, in the next, at any time: nothing expires."""
    for _ in range(3):
        assert handle(dynamodb, "own", batch(EVENT, EVENT)) == {"batchItemFailures": []}
    assert kept(dynamodb) == [EVENT]
    assert "ttl" not in dynamodb.scan(TableName="own")["Items"][0]


def test_an_older_event_that_comes_late_changes_nothing(dynamodb: Any) -> None:
    """A job that was ended again after a restore has a greater version."""
    newer = EVENT | {"id": "r-i-7", "final_version": 7, "status": "failed"}
    handle(dynamodb, "own", batch(newer, EVENT))
    assert kept(dynamodb) == [newer]
    handle(dynamodb, "own", batch(EVENT))
    assert kept(dynamodb) == [newer]


def test_what_cannot_be_read_comes_again_and_stops_nothing(dynamodb: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The others of the batch are kept."""
    answer = handle(dynamodb, "own", batch("hello", EVENT, {}))
    assert answer == {"batchItemFailures": [{"itemIdentifier": "m0"}, {"itemIdentifier": "m2"}]}
    assert kept(dynamodb) == [EVENT]
    assert "hello" not in capsys.readouterr().out
