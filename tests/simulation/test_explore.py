"""Every order of events in a bounded world, short form: no invariant breaks, and each wrong reading of the rules does.

The long form is `python -m tests.simulation.explore --long`.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from tests.simulation.explore import session
from tests.simulation.explore.explorer import Result
from tests.simulation.explore.models import MODELS
from tests.simulation.explore.wrongs import WRONGS

NAMES = [model.name for model in MODELS]
FEWEST_STATES = 100  # a model that reaches fewer looks at nothing

# Rows that write and that no model makes speak, and why; `tests/core` plays each, the last two `test_restore.py` too.
ELSEWHERE = {
    "12d": "a lookup that finds another job's provider job: no provider here gives a wrong answer",
    "29p": "an answer that says where to ask: every job is asked for at the usual place",
    "39t": "a job that ended and whose publication failed five times: nothing fails that often",
    "41a": "a step of dispatch that fails by a fault of ours: here it dies, or is refused by the table",
    "45": "a table that was put back",
    "45s": "the same",
}


@pytest.fixture(scope="module")
def results() -> Iterator[dict[str, Future[Result]]]:
    """All explorations, begun at once on two cores."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        models = {name: pool.submit(session.explore, name) for name in NAMES}
        wrongs = {wrong.name: pool.submit(session.explore_wrong, wrong.name) for wrong in WRONGS}
        yield {**models, **wrongs}


@pytest.mark.parametrize("name", NAMES)
def test_no_order_of_events_breaks_an_invariant(name: str, results: dict[str, Future[Result]]) -> None:
    result = results[name].result()
    assert result.violation is None, "\n".join((str(result.violation), *result.trace))
    assert not result.cut
    assert result.states >= FEWEST_STATES


@pytest.mark.parametrize("name", [wrong.name for wrong in WRONGS])
def test_a_wrong_reading_of_the_rules_is_caught(name: str, results: dict[str, Future[Result]]) -> None:
    assert results[name].result().violation is not None


def test_every_row_that_writes_has_spoken(results: dict[str, Future[Result]]) -> None:
    """What the explorer never makes happen it says nothing about."""
    assert sorted(session.silent(results[name].result() for name in NAMES)) == sorted(ELSEWHERE)


def test_the_way_to_a_violation_is_told_in_words() -> None:
    result = session.explore_wrong("cancel ends a running job at once")
    assert result.violation is not None
    assert result.violation.startswith("7: job 0 says canceled")
    assert any("accepted as p0" in line for line in result.trace)
    assert "writes row wrong" in result.trace[-1]
