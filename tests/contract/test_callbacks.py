"""Contract of `callbacks.Callbacks`: registrations under their revision, and what the topic then sends to the queue."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from mediajobs import callbacks as rules
from mediajobs.adapters.callbacks import MOST_NAMED, AwsCallbacks
from mediajobs.adapters.sns import SnsTopic
from mediajobs.adapters.table.calls import Calls
from mediajobs.callbacks import Callbacks, Ended, Notice
from mediajobs.ports import Topic
from tests.contract import aws
from tests.contract.conftest import IN_MEMORY, unique
from tests.fakes.callbacks import MemoryCallbacks
from tests.fakes.clock import SeededChance, VirtualClock
from tests.fakes.topic import MemoryTopic

URL = "https://acme.example/hooks?key=1"
SECRET = "whsec_" + "a" * 44
DAY = 86_400_000
NOW = 1_800_000_000_000
REAL = [pytest.param("moto"), pytest.param("emulator", marks=pytest.mark.emulator)]


@dataclass
class Post:
    """The callbacks of one deployment, its topic, what arrives in notify's queue (body, tenant), and dead letters."""

    callbacks: Callbacks
    topic: Topic
    arrived: Callable[[], list[tuple[str, str]]]
    dead: Callable[[], list[tuple[str, str]]]
    client: aws.Faulty | None = None
    sqs: Any = None
    url: str = ""


@pytest.fixture
def post(place: tuple[str, str | None]) -> Iterator[Post]:
    name, endpoint = place
    if name in IN_MEMORY:
        callbacks, topic = MemoryCallbacks(), MemoryTopic()
        heard = lambda: callbacks.heard[-1] if callbacks.heard else ()  # noqa: E731
        yield Post(
            callbacks=callbacks,
            topic=topic,
            arrived=lambda: [(sent.message, sent.tenant) for sent in topic.published if sent.tenant in heard()],
            dead=lambda: [(notice.body.decode(), why) for notice, why in callbacks.buried],
        )
        return
    clients = {service: aws.client(service, endpoint) for service in ("dynamodb", "sns", "sqs")}
    sqs, sns, tag = clients["sqs"], clients["sns"], unique("post")
    urls = [sqs.create_queue(QueueName=f"{kind}-{tag}")["QueueUrl"] for kind in ("notify", "dead")]
    arn = sqs.get_queue_attributes(QueueUrl=urls[0], AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    topic_arn = sns.create_topic(Name=f"output-{tag}.fifo", Attributes={"FifoTopic": "true"})["TopicArn"]
    aws.create_table(clients["dynamodb"], tag)
    client = aws.Faulty(clients["dynamodb"])
    chance = SeededChance(5)
    yield Post(
        callbacks=AwsCallbacks(
            Calls(client, tag, VirtualClock(), chance),
            chance,
            sns,
            sqs,
            topic_arn=topic_arn,
            queue_url=urls[0],
            queue_arn=arn,
            dead_letter_url=urls[1],
        ),
        topic=SnsTopic(sns, topic_arn),
        arrived=lambda: _taken(sqs, urls[0], "tenant"),
        dead=lambda: _taken(sqs, urls[1], "why"),
        client=client,
        sqs=sqs,
        url=urls[0],
    )
    for each in clients.values():
        each.close()


def _taken(sqs: Any, url: str, attribute: str) -> list[tuple[str, str]]:
    """What a queue holds, each with one of its attributes."""
    found = []
    while got := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"]).get(
        "Messages"
    ):
        for each in got:
            found.append((each["Body"], each["MessageAttributes"][attribute]["StringValue"]))
            sqs.delete_message(QueueUrl=url, ReceiptHandle=each["ReceiptHandle"])
    return found


def test_a_registration_comes_back_as_it_was_saved(post: Post) -> None:
    """With all its fields, and one revision further."""
    assert post.callbacks.registration("acme") is None
    plain = rules.opened("acme", URL, SECRET, NOW)
    assert post.callbacks.save(None, plain)
    first = post.callbacks.registration("acme")
    assert first == replace(plain, revision=1)
    twice = rules.rotated(first, SECRET + "b", NOW + 1, DAY)
    assert twice is not None
    full = rules.failed(twice, "answered 500", NOW + 2, chance=0.5)
    assert post.callbacks.save(first, full)
    assert post.callbacks.registration("acme") == replace(full, revision=2)
    over = rules.over(full, Ended.GONE, NOW + 3)
    assert post.callbacks.save(replace(full, revision=2), over)
    assert post.callbacks.registration("acme") == replace(over, revision=3)


def test_of_two_that_read_the_same_one_is_written(post: Post) -> None:
    """Neither a first registration nor a change wipes another's."""
    plain = rules.opened("acme", URL, SECRET, NOW)
    assert post.callbacks.save(None, plain)
    assert not post.callbacks.save(None, rules.opened("acme", "https://other.example/", SECRET, NOW))
    first = post.callbacks.registration("acme")
    assert first is not None
    assert post.callbacks.save(first, rules.moved(first, "https://new.example/"))
    assert not post.callbacks.save(first, rules.over(first, Ended.OPERATOR, NOW))
    found = post.callbacks.registration("acme")
    assert found is not None
    assert (found.address, found.ended) == ("https://new.example/", None)


def test_those_that_have_ended_are_not_registered(post: Post) -> None:
    """The list is what the topic is to send."""
    for tenant in ("zeta", "acme"):
        assert post.callbacks.save(None, rules.opened(tenant, URL, SECRET, NOW))
    assert post.callbacks.registered() == ("acme", "zeta")
    acme = post.callbacks.registration("acme")
    assert acme is not None
    assert post.callbacks.save(acme, rules.over(acme, Ended.OPERATOR, NOW))
    assert post.callbacks.registered() == ("zeta",)


def test_only_events_of_tenants_that_are_listened_to_arrive(post: Post) -> None:
    """Byte for byte, with their tenant; before the first and after the last registration none does."""

    def publish(tenant: str, number: int) -> str:
        body = json.dumps({"id": f"{tenant}-{number}", "word": "ä"}, ensure_ascii=False)
        post.topic.publish(body, group=tenant, deduplication_id=f"{tenant}-{number}", tenant=tenant)
        return body

    post.callbacks.listen(())
    publish("acme", 1)
    assert post.arrived() == []
    post.callbacks.listen(("acme",))
    if isinstance(post.topic, MemoryTopic):
        post.topic.sends.clear()
    wanted = publish("acme", 2)
    publish("zeta", 2)
    assert post.arrived() == [(wanted, "acme")]
    if isinstance(post.topic, MemoryTopic):
        post.topic.sends.clear()
    post.callbacks.listen(("acme", "zeta"))
    both = [(publish("acme", 3), "acme"), (publish("zeta", 3), "zeta")]
    assert sorted(post.arrived()) == sorted(both)
    post.callbacks.listen(())
    publish("acme", 4)
    if isinstance(post.topic, MemoryTopic):
        assert post.callbacks.heard[-1] == ()  # type: ignore[attr-defined]
    else:
        assert post.arrived() == []


def test_what_is_given_up_lies_in_the_dead_letter_queue_with_the_reason(post: Post) -> None:
    """For a person to read."""
    notice = Notice(tenant="acme", event_id="e", body=b'{"id":"e"}', sent_at=NOW, handle="h")
    post.callbacks.bury(notice, "answered 500")
    assert post.dead() == [('{"id":"e"}', "answered 500")]


@pytest.mark.parametrize("place", REAL, indirect=True)
def test_a_save_that_the_sdk_sent_twice_is_ours(post: Post) -> None:
    """Else an operator would be told of somebody else, and never see the secret."""
    assert post.client is not None
    post.client.resend = 1
    assert post.callbacks.save(None, rules.opened("acme", URL, SECRET, NOW))


@pytest.mark.parametrize("place", REAL, indirect=True)
def test_later_hides_the_message_and_loses_nothing(post: Post) -> None:
    """It is still in the queue, in flight; hidden for no more than the queue allows."""
    post.sqs.send_message(QueueUrl=post.url, MessageBody="{}")
    (got,) = post.sqs.receive_message(QueueUrl=post.url)["Messages"]
    notice = Notice(tenant="acme", event_id="e", body=b"{}", sent_at=NOW, handle=got["ReceiptHandle"])
    post.callbacks.later(notice, 43_000)
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    counts = post.sqs.get_queue_attributes(QueueUrl=post.url, AttributeNames=names)["Attributes"]
    assert [counts[name] for name in names] == ["0", "1"]
    post.callbacks.later(notice, 0)
    assert post.sqs.receive_message(QueueUrl=post.url, WaitTimeSeconds=1)["Messages"][0]["Body"] == "{}"


@pytest.mark.parametrize("place", REAL, indirect=True)
def test_beyond_what_a_filter_may_name_every_event_comes(post: Post) -> None:
    """SNS takes 150 values; notify drops what nobody wants."""
    post.callbacks.listen([f"t{number}" for number in range(MOST_NAMED + 1)])
    post.topic.publish('{"id":"x"}', group="x", deduplication_id="x", tenant="another")
    assert post.arrived() == [('{"id":"x"}', "another")]
