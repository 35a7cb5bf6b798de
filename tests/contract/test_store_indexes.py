"""Contract of `ports.Store`: who waits, what is due, lists; every one of them over several pages."""

from __future__ import annotations

import base64

import pytest

from mediajobs.errors import BadRequest
from mediajobs.jobs.model import Attention, Job, due_shard
from mediajobs.jobs.states import Reason
from mediajobs.messages import Created, Page, Written
from mediajobs.ports import Store
from tests.fakes.jobs import NOW, a_job, changed


def put(store: Store, key: str, **fields: object) -> Job:
    created = store.create(a_job(key, **fields))
    assert isinstance(created, Created)
    return created.job


def all_pages(store: Store, tenant: str | None, most: int) -> list[tuple[str, ...]]:
    pages, cursor = [], None
    while True:
        page = store.list_attention(most, cursor) if tenant is None else store.list_jobs(tenant, most, cursor)
        pages.append(page.ids)
        cursor = page.cursor
        if cursor is None:
            return pages


def test_waiting_jobs_come_in_turn(store: Store) -> None:
    places = ["00000002#1#a", "00000001#9#b", "00000001#1#c", "00000010#0#d", "00000003#5#e"]
    jobs = {place: put(store, place, wait=place) for place in places}
    put(store, "elsewhere", wait="00000000#0#x", provider="sim-nokey")
    put(store, "not waiting")
    assert store.waiting("sim", 10) == tuple(jobs[place].id for place in sorted(places))
    assert store.waiting("sim", 2) == tuple(jobs[place].id for place in sorted(places)[:2])
    assert store.waiting("sim", 0) == ()
    assert store.waiting("unused", 5) == ()


def test_a_job_that_left_the_waiting_room_is_not_in_it(store: Store) -> None:
    job = put(store, "first", wait="00000001#1#a")
    assert store.waiting("sim", 1) == (job.id,)
    assert isinstance(store.write(changed(job, wait=None)), Written)
    assert store.waiting("sim", 1) == ()


def test_due_jobs_of_every_shard_and_page_come_oldest_first(store: Store) -> None:
    jobs = [put(store, f"key-{number}", due_at=NOW + (number * 7) % 60) for number in range(60)]
    assert {due_shard(job.id) for job in jobs} == {str(shard) for shard in range(8)}
    expected = sorted((job.due_at, job.id) for job in jobs if job.due_at is not None)
    found = list(store.due(NOW + 100))
    assert [due for due, _ in found] == [due for due, _ in expected]
    assert sorted(found) == expected


def test_due_includes_the_moment_itself_and_nothing_later(store: Store) -> None:
    put(store, "later", due_at=NOW + 1)
    put(store, "never")
    now = put(store, "now", due_at=NOW)
    before = put(store, "before", due_at=NOW - 1)
    assert list(store.due(NOW)) == [(NOW - 1, before.id), (NOW, now.id)]


def test_a_due_time_that_was_moved_or_removed_is_followed(store: Store) -> None:
    job = put(store, "first", due_at=NOW)
    moved = store.write(changed(job, due_at=NOW + 5))
    assert isinstance(moved, Written)
    assert list(store.due(NOW)) == []
    assert list(store.due(NOW + 5)) == [(NOW + 5, job.id)]
    assert isinstance(store.write(changed(moved.job, due_at=None)), Written)
    assert list(store.due(NOW + 10**9)) == []


def test_list_shows_a_tenants_jobs_newest_first_on_pages(store: Store) -> None:
    jobs = [put(store, f"key-{number}", created_at=NOW + number) for number in range(10)]
    put(store, "foreign", tenant="globex", created_at=NOW + 3)
    newest = [job.id for job in reversed(jobs)]
    pages = all_pages(store, "acme", 4)
    assert [len(page) for page in pages] == [4, 4, 2]
    assert [job_id for page in pages for job_id in page] == newest
    assert store.list_jobs("nobody", 4, None) == Page(ids=(), cursor=None)


def test_list_that_ends_with_a_full_page_has_no_cursor(store: Store) -> None:
    for number in range(4):
        put(store, f"key-{number}", created_at=NOW + number)
    assert store.list_jobs("acme", 4, None).cursor is None
    assert store.list_jobs("acme", 5, None).cursor is None
    assert store.list_jobs("acme", 3, None).cursor is not None


def test_jobs_that_come_while_a_list_is_read_do_not_shift_its_pages(store: Store) -> None:
    old = [put(store, f"key-{number}", created_at=NOW + number) for number in range(4)]
    first = store.list_jobs("acme", 2, None)
    put(store, "new", created_at=NOW + 100)
    second = store.list_jobs("acme", 2, first.cursor)
    assert first.ids + second.ids == tuple(job.id for job in reversed(old))


def test_a_cursor_of_another_tenant_shows_nothing_of_theirs(store: Store) -> None:
    """It says where a list goes on, never whose list that is."""
    theirs = [put(store, f"key-{number}", created_at=NOW + number).id for number in range(4)]
    own = put(store, "own", tenant="globex", created_at=NOW)
    cursor = store.list_jobs("acme", 1, None).cursor
    assert cursor is not None
    shown = store.list_jobs("globex", 5, cursor).ids
    assert set(shown) <= {own.id}
    assert set(store.list_jobs("acme", 5, cursor).ids) == set(theirs[:3])


def test_attention_shows_open_questions_of_all_tenants_once_each(store: Store) -> None:
    jobs = [
        put(
            store,
            f"key-{number}",
            tenant=f"tenant-{number % 3}",
            attention=Attention(reason=Reason.OVERDUE, since=NOW - number, version=1, evidence=""),
        )
        for number in range(20)
    ]
    put(store, "calm")
    expected = sorted(jobs, key=lambda job: (due_shard(job.id), job.attention.since if job.attention else 0))
    pages = all_pages(store, None, 3)
    assert [len(page) for page in pages] == [3, 3, 3, 3, 3, 3, 2]
    assert [job_id for page in pages for job_id in page] == [job.id for job in expected]
    assert store.list_attention(100, None) == Page(ids=tuple(job.id for job in expected), cursor=None)


def test_an_answered_question_leaves_the_attention_list(store: Store) -> None:
    question = Attention(reason=Reason.OVERDUE, since=NOW, version=1, evidence="")
    job = put(store, "first", attention=question)
    assert store.list_attention(5, None).ids == (job.id,)
    assert isinstance(store.write(changed(job, attention=None)), Written)
    assert store.list_attention(5, None).ids == ()


@pytest.mark.parametrize("text", ["a" * 1001, "é" * 501])
def test_a_cursor_longer_than_any_key_is_a_bad_request(store: Store, text: str) -> None:
    """In bytes, as DynamoDB counts: it would refuse the query, and the caller be told that we failed."""
    cursor = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
    with pytest.raises(BadRequest, match="cursor"):
        store.list_jobs("acme", 5, cursor)


@pytest.mark.parametrize("cursor", ["", "x", "%%%", "Zm9v!", "8J-YgA==x", "//8", "a" * 5000])
def test_a_cursor_that_no_list_gave_out_is_a_bad_request(store: Store, cursor: str) -> None:
    with pytest.raises(BadRequest, match="cursor"):
        store.list_attention(5, cursor)
    with pytest.raises(BadRequest, match="cursor"):
        store.list_jobs("acme", 5, cursor)
