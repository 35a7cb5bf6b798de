"""SNS FIFO, as `ports.Topic`."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from mediajobs.adapters.aws import translated


class SnsTopic:
    """Returns only when SNS has the message.

    SNS drops a repeated id for five minutes only. After that a repeat goes out again, and the consumer drops it.
    """

    def __init__(self, client: Any, topic_arn: str) -> None:
        self._client = client
        self._topic_arn = topic_arn

    def publish(self, message: str, *, group: str, deduplication_id: str, tenant: str) -> None:
        try:
            self._client.publish(
                TopicArn=self._topic_arn,
                Message=message,
                MessageGroupId=group,
                MessageDeduplicationId=deduplication_id,
                MessageAttributes={"tenant": {"DataType": "String", "StringValue": tenant}},
            )
        except (ClientError, BotoCoreError) as error:
            raise translated(error, "publish") from error
