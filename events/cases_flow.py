"""Cases of the functions that work on: relay, dispatch, store, reconcile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from events.case import DONE, Case
from events.fixed import PROVIDER_URL
from events.scenes import Story, scene, story
from events.shapes import change, message, records

ACCEPTED = {"status": 201, "body": {"id": "fresh-at-the-provider", "status": "queued"}}
SUBMITS = ("POST /sim/v1/jobs",)
GONE = {"status": 404, "body": {"error": {"code": "not_found", "message": "There is no such job."}}}
PAGE = {"text": "<!DOCTYPE html>\n<html><body>Please sign in</body></html>\n", "content_type": "text/html"}
VIDEO = {"file": "video/mp4"}


def relay() -> Iterator[Case]:
    def image(name: str) -> dict[str, Any]:
        return scene(name)[0]

    def case(name: str, says: str, *images: dict[str, Any] | None, **more: Any) -> Case:
        event = records(*(change(each, number=no) for no, each in enumerate(images, 1)))
        return Case(function="relay", name=name, says=says, event=event, **({"answer": DONE} | more))

    def wake(name: str, do: str = "submit") -> dict[str, Any]:
        return {"queue": "dispatch", "message": {"job": story(name).job.id, "do": do}}

    fetch = {"queue": "store", "message": {"job": story("storing").job.id}}
    yield case("dispatch", "A new job wakes dispatch.", image("pending"), sent=(wake("pending"),))
    yield case("cancel", "A cancel is passed on.", image("canceling"), sent=(wake("canceling", "cancel"),))
    says = "A result to fetch, and a slot that is free: the first of those that wait is woken."
    yield case("store-next-live", says, image("storing"), given=("waiting",), sent=(fetch, wake("waiting")), told=1)
    ended = {"id": story("succeeded").job.id, "state": "succeeded", "due_at": None}
    says = "The end is published once and marked."
    yield case("publish-live", says, image("succeeded"), given=("succeeded",), after=ended, published=1, told=1)
    failed = {"id": story("failed").job.id, "state": "failed", "due_at": None}
    yield case(
        "next-publish-live", "So is a failure.", image("failed"), given=("failed",), after=failed, published=1, told=1
    )
    yield case("nothing-to-tell", "A write without words; the filter keeps it away.", image("running"))
    yield case("expired-row", "A row that is gone has no image.", None)
    torn = {name: value for name, value in image("pending").items() if name != "list_at"}
    first = {"batchItemFailures": [{"itemIdentifier": f"{1:021d}"}]}
    yield case("poison", "No job of ours: brought again, then given up.", torn, answer=first)
    yield case(
        "poison-among-good",
        "It does not stop the others.",
        torn,
        image("pending"),
        answer=first,
        sent=(wake("pending"),),
    )


def _work(queue: str, name: str, says: str, body: object, *, receives: int = 1, **more: Any) -> Case:
    event = records(message(body, queue=queue, receives=receives))
    return Case(function=queue, name=name, says=says, event=event, **({"answer": DONE} | more))


def dispatch() -> Iterator[Case]:
    yield from _submitting()
    yield from _not_submitting()


def _submitting() -> Iterator[Case]:
    job_id = story("pending").job.id

    def case(name: str, says: str, answer: dict[str, Any], **after: Any) -> Case:
        changed: dict[str, Any] = {
            "given": ("pending",),
            "asked": SUBMITS,
            "provider": (answer,),
            "after": {"id": job_id, **after},
        }
        return _work("dispatch", name, says, {"job": job_id, "do": "submit"}, **changed)

    bound = {"state": "running", "provider_job_id": "fresh-at-the-provider", "out": None}
    yield case("submit", "Claimed with a slot, sent once, accepted.", ACCEPTED, **bound)
    wrong = {"status": 422, "body": {"error": {"code": "invalid", "message": "No such size."}}}
    yield case("rejected", "The request's own fault.", wrong, state="failed", slot=None)
    busy = {"status": 503, "headers": {"Retry-After": "7"}, "body": {"error": {"code": "busy", "message": "Later."}}}
    later = {"state": "submitting", "slot": None, "unsettled": False}
    yield case("not-accepted", "Proven: nothing was accepted.", busy, **later, out="dispatch next")
    unpaid = {"status": 402, "body": {"error": {"code": "payment", "message": "No credit."}}}
    yield case("blocked", "The account's fault: the provider is paused.", unpaid, **later)
    broken = {"status": 500, "body": {"error": {"code": "internal", "message": "Something went wrong."}}}
    unknown = {"state": "submitting", "unsettled": True, "attention": None}
    yield case("ambiguous", "Perhaps paid for: the slot is kept.", broken, **unknown)
    yield case("cut", "So is an answer that never came.", {"cut": True}, **unknown)


def _not_submitting() -> Iterator[Case]:
    def of(name: str, do: str = "submit") -> dict[str, str]:
        return {"job": story(name).job.id, "do": do}

    def after(name: str, **fields: Any) -> dict[str, Any]:
        return {"id": story(name).job.id, **fields}

    resumed: dict[str, Any] = {"given": ("killed",), "provider": (ACCEPTED,), "asked": SUBMITS}
    says = "A dispatcher was killed; its lease is over and the provider honours keys: the same request again."
    yield _work(
        "dispatch", "resumed", says, of("killed"), receives=2, **resumed, after=after("killed", state="running")
    )
    says = "Its lease is not over: another may be sending at this moment."
    waits = after("submitting", state="submitting", version=2)
    yield _work("dispatch", "too-early", says, of("submitting"), receives=2, given=("submitting",), after=waits)
    says = "No slot is free: the job waits in the table, the message is done."
    turned = after("pending", state="pending", version=2, slot=None)
    yield _work("dispatch", "full", says, of("pending"), given=("pending", "busy"), after=turned)
    told = story("canceling")
    halted = {"status": 200, "body": {"id": told.provider_job_id, "status": "canceled"}}
    asked = (f"POST /sim/v1/jobs/{told.provider_job_id}/cancel",)
    ended: dict[str, Any] = {"given": ("canceling",), "provider": (halted,), "asked": asked}
    done = after("canceling", state="canceled", slot=None)
    yield _work("dispatch", "cancel", "The provider's word decides.", of("canceling", "cancel"), **ended, after=done)
    past: dict[str, Any] = {"given": ("succeeded",), "after": after("succeeded", state="succeeded", version=5)}
    yield _work("dispatch", "past", "The job went on without this message.", of("succeeded"), **past)
    says = "Ten times received and never finished: a person is asked."
    question = after("pending", state="pending", attention={"reason": "dead_letter"})
    yield _work("dispatch", "tenth-receive", says, of("pending"), receives=10, given=("pending",), after=question)
    yield _work("dispatch", "unknown-job", "No such job.", of("pending"))
    yield _work("dispatch", "not-ours", "Not a message of ours: counted and done.", "hello")


def store() -> Iterator[Case]:
    def case(name: str, says: str, scene_name: str, *answers: dict[str, Any], asked: str, **more: Any) -> Case:
        told = story(scene_name)
        calls = {"f": f"GET /files/{told.provider_job_id}/0.mp4", "p": f"GET /sim/v1/jobs/{told.provider_job_id}"}
        after = {"id": told.job.id, **more.pop("after")}
        body = {"job": told.job.id}
        facts: dict[str, Any] = {
            "given": (scene_name,),
            "provider": answers,
            "asked": tuple(calls[c] for c in asked),
            "after": after,
        }
        return _work("store", name, says, body, **facts, **more)

    done = {"state": "succeeded", "out": "publish live"}
    yield case("happy", "Fetched, checked, kept.", "storing", VIDEO, asked="f", after=done, stored=1)
    says = "The link is over: the provider gives a fresh one."
    fresh = _shown(story("link-expired"))
    yield case("link-expired", says, "link-expired", fresh, VIDEO, asked="pf", after=done, stored=1)
    says = "The link is dead before its time: a fresh one serves."
    fresh = _shown(story("storing"))
    yield case("link-dead", says, "storing", {"status": 403}, fresh, VIDEO, asked="fpf", after=done, stored=1)
    lost = {"state": "storing", "attention": {"reason": "result_unavailable"}}
    yield case("no-result", "The provider has none: a person is asked.", "storing", GONE, GONE, asked="fp", after=lost)
    bad = {"state": "failed", "error": {"code": "invalid_result"}}
    yield case("wrong-type", "Not media, twice.", "storing", PAGE, fresh, PAGE, asked="fpf", after=bad)
    short = {"file": "video/mp4", "short": True}
    again = {"state": "storing", "failures": 1, "out": "store"}
    yield case("cut", "Half a file: again later.", "storing", short, asked="f", after=again)
    yield case("past", "It was stored before.", "succeeded", asked="", after={"state": "succeeded", "version": 5})
    yield _work("store", "not-ours", "Not a message of ours.", '{"task": 1}')


def _shown(told: Story) -> dict[str, Any]:
    """The job as the provider shows it when asked."""
    url = f"{PROVIDER_URL}/files/{told.provider_job_id}/0.mp4"
    outputs = [{"url": url, "content_type": "video/mp4", "expires_at": "2027-01-15T09:00:00Z"}]
    job = {"id": told.provider_job_id, "status": "completed", "reference": told.job.reference, "outputs": outputs}
    return {"status": 200, "body": job}


def reconcile() -> Iterator[Case]:
    def case(name: str, says: str, time: str | None = "2027-01-15T08:00:00Z", **more: Any) -> Case:
        event = {} if time is None else {"scheduled_time": time}
        return Case(function="reconcile", name=name, says=says, event=event, answer={}, **more)

    due, ready = story("due"), story("unpublished")
    poll = f"GET /sim/v1/jobs/{due.provider_job_id}"
    over = {"id": due.job.id, "state": "storing", "slot": None}
    done: dict[str, Any] = {"given": ("due",), "provider": (_shown(due),), "asked": (poll,), "after": over}
    yield case("tick", "The poll says what the webhook that did not come would have.", **done)
    yield case("tick-unsubstituted", "The time as an emulator hands it over.", "<aws.scheduler.scheduled-time>", **done)
    yield case("tick-by-hand", "Invoked without a time.", None, **done)
    says = "The provider does not know the job: once is no proof."
    lost: dict[str, Any] = {"given": ("due",), "provider": (GONE, _shown(due)), "asked": (poll, poll), "after": over}
    yield case("tick-lost-once", says, **lost)
    ended = {"id": ready.job.id, "state": "succeeded", "due_at": None}
    yield case("tick-publishes", "An end that relay lost.", given=("unpublished",), after=ended, published=1)
    woken = {"queue": "dispatch", "message": {"job": story("waiting").job.id, "do": "submit"}}
    yield case("tick-tops-up", "A wake was lost: a slot is free.", given=("waiting",), sent=(woken,))
    yield case("tick-idle", "Nothing is due.")
