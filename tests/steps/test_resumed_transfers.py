"""Transfers over several runs: the next one goes on with what the last one left, and not for ever."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mediajobs.errors import NoAnswer
from mediajobs.jobs.events import Decision, DecisionKind, Status
from mediajobs.jobs.model import Job, Link
from mediajobs.jobs.states import State
from mediajobs.steps.store import store
from mediajobs.steps.transfers import LEASE_MS, MOST_ATTEMPTS
from tests import samples
from tests.steps.downloads import FILM, NINE_TENTHS, OTHER, PART, URL, Files, staged, whole
from tests.steps.kit import Killed, Stage


def killed(stage: Stage) -> Job:
    """A run that was killed at nine tenths of the film."""
    assert isinstance(stage.world.http, Files)
    job = stage.storing(URL + "?sig=1")
    stage.world.http.breaks = [(NINE_TENTHS, Killed())]
    with pytest.raises(Killed):
        store(stage.world, job.id)
    assert stage.objects.stored == {}
    stage.world.http.asked.clear()
    return job


def test_a_run_killed_at_nine_tenths_is_gone_on_with_by_the_next() -> None:
    """Only the last tenth comes again. The digest is of the object as it stands in S3, read back whole."""
    files = Files({URL: FILM})
    stage = staged(files)
    job = killed(stage)
    stage.clock.advance(LEASE_MS / 1000)
    assert store(stage.world, job.id) == "30"
    assert files.starts == [NINE_TENTHS // PART * PART]
    whole(stage, job)


def test_while_the_first_run_may_live_another_leaves_it_alone() -> None:
    """Two runs that feed one upload, or download twice, help nobody."""
    files = Files({URL: FILM})
    stage = staged(files)
    job = killed(stage)
    stage.clock.advance(LEASE_MS / 1000 - 1)
    assert store(stage.world, job.id) == "another run is at it"
    assert files.asked == []
    assert stage.state(job) is State.STORING
    assert stage.read(job).failures == 0


def test_a_killed_run_that_had_all_bytes_asks_for_none() -> None:
    body = samples.mp4(filling=90_000)
    body = samples.mp4(filling=90_000 + (-len(body)) % PART)
    files = Files({URL: body})
    stage = staged(files)
    job = stage.storing(URL)
    files.breaks = [(len(body), Killed())]
    with pytest.raises(Killed):
        store(stage.world, job.id)
    files.asked.clear()
    stage.clock.advance(LEASE_MS / 1000)
    assert store(stage.world, job.id) == "30"
    assert files.asked == []
    whole(stage, job, body)


def killed_before_refusal(stage: Stage, files: Files) -> Job:
    files.refusing = 0
    job = killed(stage)
    files.refusing = 403
    stage.clock.advance(LEASE_MS / 1000)
    return job


def test_a_fresh_link_to_the_same_file_goes_on_with_it() -> None:
    """Its query differs; its path is the file."""
    files = Files({URL: FILM}, refusing=403)
    stage = staged(files)
    job = killed_before_refusal(stage, files)

    def serve_again(_: str) -> None:
        files.refusing = 0

    stage.sim.says("poll", Status.SUCCEEDED, links=(Link(url=URL + "?sig=2"),))
    stage.sim.during_ask = serve_again
    assert store(stage.world, job.id) == "30"
    assert files.starts[-1] == NINE_TENTHS // PART * PART
    whole(stage, job)


def test_a_fresh_link_to_another_place_starts_again_and_drops_what_was_there() -> None:
    files = Files({URL: FILM, "https://cdn.example/b.mp4": OTHER})
    stage = staged(files)
    job = killed_before_refusal(stage, files)

    def serve_again(_: str) -> None:
        files.refusing = 0

    stage.sim.says("poll", Status.SUCCEEDED, links=(Link(url="https://cdn.example/b.mp4?sig=2"),))
    stage.sim.during_ask = serve_again
    assert store(stage.world, job.id) == "30"
    assert files.starts[-1] == 0
    whole(stage, job, OTHER)


def test_parts_that_were_swept_meanwhile_are_fetched_again() -> None:
    files = Files({URL: FILM})
    stage = staged(files)
    job = killed(stage)
    stage.objects.parts.clear()
    stage.objects.open.clear()
    stage.clock.advance(LEASE_MS / 1000)
    assert store(stage.world, job.id) == "30"
    assert files.starts == [0]
    whole(stage, job)


def test_a_rest_that_spoils_the_file_is_found_when_the_whole_is_read_back() -> None:
    """A server that lies about its tag: what is stored is never believed unread."""
    files = Files({URL: FILM})
    stage = staged(files)
    job = killed(stage)
    stage.clock.advance(LEASE_MS / 1000)
    stage.objects.fail = ["read"]
    assert store(stage.world, job.id) == "failed: Retryable"
    assert stage.objects.stored == {}
    assert store(stage.world, job.id) == "30"
    whole(stage, job)


def test_a_failed_run_gives_the_upload_back_at_once() -> None:
    """It is alive to say so: the next run need not wait until it certainly is not."""
    files = Files({URL: FILM}, breaks=[(NINE_TENTHS, NoAnswer("reset"))] * 6)
    stage = staged(files)
    job = stage.storing(URL)
    assert store(stage.world, job.id) == "failed: Retryable"
    assert len(stage.objects.open) == 1
    files.asked.clear()
    assert store(stage.world, job.id) == "30"
    assert files.starts == [NINE_TENTHS // PART * PART]
    whole(stage, job)


def test_short_downloads_are_never_noted() -> None:
    """They cost no write more, and are as quickly made again."""
    files = Files({URL: FILM})
    stage = staged(files, note_bytes=len(FILM) + 1)
    job = killed(stage)
    assert stage.store.transfers(job.id) == ()
    stage.clock.advance(LEASE_MS / 1000)
    assert store(stage.world, job.id) == "30"
    assert files.starts == [0]


def test_a_first_run_reads_no_notes() -> None:
    files = Files({URL: FILM})
    stage = staged(files)

    def never(job_id: str) -> tuple[()]:
        raise AssertionError(job_id)

    stage.store.transfers = never  # type: ignore[method-assign]
    assert store(stage.world, stage.storing(URL).id) == "30"


def killed_too_often(stage: Stage) -> Job:
    """Killed once more than a file may be tried."""
    job = killed(stage)
    (noted,) = stage.store.transfers(job.id)
    stage.store.long_downloads[job.id][0] = replace(noted, attempts=MOST_ATTEMPTS)
    stage.clock.advance(LEASE_MS / 1000)
    return job


def test_a_file_that_was_tried_often_enough_asks_a_person_who_gives_it_a_new_budget() -> None:
    files = Files({URL: FILM})
    stage = staged(files)
    job = killed_too_often(stage)
    files.refusing = 404
    stage.sim.says("poll", Status.SUCCEEDED, links=(Link(url=URL),))
    assert store(stage.world, job.id) == "32"
    attention = stage.read(job).attention
    assert attention is not None
    assert (attention.reason, stage.objects.open) == ("result_unavailable", [])
    files.refusing = 0
    stage.apply(job, Decision(kind=DecisionKind.RETRY, attention_version=attention.version))
    assert store(stage.world, job.id) == "30"
    whole(stage, job)


def test_no_fresh_link_makes_up_for_a_budget_that_is_used_up() -> None:
    """Else runs that are killed each time begin again for ever, and nobody is asked."""
    files = Files({URL: FILM})
    stage = staged(files)
    job = killed_too_often(stage)
    stage.sim.says("poll", Status.SUCCEEDED, links=(Link(url=URL + "?sig=2"),))
    assert store(stage.world, job.id) == "32"
    assert files.asked == []
    attention = stage.read(job).attention
    assert attention is not None
    assert f"tried {MOST_ATTEMPTS + 1} times" in attention.evidence


def test_of_two_runs_that_went_on_with_one_upload_the_loser_deletes_nothing_that_the_row_names() -> None:
    files = Files({URL: FILM})
    stage = staged(files)
    job = killed(stage)
    stage.clock.advance(LEASE_MS / 1000)

    def other(_: object) -> None:
        """Its own end came late: the same object, recorded by the run that was taken for dead."""
        (key,) = stage.objects.stored
        output = replace(stage.succeeded("other").outputs[0], key=key)
        stage.store.jobs[job.id] = replace(
            stage.read(job), state=State.SUCCEEDED, outputs=(output,), version=stage.read(job).version + 1
        )

    stage.store.before_write = [other]
    assert store(stage.world, job.id) == "another run was first"
    assert list(stage.objects.stored) == [stage.read(job).outputs[0].key]
