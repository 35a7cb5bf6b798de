"""Replicate's predictions: Standard Webhooks, the prediction itself as their body, outputs gone after an hour."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from local.provider.answers import Answer, Request, document
from local.provider.dialect import Api, Reason, View, iso, kind_of
from local.provider.records import JobRecord
from local.provider.settings import Traits
from local.provider.wishes import Wish
from local.vendors.vendor import Vendor, chance, links, says

_MODEL = re.compile(r"/v1/models/(?P<model>[^/]+/[^/]+)/predictions")
_FIELDS = frozenset({"version", "input", "webhook", "webhook_events_filter", "stream"})
_EVENTS = frozenset({"start", "output", "logs", "completed"})
_USUAL_EVENTS = ["output", "completed"]
_VERSION = "5c7d5dc6dd8bf75c1acaa8565735e7986bc5b66206b55cca93cb72c9bf15ccaa"
_WORDS = {"queued": "starting", "processing": "processing", "completed": "succeeded", "failed": "failed"}
_LETTERS = str.maketrans("0123456789", "ghijkmnpqr")
_ERRORS = {
    "content_moderated": "The input or output was flagged as sensitive. Please try again with different inputs. (E005)",
    "": "The model could not make a result from this input.",
}
_REFUSALS: dict[Reason, tuple[int, str, str]] = {
    "unauthorized": (401, "Unauthenticated", "You did not pass a valid authentication token"),
    "blocked": (402, "Insufficient credit", "You have insufficient credit to run this model."),
    "unavailable": (503, "Service unavailable", "Try again later."),
    "internal": (500, "Internal server error", "Something went wrong."),
    "not_found": (404, "Not found", "The requested resource could not be found."),
    "no_page": (404, "Not found", "The requested resource could not be found."),
    "invalid_json": (400, "Malformed JSON", "The body could not be parsed."),
}


class Replicate(Vendor):
    """The double. A model with a version is submitted at another address."""

    traits = Traits(idempotent=False, lookup=False, honest_503=False)
    models: ClassVar = {
        "acme/flux": "image-1",
        "acme/wan": "video-1",
        f"acme/bark:{_VERSION}": "voice-1",
    }

    def answer(self, api: Api, request: Request) -> Answer:
        if not self.known(f"Bearer {self.api_key}", request.headers.get("authorization", "")):
            return self.refused("unauthorized")
        match (request.method, request.path.split("/")[1:]):
            case ("POST", ["v1", "predictions"] | ["v1", "models", _, _, "predictions"]):
                return api.submit(request)
            case ("GET", ["v1", "predictions", job_id]):
                return api.show(job_id)
            case ("POST", ["v1", "predictions", job_id, "cancel"]):
                return api.cancel(job_id)
        return self.refused("no_page")

    def webhook_of(self, _request: Request, body: dict[str, Any]) -> str:
        return str(body.get("webhook") or "")

    def wish(self, request: Request, body: dict[str, Any]) -> Wish:
        self.only(body, _FIELDS)
        model = self._model(request, body)
        given = body.get("input")
        if not isinstance(given, dict):
            raise self.unusable("invalid_input", "- input is required")
        prompt = self.text(given, "prompt")
        wanted = body.get("webhook_events_filter", _USUAL_EVENTS)
        if not isinstance(wanted, list) or not set(wanted) <= _EVENTS:
            raise self.unusable("invalid_input", "- webhook_events_filter must be a list of events")
        return Wish(
            model=self.models[model],
            outputs=1,
            duration_s=None,
            webhook_url=self.url(body.get("webhook"), "webhook"),
            reference=self.reference(request, body),
            fails="content_moderated" if self.moderated(prompt) else "",
            extra={"model": model, "input": given, "webhook": body.get("webhook"), "events": wanted},
        )

    def _model(self, request: Request, body: dict[str, Any]) -> str:
        named = _MODEL.fullmatch(request.path)
        if named is not None:
            found = named["model"] if named["model"] in self.models else ""
        else:
            version = self.text(body, "version").rpartition(":")[2]
            found = next((model for model in self.models if model.partition(":")[2] == version), "")
        if not found:
            raise self.unusable("not_found")
        return found

    def refused(self, reason: Reason, message: str = "", wait_s: int | None = None) -> Answer:
        if reason == "rate_limited":
            text = f"Request was throttled. Your rate limit resets in ~{wait_s}s."
            limits = {"ratelimit-remaining": "0", "ratelimit-reset": str(wait_s)}
            return document(429, {"detail": text, "status": 429}, **limits)
        status, title, detail = _REFUSALS.get(reason, (422, "Input validation failed", message))
        return says(status, {"title": title, "detail": message or detail, "status": status})

    def accepted(self, job: JobRecord) -> Answer:
        return says(201, self._prediction(job, "starting", []))

    def without_id(self) -> Answer:
        return says(201, {"status": "starting"})

    def shown(self, job: JobRecord, view: View) -> Answer:
        return says(200, self._prediction(job, self._word(job, view), links(view)))

    def cancel_noted(self, job: JobRecord, view: View) -> Answer:
        return self.shown(job, view)

    def cancel_too_late(self, job: JobRecord, view: View) -> Answer:
        return self.shown(job, view)

    def sends(self, job: JobRecord, kind: str) -> bool:
        """What the request's filter wants to be told."""
        wanted = job.extra["events"]
        if kind == "running":
            return "start" in wanted
        return "logs" in wanted if kind == "progress" else "completed" in wanted and self.seen_at_the_end(kind)

    def event(self, job: JobRecord, _kind: str, view: View) -> Any:
        return self._prediction(job, self._word(job, view), links(view))

    def new_id(self, random: str) -> str:
        return random[:26].translate(_LETTERS)

    def _word(self, job: JobRecord, view: View) -> str:
        if job.state == "canceled":
            before = job.finished_at is not None and job.finished_at < job.starts_at
            return "aborted" if before else "canceled"
        return str(_WORDS.get(view["status"], view["status"]))

    def _prediction(self, job: JobRecord, word: str, outputs: list[str]) -> dict[str, Any]:
        url = f"{self.base_url}/v1/predictions/{job.id}"
        removed = self.older_than(job, self.around.settings.result_life_s)
        model, _, version = job.extra["model"].partition(":")
        return {
            "id": job.id,
            "model": model,
            "version": version or "hidden",
            "input": {} if removed else job.extra["input"],
            "output": None if removed or word != "succeeded" else self._output(job, outputs),
            "error": _ERRORS[job.fails] if word == "failed" else None,
            "logs": "",
            "status": word,
            "data_removed": removed,
            "created_at": iso(job.accepted_at),
            "started_at": None if word == "starting" else iso(job.starts_at),
            "completed_at": None if job.finished_at is None else iso(job.finished_at),
            "webhook": job.extra["webhook"],
            "webhook_events_filter": job.extra["events"],
            "urls": {"get": url, "cancel": f"{url}/cancel", "web": f"{self.base_url}/p/{job.id}"},
        }

    def _output(self, job: JobRecord, outputs: list[str]) -> Any:
        """A link, a list of them, or an object: that is each model's own matter."""
        if kind_of(job) == "image":
            return outputs
        return {kind_of(job): outputs[0], "seed": 1} if chance(job, 2) else outputs[0]
