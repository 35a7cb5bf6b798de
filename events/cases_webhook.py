"""Cases of webhook: what a provider sends, and what others send in its name."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Protocol

from events.case import Case, document, problem
from events.fixed import NOW, RETIRED_WEBHOOK_SECRET, WEBHOOK_SECRET
from events.scenes import reference, story
from events.shapes import api
from mediajobs.jobs.model import Job
from mediajobs.signatures import sign_standard

EVENT_ID = "msg_2bKfQ0jH3sVt9yWqLpXz1aBcDeF"
SECOND = 1000


class Told(Protocol):
    """A job, and what it is to its provider; a scene's story is one."""

    @property
    def job(self) -> Job: ...
    @property
    def provider_job_id(self) -> str: ...
    @property
    def provider_url(self) -> str: ...


def body(told: Told, kind: str, **data: Any) -> bytes:
    """What the provider says of the scene's job."""
    job = {"id": told.provider_job_id, "model": told.job.model, "reference": told.job.reference, **data}
    return json.dumps({"type": f"job.{kind}", "data": job}).encode()


def completed(told: Told) -> bytes:
    url = f"{told.provider_url}/files/{told.provider_job_id}/0.mp4"
    output = {"url": url, "content_type": "video/mp4", "size": 13108, "expires_at": "2027-01-15T09:00:00Z"}
    return body(told, "completed", status="completed", progress=100, outputs=[output], error=None)


def delivery(
    content: bytes,
    ref: str | None,
    *,
    provider: str = "sim",
    at: int = NOW,
    secrets: tuple[str, ...] = (WEBHOOK_SECRET,),
    event_id: str = EVENT_ID,
    wrapped: bool = True,
) -> dict[str, Any]:
    """The content, signed at that time with these secrets, as API Gateway hands it over."""
    headers = {
        "Content-Type": "application/json",
        "webhook-id": event_id,
        "webhook-timestamp": str(at // SECOND),
        "webhook-signature": " ".join(sign_standard(each, event_id, at // SECOND, content) for each in secrets),
    }
    path = f"/v1/webhooks/{provider}" + (f"/{ref}" if ref else "")
    return api("POST", path, body=content, headers=headers, caller=None, wrapped=wrapped)


def _case(name: str, says: str, event: dict[str, Any], answer: dict[str, Any], *given: str, **after: Any) -> Case:
    job = {"id": story(given[0]).job.id, **after} if after else None
    return Case(function="webhook", name=name, says=says, event=event, answer=answer, given=given, after=job)


def webhook() -> Iterator[Case]:
    yield from _good()
    yield from _forged()
    yield from _unusable()


def _good() -> Iterator[Case]:
    told = story("running")
    ref, done = reference(told.job), completed(told)
    taken, stored = document(200), {"state": "storing", "slot": None, "out": "store next live"}
    yield _case("completed", "The result is ready.", delivery(done, ref), taken, "running", **stored)
    plain = delivery(done, ref, wrapped=False)
    yield _case("completed-as-text", "The same, not in base64.", plain, taken, "running", **stored)
    turned = delivery(done, ref, secrets=(RETIRED_WEBHOOK_SECRET, WEBHOOK_SECRET))
    yield _case("completed-two-signatures", "While a secret is changed.", turned, taken, "running", **stored)
    early = story("submitting")
    event = delivery(completed(early), reference(early.job))
    says = "It beats our own write of the provider's answer."
    yield _case("completed-before-answer", says, event, taken, "submitting", **stored)
    account = story("bound")
    event = delivery(completed(account), None)
    yield _case("completed-per-account", "No job in the URL: found by id.", event, taken, "bound", **stored)
    over = story("storing")
    event = delivery(completed(over), reference(over.job))
    yield _case("completed-again", "It was taken before.", event, taken, "storing", state="storing", version=4)
    event = delivery(body(told, "failed", status="failed", error={"code": "oom", "message": "no memory"}), ref)
    yield _case("failed", "The provider gave up.", event, taken, "running", state="failed", slot=None)
    halted = story("canceling")
    event = delivery(body(halted, "canceled", status="canceled"), reference(halted.job))
    yield _case("canceled", "As was asked for.", event, taken, "canceling", state="canceled")
    step = delivery(body(told, "progress", status="processing", progress=40), ref)
    same = {"state": "running", "version": 3}
    tick = _case("progress", "Kept beside the job.", step, document(200, verdict="progress"), "running", **same)
    yield replace(tick, told=1)
    odd = delivery(body(told, "archived", status="archived"), ref)
    kept = {"state": "running", "provider_word": "archived"}
    word = _case("unknown-word", "Kept, and moves nothing.", odd, document(200, verdict="noted"), "running", **kept)
    yield replace(word, told=1)


def _forged() -> Iterator[Case]:
    told = story("running")
    ref, done = reference(told.job), completed(told)
    same = {"state": "running", "version": 3}

    def refused(name: str, says: str, event: dict[str, Any]) -> Case:
        return _case(name, says, event, problem(401, "unauthorized"), "running", **same)

    yield refused(
        "bad-signature", "Signed with another secret.", delivery(done, ref, secrets=(RETIRED_WEBHOOK_SECRET,))
    )
    yield refused("old-timestamp", "Ten minutes old.", delivery(done, ref, at=NOW - 600 * SECOND))
    yield refused("future-timestamp", "Ten minutes ahead.", delivery(done, ref, at=NOW + 600 * SECOND))
    changed = delivery(done, ref) | {"body": base64.b64encode(done.replace(b"video/mp4", b"video/mp5")).decode()}
    yield refused("changed-body", "Not what was signed.", changed)
    bare = api("POST", f"/v1/webhooks/sim/{ref}", body=done, caller=None, wrapped=True)
    yield refused("no-signature", "Not signed at all.", bare)
    guessed = ref[:-4] + "aaaa"
    yield refused("guessed-token", "Signed, to a URL that we did not make.", delivery(done, guessed))
    yield refused("odd-reference", "Nor this.", delivery(done, "..%2f..%2fK"))


def _unusable() -> Iterator[Case]:
    told = story("running")
    ref, done = reference(told.job), completed(told)
    same = {"state": "running", "version": 3}
    flagged = delivery(done, ref) | {"body": "%%% not base64 %%%"}
    yield _case("not-base64", "The flag does not fit.", flagged, problem(400, "bad-request"), "running", **same)
    torn = delivery(done[:40], ref)
    yield _case("wrong-json", "Signed, and no JSON.", torn, problem(400, "bad-request"), "running", **same)
    nameless = delivery(b'{"type":"job.completed","data":{"status":"completed"}}', ref)
    yield _case("no-id", "Signed, about no job.", nameless, problem(400, "bad-request"), "running", **same)
    later = delivery(done, ref)
    yield _case("unknown-job", "Perhaps it is on its way: again later.", later, problem(503, "unavailable"))
    lost = delivery(done, None, provider="elsewhere")
    yield _case("unknown-provider", "Nobody of ours.", lost, problem(404, "not-found"))
