"""fal.ai's queue: COMPLETED may mean failed, a result has an address of its own, webhooks are signed by Ed25519."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Any, ClassVar

from local.provider.answers import Answer, Request
from local.provider.dialect import Api, Reason, View, kind_of
from local.provider.records import JobRecord
from local.provider.settings import Traits
from local.provider.webhooks import Delivery
from local.provider.wishes import Wish
from local.vendors.vendor import Vendor, chance, says, uuid

_REQUEST = re.compile(
    r"/(?P<app>(?:(?:workflows|comfy)/)?[^/]+/[^/]+)/requests/(?P<id>[^/]+)(?P<what>/status|/cancel)?"
)
_METHODS = {"": "GET", "/status": "GET", "/cancel": "PUT"}
_USER = "user_5d3c1f"
_REFUSALS: dict[Reason, tuple[int, dict[str, Any]]] = {
    "unauthorized": (401, {"detail": "Authentication is required to access this application."}),
    "blocked": (403, {"detail": "User is locked. Reason: Exhausted balance."}),
    "rate_limited": (429, {"detail": "Too many requests."}),
    "unavailable": (503, {"detail": "Service Unavailable"}),
    # Not the job's: a failure of the job comes with an error_type.
    "internal": (500, {"detail": "Internal Server Error"}),
    "not_found": (404, {"detail": "Request not found", "status": "NOT_FOUND"}),
    "no_page": (404, {"detail": "Not Found"}),
    "finished": (400, {"status": "ALREADY_COMPLETED"}),
}
_DETAILS = {
    "content_moderated": ("content_policy_violation", "The content could not be processed."),
    "invalid_input": ("missing", "field required"),
    "": ("generation_failed", "The model could not make a result from this input."),
}


class Fal(Vendor):
    """The double."""

    traits = Traits(idempotent=False, lookup=False, honest_503=False)
    models: ClassVar = {
        "fal-ai/flux/dev": "image-1",
        "fal-ai/wan/v2/text-to-video": "video-1",
        "fal-ai/stable-audio": "voice-1",
        "workflows/acme/postcard/print": "image-1",
    }

    def answer(self, api: Api, request: Request) -> Answer:
        if (request.method, request.path) == ("GET", "/.well-known/jwks.json"):
            return self._keys()
        if not self.known(f"Key {self.api_key}", request.headers.get("authorization", "")):
            return self.refused("unauthorized")
        if request.method == "POST":
            known = request.path.strip("/") in self.models
            return api.submit(request) if known else says(404, {"detail": "Application not found"})
        return self._about(api, request)

    def _about(self, api: Api, request: Request) -> Answer:
        """The addresses of one request; they are the app's, without the path of an endpoint."""
        found = _REQUEST.fullmatch(request.path)
        if found is None:
            return self.refused("no_page")
        what = found["what"] or ""
        if request.method != _METHODS[what]:
            return says(405, {"detail": "Method Not Allowed"})
        job = self.around.ledger.jobs.get(found["id"])
        if job is None or job.extra.get("app") != found["app"]:
            return self.refused("not_found")
        if what == "/cancel":
            return api.cancel(job.id)
        return api.show(job.id, self.shown if what else self._result)

    def webhook_of(self, request: Request, _body: dict[str, Any]) -> str:
        return request.query.get("fal_webhook", "")

    def wish(self, request: Request, body: dict[str, Any]) -> Wish:
        """The queue takes any object; the model looks at it only when it runs."""
        model, prompt = request.path.strip("/"), body.get("prompt")
        fails = "content_moderated" if self.moderated(prompt) else "" if isinstance(prompt, str) else "invalid_input"
        parts = model.split("/")
        return Wish(
            model=self.models[model],
            outputs=1,
            duration_s=None,
            webhook_url=self.url(request.query.get("fal_webhook"), "fal_webhook"),
            reference=self.reference(request, body),
            fails=fails,
            extra={"app": "/".join(parts[: 3 if parts[0] in ("workflows", "comfy") else 2])},
        )

    def refused(self, reason: Reason, message: str = "", wait_s: int | None = None) -> Answer:
        status, body = _REFUSALS.get(reason, (422, {"detail": message or reason}))
        return says(status, body, wait_s)

    def accepted(self, job: JobRecord) -> Answer:
        return says(200, self._queued(job))

    def without_id(self) -> Answer:
        return says(200, {"status": "IN_QUEUE"})

    def shown(self, job: JobRecord, view: View) -> Answer:
        """The status: 202 until it is over, and never a word of failure."""
        match view["status"]:
            case "queued":
                return says(202, self._queued(job))
            case "completed" | "failed" | "canceled":
                body = {**self._names(job), "status": "COMPLETED", "logs": None, "metrics": {"inference_time": 1.0}}
                # A failure may be told here, or by the result's address alone.
                told = job.state == "canceled" or (job.state == "failed" and not chance(job, 2))
                return says(200, {**body, **self._error(job)} if told else body)
            case "processing":
                return says(202, {**self._names(job), "status": "IN_PROGRESS", "logs": []})
        return says(202, {**self._names(job), "status": view["status"].upper()})

    def _result(self, job: JobRecord, view: View) -> Answer:
        if job.state == "completed":
            gone = self.older_than(job, self.around.settings.result_life_s)
            return self.refused("not_found") if gone else says(200, self._payload(job, view))
        if job.state == "failed":
            return says(422, self._failure(job))
        if job.state == "canceled":
            return says(499, {"detail": "Request was cancelled", "error_type": "client_cancelled"})
        return says(400, {"detail": "Request is still in progress"})

    def cancel_noted(self, job: JobRecord, view: View) -> Answer:
        """What still waits is taken out of the queue, and nobody hears of it again; what runs is sent a signal."""
        if view["status"] == "queued" and self.around.ledger.finish(job.id, "canceled"):
            return says(200, {"status": "OK"})
        return says(202, {"status": "CANCELLATION_REQUESTED"})

    def sends(self, _job: JobRecord, kind: str) -> bool:
        return self.seen_at_the_end(kind)

    def event(self, job: JobRecord, kind: str, view: View) -> Any:
        """One, at the end; its words are other than those of the queue. A payload may be left out."""
        names = {"request_id": job.id, "gateway_request_id": job.id}
        if kind != "completed":
            status = "Invalid status code: 422" if kind == "failed" else "Request was cancelled"
            body = {**names, "status": "ERROR", "error": status, "payload": self._failure(job)}
            return body if kind == "failed" else {**body, "payload": None, **self._error(job)}
        if job.plan.faults and chance(job, 3):
            return {**names, "status": "OK", "payload": None, "payload_error": "Response payload is not serializable"}
        return {**names, "status": "OK", "payload": self._payload(job, view)}

    def signed(self, delivery: Delivery, timestamp: int) -> dict[str, str]:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        digest = hashlib.sha256(delivery.body).hexdigest()
        message = "\n".join((delivery.job_id, _USER, str(timestamp), digest)).encode()
        key = Ed25519PrivateKey.from_private_bytes(self.around.credentials.signing_seed)
        return {
            "X-Fal-Webhook-Request-Id": delivery.job_id,
            "X-Fal-Webhook-User-Id": _USER,
            "X-Fal-Webhook-Timestamp": str(timestamp),
            "X-Fal-Webhook-Signature": key.sign(message).hex(),
        }

    def new_id(self, random: str) -> str:
        return uuid(random)

    def _keys(self) -> Answer:
        """The published key, padded as the live one has been seen."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        key = Ed25519PrivateKey.from_private_bytes(self.around.credentials.signing_seed).public_key()
        x = base64.urlsafe_b64encode(key.public_bytes_raw()).decode()
        return says(200, {"keys": [{"kty": "OKP", "crv": "Ed25519", "x": x, "kid": "1"}]})

    def _names(self, job: JobRecord) -> dict[str, str]:
        base = f"{self.base_url}/{job.extra['app']}/requests/{job.id}"
        urls = {"response_url": base, "status_url": f"{base}/status", "cancel_url": f"{base}/cancel"}
        return {"request_id": job.id, "gateway_request_id": job.id, **urls}

    def _queued(self, job: JobRecord) -> dict[str, Any]:
        return {**self._names(job), "status": "IN_QUEUE", "queue_position": 0}

    def _payload(self, job: JobRecord, view: View) -> dict[str, Any]:
        files = [
            {"url": output["url"], "content_type": output["content_type"], "file_size": output["size"]}
            for output in view["outputs"]
        ]
        kind = kind_of(job)
        return {"images": files, "seed": 1} if kind == "image" else {"video" if kind == "video" else "audio": files[0]}

    def _error(self, job: JobRecord) -> dict[str, str]:
        if job.state == "canceled":
            return {"error": "Request was cancelled", "error_type": "client_cancelled"}
        return {"error": _DETAILS[job.fails][1], "error_type": _DETAILS[job.fails][0]}

    def _failure(self, job: JobRecord) -> dict[str, Any]:
        word, text = _DETAILS[job.fails]
        return {"detail": [{"loc": ["body", "prompt"], "msg": text, "type": word}]}
