"""The edge of functions that a queue or the stream feeds: what comes again is what failed, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from mediajobs.batches import MOST_BYTES, queue_handler, stream_handler
from mediajobs.errors import Retryable
from tests.steps.kit import Stage


def messages(*bodies: object, receives: int = 1) -> dict[str, Any]:
    return {
        "Records": [
            {
                "messageId": f"m{number}",
                "receiptHandle": "r",
                "body": body if isinstance(body, str) else json.dumps(body),
                "attributes": {"ApproximateReceiveCount": str(receives)},
                "eventSource": "aws:sqs",
            }
            for number, body in enumerate(bodies)
        ]
    }


def changes(*images: object) -> dict[str, Any]:
    return {
        "Records": [
            {
                "eventID": f"e{number}",
                "eventName": "MODIFY",
                "eventSource": "aws:dynamodb",
                "dynamodb": {"SequenceNumber": str(number), **({} if image is None else {"NewImage": image})},
            }
            for number, image in enumerate(images)
        ]
    }


def failures(answer: Mapping[str, Any]) -> list[str]:
    return [one["itemIdentifier"] for one in answer["batchItemFailures"]]


def taking(seen: list[tuple[str, int]], *failing: str) -> Callable[[str, Mapping[str, Any], int], str]:
    def take(job_id: str, _message: Mapping[str, Any], receives: int) -> str:
        seen.append((job_id, receives))
        if job_id in failing:
            raise Retryable("again")
        return "done"

    return take


@pytest.mark.parametrize(("failing", "again"), [("", []), ("b", ["m1"]), ("abc", ["m0", "m1", "m2"])])
def test_of_a_batch_only_the_messages_that_failed_come_again(failing: str, again: list[str]) -> None:
    """Also where all of them did: an error of the whole invocation would make Lambda slow the queue down."""
    seen: list[tuple[str, int]] = []
    handler = queue_handler(Stage().world, "dispatch", taking(seen, *failing))
    assert failures(handler(messages({"job": "a"}, {"job": "b"}, {"job": "c"}), None)) == again
    assert [job_id for job_id, _ in seen] == ["a", "b", "c"]


def test_a_step_is_told_how_often_its_message_came() -> None:
    """By this count a message whose process always dies becomes a person's question."""
    seen: list[tuple[str, int]] = []
    queue_handler(Stage().world, "store", taking(seen))(messages({"job": "a"}, receives=10), None)
    assert seen == [("a", 10)]


@pytest.mark.parametrize(
    "body",
    [
        "", "{", "[]", "null", "7", '"a"', "{}", '{"job": 7}', '{"job": null}', "[" * 2000,
        json.dumps({"job": "a", "more": "x" * MOST_BYTES}),
    ],
)  # fmt: skip
def test_what_cannot_be_a_message_of_ours_is_told_once_and_stops_nobody(body: str) -> None:
    """Brought again it would be no better, and ends in a dead-letter queue that means something else."""
    stage, seen = Stage(), []  # type: ignore[var-annotated]
    handler = queue_handler(stage.world, "dispatch", taking(seen))
    assert failures(handler(messages(body, {"job": "b"}), None)) == []
    assert [job_id for job_id, _ in seen] == ["b"]
    assert stage.metrics.counted["MessagesRefused"] == 1


@pytest.mark.parametrize(("failing", "again"), [("", []), ("b", ["1"]), ("abc", ["0", "1", "3"])])
def test_of_a_batch_of_the_stream_what_failed_is_named_and_the_others_are_carried_out(
    failing: str, again: list[str]
) -> None:
    """The stream goes on from the first that is named. What has no new image (ttl took the row) tells nobody."""
    seen: list[str] = []

    def take(image: Mapping[str, Any]) -> None:
        seen.append(image["id"])
        if image["id"] in failing:
            raise Retryable("again")

    handler = stream_handler(take)
    assert failures(handler(changes({"id": "a"}, {"id": "b"}, None, {"id": "c"}), None)) == again
    assert seen == ["a", "b", "c"]


def test_a_batch_of_the_stream_that_fails_whole_is_named_from_its_first_on() -> None:
    """An error of the whole invocation would count as a broken function, and be the alarm of one."""

    def take(_: Mapping[str, Any]) -> None:
        raise Retryable("again")

    assert failures(stream_handler(take)(changes({"id": "a"}, {"id": "b"}), None)) == ["0", "1"]
