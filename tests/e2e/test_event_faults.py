"""What can go wrong with webhooks and polls, forced: one effect each, and no job that is never heard of again."""

from __future__ import annotations

from local.stack import Stack
from mediajobs.adapters.table.values import decoded
from tests.e2e.client import Api, steps
from tests.e2e.crowd import Crowd
from tests.e2e.truth import Provider, Subscriber, rows, until


def settled_by(job: dict[str, object]) -> str:
    return next(source for state, source in steps(job) if state == "storing")


def test_all_webhooks_dropped(crowd: Crowd, caller: Api, provider: Provider) -> None:
    """Nothing was ever delivered; the poll settles it."""
    job = caller.ended(crowd["dropped"])
    assert (job["status"], settled_by(job)) == ("succeeded", "poll")
    (charge,) = provider.charges(crowd["dropped"])
    assert (charge["events_sent"], charge["polls"] >= 1) == ([], True)


def test_end_dropped(crowd: Crowd, caller: Api, provider: Provider) -> None:
    """The job was seen running, its end was not told; the poll settles it."""
    job = caller.ended(crowd["end-dropped"])
    assert (job["status"], settled_by(job)) == ("succeeded", "poll")
    assert provider.events(crowd["end-dropped"], "completed") == []


def test_end_told_five_times(
    crowd: Crowd, caller: Api, provider: Provider, subscriber: Subscriber, stack: Stack
) -> None:
    """One effect: five transitions, one publication; the others stand in the event list with the same digest."""
    job_id = crowd["repeated"]
    job = caller.ended(job_id)
    events = until(lambda: _answered(provider, job_id, 5), 30)
    assert {event["webhook_id"] for event in events} == {events[0]["webhook_id"]}
    assert [step[0] for step in steps(job)] == ["pending", "submitting", "running", "storing", "succeeded"]
    subscriber.first(job_id)
    assert len(subscriber.of(job_id)) == 1
    entries = decoded(rows(stack)[f"J#{job_id}", "E"])["entries"]
    told = [entry.split("|") for entry in entries]
    assert len(told) == 4
    assert {(event_id, digest) for _, _, event_id, digest in told} == {
        (events[0]["webhook_id"], job["history"][3]["body_sha256"])
    }


def _answered(provider: Provider, job_id: str, count: int) -> list[dict[str, object]]:
    """The deliveries answered 200, once there are so many; a twin of one that still runs is told to come again."""
    events = [event for event in provider.events(job_id, "completed") if event["status_code"] == 200]
    return events if len(events) == count else []


def test_old_timestamp_is_refused(crowd: Crowd, caller: Api, provider: Provider) -> None:
    """Rightly signed ten minutes ago is 401 and changes nothing; the poll settles the job."""
    job = caller.ended(crowd["old"])
    assert (job["status"], settled_by(job)) == ("succeeded", "poll")
    events = until(lambda: provider.events(crowd["old"], "completed"), 30)
    assert {event["status_code"] for event in events} == {401}


def test_events_out_of_order(crowd: Crowd, caller: Api, provider: Provider) -> None:
    """'running' after the end is answered and changes nothing."""
    job = caller.ended(crowd["reordered"])
    late = until(lambda: provider.events(crowd["reordered"], "running"), 30)
    assert late[0]["at"] > provider.events(crowd["reordered"], "completed")[0]["at"]
    assert late[0]["status_code"] == 200
    assert caller.job(crowd["reordered"])["history"] == job["history"]


def test_event_beats_the_answer(crowd: Crowd, caller: Api, provider: Provider) -> None:
    """An event that comes before the submit was answered finds its job and binds it."""
    job = caller.ended(crowd["webhook-first"])
    assert job["status"] == "succeeded"
    assert steps(job)[2] == ("running", "webhook")
    assert len(provider.submits(crowd["webhook-first"])) == 1


def test_end_beats_the_answer(crowd: Crowd, caller: Api, provider: Provider) -> None:
    """Even the end may come first; the late answer 'accepted' changes nothing any more."""
    job = caller.ended(crowd["end-first"])
    assert (job["status"], settled_by(job)) == ("succeeded", "webhook")
    assert len(provider.charges(crowd["end-first"])) == 1
    assert job["findings"] == []


def test_unknown_word_in_the_middle(crowd: Crowd, caller: Api) -> None:
    """A word that nobody knows leaves the job where it is; its end is heard all the same."""
    job = caller.ended(crowd["odd-word"])
    assert (job["status"], job["attention"]) == ("succeeded", None)


def test_failed_poll_is_no_failed_job(crowd: Crowd, caller: Api, provider: Provider) -> None:
    """A poll answered 500 is asked again later."""
    job = caller.ended(crowd["poll-errors"])
    assert (job["status"], settled_by(job)) == ("succeeded", "poll")
    assert provider.charges(crowd["poll-errors"])[0]["polls"] >= 2
