"""After a restore: providers paused, lost rows made anew, and in question what may have been sent since."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import pytest
from moto import mock_aws

from cli import restored
from mediajobs.adapters.dynamodb import DynamoStore
from mediajobs.jobs.states import State
from mediajobs.messages import Created
from mediajobs.pauses import PauseReason
from mediajobs.steps.submit import birth_of
from tests.contract import aws
from tests.fakes.clock import SeededChance, VirtualClock
from tests.fakes.jobs import NOW, a_job
from tests.fakes.providers import MemoryProviders, ScriptedAdapter

LINE = {"message": "submitted", "level": "INFO", "replayed": False}


@pytest.fixture
def client() -> Iterator[Any]:
    with mock_aws():
        made = aws.client("dynamodb", None)
        yield made
        made.close()


def a_table(client: Any, name: str) -> DynamoStore:
    aws.create_table(client, name)
    return DynamoStore(client, name, clock=VirtualClock(), chance=SeededChance())


def put_in_question(store: DynamoStore, lines: list[str], only: list[str] | None = None) -> str:
    world = restored.world_of(store, MemoryProviders(ScriptedAdapter("sim")), max_in_flight=4)
    return restored.put_in_question(replace(world, clock=VirtualClock(NOW + 5_000)), lines, only)


def test_a_restored_table_is_closed_and_its_open_jobs_are_in_question(client: Any) -> None:
    store = a_table(client, "restored")
    waiting, ended = a_job("a", due_at=NOW), a_job("b", state=State.CANCELED, published_at=NOW, final_version=1)
    store.create(waiting)
    store.create(ended)
    assert put_in_question(store, []) == (
        "1 providers paused, 0 lost rows made anew, 1 jobs in question, 0 go on as they are"
    )
    provider, asked = store.provider("sim"), store.load(waiting.id)
    assert provider.pause.reason is PauseReason.OPERATOR
    assert asked is not None
    assert (asked.state, asked.unsettled) == (State.SUBMITTING, True)
    assert (provider.held, provider.holders) == ((asked.slot,), (waiting.id,))
    assert [job_id for _, job_id in store.due(NOW + 5_000)] == [waiting.id]
    kept = store.load(ended.id)
    assert kept is not None
    assert kept.state is State.CANCELED


def test_a_job_that_the_restore_has_lost_is_made_anew_from_the_log_and_never_dispatched(client: Any) -> None:
    store = a_table(client, "restored")
    lost = a_job("lost", incarnation="thefirstone22", model="video-1")
    lines = [
        "not JSON",
        json.dumps({**LINE, "message": "submitting", **birth_of(replace(lost, incarnation="neverput22222"))}),
        f"2027-01-15T08:00:00Z stream-1 {json.dumps({**LINE, **birth_of(lost)})}",
        json.dumps({"message": "answered", "job": lost.id}),
    ]
    assert " 1 lost rows made anew" in put_in_question(store, lines)
    made = store.load(lost.id)
    assert made is not None
    assert (made.incarnation, made.payload_digest, made.tenant) == ("thefirstone22", lost.payload_digest, "acme")
    assert (made.state, made.unsettled, made.out) == (State.SUBMITTING, True, None)
    assert " 0 lost rows made anew" in put_in_question(store, lines)


def test_a_run_that_was_killed_before_its_second_line_is_made_anew_from_the_first(client: Any) -> None:
    store = a_table(client, "restored")
    lost = a_job("lost")
    assert " 1 lost rows" in put_in_question(store, [json.dumps({**LINE, "message": "submitting", **birth_of(lost)})])


def test_only_jobs_that_stand_as_in_the_restored_table_are_put_in_question(client: Any) -> None:
    live, then = a_table(client, "live"), a_table(client, "restored")
    back = then.create(a_job("back", due_at=NOW))
    assert isinstance(back, Created)
    item = client.get_item(TableName="restored", Key={"pk": {"S": f"J#{back.job.id}"}, "sk": {"S": "H"}})["Item"]
    client.put_item(TableName="live", Item=item)
    fresh = live.create(a_job("fresh", due_at=NOW))
    only = restored.as_in(live, then)
    assert only == [back.job.id]
    put_in_question(live, [], only)
    assert cast("Any", live.load(fresh.job.id)).state is State.PENDING
