"""Both clients of examples/: what they show never goes back, outlives every fault of the line, ends with the truth."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mediajobs import views
from mediajobs.messages import Progress
from mediajobs.signatures.channels import channel
from tests.live.followers import CLIENTS, NODE, Client, shown, start, until
from tests.live.place import Place


@pytest.fixture
def place() -> Iterator[Place]:
    with Place() as made:
        yield made


each_client = pytest.mark.parametrize("kind", list(CLIENTS))


def ended_well(client: Client) -> bool:
    """It ended, with what GET says, and nothing that it showed went back."""
    values = shown(client)
    how, last = client.seen[-1]
    return values == sorted(values) and last["status"] == "succeeded" and how == "read" and bool(last["outputs"])


@each_client
def test_progress_comes_over_the_socket_and_the_end_with_its_results(place: Place, kind: str) -> None:
    with start(kind, place.url) as client:
        until(lambda: place.api.listening() == 1, "listening")
        for percent in (10, 35, 80):
            place.tick(percent)
        until(lambda: 80 in shown(client, "heard"), "80 heard")
        place.done()
    assert shown(client, "heard")[:3] == [10, 35, 80]
    assert ended_well(client)
    assert shown(client)[-1] == 100
    assert place.reads <= 4, "with a socket, a job is read at its start and at its end"


@each_client
def test_what_was_told_before_anybody_listened_is_caught_up_with(place: Place, kind: str) -> None:
    """The end may come between the first look and the subscription."""
    ends = place.read

    def read_then_end() -> dict[str, object]:
        found = ends()
        if place.reads == 1:
            place.done()
        return found

    place.read = read_then_end  # type: ignore[method-assign]
    with start(kind, place.url) as client:
        pass
    assert ended_well(client)


@each_client
def test_a_dropped_socket_is_replaced_and_nothing_is_missed(place: Place, kind: str) -> None:
    """While it is away the job is read; then it is heard again."""
    with start(kind, place.url) as client:
        until(lambda: place.api.listening() == 1, "listening")
        place.tick(20)
        until(lambda: 20 in shown(client, "heard"), "20 heard")
        place.api.refusing = True
        place.api.drop()
        until(lambda: place.api.listening() == 0, "nobody listens")
        place.stage.clock.advance(2)
        place.tick(50)
        until(lambda: 50 in shown(client, "read"), "50 read")
        place.api.refusing = False
        until(lambda: place.api.listening() == 1, "listening again")
        place.tick(70)
        until(lambda: 70 in shown(client, "heard"), "70 heard")
        place.done()
    assert ended_well(client)


@each_client
def test_without_any_socket_the_job_is_polled_to_its_end(place: Place, kind: str) -> None:
    place.api.refusing = True
    with start(kind, place.url) as client:
        until(lambda: place.reads > 3, "polling")
        place.done()
    assert ended_well(client)
    assert shown(client, "heard") == []


@each_client
def test_a_socket_that_tells_nothing_does_not_hide_the_end(place: Place, kind: str) -> None:
    """The last event was lost: a quiet socket makes the client look."""
    with start(kind, place.url, quiet=0.5) as client:
        until(lambda: place.api.listening() == 1, "listening")
        place.api.deaf = True
        place.done()
    assert ended_well(client)


@each_client
def test_a_line_that_went_dead_without_a_word_is_replaced(place: Place, kind: str) -> None:
    """A network that went away closes nothing. AppSync says within what time it gives a sign of life; without one the
    socket is given up, though each wait for an event is shorter than that.
    """
    place.api.silence_ms = 1500
    with start(kind, place.url, quiet=0.4) as client:
        until(lambda: len(place.api.tokens) >= 2, "connected again")
        place.api.silence_ms = 300_000
        place.done()
    assert ended_well(client)


@each_client
def test_reads_that_fail_for_a_moment_do_not_end_the_watch(place: Place, kind: str) -> None:
    """What takes the socket away takes the next reads with it."""
    with start(kind, place.url) as client:
        until(lambda: place.api.listening() == 1, "listening")
        place.failing = 3
        place.api.drop()
        until(lambda: place.failing == 0, "three failed reads")
        until(lambda: place.api.listening() == 1, "listening again")
        place.done()
    assert ended_well(client)


@each_client
def test_a_clock_that_goes_wrong_makes_no_storm(place: Place, kind: str) -> None:
    """By this machine's clock every token is over at once: sockets are not replaced one after the other."""
    with start(kind, place.url, renew=10_000, retry_most=3600, quiet=0.2) as client:
        until(lambda: place.reads > 15, "some seconds")
        assert len(place.api.tokens) == 1
        place.done()
    assert ended_well(client)


@each_client
def test_a_token_is_replaced_before_it_ends_and_nothing_is_missed_meanwhile(place: Place, kind: str) -> None:
    """The new socket is open before the old one is closed."""
    with start(kind, place.url, renew=3600 - 2) as client:
        until(lambda: len(set(place.api.tokens)) >= 3, "two renewals")
        place.tick(60)
        until(lambda: 60 in shown(client), "60 shown")
        until(lambda: place.api.listening() == 1, "one socket is left")
        place.done()
    assert ended_well(client)


@each_client
def test_late_and_repeated_events_change_nothing(place: Place, kind: str) -> None:
    """A tick of before, a state of before, the same again, one after the end: in whatever order they come."""
    running = place.job
    name = channel(running.tenant, running.id)

    def say(percent: int) -> None:
        event = views.live_event(running, Progress(percent=percent, at=0))
        place.api.publish(name, json.dumps(event), last=False)

    with start(kind, place.url) as client:
        until(lambda: place.api.listening() == 1, "listening")
        for percent in (40, 10, 40, 60, 59):
            say(percent)
        until(lambda: 60 in shown(client, "heard"), "60 heard")
        place.done()
        say(99)
    assert ended_well(client)
    assert [job["status"] for _, job in client.seen][-1] == "succeeded"


def test_a_page_that_is_left_stops_listening_at_once(place: Place) -> None:
    """Not only when the next event comes."""
    script = Path(__file__).with_name("leave.mjs")
    with subprocess.Popen([NODE, script, place.url], stdout=subprocess.PIPE, text=True) as page:
        try:
            until(lambda: place.api.listening() == 1, "listening")
            place.tick(10)
            until(lambda: place.api.listening() == 0, "nobody listens")
            assert page.wait(60) == 0
        finally:
            page.kill()
        assert page.stdout is not None
        assert page.stdout.read() == "AbortError"
