"""HeyGen v3: a key that makes a repeat harmless for a day, and one webhook endpoint of the account, signed by body."""

from __future__ import annotations

import hmac
import re
from typing import Any, ClassVar

from local.provider.answers import Answer, Request
from local.provider.dialect import Api, Reason, View
from local.provider.records import JobRecord
from local.provider.settings import Traits
from local.provider.webhooks import Delivery
from local.provider.wishes import Unusable, Wish
from local.vendors.vendor import Vendor, links, says

ENDPOINTS = "/v3/webhooks/endpoints"
_NOTE = "heygen.endpoint"
_KEY = re.compile(r"[A-Za-z0-9_:.-]{1,255}")
_FIELDS = frozenset({"type", "avatar_id", "voice_id", "script", "title", "resolution", "aspect_ratio", "callback_id"})
_EVENTS = ["avatar_video.success", "avatar_video.fail"]
_WORDS = {"queued": "waiting", "processing": "processing", "completed": "completed", "failed": "failed"}
_REFUSALS: dict[Reason, tuple[int, str, str]] = {
    "unauthorized": (401, "unauthorized", "The API key is not valid."),
    "blocked": (402, "insufficient_credit", "The account has no credit left."),
    "rate_limited": (429, "rate_limit_exceeded", "Too many requests."),
    "unavailable": (503, "service_unavailable", "Try again later."),
    "internal": (500, "internal_error", "Something went wrong."),
    "not_found": (404, "video_not_found", "There is no such video."),
    "no_page": (404, "not_found", "There is no such page."),
    "in_progress": (409, "request_in_progress", "The first request with this key still runs."),
    "content_moderated": (400, "content_policy_violation", "The script breaks the content rules."),
}


class HeyGen(Vendor):
    """The double."""

    traits = Traits(idempotent=True, lookup=False, strict_key=False, honest_503=False)
    models: ClassVar = {"avatar": "video-1"}

    def answer(self, api: Api, request: Request) -> Answer:
        if not self.known(self.api_key, request.headers.get("x-api-key", "")):
            return self.refused("unauthorized")
        match (request.method, request.path.split("/")[1:]):
            case ("POST", ["v3", "videos"]):
                key = request.headers.get("idempotency-key")
                if key is not None and not _KEY.fullmatch(key):
                    return self.refused("invalid_input", "Idempotency-Key has a form that cannot be used.")
                return api.submit(request)
            case ("GET", ["v3", "videos", job_id]):
                return api.show(job_id)
            case ("POST", ["v3", "webhooks", "endpoints"]):
                return self._register(request)
        return self.refused("no_page")

    def _register(self, request: Request) -> Answer:
        """The account's one endpoint; its secret is told only here."""
        try:
            body = self.parsed(request)
            url = self.url(body.get("url"), "url")
        except Unusable as unusable:
            return unusable.answer
        events = body.get("events", _EVENTS)
        if not url or not isinstance(events, list) or not set(events) <= set(_EVENTS):
            return self.refused("invalid_input", "url and events must be given.")
        self.around.ledger.note(_NOTE, url)
        secret = self.around.credentials.webhook_secrets[self.name][0]
        return says(200, {"data": {"endpoint_id": "endpoint-1", "url": url, "events": events, "secret": secret}})

    def key(self, request: Request) -> str:
        return request.headers.get("idempotency-key", "")

    def reference(self, request: Request, body: dict[str, Any]) -> str:
        given = body.get("callback_id")
        return given if isinstance(given, str) and given else self.key(request)

    def wish(self, request: Request, body: dict[str, Any]) -> Wish:
        self.only(body, _FIELDS)
        for name in ("avatar_id", "script"):
            self.text(body, name)
        if self.moderated(body["script"]):
            raise self.unusable("content_moderated")
        return Wish(
            model="video-1",
            outputs=1,
            duration_s=None,
            webhook_url=self.around.ledger.notes.get(_NOTE, ""),
            reference=self.reference(request, body),
            extra={"callback_id": body.get("callback_id")},
        )

    def refused(self, reason: Reason, message: str = "", wait_s: int | None = None) -> Answer:
        status, code, text = _REFUSALS.get(reason, (400, "invalid_parameter", "The body cannot be used."))
        return says(status, {"error": {"code": code, "message": message or text}}, wait_s)

    def accepted(self, job: JobRecord) -> Answer:
        return says(200, {"data": {"video_id": job.id, "status": "waiting"}})

    def without_id(self) -> Answer:
        return says(200, {"data": {"status": "waiting"}})

    def shown(self, job: JobRecord, view: View) -> Answer:
        """Asked again, a video has a fresh link."""
        word = _WORDS.get(view["status"], view["status"])
        data: dict[str, Any] = {"id": job.id, "status": word, "created_at": int(job.accepted_at)}
        if word == "completed":
            data["video_url"] = links(view)[0]
        if word == "failed":
            data |= {"failure_code": view["error"]["code"], "failure_message": view["error"]["message"]}
        return says(200, {"data": {**data, "callback_id": job.extra["callback_id"]}})

    def sends(self, _job: JobRecord, kind: str) -> bool:
        return kind in ("completed", "failed")

    def event(self, job: JobRecord, kind: str, view: View) -> Any:
        names = {"video_id": job.id, "callback_id": job.extra["callback_id"]}
        if kind == "completed":
            return {"event_type": "avatar_video.success", "event_data": {**names, "url": links(view)[0]}}
        return {"event_type": "avatar_video.fail", "event_data": {**names, "msg": view["error"]["message"]}}

    def signed(self, delivery: Delivery, timestamp: int) -> dict[str, str]:
        """Of the body alone: the time beside it is anybody's to change. The secret is the key as it is written."""
        secret = self.around.credentials.webhook_secrets[self.name][0]
        return {
            "Heygen-Signature": hmac.digest(secret.encode(), delivery.body, "sha256").hex(),
            "Heygen-Timestamp": str(timestamp),
            "Heygen-Event-Id": delivery.webhook_id,
        }

    @classmethod
    def example(cls, number: int, prompt: str) -> tuple[str, dict[str, Any]]:
        return "avatar", {"avatar_id": "gardener", "voice_id": "calm", "script": prompt, "title": f"number {number}"}

    def new_id(self, random: str) -> str:
        return f"vid_{random[:20]}"
