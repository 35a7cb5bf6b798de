"""POST /v1/jobs."""

from __future__ import annotations

from typing import Protocol

from mediajobs.api import bodies, edge, keys, schemas
from mediajobs.api.problems import Answer
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import PUBLIC_STATUS
from mediajobs.messages import Caller
from mediajobs.ports import World
from mediajobs.steps.submit import Submission


class Steps(Protocol):
    """What this edge calls: `mediajobs.steps.submit`."""

    def submit(self, world: World, caller: Caller, key: str, command: Submission) -> tuple[Job, bool]: ...


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

    return edge.build(world, "submit", {"submit": submit})
