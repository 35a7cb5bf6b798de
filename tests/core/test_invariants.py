"""Any sequence, repetition and order of what can happen keeps the invariants, whatever the provider is like.

A failure prints the whole trail and what Hypothesis needs to play it again; `HYPOTHESIS_PROFILE=search` looks further.
`world.py` knows the truth at the provider, `moves.py` what can happen; each write is checked by `life.check`.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from mediajobs.jobs.decide import TABLE
from mediajobs.jobs.states import State
from tests.core.moves import step
from tests.core.world import World, traits

WORLDS = st.fixed_dictionaries(
    {
        "idempotent": st.booleans(),
        "lookup": st.booleans(),
        "cancel": st.booleans(),
        "webhooks": st.booleans(),
        "key_life_s": st.sampled_from([150, 400, 86_400]),
    }
)


def check_home(world: World) -> None:
    """After the last fault every job is published or shows a question (invariants 3 and 6)."""
    world.recover()
    for job in world.jobs:
        assert job.due_at is None or job.attention is not None, f"neither home nor asking: {job}"
        assert job.state is not State.SUBMITTING or job.attention is not None


@settings(max_examples=300)
@given(
    fields=WORLDS,
    limit=st.integers(1, 2),
    start_within_s=st.sampled_from([100, 600, 86_400]),
    choices=st.lists(st.integers(0, 10**6), max_size=45),
)
def test_no_sequence_breaks_an_invariant(
    fields: dict[str, Any], limit: int, start_within_s: int, choices: list[int]
) -> None:
    world = World(traits(**fields), limit, start_within_s)
    try:
        for choice in choices:
            step(world, choice)
            assert not world.violations()
        check_home(world)
    finally:
        for line in world.trail:
            note(line)


WALKS, LENGTH = 2400, 60


def walk(seed: int) -> World:
    """One long random life; the seed is all that is needed to play it again."""
    chance = random.Random(seed)
    fields = {name: chance.random() < 0.5 for name in ("idempotent", "lookup", "cancel", "webhooks")}
    given_traits = traits(key_life_s=chance.choice([150, 400, 86_400]), **fields)
    world = World(given_traits, chance.choice([1, 1, 2]), chance.choice([100, 600, 86_400, 86_400]))
    try:
        for _ in range(LENGTH):
            if all(job.published_at for job in world.jobs) and not world.wires:
                break
            step(world, chance.randrange(10**6))
            assert not world.violations()
        check_home(world)
    except AssertionError as error:
        pytest.fail(f"walk({seed}) with {given_traits}, limit {world.limit}: {error}\n" + "\n".join(world.trail[-40:]))
    return world


@pytest.mark.parametrize("part", range(4))
def test_long_walks_break_no_invariant(part: int) -> None:
    for seed in range(part * WALKS // 4, (part + 1) * WALKS // 4):
        walk(seed)


def test_the_walks_reach_nearly_every_row_of_the_table() -> None:
    """Walks that stop early prove nothing: this is how far they get."""
    seen: Counter[str] = Counter()
    for seed in range(400):
        seen.update(line.rsplit(" -> ", 1)[1] for line in walk(seed).trail if " -> " in line)
    # A table that was put back is tried in tests/simulation.
    never = {rule.row for rule in TABLE if not rule.row.startswith("45")} - set(seen)
    # A binding that clashes and unknown words (27u, and 25c that mends it) are not among the moves; the rest is rare.
    assert len(never - {"27u", "25c"}) <= 30, sorted(never)
