"""Rows of claim, waiting room and answer, each with its right value."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mediajobs.jobs.decide import Change, Ignore
from mediajobs.jobs.events import AnswerKind, Status
from mediajobs.jobs.rules import Why
from mediajobs.jobs.states import ErrorCode, Outcome, State
from tests.core.life import KEYED, LOOKED_UP, NOW, PLAIN, Life, answered, away, claim, lives, word

ACCEPTED, REJECTED, BLOCKED = AnswerKind.ACCEPTED, AnswerKind.REJECTED, AnswerKind.BLOCKED
NOT_ACCEPTED, AMBIGUOUS = AnswerKind.NOT_ACCEPTED, AnswerKind.AMBIGUOUS


def test_row_01_a_claim_takes_the_slot_and_opens_an_attempt_before_the_request_leaves() -> None:
    life = Life()
    life.expect("1", claim("w0", slot="003"))
    assert (life.state, life.job.slot, life.job.out) == (State.SUBMITTING, "003", None)
    attempt = life.job.attempt
    assert attempt is not None
    assert (attempt.no, attempt.outcome, attempt.token) == (1, Outcome.OPEN, "w0")
    assert attempt.lease_until == NOW + 60_000
    assert life.job.first_sent_at == NOW


def test_row_01_a_dead_letter_does_not_stop_a_first_submission() -> None:
    life = Life().dead()
    life.expect("1", claim())
    assert (life.reason, life.job.out) == (None, "live")


def test_row_01_a_probe_goes_although_the_provider_is_paused() -> None:
    Life().expect("1", claim(paused=True, probe=True))


@pytest.mark.parametrize(
    ("fields", "later"),
    [({"slot": None}, 0), ({"paused": True}, 0), ({}, 86_400), ({"submission": 2}, 0)],
    ids=["no slot", "paused", "past the start deadline", "built for another submission"],
)
def test_row_01_a_claim_without_leave_to_go_changes_nothing(fields: dict[str, object], later: int) -> None:
    life = Life().later(later)
    decision = life.expect("1x", claim(**fields))
    assert isinstance(decision, Ignore)
    assert decision.why is Why.NOT_NOW


def test_row_01_a_claim_within_another_ones_lease_changes_nothing() -> None:
    life = Life().claim("w0").later(59)
    life.expect("1x", claim("w1"))


def test_row_01_a_claim_of_a_job_that_went_on_is_stale() -> None:
    life = Life().run()
    decision = life.expect("1y", claim("w1"))
    assert isinstance(decision, Ignore)
    assert decision.why is Why.STALE


def test_row_04_an_idle_job_is_claimed_again_as_a_note_with_the_same_key() -> None:
    life = Life().idle().later(20)
    reference = life.job.reference
    decision = life.expect("4", claim("w1", slot="002"))
    assert isinstance(decision, Change)
    assert not decision.transition
    assert (life.state, life.job.slot) == (State.SUBMITTING, "002")
    assert life.job.reference == reference
    assert life.job.attempt is not None
    assert (life.job.attempt.no, life.job.attempt.token, life.job.retry_at) == (2, "w1", None)


@pytest.mark.parametrize(
    ("fields", "later"), [({"slot": None}, 0), ({"paused": True}, 0), ({}, 86_400)], ids=["full", "paused", "too late"]
)
def test_row_04_an_idle_job_needs_a_slot_leave_and_time_like_a_fresh_one(fields: dict[str, object], later: int) -> None:
    Life().idle().later(later).expect("1x", claim("w1", **fields))


def test_row_04_an_idle_job_with_an_open_question_is_not_submitted() -> None:
    Life().idle().dead().expect("1x", claim("w1"))


def test_row_06_a_dead_open_attempt_is_resumed_with_the_same_key_and_slot() -> None:
    life = Life().claim("w0", slot="001").later(90)
    life.expect("6", claim("w1", slot=None))
    assert (life.job.slot, life.job.unsettled) == ("001", True)
    assert life.job.first_sent_at == NOW
    assert life.job.attempt is not None
    assert (life.job.attempt.no, life.job.attempt.outcome) == (2, Outcome.OPEN)


def test_row_06_an_ambiguous_attempt_is_resumed() -> None:
    life = Life().unsure().later(10)
    life.expect("6", claim("w1", slot=None))
    assert life.job.unsettled


@pytest.mark.parametrize(
    "fields", [{"paused": True}, {"submission": 2}], ids=["paused", "built for another submission"]
)
def test_row_06_a_resumable_job_waits_for_the_pause_to_end(fields: dict[str, object]) -> None:
    life = Life().unsure().later(10)
    life.expect("1x", claim("w1", slot=None, **fields))


def test_row_06_without_a_key_nothing_is_sent_again() -> None:
    Life(PLAIN).claim().later(90).expect("1x", claim("w1"))


def test_row_06_with_an_open_question_nothing_is_sent_again() -> None:
    Life().unsure().dead().later(90).expect("1x", claim("w1"))


def test_row_06a_a_retry_that_would_differ_raises_attention_instead() -> None:
    life = Life().unsure().later(10)
    life.expect("6a", claim("w1", digest="e" * 24))
    assert (life.reason, life.job.slot, life.job.unsettled) == ("ambiguous_submission", "001", True)
    assert life.job.attempt is not None
    assert (life.job.attempt.token, life.job.attempt.outcome) == ("w0", Outcome.AMBIGUOUS)


def test_row_06a_an_idle_job_may_be_sent_differently_since_nothing_was_accepted() -> None:
    Life().idle().later(20).expect("4", claim("w1", digest="e" * 24))


def test_row_07_accepted_binds_the_id_and_keeps_the_slot() -> None:
    life = Life().claim()
    life.expect("7", answered(ACCEPTED, provider_job_id="p0"))
    assert (life.state, life.job.provider_job_id, life.job.slot) == (State.RUNNING, "p0", "001")
    assert life.job.out is None
    assert life.job.attempt is not None
    assert life.job.attempt.outcome is Outcome.ACCEPTED


def test_row_07_accepted_is_heard_whoever_brings_it_and_clears_question_and_doubt() -> None:
    life = Life(PLAIN).unsure()
    assert life.reason == "ambiguous_submission"
    life.expect("7", answered(ACCEPTED, "somebody", provider_job_id="p0"))
    assert (life.state, life.reason, life.job.unsettled, life.job.out) == (State.RUNNING, None, False, "live")


def test_row_07_an_older_submission_is_bound_while_the_current_one_is_idle() -> None:
    life = Life().idle().having(submission=2)
    life.expect("7", answered(ACCEPTED, submission=1, provider_job_id="p0"))
    assert (life.state, life.job.slot) == (State.RUNNING, f"over#{life.job.id}")


def test_row_07_an_accepted_answer_without_an_id_is_never_bound() -> None:
    life = Life().claim()
    life.expect("12k", answered(AMBIGUOUS, message="HTTP 200 without a job id"))
    assert life.job.provider_job_id is None


def test_row_18_an_older_submission_accepted_beside_the_current_one_is_a_finding_once() -> None:
    life = Life().claim().having(submission=2)
    life.expect("18a", answered(ACCEPTED, submission=1, provider_job_id="p0"))
    assert (life.state, life.findings, life.job.out) == (State.SUBMITTING, [("extra_submission", "p0")], "live")
    decision = life.expect("18b", answered(ACCEPTED, submission=1, provider_job_id="p0"))
    assert isinstance(decision, Ignore)
    assert decision.why is Why.DUPLICATE


def test_row_08_not_accepted_frees_the_slot_and_comes_back_later_with_the_same_key() -> None:
    life = Life().claim()
    life.expect("8", answered(NOT_ACCEPTED, retry_at=NOW + 10_000))
    assert (life.state, life.job.slot, life.job.retry_at) == (State.SUBMITTING, None, NOW + 10_000)
    assert life.job.out == "dispatch next"
    assert life.job.unsettled is False


def test_row_08_not_accepted_after_a_cancel_ends_the_job() -> None:
    life = Life().claim().having(cancel_requested=True)
    life.expect("8a", answered(NOT_ACCEPTED))
    assert (life.state, life.job.slot, life.job.out) == (State.CANCELED, None, "next publish live")


def test_row_08_blocked_frees_the_slot_but_wakes_nobody() -> None:
    life = Life().claim()
    life.expect("8b", answered(BLOCKED, retry_at=NOW + 10_000))
    assert (life.state, life.job.slot, life.job.out) == (State.SUBMITTING, None, "dispatch")


def test_row_08_blocked_after_a_cancel_ends_the_job_and_wakes_nobody() -> None:
    life = Life().claim().having(cancel_requested=True)
    life.expect("8c", answered(BLOCKED))
    assert (life.state, life.job.slot, life.job.out) == (State.CANCELED, None, "publish live")


@pytest.mark.parametrize("kind", [NOT_ACCEPTED, BLOCKED])
def test_row_09_a_refused_retry_proves_nothing_of_the_earlier_attempt(kind: AnswerKind) -> None:
    life = Life().unsure().later(10).claim("w1")
    life.expect("9k", answered(kind, "w1", retry_at=life.now + 20_000))
    assert (life.state, life.job.slot, life.reason) == (State.SUBMITTING, "001", None)
    assert (life.job.unsettled, life.job.out, life.job.retry_at) == (True, "dispatch", life.now + 20_000)
    assert life.job.attempt is not None
    assert life.job.attempt.outcome is Outcome.AMBIGUOUS


def test_row_09_without_a_key_to_send_again_a_person_is_asked() -> None:
    life = Life().unsure().later(10).claim("w1").later(86_400)
    life.expect("9", answered(NOT_ACCEPTED, "w1"))
    assert (life.reason, life.job.slot, life.job.out) == ("ambiguous_submission", "001", "live")


def test_row_09_where_the_reference_can_be_looked_up_that_comes_before_a_person() -> None:
    life = Life(LOOKED_UP).claim().having(unsettled=True)
    life.expect("9", answered(NOT_ACCEPTED))
    assert (life.reason, life.job.out) == (None, None)


def test_row_10_rejected_fails_the_job_and_frees_the_slot() -> None:
    life = Life().claim()
    life.expect("10", answered(REJECTED, code=ErrorCode.CONTENT_MODERATED, message="no"))
    assert (life.state, life.job.slot, life.job.out) == (State.FAILED, None, "next publish live")
    assert life.job.error is not None
    assert (life.job.error.code, life.job.error.message) == (ErrorCode.CONTENT_MODERATED, "no")
    assert life.job.final_version == life.job.version


def test_row_11_a_rejected_retry_never_fails_a_job_that_may_be_paid_for() -> None:
    life = Life().unsure().later(10).claim("w1")
    life.expect("11", answered(REJECTED, "w1", message="no balance"))
    assert (life.state, life.reason, life.job.slot) == (State.SUBMITTING, "ambiguous_submission", "001")


def test_row_12_an_ambiguous_answer_with_a_key_is_sent_again_later() -> None:
    life = Life().claim()
    life.expect("12k", answered(AMBIGUOUS, retry_at=NOW + 10_000))
    assert (life.job.unsettled, life.job.slot, life.reason, life.job.out) == (True, "001", None, "dispatch")


def test_row_12_an_ambiguous_answer_without_key_or_lookup_raises_attention_at_once() -> None:
    life = Life(PLAIN).claim()
    life.expect("12", answered(AMBIGUOUS, message="timeout"))
    assert (life.job.unsettled, life.job.slot, life.reason, life.job.out) == (
        True,
        "001",
        "ambiguous_submission",
        "live",
    )


def test_row_12_an_ambiguous_answer_is_looked_up_where_that_is_possible() -> None:
    life = Life(LOOKED_UP).claim()
    life.expect("12", answered(AMBIGUOUS, retry_at=NOW + 10_000))
    assert (life.job.unsettled, life.reason, life.job.out) == (True, None, None)
    assert life.due_in_s == 10


@pytest.mark.parametrize("traits", [KEYED, LOOKED_UP], ids=["key", "lookup"])
def test_row_12_past_the_start_deadline_a_person_is_asked_too(traits: object) -> None:
    life = Life(traits, start_within_s=20).claim().later(20)  # type: ignore[arg-type]
    life.expect("12", answered(AMBIGUOUS))
    assert (life.reason, life.job.slot) == ("ambiguous_submission", "001")


@pytest.mark.parametrize("kind", [NOT_ACCEPTED, BLOCKED, REJECTED, AMBIGUOUS])
def test_row_13_an_answer_speaks_for_its_own_attempt_only(kind: AnswerKind) -> None:
    life = Life().claim("w0").later(90).claim("w1")
    before = life.job
    decision = life.expect("13", answered(kind, "w0"))
    assert isinstance(decision, Ignore)
    assert decision.why is Why.STALE
    assert life.job == before


@pytest.mark.parametrize("kind", [NOT_ACCEPTED, REJECTED])
def test_row_13_an_attempt_that_was_given_up_is_not_answered_any_more(kind: AnswerKind) -> None:
    """Its outcome is known to be unknown: later proof of that very attempt would have to be trusted blindly."""
    life = Life().unsure()
    life.expect("13", answered(kind, "w0"))


def test_row_43_a_job_turned_away_enters_the_waiting_room_and_wakes_the_next() -> None:
    life = Life()
    life.expect("43", away("0000000001#x"))
    assert (life.job.wait, life.job.out, life.state) == ("0000000001#x", "next", State.PENDING)


def test_row_43_an_idle_job_waits_like_a_pending_one() -> None:
    life = Life().idle()
    life.expect("43", away())
    assert life.job.wait is not None


def test_row_43_a_job_that_waits_keeps_its_place() -> None:
    life = Life()
    life.do(away("0000000001#x"))
    decision = life.expect("43x", away("0000000009#x"))
    assert isinstance(decision, Ignore)
    assert decision.why is Why.DUPLICATE
    assert life.job.wait == "0000000001#x"


@lives(dead=lambda: Life().dead(), claim=lambda: Life().claim(), unsure=lambda: Life().unsure())
def test_row_43_a_job_with_a_question_or_with_a_slot_does_not_wait(make: Callable[[], Life]) -> None:
    life = make()
    life.expect("43x", away())
    assert life.job.wait is None


def test_row_43_a_job_past_submitting_does_not_wait() -> None:
    Life().run().expect("43y", away())


def test_row_29_a_late_answer_of_the_bound_job_is_stale_and_of_another_one_a_finding() -> None:
    life = Life().claim()
    life.do(word(Status.RUNNING, "p0"))
    life.expect("29b", answered(ACCEPTED, provider_job_id="p0"))
    life.expect("29b", answered(REJECTED))
    life.expect("29a", answered(ACCEPTED, provider_job_id="p1"))
    assert (life.state, life.job.provider_job_id, life.findings) == (
        State.RUNNING,
        "p0",
        [("extra_submission", "p1")],
    )
    life.expect("29b", answered(ACCEPTED, provider_job_id="p1"))


def test_row_29_an_answer_that_a_webhook_has_beaten_still_says_where_to_ask() -> None:
    life = Life().claim()
    life.do(word(Status.RUNNING, "p0"))
    life.expect("29p", answered(ACCEPTED, provider_job_id="p0", poll_url="https://queue.example/p0"))
    assert (life.state, life.job.poll_url, life.job.out) == (State.RUNNING, "https://queue.example/p0", None)
    life.expect("29b", answered(ACCEPTED, provider_job_id="p0", poll_url="https://queue.example/p0"))
