"""Publish: in progress is not done, only a send that returned is marked, and the id never changes."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from mediajobs import views
from mediajobs.errors import InProgress, Retryable, Throttled
from mediajobs.jobs.events import Status
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import ErrorCode
from mediajobs.steps.publish import publish
from tests.fakes.once import MemoryOnce
from tests.steps.kit import Stage


def key_of(job: Job) -> list[str]:
    return [job.id, job.incarnation, str(job.final_version)]


def test_an_ended_job_is_sent_once_with_its_metadata_and_no_prompt() -> None:
    stage = Stage()
    job = stage.succeeded()
    assert publish(stage.world, job)
    (send,) = stage.topic.sends
    assert send.tenant == job.tenant, "by this the topic knows whose receiver hears of it"
    said = json.loads(send.message)
    assert (send.group, send.deduplication_id) == (job.id, f"{job.id}-{job.incarnation}-{job.final_version}")
    assert (said["status"], said["metadata"], said["final_version"]) == ("succeeded", {"n": "first"}, job.final_version)
    assert "bicycle" not in send.message


def test_a_refusal_that_quotes_the_prompt_stays_with_the_job() -> None:
    """Consumers hear why in our own words; whoever may read the job reads the provider's."""
    stage = Stage()
    code, text = ErrorCode.CONTENT_MODERATED, 'not allowed: "a red bicycle"'
    job = stage.say(stage.running(), Status.FAILED, code=code, message=text)
    assert publish(stage.world, job)
    (send,) = stage.topic.sends
    assert send.tenant == job.tenant, "by this the topic knows whose receiver hears of it"
    assert json.loads(send.message)["error"] == {"code": "content_moderated", "message": views.FAILURE[code]}
    assert "bicycle" not in send.message
    assert views.public(job)["error"] == {"code": "content_moderated", "message": text}


def test_the_mark_ends_the_looks_and_begins_the_life_of_the_stub() -> None:
    stage = Stage()
    job = stage.succeeded()
    publish(stage.world, job)
    marked = stage.read(job)
    assert (marked.due_at, marked.out) == (None, None)
    assert marked.ttl == stage.clock.now() // 1000 + 400 * 86_400


def test_a_job_that_has_not_ended_is_not_sent() -> None:
    stage = Stage()
    assert not publish(stage.world, stage.storing())
    assert stage.topic.sends == []


def test_a_job_that_is_marked_is_not_sent() -> None:
    stage = Stage()
    job = stage.succeeded()
    publish(stage.world, job)
    assert not publish(stage.world, stage.read(job))
    assert len(stage.topic.sends) == 1


def test_a_job_that_is_marked_is_not_sent_when_the_record_is_long_over() -> None:
    """The record lives for days, the mark as long as the row: a finding after a year sends nothing."""
    stage = Stage()
    job = stage.succeeded()
    publish(stage.world, job)
    assert not publish(replace(stage.world, once=MemoryOnce()), stage.read(job))
    assert len(stage.topic.sends) == 1


def test_a_twin_in_progress_is_never_taken_for_done() -> None:
    stage = Stage()
    job = stage.succeeded()
    stage.once.abandon("publish", key_of(job))
    with pytest.raises(InProgress):
        publish(stage.world, job)
    assert stage.read(job).published_at is None
    stage.once.expire()
    assert publish(stage.world, job)
    assert len(stage.topic.published) == 1


def test_a_crash_between_send_and_mark_sends_again_under_the_same_id_only_where_the_record_is_lost() -> None:
    stage = Stage()
    job = stage.succeeded()
    stage.store.throttles = 1
    with pytest.raises(Throttled):
        publish(stage.world, job)
    assert stage.read(job).published_at is None
    assert publish(stage.world, job)  # the record replays the send
    assert (len(stage.topic.sends), stage.once.replays) == (1, 1)


def test_a_send_whose_answer_was_lost_is_repeated_under_the_same_id() -> None:
    stage = Stage()
    job = stage.succeeded()
    stage.topic.cut = 1
    with pytest.raises(Retryable):
        publish(stage.world, job)
    assert stage.read(job).published_at is None
    assert publish(stage.world, job)
    assert (len(stage.topic.sends), len(stage.topic.published)) == (2, 1)


def test_a_late_finding_changes_neither_id_nor_mark() -> None:
    stage = Stage()
    job = stage.running()
    failed = stage.say(job, Status.FAILED)
    publish(stage.world, failed)
    late = stage.say(job, Status.SUCCEEDED)
    assert late.findings
    assert late.publication_id == failed.publication_id
    assert not publish(stage.world, late)
    assert not publish(stage.world, replace(failed))  # an old image of the stream
    assert len(stage.topic.sends) == 1


def test_a_job_of_a_provider_that_left_the_configuration_is_published_all_the_same() -> None:
    stage = Stage()
    job = stage.succeeded()
    stage.store.jobs[job.id] = replace(job, provider="gone")
    assert publish(stage.world, stage.read(job))


def test_a_later_job_of_the_same_key_is_published_too() -> None:
    stage = Stage()
    first = stage.succeeded()
    publish(stage.world, first)
    del stage.store.jobs[first.id]
    second = stage.succeeded()
    publish(stage.world, second)
    assert len({send.deduplication_id for send in stage.topic.sends}) == 2
