"""Reading jobs, asking for a cancel, a person's decisions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol

from mediajobs import views
from mediajobs.api import bodies, edge, schemas
from mediajobs.api.problems import Answer
from mediajobs.errors import NotFound
from mediajobs.jobs.model import Job
from mediajobs.messages import Caller
from mediajobs.pauses import Provider
from mediajobs.ports import World
from mediajobs.steps.jobs import JobView, Resolution
from mediajobs.steps.live import Grant

if TYPE_CHECKING:
    from mediajobs.steps.uploads import Served

_JOB_ID = re.compile(r"[a-z2-7]{26}")
_INPUT = re.compile(r"([a-z2-7]{26})\.([a-z2-7]{26})")
_FLAGS = {"true": True, "false": False}


class Steps(Protocol):
    """What this edge calls: `mediajobs.steps.jobs`."""

    def get(self, world: World, caller: Caller, job_id: str) -> JobView: ...

    def input_file(self, world: World, job_id: str, token: str, name: str) -> Served: ...

    def listing(
        self, world: World, caller: Caller, *, cursor: str | None, limit: int, attention: bool
    ) -> tuple[list[Job], str | None]: ...

    def cancel(self, world: World, caller: Caller, job_id: str) -> Job: ...

    def resolve(self, world: World, caller: Caller, job_id: str, command: Resolution) -> Job: ...

    def provider_state(self, world: World, caller: Caller, name: str) -> tuple[Provider, int]: ...

    def set_provider(
        self, world: World, caller: Caller, name: str, *, pause: bool | None, limit: int | None
    ) -> tuple[Provider, int]: ...


def build(world: World, steps: Steps) -> edge.Handler:
    """The handler of function jobs."""
    own = _Actions(world, steps)
    return edge.build(
        world,
        "jobs",
        {
            "list_jobs": own.listing,
            "get_job": own.get,
            "cancel_job": own.cancel,
            "resolve_job": own.resolve,
            "get_provider": own.provider,
            "set_provider": own.set_provider,
            "get_input": own.input_file,
            "head_input": own.input_file,
        },
    )


class _Actions:
    def __init__(self, world: World, steps: Steps) -> None:
        self._world = world
        self._steps = steps

    def get(self, call: edge.Call) -> Answer:
        caller = call.caller
        view = self._steps.get(self._world, caller, _job_id(call))
        shown = views.public(
            view.job,
            progress=view.progress,
            urls=view.links,
            metadata=view.metadata,
            caller_scope=caller.scope,
            now=self._world.clock.now(),
        )
        return edge.answer(200, shown | {"live": _live(view.live)})

    def listing(self, call: edge.Call) -> Answer:
        caller = call.caller
        query = _listing(call)
        jobs, cursor = self._steps.listing(
            self._world, caller, cursor=query.cursor, limit=query.limit, attention=query.attention
        )
        now = self._world.clock.now()
        shown = [views.public(job, caller_scope=caller.scope, now=now) for job in jobs]
        return edge.answer(200, {"jobs": shown, "cursor": cursor})

    def cancel(self, call: edge.Call) -> Answer:
        caller = call.caller
        job = self._steps.cancel(self._world, caller, _job_id(call))
        return edge.answer(202, views.public(job, caller_scope=caller.scope))

    def resolve(self, call: edge.Call) -> Answer:
        caller = call.caller
        job_id = _job_id(call)
        command = schemas.resolution(_body(call))
        job = self._steps.resolve(self._world, caller, job_id, command)
        # An adopted id is bound only after the provider was asked about it.
        status = 202 if command.kind == "adopt" else 200
        return edge.answer(status, views.public(job, caller_scope=caller.scope))

    def provider(self, call: edge.Call) -> Answer:
        state, limit = self._steps.provider_state(self._world, call.caller, call.path("provider"))
        return edge.answer(200, views.provider(state, limit))

    def set_provider(self, call: edge.Call) -> Answer:
        caller = call.caller
        name = call.path("provider")
        change = schemas.checked(schemas.ProviderChange, _body(call))
        state, limit = self._steps.set_provider(self._world, caller, name, pause=change.pause, limit=change.limit)
        return edge.answer(200, views.provider(state, limit))

    def input_file(self, call: edge.Call) -> Answer:
        """To HEAD the same answer: whoever carries it leaves the body out, and tells its length."""
        found = _INPUT.fullmatch(call.path("ref"))
        if found is None:
            raise NotFound("There is nothing at this address.")
        served = self._steps.input_file(self._world, found[1], found[2], call.path("name"))
        headers = {"Cache-Control": "private, no-store"}
        if served.url is not None:
            return Answer(status=307, body="", headers=headers | {"Location": served.url})
        return Answer(status=200, body=served.body, headers=headers, content_type=served.content_type)


def _live(grant: Grant | None) -> dict[str, str] | None:
    if grant is None:
        return None
    return {
        "endpoint": grant.endpoint,
        "channel": grant.channel,
        "token": grant.token,
        "expires_at": views.iso(grant.expires_at),
    }


def _job_id(call: edge.Call) -> str:
    """Nothing that cannot be an id is looked up."""
    job_id = call.path("id")
    if not _JOB_ID.fullmatch(job_id):
        raise NotFound("There is no such job.")
    return job_id


def _body(call: edge.Call) -> dict[str, Any]:
    return bodies.parse(bodies.raw(call.event, limit=bodies.LIMIT))


def _listing(call: edge.Call) -> schemas.Listing:
    words: dict[str, object] = {}
    if (limit := call.query("limit")) is not None:
        words["limit"] = int(limit) if re.fullmatch(r"[0-9]{1,4}", limit) else limit
    if (cursor := call.query("cursor")) is not None:
        words["cursor"] = cursor
    if (attention := call.query("attention")) is not None:
        words["attention"] = _FLAGS.get(attention, attention)
    return schemas.checked(schemas.Listing, words)
