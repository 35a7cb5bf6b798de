"""Runway's tasks: no webhook, a version header without which nothing goes, DELETE that cancels or deletes."""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

from local.provider.answers import Answer, Request
from local.provider.dialect import Api, Reason, Surroundings, View, iso
from local.provider.records import JobRecord
from local.provider.settings import Traits
from local.provider.wishes import Wish
from local.vendors.vendor import Vendor, links, says, uuid

_VERSION = "2024-11-06"
_CONCURRENCY = 2
_FIELDS = frozenset(
    {"model", "promptText", "promptImage", "ratio", "duration", "seed", "contentModeration", "referenceImages"}
)
_ENDPOINTS = {"image_to_video": ("gen4_turbo",), "text_to_video": ("veo3.1",), "text_to_image": ("gen4_image",)}
_WORDS = {
    "queued": "PENDING", "processing": "RUNNING", "completed": "SUCCEEDED", "failed": "FAILED", "canceled": "CANCELLED",
}  # fmt: skip
_FAILURES = {
    "content_moderated": ("SAFETY.INPUT.TEXT", "The prompt breaks the content rules."),
    "": ("INTERNAL.BAD_OUTPUT.CODE01", "The model could not make a result from this input."),
}
_REFUSALS: dict[Reason, tuple[int, str]] = {
    "unauthorized": (401, "The API key is not valid."),
    "rate_limited": (429, "Too many requests."),
    "unavailable": (503, "The service is under load. Try again later."),
    "internal": (500, "Something went wrong."),
    "not_found": (404, "The task was not found."),
    "no_page": (404, "There is no such page."),
}
_USED_UP = (
    (400, "You do not have enough credits to run this task."),
    (429, "You have reached your daily task limit."),
)


class Runway(Vendor):
    """The double."""

    traits = Traits(idempotent=False, lookup=False, honest_503=False)
    models: ClassVar = {"gen4_turbo": "video-1", "veo3.1": "video-1", "gen4_image": "image-1"}

    def __init__(self, name: str, around: Surroundings) -> None:
        super().__init__(name, around)
        self._numbers = itertools.count()

    def answer(self, api: Api, request: Request) -> Answer:
        if not self.known(f"Bearer {self.api_key}", request.headers.get("authorization", "")):
            return self.refused("unauthorized")
        if request.headers.get("x-runway-version") != _VERSION:
            return says(400, {"error": f"X-Runway-Version must be {_VERSION}."})
        match (request.method, request.path.split("/")[1:]):
            case ("POST", ["v1", endpoint]) if endpoint in _ENDPOINTS:
                return api.submit(request)
            case ("GET", ["v1", "tasks", job_id]):
                return api.show(job_id)
            case ("DELETE", ["v1", "tasks", job_id]):
                return api.cancel(job_id)
            case (_, ["v1", "tasks", _]):
                return says(405, {"error": "Method not allowed."})
        return self.refused("no_page")

    def wish(self, request: Request, body: dict[str, Any]) -> Wish:
        self.only(body, _FIELDS)
        endpoint = request.path.rpartition("/")[2]
        if body.get("model") not in _ENDPOINTS[endpoint]:
            raise self.unusable("invalid_input", "model")
        if endpoint == "image_to_video" and not str(body.get("promptImage", "")).startswith(("https://", "data:")):
            raise self.unusable("invalid_input", "promptImage")
        if endpoint != "image_to_video":
            self.text(body, "promptText")
        for name in ("duration", "seed"):
            if not isinstance(body.get(name, 0), int):
                raise self.unusable("invalid_input", name)
        return Wish(
            model=self.models[body["model"]],
            outputs=1,
            duration_s=None,
            webhook_url="",
            reference=self.reference(request, body),
            fails="content_moderated" if self.moderated(body.get("promptText")) else "",
            extra={"throttled": self.around.ledger.in_flight(self.name) >= _CONCURRENCY},
        )

    def refused(self, reason: Reason, message: str = "", _wait_s: int | None = None) -> Answer:
        if reason in ("invalid_input", "invalid_json"):
            issues = [{"message": "Invalid", "path": [message]}]
            return says(400, {"error": "Validation of body failed", "issues": issues})
        status, text = _USED_UP[next(self._numbers) % 2] if reason == "blocked" else _REFUSALS[reason]
        return says(status, {"error": text})

    def accepted(self, job: JobRecord) -> Answer:
        return says(200, {"id": job.id})

    def without_id(self) -> Answer:
        return says(200, {})

    def shown(self, job: JobRecord, view: View) -> Answer:
        word = _WORDS.get(view["status"], view["status"].upper())
        # Accepted beyond the account's concurrency, a task waits for a while before it runs.
        if word in ("PENDING", "RUNNING") and job.extra["throttled"] and view["progress"] < 40:
            word = "THROTTLED"
        task: dict[str, Any] = {"id": job.id, "status": word, "createdAt": iso(job.accepted_at)}
        if word == "RUNNING":
            task["progress"] = view["progress"] / 100
        elif word == "SUCCEEDED":
            task["output"] = links(view)
        elif word == "FAILED":
            task["failureCode"], task["failure"] = _FAILURES[job.fails]
        return says(200, task)

    def cancel_noted(self, _job: JobRecord, _view: View) -> Answer:
        return Answer(status=204)

    def cancel_too_late(self, job: JobRecord, _view: View) -> Answer:
        """A task that is done is deleted, its paid result too."""
        self.around.ledger.delete(job.id)
        return Answer(status=204)

    def forgets(self, job: JobRecord) -> bool:
        return job.deleted or job.state == "canceled"

    def sends(self, _job: JobRecord, _kind: str) -> bool:
        return False

    @classmethod
    def example(cls, number: int, prompt: str) -> tuple[str, dict[str, Any]]:
        given: dict[str, Any] = {"promptText": prompt, "seed": number}
        if number % 2:
            return "gen4_image", {**given, "ratio": "1360:768"}
        return "gen4_turbo", {**given, "promptImage": "https://images.example/garden.jpg", "ratio": "1280:720"}

    def new_id(self, random: str) -> str:
        return uuid(random)
