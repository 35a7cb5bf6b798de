"""All functions, each in its own process, on a bare emulator with the template's resources and a scripted provider.

No event source runs by itself: whoever uses this brings each event by hand and sees what came of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any

from bench import packages, resources
from bench.sandbox import Invocation, Sandbox
from bench.scripted import ScriptedProvider
from bench.wire import Wire
from events.env import environment
from events.scenes import configuration
from local.stack.clients import Clients, clients
from mediajobs.adapters.callbacks import PARTITION, registration_of
from mediajobs.adapters.table import items
from mediajobs.callbacks import Registration
from mediajobs.jobs.model import Job

Item = dict[str, Any]
_CREDENTIALS = {"AWS_DEFAULT_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")


def _providers(url: str, more: str) -> str:
    """The laptop's providers, and more; `sim` has a model that takes as long as most do in the world."""
    models = "[providers.sim.models]\n"
    text = configuration(url).replace("max_run_s = 60", "max_run_s = 7200", 1)
    return text.replace(models, f'{models}long-1 = {{ kind = "video", expected_s = 300 }}\n') + more


class Bed(AbstractContextManager["Bed"]):
    """Use as a context. `client` speaks to the emulator directly; the functions speak through `wire`.

    `more` is TOML of providers that are configured beside those that do the work.
    """

    def __init__(self, endpoint: str, directory: Path, *, more: str = "") -> None:
        self.client: Clients = clients(endpoint)
        self.wire = Wire(endpoint)
        self.provider = ScriptedProvider()
        self._template = resources.template(self.wire.endpoint)
        self.names = resources.create(self.client)
        self.wire.tell_live(self.names["LiveApi.Host"])
        self._layer = packages.layer(directory / "layer", _providers(self.provider.url, more))
        self._runtime = packages.runtime(directory / "runtime")
        self._sandboxes: dict[str, Sandbox] = {}
        self._shards: dict[str, str] = {}

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.restart()
        self.provider.close()
        self.wire.close()

    def environment(self, function: str) -> dict[str, str]:
        """What the function sees on Lambda, and where the emulator is."""
        own = environment(self._template, function.capitalize(), lambda word: self.names[word])
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        quiet = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
        return kept | quiet | own | _CREDENTIALS | {"AWS_ENDPOINT_URL": self.wire.endpoint}

    def sandbox(self, function: str) -> Sandbox:
        """The function's process, started when it is first asked for."""
        if function not in self._sandboxes:
            paths = [self._layer, self._runtime]
            self._sandboxes[function] = Sandbox(function, paths, self.environment(function))
        return self._sandboxes[function]

    def restart(self) -> None:
        """Every function starts anew: what it loads counts from nothing."""
        for sandbox in self._sandboxes.values():
            sandbox.close()
        self._sandboxes.clear()

    def invoke(self, function: str, event: object, now: int) -> Invocation:
        return self.sandbox(function).invoke(event, now=now)

    # -- the table

    def clear(self) -> None:
        """Nothing is kept of what was, but what SNS remembers of publications."""
        for name, keys in (("Table", ("pk", "sk")), ("IdempotencyTable", ("id",))):
            self._delete(name, [{key: item[key] for key in keys} for item in self._scan(name)])
        for queue in ("DispatchQueue", "StoreQueue", "UrgentQueue", "NotifyDeadLetterQueue", "consumer"):
            self.client("sqs").purge_queue(QueueUrl=self.names[queue])
        for each in self.objects():
            self.client("s3").delete_object(Bucket=self.names["Bucket"], Key=each)
        self.provider.tell(())
        self.wire.take()

    def put(self, rows: Iterable[Item]) -> None:
        self._batch("Table", [{"PutRequest": {"Item": item}} for item in rows])

    def _delete(self, name: str, keys: Iterable[Item]) -> None:
        self._batch(name, [{"DeleteRequest": {"Key": key}} for key in keys])

    def _batch(self, name: str, requests: list[dict[str, Any]]) -> None:
        for start in range(0, len(requests), 25):
            part = {self.names[name]: requests[start : start + 25]}
            self.client("dynamodb").batch_write_item(RequestItems=part)

    def head(self, job_id: str) -> Item:
        """The job's head as it stands."""
        found = self.client("dynamodb").get_item(
            TableName=self.names["Table"], Key=items.head_key(job_id), ConsistentRead=True
        )
        item: Item = found["Item"]
        return item

    def job(self, job_id: str) -> Job:
        return items.read(self.head(job_id)).job

    def registration(self, tenant: str) -> Registration:
        """The tenant's callback as it stands."""
        key = {"pk": {"S": PARTITION}, "sk": {"S": tenant}}
        found = self.client("dynamodb").get_item(TableName=self.names["Table"], Key=key, ConsistentRead=True)
        return registration_of(found["Item"])

    def _scan(self, name: str) -> Iterator[Item]:
        pages = self.client("dynamodb").get_paginator("scan").paginate(TableName=self.names[name])
        for page in pages:
            yield from page["Items"]

    # -- what the functions sent

    def messages(self, queue: str) -> list[Mapping[str, Any]]:
        """The messages in a queue, delayed ones too; they are gone from it then."""
        url, sqs = self.names[queue], self.client("sqs")
        taken: list[Mapping[str, Any]] = []
        while found := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
            taken += [json.loads(message["Body"]) for message in found]
            for message in found:
                sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return taken

    def objects(self) -> list[str]:
        found = self.client("s3").list_objects_v2(Bucket=self.names["Bucket"])
        return [each["Key"] for each in found.get("Contents", [])]

    def put_object(self, key: str, body: bytes) -> None:
        self.client("s3").put_object(Bucket=self.names["Bucket"], Key=key, Body=body)

    def changes(self) -> list[Item]:
        """The new images that the table's stream shows since this was asked last."""
        streams, arn = self.client("dynamodbstreams"), self.names["Table.StreamArn"]
        shown: list[Item] = []
        for shard in streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
            name = shard["ShardId"]
            if name not in self._shards:
                given = {"StreamArn": arn, "ShardId": name, "ShardIteratorType": "TRIM_HORIZON"}
                self._shards[name] = streams.get_shard_iterator(**given)["ShardIterator"]
            while (found := streams.get_records(ShardIterator=self._shards[name]))["Records"]:
                self._shards[name] = found["NextShardIterator"]
                images = (record["dynamodb"].get("NewImage") for record in found["Records"])
                shown += [image for image in images if image]
        return shown
