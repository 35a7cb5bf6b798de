"""Send an ended job to the topic again, for a consumer that lost it.

    python -m cli.publish --stack mediajobs-dev REQUEST_ID

It goes under the id of its first publication, so a consumer that has it drops it. The job itself is not touched.
"""

import argparse
import json
import sys

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from cli.deployed import DeployedError, Stack
from mediajobs.adapters.dynamodb import DynamoStore
from mediajobs.adapters.sns import SnsTopic
from mediajobs.clock import SystemChance, SystemClock
from mediajobs.errors import MediaJobsError
from mediajobs.jobs.states import TERMINAL
from mediajobs.ports import Store, Topic
from mediajobs.views import message


class NotPublishedError(Exception):
    """Nothing was sent; the text says why."""


def again(store: Store, topic: Topic, job_id: str) -> str:
    """Send the job's end; the id under which it went."""
    job = store.load(job_id)
    if job is None:
        raise NotPublishedError(f"There is no job {job_id} in this stack.")
    if job.state not in TERMINAL:
        raise NotPublishedError(f"Job {job_id} has not ended; it is {job.state}.")
    body = store.input(job)
    # The input goes after some weeks, and the caller's own words with it.
    metadata = json.loads(body).get("metadata", {}) if body else {}
    text = json.dumps(message(job, metadata), sort_keys=True)
    topic.publish(text, group=job.id, deduplication_id=job.publication_id)
    return job.publication_id


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m cli.publish", description=__doc__.partition("\n")[0])
    parser.add_argument("--stack", required=True, help="the CloudFormation stack, for example mediajobs-dev")
    parser.add_argument("request_id", help="of the job")
    options = parser.parse_args(arguments)
    try:
        outputs = Stack.read(boto3.client("cloudformation"), options.stack).outputs
        table = outputs["TableName"]
        store = DynamoStore(boto3.client("dynamodb"), table, clock=SystemClock(), chance=SystemChance())
        sent = again(store, SnsTopic(boto3.client("sns"), outputs["TopicArn"]), options.request_id)
    except (NotPublishedError, DeployedError, MediaJobsError, ClientError, BotoCoreError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"sent as {sent}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
