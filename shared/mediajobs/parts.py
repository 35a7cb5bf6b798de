"""Ports made from the configuration, for one function: only those that it is given.

SDK clients and configuration are made once per cold start, and modules are loaded only by the functions that use them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from mediajobs import config
from mediajobs.clock import Clock, SystemChance
from mediajobs.errors import ConfigurationError
from mediajobs.log import EmfMetrics, JsonLog
from mediajobs.messages import Settings
from mediajobs.ports import World

PROVIDERS = Path(__file__).resolve().parent.parent / "providers.toml"


class Denied:
    """Stands where a function has no such port."""

    def __init__(self, function: str, port: str) -> None:
        self._text = f"function {function} is not given {port}: wire it and extend its role in template.yaml"

    def __getattr__(self, name: str) -> Any:
        raise ConfigurationError(self._text)

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise ConfigurationError(self._text)


class Later:
    """Stands for a port that few invocations ask: it is made, and its modules are loaded, when the first one does."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._made: Any = None
        self._lock = threading.Lock()  # several files are kept in several threads; the SDK makes no two clients at once

    def __getattr__(self, name: str) -> Any:
        with self._lock:
            if self._made is None:
                self._made = self._make()
        return getattr(self._made, name)


def listening_at(url: str) -> str:
    """Where a WebSocket of the Events API at `url` is opened; empty for none."""
    return f"ws{url.removeprefix('http')}/event/realtime" if url else ""


class Parts:
    """Builds the ports of one function, each at most once."""

    def __init__(self, function: str, wanted: frozenset[str], clock: Clock) -> None:
        self.function = function
        self.wanted = wanted
        self.config = config.load()
        self.clock = clock
        self.chance = SystemChance()
        self.log = JsonLog()
        self.metrics = EmfMetrics()
        self.once: Any = self._denied("once")

    def world(self) -> World:
        """The world of this function."""
        from mediajobs.adapters.dynamodb import DynamoStore

        self.config.needs("TABLE")
        store = DynamoStore(self._client("dynamodb"), self.config.TABLE, clock=self.clock, chance=self.chance)
        self.once = self._build("once", self._once)
        http = self._build("http", self._http)
        # "tokens?" is given only what signs our own URLs; its role reads no provider's secret.
        secrets = self._build("tokens" if "tokens?" in self.wanted else "secrets", self._secrets)
        return World(
            clock=self.clock,
            chance=self.chance,
            store=store,
            queues=self._build("queues", self._queues),
            topic=self._build("topic", self._topic),
            live=self._build("live", self._live),
            objects=self._build("objects", self._objects),
            http=http,
            providers=self._build("providers", lambda: self._providers(http, secrets)),
            secrets=secrets,
            once=self.once,
            create=self._build("create", lambda: self._create(store)),
            callbacks=self._build("callbacks", self._callbacks),
            metrics=self.metrics,
            log=self.log,
            settings=Settings(
                max_in_flight=self.config.MAX_IN_FLIGHT,
                callback_base=self.config.CALLBACK_BASE or None,
                job_days=self.config.JOB_DAYS,
                result_days=self.config.RESULT_DAYS,
                live_endpoint=listening_at(self.config.LIVE_LISTEN_URL),
                callback_hosts=tuple(self.config.CALLBACK_HOSTS.split()),
            ),
        )

    def _build(self, port: str, make: Callable[[], Any]) -> Any:
        if f"{port}?" in self.wanted:
            return cast("Any", Later(make))
        return make() if port in self.wanted else self._denied(port)

    def _denied(self, port: str) -> Any:
        return cast("Any", Denied(self.function, port))

    def _client(self, service: str, **options: Any) -> Any:
        from mediajobs.adapters.aws import client

        return client(service, **options)

    def _once(self) -> Any:
        from mediajobs.adapters.idempotency import PowertoolsOnce

        self.config.needs("IDEMPOTENCY_TABLE")
        return PowertoolsOnce(self.config.IDEMPOTENCY_TABLE, self._client("dynamodb"))

    def _create(self, store: Any) -> Any:
        from mediajobs.adapters.idempotency import submit_once

        return lambda job: submit_once(store, job)

    def _http(self) -> Any:
        from mediajobs.adapters.http import WITHIN_A_CALL, WebHttp

        return WebHttp(limits=WITHIN_A_CALL if self.function in ("webhook", "notify") else None)

    def _secrets(self) -> Any:
        from mediajobs.adapters.secrets import ManagedSecrets

        self.config.needs("TOKENS_SECRET" if "tokens?" in self.wanted else "SECRET_PREFIX")
        return ManagedSecrets(
            self._client("secretsmanager"),
            self.clock,
            provider_prefix=self.config.SECRET_PREFIX,
            tokens=self.config.TOKENS_SECRET,
        )

    def _queues(self) -> Any:
        from mediajobs.adapters.sqs import SqsQueues

        self.config.needs("DISPATCH_QUEUE_URL", "STORE_QUEUE_URL", "URGENT_QUEUE_URL")
        return SqsQueues(
            self._client("sqs"),
            dispatch_url=self.config.DISPATCH_QUEUE_URL,
            store_url=self.config.STORE_QUEUE_URL,
            urgent_url=self.config.URGENT_QUEUE_URL,
        )

    def _topic(self) -> Any:
        from mediajobs.adapters.sns import SnsTopic

        self.config.needs("TOPIC_ARN")
        return SnsTopic(self._client("sns"), self.config.TOPIC_ARN)

    def _live(self) -> Any:
        from mediajobs.adapters.live import EventsApi, NoLive

        if not self.config.LIVE_URL:
            return NoLive()
        from mediajobs.adapters.http import Limits, WebHttp

        # Whoever waits here does so on the way to something that counts.
        http = WebHttp(limits=Limits(connect_s=1.0, read_s=1.5, answer_s=1.5))
        return EventsApi(self.config.LIVE_URL, http, self.clock)

    def _callbacks(self) -> Any:
        from mediajobs.adapters.callbacks import AwsCallbacks
        from mediajobs.adapters.table.calls import Calls

        self.config.needs("TOPIC_ARN", "NOTIFY_QUEUE_URL", "NOTIFY_QUEUE_ARN", "NOTIFY_DEAD_LETTER_URL")
        return AwsCallbacks(
            Calls(self._client("dynamodb"), self.config.TABLE, self.clock, self.chance),
            self.chance,
            self._client("sns"),
            self._client("sqs"),
            topic_arn=self.config.TOPIC_ARN,
            queue_url=self.config.NOTIFY_QUEUE_URL,
            queue_arn=self.config.NOTIFY_QUEUE_ARN,
            dead_letter_url=self.config.NOTIFY_DEAD_LETTER_URL,
        )

    def _objects(self) -> Any:
        from mediajobs.adapters.s3 import S3Objects, client_config

        self.config.needs("BUCKET")
        return S3Objects(self._client("s3", config=client_config()), self.config.BUCKET)

    def _providers(self, http: Any, secrets: Any) -> Any:
        from mediajobs.adapters.providers.loading import load
        from mediajobs.adapters.providers.registry import Registry

        return Registry(load(PROVIDERS.read_text(encoding="utf-8")), http, secrets, clock=self.clock)
