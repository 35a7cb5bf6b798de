"""What is counted beside the happy job: waiting, polling, progress, trouble, and a minute in which nothing is due."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bench.bed import Bed, Item
from bench.line import Line, Step, require, settled
from events.cases_webhook import body, delivery
from events.fixed import NOW
from events.scenes import Story, reference, scene
from mediajobs.adapters.table import expressions as ex
from mediajobs.jobs.events import TurnedAway

PROGRESS_EVENTS = 1000
PROGRESS_SECONDS = 10
HOUR_S = 3600


def _free_a_slot(bed: Bed) -> None:
    """Another job of the provider ends; its own costs are its own."""
    bed.client("dynamodb").delete_item(TableName=bed.names["Table"], Key=ex.slot_key("sim", "001"))


def waiting_past_due(bed: Bed, key: str) -> Line:
    """The same for longer than until its first due time."""
    return waiting(bed, key, ticks=1)


def waiting(bed: Bed, key: str, *, ticks: int = 0) -> Line:
    """A job that finds its provider full."""
    bed.put(scene("busy"))
    line = Line(bed, key)
    line.submit()
    line.relay("dispatch")
    line.dispatch(name="dispatch: turned away")
    line.relay("next")
    for _ in range(ticks):
        line.pass_time(60)
        line.tick("reconcile: first due")
    _free_a_slot(bed)
    line.wake("relay: a slot is free")
    line.accepted()
    line.pass_time(3)
    settled(line)
    return line


def polled(bed: Bed, key: str) -> Line:
    """A job of five minutes whose webhook does not come: one poll that finds it at work."""
    line = Line(bed, key)
    line.submit("long-1")
    line.relay("dispatch")
    line.accepted()
    line.pass_time(580)
    working = {"id": line.provider_job_id, "status": "processing"}
    line.tick("reconcile: one poll", {"status": 200, "body": working})
    return line


def progressing(bed: Bed, key: str) -> Step:
    """A thousand progress events in ten seconds."""
    line = Line(bed, key)
    line.submit("long-1")
    line.relay("dispatch")
    line.accepted()
    told = line.told()
    ref = reference(told.job)
    bed.wire.take()
    for number in range(PROGRESS_EVENTS):
        content = body(told, "progress", status="processing", progress=number * 99 // PROGRESS_EVENTS)
        event = delivery(content, ref, at=line.now, event_id=f"progress-{number}")
        result = bed.invoke("webhook", event, line.now)
        require(result.error is None and result.answer["statusCode"] == 200, "progress", result)
        line.pass_time(PROGRESS_SECONDS / PROGRESS_EVENTS)
    return Step(name="webhook: progress", sent=bed.wire.take(), calls=PROGRESS_EVENTS)


def troubled(bed: Bed, key: str) -> Line:
    """An answer that proves nothing, the same request again, no webhook, a link that is dead: and yet one charge."""
    line = Line(bed, key)
    line.submit("long-1")
    line.relay("dispatch")
    error = {"error": {"code": "internal_error", "message": "Something went wrong on our side, sorry."}}
    line.dispatch({"status": 500, "body": error}, name="dispatch: no usable answer")
    line.relay("dispatch", name="relay: dispatch again")
    line.pass_time(70)
    line.accepted("dispatch: the same request again")
    line.pass_time(580)
    shown = {"status": 200, "body": _shown(line)}
    line.tick("reconcile: poll", shown)
    line.relay("store next live")
    line.store({"status": 403}, shown, {"file": "video/mp4"}, name="store: with a fresh link")
    line.relay("publish live")
    return line


def _shown(line: Line) -> Mapping[str, Any]:
    """The job as the provider shows it at its end."""
    url = f"{line.bed.provider.url}/files/{line.provider_job_id}/0.mp4"
    output = {"url": url, "content_type": "video/mp4", "expires_at": (NOW // 1000) + 24 * HOUR_S}
    return {"id": line.provider_job_id, "status": "completed", "outputs": [output]}


def quiet_minute(bed: Bed, jobs_waiting: int) -> Step:
    """A tick in which nothing is due, while so many jobs wait at a full provider."""
    if jobs_waiting:
        bed.put(scene("busy"))
        bed.put(_crowd(bed, jobs_waiting))
    line = Line(bed, "quiet")
    line.tick("reconcile: nothing due")
    return line.steps[-1]


def _crowd(bed: Bed, jobs: int) -> Iterator[Item]:
    """Heads of jobs that were turned away and looked at since; their next due time is their start deadline."""
    for number in range(jobs):
        told = Story(f"crowd-{number}", bed.provider.url, created=NOW - 600_000)
        place = f"{1:010d}#{told.job.created_at:013d}#{told.job.id}"
        told.then(TurnedAway(place=place), NOW - 590_000)
        head = next(told.items())
        yield {**head, "due_at": head["dead"]}
