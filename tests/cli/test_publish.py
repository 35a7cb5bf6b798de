"""A job that ended goes out again under its first id, and nothing else about it changes."""

from __future__ import annotations

import json

import pytest

from cli.publish import NotPublishedError, again
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import State
from tests.fakes.clock import SeededChance
from tests.fakes.jobs import a_job
from tests.fakes.store import MemoryStore
from tests.fakes.topic import MemoryTopic

BODY = json.dumps({"input": {"prompt": "a paper boat on a slow river"}, "metadata": {"scene": "boat"}}).encode()


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(SeededChance(1))


def kept(store: MemoryStore, state: State) -> Job:
    job = a_job(state=state, final_version=5, version=6)
    store.jobs[job.id] = job
    store.put_input(job.id, BODY, job.payload_digest, 0)
    return job


def test_ended_job_goes_under_its_first_id(store: MemoryStore) -> None:
    """With the caller's own words, as the first time; the row stays as it is."""
    job, topic = kept(store, State.SUCCEEDED), MemoryTopic()
    assert again(store, topic, job.id) == job.publication_id
    (sent,) = topic.sends
    assert (sent.group, sent.deduplication_id) == (job.id, job.publication_id)
    message = json.loads(sent.message)
    assert (message["id"], message["status"]) == (job.publication_id, "succeeded")
    assert message["metadata"] == {"scene": "boat"}
    assert "prompt" not in sent.message
    assert store.jobs[job.id] == job


def test_old_job_goes_without_the_words_that_are_gone(store: MemoryStore) -> None:
    """The input lives 60 days, the head longer."""
    job, topic = kept(store, State.FAILED), MemoryTopic()
    store.inputs.clear()
    again(store, topic, job.id)
    assert json.loads(topic.sends[0].message)["metadata"] == {}


@pytest.mark.parametrize("state", [State.PENDING, State.RUNNING, State.STORING])
def test_job_that_has_not_ended_is_refused(store: MemoryStore, state: State) -> None:
    """Only an end is published."""
    job, topic = kept(store, state), MemoryTopic()
    with pytest.raises(NotPublishedError, match="has not ended"):
        again(store, topic, job.id)
    assert topic.sends == []


def test_unknown_job_is_refused(store: MemoryStore) -> None:
    """A slip in the id is told."""
    with pytest.raises(NotPublishedError, match="There is no job"):
        again(store, MemoryTopic(), "b" * 26)
