"""The composition root: which ports each function gets, and what it does with them, from its first invocation on.

A function is handed only what its role allows; asking for more is an error that names it.
"""

from __future__ import annotations

from typing import Any

from mediajobs.clock import Clock
from mediajobs.lazy import Build, Handler, Lazy, Wired
from mediajobs.log import describe_event, logged
from mediajobs.parts import Parts
from mediajobs.ports import World


def _lazy(function: str, ports: str, build: Build, *, http: bool = False) -> Lazy:
    return Lazy(function, ports, build, _wired, http=http)


def _wired(function: str, ports: frozenset[str], build: Build, clock: Clock) -> Wired:
    made = Parts(function, ports, clock)
    inner = build(made.world())
    run = logged(inner, name=function, log=made.log, metrics=made.metrics, clock=clock, describe=_describe)
    return made.once.register if "once" in ports else None, run


def _describe(event: Any, answer: Any) -> dict[str, object]:
    """What the last line of an invocation tells: what came of it, and how many requests went to AWS for it."""
    from mediajobs.adapters.aws import taken_requests

    return describe_event(event, answer) | {"aws_requests": taken_requests()}


def authorize_handler() -> Lazy:
    """API key to tenant and scope; live tokens."""

    def build(world: World) -> Handler:
        from mediajobs.api import authorizer
        from mediajobs.steps import authorize

        return authorizer.build(world, authorize)

    return _lazy("authorize", "tokens?", build)


def submit_handler() -> Lazy:
    """POST /v1/jobs and /v1/uploads."""

    def build(world: World) -> Handler:
        from mediajobs.api import submit as api
        from mediajobs.steps import submit

        return api.build(world, submit)

    return _lazy("submit", "providers create objects?", build, http=True)


def jobs_handler() -> Lazy:
    """Reads, cancel, resolve, a provider's pause and limit, and the files of inputs for providers."""

    def build(world: World) -> Handler:
        from mediajobs.api import jobs as api
        from mediajobs.steps import jobs

        return api.build(world, jobs)

    return _lazy("jobs", "providers objects tokens?", build, http=True)


def webhook_handler() -> Lazy:
    """POST /v1/webhooks/{provider} and …/{provider}/{ref}."""

    def build(world: World) -> Handler:
        from mediajobs.api import webhook as api
        from mediajobs.steps import webhook

        return api.build(world, webhook)

    return _lazy("webhook", "providers secrets once http live?", build, http=True)


def relay_handler() -> Lazy:
    """The table's stream."""

    def build(world: World) -> Handler:
        from mediajobs.adapters.table.items import from_stream
        from mediajobs.batches import stream_handler
        from mediajobs.steps.relay import relay

        return stream_handler(lambda image: relay(world, from_stream(image)))

    return _lazy("relay", "queues topic once providers live?", build)


def dispatch_handler() -> Lazy:
    """Messages {job, do}."""

    def build(world: World) -> Handler:
        from mediajobs.batches import queue_handler
        from mediajobs.messages import Do
        from mediajobs.steps.dispatch import dispatch
        from mediajobs.steps.worker import work

        def take(job_id: str, message: Any, receives: int) -> str:
            do = Do.CANCEL if message.get("do") == Do.CANCEL else Do.SUBMIT
            return work(world, job_id, "dispatch", receives, lambda: dispatch(world, job_id, do))

        return queue_handler(world, "dispatch", take)

    return _lazy("dispatch", "providers secrets http", build)


def store_handler() -> Lazy:
    """Messages {job}."""

    def build(world: World) -> Handler:
        from mediajobs.batches import queue_handler
        from mediajobs.steps.store import store
        from mediajobs.steps.worker import work

        def take(job_id: str, _message: Any, receives: int) -> str:
            return work(world, job_id, "store", receives, lambda: store(world, job_id))

        return queue_handler(world, "store", take)

    return _lazy("store", "providers secrets http objects", build)


def notify_handler() -> Lazy:
    """The queue on the topic, and the routes by which operators register receivers. Each half loads when it is used."""

    def build(world: World) -> Handler:
        halves: dict[str, Handler] = {}

        def handler(event: dict[str, Any], context: Any) -> Any:
            half = "routes" if "httpMethod" in event else "queue"
            if half not in halves:
                halves[half] = _notify_routes(world) if half == "routes" else _notify_queue(world)
            return halves[half](event, context)

        return handler

    return _lazy("notify", "http callbacks", build)


def _notify_routes(world: World) -> Handler:
    from mediajobs.api import callbacks as api
    from mediajobs.steps import callbacks

    return api.build(world, callbacks)


def _notify_queue(world: World) -> Handler:
    from mediajobs.batches import notice_handler
    from mediajobs.steps.notify import notify

    return notice_handler(world, lambda notice: notify(world, notice))


def reconcile_handler() -> Lazy:
    """The schedule's tick."""

    def build(world: World) -> Handler:
        from mediajobs.schedule import tick_of
        from mediajobs.steps.reconcile import reconcile

        def handler(event: dict[str, Any], context: Any) -> dict[str, str]:
            return {"summary": reconcile(world, tick_of(event, context.aws_request_id))}

        return handler

    return _lazy("reconcile", "providers secrets http queues topic once", build)
