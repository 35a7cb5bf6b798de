"""A job that ended goes out again under its first id, and nothing else about it changes."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from moto import mock_aws

from cli.publish import CallbackQueue, NotPublishedError, again, moment, since, touched
from mediajobs.jobs.model import Job
from mediajobs.jobs.states import State
from tests.contract import aws
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


def test_all_that_ended_since_a_time_goes_again_under_its_first_ids(store: MemoryStore) -> None:
    """Of one tenant, or of all; what ended before and what has not ended stays."""
    kept(store, State.SUCCEEDED)
    first = next(iter(store.jobs.values()))
    rest = {
        "before": replace(first, id="b" * 26, since=first.since - 1),
        "open": replace(first, id="c" * 26, state=State.STORING),
        "other": replace(first, id="d" * 26, tenant="zeta", state=State.FAILED),
    }
    store.jobs |= {job.id: job for job in rest.values()}
    topic = MemoryTopic()
    mine = list(since(store, topic, iter(store.jobs), first.since, first.tenant))
    assert mine == [first.publication_id]
    everyones = list(since(store, topic, iter(store.jobs), first.since, None))
    assert everyones == [first.publication_id, rest["other"].publication_id]
    assert [(send.deduplication_id, send.tenant) for send in topic.sends[1:]] == [
        (first.publication_id, first.tenant),
        (rest["other"].publication_id, "zeta"),
    ]


@pytest.mark.parametrize(
    ("text", "ms"),
    [("2027-01-15T08:00:00Z", 1_800_000_000_000), ("2027-01-15T09:00:00+01:00", 1_800_000_000_000)],
)
def test_a_time_is_read_with_its_zone(text: str, ms: int) -> None:
    assert moment(text) == ms


@pytest.mark.parametrize("text", ["2027-01-15T08:00:00", "yesterday", ""])
def test_a_time_of_nobody_knows_which_clock_is_refused(text: str) -> None:
    """An hour's jobs would be missing, or sent for nothing."""
    with pytest.raises(ValueError, match=r"zone|Invalid"):
        moment(text)


def test_the_scan_finds_heads_by_the_time_they_ended() -> None:
    """Not the other items of a job, nor those of before."""
    with mock_aws():
        client = aws.client("dynamodb", None)
        aws.create_table(client, "jobs")
        for job_id, at in (("a" * 26, 5), ("b" * 26, 4)):
            client.put_item(
                TableName="jobs",
                Item={"pk": {"S": f"J#{job_id}"}, "sk": {"S": "H"}, "since": {"N": str(at)}},
            )
        client.put_item(TableName="jobs", Item={"pk": {"S": "C#callbacks"}, "sk": {"S": "acme"}, "since": {"N": "9"}})
        assert list(touched(client, "jobs", 5)) == ["a" * 26]
        client.close()


def test_past_the_topic_an_event_goes_to_notifys_queue_as_the_topic_would_send_it() -> None:
    """Raw, with its tenant as attribute."""
    with mock_aws():
        sqs = aws.client("sqs", None)
        url = sqs.create_queue(QueueName="notify")["QueueUrl"]
        CallbackQueue(sqs, url).publish('{"id": "e"}', group="g", deduplication_id="e", tenant="acme")
        (got,) = sqs.receive_message(QueueUrl=url, MessageAttributeNames=["All"])["Messages"]
        assert got["Body"] == '{"id": "e"}'
        assert got["MessageAttributes"]["tenant"]["StringValue"] == "acme"
        sqs.close()
