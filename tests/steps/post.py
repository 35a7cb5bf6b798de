"""The way from the topic to a receiver, in virtual time: the queue, notify's real handler, and receivers that fail.

A receiver is the one of examples/, behind a line that does what a test says. It drops what it has seen.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from examples.receiver import Receiver
from mediajobs import wiring
from mediajobs.callbacks import Notice, Registration
from mediajobs.errors import NoAnswer, NotSent
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import State
from mediajobs.messages import LinkRules, Request, Response
from mediajobs.ports import World
from mediajobs.steps import callbacks
from mediajobs.steps.publish import publish
from tests.fakes.callbacks import MemoryCallbacks
from tests.fakes.clock import VirtualClock
from tests.fakes.jobs import a_job
from tests.steps.kit import OPERATOR, Killed, Stage

VISIBILITY_MS = 60_000  # as in template.yaml
HANG_S = 10
EMPTY: dict[str, str] = {}

# What a receiver's line may do. `cut` lets the request arrive, and its answer not.
Line = Callable[[int], str]


@dataclass
class Place:
    """One receiver: what reached it, and how its line behaves at a moment."""

    receiver: Receiver
    line: Line = lambda _: "ok"
    asked: list[Request] = field(default_factory=list)

    @property
    def ids(self) -> list[str]:
        """Of each request that was an event, in order."""
        return [request.headers["webhook-id"] for request in self.asked if b'"job.' in request.body]


@dataclass
class Outside:
    """Receivers by host, as `Http.post` reaches them."""

    clock: VirtualClock
    places: dict[str, Place] = field(default_factory=dict)
    rules: list[LinkRules] = field(default_factory=list)

    def post(self, request: Request, rules: LinkRules, *, most: int) -> Response:
        place = self.places[request.url.split("/")[2]]
        self.rules.append(rules)
        what = place.line(self.clock.now())
        if what == "refused":
            raise NotSent("refused")
        place.asked.append(request)
        if what == "hang":
            self.clock.advance(HANG_S)
            raise NoAnswer(f"no end within {HANG_S} s")
        status_of, _, asks = what.partition(" ")
        if status_of.isdigit():
            return Response(status=int(status_of), headers={"retry-after": asks} if asks else EMPTY, body=b"")
        status, answer = place.receiver.take(request.headers, request.body, self.clock.now() / 1000)
        if what == "cut":
            raise NoAnswer("reset")
        return Response(status=status, headers=EMPTY, body=json.dumps(answer).encode()[:most])


@dataclass
class Message:
    body: str
    tenant: str
    sent: int
    visible: int
    number: int
    receives: int = 0
    gone: bool = False


class QueuedCallbacks(MemoryCallbacks):
    """`later` moves the message."""

    messages: list[Message]
    clock: VirtualClock

    def later(self, notice: Notice, seconds: int) -> None:
        super().later(notice, seconds)
        self.messages[int(notice.handle)].visible = self.clock.now() + min(43_200, seconds) * 1000


class Post(Stage):
    """`run` lets time pass; a message that is visible is taken by a process of its own, one at a time."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.callbacks = QueuedCallbacks()
        self.messages: list[Message] = []
        self.callbacks.messages, self.callbacks.clock = self.messages, self.clock
        self.far = Outside(self.clock)
        http: Any = self.far
        self.world = replace(self.world, http=http, callbacks=self.callbacks)
        self.handler = self.handler_of(self.world)
        self.died = 0

    def handler_of(self, world: World) -> Any:
        return wiring.notify_handler()._build(world)

    def registered(self, tenant: str = "acme", *, line: Line = lambda _: "ok") -> Place:
        """A receiver that knows its secret."""
        host = f"{tenant}.example"
        self.far.places[host] = Place(Receiver((), self.folder / f"{tenant}.sqlite"))
        _, secret = callbacks.register(self.world, OPERATOR, tenant, f"https://{host}/hooks")
        assert secret is not None
        self.far.places[host] = Place(Receiver([secret], self.folder / f"{tenant}.sqlite"), line)
        return self.far.places[host]

    def registration(self, tenant: str = "acme") -> Registration:
        found = self.callbacks.registration(tenant)
        assert found is not None
        return found

    def ended(self, key: str, tenant: str = "acme") -> Job:
        """A job that ended now and is published; the topic sends it on where it is listened to."""
        job = a_job(key, tenant=tenant, state=State.SUCCEEDED, version=5, final_version=5, since=self.clock.now())
        self.store.jobs[job.id] = job
        self.store.put_input(job.id, b'{"metadata":{}}', job.payload_digest, 0)
        assert publish(self.world, job)
        (sent,) = self.topic.sends[-1:]
        if self.callbacks.heard and sent.tenant in self.callbacks.heard[-1]:
            self.queue(sent.message, sent.tenant)
        return job

    def queue(self, body: str, tenant: str) -> None:
        now = self.clock.now()
        self.messages.append(Message(body, tenant, now, now, len(self.messages)))

    def run(self, seconds: float) -> None:
        """Until then, or until nothing is left to wait for."""
        end = self.clock.now() + round(seconds * 1000)
        while waiting := [one for one in self.messages if not one.gone]:
            first = min(waiting, key=lambda one: one.visible)
            if first.visible > end:
                break
            if first.visible > self.clock.now():
                self.clock.advance((first.visible - self.clock.now()) / 1000)
            self.take(first)
        self.clock.advance(max(0, end - self.clock.now()) / 1000)

    def take(self, message: Message) -> None:
        message.receives += 1
        message.visible = self.clock.now() + VISIBILITY_MS
        try:
            answer = self.handler(event_of(message), SimpleNamespace(aws_request_id="request"))
        except Killed:
            self.died += 1
            return
        message.gone = not answer["batchItemFailures"]


def event_of(message: Message) -> dict[str, Any]:
    record = {
        "messageId": f"message-{message.number}",
        "receiptHandle": str(message.number),
        "body": message.body,
        "attributes": {"ApproximateReceiveCount": str(message.receives), "SentTimestamp": str(message.sent)},
        "messageAttributes": {"tenant": {"stringValue": message.tenant, "dataType": "String"}},
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:eu-west-1:123456789012:notify",
        "awsRegion": "eu-west-1",
    }
    return {"Records": [record]}
