"""Contract of `ports.Store`: a provider's pause, the rounds of its waiting room, and ids that are taken."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from mediajobs.pauses import Pause, PauseReason, Provider
from mediajobs.ports import Store
from tests.contract.conftest import World
from tests.fakes.jobs import NOW

BLOCKED = Pause(reason=PauseReason.BLOCKED, until=NOW, step=2, bad=3, limit=4, note="402 Payment Required")


def test_a_provider_nobody_wrote_of_is_well(store: Store) -> None:
    assert store.provider("sim") == Provider(name="sim")


def test_pause_comes_back_as_saved_with_its_revision_raised(store: Store) -> None:
    assert store.save_pause("sim", Pause(), BLOCKED)
    assert store.provider("sim").pause == replace(BLOCKED, revision=1)
    assert store.provider("sim").held == ()


def test_pause_is_saved_only_over_the_revision_that_was_read(store: Store) -> None:
    read = store.provider("sim").pause
    assert store.save_pause("sim", read, BLOCKED)
    assert not store.save_pause("sim", read, Pause())
    assert store.provider("sim").pause == replace(BLOCKED, revision=1)
    read = store.provider("sim").pause
    assert store.save_pause("sim", read, replace(BLOCKED, step=1))
    assert not store.save_pause("sim", read, Pause())
    assert store.provider("sim").pause == replace(BLOCKED, step=1, revision=2)


def test_pause_that_ended_has_nothing_left_but_its_revision(store: Store) -> None:
    assert store.save_pause("sim", Pause(), BLOCKED)
    assert store.save_pause("sim", store.provider("sim").pause, Pause())
    assert store.provider("sim").pause == Pause(revision=2)


def test_pause_that_was_resent_is_recognised_as_our_own(world: World) -> None:
    world.resend_next_write()
    assert world.store.save_pause("sim", Pause(), BLOCKED)
    assert world.store.provider("sim").pause.revision == 1


def test_the_same_pause_saved_by_a_twin_is_not_taken_for_our_own(store: Store) -> None:
    """Two dispatchers that take the probe's lease in the same millisecond: only one goes."""
    assert store.save_pause("sim", Pause(), BLOCKED)
    assert not store.save_pause("sim", Pause(), BLOCKED)


def test_pause_is_saved_by_one_of_many_at_once(store: Store) -> None:
    with ThreadPoolExecutor(8) as pool:
        saved = list(pool.map(lambda _: store.save_pause("sim", Pause(), BLOCKED), range(8)))
    assert saved.count(True) == 1


def test_round_is_raised_and_never_lowered(store: Store) -> None:
    store.raise_round("sim", 3)
    assert store.provider("sim").round == 3
    store.raise_round("sim", 2)
    assert store.provider("sim").round == 3


def test_round_and_pause_do_not_disturb_each_other(store: Store) -> None:
    store.raise_round("sim", 3)
    assert store.save_pause("sim", Pause(), BLOCKED)
    store.raise_round("sim", 4)
    assert store.save_pause("sim", store.provider("sim").pause, Pause(limit=1))
    assert store.provider("sim") == Provider(name="sim", pause=Pause(limit=1, revision=2), round=4)


@pytest.mark.parametrize("present", [0, 1, 7])
def test_the_first_turn_of_a_tenant_is_the_present_round(store: Store, present: int) -> None:
    assert store.next_turn("sim", "acme", present) == present


def test_the_next_turn_is_one_later_each_time(store: Store) -> None:
    assert [store.next_turn("sim", "acme", 5) for _ in range(3)] == [5, 6, 7]


def test_the_next_turn_is_never_before_the_present_round(store: Store) -> None:
    assert [store.next_turn("sim", "acme", present) for present in (0, 1, 2, 9, 9, 4)] == [0, 1, 2, 9, 10, 11]


def test_turns_are_counted_per_tenant_and_provider(store: Store) -> None:
    for _ in range(3):
        store.next_turn("sim", "acme", 0)
    assert store.next_turn("sim", "globex", 0) == 0
    assert store.next_turn("sim-nokey", "acme", 0) == 0


def test_turns_taken_at_once_are_all_different(store: Store) -> None:
    with ThreadPoolExecutor(4) as pool:
        turns = list(pool.map(lambda _: store.next_turn("sim", "acme", 3), range(16)))
    assert sorted(turns) == list(range(3, 19))


def test_a_turn_given_back_is_taken_again(store: Store) -> None:
    assert [store.next_turn("sim", "acme", 0) for _ in range(2)] == [0, 1]
    store.give_back_turn("sim", "acme")
    assert store.next_turn("sim", "acme", 0) == 1
    store.give_back_turn("sim", "acme")
    store.give_back_turn("sim", "acme")
    assert store.next_turn("sim", "acme", 0) == 0


def test_a_turn_given_back_by_a_tenant_that_had_none_changes_nothing(store: Store) -> None:
    store.give_back_turn("sim", "acme")
    assert store.next_turn("sim", "acme", 2) == 2


def test_a_provider_job_id_belongs_to_the_first_job_that_bound_it(store: Store) -> None:
    assert store.bound("sim", "pj-1") is None
    assert store.bind("sim", "pj-1", "job-a") == "job-a"
    assert store.bind("sim", "pj-1", "job-a") == "job-a"
    assert store.bind("sim", "pj-1", "job-b") == "job-a"
    assert store.bound("sim", "pj-1") == "job-a"


def test_the_same_id_at_another_provider_is_another_id(store: Store) -> None:
    assert store.bind("sim", "pj-1", "job-a") == "job-a"
    assert store.bind("sim-nokey", "pj-1", "job-b") == "job-b"


def test_a_provider_job_id_is_bound_by_one_of_many_at_once(store: Store) -> None:
    with ThreadPoolExecutor(8) as pool:
        holders = set(pool.map(lambda number: store.bind("sim", "pj-1", f"job-{number}"), range(8)))
    assert holders == {store.bound("sim", "pj-1")}
