"""SQS: delivered at least once, late, twice, and again after the visibility timeout where it was not deleted."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mediajobs.messages import Do

if TYPE_CHECKING:
    from tests.simulation.world.town import Town

MOST_RECEIVES = 20  # then it is a dead letter


@dataclass
class Message:
    """One message, until it is deleted."""

    id: str
    body: str
    receives: int = 0
    deleted: bool = False


class Queue:
    """One queue and the function that it feeds, `most` invocations at a time."""

    def __init__(self, town: Town, function: str, visibility_ms: int, most: int) -> None:
        self._town, self._function = town, function
        self._visibility_ms, self._most = visibility_ms, most
        self._ready: deque[Message] = deque()
        self._running = 0
        self._sent = 0
        self.dead: list[Message] = []

    @property
    def empty(self) -> bool:
        return not self._ready and not self._running

    def send(self, body: dict[str, str], delay_s: int) -> None:
        weather = self._town.weather
        wait = delay_s * 1000
        if weather.happens(f"queue late {self._function}"):
            wait += weather.pick(f"queue late {self._function}", 1_000, 600_000)
        self._put(body, wait)
        if weather.happens(f"queue twice {self._function}"):
            self._put(body, wait + weather.pick(f"queue twice {self._function}", 0, 300_000))

    def _put(self, body: dict[str, str], wait: int) -> None:
        self._sent += 1
        message = Message(f"{self._function}-{self._sent}", json.dumps(body))
        self._town.scheduler.after(wait, lambda: self._visible(message))

    def _visible(self, message: Message) -> None:
        if message.deleted:
            return
        if message.receives >= MOST_RECEIVES:
            self.dead.append(message)
            return
        self._ready.append(message)
        self._next()

    def _next(self) -> None:
        while self._ready and self._running < self._most:
            self._deliver(self._ready.popleft())

    def _deliver(self, message: Message) -> None:
        self._running += 1
        message.receives += 1
        self._town.scheduler.after(self._visibility_ms, lambda: self._visible(message))
        self._town.invoke(self._function, _event(message), lambda answer: self._ended(message, answer))

    def _ended(self, message: Message, answer: object) -> None:
        self._running -= 1
        done = isinstance(answer, dict) and not answer.get("batchItemFailures")
        if done and not self._town.weather.happens(f"queue undeleted {self._function}"):
            message.deleted = True
        self._next()


class Queues:
    """Implements `ports.Queues`."""

    def __init__(self, town: Town, most: int) -> None:
        self.to_dispatch = Queue(town, "dispatch", 90_000, most)
        self.to_store = Queue(town, "store", 910_000, 4)

    def dispatch(self, job_id: str, do: Do, delay_s: int = 0) -> None:
        self.to_dispatch.send({"job": job_id, "do": str(do)}, max(0, min(900, delay_s)))

    def store(self, job_id: str, delay_s: int = 0, *, urgent: bool = False) -> None:
        self.to_store.send({"job": job_id}, max(0, min(900, delay_s)))

    @property
    def dead(self) -> list[Message]:
        return [*self.to_dispatch.dead, *self.to_store.dead]


def _event(message: Message) -> dict[str, Any]:
    record = {
        "messageId": message.id,
        "receiptHandle": message.id,
        "body": message.body,
        "attributes": {"ApproximateReceiveCount": str(message.receives)},
        "messageAttributes": {},
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:eu-west-1:123456789012:queue",
        "awsRegion": "eu-west-1",
    }
    return {"Records": [record]}
