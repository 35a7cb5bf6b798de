"""Relay does what the words say, each of them, and brings back what failed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mediajobs.errors import Retryable
from mediajobs.jobs.events import AnswerKind, Cancel, Decision, DecisionKind, Status
from mediajobs.jobs.model import Link
from mediajobs.jobs.states import State
from mediajobs.steps.relay import relay
from tests.steps.kit import PLAIN, Stage


def test_a_new_job_wakes_dispatch_at_once() -> None:
    stage = Stage()
    job = stage.job()
    assert relay(stage.world, job) == ("dispatch",)
    assert stage.sent() == [(job.id, "submit", 0)]


def test_a_row_without_words_does_nothing() -> None:
    stage = Stage()
    assert relay(stage.world, replace(stage.job(), out=None)) == ()
    assert stage.sent() == []


def test_a_retry_is_delayed_to_its_time() -> None:
    stage = Stage()
    job = stage.job()
    stage.sim.answer(AnswerKind.NOT_ACCEPTED)
    stage.dispatch(job)
    stage.relay()
    retry_at = stage.read(job).retry_at
    assert retry_at is not None
    ((_, _, delay),) = stage.sent()
    assert 0 <= delay * 1000 - (retry_at - stage.clock.now()) < 1000


@pytest.mark.parametrize(("wait_s", "sent"), [(900, 1), (900.001, 0)])
def test_a_retry_beyond_fifteen_minutes_is_left_to_its_due_time(wait_s: float, sent: int) -> None:
    stage = Stage()
    job = replace(stage.job(), retry_at=stage.clock.now() + round(wait_s * 1000))
    assert relay(stage.world, job) == ("dispatch",)
    assert len(stage.sent()) == sent


def test_a_cancel_is_asked_of_dispatch() -> None:
    stage = Stage()
    job = stage.running()
    stage.relay()
    stage.sent()
    stage.apply(job, Cancel())
    stage.relay()
    assert stage.sent() == [(job.id, "cancel", 0)]


def test_storing_wakes_store_and_gives_the_row_to_the_next() -> None:
    stage = Stage()
    job = stage.storing()
    stage.relay()
    assert stage.queues.take_stored() == [job.id]


@pytest.mark.parametrize(
    ("left_s", "urgent"), [(None, False), (60, True), (1799, True), (1801, False), (86_400, False)]
)
def test_a_result_whose_link_ends_soon_does_not_wait_behind_long_ones(left_s: int | None, urgent: bool) -> None:
    """Two of the longest downloads take half an hour; what lives longer can wait that long."""
    stage = Stage()
    job = stage.running()
    end = None if left_s is None else stage.clock.now() + left_s * 1000
    stage.say(job, Status.SUCCEEDED, links=(Link(url="https://cdn.example/a", expires_at=end),))
    stage.relay()
    assert (stage.queues.stored, stage.queues.urgent) == ([job.id], [job.id] if urgent else [])


def test_links_that_stand_beside_the_row_are_looked_at_for_their_end() -> None:
    """The stream's image of a row with long links lacks them."""
    stage = Stage()
    job = stage.running()
    links = (Link(url="https://cdn.example/a", expires_at=stage.clock.now() + 60_000),)
    written = stage.say(job, Status.SUCCEEDED, links=links)
    relay(stage.world, replace(written, links=()))
    assert stage.queues.urgent == [job.id]


def test_a_failed_store_is_tried_again_later() -> None:
    stage = Stage()
    job = replace(stage.storing(), out="store", retry_at=stage.clock.now() + 20_000)
    relay(stage.world, job)
    assert stage.queues.store_delays == [20]


def test_an_ended_job_is_published_and_marked() -> None:
    stage = Stage()
    job = stage.succeeded()
    stage.relay()
    assert [send.deduplication_id for send in stage.topic.published] == [job.publication_id]
    assert stage.read(job).published_at is not None


def test_a_record_that_comes_again_sends_nothing_again() -> None:
    stage = Stage()
    job = stage.succeeded()
    for _ in range(3):
        relay(stage.world, job)
    assert len(stage.topic.sends) == 1


def test_resubmit_wakes_dispatch_and_the_next() -> None:
    stage = Stage(PLAIN)
    job = stage.unsure()
    waiting = stage.job("waits")
    stage.dispatch(waiting)
    stage.relay()
    stage.sent()
    stage.clock.advance(60)
    attention = stage.read(job).attention
    assert attention is not None
    stage.apply(job, Decision(kind=DecisionKind.RESUBMIT, attention_version=attention.version))
    stage.relay()
    assert stage.sent() == [(job.id, "submit", 0), (waiting.id, "submit", 0)]


def test_one_word_that_fails_does_not_stop_the_others_and_brings_the_record_again() -> None:
    stage = Stage()
    job = stage.running()
    stage.say(job, Status.FAILED)
    ended = stage.read(job)
    assert ended.out == "next publish live"
    stage.topic.fail = 1
    with pytest.raises(Retryable, match="topic"):
        relay(stage.world, ended)
    assert [told.event["status"] for told in stage.live.told] == ["failed"], "the word after it was carried out"
    assert relay(stage.world, ended) == ("next", "publish", "live")
    assert len(stage.topic.sends) == 1


def test_a_queue_that_fails_brings_the_record_again() -> None:
    stage = Stage()
    job = stage.job()
    stage.queues.fail = 1
    with pytest.raises(Retryable):
        relay(stage.world, job)
    relay(stage.world, job)
    assert stage.sent() == [(job.id, "submit", 0)]


def test_words_of_a_provider_that_left_the_configuration_stop_nothing() -> None:
    stage = Stage()
    job = replace(stage.succeeded(), provider="gone", out="next live")
    assert relay(stage.world, job) == ("next", "live")


def test_a_whole_life_leaves_no_word_undone() -> None:
    stage = Stage()
    job = stage.succeeded()
    assert stage.relay() == [("store", "next", "live"), ("publish", "live")]
    assert stage.state(job) is State.SUCCEEDED
