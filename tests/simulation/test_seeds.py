"""Some seeds at every test run; `python -m tests.simulation.seeds --seeds N` runs as many as one likes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.simulation import seeds
from tests.simulation.shrink import least, shrunk
from tests.simulation.simulation import Result, Simulation
from tests.simulation.storm import FAULTS, PROVIDERS, scene
from tests.simulation.world.functions import TIMEOUTS_S

SHORT = range(1, 81)
# Each of these by itself: that some answer is odd does not show that one was lost.
STRIKES = {
    *(f"kill_{function}" for function in (*TIMEOUTS_S, "wire")),
    *(f"answer_{kind}" for kind in ("302", "422", "429", "429_wait", "503", "503_accepted", "no_id", "not_sent")),
    *(f"{kind}_{port}" for kind in ("lost", "refused") for port in ("store", "http", "once", "queues")),
    *(f"queue_{kind}_{queue}" for kind in ("late", "twice", "undeleted") for queue in ("dispatch", "store")),
    *("stream_late", "stream_again", "tick_lost", "tick_again", "tick_twin", "webhook_late", "webhook_again"),
    *("answer_reset", "wire_slow", "wire_lost", "poll_404", "poll_500", "poll_reset", "lookup_late"),
    *("media_bad", "media_busy", "media_cut", "slow_dispatch", "conflict", "resent", "lag"),
}


@pytest.fixture(scope="module")
def results() -> list[Result]:
    return seeds.run(SHORT, workers=2)[0]


def test_no_seed_breaks_an_invariant(results: list[Result]) -> None:
    failed = [f"seed {result.seed}: {result.violation}" for result in results if result.violation]
    assert not failed, "\n".join(failed)


def test_the_seeds_are_stormy(results: list[Result]) -> None:
    """A simulation in which nothing goes wrong proves nothing."""
    struck = {name.partition("#")[0] for result in results for name in result.struck}
    assert {name.partition("_")[0] for name in struck} == {kind.partition("_")[0] for kind in FAULTS}
    assert struck >= STRIKES
    assert sum(result.crashes for result in results) > 5 * len(results)
    assert {name for seed in SHORT for name in scene(seed).names} == set(PROVIDERS)
    assert any(scene(seed).expires for seed in SHORT)
    assert sum(bool(result.converged_s) for result in results) > len(results) / 4, "the faults stop when all is over"


def test_the_same_seed_is_the_same_run() -> None:
    first, second = (Simulation(7) for _ in range(2))
    assert first.run() == second.run()
    assert first.town.log.text() == second.town.log.text()


def test_a_fault_that_is_left_out_leaves_the_others_where_they_are() -> None:
    whole = Simulation(7).run()
    kept = frozenset(whole.struck[:3])
    part = Simulation(7, only=kept).run()
    assert part.violation is None
    assert set(part.struck) <= kept


def test_a_seed_without_faults_and_with_one_job_is_a_quiet_one() -> None:
    result = Simulation(7, jobs=[0], only=frozenset({"-"})).run()
    assert (result.violation, result.faults, result.jobs) == (None, 0, 1)


def test_a_failing_seed_is_shrunk_to_what_matters() -> None:
    """It fails with job 2 and two of its faults, whatever else happens."""

    def simulate(seed: int, *, jobs: Sequence[int], only: frozenset[str]) -> Result:
        fails = 2 in jobs and {"kill_store#3", "lost_store#9"} <= only
        return replace(quiet, violation="I2 charged twice" if fails else None)

    quiet = Simulation(7, jobs=[0], only=frozenset({"-"})).run()
    struck = (*(f"lag#{number}" for number in range(40)), "kill_store#3", "lost_store#9")
    failed = replace(quiet, violation="I2 charged twice", numbers=(0, 1, 2, 3), struck=struck)
    text = shrunk(failed, simulate=simulate)
    assert "from 4 jobs and 42 faults to 1 and 2" in text
    assert text.endswith("--seed 7 --jobs 2 --faults kill_store#3,lost_store#9")


@pytest.mark.parametrize("needed", [set(), {0}, {9}, {3, 4}, {0, 5, 9}])
def test_least_leaves_out_all_that_can_be_left_out(needed: set[int]) -> None:
    assert set(least(list(range(10)), lambda some: needed <= set(some))) == needed
