"""Black Forest Labs: jobs of a region, words for refused content, a webhook signed with the client's own secret."""

from __future__ import annotations

import hmac
from typing import Any, ClassVar

from local.provider.answers import Answer, Request
from local.provider.dialect import Api, Reason, View, iso
from local.provider.records import JobRecord
from local.provider.settings import Traits
from local.provider.webhooks import Delivery
from local.provider.wishes import Wish
from local.vendors.vendor import Vendor, chance, links, says, uuid

_REGION = "eu1"
_MOST_LIFE_S = 600.0
_FIELDS = frozenset(
    {"prompt", "seed", "width", "height", "aspect_ratio", "output_format", "safety_tolerance", "input_image",
     "prompt_upsampling", "webhook_url", "webhook_secret"}
)  # fmt: skip
_WORDS = {"queued": "Pending", "processing": "Pending", "completed": "Ready", "failed": "Error"}
_REFUSALS: dict[Reason, tuple[int, str]] = {
    "unauthorized": (403, "Not authenticated"),
    "blocked": (402, "Insufficient credits"),
    "rate_limited": (429, "Too many requests"),
    "busy": (429, "You have reached the maximum number of active tasks"),
    "unavailable": (503, "Service unavailable"),
    "internal": (500, "Internal server error"),
    "no_page": (404, "Not Found"),
}


class Bfl(Vendor):
    """The double."""

    traits = Traits(idempotent=False, lookup=False, honest_503=False, most_in_flight=24)
    models: ClassVar = {"flux-2-pro": "image-1", "flux-kontext-max": "image-1"}

    def answer(self, api: Api, request: Request) -> Answer:
        if not self.known(self.api_key, request.headers.get("x-key", "")):
            return self.refused("unauthorized")
        match (request.method, request.path.split("/")[1:]):
            case ("POST", ["v1", model]) if model in self.models:
                return api.submit(request)
            case ("GET", ["v1", "get_result"]):
                return self._result(api, request, everywhere=True)
            case ("GET", [region, "v1", "get_result"]) if region == _REGION:
                return self._result(api, request, everywhere=False)
        return self.refused("no_page")

    def _result(self, api: Api, request: Request, *, everywhere: bool) -> Answer:
        """A job whose sender was told a region's address is known there only."""
        job_id = request.query.get("id", "")
        job = self.around.ledger.jobs.get(job_id)
        if job is None or job.provider != self.name or (everywhere and job.extra["regional"]):
            return self._not_found(job_id)
        answer = api.show(job_id)
        return self._not_found(job_id) if answer.status == 404 else answer

    def webhook_of(self, _request: Request, body: dict[str, Any]) -> str:
        return str(body.get("webhook_url") or "")

    def wish(self, request: Request, body: dict[str, Any]) -> Wish:
        self.only(body, _FIELDS)
        prompt = self.text(body, "prompt")
        secret = body.get("webhook_secret")
        if secret is not None and not isinstance(secret, str):
            raise self.unusable("invalid_input", "webhook_secret must be a text")
        webhook_url = self.url(body.get("webhook_url"), "webhook_url")
        return Wish(
            model=self.models[request.path.rpartition("/")[2]],
            outputs=1,
            duration_s=None,
            webhook_url=webhook_url,
            reference=self.reference(request, body),
            fails="content_moderated" if self.moderated(prompt) else "",
            extra={"secret": secret or "", "prompt": prompt, "regional": not webhook_url},
        )

    def refused(self, reason: Reason, message: str = "", wait_s: int | None = None) -> Answer:
        if reason in ("invalid_input", "invalid_json"):
            return says(422, {"detail": [{"loc": ["body"], "msg": message or "not JSON", "type": "value_error"}]})
        if reason == "not_found":
            return says(404, {"detail": "Task not found"})
        status, text = _REFUSALS[reason]
        return says(status, {"detail": text}, wait_s)

    def accepted(self, job: JobRecord) -> Answer:
        """With a webhook the schema has no polling_url; some answers have one all the same."""
        url = {"polling_url": f"{self.base_url}/{_REGION}/v1/get_result?id={job.id}"}
        if not job.webhook_url:
            return says(200, {"id": job.id, **url})
        body = {"id": job.id, "status": "Pending", "webhook_url": job.webhook_url}
        return says(200, {**body, **url} if chance(job, 2) else body)

    def without_id(self) -> Answer:
        return says(200, {"status": "Pending"})

    def shown(self, job: JobRecord, view: View) -> Answer:
        """Refused content has words of its own. A result is gone after ten minutes, and then nobody knows the job."""
        life_s = min(_MOST_LIFE_S, self.around.settings.result_life_s)
        if job.state == "completed" and self.older_than(job, life_s):
            return self._not_found(job.id)
        word = _WORDS.get(view["status"], view["status"].capitalize())
        body: dict[str, Any] = {"id": job.id, "status": word, "result": None, "progress": view["progress"] / 100}
        if word == "Ready":
            return says(200, {**body, "result": self._sample(job, view)})
        if word == "Error" and job.fails:
            refused = "Request Moderated" if chance(job, 2) else "Content Moderated"
            return says(
                200, {**body, "status": refused, "details": {"Moderation Reasons": ["Derivative Works Filter"]}}
            )
        return says(200, {**body, "details": view["error"]} if word == "Error" else body)

    def sends(self, _job: JobRecord, kind: str) -> bool:
        return kind in ("completed", "failed")

    def event(self, job: JobRecord, kind: str, view: View) -> Any:
        body = {"id": job.id, "timestamp": iso(self.around.now())}
        if kind == "completed":
            return {**body, "status": "Ready", "result": self._sample(job, view)}
        error = "content_policy_violation" if job.fails else "generation_failed"
        return {**body, "status": "Error", "error": error, "message": view["error"]["message"]}

    def signed(self, delivery: Delivery, _timestamp: int) -> dict[str, str]:
        """With the secret that came with the job; without one not at all."""
        job = self.around.ledger.jobs.get(delivery.job_id)
        secret = "" if job is None else job.extra["secret"]
        if not secret:
            return {}
        return {"X-BFL-Signature": "sha256=" + hmac.digest(secret.encode(), delivery.body, "sha256").hex()}

    def new_id(self, random: str) -> str:
        return uuid(random)

    def _sample(self, job: JobRecord, view: View) -> dict[str, Any]:
        return {"sample": links(view)[0], "prompt": job.extra["prompt"], "seed": 42}

    def _not_found(self, job_id: str) -> Answer:
        """The word for an unknown job comes inside a 200."""
        return says(200, {"id": job_id, "status": "Task not found", "result": None, "progress": None})
