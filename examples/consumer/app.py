"""A consumer of the topic: a Lambda function behind an SQS queue that takes each ended job once, for ever.

The queue is the one named by `SubscriberQueueArn` (raw delivery); `JOBS_TABLE` is a DynamoDB table of your own with the
key `request_id`. Event source: ReportBatchItemFailures, and nothing else.

SNS and SQS bring an event more than once: at any time, after an operator's `cli.publish` too. So it is not the queue
that is trusted to bring it once but the row: one conditional put is both the mark and the effect, and no crash can part
them. What is to happen then (a mail, a charge) hang on the table's stream, not behind the put.
"""

import json
import os
from functools import cache
from typing import Any

import boto3

NEWER = "attribute_not_exists(request_id) OR final_version < :version"


def take(dynamodb: Any, table: str, event: dict[str, Any]) -> bool:
    """Keep what the event tells of its job; False for a repeat, and for one older than what is known."""
    version = {"N": str(event["final_version"])}
    item = {
        "request_id": {"S": event["request_id"]},
        "event_id": {"S": event["id"]},
        "final_version": version,
        "status": {"S": event["status"]},
        "job": {"S": json.dumps(event)},
    }
    try:
        dynamodb.put_item(
            TableName=table, Item=item, ConditionExpression=NEWER, ExpressionAttributeValues={":version": version}
        )
    except dynamodb.exceptions.ConditionalCheckFailedException:
        return False
    return True


def handle(dynamodb: Any, table: str, batch: dict[str, Any]) -> dict[str, Any]:
    """Each message by itself: one that fails comes again, and the others do not."""
    failed = []
    for record in batch["Records"]:
        try:
            take(dynamodb, table, json.loads(record["body"]))
        except Exception as error:  # noqa: BLE001 whatever it is, the queue brings it again and then gives it up
            print(json.dumps({"message": record["messageId"], "failed": type(error).__name__}))
            failed.append({"itemIdentifier": record["messageId"]})
    return {"batchItemFailures": failed}


@cache
def client() -> Any:
    return boto3.client("dynamodb")


def handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    return handle(client(), os.environ["JOBS_TABLE"], event)
