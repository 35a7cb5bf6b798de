"""An attempt: one claim, one request, one recorded answer."""

from __future__ import annotations

import json

import pytest

from mediajobs.errors import ConfigurationError
from mediajobs.jobs.decide import Change
from mediajobs.jobs.events import AnswerKind
from mediajobs.jobs.states import State
from mediajobs.pauses import PauseReason
from mediajobs.steps.dispatch import submission_in
from tests.steps.kit import Stage

NOT_ACCEPTED, REJECTED = AnswerKind.NOT_ACCEPTED, AnswerKind.REJECTED


def test_a_job_is_claimed_with_a_slot_before_its_request_leaves() -> None:
    stage = Stage()
    job = stage.job()
    seen: list[tuple[State, str | None]] = []
    stage.sim.during_submit = lambda _: seen.append((stage.state(job), stage.read(job).slot))
    stage.sim.accept("p-1")
    assert stage.dispatch(job) == "accepted"
    assert seen == [(State.SUBMITTING, "001")]
    assert (stage.state(job), stage.read(job).provider_job_id, stage.held()) == (State.RUNNING, "p-1", {"001": job.id})


def test_the_request_carries_the_key_and_the_jobs_own_webhook_url() -> None:
    stage = Stage()
    job = stage.running()
    request = stage.sim.submits[0]
    assert request.headers["Idempotency-Key"] == job.reference
    assert json.loads(request.body)["webhook_url"] == f"https://jobs.example/v1/webhooks/sim/{stage.ref(job)}"


def test_without_a_callback_base_no_webhook_url_is_sent() -> None:
    stage = Stage(callback_base=None)
    job = stage.job()
    stage.sim.accept()
    stage.dispatch(job)
    assert json.loads(stage.sim.submits[0].body)["webhook_url"] is None


def test_messages_may_come_again_early_and_late() -> None:
    stage = Stage()
    job = stage.running()
    for _ in range(3):
        assert stage.dispatch(job) == "past"
    assert len(stage.sim.submits) == 1


def test_a_message_about_nothing_is_taken() -> None:
    stage = Stage()
    job = stage.job()
    del stage.store.jobs[job.id]
    assert stage.dispatch(job) == "unknown"


def test_two_dispatchers_that_read_the_same_row_send_one_request() -> None:
    """H8: the second one gets ahead between the first one's read and its claim."""
    stage = Stage(limit=2)
    job = stage.job()

    def twin(_: Change) -> None:
        stage.sim.accept("p-1")
        assert stage.dispatch(job) == "accepted"

    stage.store.before_write = [twin]
    assert stage.dispatch(job) == "lost"
    assert len(stage.sim.submits) == 1
    assert stage.held() == {stage.read(job).slot: job.id}


def test_a_claim_whose_answer_was_lost_and_that_was_sent_again_is_our_own() -> None:
    stage = Stage()
    job = stage.job()
    stage.store.resend = True
    stage.sim.accept()
    assert stage.dispatch(job) == "accepted"


def test_a_row_that_another_took_is_left_and_the_next_free_number_is_tried() -> None:
    stage = Stage(limit=3)
    job = stage.job()

    def taken(change: Change) -> None:
        stage.store.rows.setdefault("sim", {})[str(change.after.slot)] = "somebody"

    stage.store.before_write = [taken, taken]
    stage.sim.accept()
    assert stage.dispatch(job) == "accepted"
    assert set(stage.store.rows["sim"]) == {"001", "002", "003"}


def test_with_no_number_left_the_job_is_turned_away_and_nothing_is_sent() -> None:
    stage = Stage(limit=2)
    job = stage.job()

    def taken(change: Change) -> None:
        stage.store.rows.setdefault("sim", {})[str(change.after.slot)] = "somebody"

    stage.store.before_write = [taken, taken]
    assert stage.dispatch(job) == "lost"
    assert stage.sim.submits == []
    assert stage.read(job).wait is not None


def test_the_start_deadline_is_checked_before_a_claim() -> None:
    stage = Stage()
    job = stage.job(start_within_s=60)
    stage.clock.advance(60)
    assert stage.dispatch(job) == "expired"
    assert (stage.state(job), stage.sim.submits) == (State.FAILED, [])


# -- answers


def test_a_dead_letter_stops_no_first_submission() -> None:
    """It is a question about us; nothing was sent, so nothing can be charged twice."""
    stage = Stage()
    job = stage.job()
    stage.dead_letter(job)
    stage.sim.accept("p-1")
    assert stage.dispatch(job) == "accepted"
    assert stage.reason(job) is None


def test_rejected_fails_the_job_and_frees_the_slot() -> None:
    stage = Stage()
    job = stage.job()
    stage.sim.answer(REJECTED, message="no such style")
    assert stage.dispatch(job) == "rejected"
    assert (stage.state(job), stage.held()) == (State.FAILED, {})


def test_not_accepted_comes_back_later_with_the_same_key() -> None:
    stage = Stage()
    job = stage.job()
    stage.sim.answer(NOT_ACCEPTED, message="refused")
    stage.dispatch(job)
    assert stage.held() == {}
    waits = stage.read(job).retry_at
    assert waits is not None
    assert waits - stage.clock.now() >= 10_000
    assert stage.dispatch(job) == "not now"
    stage.clock.advance(15)
    stage.sim.accept()
    assert stage.dispatch(job) == "accepted"
    assert stage.sim.submits[0] == stage.sim.submits[1]


def test_retries_back_off_and_stop_at_a_quarter_of_an_hour() -> None:
    stage = Stage()
    job = stage.job()
    waits = []
    for _ in range(10):
        stage.sim.answer(NOT_ACCEPTED)
        assert stage.dispatch(job) == "not_accepted"
        retry_at = stage.read(job).retry_at
        assert retry_at is not None
        waits.append((retry_at - stage.clock.now()) / 1000)
        stage.clock.advance(waits[-1])
    assert all(floor <= wait <= floor * 1.2 for wait, floor in zip(waits, (10, 20, 40, 80, 160), strict=False))
    assert max(waits) <= 1080


@pytest.mark.parametrize("asked_s", [0, 7, 300])
def test_retry_after_is_kept_and_never_makes_a_loop_without_a_pause(asked_s: int) -> None:
    stage = Stage()
    job = stage.job()
    asked = stage.clock.now() + asked_s * 1000
    stage.sim.answer(NOT_ACCEPTED, message="HTTP 429", retry_at=asked)
    stage.dispatch(job)
    retry_at = stage.read(job).retry_at
    assert retry_at is not None
    assert retry_at >= max(asked, stage.clock.now() + 10_000)
    assert stage.pause().reason == (PauseReason.RETRY_AFTER if asked_s else None)


def test_an_unusable_configuration_counts_as_blocked_since_nothing_was_sent() -> None:
    stage = Stage()
    job = stage.job()

    def broken(_: object) -> None:
        raise ConfigurationError("no secret")

    stage.sim.during_submit = broken
    assert stage.dispatch(job) == "blocked"
    assert (stage.held(), stage.pause().reason) == ({}, PauseReason.BLOCKED)


@pytest.mark.parametrize("kind", [AnswerKind.REJECTED, AnswerKind.AMBIGUOUS])
def test_a_prompt_that_an_answer_quotes_is_not_logged(kind: AnswerKind) -> None:
    """Validators send back what they were sent. The job's own tenant reads it there; the log gets the status."""
    stage = Stage()
    job = stage.job()
    stage.sim.answer(kind, message="HTTP 422: prompt: 'a red bicycle' is too short")
    stage.dispatch(job)
    assert "bicycle" not in str(stage.log.lines)
    assert stage.log.lines[-1][2]["detail"] == "HTTP 422"


def test_what_an_answer_says_of_the_account_is_logged() -> None:
    stage = Stage()
    job = stage.job()
    stage.sim.answer(AnswerKind.BLOCKED, message="HTTP 402: no credits are left")
    stage.dispatch(job)
    assert stage.log.lines[-1][2]["detail"] == "HTTP 402: no credits are left"


@pytest.mark.parametrize(("number", "found"), [("1", 1), ("12", 12), ("9" * 5000, None), ("0", None), ("²", None)])
def test_a_reference_that_is_not_quite_ours_names_no_submission(number: str, found: int | None) -> None:
    """Whatever a provider sends back in its place; Python makes no number of five thousand digits."""
    job = Stage().job()
    assert submission_in(job, f"{job.id}.{number}.{job.incarnation}") == found


def test_a_reference_that_is_sent_back_counts_only_if_it_is_this_very_jobs() -> None:
    """Not an earlier job's of the same key, not another one's, not what merely looks like one."""
    stage = Stage()
    job = stage.job()
    assert submission_in(job, job.reference) == 1
    assert submission_in(job, f"{job.id}.12.{job.incarnation}") == 12
    for reference in (
        None,
        "",
        job.id,
        f"{job.id}.1.{'z' * len(job.incarnation)}",
        f"{'b' * 26}.1.{job.incarnation}",
        f"{job.id}.1.{job.incarnation}.x",
        f"{job.id}.0.{job.incarnation}",
        f"{job.id}.-1.{job.incarnation}",
        f"{job.id}.１.{job.incarnation}",
    ):
        assert submission_in(job, reference) is None, reference
