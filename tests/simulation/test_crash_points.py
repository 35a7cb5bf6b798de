"""Every crash point of every life, and some of the pairs. `python -m tests.simulation.crash --long` runs all pairs."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor

import pytest

from tests.simulation.crash import SHORT, Count, boundaries, distinct, explore, run
from tests.simulation.lifecycles import LIFECYCLES, Lifecycle
from tests.simulation.world.functions import TIMEOUTS_S, Fleet
from tests.simulation.world.scheduler import START
from tests.simulation.world.weather import Boundaries

BY_NAME = {life.name: life for life in LIFECYCLES}
lives = pytest.mark.parametrize("life", LIFECYCLES, ids=lambda life: life.name)


@pytest.fixture(scope="module")
def pool() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as made:
        yield made


@pytest.fixture(scope="module")
def counts(pool: Executor) -> dict[str, Count]:
    """All lives tried at once, by two processes."""
    return {count.name: count for count in explore(list(BY_NAME), pool, SHORT)}


@lives
def test_a_life_in_which_nothing_crashes_ends_as_it_should(life: Lifecycle) -> None:
    lived = life.live(Boundaries({}), Fleet())
    assert tuple(job.state for job in lived.town.table.jobs.values()) == life.ends
    assert all(count == 1 for count in lived.town.ledger.charges.values())


@lives
def test_no_crash_and_no_pair_of_crashes_breaks_an_invariant(life: Lifecycle, counts: dict[str, Count]) -> None:
    count = counts[life.name]
    assert not count.failures, "\n".join(map(str, count.failures[:3]))
    assert count.kills == len(distinct(boundaries(life.name)))
    assert count.faults > count.boundaries // 6
    assert count.pairs > 5


def test_both_results_of_a_resubmitted_job_are_known() -> None:
    """The second charge was a person's choice, and a person is told of it."""
    lived = BY_NAME["resubmitted, both succeed"].live(Boundaries({}), Fleet())
    (job,) = lived.town.table.jobs.values()
    assert len(lived.town.ledger.accepted) == 2
    assert len(job.findings) == 1
    assert {job.provider_job_id, job.findings[0].provider_job_id} >= {"p0001"}


def test_a_slot_of_a_job_of_unknown_fate_lapses_and_the_next_job_goes() -> None:
    """Nobody has answered yet: the person takes longer than any job of this provider runs."""
    lived = BY_NAME["slot lapses"].live(Boundaries({}), Fleet())
    lost, next_one = (lived.town.table.jobs[job_id] for job_id in lived.jobs)
    assert next_one.published_at is not None
    assert lost.published_at is not None
    assert START + 180_000 < next_one.published_at < START + 290_000 < lost.published_at


def test_the_points_lie_at_every_port_of_every_function() -> None:
    """A call that is not counted is a crash that is not tried."""
    passed = {(one.function, one.call.partition(".")[0]) for name in BY_NAME for one in boundaries(name)}
    assert {function for function, _ in passed} == set(TIMEOUTS_S)
    assert {port for _, port in passed} == {"store", "once", "queues", "topic", "live", "objects", "http"}
    assert {"http.submit", "http.get", "http.stream"} <= {one.call for one in boundaries("expired link")}
    assert "on the wire" in {one.side for one in boundaries("webhook")}


def test_of_two_points_that_leave_the_same_world_behind_one_is_taken() -> None:
    passed = boundaries("webhook")
    numbers = set(distinct(passed))
    left_out = [passed[number - 1] for number in range(1, len(passed) + 1) if number not in numbers]
    assert {one.side for one in left_out} == {"before"}
    assert len(passed) / 2 < len(numbers) < len(passed) * 2 / 3


def test_a_failing_point_is_named_with_the_command_that_runs_it_again() -> None:
    """A life that may not ask a person, and must: the report says where and how to see it."""
    strict = Count("ambiguous without key")
    run(strict, {1: "kill"})
    assert strict.failures == []
    number = next(at for at, one in enumerate(boundaries("never started"), start=1) if one.side == "on the wire")
    asks = Count("never started")
    run(asks, {number: "kill"})
    assert (asks.asked, asks.failures) == (1, [])


def test_a_long_result_whose_run_was_killed_late_is_gone_on_with_and_read_back() -> None:
    """Killed while it wrote its last piece: only the rest is asked for, and the whole is read before it is recorded."""
    quiet = [one.call for one in boundaries("long result")]
    late = len(quiet) - quiet[::-1].index("objects.write")
    count = Count("long result")
    calls = [one.call for one in run(count, {late: "kill"})]
    assert count.failures == []
    assert {"store.transfers", "objects.resume", "objects.read"} <= set(calls)
    assert calls.count("objects.write") < 2 * quiet.count("objects.write")
