"""What a happy job costs in the table, counted by the emulator, which counts as DynamoDB does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from mediajobs.adapters.dynamodb import DynamoStore
from mediajobs.jobs.decide import Change
from mediajobs.messages import Created, Written
from tests.adapters.test_items import happy_life
from tests.contract import aws
from tests.contract.conftest import unique
from tests.fakes.clock import SeededChance, VirtualClock
from tests.fakes.jobs import BODY


@pytest.mark.emulator
def test_a_happy_job_costs_sixteen_write_units(endpoint: str) -> None:
    """Submit 4 (input, head, two indexes), claim 4, running 1, storing 4, succeeded 1, published 2."""
    spent: list[float] = []

    def meter(_: str, cost: Mapping[str, Any]) -> None:
        spent.append(cost["CapacityUnits"])

    dynamodb = aws.client("dynamodb", endpoint)
    table = unique("units")
    aws.create_table(dynamodb, table)
    store = DynamoStore(dynamodb, table, clock=VirtualClock(), chance=SeededChance(1), meter=meter)
    life = happy_life()
    store.put_input(life[0].id, BODY, life[0].payload_digest, ttl=1)
    created = store.create(life[0])
    assert isinstance(created, Created)
    steps, job = [sum(spent)], created.job
    for after in life[1:]:
        spent.clear()
        written = store.write(Change(before=job, after=after, rule="test"))
        assert isinstance(written, Written)
        steps.append(sum(spent))
        job = written.job
    dynamodb.close()
    assert steps == [4, 4, 1, 4, 1, 2]
