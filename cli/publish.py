"""Send ended jobs again, for a consumer or a callback's receiver that lost them.

    python -m cli.publish --stack mediajobs-dev REQUEST_ID
    python -m cli.publish --stack mediajobs-dev --since 2027-01-15T08:00:00Z --tenant acme --to callbacks

They go under the ids of their first publication, so a consumer that has them drops them. The jobs themselves are not
touched. The topic swallows what it took within five minutes before; `--to callbacks` sends to the receivers alone.
"""

import argparse
import datetime as dt
import json
import sys
from collections.abc import Iterator
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from cli.deployed import DeployedError, Stack
from mediajobs.adapters.dynamodb import DynamoStore
from mediajobs.adapters.sns import SnsTopic
from mediajobs.adapters.table.items import HEAD
from mediajobs.clock import SystemChance, SystemClock
from mediajobs.errors import MediaJobsError
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import TERMINAL
from mediajobs.ports import Store, Topic
from mediajobs.views import message


class NotPublishedError(Exception):
    """Nothing was sent; the text says why."""


class CallbackQueue:
    """Implements `ports.Topic`: what the topic would send to notify's queue, past the topic and its other consumers."""

    def __init__(self, sqs: Any, queue_url: str) -> None:
        self._sqs = sqs
        self._queue_url = queue_url

    def publish(self, message: str, *, group: str, deduplication_id: str, tenant: str) -> None:  # noqa: ARG002 the topic's
        attributes = {"tenant": {"DataType": "String", "StringValue": tenant}}
        self._sqs.send_message(QueueUrl=self._queue_url, MessageBody=message, MessageAttributes=attributes)


def again(store: Store, topic: Topic, job_id: str) -> str:
    """Send the job's end; the id under which it went."""
    job = store.load(job_id)
    if job is None:
        raise NotPublishedError(f"There is no job {job_id} in this stack.")
    if job.state not in TERMINAL:
        raise NotPublishedError(f"Job {job_id} has not ended; it is {job.state}.")
    return _send(store, topic, job)


def since(store: Store, topic: Topic, ids: Iterator[str], start: int, tenant: str | None) -> Iterator[str]:
    """Send the end of each of these jobs that ended at `start` (ms) or later; the ids under which they go."""
    for job_id in ids:
        job = store.load(job_id)
        if job is None or job.state not in TERMINAL or job.since < start or tenant not in (None, job.tenant):
            continue
        yield _send(store, topic, job)


def touched(dynamodb: Any, table: str, start: int) -> Iterator[str]:
    """Ids of the jobs whose state was entered at `start` or later, by a scan of the whole table."""
    pages = dynamodb.get_paginator("scan").paginate(
        TableName=table,
        FilterExpression="sk = :head AND #since >= :start",
        ProjectionExpression="pk",
        ExpressionAttributeNames={"#since": "since"},
        ExpressionAttributeValues={":head": {"S": HEAD}, ":start": {"N": str(start)}},
    )
    for page in pages:
        for item in page["Items"]:
            yield item["pk"]["S"].removeprefix("J#")


def moment(text: str) -> int:
    """A time as people write it, in ms. Without a zone it is refused: nobody knows whose clock it is of."""
    time = dt.datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError("no zone")
    return int(time.timestamp() * 1000)


def _send(store: Store, topic: Topic, job: Job) -> str:
    body = store.input(job)
    # The input goes after some weeks, and the caller's own words with it.
    metadata = json.loads(body).get("metadata", {}) if body else {}
    text = json.dumps(message(job, metadata), sort_keys=True)
    topic.publish(text, group=job.id, deduplication_id=job.publication_id, tenant=job.tenant)
    return job.publication_id


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m cli.publish", description=__doc__.partition("\n")[0])
    parser.add_argument("--stack", required=True, help="the CloudFormation stack, for example mediajobs-dev")
    parser.add_argument(
        "--to", choices=("topic", "callbacks"), default="topic", help="all consumers, or receivers only"
    )
    parser.add_argument("--tenant", help="with --since: only this tenant's jobs")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--since", type=moment, help="every job that ended then or later: 2027-01-15T08:00:00Z")
    which.add_argument("request_id", nargs="?", help="of one job")
    return parser


def _run(options: argparse.Namespace) -> Iterator[str]:
    outputs = Stack.read(boto3.client("cloudformation"), options.stack).outputs
    dynamodb, table = boto3.client("dynamodb"), outputs["TableName"]
    store = DynamoStore(dynamodb, table, clock=SystemClock(), chance=SystemChance())
    topic: Topic = SnsTopic(boto3.client("sns"), outputs["TopicArn"])
    if options.to == "callbacks":
        topic = CallbackQueue(boto3.client("sqs"), outputs["NotifyQueueUrl"])
    if options.since is None:
        yield again(store, topic, options.request_id)
    else:
        yield from since(store, topic, touched(dynamodb, table, options.since), options.since, options.tenant)


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    sent = 0
    try:
        for sent_as in _run(options):
            sent += 1
            print(f"sent as {sent_as}", flush=True)
    except (NotPublishedError, DeployedError, MediaJobsError, ClientError, BotoCoreError) as error:
        print(error, file=sys.stderr)
        return 1
    if options.since is not None:
        print(f"{sent} sent")
    return 0


if __name__ == "__main__":
    sys.exit(main())
