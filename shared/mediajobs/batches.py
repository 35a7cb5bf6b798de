"""The edge of functions fed by a queue or the stream: event -> one step per record -> answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.data_classes.dynamo_db_stream_event import DynamoDBRecord
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from mediajobs.callbacks import AGAIN, Notice, Verdict
from mediajobs.errors import Retryable
from mediajobs.ports import World

Handler = Callable[[dict[str, Any], Any], Any]
MOST_BYTES = 4096


def queue_handler(world: World, step_name: str, take: Callable[[str, Mapping[str, Any], int], str]) -> Handler:
    """A queue's handler: each message to `take(job id, message, receive count)`; a message that cannot be one of
    ours is logged and acknowledged, one that raises comes again, and the others of the batch do not.
    """
    processor = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)

    def record_handler(record: SQSRecord) -> None:
        message = _message(record.body)
        if message is None:
            world.metrics.count("MessagesRefused", step=step_name)
            world.log.error("not a message of ours", step=step_name, message_id=record.message_id)
            return
        receives = int(record.attributes.approximate_receive_count or 1)
        outcome = take(message["job"], message, receives)
        world.log.info("taken", job=message["job"], step=step_name, outcome=outcome, receives=receives)

    def handler(event: dict[str, Any], context: Any) -> Any:
        return process_partial_response(event, record_handler, processor, context)

    return handler


def _message(body: str) -> dict[str, Any] | None:
    try:
        message = json.loads(body) if len(body) <= MOST_BYTES else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or not isinstance(message.get("job"), str):
        return None
    return message


def notice_handler(world: World, take: Callable[[Notice], Verdict]) -> Handler:
    """The handler of the queue on the topic: each event to `take`, which has told the queue when those that are to come
    again come.
    """
    processor = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)

    def record_handler(record: SQSRecord) -> None:
        notice = _notice(record)
        if notice is None:
            world.metrics.count("MessagesRefused", step="notify")
            world.log.error("not a message of ours", step="notify", message_id=record.message_id)
        elif _taken(world, notice, take) in AGAIN:
            raise Retryable("comes again")

    def handler(event: dict[str, Any], context: Any) -> Any:
        return process_partial_response(event, record_handler, processor, context)

    return handler


def _taken(world: World, notice: Notice, take: Callable[[Notice], Verdict]) -> Verdict:
    """What came of it. A fault of ours is told here, for the batch keeps it to itself; the message comes again."""
    try:
        return take(notice)
    except Exception as error:
        world.log.error("callback failed", tenant=notice.tenant, event_id=notice.event_id, error=error)  # noqa: TRY400
        raise


def _notice(record: SQSRecord) -> Notice | None:
    """The topic's message, delivered raw: the tenant is its attribute, the event's id stands in it."""
    try:
        tenant = record.raw_event["messageAttributes"]["tenant"]["stringValue"]
        event_id = json.loads(record.body)["id"]
        sent_at = int(record.attributes.sent_timestamp)
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if not tenant or not isinstance(event_id, str):
        return None
    return Notice(
        tenant=tenant,
        event_id=event_id,
        body=record.body.encode("utf-8", "surrogatepass"),
        sent_at=sent_at,
        handle=record.receipt_handle,
    )


def stream_handler(take: Callable[[Mapping[str, Any]], Any]) -> Handler:
    """The stream's handler: each new image to `take`; one that raises is brought again from there on."""
    processor = BatchProcessor(event_type=EventType.DynamoDBStreams, raise_on_entire_batch_failure=False)

    def record_handler(record: DynamoDBRecord) -> None:
        image = record.raw_event.get("dynamodb", {}).get("NewImage")
        if image is None:
            return
        take(image)

    def handler(event: dict[str, Any], context: Any) -> Any:
        return process_partial_response(event, record_handler, processor, context)

    return handler
