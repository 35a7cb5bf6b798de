"""Every order of events in a bounded world, short form: no invariant breaks, and each wrong reading of the rules does.

The long form is `python -m tests.simulation.explore --long`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from mediajobs.jobs.decide import TABLE
from tests.simulation.explore import session
from tests.simulation.explore.explorer import Result
from tests.simulation.explore.models import MODELS
from tests.simulation.explore.wrongs import WRONGS

NAMES = [model.name for model in MODELS]
FEWEST_STATES = 100  # a model that reaches fewer looks at nothing

# Rows that change nothing and that no model makes speak, and why; `tests/core` plays each.
ELSEWHERE = {
    "12c": "the provider says absent while the job goes on by its webhook: in the long form",
    "12e": "an id that another job has, found while the job goes on by its webhook",
    "18z": "a word about a job that was never sent",
    "30y": "stored, and the job was not storing: no state leads back",
    "35y": "published, and the job has not ended: no state leads back",
    "42x": "a person acknowledges what was never found",
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
    allowed = {kind for kind, times in session.named(name).left.items() if times}
    assert result.spent == allowed, "what a model allows and nothing makes happen is not explored"


@pytest.mark.parametrize("name", [wrong.name for wrong in WRONGS])
def test_a_wrong_reading_of_the_rules_is_caught(name: str, results: dict[str, Future[Result]]) -> None:
    assert results[name].result().violation is not None


def test_every_row_of_the_table_has_spoken(results: dict[str, Future[Result]]) -> None:
    """What the explorer never makes happen it says nothing about. Every row that writes has spoken."""
    assert sorted(session.silent(results[name].result() for name in NAMES)) == sorted(ELSEWHERE)
    assert not {rule.row for rule in TABLE if rule.effect is not None} & set(ELSEWHERE)


def test_the_page_has_every_model_with_what_it_says() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "simulation.md").read_text()
    rows = re.findall(r"^\| ([a-z ]+) \| (.+) \|$", page, re.MULTILINE)
    assert rows[1:] == [(model.name, model.says) for model in MODELS]


def test_the_way_to_a_violation_is_told_in_words() -> None:
    result = session.explore_wrong("cancel ends a running job at once")
    assert result.violation is not None
    assert result.violation.startswith("7: job 0 says canceled")
    assert any("accepted as p0" in line for line in result.trace)
    assert "writes row wrong" in result.trace[-1]
