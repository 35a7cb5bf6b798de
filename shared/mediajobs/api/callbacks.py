"""Callbacks, as operators set them up: register, read, rotate, end."""

from __future__ import annotations

from typing import Any, Protocol

from mediajobs import views
from mediajobs.api import bodies, edge, schemas
from mediajobs.api.problems import Answer
from mediajobs.callbacks import Registration
from mediajobs.messages import Caller
from mediajobs.ports import World


class Steps(Protocol):
    """What this edge calls: `mediajobs.steps.callbacks`."""

    def read(self, world: World, caller: Caller, tenant: str) -> Registration: ...

    def register(self, world: World, caller: Caller, tenant: str, address: str) -> tuple[Registration, str | None]: ...

    def rotate(self, world: World, caller: Caller, tenant: str, overlap_s: int) -> tuple[Registration, str]: ...

    def end(self, world: World, caller: Caller, tenant: str) -> Registration: ...


def build(world: World, steps: Steps) -> edge.Handler:
    """The handler of function notify's routes."""

    def read(call: edge.Call) -> Answer:
        return _shown(steps.read(world, call.caller, call.path("tenant")))

    def register(call: edge.Call) -> Answer:
        caller = call.caller
        wanted = schemas.checked(schemas.CallbackChange, _body(call))
        return _shown(*steps.register(world, caller, call.path("tenant"), wanted.url))

    def rotate(call: edge.Call) -> Answer:
        caller = call.caller
        wanted = schemas.checked(schemas.Rotation, _body(call))
        return _shown(*steps.rotate(world, caller, call.path("tenant"), wanted.overlap_s))

    def end(call: edge.Call) -> Answer:
        return _shown(steps.end(world, call.caller, call.path("tenant")))

    actions = {"get_callback": read, "register_callback": register, "rotate_callback": rotate, "end_callback": end}
    return edge.build(world, "notify", actions)


def _shown(registration: Registration, secret: str | None = None) -> Answer:
    return edge.answer(200, views.callback(registration, secret))


def _body(call: edge.Call) -> dict[str, Any]:
    return bodies.parse(bodies.raw(call.event, limit=bodies.LIMIT))
