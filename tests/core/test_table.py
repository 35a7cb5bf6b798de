"""The table itself: nothing falls through it, every row of the protocol is in it, and no row breaks the ranks."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import get_args

import pytest

from mediajobs.jobs.decide import TABLE, WORDS, rows
from mediajobs.jobs.events import Event
from mediajobs.jobs.rules import Rule, always
from mediajobs.jobs.states import HOLDS_SLOT, OPEN, PUBLIC_STATUS, RANK, TERMINAL, State

EVENTS: tuple[type[Event], ...] = get_args(Event)
PAIRS = [(state, event) for state in State for event in EVENTS]


@pytest.mark.parametrize(("state", "event"), PAIRS, ids=lambda value: getattr(value, "__name__", str(value)))
def test_every_state_and_event_ends_in_a_row_without_a_guard(state: State, event: type[Event]) -> None:
    asked = rows(state, event)
    assert asked[-1].guard is always
    assert all(rule.guard is not always for rule in asked[:-1]), "a row behind an unconditional one is never asked"


def test_every_row_of_the_protocol_is_in_the_table() -> None:
    numbers = {int(re.match(r"\d+", rule.row)[0]) for rule in TABLE}  # type: ignore[index]
    assert numbers >= set(range(1, 44))


def test_row_names_are_unique() -> None:
    names = [rule.row for rule in TABLE]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("rule", TABLE, ids=lambda rule: rule.row)
def test_a_row_either_changes_the_job_or_says_why_not(rule: Rule) -> None:
    assert (rule.effect is None) == (rule.why is not None)
    assert rule.says
    assert set(rule.words) <= set(WORDS)


@pytest.mark.parametrize("rule", [rule for rule in TABLE if rule.to], ids=lambda rule: rule.row)
def test_a_transition_raises_the_rank_from_every_state_it_starts_from(rule: Rule) -> None:
    assert rule.to is not None
    assert all(RANK[rule.to] > RANK[state] for state in rule.states)


def test_only_two_states_can_hold_a_slot_and_three_are_terminal() -> None:
    assert frozenset({State.SUBMITTING, State.RUNNING}) == HOLDS_SLOT
    assert set(State) == TERMINAL | OPEN
    assert {RANK[state] for state in TERMINAL} == {4}
    assert set(PUBLIC_STATUS) == set(State)


def test_failed_has_exactly_five_sources() -> None:
    """Deadline, rejected, the provider's word, a person, invalid media: no other row may fail a job."""
    numbers = {re.match(r"\d+", rule.row)[0] for rule in TABLE if rule.to is State.FAILED}  # type: ignore[index]
    assert numbers == {"3", "5", "10", "17", "24", "23", "40", "31"}


def test_canceled_comes_from_the_caller_before_acceptance_or_from_the_provider() -> None:
    numbers = {re.match(r"\d+", rule.row)[0] for rule in TABLE if rule.to is State.CANCELED}  # type: ignore[index]
    assert numbers == {"2", "5", "8", "17", "24"}


def test_every_row_of_the_table_has_an_example() -> None:
    """Rows named in an `expect` of this folder, against the rows that there are."""
    named: set[str] = set()
    for path in Path(__file__).parent.glob("test_row*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "expect":
                assert isinstance(node.args[0], ast.Constant)
                named.add(str(node.args[0].value))
    assert named == {rule.row for rule in TABLE}
