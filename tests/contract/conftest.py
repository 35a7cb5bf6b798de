"""Every test of this folder that asks for `world` runs over four: memory, the simulation's, moto and the emulator."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from moto import mock_aws

from mediajobs.adapters.dynamodb import DynamoStore
from mediajobs.ports import Store
from tests.contract import aws, emulator
from tests.fakes.clock import SeededChance, VirtualClock
from tests.fakes.store import MemoryStore
from tests.simulation.world.store import Table

PAGE = 3  # small, so that every list of a test has several pages
_numbers = itertools.count(1)


def unique(name: str) -> str:
    """A name that no other test uses: the emulator is shared."""
    return f"{name}-{next(_numbers)}"


@dataclass
class World:
    """One store, and the faults that both kinds of it can show."""

    name: str
    store: Store
    clock: VirtualClock
    chance: SeededChance
    memory: MemoryStore | None = None
    client: aws.Faulty | None = None
    table: str = ""

    def resend_next_write(self) -> None:
        """The next write arrives twice."""
        if self.memory is not None:
            self.memory.resend = True
        else:
            assert self.client is not None
            self.client.resend = 1

    def refuse_writes(self, code: str) -> None:
        """Writes are refused with this code for longer than anybody tries."""
        if self.memory is not None:
            self.memory.conflicts = 1 if code == "TransactionConflict" else 0
            self.memory.throttles = 0 if code == "TransactionConflict" else 1
        else:
            assert self.client is not None
            self.client.refuse = [code] * 20

    def recover(self) -> None:
        """The fault is over."""
        if self.client is not None:
            self.client.refuse = []


@pytest.fixture(scope="session")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A bare emulator, started when the first test asks for it."""
    with emulator.running(tmp_path_factory.mktemp("emulator")) as running:
        yield running


IN_MEMORY = ("memory", "simulation")
PLACES = [*IN_MEMORY, "moto", pytest.param("emulator", marks=pytest.mark.emulator)]


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> Iterator[tuple[str, str | None]]:
    """(name, endpoint) of where AWS is played."""
    if request.param == "moto":
        with mock_aws():
            yield "moto", None
    elif request.param == "emulator":
        yield "emulator", request.getfixturevalue("endpoint")
    else:
        yield request.param, None


@pytest.fixture
def world(place: tuple[str, str | None]) -> Iterator[World]:
    name, where = place
    clock, chance = VirtualClock(), SeededChance(next(_numbers))
    if name in IN_MEMORY:
        memory = MemoryStore(chance) if name == "memory" else Table(chance)
        yield World(name=name, store=memory, clock=clock, chance=chance, memory=memory)
        return
    real = aws.client("dynamodb", where)
    yield table_world(name, real, clock, chance)
    real.close()


def table_world(name: str, real: Any, clock: VirtualClock, chance: SeededChance) -> World:
    """A world around a new table."""
    # moto checks a condition and writes in two steps; its own server would put a lock around both.
    client = aws.Faulty(real, lock=name == "moto")
    table = unique("jobs")
    aws.create_table(real, table)
    store = DynamoStore(client, table, clock=clock, chance=chance, page_size=PAGE)
    return World(name=name, store=store, clock=clock, chance=chance, client=client, table=table)


@pytest.fixture
def store(world: World) -> Store:
    return world.store
