"""The provider's HTTP, as the product's own adapter speaks it: submits, polls, lookups, cancels and downloads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

from mediajobs.errors import NoAnswer, NotSent
from mediajobs.messages import Request, Response, Rest
from tests.simulation.world.provider import LONG_FILM, TYPES, Accepted, Ledger, Plan
from tests.simulation.world.weather import Weather

LINKS = "https://cdn.example.net"
TAG = '"v1"'
PIECE = 1100
_ANSWERS: dict[str, tuple[int, dict[str, str]]] = {
    "429": (429, {}),
    "429 wait": (429, {"retry-after": "20"}),
    "401": (401, {}),
    "402": (402, {}),
    "422": (422, {}),
    "503": (503, {}),  # nothing was accepted, but a 503 does not prove it
    "302": (302, {"location": "https://elsewhere.example.com/"}),
}
_AFTER = {"503 accepted": (503, b""), "no id": (200, b"{}"), "reset": (0, b"")}  # it was accepted all the same


class Front:
    """`blocked` names providers whose account is in trouble. `outages` names providers that cannot be reached."""

    def __init__(self, ledger: Ledger, weather: Weather) -> None:
        self.ledger, self.weather = ledger, weather
        self.blocked: set[str] = set()
        self.outages: set[str] = set()

    def submit(self, request: Request) -> Response:
        """Raises NotSent or NoAnswer where the sender learns just that."""
        provider, body = _provider(request.url), json.loads(request.body)
        reference, plan = body["reference"], Plan.read(body["input"].get("plan", {}))
        count = self.ledger.posts[reference] = self.ledger.posts.get(reference, 0) + 1
        job_posts = sum(n for name, n in self.ledger.posts.items() if name.split(".")[0] == reference.split(".")[0])
        said = self._said(provider, plan, job_posts, count)
        if said == "not sent":
            raise NotSent("connection refused")
        if said in _ANSWERS:
            status, headers = _ANSWERS[said]
            return Response(status=status, headers=headers, body=b"{}")
        job = self.ledger.post(
            provider, reference, request.headers.get("Idempotency-Key"), plan, body.get("webhook_url")
        )
        if said in _AFTER:
            status, content = _AFTER[said]
            if not status:
                raise NoAnswer("connection reset")
            return Response(status=status, headers={}, body=content)
        return Response(status=201, headers={}, body=_json(self.document(job)))

    def _said(self, provider: str, plan: Plan, job_posts: int, posts: int) -> str:
        """Account and rate limits come before the key is looked at, as at real providers."""
        if provider in self.outages:
            return "not sent"
        if provider in self.blocked:
            return "402"
        if job_posts <= len(plan.answers):
            return plan.answers[job_posts - 1]
        for kind in ("429", "429 wait", "422", "503", "302", "503 accepted", "no id", "reset", "not sent"):
            if (kind != "422" or posts > 1) and self.weather.happens(f"answer {kind}"):
                return kind
        return "accepted"

    def get(self, request: Request) -> Response:
        """Polls, lookups and cancels."""
        provider, url = _provider(request.url), urlsplit(request.url)
        if provider in self.outages or self.weather.happens("poll reset"):
            raise NoAnswer("connection reset")
        if provider in self.blocked:
            return Response(status=402, headers={}, body=b"{}")
        if self.weather.happens("poll 500"):
            return Response(status=500, headers={}, body=b"<html>")
        reference = parse_qs(url.query).get("reference")
        if reference:
            return self._lookup(reference[0])
        parts = url.path.strip("/").split("/")
        job = self.ledger.accepted.get(parts[2])
        if job is None or job.provider != provider or self.weather.happens("poll 404"):
            return Response(status=404, headers={}, body=b"{}")
        return self._cancel(job) if len(parts) == 4 else _found(self.document(job))

    def _lookup(self, reference: str) -> Response:
        jobs = [] if self.weather.happens("lookup late") else self.ledger.under(reference)
        return _found({"jobs": [self.document(job) for job in jobs]})

    def _cancel(self, job: Accepted) -> Response:
        if not job.live or job.plan.cancel == "refuses":
            return Response(status=409, headers={}, body=b"{}")
        if job.plan.cancel == "stops":
            self.ledger.end(job, "canceled")
        return _found(self.document(job))

    def document(self, job: Accepted) -> dict[str, Any]:
        """The job as every answer and webhook shows it."""
        said: dict[str, Any] = {"id": job.id, "status": job.status, "reference": job.reference}
        if job.status == "failed":
            said["error"] = {"code": "internal", "message": "the model gave up"}
        if job.status == "completed":
            said["outputs"] = [self._output(job, number) for number in range(job.plan.outputs)]
        return said

    def _output(self, job: Accepted, number: int) -> dict[str, Any]:
        now = self.ledger.scheduler.now
        if job.plan.fresh_links:
            job.link_until = max(job.link_until, now + job.plan.link_life_ms)
        until = now + job.plan.link_life_ms if job.plan.fresh_links else job.link_until
        said: dict[str, Any] = {
            "url": f"{LINKS}/{job.id}/{number}?until={until}",
            "content_type": TYPES[job.plan.kind],
            "size": len(job.plan.body),
        }
        return said | ({"expires_at": until} if job.plan.tells_expiry else {})

    def download(self, url: str, rest: Rest) -> Download:
        """What a result link serves now."""
        parts = urlsplit(url)
        job = self.ledger.accepted[parts.path.split("/")[1]]
        if int(parse_qs(parts.query)["until"][0]) <= self.ledger.scheduler.now:
            return Download(403, b"<Error><Code>AccessDenied</Code></Error>")
        job.downloads += 1
        came = job.plan.media[job.downloads - 1] if job.downloads <= len(job.plan.media) else self._weathered()
        body = job.plan.body
        if came == "busy":
            return Download(503, b"busy")
        if came == "bad":
            return Download(200, b"<html>Please sign in</html>" + bytes(len(body) - 27))
        ranged = job.plan.long and rest.start > 0 and rest.validator == TAG
        return Download(206 if ranged else 200, body, cut=came == "cut", start=rest.start if ranged else 0)

    def _weathered(self) -> str:
        return next((kind for kind in ("busy", "cut", "bad") if self.weather.happens(f"media {kind}")), "good")


class Download:
    """Implements `ports.Stream`."""

    def __init__(self, status: int, body: bytes, *, cut: bool = False, start: int = 0) -> None:
        self.status = status
        self.headers = {"content-length": str(len(body) - start)}
        if body is LONG_FILM:
            self.headers |= {"etag": TAG, "content-range": f"bytes {start}-{len(body) - 1}/{len(body)}"}
        self._body, self._cut = body[start:], cut

    def chunks(self) -> Iterator[bytes]:
        half = len(self._body) // 2
        for at in range(0, half, PIECE):
            yield self._body[at : min(at + PIECE, half)]
        if self._cut:
            raise NoAnswer("the transfer was cut")
        for at in range(half, len(self._body), PIECE):
            yield self._body[at : at + PIECE]

    def close(self) -> None:
        """Nothing to close."""


def _provider(url: str) -> str:
    return (urlsplit(url).hostname or "").removesuffix(".example.com")


def _found(document: object) -> Response:
    return Response(status=200, headers={}, body=_json(document))


def _json(document: object) -> bytes:
    return json.dumps(document).encode()
