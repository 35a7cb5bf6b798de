"""All functions over real adapters, as wiring.py puts them together.

AWS is played by moto, time by a clock that tests move, a provider by a server that does whatever a test says.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier, get_ident
from typing import Any, Self, TypeVar, cast

from mediajobs import parts, wiring
from mediajobs.adapters.dynamodb import DynamoStore
from mediajobs.adapters.http import Limits, WebHttp
from mediajobs.adapters.idempotency import PowertoolsOnce, submit_once
from mediajobs.adapters.providers.loading import load
from mediajobs.adapters.providers.registry import Registry
from mediajobs.adapters.secrets import ManagedSecrets
from mediajobs.adapters.sqs import SqsQueues
from mediajobs.jobs.model import Job
from mediajobs.log import JsonLog, logged
from mediajobs.messages import Settings
from mediajobs.ports import World
from tests.cases import signing
from tests.cases.parts import (
    API_KEY,
    CALLBACK,
    NUMBERS,
    ON_THIS_MACHINE,
    PATIENT,
    PORTS,
    TABLES,
    TOKENS,
    Context,
    Counts,
    Sdk,
    Table,
)
from tests.contract import aws
from tests.fakes.callbacks import MemoryCallbacks
from tests.fakes.clock import SeededChance, VirtualClock
from tests.fakes.live import MemoryLive
from tests.fakes.objects import MemoryObjects
from tests.fakes.topic import MemoryTopic
from tests.hostile.names import Names
from tests.hostile.server import HostileServer
from tests.steps.kit import Killed

T = TypeVar("T")


class Deployment:
    """One deployment with one provider, `sim`. Several processes are played by several `rewire`s or threads."""

    def __init__(
        self,
        sdk: Sdk,
        server: HostileServer,
        tables: str = ON_THIS_MACHINE,
        *,
        base_url: str = "",
        edits: tuple[tuple[str, str], ...] = (),
        names: Names | None = None,
        ca_file: str | None = None,
        objects: Any = None,
        limits: Limits = PATIENT,
        secrets: object = None,
        limit: int = 10,
    ) -> None:
        self.sdk, self.server, number = sdk, server, next(NUMBERS)
        self.clock, self.chance = VirtualClock(), SeededChance(number)
        self.client, self.records = Table(sdk.dynamodb), aws.Faulty(sdk.dynamodb, lock=True)
        self.table, self.once_table = f"jobs-{number}", f"once-{number}"
        aws.create_table(sdk.dynamodb, self.table)
        aws.create_idempotency_table(sdk.dynamodb, self.once_table)
        self.queues = {name: _queue(sdk.sqs, f"{name}-{number}") for name in ("dispatch", "store", "urgent")}
        self.objects, self.topic, self.metrics = objects or MemoryObjects(), MemoryTopic(), Counts()
        self.lines = io.StringIO()
        self.prefix = f"place-{number}/"
        self.secret(f"{self.prefix}tokens", TOKENS)
        self.put_secrets(*(secrets if isinstance(secrets, tuple) else (signing.SECRET,)))
        self.once = PowertoolsOnce(self.once_table, self.records)
        self.store = DynamoStore(self.client, self.table, clock=self.clock, chance=self.chance)
        options = {"resolver": names.resolve, "connector": names.connect} if names else {}
        self.http = WebHttp(limits=limits, ca_file=ca_file, **options)  # type: ignore[arg-type]
        text = TABLES.replace("URL", base_url or server.url("")) + tables
        for old, new in edits:
            assert old in text, old
            text = text.replace(old, new)
        self._configuration = load(text)
        secrets_port, providers = self._providers()
        self.world = World(
            clock=self.clock,
            chance=self.chance,
            store=self.store,
            queues=SqsQueues(sdk.sqs, **{f"{name}_url": url for name, url in self.queues.items()}),
            topic=self.topic,
            live=MemoryLive(),
            objects=self.objects,
            http=self.http,
            providers=providers,
            secrets=secrets_port,
            once=self.once,
            create=self._create,
            callbacks=MemoryCallbacks(),
            metrics=self.metrics,
            log=JsonLog(strict=True, stream=self.lines, service=f"cases-{number}", level="INFO"),
            settings=Settings(max_in_flight=limit, callback_base=CALLBACK),
        )
        self._functions: dict[tuple[str, int], Callable[[Any, Any], Any]] = {}
        self.shown = 0  # so many records of the stream are behind us

    def close(self) -> None:
        """Connections that were kept."""
        self.http._pooled.close()

    def rewire(self, **ports: Any) -> Self:
        """Every function as a new process, with other ports where given."""
        secrets, providers = self._providers()
        self.world = replace(self.world, **{"secrets": secrets, "providers": providers, **ports})
        self._functions.clear()
        return self

    def call(self, name: str, event: object, *, remaining_ms: int = 30_000) -> Any:
        """One invocation of a function, through all that wiring.py puts around it. A thread is a process of its own."""
        process = (name, get_ident())
        if process not in self._functions:
            lazy = getattr(wiring, f"{name}_handler")()
            given = {port.rstrip("?").replace("tokens", "secrets") for port in lazy._ports.split()}
            denied: Any = {port: parts.Denied(name, port) for port in PORTS - given}
            inner = lazy._build(replace(self.world, **denied))
            log, metrics = cast("Any", self.world.log), cast("Any", self.metrics)
            self._functions[process] = logged(inner, name=name, log=log, metrics=metrics, clock=self.clock)
        context = Context(remaining_ms)
        self.once.register(context)
        return self._functions[process](event, context)

    # -- what can be seen

    def job(self, job_id: str) -> Job:
        found = self.store.load(job_id)
        assert found is not None
        return found

    def items(self) -> list[dict[str, Any]]:
        """Every item of the table."""
        return [item for page in self.sdk.dynamodb.get_paginator("scan").paginate(TableName=self.table)
                for item in page["Items"]]  # fmt: skip

    def heads(self) -> list[dict[str, Any]]:
        """The rows of all jobs."""
        return [item for item in self.items() if item["sk"]["S"] == "H"]

    def messages(self, queue: str) -> list[dict[str, str]]:
        """What waits in a queue; it is gone from it then."""
        found: list[dict[str, str]] = []
        url = self.queues[queue]
        while taken := self.sdk.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
            found += [json.loads(message["Body"]) for message in taken]
            for message in taken:
                self.sdk.sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return found

    def creates(self) -> int:
        """How many submits the provider saw."""
        return sum(asked.method == "POST" and asked.target == "/v1/jobs" for asked in self.server.asked)

    def polls(self) -> int:
        return sum(asked.method == "GET" and asked.target.startswith("/v1/jobs/") for asked in self.server.asked)

    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines.getvalue().splitlines()]

    def lapse(self) -> None:
        """The time of every invocation that was killed is over."""
        for record in self.sdk.dynamodb.scan(TableName=self.once_table)["Items"]:
            if record["status"]["S"] == "INPROGRESS":
                over = record | {"in_progress_expiration": {"N": "1"}}
                self.sdk.dynamodb.put_item(TableName=self.once_table, Item=over)

    def forget(self) -> None:
        """Nothing is known of earlier invocations."""
        for record in self.sdk.dynamodb.scan(TableName=self.once_table)["Items"]:
            self.sdk.dynamodb.delete_item(TableName=self.once_table, Key={"id": record["id"]})

    def stamp(self) -> str:
        """This moment in whole seconds, as a sender writes it."""
        return str(self.clock.now() // 1000)

    # -- secrets

    def put_secrets(self, *webhook_secrets: object) -> None:
        """The provider's secret as a person stores it."""
        value = {"api_key": API_KEY, "webhook_secrets": list(webhook_secrets)}
        self.secret(f"{self.prefix}providers/sim", json.dumps(value))

    def _create(self, job: Job) -> tuple[Job, bool]:
        return submit_once(self.world.store, job)

    def _providers(self) -> tuple[ManagedSecrets, Registry]:
        """With empty caches."""
        kept = ManagedSecrets(
            self.sdk.secrets,
            self.clock,
            provider_prefix=f"{self.prefix}providers/",
            tokens=f"{self.prefix}tokens",
        )
        return kept, Registry(self._configuration, self.http, kept)

    def secret(self, name: str, text: str) -> None:
        known = self.sdk.secrets.exceptions.ResourceExistsException
        try:
            self.sdk.secrets.create_secret(Name=name, SecretString=text)
        except known:
            self.sdk.secrets.put_secret_value(SecretId=name, SecretString=text)


class Hooked:
    """A port with some of its calls replaced."""

    def __init__(self, real: object, **calls: Callable[..., Any]) -> None:
        self._real, self._calls = real, calls

    def __getattr__(self, name: str) -> Any:
        return self._calls.get(name) or getattr(self._real, name)


def at_once(*calls: Callable[[], T]) -> list[T]:
    """All of them in threads that start together; their answers in this order."""
    start = Barrier(len(calls))

    def run(call: Callable[[], T]) -> T:
        start.wait(10)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def die(*_: object, **__: object) -> Any:
    """The process is gone at this point: no handler of ours runs any more."""
    raise Killed


def _queue(sqs: Any, name: str) -> str:
    return str(sqs.create_queue(QueueName=name)["QueueUrl"])
