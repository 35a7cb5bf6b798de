"""Kling: a token for each request, codes in the body, unsigned callbacks, a reference that is accepted only once."""

from __future__ import annotations

import base64
import hmac
import itertools
import json
from typing import Any, ClassVar

from local.provider.answers import Answer, Request
from local.provider.dialect import Api, Reason, Surroundings, View, kind_of
from local.provider.records import JobRecord
from local.provider.settings import Traits
from local.provider.webhooks import Delivery
from local.provider.wishes import Wish
from local.vendors.vendor import Vendor, links, says

_ENDPOINTS = {"videos/text2video": "video-1", "videos/image2video": "video-1", "images/generations": "image-1"}
_NAMES = frozenset({"kling-v2-master", "kling-v2"})
_FIELDS = frozenset(
    {"model_name", "prompt", "negative_prompt", "image", "cfg_scale", "mode", "duration", "aspect_ratio", "n",
     "callback_url", "external_task_id"}
)  # fmt: skip
_WORDS = {"queued": "submitted", "processing": "processing", "completed": "succeed", "failed": "failed"}
_LONGEST_TOKEN_S = 3600
_SKEW_S = 30
_REFUSALS: dict[Reason, tuple[int, int, str]] = {
    "unauthorized": (401, 1000, "Authentication failed"),
    "rate_limited": (429, 1302, "API request too fast"),
    "content_moderated": (400, 1301, "Trigger strategy, such as security policies"),
    "invalid_json": (400, 1200, "Invalid request parameters"),
    "invalid_input": (400, 1201, "Invalid parameters"),
    "repeated": (400, 1201, "external_task_id is duplicated"),
    "not_found": (404, 1203, "The requested resource does not exist"),
    "no_page": (404, 1202, "The requested method is invalid"),
    "internal": (500, 5000, "Server internal error"),
    "unavailable": (503, 5001, "Server temporarily unavailable"),
}
_NO_MONEY = ((429, 1101, "Account in arrears"), (200, 1102, "Resource pack depleted"))


class Kling(Vendor):
    """The double. The client's reference does in every query what the task's id does."""

    traits = Traits(idempotent=False, lookup=True, unique_reference=True, honest_503=False)
    models: ClassVar = _ENDPOINTS

    def __init__(self, name: str, around: Surroundings) -> None:
        super().__init__(name, around)
        self._numbers = itertools.count()

    def answer(self, api: Api, request: Request) -> Answer:
        wrong = self._judged(request.headers.get("authorization", ""))
        if wrong:
            return says(401, self._envelope(wrong[0], wrong[1], None))
        kind, _, rest = request.path.removeprefix("/v1/").partition("/")
        name, _, task = rest.partition("/")
        if f"{kind}/{name}" not in _ENDPOINTS or not request.path.startswith("/v1/"):
            return self.refused("no_page")
        if request.method == "POST" and not task:
            return api.submit(request)
        if request.method != "GET" or not task or "/" in task:
            return self.refused("no_page")
        job = self.around.ledger.jobs.get(task)
        if job is None:
            return api.find(task)
        return api.show(task) if job.extra.get("endpoint") == f"{kind}/{name}" else self.refused("not_found")

    def _judged(self, header: str) -> tuple[int, str] | None:
        """What is wrong with the token: it must be ours, of now, and not for ever."""
        if not header:
            return 1001, "Authorization is empty"
        access, _, secret = self.api_key.partition(":")
        try:
            word, token = header.split(" ")
            signed, _, signature = token.rpartition(".")
            head, claims = (json.loads(_decoded(part)) for part in signed.split("."))
            right = hmac.digest(secret.encode(), signed.encode(), "sha256")
            genuine = hmac.compare_digest(right, _decoded(signature))
            ours = (word, head.get("alg"), claims.get("iss")) == ("Bearer", "HS256", access)
            begins, ends = float(claims["nbf"]), float(claims["exp"])
        except (ValueError, AttributeError, KeyError, TypeError):
            return 1002, "Authorization is invalid"
        now = self.around.now()
        if not genuine or not ours or ends > now + _LONGEST_TOKEN_S:
            return 1002, "Authorization is invalid"
        if begins > now + _SKEW_S:
            return 1003, "Authorization is not yet valid"
        return (1004, "Authorization has expired") if ends <= now else None

    def reference(self, request: Request, body: dict[str, Any]) -> str:
        given = body.get("external_task_id")
        return given if isinstance(given, str) and given else super().reference(request, body)

    def webhook_of(self, _request: Request, body: dict[str, Any]) -> str:
        return str(body.get("callback_url") or "")

    def wish(self, request: Request, body: dict[str, Any]) -> Wish:
        self.only(body, _FIELDS)
        if body.get("model_name") not in _NAMES:
            raise self.unusable("invalid_input", "model_name is invalid")
        endpoint = request.path.removeprefix("/v1/")
        prompt = self.text(body, "prompt")
        if self.moderated(prompt):
            raise self.unusable("content_moderated")
        if endpoint == "videos/image2video":
            self.text(body, "image")
        return Wish(
            model=_ENDPOINTS[endpoint],
            outputs=1,
            duration_s=None,
            webhook_url=self.url(body.get("callback_url"), "callback_url"),
            reference=self.reference(request, body),
            extra={"endpoint": endpoint, "external_task_id": body.get("external_task_id", "")},
        )

    def refused(self, reason: Reason, message: str = "", _wait_s: int | None = None) -> Answer:
        """The code in the body decides; some come with a status that says nothing."""
        if reason == "blocked":
            status, code, text = _NO_MONEY[next(self._numbers) % 2]
        else:
            status, code, text = _REFUSALS[reason]
        return says(status, self._envelope(code, message or text, None))

    def accepted(self, job: JobRecord) -> Answer:
        return says(200, self._envelope(0, "SUCCEED", self._task(job, "submitted", job.accepted_at)))

    def without_id(self) -> Answer:
        return says(200, self._envelope(0, "SUCCEED", {"task_status": "submitted"}))

    def shown(self, job: JobRecord, view: View) -> Answer:
        return says(200, self._envelope(0, "SUCCEED", self._data(job, view)))

    def found(self, jobs: list[tuple[JobRecord, View]]) -> Answer:
        return self.shown(*jobs[0]) if jobs else self.refused("not_found")

    def sends(self, _job: JobRecord, kind: str) -> bool:
        """On each change of status."""
        return kind in ("running", "completed", "failed")

    def event(self, job: JobRecord, _kind: str, view: View) -> Any:
        return self._data(job, view)

    def signed(self, _delivery: Delivery, _timestamp: int) -> dict[str, str]:
        return {}

    @classmethod
    def example(cls, number: int, prompt: str) -> tuple[str, dict[str, Any]]:
        model = ("kling-v2-master", "kling-v2-image", "kling-v2")[number % 3]
        given = {"prompt": prompt}
        return model, {**given, "image": "https://images.example/garden.jpg"} if number % 3 == 1 else given

    def new_id(self, random: str) -> str:
        return str(int(random[:16], 16))

    def _data(self, job: JobRecord, view: View) -> dict[str, Any]:
        word = str(_WORDS.get(view["status"], view["status"]))
        data = self._task(job, word, job.finished_at or self.around.now())
        if word == "failed":
            data["task_status_msg"] = view["error"]["message"]
        if word == "succeed":
            name, files = kind_of(job) + "s", links(view)
            items = [{"id": f"{job.id}-{n}", "url": url, "duration": "5.1"} for n, url in enumerate(files)]
            data["task_result"] = {name: items if name == "videos" else [{"index": 0, "url": files[0]}]}
        return data

    def _task(self, job: JobRecord, word: str, at: float) -> dict[str, Any]:
        return {
            "task_id": job.id,
            "task_status": word,
            "task_status_msg": "",
            "task_info": {"external_task_id": job.extra["external_task_id"]},
            "created_at": int(job.accepted_at * 1000),
            "updated_at": int(at * 1000),
        }

    def _envelope(self, code: int, message: str, data: Any) -> dict[str, Any]:
        body = {"code": code, "message": message, "request_id": f"request-{next(self._numbers)}"}
        return body if data is None else {**body, "data": data}


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
