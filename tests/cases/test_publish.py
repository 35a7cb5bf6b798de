"""Case 7: a job's end is one event for its consumer, whatever dies between the send and the mark."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from mediajobs.errors import Retryable
from tests import samples
from tests.cases.deployment import Hooked, at_once, die
from tests.cases.place import Place
from tests.hostile.server import serve
from tests.steps.kit import Killed


def ended(place: Place) -> tuple[str, str]:
    """A job that has succeeded and is not published: its id and its webhook's URL."""
    place.server.routes["/a"] = serve(samples.mp4())
    job_id = place.storing(place.server.url("/a"))
    place.relay()
    place.messages("store")
    place.deliver("store", job_id)
    assert place.get(job_id)["status"] == "succeeded"
    return job_id, place.webhook_url(job_id)


def everybody(place: Place, url: str) -> list[Any]:
    """Relay's redelivery, two ticks of the schedule and the provider's webhook, all at the same moment."""
    return at_once(
        place.relay,
        partial(place.tick, "first"),
        partial(place.tick, "second"),
        partial(place.say, url, "evt-9", status="completed", outputs=[]),
    )


def one_event(place: Place, job_id: str, sends: int) -> None:
    """So many sends, all under one deterministic id, so that a consumer sees one event; and one mark."""
    job = place.job(job_id)
    assert (job.published_at is not None, job.due_at) == (True, None)
    ids = {(send.group, send.deduplication_id) for send in place.topic.sends}
    assert ids == {(job_id, f"{job_id}-{job.incarnation}-{job.final_version}")}
    assert (len(place.topic.sends), len(place.topic.published)) == (sends, 1)
    assert sum("pub" in image for image in place.client.images) == 1


def test_case_07_an_update_that_fails_after_the_send_is_made_good_without_a_second_send(place: Place) -> None:
    """Then everybody comes at once: the record of the send is replayed, and one mark is written."""
    job_id, url = ended(place)

    def write(change: Any) -> Any:
        if change.after.published_at is not None:
            raise Retryable("put_item: no answer")
        return place.store.write(change)

    place.rewire(store=Hooked(place.store, write=write))
    assert len(place.relay()["batchItemFailures"]) == 1
    assert (len(place.topic.sends), place.job(job_id).published_at) == (1, None)
    place.rewire(store=place.store)
    place.due(job_id)
    everybody(place, url)
    place.relay()
    one_event(place, job_id, sends=1)


def test_case_07_two_that_see_the_end_at_once_send_once(place: Place) -> None:
    """The loser, seeing that another is sending, does not send; nor does it mark what it cannot know."""
    job_id, url = ended(place)
    place.due(job_id)
    everybody(place, url)
    for _ in range(2):
        place.relay()
    one_event(place, job_id, sends=1)


def test_case_07_a_send_that_another_has_under_way_is_never_taken_for_done(place: Place) -> None:
    job_id, _ = ended(place)
    inside: list[Any] = []

    def publish(message: str, **names: str) -> None:
        if not inside:
            inside.append(None)
            place.due(job_id)
            inside.append(place.tick("while it is being sent"))
            assert place.job(job_id).published_at is None
        place.topic.publish(message, **names)

    place.rewire(topic=Hooked(place.topic, publish=publish))
    place.relay()
    place.relay()
    assert "looked at 1 jobs" in str(inside[1])
    one_event(place, job_id, sends=1)


@pytest.mark.parametrize("sent", [True, False])
def test_case_07_a_sender_that_died_is_followed_once_after_its_lease_under_the_same_id(
    place: Place, sent: bool
) -> None:
    """Before that nobody sends: it may be alive."""
    job_id, url = ended(place)

    def publish(message: str, **names: str) -> None:
        if sent:
            place.topic.publish(message, **names)
        die()

    shown = place.shown
    place.rewire(topic=Hooked(place.topic, publish=publish))
    with pytest.raises(Killed):
        place.relay()
    place.shown = shown  # the stream brings the record again
    place.rewire(topic=place.topic)
    place.due(job_id)
    place.tick("within the lease")
    assert len(place.relay()["batchItemFailures"]) == 1
    assert (len(place.topic.sends), place.job(job_id).published_at) == (int(sent), None)
    place.lapse()
    place.due(job_id)
    everybody(place, url)
    place.relay()
    one_event(place, job_id, sends=1 + int(sent))
