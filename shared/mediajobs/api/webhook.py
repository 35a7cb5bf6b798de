"""POST /v1/webhooks/…: the bytes exactly as they came, for the signature covers them."""

from __future__ import annotations

from typing import Protocol

from mediajobs.api import bodies, edge, keys
from mediajobs.api.problems import Answer
from mediajobs.messages import Delivery
from mediajobs.ports import World


class Steps(Protocol):
    """What this edge calls: `mediajobs.steps.webhook`."""

    def challenge(self, world: World, delivery: Delivery) -> dict[str, str] | None: ...

    def take(self, world: World, delivery: Delivery) -> tuple[int, str]: ...


def build(world: World, steps: Steps) -> edge.Handler:
    """The handler of function webhook."""

    def take(call: edge.Call, ref: str | None) -> Answer:
        delivery = Delivery(
            provider=call.path("provider"),
            ref=ref,
            headers=keys.headers(call.event),
            body=bodies.raw(call.event),
        )
        echo = steps.challenge(world, delivery)
        if echo is not None:
            return edge.answer(200, echo)
        status, verdict = steps.take(world, delivery)
        return edge.answer(status, {"verdict": verdict})

    return edge.build(
        world,
        "webhook",
        {
            "receive_webhook": lambda call: take(call, None),
            "receive_webhook_of_job": lambda call: take(call, call.path("ref")),
        },
    )
