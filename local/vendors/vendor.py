"""What the doubles of all vendors share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import urlsplit

from local.provider.answers import Answer, Request, document
from local.provider.dialect import Dialect, Reason, View
from local.provider.records import JobRecord
from local.provider.wishes import Unusable

MODERATED_WORD = "forbidden-word"
MOST_PROMPT = 2000


class Vendor(Dialect):
    """A vendor's wire over the simulated provider's engine."""

    # The vendor's models, and what the engine makes for each.
    models: ClassVar[Mapping[str, str]] = {}

    def parsed(self, request: Request) -> dict[str, Any]:
        """JSON, said to be JSON, and an object."""
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            raise self.unusable("invalid_json", "Content-Type must be application/json.")
        try:
            body = json.loads(request.body)
        except (ValueError, RecursionError):
            raise self.unusable("invalid_json") from None
        if not isinstance(body, dict):
            raise self.unusable("invalid_input", "The body must be an object.")
        return body

    def reference(self, request: Request, body: dict[str, Any]) -> str:
        """No field of the wire has one; the client's own webhook URL does. Without one a seed tells jobs apart."""
        parts = urlsplit(self.webhook_of(request, body)).path.rpartition("/")[2].split(".")
        if len(parts) == 3 and all(parts):
            return ".".join(parts)
        inside = body.get("input")
        given = body if not isinstance(inside, dict) else inside
        return f"seed-{given['seed']}.1.x" if "seed" in given else ""

    def webhook_of(self, _request: Request, _body: dict[str, Any]) -> str:
        """The webhook URL of a submission, if it is a text at all."""
        return ""

    @classmethod
    def example(cls, number: int, prompt: str) -> tuple[str, dict[str, Any]]:
        """Model and input of the number-th job of a demonstration."""
        models = list(cls.models)
        return models[number % len(models)], {"prompt": prompt, "seed": number}

    def unusable(self, reason: Reason, message: str = "") -> Unusable:
        return Unusable(self.refused(reason, message))

    def url(self, value: Any, name: str) -> str:
        """A webhook URL, or nothing; raises Unusable."""
        if value in (None, ""):
            return ""
        if not isinstance(value, str) or not value.startswith(("http://", "https://")):
            raise self.unusable("invalid_input", f"{name} must be a URL")
        return value

    def text(self, body: Mapping[str, Any], name: str) -> str:
        """A text that must be there; raises Unusable."""
        value = body.get(name)
        if not isinstance(value, str) or not value.strip() or len(value) > MOST_PROMPT:
            raise self.unusable("invalid_input", f"{name} must be a text of 1 to {MOST_PROMPT} characters")
        return value

    def only(self, body: Mapping[str, Any], allowed: frozenset[str]) -> None:
        """Raise Unusable for a field that the vendor does not document."""
        unknown = sorted(body.keys() - allowed)
        if unknown:
            raise self.unusable("invalid_input", f"{unknown[0]} is not a field of this request")

    def moderated(self, *texts: Any) -> bool:
        return any(isinstance(text, str) and MODERATED_WORD in text for text in texts)

    def older_than(self, job: JobRecord, seconds: float) -> bool:
        """Whether the job ended so long ago."""
        return job.finished_at is not None and self.around.now() >= job.finished_at + seconds

    def seen_at_the_end(self, kind: str) -> bool:
        """Whether an event of this kind tells of one of the ends that vendors know."""
        return kind in ("completed", "failed", "canceled")


def chance(job: JobRecord, of: int) -> bool:
    """Whether this is one of the jobs, one in `of`, that a vendor treats in the less usual of two documented ways."""
    return int.from_bytes(hashlib.sha256(job.reference.encode() or job.id.encode()).digest()[:4], "big") % of == 0


def links(view: View) -> list[str]:
    return [output["url"] for output in view["outputs"]]


def says(status: int, value: Any, wait_s: int | None = None) -> Answer:
    return document(status, value, **({} if wait_s is None else {"Retry-After": str(wait_s)}))


def uuid(random: str) -> str:
    """32 hex digits as a UUID is written."""
    return "-".join((random[:8], random[8:12], random[12:16], random[16:20], random[20:32]))
