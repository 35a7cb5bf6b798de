"""Rows of storing, publishing and our own failures, each with its right value."""

from __future__ import annotations

from collections.abc import Callable

from mediajobs.jobs.decide import Ignore
from mediajobs.jobs.events import Invalid, Moved, NoUrl, Published, Status, StepFailed, Stored
from mediajobs.jobs.rules import Why
from mediajobs.jobs.states import ErrorCode, State
from tests.core.life import MEDIA, NOW, Life, away, lives, word

STORED = Stored(outputs=(MEDIA,))
PUBLISHED = Published(ttl=123)


def failed(step: str = "dispatch", retry_in_s: int = 5, life: Life | None = None) -> StepFailed:
    now = life.now if life else NOW
    return StepFailed(step=step, message="KeyError: x", retry_at=now + retry_in_s * 1000)


def test_row_30_stored_and_checked_succeeds() -> None:
    life = Life().store()
    due = life.job.due_at
    life.expect("30", STORED)
    assert (life.state, life.job.outputs, life.job.links) == (State.SUCCEEDED, (MEDIA,), ())
    assert (life.job.final_version, life.job.out, life.job.due_at) == (life.job.version, "publish live", due)


def test_row_30_a_second_run_changes_nothing() -> None:
    life = Life().succeed()
    decision = life.expect("30x", STORED)
    assert isinstance(decision, Ignore)
    assert decision.why is Why.TERMINAL


def test_row_30_nothing_is_stored_before_the_provider_succeeded() -> None:
    Life().run().expect("30y", STORED)


def test_row_31_invalid_media_fails_the_job() -> None:
    life = Life().store()
    life.expect("31", Invalid(message="empty"))
    assert life.job.error is not None
    assert (life.state, life.job.error.code, life.job.out) == (State.FAILED, ErrorCode.INVALID_RESULT, "publish live")
    life.expect("31x", Invalid(message="empty"))


def test_row_32_no_usable_url_asks_a_person_and_fails_nothing() -> None:
    life = Life().store()
    life.expect("32", NoUrl(message="gone"))
    assert (life.state, life.reason, life.job.out) == (State.STORING, "result_unavailable", "live")
    life.expect("32x", NoUrl(message="gone"))


def test_row_32_replaces_a_dead_letter() -> None:
    life = Life().store().dead("store")
    life.expect("32", NoUrl(message="gone"))
    assert life.reason == "result_unavailable"


def test_row_35_a_send_that_returned_is_marked_and_ends_the_looks() -> None:
    life = Life().succeed()
    life.expect("35", PUBLISHED)
    assert (life.job.published_at, life.job.ttl, life.job.due_at, life.job.out) == (NOW, 123, None, None)
    life.expect("35x", PUBLISHED)


def test_row_35_the_mark_answers_a_dead_letter() -> None:
    life = Life().succeed().dead("reconcile")
    life.expect("35", PUBLISHED)
    assert (life.reason, life.job.out) == (None, "live")


def test_row_35_a_job_that_has_not_ended_is_not_published() -> None:
    Life().store().expect("35y", PUBLISHED)


def test_row_41_five_failures_of_a_step_raise_a_dead_letter() -> None:
    life = Life()
    for number in range(1, 5):
        life.expect("41a", failed())
        assert (life.job.failures, life.job.out, life.reason) == (number, "dispatch", None)
    life.expect("41", failed())
    assert (life.job.failures, life.reason, life.job.out) == (5, "dead_letter", "live")
    life.expect("41x", failed())


def test_row_41_a_step_that_died_without_a_word_often_enough_raises_it_at_once() -> None:
    life = Life()
    life.expect("41", StepFailed(step="dispatch", message="received 10 times", retry_at=NOW, enough=True))
    assert life.reason == "dead_letter"


def test_row_41_failures_of_each_state_schedule_the_next_try() -> None:
    storing = Life().store()
    storing.expect("41b", failed("store"))
    assert (storing.job.out, storing.job.retry_at) == ("store", NOW + 5000)
    running = Life().run()
    running.expect("41c", failed("reconcile"))
    assert running.job.out is None
    ended = Life().succeed()
    ended.expect("41c", failed("reconcile"))
    assert ended.job.out is None


def test_row_41_counts_anew_in_the_next_state() -> None:
    life = Life().run()
    life.do(failed("reconcile"))
    life.do(word(Status.SUCCEEDED))
    assert life.job.failures == 0


def test_row_41_a_published_job_has_no_failures() -> None:
    life = Life().succeed()
    life.do(PUBLISHED)
    life.expect("41x", failed("reconcile"))


@lives(running=lambda: Life().run(), storing=lambda: Life().store(), ended=lambda: Life().succeed())
def test_row_41_a_failure_long_after_the_first_look_is_not_tried_again_in_the_same_second(
    make: Callable[[], Life],
) -> None:
    """The look after a failure is by the failure's own time, never by one that is long past."""
    life = make()
    life.later(50_000)
    life.do(Moved(due_at=life.now + 600_000))
    life.do(failed("reconcile", 60, life))
    assert life.due_in_s is not None
    assert 60 <= life.due_in_s <= 240


def test_row_43_the_note_of_a_failed_step_leaves_the_waiting_room() -> None:
    life = Life()
    life.do(away())
    life.do(failed())
    assert life.job.wait is None


def test_row_44_reconcile_takes_a_look_and_nothing_else_changes() -> None:
    life = Life().run().later(5)
    before = life.job
    life.expect("44", Moved(due_at=NOW + 9_000))
    assert life.job.due_at == NOW + 9_000
    assert life.job.updated_at == before.updated_at
    assert life.job.out is None
    assert life.job.history == before.history


def test_row_44_a_published_job_is_not_looked_at() -> None:
    life = Life().succeed()
    life.do(PUBLISHED)
    life.expect("44x", Moved(due_at=NOW))
