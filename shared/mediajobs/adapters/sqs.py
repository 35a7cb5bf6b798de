"""SQS, as `ports.Queues`."""

from __future__ import annotations

import json
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from mediajobs.adapters.aws import translated
from mediajobs.messages import Do

LONGEST_S = 900  # the most that SQS delays a message


class SqsQueues:
    """Returns only when SQS has the message; a message may arrive more than once, and out of order."""

    def __init__(self, client: Any, *, dispatch_url: str, store_url: str, urgent_url: str) -> None:
        self._client = client
        self._dispatch_url = dispatch_url
        self._store_url = store_url
        self._urgent_url = urgent_url

    def dispatch(self, job_id: str, do: Do, delay_s: int = 0) -> None:
        self._send(self._dispatch_url, {"job": job_id, "do": str(do)}, max(0, min(LONGEST_S, delay_s)))

    def store(self, job_id: str, delay_s: int = 0, *, urgent: bool = False) -> None:
        url = self._urgent_url if urgent else self._store_url
        self._send(url, {"job": job_id}, max(0, min(LONGEST_S, delay_s)))

    def _send(self, url: str, message: dict[str, str], delay_s: int) -> None:
        body = json.dumps(message, separators=(",", ":"))
        try:
            self._client.send_message(QueueUrl=url, MessageBody=body, DelaySeconds=delay_s)
        except (ClientError, BotoCoreError) as error:
            raise translated(error, "send_message") from error
