"""The application developer's side: submits with a key and retries with the same key, reads, resolves."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import requests

PROMPTS = (
    "a red bicycle leaning on a garden wall",
    "rain on the window of a small bakery",
    "a paper boat on a slow river",
    "a cat asleep on a warm stove",
    "a lighthouse at dusk, gulls passing",
    "a market stall with apples and pears",
)
MODELS = ("video-1", "image-1", "voice-1")


class ApiError(Exception):
    """The API said no; the text is its problem's detail."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        super().__init__(f"{status}: {problem.get('detail') or problem}")
        self.status = status
        self.problem = problem


@dataclass(frozen=True)
class Api:
    """One API key at one address."""

    url: str
    key: str
    tries: int = 8

    def submit(self, provider: str, number: int, key: str, **fields: Any) -> str:
        """One user action: a key of its own, kept through every retry."""
        body = {
            "provider": provider,
            "model": MODELS[number % len(MODELS)],
            "input": {"prompt": PROMPTS[number % len(PROMPTS)], "number": number},
            "metadata": {"number": str(number)},
            **fields,
        }
        made = self._call("POST", "/v1/jobs", body, {"Idempotency-Key": key})
        return str(made["request_id"])

    def upload(self, body: bytes, content_type: str) -> str:
        """Hand a file in; what stands for it in an input."""
        form = self._call("POST", "/v1/uploads", {"content_type": content_type})
        posted = requests.post(form["url"], data=form["fields"], files={"file": ("file", body)}, timeout=35)
        if not posted.ok:
            raise ApiError(posted.status_code, {"detail": posted.text[:200]})
        return str(form["upload"])

    def get(self, job_id: str) -> dict[str, Any]:
        return self._call("GET", f"/v1/jobs/{job_id}")

    def cancel(self, job_id: str) -> dict[str, Any]:
        return self._call("POST", f"/v1/jobs/{job_id}/cancel")

    def resolve(self, job_id: str, **decision: Any) -> dict[str, Any]:
        return self._call("POST", f"/v1/jobs/{job_id}/resolve", decision)

    def provider(self, name: str) -> dict[str, Any]:
        return self._call("GET", f"/v1/providers/{name}")

    def _call(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> dict[str, Any]:
        """As a careful client: what may have arrived is sent again, with everything the same."""
        last: Exception = ApiError(0, {"detail": "not tried"})
        for number in range(self.tries):
            try:
                answer = requests.request(
                    method, self.url + path, json=body, headers={"X-API-Key": self.key, **(headers or {})}, timeout=35
                )
            except requests.RequestException as error:
                last = error
            else:
                if answer.status_code < 400:
                    return dict(answer.json())
                last = ApiError(answer.status_code, _problem(answer))
                if answer.status_code < 500 and answer.status_code != 429:
                    raise last
            time.sleep(min(0.3 * 2**number, 5))
        raise last


def _problem(answer: requests.Response) -> dict[str, Any]:
    try:
        found = answer.json()
    except ValueError:
        return {"detail": answer.text[:200]}
    return found if isinstance(found, dict) else {"detail": str(found)[:200]}
