"""What really happened: the provider's ledger, the consumer's queue, the table and the logs."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from local.stack import Stack
from mediajobs.adapters.table import items
from mediajobs.jobs.model import Job
from tests.e2e.client import JSON, send

T = TypeVar("T")
Rows = dict[tuple[str, str], dict[str, Any]]


@dataclass(frozen=True)
class Provider:
    """The simulated provider's control: faults by script, and its ledger."""

    url: str

    def configure(self, **document: Any) -> None:
        answer = send(self.url, "POST", "/_faults", [JSON], json.dumps(document).encode())
        assert answer.status == 200, answer

    def secrets(self, provider: str) -> list[str]:
        """With which the provider signs its webhooks."""
        return list(send(self.url, "GET", "/_config").json["providers"][provider]["webhook_secrets"])

    def ledger(self) -> dict[str, Any]:
        return dict(send(self.url, "GET", "/_ledger").json)

    def charges(self, job_id: str) -> list[dict[str, Any]]:
        """The provider's jobs for one of ours: each is a charge."""
        return [job for job in self.ledger()["jobs"] if job["reference"].startswith(job_id + ".")]

    def submits(self, job_id: str) -> list[dict[str, Any]]:
        """Every POST for one of our jobs, and how it was answered."""
        return [line for line in self.ledger()["submits"] if line["reference"].startswith(job_id + ".")]

    def events(self, job_id: str, kind: str) -> list[dict[str, Any]]:
        """Deliveries of one kind, in the order in which they were answered."""
        return [sent for job in self.charges(job_id) for sent in job["events_sent"] if sent["type"] == f"job.{kind}"]


@dataclass
class Subscriber:
    """A consumer of finished jobs: takes every message of its queue and keeps it."""

    sqs: Any
    queue_url: str
    messages: list[dict[str, Any]] = field(default_factory=list)
    others: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def of(self, job_id: str) -> list[dict[str, Any]]:
        return [message for message in list(self.messages) if message["request_id"] == job_id]

    def first(self, job_id: str, seconds: float = 75) -> dict[str, Any]:
        """The job's publication. Relay sends it at once; where its message was lost, reconcile does within a minute."""
        return until(lambda: self.of(job_id), seconds)[0]

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(timeout=10)

    def _run(self) -> None:
        while not self._stopped.is_set():
            got = self.sqs.receive_message(QueueUrl=self.queue_url, MaxNumberOfMessages=10, WaitTimeSeconds=1)
            for message in got.get("Messages", []):
                self._keep(message["Body"])
                self.sqs.delete_message(QueueUrl=self.queue_url, ReceiptHandle=message["ReceiptHandle"])

    def _keep(self, body: str) -> None:
        try:
            document = json.loads(body)
        except ValueError:
            document = None
        if isinstance(document, dict):
            self.messages.append(document)
        else:
            self.others.append(body)


def until(look: Callable[[], T], seconds: float) -> T:
    """What `look` finds, once it finds something."""
    end = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < end, f"nothing within {seconds:.0f} s"
        time.sleep(0.3)
    return found


def rows(stack: Stack) -> Rows:
    """Every item of the job table, by its key."""
    pages = stack.client("dynamodb").get_paginator("scan").paginate(TableName=stack.info["table"], ConsistentRead=True)
    return {(item["pk"]["S"], item["sk"]["S"]): item for page in pages for item in page["Items"]}


def heads(table: Rows) -> dict[str, Job]:
    """The jobs of a table's items, through the product's own reading."""
    found = [items.read(item).job for (_, row), item in table.items() if row == items.HEAD]
    return {job.id: job for job in found}


def slots(table: Rows) -> dict[tuple[str, str], str]:
    """Who holds each slot row, by provider and row."""
    return {
        (key.removeprefix("S#"), row): item["job"]["S"]
        for (key, row), item in table.items()
        if key.startswith("S#") and row != "pause"
    }


def changed(before: Rows, after: Rows) -> list[tuple[str, str]]:
    """Keys of items that came, went or became others, without jobs that were not published and providers' own state."""
    open_ones = {f"J#{job.id}" for job in heads(before).values() if job.published_at is None}
    return [
        key
        for key in sorted(before.keys() | after.keys())
        if key[0] not in open_ones and key[0][:2] not in ("S#", "W#") and before.get(key) != after.get(key)
    ]


def logged(stack: Stack, function: str, since_ms: int = 0) -> list[dict[str, Any]]:
    """The lines that a function logged, oldest first; the emulator shows the first ten thousand and no more."""
    logs = stack.client("logs")
    deployed = stack.client("lambda").get_function_configuration(FunctionName=stack.info["functions"][function])
    pages = logs.get_paginator("filter_log_events").paginate(
        logGroupName=deployed["LoggingConfig"]["LogGroup"], startTime=since_ms
    )
    lines = (event["message"].strip() for page in pages for event in page["events"])
    return [json.loads(line) for line in lines if line.startswith("{")]
