"""Contract of `ports.Store`: progress, events that changed nothing, grace times, API keys."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from mediajobs.jobs.model import Transfer
from mediajobs.messages import Progress
from mediajobs.ports import Store
from tests.contract.conftest import World
from tests.fakes.jobs import NOW

TTL = NOW // 1000 + 86_400


def save(store: Store, percent: int, at: int, stage: str | None = None) -> bool:
    return store.save_progress("job-a", Progress(percent=percent, at=at, stage=stage), TTL, every_ms=1000)


def test_progress_comes_back_as_saved(store: Store) -> None:
    assert store.progress("job-a") is None
    assert save(store, 10, NOW, "rendering")
    assert store.progress("job-a") == Progress(percent=10, at=NOW, stage="rendering")
    assert store.progress("job-b") is None


def test_progress_never_goes_back(store: Store) -> None:
    assert save(store, 50, NOW)
    assert not save(store, 49, NOW + 5000)
    assert store.progress("job-a") == Progress(percent=50, at=NOW)


def test_progress_is_kept_once_a_second_at_most(store: Store) -> None:
    assert save(store, 10, NOW)
    assert not save(store, 20, NOW + 999)
    assert save(store, 20, NOW + 1000)
    assert save(store, 20, NOW + 2000, "encoding")
    assert store.progress("job-a") == Progress(percent=20, at=NOW + 2000, stage="encoding")


def test_the_last_progress_is_kept_at_any_time_but_once(store: Store) -> None:
    assert save(store, 99, NOW)
    assert save(store, 100, NOW + 1)
    assert not save(store, 100, NOW + 5000)
    assert not save(store, 99, NOW + 5000)
    assert store.progress("job-a") == Progress(percent=100, at=NOW + 1)


def test_many_progress_events_at_once_make_one_write(store: Store) -> None:
    with ThreadPoolExecutor(8) as pool:
        saved = list(pool.map(lambda _: save(store, 10, NOW), range(8)))
    assert saved.count(True) == 1


def test_events_are_kept_in_order_up_to_twenty(store: Store) -> None:
    assert store.events("job-a") == ()
    for number in range(25):
        store.note_event("job-a", f"event-{number}", TTL)
    store.note_event("job-b", "other", TTL)
    assert store.events("job-a") == tuple(f"event-{number}" for number in range(20))
    assert store.events("job-b") == ("other",)


def test_first_seen_stays_what_it_was(store: Store) -> None:
    assert store.first_seen("sim.pj-1", NOW, TTL) == NOW
    assert store.first_seen("sim.pj-1", NOW + 5000, TTL) == NOW
    assert store.first_seen("sim.pj-2", NOW + 5000, TTL) == NOW + 5000


@pytest.mark.parametrize("scope", ["user", "operator"])
def test_an_api_key_names_its_tenant_and_scope(world: World, scope: str) -> None:
    store = world.store
    assert store.api_key("ab" * 32) is None
    store.put_api_key("ab" * 32, "acme", scope)  # type: ignore[attr-defined]  # not a verb of the steps
    assert store.api_key("ab" * 32) == ("acme", scope)
    assert store.api_key("cd" * 32) is None


def transfer(number: int = 0, owner: str = "run-1", lease_until: int = NOW) -> Transfer:
    return Transfer(
        number=number,
        key=f"results/a/{number}",
        upload_id="u" * 200,
        address="https://cdn.example/a.mp4",
        validator='"v1"',
        length=2**31,
        created=NOW,
        owner=owner,
        lease_until=lease_until,
        attempts=2,
        received=2**30,
    )


def test_long_downloads_come_back_as_noted_by_output(store: Store) -> None:
    assert store.transfers("job-a") == ()
    for number in (10, 2, 0):
        assert store.save_transfer("job-a", transfer(number), TTL, owner=None)
    assert store.transfers("job-a") == (transfer(0), transfer(2), transfer(10))
    assert store.transfers("job-b") == ()


def test_a_long_download_changes_hands_once(store: Store) -> None:
    """Of two runs that would take it over, one has it; one that never was noted belongs to nobody."""
    assert store.save_transfer("job-a", transfer(), TTL, owner=None)
    assert not store.save_transfer("job-a", transfer(owner="run-2"), TTL, owner=None)
    assert store.save_transfer("job-a", transfer(owner="run-2"), TTL, owner="run-1")
    assert not store.save_transfer("job-a", transfer(owner="run-3"), TTL, owner="run-1")
    assert store.save_transfer("job-a", transfer(owner="run-2", lease_until=0), TTL, owner="run-1")  # resent
    assert store.transfers("job-a") == (transfer(owner="run-2", lease_until=0),)
    assert not store.save_transfer("job-b", transfer(), TTL, owner="run-1")
