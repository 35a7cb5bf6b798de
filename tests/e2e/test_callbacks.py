"""Callbacks on the deployed stack: an operator registers the example's receiver, and it hears of its tenant's jobs."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli import keys
from cli.publish import CallbackQueue, again
from examples.receiver import Receiver, server
from local.stack import Stack
from mediajobs.adapters.dynamodb import DynamoStore
from mediajobs.clock import SystemChance, SystemClock
from tests.e2e.client import Api, is_problem
from tests.e2e.crowd import PROMPT
from tests.e2e.truth import Subscriber, until

TENANT = "listener"
PATIENCE_S = 120
PATH = f"/v1/callbacks/{TENANT}"
DOCUMENT = {"provider": "sim", "model": "image-1", "input": {"prompt": PROMPT, "duration_s": 1}, "metadata": {"n": "1"}}


class Place:
    """A receiver that can be told its secret, and that can be out of order for some requests."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "events.sqlite"
        self.inner = Receiver([], self.file)
        self.asked: list[str] = []
        self.down = 0

    def take(self, headers: Any, body: bytes, now_s: float) -> tuple[int, dict[str, str]]:
        if b'"job.' in body:
            self.asked.append(headers["webhook-id"])
            if self.down:
                self.down -= 1
                return 500, {}
        return self.inner.take(headers, body, now_s)

    def knows(self, *secrets: str) -> None:
        self.inner = Receiver(secrets, self.file)

    def heard(self) -> dict[str, dict[str, Any]]:
        return {job["request_id"]: job for job in self.inner.jobs()}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("receiver"))


@pytest.fixture(scope="module")
def address(place: Place) -> Iterator[str]:
    receiver: Any = place
    running = server(receiver, 0)
    thread = threading.Thread(target=running.serve_forever, args=(0.05,))
    thread.start()
    yield f"http://127.0.0.1:{running.server_port}/hooks"
    running.shutdown()
    thread.join()
    running.server_close()


@pytest.fixture(scope="module")
def listener(stack: Stack) -> Api:
    """A caller of the tenant that is registered."""
    return Api(stack.info["api_url"], keys.create(stack.client("dynamodb"), stack.info["table"], TENANT, "user"))


@pytest.fixture(scope="module")
def registered(stack: Stack, operator: Api, place: Place, address: str) -> Iterator[dict[str, Any]]:
    answer = operator.call("POST", PATH, {"url": address})
    assert answer.status == 200, answer
    made: dict[str, Any] = answer.json
    place.knows(made["secret"])
    yield made
    operator.call("DELETE", PATH)


def ended(caller: Api, key: str) -> str:
    answer = caller.submit(key, DOCUMENT)
    assert answer.status == 202, answer
    job_id = str(answer.json["request_id"])
    caller.ended(job_id)
    return job_id


def dead(stack: Stack) -> int:
    url = stack.info["outputs"]["NotifyDeadLetterQueueUrl"]
    names = ["ApproximateNumberOfMessages"]
    return int(stack.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"][names[0]])


def test_nothing_is_sent_while_nobody_is_registered(stack: Stack, listener: Api) -> None:
    """The topic has no subscription for notify, so no job can start it."""
    ended(listener, "before")
    found = stack.client("sns").list_subscriptions_by_topic(TopicArn=stack.info["topic_arn"])["Subscriptions"]
    assert [each["Endpoint"].rpartition(":")[2] for each in found if "NotifyQueue" in each["Endpoint"]] == []


def test_urls_inside_are_refused(stack: Stack, operator: Api) -> None:
    """Private addresses, the metadata service, and this machine under another name than the configured one."""
    for url in ("https://10.0.0.1/x", "http://169.254.169.254/latest/", "http://localhost:9/x", "http://[::1]:9/x"):
        assert is_problem(operator.call("POST", PATH, {"url": url}), 422, "unprocessable"), url


def test_only_operators_register(listener: Api, address: str) -> None:
    """A tenant's own key may not; no key is 401."""
    assert is_problem(listener.call("POST", PATH, {"url": address}), 403, "forbidden")
    assert Api(listener.url, None).call("GET", PATH).status == 401


def test_a_job_is_heard_of_verified_and_under_the_topics_id(
    registered: dict[str, Any], listener: Api, place: Place, subscriber: Subscriber
) -> None:
    """With the caller's metadata; the topic's other consumer has the same bytes."""
    job_id = ended(listener, "heard")
    event = until(lambda: place.heard().get(job_id), PATIENCE_S)
    assert (event["type"], event["metadata"]) == ("job.succeeded", {"n": "1"})
    assert place.asked[-1] == event["id"]
    assert event == subscriber.first(job_id)


def test_a_receiver_that_fails_is_asked_again_under_the_same_id(
    registered: dict[str, Any], operator: Api, listener: Api, place: Place, stack: Stack
) -> None:
    """Some seconds later; meanwhile the registration tells of the trouble, and nothing is given up."""
    place.down = 1
    job_id = ended(listener, "again")
    event = until(lambda: place.heard().get(job_id), PATIENCE_S)
    assert place.asked.count(event["id"]) == 2
    until(lambda: operator.call("GET", PATH).json["failures"] == 0, PATIENCE_S)
    assert dead(stack) == 0


def test_secrets_rotate_without_a_gap(registered: dict[str, Any], operator: Api, listener: Api, place: Place) -> None:
    """A receiver that still knows the old one only verifies; so does one that knows the new one only."""
    rotated = operator.call("POST", f"{PATH}/rotate", {"overlap_s": 3600}).json
    job_id = ended(listener, "rotated-old")
    until(lambda: place.heard().get(job_id), PATIENCE_S)
    place.knows(rotated["secret"])
    job_id = ended(listener, "rotated-new")
    until(lambda: place.heard().get(job_id), PATIENCE_S)


def test_what_an_operator_sends_again_is_known_to_the_receiver(
    registered: dict[str, Any], stack: Stack, place: Place
) -> None:
    """Past the topic, under its first id."""
    job_id, event = next(iter(place.heard().items()))
    before = place.asked.count(event["id"])
    table = stack.info["table"]
    store = DynamoStore(stack.client("dynamodb"), table, clock=SystemClock(), chance=SystemChance())
    queue = CallbackQueue(stack.client("sqs"), stack.info["outputs"]["NotifyQueueUrl"])
    assert again(store, queue, job_id) == event["id"]
    until(lambda: place.asked.count(event["id"]) == before + 1, PATIENCE_S)
    assert place.heard()[job_id] == event


def test_after_the_end_nothing_comes(
    registered: dict[str, Any], operator: Api, listener: Api, place: Place, subscriber: Subscriber, stack: Stack
) -> None:
    """The topic filters it out: it never reaches notify's queue."""
    assert operator.call("DELETE", PATH).json["status"] == "ended"
    asked = len(place.asked)
    job_id = ended(listener, "unheard")
    subscriber.first(job_id)
    assert len(place.asked) == asked
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    url = stack.info["outputs"]["NotifyQueueUrl"]
    counts = stack.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    assert [counts[name] for name in names] == ["0", "0"]


def test_no_secret_is_in_any_log(registered: dict[str, Any], stack: Stack) -> None:
    """Nor the address, which may hold a token of the tenant's."""
    logs, group = stack.client("logs"), f"/{stack.info['stack_name']}/notify"
    lines = [
        event["message"]
        for page in logs.get_paginator("filter_log_events").paginate(logGroupName=group)
        for event in page["events"]
    ]
    text = json.dumps(lines)
    assert "delivered" in text
    assert "whsec_" not in text
    assert "/hooks" not in text
