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
FEWEST_STATES = 400  # a model that reaches fewer looks at nothing

# These need worlds larger than the short models are.
BEYOND = {"a decision names no question", "evidence after a lapse takes no slot again"}


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


@pytest.mark.parametrize("name", [wrong.name for wrong in WRONGS if wrong.name not in BEYOND])
def test_a_wrong_reading_of_the_rules_is_caught(name: str, results: dict[str, Future[Result]]) -> None:
    assert results[name].result().violation is not None


def test_the_way_to_a_violation_is_told_in_words() -> None:
    result = session.explore_wrong("cancel ends a running job at once")
    assert result.violation is not None
    assert result.violation.startswith("7: job 0 says canceled")
    assert any("accepted as p0" in line for line in result.trace)
    assert "writes row wrong" in result.trace[-1]
