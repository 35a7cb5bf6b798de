"""Transfers within one run: what broke goes on where it broke, or not at all; several at once."""

from __future__ import annotations

import threading

import pytest

from mediajobs.errors import NoAnswer, Throttled
from mediajobs.jobs.events import Status
from mediajobs.jobs.model import Link, Transfer
from mediajobs.messages import LinkRules, Rest
from mediajobs.steps.store import store
from tests import samples
from tests.steps.downloads import FILM, NINE_TENTHS, OTHER, PART, URL, Files, Serving, staged, whole


def test_a_broken_transfer_goes_on_where_it_broke_in_the_same_run() -> None:
    """With all that was checked so far: nothing is read twice, nothing counted as a failure."""
    files = Files({URL: FILM}, breaks=[(NINE_TENTHS, NoAnswer("reset")), (NINE_TENTHS + 5, NoAnswer("reset"))])
    stage = staged(files)
    job = stage.storing(URL)
    assert store(stage.world, job.id) == "30"
    assert files.starts == [0, NINE_TENTHS, NINE_TENTHS + 5]
    assert files.asked[1].validator == '"v1"'
    assert stage.read(job).failures == 0
    whole(stage, job)


def test_a_body_that_just_ends_too_soon_is_gone_on_with_too() -> None:
    files = Files({URL: FILM}, breaks=[(NINE_TENTHS, None)])
    stage = staged(files)
    job = stage.storing(URL)
    assert store(stage.world, job.id) == "30"
    whole(stage, job)


@pytest.mark.parametrize(
    "headers",
    [{"etag": 'W/"v1"'}, {"etag": ""}, {"etag": "v1"}, {"accept-ranges": "none"}, {"content-length": ""}],
    ids=str,
)
def test_without_a_promise_that_it_is_the_same_file_it_starts_again_later(headers: dict[str, str]) -> None:
    """A weak tag promises nothing about single bytes."""
    files = Files({URL: FILM}, breaks=[(NINE_TENTHS, NoAnswer("reset"))], headers=headers)
    stage = staged(files)
    job = stage.storing(URL)
    assert store(stage.world, job.id) == "failed: Retryable"
    assert files.starts == [0]
    assert (stage.objects.stored, stage.objects.open) == ({}, [])
    assert store(stage.world, job.id) == "30"
    assert files.starts == [0, 0]
    whole(stage, job)


def test_another_file_in_its_place_is_taken_whole_from_its_start() -> None:
    """If-Range: the server answers the whole of what it has now."""
    files = Files({URL: FILM}, breaks=[(NINE_TENTHS, NoAnswer("reset"))])
    stage = staged(files)
    job = stage.storing(URL)

    def change() -> None:
        if files.starts == [0]:
            files.tag, files.bodies[URL] = '"v2"', OTHER

    files.breaks = [(NINE_TENTHS, NoAnswer("reset"))]
    files.pieces = change
    assert store(stage.world, job.id) == "30"
    whole(stage, job, OTHER)


@pytest.mark.parametrize(
    "told",
    [
        {"content-range": f"bytes 0-{len(FILM) - 1}/{len(FILM)}"},
        {"content-range": f"bytes {NINE_TENTHS}-{len(FILM) - 1}/*"},
        {"content-range": f"bytes {NINE_TENTHS}-{len(FILM)}/{len(FILM) + 1}"},
        {"content-range": ""},
        {"etag": '"v2"'},
        {"content-encoding": "gzip"},
    ],
    ids=str,
)
def test_a_rest_that_is_not_the_one_asked_for_is_never_joined(told: dict[str, str]) -> None:
    files = Files({URL: FILM}, breaks=[(NINE_TENTHS, NoAnswer("reset"))])
    stage = staged(files)
    job = stage.storing(URL)
    original = files.stream

    def lying(url: str, headers: dict[str, str], rules: LinkRules, rest: Rest | None = None) -> Serving:
        serving = original(url, headers, rules, rest)
        serving.headers |= told if rest and rest.start else {}
        return serving

    files.stream = lying  # type: ignore[method-assign]
    assert store(stage.world, job.id) == "failed: Retryable"
    assert (stage.objects.stored, stage.objects.open) == ({}, [])


def test_a_server_that_breaks_off_each_time_is_asked_a_few_times_a_run() -> None:
    """And then, counted on the job, again later; five runs, and a person is asked."""
    files = Files({URL: FILM}, breaks=[(500 + number, NoAnswer("reset")) for number in range(100)])
    stage = staged(files)
    job = stage.storing(URL)
    assert store(stage.world, job.id) == "failed: Retryable"
    assert len(files.asked) == 6
    assert stage.objects.open == []
    for _ in range(4):
        store(stage.world, job.id)
    assert stage.reason(job) == "dead_letter"


def test_a_note_that_another_run_keeps_is_asked_for_once() -> None:
    """At each piece, a twin of a long download would be billed for thousands of refused writes."""
    stage = staged(Files({URL: FILM}))
    job = stage.storing(URL)
    asked: list[Transfer] = []

    def kept_by_another(job_id: str, transfer: Transfer, ttl: int, *, owner: str | None) -> bool:
        assert (job_id, owner) == (job.id, None), ttl
        asked.append(transfer)
        return False

    stage.store.save_transfer = kept_by_another  # type: ignore[method-assign]
    assert store(stage.world, job.id) == "30"
    assert len(asked) == 1
    whole(stage, job)


def test_an_upload_whose_note_could_not_be_kept_is_dropped() -> None:
    """No other run can find its parts."""
    stage = staged(Files({URL: FILM}))
    job = stage.storing(URL)

    def throttled(*_: object, **__: object) -> bool:
        raise Throttled("put_item")

    stage.store.save_transfer = throttled  # type: ignore[method-assign]
    assert store(stage.world, job.id) == "failed: Throttled"
    assert stage.objects.open == []


def test_a_link_that_ends_before_the_file_is_whole_is_refreshed_and_not_asked_again() -> None:
    files = Files({URL: FILM}, breaks=[(NINE_TENTHS, NoAnswer("reset"))])
    stage = staged(files)
    job = stage.running()
    stage.say(job, Status.SUCCEEDED, links=(Link(url=URL, expires_at=stage.clock.now() + 60_000),))
    files.pieces = lambda: stage.clock.advance(1)
    stage.sim.says("poll", Status.SUCCEEDED, links=(Link(url=URL + "?sig=2"),))
    assert store(stage.world, job.id) == "30"
    assert files.starts == [0, NINE_TENTHS // PART * PART]
    whole(stage, job)


def test_a_run_that_has_no_time_left_starts_nothing() -> None:
    """Each request ends with the run, and is told how long it may take."""
    files = Files({URL: FILM}, breaks=[(NINE_TENTHS, NoAnswer("reset"))])
    stage = staged(files)
    job = stage.storing(URL)
    files.pieces = lambda: stage.clock.advance(7)
    assert store(stage.world, job.id) == "failed: Retryable"
    assert [rest.seconds for rest in files.asked] == [830.0]


# -- several at once


def urls(count: int) -> list[str]:
    return [f"https://cdn.example/{number}.mp4" for number in range(count)]


def test_several_outputs_come_at_once_within_the_bound_and_keep_their_order() -> None:
    """Three at a time hold three parts of memory, however many there are."""
    files = Files({url: samples.mp4(filling=5000 + number) for number, url in enumerate(urls(7))})
    stage = staged(files)
    together = threading.Barrier(3, timeout=30)
    at_work: set[int] = set()
    most: list[int] = []

    def piece() -> None:
        at_work.add(threading.get_ident())
        most.append(len(at_work))
        if len(files.asked) <= 3 and len(most) <= 3:
            together.wait()  # passes only where three are under way

    files.pieces = piece
    job = stage.storing(*urls(7))
    assert store(stage.world, job.id, workers=3) == "30"
    outputs = stage.read(job).outputs
    assert [output.size for output in outputs] == [len(body) for body in files.bodies.values()]
    assert max(most) == 3


def test_when_one_fails_the_others_stop_and_nothing_is_kept() -> None:
    """All or none, and no byte more than needed for none."""
    bodies = dict.fromkeys(urls(3), FILM)
    files = Files({**bodies, urls(3)[1]: b"<html>sign in</html>" * 100})
    stage = staged(files, note_bytes=10**9)
    failed = threading.Event()
    pieces: list[int] = []

    def piece() -> None:
        pieces.append(1)
        if len(pieces) > 10:  # the others wait here until the page has been refused
            failed.wait(0.01)

    files.pieces = piece
    job = stage.storing(*urls(3))
    stage.sim.says("poll", Status.SUCCEEDED, links=tuple(Link(url=url) for url in urls(3)))
    assert store(stage.world, job.id, workers=3) == "31"
    assert (stage.objects.stored, stage.objects.open) == ({}, [])
    assert len(pieces) < 2 * 3 * len(FILM) // 700
