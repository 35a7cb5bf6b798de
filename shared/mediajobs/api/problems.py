"""One table from exception to `application/problem+json`, so that a caller can rely on `type` and status alone."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

from mediajobs import views
from mediajobs.errors import ConfigurationError, InProgress, Problem, Retryable, Unavailable
from mediajobs.jobs.model import Job

TYPE_PREFIX = "urn:mediajobs:problem:"
CONTENT_TYPE = "application/problem+json"
_OWN = ("type", "title", "status", "detail", "instance")


class MethodNotAllowed(Problem):
    """The path exists, the method does not."""

    status, slug, title = 405, "method-not-allowed", "Method not allowed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One HTTP answer, ready to be sent. Header values hold no line break."""

    status: int
    body: str | bytes
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = "application/json"


def expected(error: Exception) -> bool:
    """The caller's own doing; everything else is also worth a line of its own in the log."""
    return isinstance(error, Problem)


def as_problem(error: Exception) -> Problem:
    """What the caller is told. Faults of ours are told without their text, which may name what is secret."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, InProgress):
        return Unavailable("The same request is being worked on; send it again, with the same key.", retry_after_s=1)
    if isinstance(error, Retryable):
        return Unavailable("The service is busy; send the request again, with the same key.", retry_after_s=1)
    if isinstance(error, ConfigurationError):
        return Unavailable("The service is not set up completely; its operator finds why in the log.", retry_after_s=60)
    return Problem("Something failed on our side. Send the request again, with the same key; nothing is done twice.")


def render(problem: Problem, *, instance: str | None = None, scope: str = "user") -> Answer:
    """The problem as an answer; `retry_after_s` becomes Retry-After too, a job among the members is shown as public."""
    document: dict[str, Any] = {
        "type": TYPE_PREFIX + problem.slug,
        "title": problem.title,
        "status": problem.status,
        "detail": problem.detail,
    }
    if instance:
        document["instance"] = instance
    headers = {"Cache-Control": "no-store"}
    for name, value in problem.members.items():
        if name == "retry_after_s" and isinstance(value, (int, float)) and math.isfinite(value):
            headers["Retry-After"] = str(max(0, math.ceil(value)))
        elif name == "allow":
            headers["Allow"] = str(value)
        elif name not in _OWN:
            document[name] = views.public(value, caller_scope=scope) if isinstance(value, Job) else value
    body = json.dumps(document, default=str, allow_nan=False)
    return Answer(status=problem.status, body=body, headers=headers, content_type=CONTENT_TYPE)
