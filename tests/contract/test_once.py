"""Contract of `ports.Once`: one run per name and key, its answer replayed, a twin told that it is running."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from mediajobs.adapters.idempotency import PowertoolsOnce
from mediajobs.errors import InProgress, Unauthorized
from mediajobs.ports import Once
from tests.contract import aws
from tests.contract.conftest import IN_MEMORY, unique
from tests.fakes.once import MemoryOnce
from tests.simulation.world.once import RecordedOnce, Records


class Context:
    """A Lambda context with time left."""

    def __init__(self, remaining: int = 30_000) -> None:
        self.remaining = remaining

    def get_remaining_time_in_millis(self) -> int:
        return self.remaining


def simulated() -> Once:
    """The simulation's, in calm weather, at a moment at which no time runs out."""
    records = Records()
    return RecordedOnce(lambda: records, lambda: 0, lambda: 1, lambda _, call: call())


@pytest.fixture
def once(place: tuple[str, str | None]) -> Iterator[Once]:
    name, endpoint = place
    if name in IN_MEMORY:
        yield MemoryOnce() if name == "memory" else simulated()
        return
    real = aws.client("dynamodb", endpoint)
    client = aws.Faulty(real, lock=name == "moto")
    table = unique("once")
    aws.create_idempotency_table(real, table)
    powertools = PowertoolsOnce(table, client)
    powertools.register(Context())
    yield powertools
    real.close()


class Counting:
    """A function that counts its runs."""

    def __init__(self, answer: str = "done") -> None:
        self.runs = 0
        self.answer = answer

    def __call__(self) -> str:
        self.runs += 1
        return f"{self.answer} {self.runs}"


def test_the_answer_of_the_first_run_is_replayed(once: Once) -> None:
    work = Counting()
    assert [once("publish", ["job", "inc", "6"], work) for _ in range(3)] == ["done 1"] * 3
    assert work.runs == 1


def test_an_empty_answer_is_replayed_too(once: Once) -> None:
    runs: list[int] = []

    def work() -> str:
        runs.append(1)
        return ""

    assert [once("publish", ["job"], work) for _ in range(2)] == ["", ""]
    assert len(runs) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("publish", ["a"]), ("intake", ["a"])),
        (("publish", ["a", "b"]), ("publish", ["b", "a"])),
        (("publish", ["a", "b"]), ("publish", ["ab"])),
        (("publish", ["a#b", "c"]), ("publish", ["a", "b#c"])),
        (("publish", ["1"]), ("publish", ["1.0"])),
    ],
)
def test_another_name_or_key_runs_for_itself(
    once: Once, first: tuple[str, list[str]], second: tuple[str, list[str]]
) -> None:
    work = Counting()
    assert (once(*first, work), once(*second, work)) == ("done 1", "done 2")


@pytest.mark.parametrize("key", [[], [""], ["sim", ""]])
def test_a_key_with_an_empty_part_is_refused_and_nothing_runs(once: Once, key: list[str]) -> None:
    """It would be shared by everybody else whose part is missing."""
    work = Counting()
    with pytest.raises(ValueError, match="empty part"):
        once("intake", key, work)
    assert work.runs == 0


def test_an_exception_passes_and_leaves_the_key_free(once: Once) -> None:
    def refuse() -> str:
        raise Unauthorized("no")

    with pytest.raises(Unauthorized, match="no"):
        once("intake", ["sim", "e1"], refuse)
    assert once("intake", ["sim", "e1"], Counting()) == "done 1"


def test_a_twin_is_told_that_it_is_running_and_nothing_runs_twice(once: Once) -> None:
    entered, leave = threading.Event(), threading.Event()

    def slow() -> str:
        entered.set()
        assert leave.wait(10)
        return "slow"

    work = Counting()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(once, "intake", ["sim", "e1"], slow)
        assert entered.wait(10)
        with pytest.raises(InProgress):
            once("intake", ["sim", "e1"], work)
        leave.set()
        assert running.result(10) == "slow"
    assert once("intake", ["sim", "e1"], work) == "slow"
    assert work.runs == 0
