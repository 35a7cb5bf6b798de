"""The provider's webhooks: signed by Standard Webhooks, and sent again until they are taken, or lost on their way."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from mediajobs.signatures import sign_standard
from tests.simulation.world.provider import Accepted
from tests.simulation.world.scheduler import Scheduler
from tests.simulation.world.weather import Weather

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
AGAIN_MS = (5_000, 60_000, 300_000, 900_000)

Post = Callable[[str, dict[str, str], bytes, Callable[[int], None]], None]  # path, headers, body, status


@dataclass(frozen=True, slots=True)
class Sent:
    """One delivery that was answered."""

    at: int
    event_id: str
    provider_job_id: str
    status_word: str
    answer: int


@dataclass
class Webhooks:
    """`post` brings a request to the product's webhook function. `answered` has every delivery and its answer."""

    scheduler: Scheduler
    weather: Weather
    document: Callable[[Accepted], dict[str, Any]]
    post: Post
    answered: list[Sent] = field(default_factory=list)
    drop: Callable[[Accepted, str], bool] = lambda _job, _word: False  # scripted losses
    delay_ms: Callable[[Accepted, str], int] = lambda _job, _word: 0  # scripted, with the old timestamp
    _events: int = 0

    def accepted(self, job: Accepted) -> None:
        """The first sign of life; it may well be there before the answer to the submit."""
        self._event(job, "processing")

    def ended(self, job: Accepted) -> None:
        self._event(job, "end")

    def _event(self, job: Accepted, what: str) -> None:
        if job.webhook_url is None or what not in job.plan.webhooks:
            return
        if self.drop(job, what) or self.weather.happens(f"webhook lost {job.provider}"):
            return
        self._events += 1
        event_id = f"evt{self._events:05d}"
        body = json.dumps({"type": f"job.{job.status}", "data": self.document(job)}).encode()
        wait = self.delay_ms(job, what)
        if self.weather.happens("webhook late"):
            wait = self.weather.pick("webhook late", 1_000, 1_200_000)
        self._send(job, event_id, body, self.scheduler.now, wait, 0)
        if self.weather.happens("webhook again"):
            again = self.weather.pick("webhook again", 1, 900_000)
            self.scheduler.after(again, lambda: self._send(job, event_id, body, self.scheduler.now, 0, len(AGAIN_MS)))

    def _send(self, job: Accepted, event_id: str, body: bytes, signed_at: int, wait: int, tries: int) -> None:
        """Sign now, arrive later: a request that was held up somewhere carries its old timestamp."""
        seconds = signed_at // 1000
        headers = {
            "webhook-id": event_id,
            "webhook-timestamp": str(seconds),
            "webhook-signature": sign_standard(SECRET, event_id, seconds, body),
            "content-type": "application/json",
        }

        def taken(status: int) -> None:
            word = json.loads(body)["data"]["status"]
            self.answered.append(Sent(self.scheduler.now, event_id, job.id, word, status))
            if not 200 <= status < 300 and tries < len(AGAIN_MS):
                again = self.scheduler.now + AGAIN_MS[tries]
                self.scheduler.at(again, lambda: self._send(job, event_id, body, again, 0, tries + 1))

        assert job.webhook_url is not None
        path = urlsplit(job.webhook_url).path
        if wait == 0 and "early" in job.plan.webhooks:
            self.post(path, headers, body, taken)
        else:
            self.scheduler.after(wait, lambda: self.post(path, headers, body, taken))
