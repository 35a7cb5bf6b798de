"""What reconcile does in a minute grows with the jobs that are due, not with those that are there."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from mediajobs.steps.reconcile import reconcile
from tests.fakes.store import MemoryStore
from tests.steps.kit import Stage

READS = frozenset({"load", "load_many", "provider", "waiting", "due", "input", "progress", "bound"})
LIMIT = 3
PAST_FIRST_DUE_S = 460


class CountingStore(MemoryStore):
    """The table in memory, which counts what is asked of it."""

    def __init__(self, chance: Any) -> None:
        super().__init__(chance)
        self.asked: Counter[str] = Counter()

    def __getattribute__(self, name: str) -> Any:
        if name in READS:
            self.asked[name] += 1
        return super().__getattribute__(name)


def crowded(waiting: int) -> tuple[Stage, CountingStore]:
    """A provider whose slots others hold, and so many jobs that wait for one."""
    stage = Stage(limit=LIMIT, make_store=CountingStore)
    assert isinstance(stage.store, CountingStore)
    stage.store.rows["sim"] = {f"{row:03d}": "another's" for row in range(1, LIMIT + 1)}
    for number in range(waiting):
        stage.dispatch(stage.job(f"waits-{number}", tenant=f"tenant-{number % 7}"))
    stage.clock.advance(PAST_FIRST_DUE_S)
    return stage, stage.store


def minute(stage: Stage, store: CountingStore, name: str) -> Counter[str]:
    """What one run asks of the table, and writes into it."""
    store.asked.clear()
    written = len(store.writes)
    reconcile(stage.world, name, workers=1)
    return Counter(store.asked) + Counter(writes=len(store.writes) - written)


def test_a_thousand_waiting_jobs_cost_a_quiet_minute_nothing() -> None:
    """Each was looked at once, at its first due time; from then on they are not even read."""
    costs = []
    for waiting in (10, 1000):
        stage, store = crowded(waiting)
        assert minute(stage, store, "first due")["writes"] == waiting
        stage.clock.advance(60)
        stage.sent()
        costs.append(minute(stage, store, "quiet"))
        assert stage.sent() == []
    assert costs[0] == costs[1]
    assert costs[1].keys() <= {"provider", "waiting", "due", "load_many"}


def test_each_due_job_is_looked_at_once() -> None:
    """That is what grows."""
    looks = [minute(*crowded(waiting), "due")["load"] for waiting in (10, 20)]
    assert looks[1] - looks[0] == 10


@pytest.mark.parametrize("free", [1, 2, 3])
def test_a_lost_wake_costs_a_message_for_each_free_slot(free: int) -> None:
    """Never one for each job that waits."""
    stage, store = crowded(50)
    minute(stage, store, "first due")
    for row in list(store.rows["sim"])[:free]:
        del store.rows["sim"][row]
    stage.clock.advance(60)
    stage.sent()
    minute(stage, store, "top up")
    assert len(stage.sent()) == free
