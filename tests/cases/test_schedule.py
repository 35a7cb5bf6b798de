"""Cases 29, 38 and 39: the schedule's tick, twice at once, after a death, and with more to do than one page holds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from threading import Barrier, get_ident
from typing import Any

import pytest

from mediajobs.adapters.dynamodb import DynamoStore
from mediajobs.adapters.table import items
from mediajobs.errors import Throttled
from mediajobs.jobs.states import State
from mediajobs.messages import Request, Response
from tests import samples
from tests.cases.deployment import Hooked, at_once
from tests.cases.parts import in_turn
from tests.cases.place import Place
from tests.fakes.clock import SeededChance
from tests.fakes.jobs import a_job
from tests.hostile.server import serve
from tests.template import reading

# -- 29


def both_ticks(place: Place) -> None:
    at_once(partial(place.tick, "the first of two"), partial(place.tick, "the second of two"))


def test_case_29_a_claim_whose_worker_died_is_flagged_once_and_never_sent_again(place: Place) -> None:
    """No provider id, lease over, message gone: two reconcilers at once make one change, and a GET shows it."""
    job_id, _ = place.killed()
    place.messages("dispatch")
    place.clock.advance(61)
    place.due(job_id)
    both_ticks(place)
    both_ticks(place)
    told = place.get(job_id)
    assert (told["status"], told["stage"], told["attention"]["reason"]) == (
        "pending",
        "submitting",
        "ambiguous_submission",
    )
    assert [entry["note"] for entry in told["history"] if "note" in entry] == ["ambiguous"]
    assert (place.creates(), place.messages("dispatch")) == (1, [])


def test_case_29_a_queued_job_whose_message_was_never_sent_is_sent_for_once(place: Place) -> None:
    """The send failed after the put and the stream's record is lost: the job's due time is behind it."""
    job_id = place.accepted()
    place.shown = len(place.client.images)
    place.due(job_id)
    both_ticks(place)
    assert place.messages("dispatch") == [{"job": job_id, "do": "submit"}]
    place.deliver("dispatch", job_id)
    assert (place.get(job_id)["status"], place.creates()) == ("running", 1)


# -- 38


def met(place: Place, parties: int) -> Any:
    """A store whose first look for due jobs, in each of the ticks, waits for that of the others."""
    barrier, seen = Barrier(parties), set()

    def due(until: int) -> Iterator[tuple[int, str]]:
        found = list(place.store.due(until))
        if get_ident() not in seen:
            seen.add(get_ident())
            barrier.wait(20)
        return iter(found)

    return Hooked(place.store, due=due)


def five_running_and_one_ended(place: Place) -> tuple[list[str], str]:
    place.server.routes["/a"] = serve(samples.mp4())
    ended = place.storing(place.server.url("/a"), key="ended")
    place.deliver("store", ended)
    accepts = [serve(f'{{"id":"p-{number}","status":"processing"}}'.encode(), 201) for number in range(2, 7)]
    place.server.routes["/v1/jobs"] = in_turn(*accepts)
    running = [place.running(f"running-{number}")[0] for number in range(5)]
    for job_id in (ended, *running):
        place.due(job_id)
    return running, ended


def test_case_38_two_ticks_at_once_poll_count_and_publish_each_job_once(place: Place) -> None:
    """Both have read the same six due jobs; whoever moves a job's due time on is the one that looks."""
    running, ended = five_running_and_one_ended(place)
    place.server.asked.clear()
    versions = {job_id: place.job(job_id).version for job_id in running}
    place.rewire(store=met(place, 2))
    both_ticks(place)
    assert place.polls() == 5
    assert [place.job(job_id).misses for job_id in running] == [1] * 5  # each answer was 404
    assert [place.job(job_id).version - versions[job_id] for job_id in running] == [2] * 5  # the look, and its note
    assert (len(place.topic.sends), place.job(ended).published_at is not None) == (1, True)


def test_case_38_the_same_tick_delivered_again_does_nothing_and_after_an_exception_everything(place: Place) -> None:
    """An exception leaves the tick free; a finished one is replayed; one that runs is not joined."""
    running, _ = five_running_and_one_ended(place)
    place.server.asked.clear()
    place.rewire(store=Hooked(place.store, due=throttled))
    with pytest.raises(Throttled):
        place.tick("08:00")
    assert place.polls() == 0
    place.rewire(store=place.store)
    first = place.tick("08:00")
    assert (place.polls(), [place.job(job_id).misses for job_id in running]) == (5, [1] * 5)
    for job_id in running:
        place.due(job_id)
    assert place.tick("08:00") == first
    assert place.polls() == 5
    assert place.tick("08:01") != first
    assert place.polls() == 10


def throttled(_: int) -> Iterator[tuple[int, str]]:
    raise Throttled("query: ThrottlingException")


def test_case_38_nothing_repeats_a_tick_that_raised() -> None:
    """Neither Scheduler's retries nor Lambda's own two: the next tick is a minute away and finds what is due."""
    template = reading.load()
    ((name, event),) = reading.events(template, "ScheduleV2")
    assert name == "Reconcile"
    assert event["RetryPolicy"]["MaximumRetryAttempts"] == 0
    assert reading.functions(template)[name]["EventInvokeConfig"]["MaximumRetryAttempts"] == 0


# -- 39


def many(place: Place, count: int) -> list[str]:
    """So many running jobs of 5 kB each, due one after the other, oldest first."""
    now = place.clock.now()
    jobs = [
        a_job(
            f"key-{number}",
            state=State.RUNNING,
            slot=None,
            provider_job_id=f"q-{number}",
            since=now - 90_000,
            created_at=now - 91_000,
            due_at=now - 1000 + number,
            history=("3|~" + "x" * 240 + "|system|1",) * 20,
        )
        for number in range(count)
    ]
    for start in range(0, count, 25):
        puts = [{"PutRequest": {"Item": items.rows(job).head}} for job in jobs[start : start + 25]]
        place.sdk.dynamodb.batch_write_item(RequestItems={place.table: puts})
    place.clock.advance(1)
    return [job.id for job in jobs]


class Provider:
    """Answers every poll, after a while, and keeps the ids in the order asked; for some it breaks our own code."""

    def __init__(self, place: Place, *, seconds: float = 0, breaks: str = "") -> None:
        self.asked: list[str] = []
        self._place, self._seconds, self._breaks = place, seconds, breaks
        place.http = Hooked(place.http, get=self.get)  # type: ignore[assignment]
        place.rewire()

    def get(self, request: Request) -> Response:
        name = request.url.rpartition("/")[2]
        self.asked.append(name)
        self._place.clock.sleep(self._seconds)
        if name == self._breaks:
            raise RuntimeError("a fault of ours")
        return Response(status=200, headers={}, body=json.dumps({"id": name, "status": "processing"}).encode())


def test_case_39_every_page_of_due_jobs_is_looked_at_and_a_bad_job_stops_no_other(place: Place) -> None:
    """300 jobs, over a megabyte, twenty to a page: all are polled once, the one that raises is noted on its own row."""
    ids = many(place, 300)
    provider = Provider(place, breaks="q-7")
    small = DynamoStore(place.client, place.table, clock=place.clock, chance=SeededChance(9), page_size=20)
    place.rewire(store=small).tick()
    assert sorted(provider.asked) == sorted(f"q-{number}" for number in range(300))
    assert place.metrics.counted["StepFailed"] == 1
    assert place.job(ids[7]).failures == 1
    assert [place.job(job_id).failures for job_id in (ids[6], ids[8], ids[299])] == [0, 0, 0]
    pages = [params for name, params in place.client.calls if name == "query" and params.get("IndexName") == "due"]
    assert sum("ExclusiveStartKey" in params for params in pages) >= 8


def test_case_39_an_empty_page_with_a_key_is_not_the_end(place: Place) -> None:
    many(place, 1)
    provider = Provider(place)
    empty = [{"Items": [], "LastEvaluatedKey": {"pk": {"S": "x"}}} for _ in range(8)]

    def query(**params: Any) -> Any:
        if params.get("IndexName") == "due" and empty:
            return empty.pop()
        params.pop("ExclusiveStartKey", None)
        return place.sdk.dynamodb.query(**params)

    client = Hooked(place.client, query=query)
    place.rewire(store=DynamoStore(client, place.table, clock=place.clock, chance=SeededChance(9))).tick()
    assert (provider.asked, empty) == (["q-0"], [])


def test_case_39_a_run_ends_before_its_function_does_and_the_next_one_begins_with_the_oldest(place: Place) -> None:
    """60 jobs of 1 s each in a run of 50 s; what is left then is what the next tick does, in its order."""
    many(place, 60)
    provider = Provider(place, seconds=1)
    started = place.clock.now()
    place.tick("08:00")
    spent = place.clock.now() - started
    timeout_s = reading.functions(reading.load())["Reconcile"]["Timeout"]
    assert 45_000 <= spent <= 60_000 < timeout_s * 1000
    done = len(provider.asked)
    assert 45 <= done < 60
    assert set(provider.asked) == {f"q-{number}" for number in range(done)}
    place.tick("08:01")
    assert set(provider.asked[done:60]) == {f"q-{number}" for number in range(done, 60)}
