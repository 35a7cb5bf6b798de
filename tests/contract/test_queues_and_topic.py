"""Contract of `ports.Queues` and `ports.Topic`: what is sent arrives, as the functions will read it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from mediajobs.adapters.sns import SnsTopic
from mediajobs.adapters.sqs import SqsQueues
from mediajobs.errors import ConfigurationError
from mediajobs.messages import Do
from mediajobs.ports import Queues, Topic
from tests.contract import aws
from tests.contract.conftest import IN_MEMORY, unique
from tests.fakes.queues import MemoryQueues
from tests.fakes.topic import MemoryTopic


@dataclass
class Mail:
    """A sender of each kind, and what has arrived: messages to dispatch, to store, urgent ones, to a subscriber."""

    queues: Queues
    topic: Topic
    dispatched: Callable[[], list[dict[str, Any]]]
    stored: Callable[[], list[dict[str, Any]]]
    urgent: Callable[[], list[dict[str, Any]]]
    published: Callable[[], list[str]]


@pytest.fixture
def mail(place: tuple[str, str | None]) -> Iterator[Mail]:
    name, endpoint = place
    if name in IN_MEMORY:
        queues, topic = MemoryQueues(), MemoryTopic()
        yield Mail(
            queues=queues,
            topic=topic,
            dispatched=lambda: [
                {"job": sent.job, "do": str(sent.do)} for sent in queues.dispatched if not sent.delay_s
            ],
            stored=lambda: [
                {"job": job}
                for job, wait in zip(queues.stored, queues.store_delays, strict=True)
                if not wait and job not in queues.urgent
            ],
            urgent=lambda: [{"job": job} for job in queues.urgent],
            published=lambda: [send.message for send in topic.published],
        )
        return
    sqs, sns = aws.client("sqs", endpoint), aws.client("sns", endpoint)
    tag = unique("mail")
    urls = [sqs.create_queue(QueueName=f"{kind}-{tag}")["QueueUrl"] for kind in ("dispatch", "store", "urgent")]
    fifo = {"FifoQueue": "true"}
    subscriber = sqs.create_queue(QueueName=f"subscriber-{tag}.fifo", Attributes=fifo)["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=subscriber, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    topic_arn = sns.create_topic(Name=f"output-{tag}.fifo", Attributes={"FifoTopic": "true"})["TopicArn"]
    sns.subscribe(TopicArn=topic_arn, Protocol="sqs", Endpoint=arn, Attributes={"RawMessageDelivery": "true"})
    yield Mail(
        queues=SqsQueues(sqs, dispatch_url=urls[0], store_url=urls[1], urgent_url=urls[2]),
        topic=SnsTopic(sns, topic_arn),
        dispatched=lambda: [json.loads(body) for body in _bodies(sqs, urls[0])],
        stored=lambda: [json.loads(body) for body in _bodies(sqs, urls[1])],
        urgent=lambda: [json.loads(body) for body in _bodies(sqs, urls[2])],
        published=lambda: _bodies(sqs, subscriber),
    )
    sqs.close()
    sns.close()


def _bodies(sqs: Any, url: str) -> list[str]:
    """What a queue holds: asked until it is empty."""
    found: list[str] = []
    while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=0).get("Messages"):
        found += [message["Body"] for message in messages]
        for message in messages:
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return found


def test_a_message_to_dispatch_names_the_job_and_what_to_do(mail: Mail) -> None:
    mail.queues.dispatch("job-a", Do.SUBMIT)
    mail.queues.dispatch("job-b", Do.CANCEL, delay_s=-3)
    assert mail.dispatched() == [{"job": "job-a", "do": "submit"}, {"job": "job-b", "do": "cancel"}]
    assert mail.stored() == []


def test_a_message_can_be_delayed_beyond_what_sqs_takes(mail: Mail) -> None:
    """Longer than fifteen minutes becomes fifteen minutes; `due_at` stands behind it."""
    mail.queues.dispatch("job-a", Do.SUBMIT, delay_s=5000)
    mail.queues.store("job-a", delay_s=5000)
    assert mail.dispatched() == []
    assert mail.stored() == []


def test_an_urgent_message_to_store_has_a_queue_of_its_own(mail: Mail) -> None:
    """It never stands behind those that take long."""
    mail.queues.store("job-a")
    mail.queues.store("job-b", urgent=True)
    assert mail.urgent() == [{"job": "job-b"}]
    assert mail.stored() == [{"job": "job-a"}]


def test_a_message_to_store_names_the_job(mail: Mail) -> None:
    mail.queues.store("job-a")
    assert mail.stored() == [{"job": "job-a"}]
    assert mail.dispatched() == []


def test_a_publication_repeated_with_its_id_reaches_a_subscriber_once(mail: Mail) -> None:
    for _ in range(2):
        mail.topic.publish('{"a":"ä"}', group="job-a", deduplication_id="job-a-inc-6", tenant="acme")
    mail.topic.publish('{"b":2}', group="job-b", deduplication_id="job-b-inc-6", tenant="acme")
    assert sorted(mail.published()) == ['{"a":"ä"}', '{"b":2}']


@pytest.mark.parametrize(
    "place", [pytest.param("moto"), pytest.param("emulator", marks=pytest.mark.emulator)], indirect=True
)
def test_a_queue_or_topic_that_does_not_exist_is_a_configuration_error(place: tuple[str, str | None]) -> None:
    sqs, sns = aws.client("sqs", place[1]), aws.client("sns", place[1])
    url = "http://127.0.0.1/000000000000/nowhere"
    with pytest.raises(ConfigurationError, match="send_message"):
        SqsQueues(sqs, dispatch_url=url, store_url=url, urgent_url=url).store("job-a")
    topic = SnsTopic(sns, "arn:aws:sns:us-east-1:000000000000:nowhere.fifo")
    with pytest.raises(ConfigurationError, match="publish"):
        topic.publish("x", group="a", deduplication_id="b", tenant="acme")
    sqs.close()
    sns.close()
