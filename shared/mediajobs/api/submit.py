"""POST /v1/jobs and /v1/uploads."""

from __future__ import annotations

from typing import Protocol

from mediajobs import views
from mediajobs.api import bodies, edge, keys, schemas
from mediajobs.api.problems import Answer
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import PUBLIC_STATUS
from mediajobs.messages import Caller
from mediajobs.ports import World
from mediajobs.steps.submit import Submission
from mediajobs.uploads import Form


class Steps(Protocol):
    """What this edge calls: `mediajobs.steps.submit`."""

    def submit(self, world: World, caller: Caller, key: str, command: Submission) -> tuple[Job, bool]: ...

    def offer_upload(self, world: World, caller: Caller, content_type: str) -> Form: ...


def build(world: World, steps: Steps) -> edge.Handler:
    """The handler of function submit."""

    def submit(call: edge.Call) -> Answer:
        caller = call.caller
        key = keys.idempotency_key(call.event)
        command = schemas.submission(bodies.parse(bodies.raw(call.event, limit=bodies.LIMIT)))
        job, replayed = steps.submit(world, caller, key, command)
        # Relative, so that it holds behind any stage, base path or front.
        headers = {"Location": f"jobs/{job.id}"}
        if replayed:
            headers["Idempotency-Replayed"] = "true"
        return edge.answer(202, {"request_id": job.id, "status": PUBLIC_STATUS[job.state]}, headers)

    def new_upload(call: edge.Call) -> Answer:
        caller = call.caller
        fields = schemas.checked(schemas.NewUpload, bodies.parse(bodies.raw(call.event, limit=bodies.LIMIT)))
        return edge.answer(201, views.upload(steps.offer_upload(world, caller, fields.content_type)))

    return edge.build(world, "submit", {"submit": submit, "new_upload": new_upload})
